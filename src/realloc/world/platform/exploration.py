"""Randomized exploration: a menu of moves with known probabilities.

    P(hold) = hold,   P(k → l by s) = (1 − hold)·q_s·1{feasible} / Σ q_s·1{feasible}

A move k → l by s is feasible where the item has opened both channels and k holds at least s. Where
nothing is feasible, hold has probability 1. Shares before the move, the opened channels and this
menu give back every probability.
"""

from dataclasses import dataclass

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import Integers, Mask, edges
from realloc.base.validation import check_range, check_types
from realloc.world.platform.draws import Floats, choose, row_sum
from realloc.world.platform.items import GRID, Thousandths


@dataclass(frozen=True, kw_only=True)
class ExplorationParameters:
    """Step sizes in thousandths of the budget, their weights, and the probability to hold."""

    hold: float = 0.5
    steps: tuple[int, ...] = (20, 50, 100)
    weights: tuple[float, ...] = (0.4, 0.35, 0.25)

    def __post_init__(self) -> None:
        check_types(self, "the exploration")
        check_range(self, ("hold",), "from 0 to 1", "the exploration")
        check_steps(self.steps, self.weights, "the exploration")


@dataclass(frozen=True, eq=False)
class ExplorationMenu:
    """The arms: row 0 holds, then every transfer (lexicographic) by every step."""

    source: Integers  # (M−1,)
    target: Integers  # (M−1,)
    step: Thousandths  # (M−1,)
    weight: Floats  # (M−1,)
    hold: float
    moves: Thousandths  # (M, K) changes of the shares in thousandths


def check_steps(steps: tuple[int, ...], weights: tuple[float, ...], where: str) -> None:
    """Steps in (0, 1000] thousandths with one positive weight each."""
    if not steps or any(not 0 < step <= GRID for step in steps):
        raise ConfigError(
            f"Expected steps in thousandths from 1 to {GRID} in {where}, got {steps}."
        )
    if len(weights) != len(steps) or any(weight <= 0 for weight in weights):
        raise ConfigError(
            f"Expected {len(steps)} positive weights, one per step, in {where}, got {weights}."
        )


def make_menu(channels: int, parameters: ExplorationParameters) -> ExplorationMenu:
    """All arms for so many channels."""
    pairs = edges(channels)
    steps = np.array(parameters.steps, dtype=np.int32)
    source, target = np.repeat(pairs, len(steps), axis=0).T
    step = np.tile(steps, len(pairs))
    moves = np.zeros((1 + len(step), channels), dtype=np.int32)
    arms = np.arange(1, 1 + len(step))
    moves[arms, source] -= step
    moves[arms, target] += step
    weight = np.tile(parameters.weights, len(pairs))
    return ExplorationMenu(source, target, step, weight, float(parameters.hold), moves)


def arm_probabilities(menu: ExplorationMenu, holding: Thousandths, opened: Mask) -> Floats:
    """Probability of every arm (n, M), given the shares before the move (n, K) in thousandths."""
    both_open = opened[:, menu.source] & opened[:, menu.target]
    feasible = both_open & (holding[:, menu.source] >= menu.step)
    weight = np.where(feasible, menu.weight, 0.0)  # (n, M−1)
    total = row_sum(weight)
    stuck = total == 0
    moving = weight * ((1 - menu.hold) / np.where(stuck, 1.0, total))[:, None]
    return np.concatenate([np.where(stuck, 1.0, menu.hold)[:, None], moving], axis=1)


def explore(
    menu: ExplorationMenu, holding: Thousandths, opened: Mask, uniform: Floats
) -> tuple[Thousandths, Floats]:
    """Draw one arm per row: the shares after it, in thousandths, and the probability it had."""
    probability = arm_probabilities(menu, holding, opened)
    arm = choose(uniform, probability)
    return holding + menu.moves[arm], np.take_along_axis(probability, arm[:, None], axis=1)[
        :, 0
    ]
