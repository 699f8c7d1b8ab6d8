"""Algorithm 1 over many windows: bounded memory, a slow student, and no harm from a window that
cannot be used.
"""

import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from realloc import LogError, ReAlloc, read_logs
from realloc.learn.support.serialization import to_parts
from realloc.logs import CheckConfig
from realloc.model.round import draw
from tests.small import (
    CHANNELS,
    CONFIG,
    fitted,
    same_bits,
    today,
    updated,
    window,
    with_student,
)

ROUNDS = 12


def student_bytes(state):
    return sum(values.nbytes for values in state.main.student.weights.values())


def support_bytes(state):
    """Of all arrays but the names of units, whose length is theirs."""
    arrays = to_parts(state.support)[1]
    return sum(
        values.nbytes for name, values in arrays.items() if name != "logged.unit_text"
    )


def covariance_bytes(state):
    """Of all but the factor, of which every window keeps as many directions as it settles."""
    covariance = state.main.covariance
    parts = [covariance.x, covariance.z, *covariance.kernel.values()]
    return sum(part.nbytes for part in parts)


@pytest.fixture(scope="module")
def history():
    """The states after each of twelve rounds, and how many rows each round labelled and trained
    on.
    """
    work = []

    def watch(step, done, total):
        if step == "memory: labels":
            work[-1][0] = total
        elif step == "student: distillation":
            work[-1][1] = total

    model, states = ReAlloc(CONFIG), []
    for number in range(ROUNDS):
        work.append([0, 0])
        (model.update if number else model.fit)(window(number), progress=watch)
        states.append(model.state)
    return states, work


def test_the_replay_never_holds_more_than_its_capacity(history):
    states, _ = history
    sizes = [len(state.main.memory) for state in states]
    assert sizes[0] == 300
    assert sizes[1:] == [CONFIG.memory.capacity] * (ROUNDS - 1)


def test_a_state_does_not_grow_once_its_memories_are_full(history):
    states, _ = history
    sizes = {
        (s.main.memory.nbytes, student_bytes(s), support_bytes(s), covariance_bytes(s))
        for s in states[1:]
    }
    assert len(sizes) == 1
    assert all(s.main.covariance.factor.shape[1] <= CONFIG.kernel.inducing for s in states)


def test_the_support_never_remembers_more_than_its_capacity(history):
    states, _ = history
    sizes = [len(state.support.logged) for state in states]
    assert sizes[0] == 300
    assert sizes[1:] == [CONFIG.support.rows] * (ROUNDS - 1)
    assert [len(state.support.ranks.values) for state in states] == sizes


def test_every_later_round_labels_only_what_can_stay_and_learns_for_half_as_long_as_the_first(
    history,
):
    states, work = history
    assert [epochs for _, epochs in work] == [CONFIG.student.epochs] + [
        CONFIG.student.later_epochs
    ] * (ROUNDS - 1)
    labelled = [rows for rows, _ in work]
    assert labelled[0] == 300
    kept = [
        int((state.main.memory.window == number).sum())
        for number, state in enumerate(states)
    ]
    assert all(rows >= stay for rows, stay in zip(labelled, kept, strict=True))
    assert labelled == sorted(labelled, reverse=True)
    assert labelled[-1] <= CONFIG.memory.capacity // (ROUNDS - 1) + 1


def test_a_saved_state_does_not_grow_either(history, tmp_path):
    states, _ = history
    model = fitted()
    sizes = []
    for state in (states[1], states[9]):  # units of later windows have longer names
        model.state = state
        model.save(tmp_path / "model")
        # every window keeps as many directions of the factor as it settles
        factor = state.main.covariance.factor
        whole = (tmp_path / "model" / "weights.safetensors").stat().st_size
        sizes.append(whole - factor.nbytes)
    assert abs(sizes[0] - sizes[1]) < 64  # its header says how long the factor is


@pytest.mark.parametrize("memory", ["memory", "support"])
def test_every_window_keeps_its_part_of_the_memory(history, memory):
    state = history[0][-1]
    held = state.main.memory if memory == "memory" else state.support.logged
    windows, counts = np.unique(held.window, return_counts=True)
    assert windows.tolist() == list(range(ROUNDS))
    assert counts.max() - counts.min() <= ROUNDS  # even, but for what does not divide


def test_rounds_are_counted_and_the_encoder_stays(history):
    states, _ = history
    assert [state.rounds for state in states] == list(range(1, ROUNDS + 1))
    assert all(state.encoder == states[0].encoder for state in states)
    assert all(
        state.main.student.scaling is states[0].main.student.scaling for state in states
    )


def test_no_round_changes_a_state_that_it_came_from(history):
    states, _ = history
    assert same_bits(states[0].field(window(5)), fitted().state.field(window(5)))
    assert np.isfinite(states[-1].field(window(50))).all()


# Windows that cannot be used


def same_shares(frame):
    return frame.assign(**dict(zip(CHANNELS, (0.2, 0.3, 0.5), strict=True)))


BAD = {
    "few rows": lambda f: f.head(45),
    "no rows": lambda f: f.head(0),
    "few units": lambda f: f.assign(
        item_id=[f"u{i % 4}" for i in range(len(f))],
        date=pd.date_range("2025-01-01", periods=len(f)),
    ),
    "no outcome": lambda f: f.assign(orders=np.nan),
    "constant outcome": lambda f: f.assign(orders=1.0),
    "no variation": same_shares,
    "not shares": lambda f: f.assign(ads=f.ads + 1),
    "a channel missing": lambda f: f.drop(columns="ads"),
    "a feature missing": lambda f: f.drop(columns="c1"),
    "a feature of another kind": lambda f: f.assign(c1="text"),
    "duplicates": lambda f: f.loc[f.index.repeat(2)],
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_window_leaves_the_model_exactly_as_it_was(name):
    model = fitted()
    before, state = model.field(today()), model.state
    with pytest.raises(LogError, match="Expected"):
        model.update(BAD[name](window(1).to_pandas()))
    assert model.state is state
    assert model.churn is None
    assert same_bits(model.field(today()), before)


@pytest.mark.parametrize("name", ["few rows", "constant outcome", "no variation"])
def test_a_bad_refit_leaves_the_model_exactly_as_it_was(name):
    model = fitted()
    before = model.field(today())
    with pytest.raises(LogError, match="Expected"):
        model.fit(BAD[name](window(1).to_pandas()))
    assert same_bits(model.field(today()), before)


def test_too_small_a_window_says_how_large_it_must_be():
    model = fitted()
    model.config = replace(
        CONFIG, check=CheckConfig(fewest_rows=10)
    )  # or the check would refuse it already
    with pytest.raises(
        LogError,
        match="at least 50 rows of 10 units to learn from, got 49 rows of 10. Use a longer",
    ):
        model.update(window(1).take(np.arange(49)))
    many = replace(CONFIG, nuisances=replace(CONFIG.nuisances, folds=61))
    with pytest.raises(
        LogError, match="at least 50 rows of 61 units .* got 300 rows of 60"
    ):
        ReAlloc(many).fit(window())


# The slow student


def flat(state):
    weights = state.main.student.weights.values()
    return torch.cat([torch.from_numpy(values).flatten() for values in weights]).double()


def after_update(ema):
    model = fitted()
    model.config = with_student(ema=ema)
    return flat(model.update(window(1)).state)


def test_the_student_follows_only_in_part():
    before, whole = flat(fitted().state), after_update(0.0)
    assert (whole - before).abs().max() > 1e-3
    for ema in (0.5, 0.9):
        expected = ema * before + (1 - ema) * whole
        assert torch.allclose(after_update(ema), expected, atol=1e-6)


def test_a_slower_student_changes_its_field_less():
    before = fitted().field(today())

    def change(ema):
        model = fitted()
        model.config = with_student(ema=ema)
        return np.abs(model.update(window(1)).field(today()) - before).mean()

    quick, slow, slowest = change(0.0), change(0.5), change(0.99)
    assert quick > slow > slowest > 0
    assert slowest < 0.05 * quick


def test_an_update_knows_the_window_before():
    alone = ReAlloc(CONFIG).fit(window(1))
    assert not np.allclose(alone.field(today()), updated().field(today()))


# Draws


def test_every_stage_and_round_has_a_seed_of_its_own():
    seeds = [
        draw(seed, stage, rounds)
        for seed in (7, 8)
        for stage in ("moves", "teacher")
        for rounds in range(50)
    ]
    assert len(set(seeds)) == 200
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert draw(7, "moves", 3) == draw(7, "moves", 3)


def test_no_round_touches_the_global_random_state():
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = torch.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002
    ReAlloc(CONFIG).fit(window())
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002


def test_outcomes_and_support_learn_the_same_at_once_as_one_after_the_other():
    frame = window(units=30).to_pandas()
    frame["sales"] = 2 * frame.orders + np.arange(len(frame)) % 3
    schema = replace(window().schema, features=None, guardrails=("sales",))
    logs = read_logs(frame, schema)
    seen: set[int] = set()

    def note(step, done, total):
        seen.add(threading.get_ident())

    before = torch.get_num_threads()
    alone = ReAlloc(CONFIG, quiet=True).fit(logs)
    at_once = ReAlloc(CONFIG, quiet=True, jobs=3).fit(logs, progress=note)
    assert torch.get_num_threads() == before
    assert len(seen - {threading.get_ident()}) > 1
    one, other = alone.recommend(logs), at_once.recommend(logs)
    assert one.equals(other)
    state = alone.fitted.encode(logs)
    gains = [
        model.fitted.outcomes["sales"]
        .student.read(state)
        .field(np.arange(len(logs)), logs.shares)
        for model in (alone, at_once)
    ]
    assert same_bits(*gains)
