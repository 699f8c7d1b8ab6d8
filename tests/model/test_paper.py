"""`Config.paper()` fits and decides, and each of its parts is what the paper prints."""

from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from realloc import Config, ReAlloc, load
from realloc.base.simplex import project_tangent
from realloc.decide.conservative import conservative_gain, spread
from realloc.decide.problem import score_ends
from realloc.decide.search.greedy import transfers
from realloc.model.files import write_model
from realloc.model.recommend import open_batches
from realloc.world.zoo import ZooWorld
from tests.small import CONFIG, today, window

PAPER = Config.paper(seed=7)
# the preset in sizes that take a second
SMALL = replace(
    PAPER,
    nuisances=replace(CONFIG.nuisances, periods=False, level=False),
    teacher=replace(PAPER.teacher, members=2),
    network=replace(PAPER.network, least_steps=0, epochs=4, width=16, trunk=8),
    student=replace(PAPER.student, least_steps=0, epochs=4, width=16, trunk=8),
    memory=CONFIG.memory,
    support=replace(PAPER.support, members=4, rows=400),
)


@cache
def fitted() -> ReAlloc:
    return ReAlloc(SMALL, quiet=True).fit(window())


def test_the_defaults_are_not_the_papers():
    assert Config() == Config(seed=0)
    assert Config.paper() != Config()
    assert Config.paper(seed=3) == replace(Config.paper(), seed=3)


def test_one_network_teaches_on_the_printed_loss():
    assert PAPER.teacher.surfaces == ("network",)
    assert not PAPER.network.centred
    assert min(PAPER.network.factual, PAPER.network.residual, PAPER.network.gradient) > 0
    assert fitted().fitted.main.committee.weights == (1.0,)
    assert fitted().fitted.main.covariance is None


def test_outcomes_are_learned_as_they_are():
    logs = ZooWorld("shop_sizes", seed=3).draw(60, periods=10, seed=0).logs
    levelled = replace(SMALL, nuisances=replace(SMALL.nuisances, level=True))
    assert ReAlloc(levelled, quiet=True).fit(logs).fitted.main.level is not None
    assert ReAlloc(SMALL, quiet=True).fit(logs).fitted.main.level is None


def test_the_memory_holds_feasible_moves_from_logged_shares():
    memory = fitted().fitted.main.memory
    logged = np.asarray(window().shares, np.float32)
    distance = np.abs(memory.shares[:, 0, None] - logged).sum(axis=2).min(axis=1)
    assert memory.shares.shape[1] == 1
    assert distance.max() < 1e-6
    assert memory.ends.min() >= -1e-6
    assert np.allclose(memory.ends.sum(axis=2), 1, atol=1e-5)
    assert np.allclose(project_tangent(memory.field), memory.field, atol=1e-4)


def test_the_score_is_the_printed_conservative_gain():
    gain, sigma, omega = np.array([0.5]), np.array([0.2]), np.array([0.4])
    decision = PAPER.decision
    found = conservative_gain(gain, sigma, omega, decision)
    assert decision.beta > 0
    assert decision.lambda_support > 0
    penalty = decision.lambda_support * -np.log(0.4 + decision.epsilon)
    assert found[0] == pytest.approx(0.5 - decision.beta * 0.2 - penalty)


def test_a_candidates_score_is_by_the_students_members_and_the_memory():
    model, logs = fitted(), window(99)
    state = model.fitted
    batch = next(open_batches(state, logs, SMALL, SMALL.constraints))
    rows = batch.rows[:20]
    start = batch.problem.start[rows]
    ends = start[:, None] + transfers(3, (0.01,))[0]
    gains = state.main.student.read(state.encode(logs)).gain(rows, start, ends)
    decision = SMALL.decision
    penalty = -np.log(batch.support.omega(rows, ends) + decision.epsilon)
    wanted = gains.mean(axis=0) - decision.beta * spread(gains)
    wanted -= decision.lambda_support * penalty
    found = score_ends(batch.problem, rows, start, ends, decision)
    assert np.allclose(found, wanted, atol=1e-5 * np.abs(wanted).max())


def test_omega_falls_with_the_distance_to_the_moves_in_the_memory():
    """Against every distance: the k-th smallest, relative to that of a typical move."""
    state = fitted().fitted
    x = state.encode(window(99))[:30]
    support = state.support_at(x)
    ends = np.random.default_rng(0).dirichlet(np.full(3, 4.0), (30, 2))
    found = support.omega(np.arange(30), ends)
    index = state.remembered
    assert index is not None
    points = np.asarray(index.index.points)
    assert len(points) == len(state.main.memory)
    among = np.sort(np.linalg.norm(points[:, None] - points, axis=2), axis=1)[:, index.k]
    assert index.near == pytest.approx(np.median(among))
    asked = np.concatenate(
        [
            state.support.density.whitened(ends.reshape(-1, 3)),
            0.5 * np.repeat(support.border.centre, 2, axis=0),
        ],
        axis=1,
    )
    distance = np.linalg.norm(asked[:, None] / index.unit - points, axis=2)
    kth = np.sort(distance, axis=1)[:, index.k - 1]
    assert np.allclose(found.ravel(), 1 / (1 + kth / index.near))


def test_every_step_of_the_trace_is_one_of_the_candidates():
    rows = today(60)
    answer = fitted().recommend(rows)
    assert answer.moved.any()
    assert set(answer.calibration) == {"nothing"}
    shift = answer[[f"share_{name}" for name in ("ads", "coupon", "rebate")]].to_numpy()
    shift = shift - rows[["ads", "coupon", "rebate"]].to_numpy()
    percents = shift[answer.moved] * 100
    assert np.allclose(percents, percents.round(), atol=1e-6)  # sums of 1, 2 and 5 %


def test_a_move_that_costs_more_support_than_it_gains_is_not_made():
    model = ReAlloc(SMALL, quiet=True)
    model.state = fitted().state
    model.schema = fitted().schema
    dear = replace(SMALL.decision, lambda_support=1e6)
    model.config = replace(SMALL, decision=dear)
    assert not model.recommend(today(60)).moved.any()


def test_a_saved_and_an_exported_model_answer_alike(tmp_path):
    model = fitted()
    model.save(tmp_path / "whole")
    write_model(tmp_path / "small", model.saved.without_memory())
    for name in ("whole", "small"):
        again = load(tmp_path / name)
        again.quiet = True
        pd.testing.assert_frame_equal(again.recommend(today()), model.recommend(today()))
        assert asdict(again.config) == asdict(SMALL)


def test_an_update_adds_its_window_to_the_memory():
    model = ReAlloc(SMALL, quiet=True).fit(window())
    assert model.update(window(1)).fitted.rounds == 2
    assert len(np.unique(model.fitted.main.memory.window)) == 2
