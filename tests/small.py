"""A config and logs so small that a round takes a fifth of a second, and models fitted with
them once per process.
"""

import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from realloc import Config, Logs, ReAlloc, Schema, World
from realloc.decide.config import DecisionConfig
from realloc.learn.memory.config import MemoryConfig
from realloc.learn.nuisances.config import NuisanceConfig
from realloc.learn.student.config import StudentConfig
from realloc.learn.student.potential import Potential
from realloc.learn.support.config import SupportConfig
from realloc.learn.teacher.config import (
    FactualConfig,
    KernelConfig,
    NetworkConfig,
    TeacherConfig,
)
from realloc.world import WorldParameters

CONFIG = Config(
    seed=7,
    nuisances=NuisanceConfig(folds=3, models=("ridge",)),
    teacher=TeacherConfig(members=2, few_rows=0),
    kernel=KernelConfig(inducing=60, steps=10, rows=120),
    network=NetworkConfig(least_steps=0, epochs=2, width=16, trunk=8),
    factual=FactualConfig(least_steps=0, epochs=2, width=16),
    student=StudentConfig(least_steps=0, epochs=2, width=16, trunk=8),
    memory=MemoryConfig(capacity=400),
    support=SupportConfig(members=4, rows=400),
    decision=DecisionConfig(
        min_significance=0.0
    ),  # 300 rows prove little; what would be done is what tests are about
)
CHANNELS = ["ads", "coupon", "rebate"]


def student_of(model: ReAlloc) -> Potential:
    """The student that decides about the outcome."""
    student = model.fitted.main.student
    assert isinstance(student, Potential)
    return student


def with_student(**changes) -> Config:
    return replace(CONFIG, student=replace(CONFIG.student, **changes))


@cache
def window(number: int = 0, channels: int = 3, units: int = 60) -> Logs:
    """Logs of the medium world with little noise, so that few rows teach something; every
    number has its own units.
    """
    parameters = replace(WorldParameters(), noise=0.3)
    return World("medium", seed=5, channels=channels, parameters=parameters).sample(
        units=units, periods=5, seed=number
    )


@cache
def _fitted(channels: int) -> ReAlloc:
    return ReAlloc(CONFIG).fit(window(channels=channels))


def fitted(channels: int = 3) -> ReAlloc:
    """A model of its own for every test; what it learned is shared and never changed in place."""
    return copy.copy(_fitted(channels))


@cache
def _updated() -> ReAlloc:
    return fitted().update(window(1))


def updated() -> ReAlloc:
    """The same after one update with window 1."""
    return copy.copy(_updated())


def today(rows: int = 40) -> pd.DataFrame:
    """Rows to ask about, of units that no model has seen."""
    return window(99).to_pandas().drop(columns="orders").head(rows)


def schema_of(logs: Logs) -> Schema:
    """As a user would write it: no features named."""
    return replace(logs.schema, features=None)


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return (
        one.dtype == other.dtype
        and one.shape == other.shape
        and one.tobytes() == other.tobytes()
    )
