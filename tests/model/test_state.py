"""What was learned decides alike after saving, without its memory, in any company of rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from realloc import ReAlloc, load
from realloc.learn.teacher.repeated_mixes import RepeatedMixes
from realloc.model.files import write_model
from tests.small import CONFIG, fitted, today, updated, window


def small_copy(model, tmp_path):
    write_model(tmp_path / "small", model.saved.without_memory())
    copy = load(tmp_path / "small")
    copy.quiet = True
    return copy


def compare(model, copy, rows, **asked):
    """The same columns, reasons and numbers; returns the answers of the copy."""
    model.quiet = True
    wanted, found = model.recommend(rows, **asked), copy.recommend(rows, **asked)
    pd.testing.assert_frame_equal(found, wanted, rtol=1e-9, atol=1e-9)
    return found


def test_answers_are_those_of_the_model(tmp_path):
    model = updated()
    found = compare(model, small_copy(model, tmp_path), today(200))
    assert found.moved.mean() > 0.2  # there is something to compare


def test_so_are_those_of_many_channels_under_constraints(tmp_path):
    model = fitted(channels=10)
    rows = window(99, channels=10).to_pandas().drop(columns="orders").head(60)
    names = list(model.known_schema.channels)
    asked = {"floors": {names[0]: 0.05}, "frozen": [names[3]], "largest_move": 0.1}
    copy = small_copy(model, tmp_path)
    compare(model, copy, rows, constraints=asked)


def test_so_are_those_under_a_cap_over_all_rows(tmp_path):
    model, rows = updated(), today(60)
    copy = small_copy(model, tmp_path)
    money = copy.recommend(rows)[["spend_ads", "spend_coupon", "spend_rebate"]].sum()
    grown = (
        money / rows[["ads", "coupon", "rebate"]].mul(rows.budget, axis=0).sum().to_numpy()
    ).idxmax()
    found = compare(
        model,
        copy,
        rows,
        pools={grown.removeprefix("spend_"): round(float(money[grown]) * 0.99, 2)},
    )
    assert found[grown].sum() < money[grown]


@pytest.mark.parametrize(
    "change",
    [
        {"decision": replace(CONFIG.decision, uncertainty="members")},
        {"decision": replace(CONFIG.decision, search="greedy", lambda_support=0.01)},
        {"features": replace(CONFIG.features, lags=2)},
        {"support": replace(CONFIG.support, coordinates="sphere")},
    ],
    ids=["members", "greedy", "lags", "sphere"],
)
def test_so_are_those_of_other_settings(tmp_path, change):
    model = ReAlloc(replace(CONFIG, **change)).fit(window())
    compare(model, small_copy(model, tmp_path), today())


def test_so_are_those_with_lasting_mixes_and_a_guardrail(tmp_path):
    frame = window().to_pandas()
    frame["gmv"] = 2 * frame.orders + np.random.default_rng(0).normal(size=len(frame))
    schema = replace(window().schema, features=None, guardrails=("gmv",))
    model = ReAlloc(CONFIG, schema, quiet=True).fit(frame)
    mixes = RepeatedMixes(
        np.array(window(99).shares[:20]), np.linspace(-1, 1, 20), np.full(20, 5), 0.5, 0.1
    )
    outcomes = {
        name: replace(learned, mixes=mixes)
        for name, learned in model.fitted.outcomes.items()
    }
    model.state = replace(model.fitted, outcomes=outcomes)
    found = compare(model, small_copy(model, tmp_path), today())
    assert {"moved", "guardrail"} & set(found.reason)


def test_so_is_that_to_rows_none_of_which_can_be_read(tmp_path):
    model, rows = updated(), today(2).assign(ads=-1.0)
    model.quiet = True
    found = small_copy(model, tmp_path).recommend(rows)
    assert set(found.reason) == {"bad_input"}
    pd.testing.assert_frame_equal(found, model.recommend(rows))


def test_field_gain_and_explanation_are_those_of_the_model(tmp_path):
    model, rows = updated(), today()
    copy = small_copy(model, tmp_path)
    np.testing.assert_allclose(copy.field(rows), model.field(rows), rtol=1e-9)
    to = np.roll(rows[["ads", "coupon", "rebate"]].to_numpy(), 1, axis=1)
    np.testing.assert_allclose(copy.gain(rows, to), model.gain(rows, to), rtol=1e-9)
    unit = rows.item_id.iloc[3]
    one, other = copy.explain(rows, unit), model.explain(rows, unit)
    assert [row["reason"] for row in one.rows] == [row["reason"] for row in other.rows]
    assert [(t.source, t.target) for t in one.transfers] == [
        (t.source, t.target) for t in other.transfers
    ]


@pytest.mark.parametrize("channels", [3, 10])
def test_a_row_alone_is_the_row_in_a_large_batch(tmp_path, channels):
    copy = small_copy(fitted(channels), tmp_path)
    rows = (
        window(98, channels=channels, units=2000 if channels == 3 else 60)
        .to_pandas()
        .drop(columns="orders")
    )
    together = copy.recommend(rows)
    chosen = np.random.default_rng(0).choice(len(rows), 12, replace=False)
    for i in chosen.tolist():
        pd.testing.assert_frame_equal(
            copy.recommend(rows.iloc[[i]]), together.iloc[[i]], rtol=1e-9, atol=1e-9
        )
    for size in (2, 3, 4, 7, 8, 64, 1000):
        part = rows.iloc[41 : 41 + size].sample(frac=1, random_state=size)
        pd.testing.assert_frame_equal(
            copy.recommend(part), together.loc[part.index], rtol=1e-9, atol=1e-9
        )
