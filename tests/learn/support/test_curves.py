"""Learned curves: what an additive model lacks, and nothing where it lacks nothing."""

import numpy as np

from realloc.base.progress import silent
from realloc.learn.support.curves import learn_curves
from realloc.learn.support.support import fit_support
from tests.learn.support.drawn import QUIET, bent, bent_support, drawn, logged_of


def test_few_rows_get_no_curves():
    x = np.zeros((500, 3), np.float32)
    assert learn_curves(x, np.zeros((500, 2)), np.arange(500) % 5, 0, silent) is None


def test_a_policy_that_weighs_columns_together_is_followed_by_curves():
    """Half of the centre's error at most is left, of what the additive model leaves."""
    support = bent_support()
    assert support.density.basis.curves.shape[1] > 0
    x, _, centre = bent(3000, seed=7)
    few = fit_support(logged_of(*bent(700, seed=0)[:2]), QUIET, 0)
    assert few.density.basis.curves.shape[1] == 0

    def error(one):
        border = one.density.at(x)
        back = border.centre @ np.linalg.inv(one.density.whiten) + one.density.origin
        return np.sqrt(np.square(back - centre).mean())

    assert error(support) < 0.5 * error(few)


def test_a_policy_that_is_additive_keeps_the_additive_model():
    assert drawn("hard").support.density.basis.curves.shape[1] == 0


def test_curves_of_a_fold_have_not_seen_its_rows():
    random = np.random.default_rng(0)
    x = random.normal(size=(1000, 3)).astype(np.float32)
    v = np.tanh(x[:, :2].astype(np.float64) * 2)
    folds = np.arange(1000) % 4
    before = learn_curves(x, v, folds, 0, silent)
    other = v.copy()
    other[folds == 1] += random.normal(size=(250, 2))
    after = learn_curves(x, other, folds, 0, silent)
    assert before is not None
    assert after is not None
    assert not np.allclose(before[0], after[0])
    assert not np.allclose(before[-1], after[-1])
