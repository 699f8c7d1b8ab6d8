"""What the policy would do with every unit's last row."""

from dataclasses import replace

import numpy as np
import pytest

from realloc import read_logs
from realloc.evaluate.report.advice import advise, last_rows
from realloc.evaluate.report.today import action_section, moves_section, support_section
from tests.evaluate.report.simulated import SCHEMA, fitted, later


@pytest.fixture(scope="module")
def advice():
    return advise(fitted(), last_rows(read_logs(later(), SCHEMA)))


def test_every_unit_has_a_reason_and_money_goes_from_channel_to_channel(advice):
    section = action_section(advice)
    assert sum(int(row[1].replace(",", "")) for row in section.rows) == len(advice.moved)
    assert section.figures[0].value == advice.moved.mean()
    assert "Money by channel: ads +" in section.lines[1]


def test_the_biggest_moves_come_first(advice):
    section = moves_section(advice)
    money = [float(row[2].replace(",", "")) for row in section.rows]
    assert money == sorted(money, reverse=True)
    assert section.heads[0] == "item"
    assert " → " in section.rows[0][1]
    still = replace(advice, moved=np.zeros(len(advice.moved), dtype=bool))
    assert moves_section(still).lines == ("The model moves nothing.",)


def test_moves_out_of_the_support_are_counted(advice):
    outside = replace(advice, supported=np.zeros(len(advice.moved), dtype=bool))
    lines = support_section(fitted(), outside).lines
    moved = int(advice.moved.sum())
    assert f"Of {moved:,} recommended moves {moved:,} leave the support." in lines
    assert support_section(fitted(), outside).figures[0].value == 0
