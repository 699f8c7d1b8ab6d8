"""What an agent may ask: answers from the store, files of one folder only, nothing changed."""

import hashlib
import json
from pathlib import Path

import pytest

from realloc import ConfigError, LogError
from realloc.report.agent_tools import AgentTools
from realloc.storage.store import Store
from tests.small import fitted, window


@pytest.fixture
def tools(decided) -> AgentTools:
    return AgentTools(decided / "store", decided)


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_every_answer_is_plain_and_leaves_the_store_as_it_was(tools):
    before = contents(tools.store)
    unit = window(97).table["item_id"][0].as_py()
    arguments = {
        "check_logs": ("logs.parquet",),
        "explain": ("today.parquet", unit),
        "what_if": ({"floors": {"ads": 0.3}},),
    }
    window(97).to_pandas().to_parquet(tools.files / "logs.parquet")
    for tool in tools.tools:
        answer = tool(*arguments.get(tool.__name__, ()))
        assert json.loads(json.dumps(answer))
    assert contents(tools.store) == before


def test_no_tool_is_named_like_a_command_that_changes_something(tools):
    words = " ".join(tool.__name__ for tool in tools.tools)
    for verb in ("freeze", "rollback", "fit", "update", "publish", "approve", "export"):
        assert verb not in words


def test_the_last_batch_is_told_with_its_interval(tools):
    found = tools.last_batch()
    assert (found["rows"], found["version"]) == (150, 1)
    assert found["reasons"]["bad_input"] == 2
    low, high = found["gain_interval_95"]
    assert low < found["gain"] < high
    assert sum(found["flows"].values()) == pytest.approx(found["money_moved"], rel=1e-3)


def test_what_if_says_what_a_rule_costs(tools):
    free = tools.what_if({})
    assert free["gain_difference"] == 0  # the version itself was fitted without rules
    bound = tools.what_if({"floors": {"ads": 0.6}})
    assert bound["gain_difference"] < 0
    assert [rule["rule"] for rule in bound["rules"]] == ["floor of ads: 60 % of the budget"]
    assert bound["rules"][0]["gain_lost"] == pytest.approx(-bound["gain_difference"])
    with pytest.raises(ConfigError, match="Unknown channel 'adz'"):
        tools.what_if({"floors": {"adz": 0.6}})


@pytest.mark.parametrize(
    "name", ["../secret.csv", "/etc/passwd", "link.csv", "store/../../x"]
)
def test_files_outside_the_folder_are_not_read(tools, name):
    link = tools.files / "link.csv"
    if not link.is_symlink():
        link.symlink_to("/etc/passwd")
    with pytest.raises(ConfigError, match="Expected a file below"):
        tools.check_logs(name)


def test_an_unknown_unit_is_a_sentence(tools):
    with pytest.raises(LogError, match="nobody"):
        tools.explain("today.parquet", "nobody")


def test_a_frozen_store_answers_no_question_about_moves(tmp_path):
    store = Store(tmp_path / "store")
    store.commit(fitted(), window())
    store.freeze("a test")
    tools = AgentTools(tmp_path / "store", tmp_path)
    with pytest.raises(
        ConfigError, match=r"frozen since .*a person runs `realloc unfreeze`"
    ):
        tools.what_if({})
    assert "a test" in tools.status()["frozen"]
    assert tools.last_batch()["run"] is None
