"""Totals of many decisions: flows of money; the interval is tested with `total_gain`."""

import numpy as np

from realloc.decide.totals import GainSum, money_flows, name_flows


def test_sums_add_up_and_an_empty_one_changes_nothing():
    one = GainSum(1.0, 0.2, 0.5)
    assert one + GainSum() == one
    assert one + one == GainSum(2.0, 0.4, 1.0)
    assert GainSum().half == 0


def test_who_gains_takes_from_all_givers_in_proportion():
    flows = money_flows(np.array([[-3.0, -1.0, 4.0], [1.0, -1.0, 0.0]]))
    assert flows.tolist() == [[0, 0, 3], [1, 0, 1], [0, 0, 0]]
    named = name_flows(flows, ("ads", "coupon", "rebate"))
    assert named == {"ads → rebate": 3.0, "coupon → ads": 1.0, "coupon → rebate": 1.0}
