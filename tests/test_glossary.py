"""docs/glossary.md and the public names agree: every name is there, and every name there exists."""

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
import typer

import realloc
from realloc.cli.main import app
from realloc.decide.types import REASONS
from realloc.evaluate.abtest.config import AbtestConfig
from realloc.evaluate.report.config import ReportConfig
from realloc.logs import ReadOptions, Schema
from realloc.model.config import ELSEWHERE, STAGES, Config
from realloc.serve.http.config import ServeConfig
from tests.small import fitted, window

PAGE = (Path(__file__).parents[1] / "docs" / "glossary.md").read_text(encoding="utf-8")
TABLES = {
    "schema": Schema,
    "read": ReadOptions,
    **STAGES,
    "abtest": AbtestConfig,
    "report": ReportConfig,
    "serve": ServeConfig,
}


def names(heading: str) -> list[str]:
    """The first cells of the table below a heading."""
    section = re.split(r"^#{2,3} ", PAGE, flags=re.M)
    body = next(part for part in section if part.split("\n")[0] == heading)
    return re.findall(r"^\| `([^`]+)` \|", body, re.M)


def keys(config: type) -> list[str]:
    aside = ("read", "notes") if config is Schema else ()  # a table of its own; no key
    return [field.name for field in fields(config) if field.name not in aside]


def test_every_term_has_one_sentence_and_the_terms_are_sorted():
    terms = re.findall(r"^\| ([^|`]+) \| [^|]+ \|$", PAGE.split("## Python")[0], re.M)[2:]
    assert terms == sorted(terms, key=str.lower)
    assert len(set(terms)) == len(terms)


def test_the_python_names_are_the_public_ones():
    assert sorted(names("Python")) == sorted(realloc.__all__)


def test_the_verbs_are_those_of_the_command_line():
    verbs = typer.main.get_group(app).commands
    assert sorted(names("Command line")) == sorted(f"realloc {verb}" for verb in verbs)


def test_the_columns_are_those_of_a_recommendation():
    logs = window()
    model = fitted()
    in_money = replace(model.config.decision, worth=2.0)
    model.decide_with(in_money, model.config.constraints)
    columns = model.recommend(logs).column_names[2:]  # after unit and time
    first = logs.schema.channels[0]
    expected = [
        name.replace(f"_{first}", "_<channel>")
        for name in columns
        if not name.endswith(tuple(f"_{channel}" for channel in logs.schema.channels[1:]))
    ]
    assert names("Columns of a recommendation") == expected


def test_the_reasons_are_those_of_the_code():
    assert sorted(names("Reasons")) == sorted(REASONS)


def test_the_keys_above_the_tables_are_those_of_the_config():
    assert names("Config keys") == [key for key in keys(Config) if key not in STAGES]


def test_every_table_of_the_config_file_is_on_the_page():
    listed = re.findall(r"^### (.+)$", PAGE, re.M)
    tables = [name for heading in listed for name in re.findall(r"`\[(\w+)\]`", heading)]
    assert sorted(tables) == sorted(TABLES)
    assert set(ELSEWHERE) <= set(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_the_keys_of_a_table_are_those_of_its_config(table):
    heading = next(
        line for line in re.findall(r"^### (.+)$", PAGE, re.M) if f"[{table}]" in line
    )
    assert sorted(names(heading)) == sorted(keys(TABLES[table]))


def test_nothing_else_is_written_as_a_name():
    cells = re.findall(r"^\| `([^`]+)` \|", PAGE, re.M)
    headings = re.findall(r"^### `(\[\w+\])`", PAGE, re.M)
    assert set(re.findall(r"`([^`\n]+)`", PAGE)) == {*cells, *headings}
