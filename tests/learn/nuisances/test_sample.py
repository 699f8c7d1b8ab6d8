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
    ],
)
def test_bad_input_is_refused_with_a_sentence(change, text):
    rows = draw(n=400)
    rows = replace(rows, **change(rows))
    with pytest.raises(LogError, match=text):
        cross_fit(*rows.inputs, config=quick())


def test_weights_of_a_fold_that_are_all_zero_are_refused_with_a_sentence():
    weights = (np.arange(400) // 4 % 5 != 2) * 1.0
    with pytest.raises(LogError, match="got zeros in fold 2"):
        cross_fit(*draw(n=400).inputs, config=quick(), weights=weights)


def test_too_few_rows_are_refused():
    with pytest.raises(
        LogError, match="Expected at least 20 rows to learn from beside fold 0 .* got 14"
    ):
        cross_fit(*draw(n=30).inputs, config=quick())


@pytest.mark.parametrize("kind", ["positive", "count"])
def test_negative_outcomes_need_a_real_link(kind):
    rows = draw(n=400)
    outcome = np.abs(rows.outcome)
    outcome[:3] = -2
    with pytest.raises(
        LogError,
        match=f'`outcome = "{kind}"` .* got 3 negative of 400 rows .down to -2.. Use',
    ):
        cross_fit(rows.x, rows.shares, outcome, rows.folds, quick(outcome=kind))
