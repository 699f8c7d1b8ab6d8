"""How much an update changed, and how much of that is news."""

import json

import numpy as np
import pytest

from realloc.model.churn import Churn, compare_fields
from tests.small import fitted, same_bits, updated, window


def fields(rows=50, seed=0, K=3):
    values = np.random.default_rng(seed).standard_normal((rows, K))
    return values - values.mean(axis=1, keepdims=True)


def test_nothing_changed_is_zero():
    one = fields()
    found = compare_fields(one, one.copy(), one.copy())
    assert (
        found.rows,
        found.field,
        found.best_move,
        found.refit_field,
        found.refit_best_move,
    ) == (
        50,
        0,
        0,
        0,
        0,
    )
    assert found.data_field == 0


def test_changes_are_parts_of_the_former_fields_size():
    one = fields()
    assert compare_fields(one, 1.25 * one).field == pytest.approx(0.25)
    assert compare_fields(one, 1.25 * one).best_move == 0  # longer arrows, same directions
    assert compare_fields(one, -one).field == pytest.approx(2)
    assert compare_fields(one, -one).best_move == 1


def test_the_best_move_is_counted_by_row():
    one = fields()
    other = one.copy()
    other[:10] *= -1
    assert compare_fields(one, other).best_move == pytest.approx(0.2)


def test_a_field_of_zeros_divides_nothing_by_zero():
    zero, one = np.zeros((50, 3)), fields()
    assert compare_fields(zero, zero, zero) == Churn(50, 0.0, 0.0, 0.0, 0.0)
    assert compare_fields(zero, one).field == pytest.approx(1)


def test_what_new_data_explains_is_what_noise_leaves():
    assert Churn(9, 0.5, 0.1, None, None).data_field is None
    assert Churn(9, 0.5, 0.1, 0.0, 0.0).data_field == 0.5
    assert Churn(9, 0.5, 0.1, 0.4, 0.0).data_field == pytest.approx((0.25 - 0.16) ** 0.5)
    assert Churn(9, 0.1, 0.1, 0.4, 0.0).data_field == 0.0


def test_news_and_refit_noise_are_told_apart():
    """Every fit has noise of its own, the former one too; fresh and refit share the news.
    20,000 rows know it well.
    """
    truth, news = fields(20_000), 0.5 * fields(20_000, 1)
    former = truth + 0.4 * fields(20_000, 4)
    fresh, again = (truth + news + 0.4 * fields(20_000, seed) for seed in (2, 3))
    found = compare_fields(former, fresh, again)
    size = (1 + 0.16) ** 0.5
    assert found.refit_field == pytest.approx(0.4 * 2**0.5 / size, rel=0.03)
    assert found.field == pytest.approx((0.25 + 0.32) ** 0.5 / size, rel=0.03)
    assert found.data_field == pytest.approx(0.5 / size, rel=0.05)
    nothing_new = compare_fields(
        former, truth + 0.4 * fields(20_000, 2), truth + 0.4 * fields(20_000, 3)
    )
    assert nothing_new.data_field < 0.1


def test_an_update_measures_refit_noise_only_where_asked():
    plain = updated().churn
    assert plain.rows == 300
    assert plain.field > 0
    assert plain.refit_field is None
    assert plain.refit_best_move is None
    asked = fitted().update(window(1), churn=True)
    assert asked.churn.refit_field > 0
    assert 0 <= asked.churn.refit_best_move <= 1
    assert (asked.churn.field, asked.churn.best_move) == (plain.field, plain.best_move)
    assert same_bits(
        asked.field(window(3)), updated().field(window(3))
    )  # asking changes nothing


def test_a_new_fit_forgets_the_report():
    assert updated().fit(window(2)).churn is None


def test_people_and_machines_can_read_it():
    plain, measured = Churn(300, 0.59, 0.32, None, None), Churn(300, 0.5, 0.32, 0.4, 0.22)
    assert plain.lines() == [
        "The field changed by 59% of its size; the best move of 32% of the rows changed.",
        "How much of that is refit noise was not measured (update with churn=True).",
    ]
    assert measured.lines()[1] == (
        "A refit with another seed differs by 40% and 22%, which is noise. New data explains 30%."
    )
    assert json.loads(json.dumps(measured.to_json()))["data_field"] == measured.data_field


def test_it_shows_noise_apart_from_news_and_says_what_was_not_measured():
    before, after = fields(), fields(seed=1)
    known = compare_fields(before, after, fields(seed=2))._repr_markdown_()
    assert "| by a refit with another seed |" in known
    assert "not known" in compare_fields(before, after)._repr_html_()
