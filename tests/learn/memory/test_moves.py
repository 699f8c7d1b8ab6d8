"""What the teacher is asked: feasible moves, and its answers to the letter."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from realloc.learn.memory import moves
from realloc.learn.memory.config import MoveConfig
from realloc.learn.memory.moves import draw_moves, draw_places, label_moves
from realloc.learn.teacher.config import TeacherConfig
from realloc.learn.teacher.fit import fit_teacher
from tests.learn.teacher.simulated import QUICK, simulate

SIMULATED = simulate(n=300)
CONFIG = MoveConfig(places=3)


@pytest.fixture(scope="module")
def teacher():
    config = TeacherConfig(members=3)
    return fit_teacher(SIMULATED.window, SIMULATED.nuisances, config, QUICK, 0)


def moved(labels):
    """p' of every place, in float64."""
    shares = labels.shares.astype(float)
    at = np.indices(labels.source.shape)
    shares[*at, labels.source] -= labels.step
    shares[*at, labels.target] += labels.step
    return shares


def windows_with(shares):
    return replace(SIMULATED.window, shares=shares)


def test_targets_are_the_teachers_differences_over_the_step(teacher):
    labels = label_moves(teacher, SIMULATED.window, CONFIG, 0, 0)
    x = torch.from_numpy(labels.x)
    here = teacher.values(x, torch.from_numpy(labels.shares)).double().numpy()
    there = teacher.values(x, torch.from_numpy(moved(labels)).float()).double().numpy()
    expected = (there - here) / labels.step
    # A kernel's value is a sum of large terms that cancel, so single precision leaves about 1e-5 of
    # it, over the step.
    rounding = 1e-5 * np.abs(here).max() / labels.step.min()
    assert np.abs(labels.pair - expected).max() < rounding
    assert np.abs(labels.pair - expected / 2).max() > 100 * rounding


def test_only_rows_that_may_stay_are_asked_about(teacher):
    whole = label_moves(teacher, SIMULATED.window, CONFIG, 0, 0)
    few = label_moves(
        teacher,
        SIMULATED.window,
        CONFIG,
        0,
        0,
        stays=lambda rank: np.flatnonzero(rank < 0.1),
    )
    rows = np.flatnonzero(whole.rank < 0.1)
    assert 0 < len(few) == len(rows) < 100
    for name in ("x", "shares", "source", "target", "step", "window", "rank"):
        assert np.array_equal(getattr(few, name), getattr(whole, name)[rows]), name
    assert np.allclose(few.field, whole.field[:, rows], atol=1e-4)


def test_fields_are_the_teachers_at_every_place(teacher):
    labels = label_moves(teacher, SIMULATED.window, CONFIG, 0, 0)
    for j in range(3):
        expected = teacher.field(
            torch.from_numpy(labels.x), torch.from_numpy(labels.shares[:, j])
        ).numpy()
        assert np.allclose(labels.field[:, :, j], expected, atol=1e-4)
    assert not np.allclose(labels.field[:, :, 0], labels.field[:, :, 1], atol=1e-2)


def test_a_small_step_is_worth_what_the_field_says(teacher):
    labels = label_moves(teacher, SIMULATED.window, MoveConfig(steps=(0.01,)), 0, 0)
    at = np.indices(labels.source.shape)
    slope = labels.field[:, *at, labels.target] - labels.field[:, *at, labels.source]
    assert np.corrcoef(slope.ravel(), labels.pair.ravel())[0, 1] > 0.999
    assert np.corrcoef(-slope.ravel(), labels.pair.ravel())[0, 1] < 0


def test_moves_stay_on_the_simplex_and_steps_are_on_the_ladder(teacher):
    labels = label_moves(teacher, SIMULATED.window, CONFIG, 0, 0)
    after = moved(labels)
    assert after.min() >= -1e-7
    assert after.sum(-1) == pytest.approx(1, abs=1e-6)
    assert labels.shares.min() >= -1e-7
    assert labels.shares.sum(-1) == pytest.approx(1, abs=1e-6)
    assert set(np.unique(labels.step)) == {np.float32(step) for step in CONFIG.steps}
    assert (labels.source != labels.target).all()


@pytest.mark.parametrize("channels", [2, 3, 9])
def test_where_a_channel_is_empty_nothing_is_taken_from_it(channels):
    shares = np.zeros((500, 1, channels))
    shares[..., 0], shares[..., 1] = (
        0.985,
        0.015,
    )  # the second can give 0.01 only, the others nothing
    moves = draw_moves(shares, (0.01, 0.05), np.random.default_rng(0))
    source, target, step = moves.source, moves.target, moves.step
    assert set(zip(source.ravel().tolist(), step.ravel().tolist(), strict=True)) == {
        (0, 0.01),
        (0, 0.05),
        (1, 0.01),
    }
    assert set(target[source == 0].tolist()) == set(range(1, channels))


def test_every_feasible_move_is_drawn_about_as_often():
    shares = np.full((6000, 1, 3), 1 / 3)
    moves = draw_moves(shares, (0.01, 0.02), np.random.default_rng(0))
    source, target, step = moves.source, moves.target, moves.step
    _, counts = np.unique(
        np.stack([source, target, step * 100]).reshape(3, -1), axis=1, return_counts=True
    )
    assert len(counts) == 12
    assert np.abs(counts - 500).max() < 5 * 500**0.5


def test_where_no_step_fits_the_step_is_zero_and_worth_nothing(teacher):
    config = MoveConfig(steps=(0.5,), places=1)
    labels = label_moves(teacher, SIMULATED.window, config, 0, 0)
    stuck = labels.step == 0
    assert 0 < stuck.mean() < 1
    assert np.array_equal(stuck, labels.shares.max(-1) < np.float32(0.5))
    assert np.abs(labels.pair[:, stuck]).max() < 1e-5


def test_the_first_place_is_the_logged_one_and_others_are_within_reach(teacher):
    labels = label_moves(teacher, SIMULATED.window, CONFIG, 0, 0)
    assert np.array_equal(labels.shares[:, 0], SIMULATED.window.shares.astype(np.float32))
    away = np.abs(labels.shares - labels.shares[:, :1]).sum(-1) / 2
    assert away[:, 1:].max() <= 2 * CONFIG.reach + 1e-6
    assert away[:, 1:].mean() > 0.3 * CONFIG.reach
    assert not np.array_equal(labels.shares[:, 1], labels.shares[:, 2])


def test_places_from_the_border_stay_on_the_simplex():
    corners = np.eye(4)[np.arange(200) % 4]
    places = draw_places(corners, MoveConfig(places=4, reach=0.9), np.random.default_rng(0))
    assert places.shape == (200, 4, 4)
    assert places.min() >= 0
    assert places.sum(-1) == pytest.approx(1, abs=1e-12)
    assert np.array_equal(corners, np.eye(4)[np.arange(200) % 4])  # the input is not moved


def test_at_most_so_many_rows_are_labelled_each_once_and_from_everywhere(teacher):
    labels = label_moves(teacher, SIMULATED.window, MoveConfig(rows=50), 7, 0)
    assert len(labels) == 50
    assert (labels.window == 7).all()
    chosen = [int(np.flatnonzero((SIMULATED.window.x == x).all(1))[0]) for x in labels.x]
    assert len(set(chosen)) == 50
    assert min(chosen) < 60
    assert max(chosen) > 240
    assert len(label_moves(teacher, SIMULATED.window, MoveConfig(rows=10_000), 0, 0)) == 300


def test_parts_give_the_same_answers_as_the_whole(teacher, monkeypatch):
    whole = label_moves(teacher, SIMULATED.window, CONFIG, 0, 0)
    monkeypatch.setattr(moves, "CHUNK", 70)
    parts = label_moves(teacher, SIMULATED.window, CONFIG, 0, 0)
    assert np.array_equal(whole.step, parts.step)
    assert np.allclose(whole.field, parts.field, atol=1e-4)
    assert np.allclose(whole.pair, parts.pair, atol=1e-2)


def test_the_same_seed_gives_the_same_labels_and_another_does_not(teacher):
    a, b, c = (
        label_moves(teacher, SIMULATED.window, CONFIG, 0, seed) for seed in (1, 1, 2)
    )
    for name in ("x", "shares", "source", "target", "step", "pair", "field", "rank"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert not np.array_equal(a.shares, c.shares)
    assert not np.array_equal(a.rank, c.rank)
