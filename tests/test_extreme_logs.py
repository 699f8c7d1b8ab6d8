"""Logs at the edge of arithmetic: each ends in finite decisions, or in a sentence that helps."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from realloc import LogError, ReAlloc, Schema
from realloc.learn.teacher import fit as teacher_fit
from realloc.learn.teacher.config import KernelConfig, TeacherConfig
from tests.conftest import SPENDS, make_frame
from tests.small import CHANNELS, CONFIG

NUMBERS = ["gain", "gain_lower", "support", "moved_share"]


def decide(frame: pd.DataFrame, schema: Schema = SPENDS, config=CONFIG) -> ReAlloc:
    """Fit, and decide on the last rows of the log: every number is finite."""
    model = ReAlloc(config, schema, quiet=True).fit(frame)
    answer = model.recommend(frame.drop(columns=schema.outcome).tail(20))
    shares = answer[[f"share_{name}" for name in schema.channels]].to_numpy()
    assert len(answer) == 20
    assert np.isfinite(answer[NUMBERS].to_numpy(np.float64)).all()
    assert shares.sum(axis=1) == pytest.approx(np.ones(20))
    assert shares.min() >= 0
    return model


def rows_of(frame: pd.DataFrame) -> np.ndarray:
    return np.arange(len(frame))


def three_values(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(orders=np.digitize(frame["ads"], [60, 120]).astype(float))


def one_row_per_unit(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(item=[f"i{row}" for row in rows_of(frame)])


def one_channel_used_once(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(rebate=np.where(rows_of(frame) == 7, 50.0, 0.0))


def one_budget(frame: pd.DataFrame) -> pd.DataFrame:
    shares = frame[CHANNELS].div(frame[CHANNELS].sum(axis=1), axis=0)
    return frame.assign(**{name: 100 * shares[name] for name in CHANNELS})


def huge_and_tiny_outcomes(frame: pd.DataFrame) -> pd.DataFrame:
    huge = rows_of(frame) % 50 == 0
    return frame.assign(orders=np.where(huge, 1e12, 1e-3 * frame["orders"]))


def huge_and_tiny_features(frame: pd.DataFrame) -> pd.DataFrame:
    huge = rows_of(frame) % 50 == 0
    return frame.assign(price=np.where(huge, 1e12, 1e-3 * frame["price"]), size=1e12)


def tiny_scales(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(orders=1e-12 * frame["orders"], price=1e-12 * frame["price"])


def copied_features(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{f"copy_{number}": frame["price"] for number in range(3)})


@pytest.mark.parametrize(
    "change",
    [
        three_values,
        one_row_per_unit,
        one_channel_used_once,
        one_budget,
        huge_and_tiny_outcomes,
        huge_and_tiny_features,
        tiny_scales,
        copied_features,
    ],
)
def test_a_model_decides_with_finite_numbers(
    change: Callable[[pd.DataFrame], pd.DataFrame],
):
    decide(change(make_frame(units=60)))


def test_two_channels_of_which_one_is_nearly_always_zero():
    frame = make_frame(units=60).drop(columns="rebate")
    frame["coupon"] = np.where(rows_of(frame) % 97 == 0, frame["coupon"], 0.0)
    decide(frame, replace(SPENDS, channels=("ads", "coupon")))


def test_a_constant_outcome_is_refused():
    with pytest.raises(LogError, match="outcome that varies in column 'orders', got 3 in"):
        decide(make_frame().assign(orders=3.0))


def test_one_split_for_all_rows_is_refused():
    with pytest.raises(LogError, match="shares that vary, got the same split in every row"):
        decide(make_frame().assign(ads=2.0, coupon=3.0, rebate=5.0))


# Carry-over


def carried_over(units: int, weeks: int, channels: int) -> pd.DataFrame:
    """Shares and sales that hardly change from week to week: what was spent wears off slowly."""
    random = np.random.default_rng(0)
    size = random.lognormal(5, 1, units)
    usual = np.log(random.dirichlet(np.full(channels, 3.0), units))
    drift = np.zeros((units, channels))
    stock = np.zeros((units, channels))
    parts: list[pd.DataFrame] = []
    for week in range(weeks):
        drift = 0.8 * drift + 0.2 * random.normal(size=drift.shape)
        spend = np.exp(usual + drift)
        spend *= size[:, None] / spend.sum(axis=1, keepdims=True)
        stock = 0.9 * stock + 0.1 * spend
        part = pd.DataFrame(spend, columns=[f"channel_{k}" for k in range(channels)])
        part["region"] = [f"r{unit}" for unit in range(units)]
        part["week"] = pd.Timestamp("2022-01-03") + pd.Timedelta(weeks=week)
        part["population"] = size
        part["sales"] = size + np.sqrt(stock) @ np.arange(1.0, channels + 1)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def test_forty_regions_over_two_years_with_carry_over():
    frame = carried_over(units=40, weeks=104, channels=5)
    channels = [f"channel_{k}" for k in range(5)]
    schema = Schema(unit="region", time="week", channels=channels, outcome="sales")
    kernel = KernelConfig(inducing=60, steps=40, rows=200)
    model = decide(frame, schema, replace(CONFIG, kernel=kernel))
    assert model.fitted.main.committee.failed == ()


# Surfaces that fail


def fails(*_: object, **__: object) -> None:
    raise np.linalg.LinAlgError("not positive definite")


def test_the_committee_goes_on_without_a_surface_that_fails(monkeypatch):
    monkeypatch.setattr(teacher_fit, "fit_kernel", fails)
    model = decide(make_frame(units=60))
    committee = model.fitted.main.committee
    assert committee.failed == ("kernel",)
    assert len(committee.weights) == len(CONFIG.teacher.surfaces)
    assert committee.weights[0] == 0
    assert committee.lines() == [
        "The kernel surface could not be fitted to this window (its numbers are not finite); "
        "the other surfaces decide without it."
    ]


def test_without_any_surface_the_log_is_refused(monkeypatch):
    monkeypatch.setattr(teacher_fit, "fit_kernel", fails)
    config = replace(CONFIG, teacher=TeacherConfig(surfaces=("kernel",), members=2))
    with pytest.raises(
        LogError, match=r"none of \['kernel'\] gave finite numbers. Look for"
    ):
        decide(make_frame(units=60), config=config)
