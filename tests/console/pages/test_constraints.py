"""Rules: their prices are those of the report, a try changes nothing, TOML says what was tried."""

import re
import tomllib

from realloc.console.pages.constraints import as_toml, read_rules
from realloc.decide.constraints.constraints import Constraints
from tests.console.asking import get
from tests.console.conftest import RULES

CHANNELS = ("ads", "coupon", "rebate")


def test_every_rule_of_the_run_has_its_price(app):
    shown = get(app, "/constraints").text
    assert "floor of ads: 20 % of the budget" in shown
    assert "largest move: 10 % of the budget" in shown
    assert "gain lost" in shown
    assert 'name="floor0" min="0" max="100" step="0.1" value="20"' in shown


def test_freezing_everything_moves_nothing(app, source):
    before = source.ledger.numbers()
    frozen = "&".join(f"frozen{k}=1" for k in range(3))
    shown = get(app, f"/constraints?try=1&{frozen}").text
    cells = re.findall(
        r"<td[^>]*>([^<]*)</td>", shown.split("<caption>What these rules would bring")[1]
    )
    assert cells[0:4:2] == ["expected gain", "0"]
    assert "frozen = [&#34;ads&#34;" in shown
    assert source.ledger.numbers() == before


def test_a_form_becomes_rules_and_toml():
    query = {"floor0": "10", "cap1": "45.5", "frozen2": "1", "largest": "20"}
    rules = read_rules(query, CHANNELS, RULES)
    expected = Constraints(
        floors={"ads": 0.1}, caps={"coupon": 0.455}, frozen=("rebate",), largest_move=0.2
    )
    assert rules == expected
    assert Constraints(**tomllib.loads(as_toml(rules))["constraints"]) == expected


def test_rules_that_contradict_each_other_are_said(app):
    shown = get(app, "/constraints?try=1&floor0=60&cap0=20")
    assert shown.status == 422
    assert "Expected a floor of ads" in shown.text
    assert get(app, "/constraints?try=1&floor0=x").status == 422
