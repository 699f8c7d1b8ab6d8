"""Who may ask: bearer tokens, kept as hashes, with an end date where one is given. Up to a few live at once, to rotate them."""

import hashlib
import hmac
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from ipaddress import ip_address
from pathlib import Path

from realloc.base.errors import ConfigError

VARIABLE = "REALLOC_TOKEN"
SHORTEST, MOST = 16, 8


@dataclass(frozen=True)
class Tokens:
    """SHA-256 of every token, and the last day on which it counts."""

    known: tuple[tuple[bytes, date | None], ...]

    def who(self, header: bytes) -> int | None:
        """Which of them an `Authorization` header holds; all are compared, each in constant time."""
        kind, _, given = header.partition(b" ")
        digest, today, found = (
            hashlib.sha256(given.strip()).digest(),
            datetime.now(UTC).date(),
            None,
        )
        for number, (known, end) in enumerate(self.known):
            if hmac.compare_digest(digest, known) and (end is None or today <= end):
                found = number
        return found if kind.lower() == b"bearer" else None


def read_tokens(path: Path | None, environment: Mapping[str, str] = os.environ) -> Tokens | None:
    """From a file with one token a line (`<token> [last day, as 2026-12-31]`), or from the environment; None: there are none."""
    if path is None:
        lines = [environment.get(VARIABLE, "")]
    else:
        try:
            mode = path.stat().st_mode
            lines = path.read_text(encoding="ascii").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            raise ConfigError(
                f"Expected a file of tokens at {str(path)!r}, but it cannot be read as ASCII text."
            ) from problem
        if mode & (stat.S_IRWXO | stat.S_IWGRP):
            raise ConfigError(
                f"Expected {str(path)!r} to be closed to others. Run: chmod 600 {path}"
            )
    found = tuple(_read_line(line) for line in lines if line.strip() and not line.startswith("#"))
    if path is not None and not 1 <= len(found) <= MOST:
        raise ConfigError(f"Expected 1 to {MOST} tokens in {str(path)!r}, got {len(found)}.")
    return Tokens(found) if found else None


def _read_line(line: str) -> tuple[bytes, date | None]:
    token, _, end = line.strip().partition(" ")
    if len(token) < SHORTEST:
        raise ConfigError(
            f"Expected tokens of at least {SHORTEST} signs, got a shorter one. One is made by: python -c "
            "'import secrets; print(secrets.token_urlsafe(32))'"
        )
    try:
        return hashlib.sha256(token.encode()).digest(), date.fromisoformat(
            end.strip()
        ) if end.strip() else None
    except ValueError as problem:
        raise ConfigError("Expected a token's last day as 2026-12-31.") from problem


def is_loopback(host: str) -> bool:
    """Whether only this machine can call."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def allowed_hosts(host: str, more: tuple[str, ...]) -> frozenset[str]:
    """Names that a `Host` header may hold."""
    wildcard = host in ("0.0.0.0", "::", "")  # noqa: S104
    if wildcard and not more:
        raise ConfigError(
            "Expected the names under which the service is called when it is bound to every address. "
            "Give them by `--allow-host`, e.g. --allow-host budget.internal."
        )
    own = () if wildcard else (host.lower(),)
    near = ("localhost", "127.0.0.1", "::1") if wildcard or is_loopback(host) else ()
    return frozenset(name.lower().strip("[]") for name in (*own, *near, *more))


def host_of(header: bytes) -> str:
    """The name in a `Host` header, without its port."""
    text = header.decode("latin-1").lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0]
