"""Small logs, logs of few repeated mixes, and few units with long histories: what is learned
from them, and how.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from realloc import Config, LogError, ReAlloc, Schema, load, read_logs
from realloc.decide.types import WEAK
from realloc.learn.nuisances.config import MODELS, NuisanceConfig
from realloc.learn.support.config import SupportConfig
from realloc.learn.teacher.config import SURFACES, TeacherConfig
from realloc.model.round import for_size, set_apart
from tests.small import CHANNELS, CONFIG, same_bits, window

LAB = replace(
    CONFIG,
    nuisances=NuisanceConfig(),
    teacher=TeacherConfig(members=2),
    support=SupportConfig(margin=0.0),
)
SCHEMA = Schema(unit="mix", time="day", channels=CHANNELS, outcome="reading", features=())
GRID = (
    np.array([[a, b, 10 - a - b] for a in range(1, 6) for b in range(1, 6) if a + b < 10])
    / 10
)


def readings(times: int = 4, noise: float = 0.02, shift: float = 0.0) -> pd.DataFrame:
    """A rough surface that is read several times: every mix has a level of its own that no
    smooth surface knows.
    """
    random = np.random.default_rng(3)
    level = random.normal(size=len(GRID))
    which = np.tile(np.arange(len(GRID)), times)
    shares = GRID[which] + shift * random.normal(size=(len(which), 3)) @ (np.eye(3) - 1 / 3)
    frame = pd.DataFrame(shares, columns=CHANNELS).assign(day="2026-01-01")
    frame["reading"] = level[which] + noise * random.normal(size=len(which))
    frame["mix"] = [f"r{row}" for row in range(len(which))]
    return frame


@pytest.fixture(scope="module")
def taught() -> ReAlloc:
    return ReAlloc(LAB, SCHEMA, quiet=True).fit(readings())


def ask(model: ReAlloc, rows: int = 3, **constraints) -> pd.DataFrame:
    today = (
        readings()
        .head(rows)
        .drop(columns="reading")
        .assign(mix=[f"new{row}" for row in range(rows)])
    )
    return model.recommend(today, constraints=constraints or None)


def ends(answer: pd.DataFrame) -> np.ndarray:
    return answer[[f"share_{name}" for name in CHANNELS]].to_numpy()


# Few rows


def test_fifty_rows_are_enough_and_forty_nine_are_not():
    fit = ReAlloc(LAB, SCHEMA, quiet=True).fit
    assert fit(readings().head(50)).fitted.rounds == 1
    with pytest.raises(LogError, match="Expected at least 50 rows to learn from, got 49"):
        fit(readings().head(49))


def test_few_rows_are_for_the_kernel_and_ridge_alone():
    sized = for_size(Config(), 999)
    assert sized.teacher.surfaces == ("kernel",)
    assert sized.nuisances.models == ("ridge",)


def test_a_thousand_rows_change_nothing():
    assert for_size(Config(), 1000) == Config()


def test_what_was_chosen_by_hand_stays():
    config = Config(
        teacher=TeacherConfig(surfaces=("network",)),
        nuisances=NuisanceConfig(models=("ridge", "boosting")),
    )
    assert for_size(config, 60) == config
    never = Config(teacher=TeacherConfig(few_rows=0))
    assert for_size(never, 60) == never
    assert (never.teacher.surfaces, never.nuisances.models) == (SURFACES, MODELS)


def test_a_surface_that_was_not_fitted_has_no_weight_and_the_error_of_nothing(taught):
    weighing = taught.fitted.main.committee
    assert len(weighing.weights) == len(weighing.alone) == 4
    assert weighing.weights[1:] == (0.0,) * 3
    assert weighing.alone[1:] == (weighing.nothing,) * 3


# Repeated mixes


def test_a_logged_mix_that_reads_best_is_recommended_where_no_surface_sees_it(taught):
    frame = readings()
    reading = frame.groupby(CHANNELS, sort=False)["reading"].mean().to_numpy()
    near = np.abs(GRID - GRID[0]).sum(axis=1) / 2 <= 0.15 + 1e-9
    answer = ask(taught, 1, largest_move=0.15)
    assert ends(answer)[0] == pytest.approx(GRID[np.where(near, reading, -9).argmax()])
    assert answer["gain"][0] == pytest.approx(reading[near].max() - reading[0], abs=0.2)


def test_gain_and_recommend_agree_about_a_logged_mix(taught):
    answer = ask(taught)
    today = readings().head(3).drop(columns="reading")
    assert taught.gain(today, ends(answer)) == pytest.approx(
        answer["gain"].to_numpy(), abs=1e-6
    )


def test_a_logged_mix_is_an_end_only_where_constraints_and_length_allow(taught):
    answer = ask(taught, largest_move=0.05, frozen=("ads",))
    start = readings()[CHANNELS].to_numpy()[:3]
    assert np.array_equal(ends(answer)[:, 0], start[:, 0])
    assert (np.abs(ends(answer) - start).sum(axis=1) / 2 <= 0.05 + 1e-12).all()
    short = replace(
        taught.config, decision=replace(taught.config.decision, max_length=0.01)
    )
    model = ReAlloc(short, taught.schema, quiet=True)
    model.state = taught.state
    assert (np.linalg.norm(ends(ask(model)) - start, axis=1) <= 0.01 + 1e-9).all()


def test_places_survive_save_and_load(taught, tmp_path):
    taught.save(tmp_path / "model")
    again = load(tmp_path / "model")
    one, other = taught.fitted.main.mixes, again.fitted.main.mixes
    assert (one.lasting, one.noise) == (other.lasting, other.noise)
    assert same_bits(one.shares, other.shares)
    pd.testing.assert_frame_equal(ask(taught), ask(again))


def test_mixes_that_never_repeat_leave_no_places():
    model = ReAlloc(LAB, SCHEMA, quiet=True).fit(readings(shift=1e-3))
    assert model.fitted.main.mixes is None
    assert ReAlloc(CONFIG, quiet=True).fit(window()).fitted.main.mixes is None


# Weak evidence


def test_a_model_that_held_out_units_do_not_speak_for_keeps_every_row_and_says_so():
    model = ReAlloc(CONFIG, quiet=True).fit(window())
    assert model.recommend(window(99))["moved"].to_pandas().any()
    asked = model.fitted.main.committee.significance + 0.1
    model.config = replace(
        CONFIG, decision=replace(CONFIG.decision, min_significance=asked)
    )
    answer = model.recommend(window(99)).to_pandas()
    assert not answer["moved"].any()
    assert set(zip(answer["reason"], answer["limited_by"], strict=True)) == {
        ("uncertain", WEAK)
    }


def test_repeated_mixes_are_evidence_of_their_own(taught):
    strict = replace(
        taught.config, decision=replace(taught.config.decision, min_significance=1e9)
    )
    model = ReAlloc(strict, taught.schema, quiet=True)
    model.state = taught.state
    pd.testing.assert_frame_equal(ask(model), ask(taught))


# Few units with long histories


def series(units: int, days: int):
    """Long histories of a few units."""
    random = np.random.default_rng(0)
    shares = random.dirichlet(np.full(3, 20.0), units * days)
    frame = pd.DataFrame(shares, columns=CHANNELS)
    frame["mix"] = np.repeat([f"u{unit}" for unit in range(units)], days)
    frame["day"] = np.tile(pd.date_range("2025-01-01", periods=days), units)
    frame["reading"] = 2 * shares[:, 0] + 0.1 * random.normal(size=len(frame))
    return read_logs(frame, SCHEMA)


def test_few_long_units_are_set_apart_by_blocks_of_their_time():
    logs = series(7, 200)
    units, folds = set_apart(logs, 5, seed=1)
    assert len(np.unique(units)) == 35
    assert np.bincount(units).min() >= 30
    for block in np.unique(units):
        rows = np.flatnonzero(units == block)
        assert len(np.unique(logs.unit_codes[rows])) == len(np.unique(folds[rows])) == 1
        others = logs.times[
            (logs.unit_codes == logs.unit_codes[rows[0]]) & (units != block)
        ]
        assert not (
            (others > logs.times[rows].min()) & (others < logs.times[rows].max())
        ).any()
    assert np.bincount(folds).min() > 0


def test_ten_units_are_set_apart_by_unit_as_ever():
    logs = series(10, 20)
    assert np.array_equal(set_apart(logs, 5, seed=1)[0], logs.unit_codes)


def test_a_few_long_units_are_learned_from():
    assert ReAlloc(LAB, quiet=True).fit(series(6, 80)).fitted.main.committee.weights[0] > 0


@pytest.mark.parametrize(("units", "days"), [(4, 400), (7, 20)])
def test_too_few_or_too_short_histories_are_refused(units, days):
    logs = series(units, days)
    with pytest.raises(
        LogError, match=f"at least 50 rows of 10 units .* got {len(logs)} rows of {units}"
    ):
        set_apart(logs, 5, seed=1)
