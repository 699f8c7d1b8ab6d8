"""CQL (d3rlpy): conservative offline reinforcement learning, as a bandit (one step, γ = 0).

Q(x, a) learns the reward and is pushed down where the log has no actions, by
WEIGHT·[log ∫exp Q(x, ·) − Q(x, a)]; an actor learns argmax_a Q(x, a). Actions are the shares'
tangent coordinates, scaled so that the log spans [−1, 1]. The reward is the outcome without what
the state alone explains (a cross-fitted ridge regression): the same optimum, far less noise.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from realloc.base.imports import need
from realloc.base.simplex import Floats, project, tangent_basis
from realloc.baselines.response import LearnedResponse, ResponsePolicy, States, Task
from realloc.decide.search.greedy import SupportFunction
from realloc.decide.types import Decision
from realloc.learn.nuisances.config import NuisanceConfig
from realloc.learn.nuisances.crossfit import cross_fit
from realloc.logs import Logs
from realloc.model.config import Config
from realloc.model.recommend import count_transfers

WEIGHT = 0.02
BATCH = 256
WIDTH = 64
RATE = 1e-3
SAMPLES = 4
DECAY = 1.0  # of the critic's weights
TEMPERATURE = 0.01  # of the actor's entropy, in standard deviations of the reward
PARTS = 20  # of the way back from an action


@dataclass(frozen=True)
class Box:
    """Tangent coordinates of shares as actions in [−1, 1]."""

    centre: Floats
    half: Floats

    def actions(self, shares: Floats) -> NDArray[np.float32]:
        """Of shares (..., K): (..., K−1)."""
        t = shares @ tangent_basis(shares.shape[-1])
        return ((t - self.centre) / self.half).astype(np.float32)

    def shares(self, actions: NDArray[np.float32]) -> Floats:
        """The nearest shares of actions (n, K−1): (n, K)."""
        K = actions.shape[-1] + 1
        t = self.centre + self.half * actions.astype(np.float64)
        return project(t @ tangent_basis(K).T + 1 / K)


@dataclass(frozen=True)
class Agent:
    """A trained actor and its critic, which is a response of its own."""

    algo: Any
    box: Box
    unit: float  # of the reward, in units of the outcome

    def act(self, x: States) -> Floats:
        """What the actor would do at states (n, d): (n, K)."""
        return self.box.shares(self.algo.predict(x))

    def values(self, x: States, shares: Floats) -> Floats:
        """Q at shares (n, q, K): (n, q)."""
        n, q, K = shares.shape
        actions = self.box.actions(shares).reshape(n * q, K - 1)
        found = self.algo.predict_value(np.repeat(x, q, axis=0), actions)
        return self.unit * found.reshape(n, q).astype(np.float64)


class CQLPolicy(ResponsePolicy):
    """The actor's shares, pulled back into the support and the movement budget."""

    package = "d3rlpy"

    def __init__(self, config: Config | None = None, steps: int = 1000) -> None:
        super().__init__("ascent", config)
        self.steps = steps

    def fit_response(self, task: Task) -> LearnedResponse:
        """Train actor and critic on the residual outcome."""
        rows = task.window
        t = rows.shares @ tangent_basis(rows.shares.shape[1])
        box = Box((t.max(axis=0) + t.min(axis=0)) / 2, np.ptp(t, axis=0) / 2 + 1e-9)
        ridge = NuisanceConfig(folds=task.config.nuisances.folds, models=("ridge",))
        explained = cross_fit(
            rows.x, rows.shares, rows.outcome, rows.folds, ridge, task.seed
        )
        left = rows.outcome - explained.outcome
        unit = float(left.std())
        rewards = (left / unit).astype(np.float32)
        algo = self.train(rows.x, box.actions(rows.shares), rewards, task.seed)
        self.agent = Agent(algo, box, unit)
        return self.agent

    def train(
        self,
        x: States,
        actions: NDArray[np.float32],
        rewards: NDArray[np.float32],
        seed: int,
    ) -> Any:
        """`steps` updates on batches of one-step episodes."""
        batch = need("d3rlpy.dataset", "peers").TransitionMiniBatch
        random = np.random.default_rng(seed)
        ones = np.ones((BATCH, 1), dtype=np.float32)
        with torch.random.fork_rng():  # d3rlpy draws from torch's global generator
            torch.manual_seed(seed)
            algo = conservative()
            algo.create_impl((x.shape[1],), actions.shape[1])
            for _ in range(self.steps):
                rows = random.integers(len(x), size=BATCH)
                state = x[rows]
                action = actions[rows]
                reward = rewards[rows, None]
                algo.update(batch(state, action, reward, state, action, ones, ones, []))
        return algo

    def decide(self, logs: Logs) -> Decision:
        """Where the actor goes, or the largest part of the way there that is allowed."""
        x = self.encoder.encode(logs).values
        start = np.array(logs.shares)
        opened = self.support.at(x)
        ends = self.agent.act(x)
        ends = pull_back(start, ends, opened.allowed, self.config.decision.max_length)
        moved = np.abs(ends - start).max(axis=1) > 1e-12
        return Decision(
            shares=ends,
            gain=self.gain(logs, ends),
            gain_lower=np.full(len(logs), np.nan),  # it knows no bound
            support=opened.score(np.arange(len(logs)), start, ends),
            steps=count_transfers(start, ends),
            reason=np.where(moved, "moved", "unsupported"),
        )


def conservative() -> Any:
    """d3rlpy's CQL for one-step episodes on the CPU."""
    d3rlpy = need("d3rlpy", "peers")
    network = d3rlpy.models.VectorEncoderFactory(hidden_units=[WIDTH, WIDTH])
    return d3rlpy.algos.CQLConfig(
        gamma=0.0,
        conservative_weight=WEIGHT,
        alpha_learning_rate=0.0,  # the weight stays what it is
        initial_temperature=TEMPERATURE,
        temp_learning_rate=0.0,
        n_action_samples=SAMPLES,
        actor_learning_rate=RATE,
        critic_learning_rate=RATE,
        actor_encoder_factory=network,
        critic_encoder_factory=network,
        critic_optim_factory=d3rlpy.optimizers.AdamWFactory(weight_decay=DECAY),
    ).create()


def pull_back(
    start: Floats, ends: Floats, allowed: SupportFunction, max_length: float
) -> Floats:
    """The largest allowed part of each straight path to `ends` (n, K), up to `max_length`."""
    length = np.linalg.norm(ends - start, axis=1)
    reach = np.minimum(1.0, max_length / np.maximum(length, 1e-12))
    part = reach[:, None] * np.linspace(1, 0, PARTS + 1)  # (n, PARTS + 1), the last is 0
    way = start[:, None] + part[..., None] * (ends - start)[:, None]
    rows = np.arange(len(start))
    kept = allowed(rows, start, way)
    kept[:, -1] = True
    return way[rows, kept.argmax(axis=1)]
