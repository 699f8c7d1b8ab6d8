"""Logs from which little or nothing can be learned: a clear refusal, or a model that says so;
never NaN.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from realloc import LogError, ReAlloc, read_logs
from tests.conftest import SPENDS, make_frame
from tests.small import CHANNELS, CONFIG, fitted, student_of, today, window, with_student

SCHEMA = window().schema


def log():
    return window().to_pandas()


def fit(frame, config=CONFIG):
    return ReAlloc(config, schema=SCHEMA).fit(frame)


def answers(model, frame):
    """Field and gain of many ends, corners among them."""
    field = model.field(frame)
    ends = [
        np.full(field.shape, 1 / 3),
        *(np.tile(corner, (len(field), 1)) for corner in np.eye(3)),
    ]
    return field, np.stack([model.gain(frame, end) for end in ends])


def all_finite(model, frame):
    return all(np.isfinite(values).all() for values in answers(model, frame))


def as_units(frame, units):
    names = [f"u{i % units}" for i in range(len(frame))]
    return frame.assign(item_id=names, date=pd.date_range("2024-01-01", periods=len(frame)))


def with_shares(frame, shares):
    return frame.assign(
        **dict(zip(CHANNELS, np.broadcast_to(shares, (len(frame), 3)).T, strict=True))
    )


def jittered(frame, size):
    noise = size * np.random.default_rng(0).standard_normal((len(frame), 3))
    return with_shares(
        frame, np.array([0.2, 0.3, 0.5]) + noise - noise.mean(axis=1, keepdims=True)
    )


# Refused, and why


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.head(0), "Expected rows"),
        (lambda f: f.head(40), "at least 50 rows to learn from, got 40"),
        (
            lambda f: as_units(f.head(150), 9),
            "at least 10 units, or longer histories of 9 units, got 150 rows",
        ),
        (lambda f: as_units(f, 1), "at least 5 units, got 1"),
        (
            lambda f: as_units(f, 2),
            "at least 5 units, got 2",
        ),
        (
            lambda f: with_shares(f, [0.2, 0.3, 0.5]),
            "shares that vary, got the same split in every row",
        ),
        (lambda f: jittered(f, 1e-12), "shares that vary, got the same split in every row"),
        (
            lambda f: with_shares(f, [0.0, 1.0, 0.0]),
            "at least 2 channels with budget, got 1",
        ),
        (lambda f: with_shares(f, [0.2, 0.3, 0.6]), "sum"),
        (lambda f: with_shares(f, [20.0, 30.0, 50.0]), "percent"),
        (
            lambda f: f.assign(orders=3.0),
            "an outcome that varies in column 'orders', got 3 in every row",
        ),
        (lambda f: f.assign(orders=np.nan), "none of 300 can be used"),
        (
            lambda f: f.assign(orders=f.orders.where(f.index != 5, np.inf)),
            "finite numbers in column 'orders', got inf",
        ),
        (lambda f: f.assign(orders=f.orders * 1e40), "below 1e30 in column 'orders'"),
        (lambda f: f.assign(orders="many"), "orders"),
        (lambda f: f.drop(columns="orders"), "'orders'"),
        (lambda f: pd.concat([f, f.head(20)]), "one row per unit and date, got more"),
        (lambda f: f.assign(budget=0.0), "budget"),
        (lambda f: f.assign(ads=np.nan), "shares that sum to 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_log_that_teaches_nothing_is_refused_with_the_reason(change, message):
    with pytest.raises(LogError, match=message):
        fit(change(log()))


# Fitted, and told


def test_a_channel_without_any_budget_is_told_and_harms_nobody():
    frame = log()
    rest = frame[["coupon", "rebate"]].div(frame[["coupon", "rebate"]].sum(axis=1), axis=0)
    frame = frame.assign(ads=0.0, coupon=rest.coupon, rebate=rest.rebate)
    model = fit(frame)
    assert all_finite(model, frame)
    assert float(student_of(model).scaling.inverse[0]) == 0
    assert "ads: its share never varies." in model.state.main.nuisances.lines(
        channels=CHANNELS
    )
    check = read_logs(frame, SCHEMA).check()
    assert any(
        finding.code == "unused_channel" and finding.column == "ads"
        for finding in check.warnings
    )


def test_shares_that_hardly_vary_teach_nothing_and_gain_nothing():
    frame = jittered(log(), 1e-7)
    model = fit(frame)
    field, gains = answers(model, frame)
    assert not field.any()
    assert not gains.any()
    assert (
        model.state.main.committee.weights == (0.0,) * 4
    )  # no surface earned a say: that is the reason


def test_rows_without_an_outcome_are_left_out():
    frame = log()
    missing = np.arange(len(frame)) % 7 == 0
    with_gaps = fit(frame.assign(orders=frame.orders.where(~missing)))
    without = fit(frame[~missing])
    assert all_finite(with_gaps, frame)
    assert np.array_equal(with_gaps.field(today()), without.field(today()))


@pytest.mark.parametrize("scale", [1e12, 1e-9, -1.0])
def test_the_unit_of_the_outcome_changes_only_the_unit_of_the_answers(scale):
    frame = log()
    field, gains = answers(fit(frame.assign(orders=frame.orders * scale)), today())
    plain_field, plain_gains = answers(fitted(), today())
    if scale > 0:
        assert np.allclose(
            field / scale, plain_field, rtol=1e-3, atol=1e-3 * np.abs(plain_field).max()
        )
        assert np.allclose(
            gains / scale, plain_gains, rtol=1e-3, atol=1e-3 * np.abs(plain_gains).max()
        )
    assert np.isfinite(field).all()
    assert np.isfinite(gains).all()


def test_a_large_constant_in_the_outcome_changes_nothing():
    frame = log()
    field = fit(frame.assign(orders=frame.orders + 1e9)).field(today())
    plain = fitted().field(today())
    assert np.allclose(field, plain, atol=1e-2 * np.abs(plain).max())


def test_one_enormous_outcome_leaves_answers_finite():
    frame = log()
    assert all_finite(
        fit(frame.assign(orders=frame.orders.where(frame.index != 7, 1e12))), frame
    )


def test_an_outcome_that_is_mostly_zero_leaves_answers_finite():
    frame = log()
    assert all_finite(fit(frame.assign(orders=(frame.index == 7).astype(float))), frame)


def pure_noise(seed):
    draw = np.random.default_rng(seed)
    frame = log()
    return frame.assign(orders=draw.standard_normal(len(frame)))


def test_pure_noise_has_a_smaller_field_than_a_signal_among_the_same_noise():
    found = []
    for seed in range(4):
        model = fit(pure_noise(seed))
        assert all_finite(model, today())
        found.append(np.abs(model.field(today())).mean())
    noise = pure_noise(9)
    signal = fit(
        noise.assign(orders=12 * noise.ads + noise.orders), with_student(epochs=20)
    )
    assert np.median(found) < 0.5 * np.abs(signal.field(today())).mean()
    assert signal.state.main.committee.together < 0.9 * signal.state.main.committee.nothing


def test_a_committee_without_any_weight_gives_a_field_of_exact_zeros():
    """Nothing learned is an answer: no move gains anything, and the weighing says why."""
    for seed in range(20):
        model = fit(pure_noise(seed))
        if not any(model.state.main.committee.weights):
            field, gains = answers(model, today())
            assert not field.any()
            assert not gains.any()
            assert model.state.main.committee.together == model.state.main.committee.nothing
            return
    pytest.fail("of 20 outcomes of pure noise every one was given weight")


def test_features_that_say_nothing_or_too_much_leave_answers_finite():
    frame = make_frame(units=40)
    odd = frame.assign(
        constant=1.0,
        empty=np.nan,
        huge=1e29,
        copy=frame.price,
        mostly=np.where(frame.index % 9, np.nan, 1.0),
    )
    schema = replace(
        SPENDS, features=("price", "constant", "empty", "huge", "copy", "mostly")
    )
    model = ReAlloc(CONFIG, schema=schema).fit(odd)
    assert all_finite(model, odd)


def test_after_any_refusal_the_same_model_can_be_fitted():
    model = ReAlloc(CONFIG, schema=SCHEMA)
    for bad in (
        log().head(40),
        with_shares(log(), [0.2, 0.3, 0.5]),
        log().assign(orders=1.0),
    ):
        with pytest.raises(LogError):
            model.fit(bad)
        assert model.state is None
    assert np.array_equal(model.fit(log()).field(today()), fitted().field(today()))
