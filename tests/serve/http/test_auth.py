"""Tokens that cannot be kept secret are refused, and names must be given beyond this machine."""

import pytest

from realloc.base.errors import ConfigError
from realloc.serve.http.auth import Tokens, allowed_hosts, is_loopback, read_tokens
from realloc.serve.http.http_error import HttpError

EVERYWHERE = "0.0.0.0"  # noqa: S104
SECRET = "hunter2" * 3


def test_tokens_are_refused_that_cannot_be_kept_secret(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(SECRET)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_tokens(path)
    path.chmod(0o600)
    assert isinstance(read_tokens(path), Tokens)
    for text, told in (
        ("short", "at least 16"),
        ("", "1 to 8"),
        (f"{SECRET} soon", "last day"),
        ("ä" * 20, "ASCII"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match=told) as problem:
            read_tokens(path)
        assert "soon" not in str(problem.value)
    assert read_tokens(None, {}) is None
    assert (
        read_tokens(None, {"REALLOC_TOKEN": SECRET}).find(f"Bearer {SECRET}".encode()) == 0
    )
    with pytest.raises(HttpError, match="valid token"):
        read_tokens(None, {"REALLOC_TOKEN": SECRET}).find(b"Bearer x")


def test_beyond_this_machine_names_must_be_given():
    assert all(is_loopback(host) for host in ("127.0.0.1", "localhost", "::1"))
    assert not any(is_loopback(host) for host in (EVERYWHERE, "10.0.0.3", "box"))
    with pytest.raises(ConfigError, match="--allow-host"):
        allowed_hosts(EVERYWHERE, ())
    assert "budget.internal" in allowed_hosts(EVERYWHERE, ("budget.internal",))
    assert allowed_hosts("10.0.0.3", ()) == {"10.0.0.3"}
