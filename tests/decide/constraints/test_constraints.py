import dataclasses
import tomllib

import pytest

from realloc.base.errors import ConfigError
from realloc.base.validation import from_table
from realloc.decide.constraints.constraints import Constraints, Group

TOML = """
frozen = ["tv"]
largest_move = 0.2
largest_move_money = 500
largest_move_per_day = 0.05
smallest_move = 0.01
grid = 0.05
open = ["*"]

[floors]
ads = 0.1

[caps_money]
coupon = 250

[[groups]]
channels = ["ads", "coupon"]
cap = 0.7

[[groups]]
channels = ["ads", "coupon", "mail"]
floor_money = 10
"""


def made(table):
    return from_table(Constraints, table, "[constraints]")


def test_a_toml_table_becomes_constraints():
    constraints = made(tomllib.loads(TOML))
    assert constraints == Constraints(
        floors={"ads": 0.1},
        caps_money={"coupon": 250},
        frozen=("tv",),
        groups=(
            Group(channels=("ads", "coupon"), cap=0.7),
            Group(channels=("ads", "coupon", "mail"), floor_money=10),
        ),
        largest_move=0.2,
        largest_move_money=500,
        largest_move_per_day=0.05,
        smallest_move=0.01,
        grid=0.05,
        open=("*",),
    )
    assert constraints.named() == ["ads", "coupon", "tv", "mail"]


def test_constraints_survive_being_written_as_a_plain_dict():
    constraints = made(tomllib.loads(TOML))
    assert made(dataclasses.asdict(constraints)) == constraints
    assert made({}) == Constraints()


def test_lists_do_for_tuples_and_later_changes_do_not_leak_in():
    floors = {"ads": 0.1}
    constraints = Constraints(
        floors=floors, frozen=["tv"], groups=[{"channels": ["ads", "tv"], "cap": 0.5}]
    )  # pyright: ignore
    floors["ads"] = 9.0
    assert constraints.floors == {"ads": 0.1}
    assert constraints.frozen == ("tv",)
    assert constraints.groups[0].channels == ("ads", "tv")


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (
            {"floor": {"ads": 0.1}},
            r"Unknown key `floor` in \[constraints\]. Did you mean 'floors'\?",
        ),
        (
            {"floors": {"ads": "x"}},
            r"Expected `floors` of \[constraints\] to be a table of a number, got",
        ),
        ({"floors": {"ads": float("nan")}}, "Expected `floors` .* got {'ads': nan}"),
        (
            {"floors": {"ads": -0.1}},
            r"Expected 'ads' in `floors` of \[constraints\] from 0 to 1, a share .*, got -0.1",
        ),
        (
            {"caps": {"ads": 30}},
            "Expected 'ads' in `caps` of .* from 0 to 1, a share of the budget, got 30",
        ),
        (
            {"caps_money": {"ads": -3}},
            "Expected 'ads' in `caps_money` .* of at least 0, an amount of money, got -3",
        ),
        (
            {"floors": {"ads": 0.5}, "caps": {"ads": 0.4}},
            "Expected a floor of ads .* of at most its cap 0.4, got 0.5",
        ),
        (
            {"floors_money": {"ads": 5}, "caps_money": {"ads": 4}},
            "Expected a floor of ads .* at most its cap 4, got 5",
        ),
        (
            {"floors": {"ads": 0.3, "coupon": 0.8}},
            r"Expected `floors` of .* that sum to at most 1, "
            r"got ads 0.3 \+ coupon 0.8 = 1.1. Lower one",
        ),
        (
            {"frozen": ["ads"], "floors": {"ads": 0.1}},
            "Expected no `floors` for the frozen channel 'ads' .*, got 0.1",
        ),
        (
            {"frozen": ["ads"], "caps_money": {"ads": 5}},
            "Expected no `caps_money` for the frozen channel 'ads'",
        ),
        ({"frozen": "ads"}, "Expected `frozen` of .* to be a list of text, got 'ads'"),
        (
            {"groups": [{"channels": ["ads"], "cap": 1}]},
            r"Expected at least 2 different channels in a group .*\['ads'\]",
        ),
        (
            {"groups": [{"channels": ["ads", "ads"], "cap": 1}]},
            "Expected at least 2 different channels in a group",
        ),
        (
            {"groups": [{"channels": ["ads", "tv"]}]},
            r"Expected a floor or a cap for group ads\+tv .*, got neither",
        ),
        (
            {"groups": [{"channels": ["ads", "tv"], "cop": 1}]},
            r"Unknown key `cop` in \[\[constraints.groups\]\]. Did you mean",
        ),
        (
            {"groups": [{"channels": ["ads", "tv"], "cap": 2}]},
            r"Expected 'cap' in group ads\+tv .* from 0 to 1",
        ),
        (
            {"groups": [{"channels": ["ads", "tv"], "cap": 0.1, "floor": 0.2}]},
            r"Expected a floor of group ads\+tv .* got 0.2",
        ),
        (
            {"groups": [{"cap": 1}]},
            r"Expected `channels` in \[\[constraints.groups\]\], but not found there",
        ),
        ({"groups": ["ads"]}, "Expected `groups` of .* to be a list of Group"),
        ({"groups": 3}, "Expected `groups` of .* to be a list of Group, got 3"),
        (
            {
                "groups": [
                    {"channels": ["a", "b"], "cap": 1},
                    {"channels": ["b", "c"], "cap": 1},
                ]
            },
            r"apart or one inside the other, but group a\+b and group b\+c share only b",
        ),
        (
            {
                "groups": [
                    {"channels": ["a", "b"], "cap": 1},
                    {"channels": ["b", "a"], "floor": 0.1},
                ]
            },
            r"Expected group a\+b of .* once, got it twice. Put all its bounds into one table",
        ),
        (
            {
                "floors": {"a": 0.3, "b": 0.4},
                "groups": [{"channels": ["a", "b"], "cap": 0.5}],
            },
            r"Expected floors within the cap 0.5 of group a\+b of .*, got 0.7",
        ),
        (
            {
                "caps": {"a": 0.1, "b": 0.1},
                "groups": [{"channels": ["a", "b"], "floor": 0.5}],
            },
            r"Expected caps above the floor 0.5 of group a\+b of .*, got 0.2",
        ),
        ({"largest_move": 1.5}, "Expected 'largest_move' in the moves of .* from 0 to 1"),
        (
            {"largest_move_per_day": -1},
            "Expected 'largest_move_per_day' in the moves of .* from 0 to 1",
        ),
        (
            {"smallest_move_money": -1},
            "Expected 'smallest_move_money' in the moves of .* of at least 0",
        ),
        ({"grid": 0}, "Expected `grid` of .* from 1e-06 to 1, a share of budget, got 0"),
        (
            {"grid": 0.2, "largest_move": 0.1},
            "Expected `grid` of .* at most `largest_move` 0.1, got 0.2: no move",
        ),
        (
            {"smallest_move": 0.2, "largest_move": 0.1},
            "Expected `smallest_move` of .* at most `largest_move` 0.1, got 0.2",
        ),
        (
            {"smallest_move_money": 9, "largest_move_money": 5},
            "Expected `smallest_move_money` of .* at most `largest_move_money` 5, got 9",
        ),
    ],
)
def test_bad_constraints_are_refused_with_what_was_expected(table, text):
    with pytest.raises(ConfigError, match=text):
        made(table)
