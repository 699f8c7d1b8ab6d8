"""Coverage figures on logs small enough to count by hand."""

import pandas as pd
import pytest

from realloc import Schema, read_logs
from realloc.logs.checks.variation import measure

TWO = Schema(unit="u", time="d", outcome="y", channels=["a", "b"], features=[])


def logs_of(rows):
    return read_logs(pd.DataFrame(rows, columns=["u", "d", "a", "b", "y"]), TWO)


def test_figures_of_a_log_of_four_rows():
    coverage = measure(
        logs_of(
            [
                ("x", "2025-01-01", 1.0, 1.0, 1.0),
                ("x", "2025-01-02", 3.0, 1.0, 2.0),
                ("y", "2025-01-01", 2.0, 0.0, 3.0),
                ("y", "2025-01-03", 5.0, 0.0, 4.0),
            ]
        )
    )
    assert (coverage.rows, coverage.units, coverage.periods) == (4, 2, 3)
    assert (coverage.first, coverage.last, coverage.budget) == (
        "2025-01-01",
        "2025-01-03",
        13.0,
    )
    assert coverage.zero_cells == 0.25
    assert coverage.rows_with_zero == 0.5
    assert coverage.structural_zeros == 1.0  # unit y never uses b
    assert coverage.patterns == (("a", 2), ("a + b", 2))
    assert coverage.moved_rows == 0.5
    assert coverage.move_median == pytest.approx(0.125)  # moves .25 (x) and 0 (y)
    a, b = coverage.channels
    assert (a.units_using, b.units_using) == (2, 1)
    assert b.rows_used == 0.5
    assert a.mean_share == pytest.approx((0.5 + 0.75 + 1 + 1) / 4)
    assert a.spread_within == pytest.approx((2 * 0.125**2 / 4) ** 0.5)


def test_patterns_of_more_than_eight_channels_are_counted():
    names = [f"c{k}" for k in range(12)]
    rows = pd.DataFrame(
        [[1.0 if k in (i % 3, 11) else 0.0 for k in range(12)] for i in range(9)],
        columns=names,
    )
    rows = rows.assign(u="x", d=[f"2025-01-0{i + 1}" for i in range(9)], y=1.0)
    coverage = measure(
        read_logs(
            rows, Schema(unit="u", time="d", outcome="y", channels=names, features=[])
        )
    )
    assert coverage.pattern_count == 3
    assert set(coverage.patterns) == {("c0 + c11", 3), ("c1 + c11", 3), ("c2 + c11", 3)}


def test_real_ecommerce_logs_have_the_published_figures(real_data):
    from realloc.logs.guess import guess_schema
    from realloc.logs.reading.source import open_source

    path = real_data("conjura") / "conjura_slice_4999rows.csv"
    coverage = measure(read_logs(path, guess_schema(open_source(path))))
    assert coverage.zero_cells == pytest.approx(0.607, abs=0.001)
    assert coverage.rows_with_zero == 1.0
    assert coverage.pattern_count == 49
    assert coverage.within_variance == pytest.approx(0.233, abs=0.002)
    assert coverage.move_median == pytest.approx(0.035, abs=0.001)
    assert coverage.move_p90 == pytest.approx(0.116, abs=0.001)
    assert coverage.structural_zeros == pytest.approx(0.33, abs=0.01)
