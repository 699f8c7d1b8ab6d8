import re
import tomllib
from pathlib import Path

import pytest

from realloc.base.errors import ConfigError
from realloc.evaluate.abtest import parse_abtest
from tests.evaluate.abtest.simulated import make_config

TOML = """
[abtest]
unit = "item_id"
split = 0.1
looks = [0.5, 1]
[abtest.metrics.orders]
value = "orders"
before = "orders_before"
[abtest.metrics.margin]
numerator = "profit"
denominator = "gmv"
effect = "points"
margin = 0.5
"""


def test_a_toml_table_becomes_a_config():
    config = parse_abtest(tomllib.loads(TOML)["abtest"])
    assert [metric.name for metric in config.metrics] == ["orders", "margin"]
    assert [metric.name for metric in config.goals] == ["orders"]
    assert config.metric("margin").sign == "pt"
    assert config.look_number == 2


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"metrics": {}}, "at least one metric"),
        (
            {"metrics": {"orders": {"value": "orders", "margin": -1.0}}},
            r"`margin` of at least 0 in \[abtest.metrics.orders\]",
        ),
        (
            {"metrics": {"orders": {"vlaue": "orders"}}},
            "Unknown key `vlaue`.*Did you mean 'value'",
        ),
        ({"metrics": {"orders": {}}}, "either `value` or both"),
        ({"metrics": {"roi": {"numerator": "gmv"}}}, "either `value` or both"),
        (
            {"metrics": {"roi": {"value": "a", "numerator": "b", "denominator": "c"}}},
            "either `value` or both",
        ),
        (
            {
                "metrics": {
                    "roi": {
                        "value": "a",
                        "numerator_before": "b",
                        "denominator_before": "c",
                    }
                }
            },
            "metric is a mean",
        ),
        (
            {"metrics": {"roi": {"numerator": "a", "denominator": "b", "before": "c"}}},
            "metric is a ratio",
        ),
        (
            {
                "metrics": {
                    "roi": {"numerator": "a", "denominator": "b", "numerator_before": "c"}
                }
            },
            "got one of them",
        ),
        (
            {"metrics": {"orders": {"value": "orders", "effect": "percents"}}},
            "Did you mean 'percent'",
        ),
        (
            {"metrics": {"orders": {"value": "orders", "direction": "upp"}}},
            "Did you mean 'up'",
        ),
        ({"metrics": {"orders": 3}}, "a table for every metric"),
        ({"metrics": ["orders"]}, "a table for every metric"),
        (
            {"predicted": "gain", "predicted_metric": "ordres"},
            "Unknown metric 'ordres'.*Did you mean 'orders'",
        ),
        (
            {"predicted": "gain", "predicted_metric": "roi"},
            "a mean metric.*got the ratio 'roi'",
        ),
        ({"predicted": "gain"}, "the metric whose gain is predicted"),
        ({"predicted_lower": "gain_lower"}, "Expected `predicted`"),
        ({"split": 1.0}, "`split` between 0 and 1 in .*, got 1.0"),
        ({"alpha": 0.5}, "`alpha` of"),
        ({"correction": "bonferoni"}, "Unknown `correction` 'bonferoni'"),
        ({"control": "treatment"}, "two names of arms"),
        ({"looks": [0.5]}, "rising parts of the test that end with 1"),
        ({"looks": [0.7, 0.5, 1.0]}, "rising parts"),
        ({"looks": [0.5, 1.0], "look": 3}, "from 1 to 2, got 3"),
        ({"arm": 3}, "Expected `arm` of .* to be text"),
        ({"unti": "item"}, "Unknown key `unti`"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_one_sentence(changes, text):
    with pytest.raises(ConfigError, match=text):
        make_config(**changes)


def test_the_unit_is_needed():
    with pytest.raises(ConfigError, match="Expected `unit` in"):
        parse_abtest({"metrics": {"orders": {"value": "orders"}}})


def test_the_documented_table_is_one():
    page = (Path(__file__).parents[3] / "docs" / "abtest.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```toml\n(.*?)```", page, re.S)
    config = parse_abtest(tomllib.loads(shown)["abtest"])
    assert [metric.name for metric in config.metrics] == [
        "pay_orders",
        "gmv",
        "cost",
        "roi",
        "margin",
    ]
    assert config.look_number == 2
