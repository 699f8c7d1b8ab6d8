"""The model that users hold: every kind of source, the order of rows, same seed same bits,
interruption.
"""

import copy
import hashlib
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from realloc import Config, LogError, ReAlloc, Schema, read_logs
from realloc.base.errors import ArtifactError
from realloc.logs import CheckConfig
from tests.conftest import SHARES, SPENDS, as_shares, make_frame
from tests.small import (
    CHANNELS,
    CONFIG,
    fitted,
    same_bits,
    schema_of,
    today,
    updated,
    window,
)

ROOT = Path(__file__).parents[2]
BITS = """
import sys
from tests.small import fitted, today
import hashlib
print(hashlib.sha256(fitted().field(today()).tobytes()).hexdigest())
"""


def spread(n, K=3, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(K), n)


# What goes in


def test_fit_and_update_return_the_model():
    model = ReAlloc(CONFIG)
    assert model.fit(window()) is model
    assert model.update(window(1)) is model
    assert model.state.rounds == 2


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "parquet", "csv"])
def test_every_kind_of_source_gives_the_same_model_where_the_schema_is_known(
    kind, tmp_path
):
    logs = window()
    frame = logs.to_pandas()
    if kind == "parquet":
        source = tmp_path / "logs.parquet"
        frame.to_parquet(source)
    elif kind == "csv":
        source = str(tmp_path / "logs.csv")
        frame.to_csv(source, index=False)
    else:
        source = {
            "pandas": logs.to_pandas,
            "polars": logs.to_polars,
            "arrow": logs.to_arrow,
        }[kind]()
    model = ReAlloc(CONFIG, schema=logs.schema).fit(source)
    assert np.allclose(model.field(source), fitted().field(logs), rtol=1e-4, atol=1e-5)


def test_a_frame_without_schema_says_what_is_missing():
    with pytest.raises(
        LogError,
        match=r"Expected logs \(from `read_logs`\), or `ReAlloc\(schema=...\)`.* got DataFrame",
    ):
        ReAlloc(CONFIG).fit(window().to_pandas())


def test_features_and_their_kinds_are_chosen_once_and_kept():
    frame = make_frame(units=40)
    for schema in (SPENDS, replace(SPENDS, features=("price", "category", "promoted"))):
        model = ReAlloc(CONFIG, schema=schema).fit(frame)
        assert model.schema.features == ("price", "category", "promoted")
        assert model.schema.categorical == (
            "category",
        )  # or a category that is empty today would change its kind
        for odd in (
            frame.assign(category=None),
            frame.assign(category=7),
            frame.assign(later="x"),
        ):
            assert np.isfinite(model.field(odd)).all()
        assert model.update(frame.assign(category=None)).state.rounds == 2


@pytest.mark.parametrize("call", ["field", "gain", "update", "save"])
def test_a_model_that_was_not_fitted_says_so(call, tmp_path):
    arguments = {
        "field": (today(),),
        "gain": (today(), spread(40)),
        "update": (window(),),
        "save": (tmp_path / "m",),
    }
    with pytest.raises(LogError, match="`fit` was not called yet"):
        getattr(ReAlloc(CONFIG), call)(*arguments[call])
    assert not list(tmp_path.iterdir())


def test_the_check_of_the_config_decides_what_may_be_learned_from():
    strict = replace(CONFIG, check=CheckConfig(fewest_rows=1000))
    with pytest.raises(LogError, match="at least 1,?000 rows"):
        ReAlloc(strict).fit(window())


# What comes out


def test_the_field_has_a_row_for_each_row_and_sums_to_zero():
    model, frame = fitted(), today()
    found = model.field(frame)
    assert found.shape == (40, 3)
    assert found.dtype == np.float64
    assert np.abs(found).max() > 0
    assert np.allclose(found.sum(axis=1), 0, atol=1e-5 * np.abs(found).max())
    members = model.field(frame, members=True)
    assert members.shape == (2, 40, 3)
    assert same_bits(members.mean(axis=0), found)
    assert not same_bits(members[0], members[1])


def test_the_gain_has_a_value_for_each_row_and_is_zero_for_staying():
    model, frame = fitted(), today()
    to = spread(40)
    members = model.gain(frame, to, members=True)
    assert members.shape == (2, 40)
    assert same_bits(members.mean(axis=0), model.gain(frame, to))
    assert np.abs(model.gain(frame, to)).min() > 0
    assert np.array_equal(model.gain(frame, frame[CHANNELS]), np.zeros(40))


def test_a_small_move_gains_what_the_field_says():
    model, frame = fitted(), today()
    shares, step = frame[CHANNELS].to_numpy(), 0.01
    to = shares.copy()
    giver = shares.argmax(axis=1)
    taker = (giver + 1) % 3
    rows = np.arange(len(to))
    to[rows, giver] -= step
    to[rows, taker] += step
    field = model.field(frame)
    slope = (field[rows, taker] - field[rows, giver]) * step
    found = model.gain(frame, to)
    assert np.corrcoef(slope, found)[0, 1] > 0.999
    assert np.allclose(
        found, slope, atol=0.1 * np.abs(slope).max()
    )  # curvature over one point of the budget


def test_gains_add_up_along_any_way():
    model, frame = fitted(), today()
    a, b, c = frame[CHANNELS].to_numpy(), spread(40, seed=1), spread(40, seed=2)
    at_b = frame.assign(**dict(zip(CHANNELS, b.T, strict=True)))
    direct = model.gain(frame, c)
    assert np.allclose(
        model.gain(frame, b) + model.gain(at_b, c), direct, atol=1e-5 * np.abs(direct).max()
    )
    at_c = frame.assign(**dict(zip(CHANNELS, c.T, strict=True)))
    assert np.allclose(model.gain(at_c, a), -direct, atol=1e-5 * np.abs(direct).max())


def test_answers_stand_in_the_order_of_the_rows_handed_in():
    model, frame = fitted(), today()
    to = spread(40)
    order = np.random.default_rng(3).permutation(40)
    shuffled = frame.iloc[order]
    assert np.allclose(
        model.field(shuffled), model.field(frame)[order], rtol=1e-5, atol=1e-6
    )
    assert np.allclose(
        model.gain(shuffled, to[order]), model.gain(frame, to)[order], rtol=1e-5, atol=1e-5
    )
    assert not np.allclose(
        model.gain(shuffled, to), model.gain(frame, to)[order], rtol=1e-3
    )  # or it proves nothing


def test_a_batch_answers_like_its_rows_alone():
    model, frame = fitted(), today(12)
    to = spread(12)
    rows = [frame.iloc[[i]] for i in range(12)]
    fields = np.concatenate([model.field(row) for row in rows])
    gains = np.concatenate([model.gain(row, to[[i]]) for i, row in enumerate(rows)])
    assert np.allclose(fields, model.field(frame), rtol=1e-5, atol=1e-5)
    assert np.allclose(gains, model.gain(frame, to), rtol=1e-5, atol=1e-5)


def test_logs_and_frames_of_the_same_rows_answer_the_same():
    model, logs = fitted(), window(2)
    assert same_bits(model.field(logs), model.field(logs.to_pandas()))
    assert same_bits(model.field(logs.to_polars()), model.field(logs.to_arrow()))


def test_nothing_that_is_handed_in_changes():
    frame, to = today(), spread(40)
    before, wanted = frame.copy(deep=True), to.copy()
    log_frame = window().to_pandas()
    log_before = log_frame.copy(deep=True)
    weights = np.arange(1.0, 301.0)
    model = (
        ReAlloc(CONFIG, schema=window().schema)
        .fit(log_frame)
        .fit(window(), weights=weights)
    )
    model.field(frame)
    model.gain(frame, to)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(log_frame, log_before)
    assert np.array_equal(to, wanted)
    assert np.array_equal(weights, np.arange(1.0, 301.0))


def test_no_rows_get_no_answers():
    assert fitted().field(today()[:0]).shape == (0, 3)
    assert fitted().gain(today()[:0], np.empty((0, 3))).shape == (0,)


# Same seed, same bits


def test_the_same_seed_gives_the_same_bits_here_and_in_a_fresh_process():
    here = fitted().field(today())
    assert same_bits(ReAlloc(CONFIG).fit(window()).field(today()), here)
    done = subprocess.run(
        [sys.executable, "-c", BITS], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == hashlib.sha256(here.tobytes()).hexdigest()


def test_another_seed_gives_another_model():
    other = ReAlloc(replace(CONFIG, seed=8)).fit(window()).field(today())
    assert np.abs(other - fitted().field(today())).max() > 1e-3


def test_the_order_of_training_rows_does_not_matter():
    shuffled = window().to_pandas().sample(frac=1.0, random_state=1)
    model = ReAlloc(CONFIG, schema=window().schema).fit(shuffled)
    assert same_bits(model.field(today()), fitted().field(today()))


# Channels, features, zeros


def test_channels_are_found_by_name_whatever_their_order():
    frame = today()
    turned = frame[[*reversed(frame.columns)]]
    assert same_bits(fitted().field(turned), fitted().field(frame))


def test_a_channel_that_is_missing_is_named():
    with pytest.raises(LogError, match="Expected a column 'coupon'"):
        fitted().field(today().drop(columns="coupon"))


def test_logs_with_channels_in_another_order_are_refused_rather_than_mixed_up():
    logs = window(1)
    turned = replace(
        logs, schema=replace(logs.schema, channels=("rebate", "ads", "coupon"))
    )
    for call in (fitted().update, fitted().field):
        with pytest.raises(LogError, match="in this order as in training"):
            call(turned)


def test_missing_values_and_unseen_categories_get_finite_answers():
    frame = make_frame(units=40)
    model = ReAlloc(CONFIG, schema=SPENDS).fit(frame)
    odd = frame.assign(price=np.nan, category="never seen", promoted=None)
    far = frame.assign(price=1e20, ads=frame.ads * 1e6)
    for rows in (odd, far):
        assert np.isfinite(model.field(rows)).all()
        assert np.isfinite(model.gain(rows, spread(len(rows)))).all()


def test_rows_that_cannot_be_read_are_counted_and_the_first_reason_told():
    frame = today()
    frame.loc[frame.index[3], "ads"] = -0.5
    with pytest.raises(
        LogError,
        match=r"Expected 40 rows that can be read, but 1 cannot: .*'ads'.* Leave them out\.",
    ):
        fitted().field(frame)


@pytest.mark.parametrize("channels", [2, 9])
def test_few_and_many_channels(channels):
    model, logs = fitted(channels), window(1, channels)
    found = model.field(logs)
    assert found.shape == (len(logs), channels)
    assert np.isfinite(found).all()
    assert np.isfinite(model.gain(logs, spread(len(logs), channels))).all()
    assert model.update(logs).state.rounds == 2


def test_spends_and_their_shares_give_the_same_model():
    frame = make_frame(units=40)
    by_spend = ReAlloc(CONFIG, schema=SPENDS).fit(frame).field(frame)
    by_share = ReAlloc(CONFIG, schema=SHARES).fit(as_shares(frame)).field(as_shares(frame))
    assert np.allclose(by_spend, by_share, rtol=1e-3, atol=1e-4 * np.abs(by_spend).max())


def test_exact_zeros_and_single_channels_are_normal():
    frame = make_frame(units=40)
    draw = np.random.default_rng(4)
    off = draw.random((len(frame), 3)) < 0.4
    off[off.all(axis=1), 0] = False
    off[:5] = [[False, True, True]] * 5
    frame[CHANNELS] = np.where(off, 0.0, frame[CHANNELS])
    model = ReAlloc(CONFIG, schema=SPENDS).fit(frame)
    assert np.isfinite(model.field(frame)).all()
    corners = np.eye(3)[draw.integers(3, size=len(frame))]
    assert np.isfinite(model.gain(frame, corners)).all()


def test_lags_remember_what_was_seen_in_training():
    config = replace(CONFIG, features=replace(CONFIG.features, lags=2))
    frame = make_frame(units=40)
    model = ReAlloc(config, schema=SPENDS).fit(frame)
    next_day = frame[frame.date == frame.date.max()].assign(date=pd.Timestamp("2025-01-14"))
    strangers = next_day.assign(item=[f"new{i}" for i in range(len(next_day))])
    assert np.isfinite(model.field(next_day)).all()
    known, unknown = (
        model.fitted.encoder.encode(read_logs(f, model.known_schema)).values
        for f in (next_day, strangers)
    )
    assert not np.allclose(known, unknown)


# Weights


@pytest.mark.parametrize("kind", [np.array, list, pd.Series])
def test_weights_count(kind):
    weights = np.where(np.arange(300) < 150, 0.2, 1.8)
    one = ReAlloc(CONFIG).fit(window(), weights=kind(weights))
    assert not np.allclose(one.field(today()), fitted().field(today()))
    assert same_bits(
        ReAlloc(CONFIG).fit(window(), weights=np.ones(300)).field(today()),
        fitted().field(today()),
    )


@pytest.mark.parametrize(
    "weights",
    [
        np.ones(299),
        np.ones((300, 1)),
        np.zeros(300),
        -np.ones(300),
        np.full(300, np.nan),
        ["a"] * 300,
        3.0,
        "heavy",
    ],
    ids=["short", "matrix", "zeros", "negative", "nan", "texts", "number", "text"],
)
def test_wrong_weights_are_refused(weights):
    with pytest.raises(
        LogError, match="Expected one finite weight of at least 0 for each of the 300 rows"
    ):
        ReAlloc(CONFIG).fit(window(), weights=weights)


def test_weights_for_a_frame_are_refused_because_reading_sorts_its_rows():
    model = ReAlloc(CONFIG, schema=window().schema)
    with pytest.raises(
        LogError, match="together with `weights`, got DataFrame: reading sorts rows"
    ):
        model.fit(window().to_pandas(), weights=np.ones(300))
    assert model.state is None


# Progress and interruption


def test_every_long_step_tells_how_far_it_is():
    seen = {}

    def watch(step, done, total):
        assert 0 < done <= total
        assert done >= seen.get(step, (0, 0))[0]
        seen[step] = (done, total)

    ReAlloc(CONFIG).fit(window(), progress=watch)
    assert {name.split(":")[0] for name in seen} == {
        "nuisances",
        "teacher",
        "memory",
        "student",
        "support",
    }
    assert all(done == total for done, total in seen.values())


def test_nothing_is_printed_outside_a_terminal(capfd):
    ReAlloc(CONFIG).fit(window()).update(window(1))
    assert capfd.readouterr() == ("", "")


def test_a_display_that_breaks_does_not_break_the_fit(caplog):
    def broken(step, done, total):
        raise ValueError("no terminal")

    model = ReAlloc(CONFIG).fit(window(), progress=broken)
    assert same_bits(model.field(today()), fitted().field(today()))
    assert "Progress is not shown any more" in caplog.text


class Interrupt:
    """Ctrl-C at the first word of a stage."""

    def __init__(self, stage):
        self.stage, self.came = stage, False

    def __call__(self, step, done, total):
        if step.startswith(self.stage):
            self.came = True
            raise KeyboardInterrupt


STAGES = [
    "nuisances",
    "teacher: kernel",
    "teacher: network",
    "memory",
    "student",
    "support",
]


@pytest.mark.parametrize("stage", ["teacher: kernel", "student"])
def test_interrupting_a_first_fit_leaves_a_model_that_can_be_fitted(stage):
    model, interrupt = ReAlloc(CONFIG), Interrupt(stage)
    with pytest.raises(KeyboardInterrupt):
        model.fit(window(), progress=interrupt)
    assert interrupt.came
    assert model.state is None
    with pytest.raises(LogError, match="not called yet"):
        model.field(today())
    assert same_bits(model.fit(window()).field(today()), fitted().field(today()))


@pytest.mark.parametrize(
    ("verb", "stage"), [*(("update", stage) for stage in STAGES), ("fit", "student")]
)
def test_interrupting_later_leaves_the_former_model_as_it_was(verb, stage):
    model = fitted()
    before, schema, state = model.field(today()), model.schema, model.state
    with pytest.raises(KeyboardInterrupt):
        getattr(model, verb)(window(1), progress=Interrupt(stage))
    assert model.state is state
    assert (model.schema, model.churn) == (schema, None)
    assert same_bits(model.field(today()), before)


def test_an_update_after_an_interrupted_one_is_as_if_that_had_not_been():
    model = fitted()
    with pytest.raises(KeyboardInterrupt):
        model.update(window(1), progress=Interrupt("student"))
    assert same_bits(model.update(window(1)).field(today()), updated().field(today()))


def test_interrupting_the_second_run_of_a_churn_report_keeps_the_former_model():
    model, rounds = fitted(), []

    def watch(step, done, total):
        if step.startswith("student") and done == total:
            rounds.append(step)
        if rounds and step.startswith("teacher"):
            raise KeyboardInterrupt

    before = model.field(today())
    with pytest.raises(KeyboardInterrupt):
        model.update(window(1), churn=True, progress=watch)
    assert rounds
    assert same_bits(model.field(today()), before)


def test_a_schema_without_features_works_from_fit_to_field():
    frame = make_frame(units=40)[["item", "date", *CHANNELS, "orders"]]
    bare = Schema(unit="item", time="date", outcome="orders", channels=CHANNELS)
    model = ReAlloc(CONFIG, schema=bare).fit(frame)
    assert np.isfinite(model.field(frame)).all()
    assert model.schema.features == ()


def test_frames_of_different_kinds_may_follow_each_other():
    model = ReAlloc(CONFIG, schema=schema_of(window())).fit(
        pl.from_pandas(window().to_pandas())
    )
    model.update(pa.Table.from_pandas(window(1).to_pandas())).update(window(2))
    assert model.state.rounds == 3


# Pickles and copies


def advice_of(model):
    return model.recommend(window(99))


def test_a_pickled_model_answers_alike_learns_alike_and_reads_alike():
    model = ReAlloc(CONFIG, schema_of(window()), quiet=True).fit(window().to_pandas())
    again = pickle.loads(pickle.dumps(model))
    assert advice_of(again).equals(advice_of(model))
    assert again.quiet
    assert again.given_schema == model.given_schema
    rows = window(1)
    assert same_bits(again.update(rows).field(today()), model.update(rows).field(today()))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy])
def test_other_rules_of_a_copy_leave_the_model_as_it_was(again):
    model = fitted()
    before = advice_of(model)
    strict = replace(CONFIG.decision, threshold=1e9)
    other = again(model).decide_with(strict, CONFIG.constraints)
    assert not any(advice_of(other)["moved"].to_pylist())
    assert advice_of(model).equals(before)


def test_a_pickle_with_a_changed_byte_is_refused():
    content = bytearray(pickle.dumps(fitted()))
    content[content.index(b"student.directions") + 20_000] ^= 1
    with pytest.raises(ArtifactError, match=r"the pickled model.*it was changed"):
        pickle.loads(bytes(content))


def test_a_model_that_was_not_fitted_keeps_its_settings():
    again = pickle.loads(pickle.dumps(ReAlloc(CONFIG, SPENDS, quiet=True)))
    assert (again.config, again.schema, again.quiet) == (CONFIG, SPENDS, True)
    assert repr(again) == "<ReAlloc not fitted yet>"


def test_configs_are_equal_and_hash_by_what_they_say():
    assert Config() == Config()
    assert len({Config(), Config(seed=0), Config(seed=1), CONFIG}) == 3
