"""Tallies of chunks add up to that of the run."""

import numpy as np
import pytest

from realloc.batch.tally import Tally
from realloc.decide.totals import GainSum


def test_counts_sums_and_flows_add_up_and_the_first_finding_stays():
    one = Tally(
        rows=3,
        moved=1,
        gain=0.5,
        reasons={"moved": 1},
        searches={"compiled": 3},
        flows=[[0.0, 2.0], [0.0, 0.0]],
    )
    other = Tally(
        rows=2,
        gain=0.25,
        reasons={"moved": 1, "no_gain": 1},
        searches={"compiled": 1, "numpy: grid": 1},
        first={"a": "second"},
    )
    both = one.add(other)
    assert (both.rows, both.moved, both.gain) == (5, 1, 0.75)
    assert both.reasons == {"moved": 2, "no_gain": 1}
    assert both.searches == {"compiled": 4, "numpy: grid": 1}
    assert both.flows == one.flows
    assert one.add(one).flows == [[0.0, 4.0], [0.0, 0.0]]
    assert Tally(first={"a": "first"}).add(other).first == {"a": "first"}


def test_the_interval_of_a_sum_does_not_depend_on_how_rows_are_cut():
    columns = np.random.default_rng(0).uniform(0.1, 2.0, (3, 90))
    columns[2] = 0.15
    whole = GainSum.of(*columns)
    cut = [GainSum.of(*columns[:, rows]) for rows in (slice(0, 40), slice(40, 90))]
    parts = [
        Tally(gain=one.gain, gain_common=one.common, gain_single=one.single) for one in cut
    ]
    both = parts[0].add(parts[1]).total
    assert both.gain == pytest.approx(whole.gain)
    assert both.half == pytest.approx(whole.half)


def test_support_that_nobody_counted_is_not_known():
    assert Tally().add(Tally()).supported is None
    assert Tally().add(Tally(supported=2)).supported == 2
    assert Tally(supported=3).add(Tally(supported=2)).supported == 5
    assert Tally(supported=3).add(Tally()).supported == 3
