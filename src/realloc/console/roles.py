"""Who may do what: tokens with a role in a file, sessions in memory, a cookie that only we read."""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from realloc.base.errors import ConfigError
from realloc.serve.http.auth import MAX_TOKENS, MIN_LENGTH, closed_lines

READ = "read"
REVIEW = "review"
ADMIN = "admin"
ROLES = (READ, REVIEW, ADMIN)  # each may do what those before it may
COOKIE = "__Host-realloc"
SESSION_SECONDS = 12 * 3600
MOST_SESSIONS = 64
MOST_FAILURES = 10  # logins with a wrong token per minute
MOST_NAME = 40  # characters


@dataclass(frozen=True)
class Member:
    """Somebody with a role."""

    name: str
    role: str

    def may(self, role: str) -> bool:
        """Whether this role includes another."""
        return ROLES.index(self.role) >= ROLES.index(role)


NOBODY = Member("", READ)  # on this machine, where no tokens were given


@dataclass(frozen=True)
class RoleTokens:
    """The SHA-256 of every token, whom it belongs to, and the last day on which it counts."""

    known: tuple[tuple[bytes, Member, date | None], ...]

    def find(self, token: str) -> Member | None:
        """Whose token this is; all are compared, each in constant time."""
        digest = hashlib.sha256(token.strip().encode()).digest()
        today = datetime.now(UTC).date()
        found = [
            member
            for known, member, end in self.known
            if hmac.compare_digest(digest, known) and (end is None or today <= end)
        ]
        return found[0] if found else None


def read_role_tokens(path: Path, highest: str) -> RoleTokens:
    """Read a file of lines `<token> <role> <name> [last day]`; no role goes beyond `highest`."""
    lines = closed_lines(path)
    found = [_read_line(line, highest) for line in lines]
    if not 1 <= len(found) <= MAX_TOKENS:
        raise ConfigError(
            f"Expected 1 to {MAX_TOKENS} tokens in {str(path)!r}, got {len(found)}."
        )
    return RoleTokens(tuple(found))


def _read_line(line: str, highest: str) -> tuple[bytes, Member, date | None]:
    words = line.split()
    if not 3 <= len(words) <= 4 or len(words[0]) < MIN_LENGTH or words[1] not in ROLES:
        raise ConfigError(
            "Expected lines `<token> <role> <name> [last day]` in the file of tokens, with a token "
            f"of at least {MIN_LENGTH} characters and one of the roles {', '.join(ROLES)}, such as "
            "`fJ3...w review anna 2026-12-31`."
        )
    try:
        end = date.fromisoformat(words[3]) if len(words) == 4 else None
    except ValueError as problem:
        raise ConfigError("Expected a token's last day as 2026-12-31.") from problem
    role = min(words[1], highest, key=ROLES.index)
    member = Member(words[2][:MOST_NAME], role)
    return hashlib.sha256(words[0].encode()).digest(), member, end


class Sessions:
    """Logged-in members by the digest of their cookie; gone when the process ends."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._open: dict[bytes, tuple[Member, float]] = {}
        self._failures: list[float] = []

    def begin(self, member: Member) -> str:
        """Make a cookie."""
        cookie = secrets.token_urlsafe(32)
        with self._lock:
            while len(self._open) >= MOST_SESSIONS:
                del self._open[next(iter(self._open))]
            self._open[_digest(cookie)] = member, self.clock() + SESSION_SECONDS
        return cookie

    def find(self, cookie: str) -> Member | None:
        """Whose cookie this is."""
        with self._lock:
            member, until = self._open.get(_digest(cookie), (None, 0.0))
            return member if self.clock() < until else None

    def end(self, cookie: str) -> None:
        """Forget a cookie."""
        with self._lock:
            self._open.pop(_digest(cookie), None)

    def fail(self) -> None:
        """Note a wrong token."""
        with self._lock:
            self._failures.append(self.clock())

    @property
    def overwhelmed(self) -> bool:
        """Whether so many wrong tokens came in the last minute that none is looked at."""
        with self._lock:
            since = self.clock() - 60
            self._failures = [moment for moment in self._failures if moment > since]
            return len(self._failures) >= MOST_FAILURES


def _digest(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).digest()
