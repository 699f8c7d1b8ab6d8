import numpy as np
from scipy import stats

from realloc.evaluate.abtest.arms import Arms
from realloc.evaluate.abtest.split import check_split
from tests.evaluate.abtest.simulated import make_config


def _split(control, treatment, expected=0.5, clusters=None):
    treated = np.arange(control + treatment) >= control
    codes = np.arange(len(treated)) if clusters is None else clusters
    return check_split(Arms(len(treated), codes, treated, {}), make_config(split=expected))


def test_a_fair_split_passes_and_a_lopsided_one_does_not():
    assert _split(500, 500).ok
    assert _split(905, 95, 0.1).ok
    lost = _split(5000, 4600)
    assert not lost.ok
    assert (
        "Sample-ratio mismatch: 4,600 in treatment, 5,000 in control, that is 47.92% treated where "
        "50.00%" in str(lost)
    )
    assert not _split(500, 500, 0.1).ok


def test_the_p_value_is_that_of_the_binomial_test():
    assert np.isclose(_split(1010, 990).p, stats.binomtest(990, 2000).pvalue, rtol=0.05)


def test_clusters_are_counted_not_their_units():
    # One large treated cluster of 900 units against nine control ones: far from half the units, but
    # a fair draw of clusters.
    codes = np.concatenate([np.arange(100) // 20, 5 + np.arange(900) // 180])
    assert _split(100, 900, clusters=codes).ok
    assert not _split(100, 900).ok


def test_fair_draws_are_hardly_ever_refused():
    rng = np.random.default_rng(0)
    refused = sum(
        not _split(1000 - k, k, 0.1).ok for k in rng.binomial(1000, 0.1, 500).tolist()
    )
    assert refused <= 5  # .5 expected
