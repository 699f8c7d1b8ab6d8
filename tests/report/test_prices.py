from realloc.decide.constraints.constraints import Constraints, Group
from realloc.draw import DataTable, Paragraph
from realloc.report.prices import price_pieces, price_rules, without_each
from tests.report.conftest import RULES
from tests.small import fitted, window

ALL = Constraints(
    floors={"ads": 0.1, "coupon": 0.05},
    caps_money={"ads": 50.0},
    frozen=("rebate",),
    groups=(Group(channels=("ads", "coupon"), cap=0.9),),
    largest_move=0.2,
)


def test_every_rule_is_left_out_once_and_no_other():
    rules = dict(without_each(ALL))
    assert list(rules) == [
        "floor of ads: 10 % of the budget",
        "floor of coupon: 5.0 % of the budget",
        "cap of ads: 50 in money",
        "rebate is frozen",
        "group ads+coupon",
        "largest move: 20 % of the budget",
    ]
    assert rules["floor of ads: 10 % of the budget"].floors == {"coupon": 0.05}
    assert rules["rebate is frozen"].frozen == ()
    assert rules["largest move: 20 % of the budget"].groups == ALL.groups


def test_a_rule_that_binds_costs_gain_and_one_that_never_binds_costs_nothing():
    rules = Constraints(largest_move=0.02, caps={"ads": 1.0})
    within, prices = price_rules(fitted(), window(1), rules)
    assert [price.rule.split(":")[0] for price in prices] == ["largest move", "cap of ads"]
    assert prices[0].gain_lost > 0.1 * within.gain
    assert abs(prices[1].gain_lost) < 1e-9
    assert prices[0].without.moved_money > within.moved_money


def test_the_table_says_on_how_many_rows_it_was_estimated():
    logs = window(1)
    table = price_pieces(*price_rules(fitted(), logs, RULES), 10_000)[0]
    assert isinstance(table, DataTable)
    assert table.note == "Estimated on 300 of 10,000 rows, evenly spread."
    without_rules = price_pieces(*price_rules(fitted(), logs, Constraints()), 300)[0]
    assert isinstance(without_rules, Paragraph)
    assert without_rules.text.startswith("There are no constraints")
