from dataclasses import dataclass

import pytest

from realloc.base.errors import ConfigError
from realloc.base.validation import check_types, from_table, nearest


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
