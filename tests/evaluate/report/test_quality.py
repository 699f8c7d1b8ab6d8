"""What the report rests on."""

from realloc import read_logs
from realloc.evaluate.report.quality import check_section, nuisance_section
from realloc.logs.checks.check import check_logs
from tests.evaluate.report.simulated import SCHEMA, fitted, later


def test_the_check_counts_what_it_found():
    check = check_logs(read_logs(later(), SCHEMA), fitted().config.check)
    section = check_section(check, "First.")
    assert section.lines[0] == "First."
    assert f"{len(check.errors)} errors, {len(check.warnings)} warning" in section.lines[-1]
    assert section.figures[1].value == len(check.warnings)


def test_every_outcome_has_its_explained_part_and_significance():
    section = nuisance_section(fitted(), read_logs(later(), SCHEMA))
    assert [row[0] for row in section.rows] == ["orders", "gmv"]
    names = [figure.name for figure in section.figures]
    assert names == ["orders_r2", "orders_significance", "gmv_r2", "gmv_significance"]
    assert section.lines[0].startswith("As of round 1, ")
