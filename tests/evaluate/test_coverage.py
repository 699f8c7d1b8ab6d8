"""A short version of experiments/dr_coverage.py:
intervals hold a known truth about as often as they say.
"""

import numpy as np

import dr_coverage
from realloc.evaluate.randomized import randomized_moves
from realloc.evaluate.value import policy_value
from realloc.evaluate.weights import target_arms, target_shares
from realloc.world.platform import ItemParameters, Marketplace, MarketplaceParameters
from tests.evaluate.drawn import OPEN


def loose(repeats: int) -> float:
    """Four standard errors below 95 %."""
    return 0.95 - 4 * np.sqrt(0.95 * 0.05 / repeats)


def half_as_wide(found, truth: float) -> bool:
    """Whether half the interval would do as well: then the check could not tell."""
    return abs(found.value - truth) <= (found.high - found.low) / 4


def test_values_of_a_real_trial_are_covered(real_data, monkeypatch):
    monkeypatch.setattr(dr_coverage, "DATA", real_data("hillstrom") / "hillstrom.csv")
    codes, weights, rate = dr_coverage.cells()
    policy = np.array([2, 1, 0])[dr_coverage.buys_on(codes)]
    truth = weights @ (rate[np.arange(len(rate)), policy] - rate.mean(axis=1))
    hits, narrow = 0, 0
    for seed in range(60):
        rows, cell = dr_coverage.draw_customers(np.random.default_rng([9, seed]), 1000)
        found = policy_value(rows, target_arms(rows, policy[cell]))["dr_lift"]
        hits += found.low <= truth <= found.high
        narrow += half_as_wide(found, truth)
    assert hits / 60 >= loose(60) > narrow / 60


def test_values_of_the_marketplace_are_covered():
    """Yesterday's mean as the outcome model: any model will do for coverage,
    and this one costs nothing.
    """
    market = Marketplace(
        seed=1,
        channels=2,
        parameters=MarketplaceParameters(items=ItemParameters(explored=1.0)),
    )
    hits, narrow = 0, 0
    for seed in range(80):
        logs = market.sample(items=120, days=8, seed=1000 + seed)
        names, arms = market.schema.channels, market.arms(logs)
        start = np.stack(
            [logs.table[f"share_{name}_prev"].to_numpy() for name in names], axis=1
        ).astype(float)
        start /= start.sum(axis=1, keepdims=True)
        opened = np.stack([logs.table[f"open_{name}"].to_numpy() for name in names], axis=1)
        rows, _ = randomized_moves(logs, start, arms.moves, arms.probabilities)
        target = target_shares(rows, dr_coverage.hand_made(start, opened))
        past = logs.table["orders_lag_mean_7"].to_numpy().astype(float)
        found = policy_value(
            rows, target, lambda shares, picked, past=past: past[picked], OPEN
        )["dr_lift"]
        state = market.state(logs)
        gains = np.stack(
            [
                market.gain(state, start, np.maximum(start + move, 0))["orders"]
                for move in arms.moves
            ],
            axis=1,
        )
        truth = (gains * (target.probabilities - rows.probabilities)).sum(axis=1).mean()
        hits += found.low <= truth <= found.high
        narrow += half_as_wide(found, truth)
    assert hits / 80 >= loose(80) > narrow / 80
