"""Distillation: the printed loss, a known potential found again, and the former student
followed in part.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from realloc.learn.scaling import Scaling
from realloc.learn.student.config import StudentConfig
from realloc.learn.student.distill import (
    average,
    distill,
    new_network,
    open_channels,
    prepare,
    student_loss,
    to_potential,
)
from realloc.learn.teacher.sample import scale
from tests.learn.memory.labelled import make_labels
from tests.learn.student.asking import field, value

QUICK = StudentConfig(least_steps=0, epochs=10, width=32, trunk=16, batch=32, rate=2e-2)
TINY = StudentConfig(least_steps=0, epochs=2, width=8, trunk=4, batch=64)
SCALING = Scaling(np.full(3, 1 / 3, np.float32), np.array([4.0, 5.0, 6.0], np.float32), 2.0)


def parameters_of(student):
    return torch.cat(
        [torch.from_numpy(values).flatten() for values in student.weights.values()]
    )


def randomised(network, seed=0):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in network.parameters():
            p.add_(torch.randn(p.shape, generator=generator) * 0.3)
    return network


def quadratic(n=1000, members=2, places=2, seed=0):
    """Exact labels of s = Σ_k [a_k(x) p_k − b_k p_k²] · (1 + member)."""
    base = make_labels(n, seed=seed, members=members, places=places)
    x = np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)
    a, b = (
        np.stack([2 * x[:, 0], -x[:, 1], 0 * x[:, 0]], 1)[:, None],
        np.array([2.0, 4.0, 6.0]),
    )
    p = base.shares.astype(float)
    at = np.indices(base.source.shape)
    after = p.copy()
    after[*at, base.source] -= base.step
    after[*at, base.target] += base.step

    def value(shares):
        return (a * shares - b * shares**2).sum(-1)

    slopes = a - 2 * b * p
    field = slopes - slopes.mean(-1, keepdims=True)
    factors = 1.0 + np.arange(members)
    pair = np.multiply.outer(factors, (value(after) - value(p)) / base.step).astype(
        np.float32
    )
    return replace(
        base, x=x, pair=pair, field=np.multiply.outer(factors, field).astype(np.float32)
    )


def scaling_of(labels):
    outcome = np.random.default_rng(0).normal(size=len(labels))
    return scale(labels.shares[:, 0].astype(float), outcome).numpy()


def error_of(student, labels):
    """The part of the field's mean square that is missed."""
    found = field(student, labels.x, labels.shares.astype(float))
    return np.square(found - labels.field).sum() / np.square(labels.field).sum()


def test_with_slopes_the_loss_is_the_printed_formula():
    labels = make_labels(30)
    config = StudentConfig(pair="slope", lambda_pair=0.7, lambda_jac=0.3, width=8, trunk=4)
    network = randomised(new_network(labels, SCALING, config, 0))
    student = to_potential(network, SCALING)
    rows = torch.stack([torch.arange(0, 10), torch.arange(5, 15)])
    u = field(
        student, labels.x, labels.shares.astype(float)
    )  # (M, n, q, K), in units of the outcome
    at = np.indices(labels.source.shape)
    marginal = u[:, *at, labels.target] - u[:, *at, labels.source]
    ell = 0.7 * (marginal - labels.pair) ** 2 + 0.3 * np.square(u - labels.field).sum(
        -1
    )  # (M, n, q)
    expected = [
        ell[m, rows[m].numpy()].mean() / np.square(labels.field).sum(-1).mean()
        for m in range(2)
    ]
    found = student_loss(network, prepare(labels, SCALING), rows, config).detach()
    assert found.tolist() == pytest.approx(expected, rel=1e-4)


def test_with_differences_a_move_is_compared_with_the_students_own():
    labels = make_labels(30)
    config = StudentConfig(lambda_pair=0.7, lambda_jac=0.0, width=8, trunk=4)
    network = randomised(new_network(labels, SCALING, config, 0))
    student = to_potential(network, SCALING)
    at = np.indices(labels.source.shape)
    here = labels.shares.astype(float)
    there = here.copy()
    there[*at, labels.source] -= labels.step
    there[*at, labels.target] += labels.step
    found = (value(student, labels.x, there) - value(student, labels.x, here)) / labels.step
    expected = (
        0.7
        * np.square(found - labels.pair).mean((1, 2))
        / np.square(labels.field).sum(-1).mean()
    )
    rows = torch.arange(30).expand(2, -1)
    loss = student_loss(network, prepare(labels, SCALING), rows, config).detach()
    assert loss.tolist() == pytest.approx(expected.tolist(), rel=1e-3)
    printed = student_loss(
        network, prepare(labels, SCALING), rows, replace(config, pair="slope")
    ).detach()
    assert not torch.allclose(printed, loss, rtol=1e-4)


def test_places_without_a_move_have_no_part_in_the_pair_term():
    labels = make_labels(30)
    labels.step[:, 1] = 0
    wild = replace(labels, pair=labels.pair.copy())
    wild.pair[:, :, 1] = 1e6
    rows = torch.arange(30).expand(2, -1)
    network = randomised(new_network(labels, SCALING, TINY, 0))
    clean, same = (
        student_loss(network, prepare(x, SCALING), rows, TINY).detach()
        for x in (labels, wild)
    )
    assert torch.equal(clean, same)
    wild.pair[:, :, 0] = 1e6
    assert not torch.allclose(
        student_loss(network, prepare(wild, SCALING), rows, TINY).detach(), clean
    )


@pytest.mark.parametrize("pair", ["difference", "slope"])
def test_a_quadratic_potential_is_found_again(pair):
    labels, fresh = quadratic(), quadratic(seed=1)
    student = distill(labels, scaling_of(labels), None, replace(QUICK, pair=pair), 0)
    assert error_of(student, fresh) < 0.002
    swapped = replace(fresh, field=fresh.field[::-1])  # each member has targets of its own
    assert error_of(student, swapped) > 0.1


def test_the_pair_term_alone_finds_the_field_too():
    labels, fresh = quadratic(), quadratic(seed=1)
    student = distill(labels, scaling_of(labels), None, replace(QUICK, lambda_jac=0.0), 0)
    assert error_of(student, fresh) < 0.002


@pytest.mark.parametrize("ema", [0.0, 0.25, 0.9])
def test_parameters_are_gamma_times_the_former_and_the_rest_new(ema):
    labels = make_labels(300)
    former = distill(labels, SCALING, None, TINY, 0)
    new = distill(labels, SCALING, former, replace(TINY, ema=0.0), 1)
    mixed = distill(labels, SCALING, former, replace(TINY, ema=ema), 1)
    old, fresh = parameters_of(former).double(), parameters_of(new).double()
    assert torch.allclose(
        parameters_of(mixed).double(), ema * old + (1 - ema) * fresh, rtol=1e-5, atol=1e-7
    )
    assert not torch.allclose(old, fresh, atol=1e-3)


def test_without_memory_the_new_network_replaces_the_former_to_the_last_bit():
    labels = make_labels(300)
    former, fresh = (
        to_potential(randomised(new_network(labels, SCALING, TINY, 0), seed), SCALING)
        for seed in (1, 2)
    )
    assert torch.equal(parameters_of(average(former, fresh, 0.0)), parameters_of(fresh))
    assert not torch.equal(parameters_of(average(former, fresh, 0.5)), parameters_of(fresh))


def test_the_former_student_is_left_as_it_was_and_its_units_stay():
    labels = make_labels(300)
    former = distill(labels, SCALING, None, TINY, 0)
    before = parameters_of(former)
    other = replace(SCALING, outcome=100.0)
    later = distill(labels, other, former, TINY, 1)
    assert torch.equal(parameters_of(former), before)
    assert later.scaling.outcome == former.scaling.outcome
    assert np.array_equal(later.scaling.inverse, former.scaling.inverse)
    assert not torch.equal(parameters_of(later), before)


def test_a_second_round_starts_at_the_former_student():
    labels, fresh = quadratic(), quadratic(seed=1)
    scaling = scaling_of(labels)
    short = replace(QUICK, epochs=2, ema=0.0)
    former = distill(labels, scaling, None, QUICK, 0)
    assert error_of(distill(labels, scaling, former, short, 1), fresh) < error_of(
        distill(labels, scaling, None, short, 1), fresh
    )


def test_targets_that_are_all_zero_give_exactly_nothing():
    labels = make_labels(300)
    silent = replace(labels, pair=0 * labels.pair, field=0 * labels.field)
    student = distill(silent, SCALING, None, TINY, 0)
    assert not field(student, labels.x, labels.shares.astype(float)).any()
    assert not np.ptp(value(student, labels.x, labels.shares.astype(float)))
    assert parameters_of(student).isfinite().all()
    learned = distill(labels, SCALING, None, TINY, 0)
    assert field(learned, labels.x, labels.shares.astype(float)).any()


def test_ten_times_the_outcome_is_ten_times_the_field():
    labels = quadratic(n=500)
    larger = replace(labels, pair=10 * labels.pair, field=10 * labels.field)
    scaling = scaling_of(labels)
    one = distill(labels, scaling, None, TINY, 0)
    ten = distill(larger, replace(scaling, outcome=10 * scaling.outcome), None, TINY, 0)
    p = labels.shares.astype(float)
    a, b = field(ten, labels.x, p), 10 * field(one, labels.x, p)
    assert np.abs(a - b).max() < 1e-3 * np.abs(b).max()


@pytest.mark.parametrize("n", [20, 60, 500])
def test_few_rows_are_enough_with_the_epochs_as_they_are(n):
    """Ten epochs of one batch are ten steps, which torch's schedule divides by zero for."""
    labels = make_labels(n)
    student = distill(labels, SCALING, None, StudentConfig(width=8, trunk=4), 0)
    assert parameters_of(student).isfinite().all()


def test_the_same_seed_gives_the_same_bits_and_another_does_not():
    labels = make_labels(300)
    a, b, c = (
        parameters_of(distill(labels, SCALING, None, TINY, seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_channels_that_move_for_the_first_time_are_learned_and_change_nothing_before():
    """The first window never moved channels 1 and 2 (one alone is known from the others), the
    second one did.
    """
    labels = quadratic()
    still = replace(
        scaling_of(labels),
        inverse=scaling_of(labels).inverse * np.array([1, 0, 0], np.float32),
    )
    former = distill(labels, still, None, QUICK, 0)
    opened = open_channels(former, scaling_of(labels))
    p = labels.shares.astype(float)
    assert (opened.scaling.inverse > 0).all()
    later = distill(labels, scaling_of(labels), former, replace(QUICK, ema=0.0), 1)
    assert error_of(later, labels) < 0.01 < error_of(former, labels) / 5
    values, nudged = (
        value(former, labels.x, p),
        value(former, labels.x, p + np.array([0, 0, 0.1])),
    )
    assert np.allclose(values, nudged)
