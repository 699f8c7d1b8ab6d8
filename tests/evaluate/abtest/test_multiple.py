import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from realloc.evaluate.abtest.multiple import adjust


@pytest.mark.parametrize(
    ("ours", "theirs"), [("holm", "holm"), ("benjamini_hochberg", "fdr_bh")]
)
def test_adjusted_p_values_are_those_of_statsmodels(ours, theirs):
    p = np.array([0.2, 0.001, 0.04, 0.03, 0.9, 0.03])
    assert np.allclose(adjust(p, ours), multipletests(p, method=theirs)[1])


def test_holm_keeps_the_error_over_all_goals_where_plain_p_values_do_not():
    p = np.random.default_rng(0).random((4000, 6))
    plain, holm = (
        np.array([adjust(row, kind).min() for row in p]) < 0.05 for kind in ("none", "holm")
    )
    assert plain.mean() > 0.2
    assert abs(holm.mean() - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 4000)


def test_no_goal_needs_no_correction():
    assert len(adjust(np.array([]), "holm")) == 0
