"""`logs.summary()`: the figures and the words a person asks for first."""

import pytest

from realloc import LogError, read_logs
from tests.conftest import SPENDS, make_frame


def test_the_figures_are_those_of_the_log():
    frame = make_frame()
    summary = read_logs(frame, SPENDS).summary()
    assert (summary.variation.rows, summary.variation.units) == (240, 30)
    assert summary.outcome_mean == pytest.approx(frame["orders"].mean())
    assert summary.outcome_zeros == (frame["orders"] == 0).mean()
    assert 0 < summary.outcome_within < 1
    assert sum(
        channel.mean_share for channel in summary.variation.channels
    ) == pytest.approx(1)
    assert all(0.5 < part <= 1 for part in summary.channels_move)


def test_it_speaks_in_words():
    frame = make_frame()
    frame.loc[:2, "orders"] = None
    frame.loc[5, ["ads", "coupon", "rebate"]] = 0
    said = repr(read_logs(frame, SPENDS).summary())
    assert said.startswith(
        "236 rows of 30 units, 8 periods from 2025-01-06 to 2025-01-13\n"
    )
    assert "outcome   orders: " in said
    assert "channels  ads " in said
    assert "of the budget, used in 100% of the rows by 30 units, moves in " in said
    assert "features  price, category, promoted" in said
    assert "set aside 3 rows: The outcome in column 'orders' is missing" in said
    assert "set aside 1 row: The budget is 0" in said


def test_a_channel_that_stands_still_does_not_move():
    frame = make_frame()
    frame[["ads", "coupon", "rebate"]] = [30.0, 20.0, 50.0]
    summary = read_logs(frame, SPENDS).summary()
    assert summary.channels_move == (0, 0, 0)
    assert "0% of the splits change" in repr(summary)


def test_single_rows_and_no_rows():
    logs = read_logs(make_frame(days=1), SPENDS)
    assert "nothing is known of how shares change" in repr(logs.summary())
    with pytest.raises(LogError, match="Expected rows to summarise"):
        logs.take(logs.outcome < 0).summary()
