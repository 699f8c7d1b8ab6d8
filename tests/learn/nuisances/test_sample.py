"""What nuisances refuse to learn from, and the sentence that says so."""

from dataclasses import replace

import numpy as np
import pytest

from realloc import LogError
from realloc.learn.nuisances.crossfit import cross_fit
from tests.learn.nuisances.synthetic import draw, quick


def spoil(values, at, by):
    changed = np.array(values)
    changed[at] = by
    return changed


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda r: {"x": spoil(r.x, (3, 1), np.nan)},
            "Expected finite features .* in 1 of 400 rows .*first: row 3",
        ),
        (lambda r: {"x": spoil(r.x, (3, 1), 1e9)}, "Encode them first"),
        (
            lambda r: {"outcome": spoil(r.outcome, slice(7, 9), np.inf)},
            "Expected finite outcome .* in 2 of 400 rows",
        ),
        (lambda r: {"shares": spoil(r.shares, (0, 0), np.nan)}, "Expected finite shares"),
        (lambda r: {"shares": r.shares * 0.9}, "sum to 1, got others in 400 of 400 rows .*sum 0.9"),
        (lambda r: {"shares": r.shares[:, :1]}, "K of at least 2"),
        (lambda r: {"x": r.x[:5]}, "Expected features of shape \\(400, d\\)"),
        (lambda r: {"outcome": r.x}, "Expected one outcome per row"),
        (lambda r: {"folds": r.folds[:9]}, "Expected folds of shape"),
        (lambda r: {"folds": r.folds * 1.0}, "Expected whole numbers as folds"),
        (lambda r: {"folds": r.folds % 4}, "Expected rows in each of 5 folds, got none in fold 4"),
        (lambda r: {"folds": r.folds + 1}, "Expected fold numbers from 0 to 4"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(change, text):
    rows = draw(n=400)
    rows = replace(rows, **change(rows))
    with pytest.raises(LogError, match=text):
        cross_fit(*rows.inputs, config=quick())


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (np.full(400, np.nan), "Expected finite weights"),
        (np.linspace(-1, 1, 400), "Expected weights of at least 0, got 200 negative of 400"),
        (np.zeros(400), "Expected some weights above 0, got 400 zeros"),
        ((np.arange(400) // 4 % 5 != 2) * 1.0, "got zeros in fold 2"),
        (np.ones(3), "Expected weights of shape \\(400,\\)"),
    ],
)
def test_bad_weights_are_refused_with_a_sentence(weights, text):
    with pytest.raises(LogError, match=text):
        cross_fit(*draw(n=400).inputs, config=quick(), weights=weights)


def test_too_few_rows_and_no_rows_are_refused():
    with pytest.raises(
        LogError, match="Expected at least 20 rows to learn from beside fold 0 .* got 14"
    ):
        cross_fit(*draw(n=30).inputs, config=quick())
    with pytest.raises(LogError, match="Expected rows to learn from, got none"):
        cross_fit(*(values[:0] for values in draw(n=40).inputs), config=quick())


@pytest.mark.parametrize("kind", ["positive", "count"])
def test_negative_outcomes_need_a_real_link(kind):
    rows = draw(n=400)
    outcome = np.abs(rows.outcome)
    outcome[:3] = -2
    with pytest.raises(
        LogError, match=f'`outcome = "{kind}"` .* got 3 negative of 400 rows .down to -2.. Use'
    ):
        cross_fit(rows.x, rows.shares, outcome, rows.folds, quick(outcome=kind))
