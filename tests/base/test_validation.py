import copy
import pickle
from dataclasses import dataclass, field

import pytest

from realloc.base.errors import ConfigError
from realloc.base.validation import (
    Checked,
    ReadOnlyTable,
    check_types,
    freeze_tables,
    from_table,
    nearest,
)


@dataclass(frozen=True, kw_only=True)
class Teacher:
    folds: int = 5
    rate: float = 0.1
    name: str | None = None
    steps: tuple[float, ...] = ()
    caps: dict[str, float] | None = None

    def __post_init__(self) -> None:
        check_types(self, "[teacher]")


def test_a_table_becomes_a_checked_dataclass():
    made = from_table(
        Teacher,
        {"folds": 3, "rate": 1, "steps": [0.1, 1], "caps": {"ads": 0.5}},
        "[teacher]",
    )
    assert made == Teacher(folds=3, rate=1, steps=(0.1, 1), caps={"ads": 0.5})


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"fold": 3}, r"Unknown key `fold` in \[teacher\]. Did you mean 'folds'\?"),
        ({"zzzzzz": 3}, "Known: folds, rate, name, steps, caps"),
        (
            {"folds": "three"},
            r"Expected `folds` of \[teacher\] to be a whole number, got 'three' \(text\)",
        ),
        ({"folds": 2.5}, "to be a whole number, got 2.5"),
        ({"folds": True}, "to be a whole number, got True"),
        ({"rate": False}, "to be a number, got False"),
        ({"name": 3}, "to be text or nothing, got 3"),
        ({"steps": ["a"]}, "to be a list of a number"),
        ({"caps": {"ads": "x"}}, "to be a table of a number or nothing"),
    ],
)
def test_bad_values_are_refused_with_what_was_expected(table, text):
    with pytest.raises(ConfigError, match=text):
        from_table(Teacher, table, "[teacher]")


def test_required_keys_that_are_absent_are_named():
    @dataclass(frozen=True, kw_only=True)
    class Needs:
        unit: str
        time: str

    with pytest.raises(ConfigError, match="Expected `time`, `unit` in"):
        from_table(Needs, {}, "[schema]")


def test_nearest_ignores_case():
    assert nearest("ORDERS", ["orders", "budget"]) == " Did you mean 'orders'?"


# Pickles, copies, hashes


@dataclass(frozen=True)
class Limits(Checked):
    most: float = 1.0
    by_channel: dict[str, float] = field(default_factory=dict)
    nested: dict[str, dict[str, float]] = field(default_factory=dict)

    def __post_init__(self):
        check_types(self, "the limits")
        freeze_tables(self)


LIMITS = Limits(2.0, {"ads": 0.2}, {"a": {"b": 1.0}})


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_pickles_and_copies_of_a_config_are_equal_and_hash_alike(again):
    other = again(LIMITS)
    assert other == LIMITS
    assert hash(other) == hash(LIMITS)
    assert {LIMITS: 1}[other] == 1
    assert other != Limits(2.0, {"ads": 0.3})


def test_a_pickled_config_is_checked_when_it_is_read():
    changed = pickle.dumps(LIMITS).replace(b"most", b"mist")
    with pytest.raises(ConfigError, match="Unknown key `mist` in the pickled Limits"):
        pickle.loads(changed)


def test_tables_of_a_config_do_not_change():
    given = {"ads": 0.2}
    config = Limits(by_channel=given)
    given["ads"] = 0.9
    assert config.by_channel == {"ads": 0.2}
    for change in (
        lambda table: table.update(ads=0.5),
        lambda table: table.__setitem__("ads", 0.5),
        lambda table: table.pop("ads"),
        lambda table: table.clear(),
    ):
        with pytest.raises(TypeError, match=r"dataclasses\.replace"):
            change(config.by_channel)
    assert isinstance(LIMITS.nested["a"], ReadOnlyTable)
    assert config.by_channel | {"tv": 0.1} == {"ads": 0.2, "tv": 0.1}
