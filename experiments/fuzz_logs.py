"""Random small logs through fit, recommend and save: each ends in an answer or in a clear refusal.

    python experiments/fuzz_logs.py --first 0 --count 100

Every seed is a log of its own: 300 to 1500 rows, 2 to 12 channels, zeros, scales from 1e-6 to 1e9,
counts, heavy tails, constant columns, missing values. One line is printed per failure; a seed makes
its log again.
"""

import argparse
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from realloc import Config, ReAlloc, Schema
from realloc.base.errors import ReallocError
from realloc.decide.config import DecisionConfig
from realloc.learn.features.encode import FeatureConfig
from realloc.learn.memory.config import MemoryConfig
from realloc.learn.nuisances.config import NuisanceConfig
from realloc.learn.student.config import StudentConfig
from realloc.learn.support.config import SupportConfig
from realloc.learn.teacher.config import (
    FactualConfig,
    KernelConfig,
    NetworkConfig,
    TeacherConfig,
)

Floats = NDArray[np.float64]
NUMBERS = ("gain", "gain_lower", "support", "moved_share")
ASKED = 20  # rows to decide on


@dataclass(frozen=True)
class FuzzedLog:
    frame: pd.DataFrame
    schema: Schema
    config: Config

    @property
    def today(self) -> pd.DataFrame:
        return self.frame.drop(columns=self.schema.outcome).tail(ASKED)


def draw_log(seed: int) -> FuzzedLog:
    """The log of a seed."""
    random = np.random.default_rng(seed)
    channels = [f"channel_{k}" for k in range(random.integers(2, 13))]
    rows = int(random.integers(300, 1501))
    units = int(random.choice([6, 12, 40, rows // 3, rows]))
    frame = pd.DataFrame(draw_spends(random, rows, len(channels)), columns=channels)
    frame["unit"] = [f"u{row % units}" for row in range(rows)]
    frame["day"] = pd.Timestamp("2022-01-01") + pd.to_timedelta(
        np.arange(rows) // units, unit="D"
    )
    for number in range(random.integers(0, 6)):
        frame[f"feature_{number}"] = draw_feature(random, frame)
    frame["outcome"] = draw_outcome(random, frame[channels].to_numpy())
    schema = Schema(unit="unit", time="day", channels=channels, outcome="outcome")
    return FuzzedLog(frame, schema, draw_config(random, seed))


def draw_scale(random: np.random.Generator) -> float:
    return float(10.0 ** random.uniform(-6, 9))


def draw_spends(random: np.random.Generator, rows: int, channels: int) -> Floats:
    """Spends with some zeros, now and then with a channel that is almost never used."""
    spends = random.dirichlet(np.full(channels, 10.0 ** random.uniform(-1, 2)), rows)
    kind = random.choice(["plain", "zeros", "rare", "few mixes", "still"])
    if kind == "zeros":
        spends[random.random(spends.shape) < random.uniform(0.1, 0.9)] = 0
    elif kind == "rare":
        spends[random.random(rows) < random.uniform(0.9, 1), 0] = 0
    elif kind == "few mixes":
        spends = spends[random.integers(0, 5, rows)]
    elif kind == "still":
        spends = spends[:1] + 10.0 ** random.uniform(-9, -2) * spends
    budget = np.ones((rows, 1))
    if random.random() < 0.7:
        budget = random.lognormal(0, random.uniform(0, 4), (rows, 1))
    return spends * budget * draw_scale(random)


def draw_feature(random: np.random.Generator, frame: pd.DataFrame) -> pd.Series:
    rows = len(frame)
    kind = random.choice(
        ["normal", "heavy", "constant", "count", "text", "copy", "extreme"]
    )
    if kind == "normal":
        values = random.normal(size=rows) * draw_scale(random)
    elif kind == "heavy":
        values = random.standard_cauchy(rows) * draw_scale(random)
    elif kind == "constant":
        values = np.full(rows, draw_scale(random))
    elif kind == "count":
        values = random.poisson(0.2, rows).astype(float)
    elif kind == "text":
        return pd.Series(random.choice(["a", "b", "c"], rows))
    elif kind == "copy":
        values = frame.iloc[:, 0].to_numpy(copy=True)
    else:
        values = random.choice([1e12, 1e-3, -1e12], rows, p=[0.05, 0.9, 0.05])
    if random.random() < 0.3:
        values[random.random(rows) < random.uniform(0, 1)] = np.nan
    return pd.Series(values)


def draw_outcome(random: np.random.Generator, spends: Floats) -> Floats:
    rows = len(spends)
    shares = spends / np.maximum(spends.sum(axis=1, keepdims=True), 1e-300)
    signal = np.sqrt(shares) @ random.normal(size=shares.shape[1])
    signal = signal + 10.0 ** random.uniform(-6, 1) * random.normal(size=rows)
    kind = random.choice(
        ["real", "count", "heavy", "levels", "extreme", "rare", "constant"],
        p=[0.3, 0.15, 0.15, 0.15, 0.1, 0.1, 0.05],
    )
    if kind == "count":
        return random.poisson(np.exp(np.clip(signal, -5, 5))).astype(float)
    if kind == "heavy":
        return signal * draw_scale(random) * np.abs(random.standard_cauchy(rows))
    if kind == "levels":
        return np.digitize(signal, np.quantile(signal, [0.4, 0.8])) * draw_scale(random)
    if kind == "extreme":
        return np.where(random.random(rows) < 0.01, 1e12, 1e-3 * signal)
    if kind in ("rare", "constant"):
        often = 1.0 if kind == "constant" else 3 / rows
        return (random.random(rows) < often) * draw_scale(random)
    missing = random.random(rows) < random.choice([0.0, 0.3])
    return np.where(missing, np.nan, signal * draw_scale(random) + draw_scale(random))


def draw_config(random: np.random.Generator, seed: int) -> Config:
    """As small as it can be; now and then with lags and nuisances of every kind."""
    models = ("ridge",) if random.random() < 0.7 else ("ridge", "boosting", "network")
    steps = int(random.choice([10, 60, 150]))
    rows = int(random.choice([120, 500]))
    return Config(
        seed=seed,
        features=FeatureConfig(lags=int(random.choice([0, 0, 2]))),
        nuisances=NuisanceConfig(folds=3, models=models, epochs=2, trees=10),
        teacher=TeacherConfig(members=2, few_rows=0),
        kernel=KernelConfig(inducing=rows // 2, steps=steps, rows=rows),
        network=NetworkConfig(least_steps=0, epochs=2, width=16, trunk=8),
        factual=FactualConfig(least_steps=0, epochs=2, width=16),
        student=StudentConfig(least_steps=0, epochs=2, width=16, trunk=8),
        memory=MemoryConfig(capacity=400),
        support=SupportConfig(members=4, rows=400),
        decision=DecisionConfig(min_significance=0.0),
    )


def try_log(log: FuzzedLog) -> str:
    """What came of it: `decided`, or why the log was refused. Everything else is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model = ReAlloc(log.config, log.schema, quiet=True).fit(log.frame)
        except ReallocError as problem:
            return str(problem)
        answer = model.recommend(log.today)
        with TemporaryDirectory() as folder:
            model.save(Path(folder) / "model")  # which refuses what is not finite
    numbers = answer[[*NUMBERS, *(f"share_{name}" for name in log.schema.channels)]]
    decided = answer["reason"] != "bad_input"  # such as a row without any budget
    if not np.isfinite(numbers[decided].to_numpy(np.float64)).all():
        raise FloatingPointError("an answer is not finite")
    failed = model.fitted.main.committee.failed
    return f"decided without {', '.join(failed)}" if failed else "decided"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--verbose", action="store_true", help="a line for every seed")
    asked = parser.parse_args()
    failures = 0
    decided = 0
    for seed in range(asked.first, asked.first + asked.count):
        try:
            said = try_log(draw_log(seed))
        except Exception as problem:
            failures += 1
            place = traceback.extract_tb(problem.__traceback__)[-1]
            where = f"{place.filename}:{place.lineno}"
            print(f"{seed}: {type(problem).__name__}: {problem} ({where})", flush=True)
            if asked.verbose:
                traceback.print_exc()
            continue
        decided += said.startswith("decided")
        if asked.verbose:
            print(f"{seed}: {said}", flush=True)
    print(f"{asked.count} logs, {decided} decided, {failures} failures")


if __name__ == "__main__":
    main()
