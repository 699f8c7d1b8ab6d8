"""Who may call: bearer tokens, kept as hashes, each with an optional last day; and host names."""

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
from realloc.serve.http.http_error import HttpError

VARIABLE = "REALLOC_TOKEN"
MIN_LENGTH = 16  # characters of a token
MAX_TOKENS = 8  # several, to rotate them


@dataclass(frozen=True)
class Tokens:
    """SHA-256 of every token, and the last day on which it counts."""

    known: tuple[tuple[bytes, date | None], ...]

    def find(self, authorization: bytes) -> int:
        """Return the number of the token in an `Authorization` header; raises 401 without one.

        All tokens are compared, each in constant time.
        """
        scheme, _, token = authorization.partition(b" ")
        digest = hashlib.sha256(token.strip()).digest()
        today = datetime.now(UTC).date()
        matches = [
            number
            for number, (known, end) in enumerate(self.known)
            if hmac.compare_digest(digest, known) and (end is None or today <= end)
        ]
        if not matches or scheme.lower() != b"bearer":
            sentence = "Expected a valid token: Authorization: Bearer …"
            raise HttpError(401, "no_token", sentence, ((b"www-authenticate", b"Bearer"),))
        return matches[0]


def read_tokens(
    path: Path | None, environment: Mapping[str, str] = os.environ
) -> Tokens | None:
    """Read tokens from a file, or one from the environment; None where there are none.

    Each line of the file is `<token> [last day, as 2026-12-31]`.
    """
    lines = [environment.get(VARIABLE, "")] if path is None else closed_lines(path)
    tokens = tuple(_read_line(line) for line in lines if line.strip())
    if path is not None and not 1 <= len(tokens) <= MAX_TOKENS:
        raise ConfigError(
            f"Expected 1 to {MAX_TOKENS} tokens in {str(path)!r}, got {len(tokens)}."
        )
    return Tokens(tokens) if tokens else None


def closed_lines(path: Path) -> list[str]:
    """The lines of a file of secrets, which nobody else may read, without comments."""
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
    return [line for line in lines if line.strip() and not line.startswith("#")]


def _read_line(line: str) -> tuple[bytes, date | None]:
    token, _, day = line.strip().partition(" ")
    if len(token) < MIN_LENGTH:
        raise ConfigError(
            f"Expected tokens of at least {MIN_LENGTH} characters, got a shorter one. To make one: "
            "python -c 'import secrets; print(secrets.token_urlsafe(32))'"
        )
    try:
        end = date.fromisoformat(day.strip()) if day.strip() else None
    except ValueError as problem:
        raise ConfigError("Expected a token's last day as 2026-12-31.") from problem
    return hashlib.sha256(token.encode()).digest(), end


def is_loopback(host: str) -> bool:
    """Whether only this machine can call."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def allowed_hosts(host: str, more: tuple[str, ...]) -> frozenset[str]:
    """Return the names that a `Host` header may hold."""
    wildcard = host in ("0.0.0.0", "::", "")  # noqa: S104
    if wildcard and not more:
        raise ConfigError(
            "Expected the names under which the service is called when it is bound to every "
            "address. Give them by `--allow-host`, e.g. --allow-host budget.internal."
        )
    names = [*more] if wildcard else [host, *more]
    if wildcard or is_loopback(host):
        names += ["localhost", "127.0.0.1", "::1"]
    return frozenset(name.lower().strip("[]") for name in names)


def host_of(header: bytes) -> str:
    """Return the name in a `Host` header, without its port."""
    text = header.decode("latin-1").lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0]
