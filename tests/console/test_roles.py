import pytest

from realloc.base.errors import ConfigError
from realloc.console.roles import (
    MOST_FAILURES,
    SESSION_SECONDS,
    Member,
    Sessions,
    read_role_tokens,
)

TOKEN = "a-token-of-sixteen"  # noqa: S105


def write(tmp_path, text, mode=0o600):
    path = tmp_path / "tokens"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_roles_contain_each_other():
    assert Member("a", "admin").may("review")
    assert not Member("a", "review").may("admin")
    assert Member("a", "read").may("read")


def test_a_token_gives_its_role_up_to_the_highest(tmp_path):
    path = write(
        tmp_path, f"# comment\n{TOKEN} admin anna\n{TOKEN}2 review rob 2020-01-01\n"
    )
    assert read_role_tokens(path, "admin").find(TOKEN) == Member("anna", "admin")
    assert read_role_tokens(path, "review").find(TOKEN) == Member("anna", "review")
    assert read_role_tokens(path, "admin").find(f"{TOKEN}2") is None  # its last day is over
    assert read_role_tokens(path, "admin").find(TOKEN[:-1]) is None


@pytest.mark.parametrize(
    "text", ["short read a", f"{TOKEN} king a", f"{TOKEN} read", f"{TOKEN} read a 2026", ""]
)
def test_other_lines_are_refused(tmp_path, text):
    with pytest.raises(ConfigError):
        read_role_tokens(write(tmp_path, text), "read")


def test_a_file_that_others_may_read_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="closed to others"):
        read_role_tokens(write(tmp_path, f"{TOKEN} read a", 0o644), "read")


def test_sessions_end_by_themselves_and_by_logging_out():
    now = 0.0
    sessions = Sessions(lambda: now)
    member = Member("a", "read")
    one, other = sessions.begin(member), sessions.begin(member)
    sessions.end(one)
    assert sessions.find(one) is None
    assert sessions.find(other) == member
    now = SESSION_SECONDS + 1.0
    assert sessions.find(other) is None


def test_many_wrong_tokens_close_the_door_for_a_minute():
    now = 0.0
    sessions = Sessions(lambda: now)
    for _ in range(MOST_FAILURES):
        assert not sessions.overwhelmed
        sessions.fail()
    assert sessions.overwhelmed
    now = 61.0
    assert not sessions.overwhelmed
