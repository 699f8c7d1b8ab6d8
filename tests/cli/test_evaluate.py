"""`realloc evaluate` as a user types it."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from realloc.base.validation import from_table
from realloc.evaluate.report import ReportConfig
from realloc.logs import read_logs
from realloc.storage.store import Store
from tests.evaluate.report.simulated import SCHEMA, fitted, later, make_logs

TOML = """
[schema]
unit = "item"
time = "date"
outcome = "orders"
channels = ["ads", "coupon"]
budget = "budget"

[decision]
min_significance = 0.0
max_length = 0.1
tolerances = {{ gmv = 1.0 }}

[report]
{more}
"""


@pytest.fixture
def run(run, tmp_path):
    """`realloc evaluate` on few rows, in the folder of the test, beside a store."""
    later().head(180 * 3).to_parquet(tmp_path / "logs.parquet")
    Store(tmp_path / "store").commit(fitted(), read_logs(make_logs(), SCHEMA))
    return lambda *arguments, code=0: run("evaluate", *arguments, cwd=tmp_path, code=code)


def test_a_store_and_logs_give_text_and_a_page(run, tmp_path):
    said = run("logs.parquet", "--store", "store", "--report", "out/page.html").stdout
    page = (tmp_path / "out" / "page.html").read_text()
    assert said.startswith("Test small.\n  • No lift over keeping the mix was measured")
    for title in (
        "Expected uplift",
        "Guardrails",
        "Biggest moves",
        "Log check",
        "Rules of the verdict",
    ):
        assert f"\n{title}\n" in said
        assert f"<h2>{title}</h2>" in page
    assert "Evaluation report of store" in page


def test_the_table_report_and_other_rules_of_decision_are_read_from_the_config(
    run, tmp_path
):
    (tmp_path / "realloc.toml").write_text(
        TOML.format(more='randomized = "explored"\nmargins = { gmv = 0.5 }')
    )
    found = json.loads(
        run("logs.parquet", "--store", "store", "--config", "realloc.toml", "--json").stdout
    )
    assert found["verdict"] == "test small"
    (biggest,) = (
        section["table"]
        for section in found["sections"]
        if section["title"] == "Biggest moves"
    )
    shares = [
        float(part) for part in re.findall(r"ads (\S+) → (\S+) %", biggest[0]["shares"])[0]
    ]
    assert (
        abs(shares[1] - shares[0]) <= 100 * 0.1 / 2**0.5 + 0.1
    )  # `max_length` of this file, not of the store


@pytest.mark.parametrize(
    ("arguments", "more", "text"),
    [
        (
            ("logs.parquet", "--store", "nowhere"),
            "",
            "nowhere', but there is none. `realloc fit` makes one",
        ),
        (("absent.parquet", "--store", "store"), "", "absent.parquet"),
        (
            ("logs.parquet", "--store", "store", "--config", "realloc.toml"),
            "margin = 1",
            "Did you mean 'margins'",
        ),
        (
            ("logs.parquet", "--store", "store", "--config", "realloc.toml"),
            'randomized = "explore"',
            "'explore'",
        ),
        (
            ("logs.parquet", "--store", "store", "--config", "realloc.toml"),
            'categories = ["price"]',
            "Expected a category",
        ),
        (
            ("logs.parquet", "--store", "store", "--config", "realloc.toml"),
            'start = "soon"',
            "Expected a date",
        ),
        (
            ("logs.parquet", "--store", "store", "--report", "."),
            "",
            "Expected a file for `--report`",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run, tmp_path, arguments, more, text):
    (tmp_path / "realloc.toml").write_text(TOML.format(more=more))
    assert text in run(*arguments, code=2).stderr


def test_the_documented_table_is_read():
    page = (Path(__file__).parents[2] / "docs" / "evaluate.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```toml\n(.*?)```", page, re.S)
    assert from_table(ReportConfig, tomllib.loads(shown)["report"], "docs").arms
