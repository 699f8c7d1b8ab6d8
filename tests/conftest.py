"""Shared by all tests: where real data lies, and small logs to break."""

import os
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

from realloc import Schema

settings.register_profile(
    "realloc", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("realloc")

DATA = Path(os.environ.get("REALLOC_DATA", Path(__file__).parents[2] / "shared" / "data"))

SPENDS = Schema(
    unit="item", time="date", outcome="orders", channels=["ads", "coupon", "rebate"]
)
SHARES = Schema(
    unit="item",
    time="date",
    outcome="orders",
    channels=["ads", "coupon", "rebate"],
    budget="budget",
)


# Not part of `make quick`: fits of full size, other processes, thousands of drawn cases.
SLOW = (
    "baselines/", "batch/", "cli/", "evaluate/abtest/", "experiments/", "faults/", "serve/http/",
    "theory/", "world/platform/", "base/numerics/test_clib.py", "base/test_artifact.py",
    "logs/test_fuzz.py", "model/test_realloc.py", "test_examples.py", "test_layouts.py",
    "test_small_logs.py",
)  # fmt: skip
FIRST = (
    "test_quality.py",
)  # the longest, begun while there is other work to do beside them


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow by its place, and begin with the longest."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            place = item.path.relative_to(here).as_posix()
            if place.startswith(SLOW):
                item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.path.name not in FIRST)


@pytest.fixture
def real_data():
    """A folder of the real data sets, or a skip with the reason."""

    def find(name: str) -> Path:
        path = DATA / name
        if not path.exists():
            pytest.skip(
                f"the real data set {name} is not at {DATA}; set REALLOC_DATA to its folder"
            )
        return path

    return find


def make_frame(units: int = 30, days: int = 8, seed: int = 0) -> pd.DataFrame:
    """A sound log of spends: 3 channels, numbers, a category, a flag; Monday is 2025-01-06."""
    rng = np.random.default_rng(seed)
    n = units * days
    spend = rng.gamma(2.0, 50.0, (n, 3)).round(2) + 0.01
    return pd.DataFrame(
        {
            "item": np.repeat([f"i{u:03d}" for u in range(units)], days),
            "date": [
                date(2025, 1, 6) + timedelta(days=d)
                for _ in range(units)
                for d in range(days)
            ],
            "ads": spend[:, 0],
            "coupon": spend[:, 1],
            "rebate": spend[:, 2],
            "orders": rng.poisson(20, n).astype(float),
            "price": rng.lognormal(3, 0.5, n).round(2),
            "category": rng.choice(["toys", "books", "food"], n),
            "promoted": rng.random(n) < 0.3,
        }
    )


def as_shares(frame: pd.DataFrame) -> pd.DataFrame:
    """The same log with a budget column and shares of it."""
    spends = frame[["ads", "coupon", "rebate"]]
    budget = spends.sum(axis=1)
    return frame.assign(budget=budget, **{name: spends[name] / budget for name in spends})


@pytest.fixture
def frame() -> pd.DataFrame:
    return make_frame()


@pytest.fixture
def share_frame() -> pd.DataFrame:
    return as_shares(make_frame())
