"""Schema and config in one TOML file.

`[schema]` with the keys of `Schema`, one table per stage, the rest on top.
"""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

from realloc.base.errors import ConfigError
from realloc.base.validation import Checked, check_types, from_table, nearest
from realloc.decide.config import DecisionConfig
from realloc.decide.constraints.constraints import Constraints
from realloc.learn.features.encode import FeatureConfig
from realloc.learn.memory.config import MemoryConfig, MoveConfig
from realloc.learn.nuisances.config import NuisanceConfig
from realloc.learn.student.config import StudentConfig
from realloc.learn.support.config import SupportConfig
from realloc.learn.teacher.config import (
    FactualConfig,
    KernelConfig,
    NetworkConfig,
    TeacherConfig,
)
from realloc.logs import CheckConfig, Schema
from realloc.model.publish_limits import PublishLimits


@dataclass(frozen=True, kw_only=True)
class Config(Checked):
    """Everything that can be set, with defaults; checked when made.

    >>> Config(seed=7).money_digits
    2
    """

    seed: int = 0
    money_digits: int = 2
    check: CheckConfig = field(default_factory=CheckConfig)
    features: FeatureConfig = field(default_factory=FeatureConfig)
    nuisances: NuisanceConfig = field(default_factory=NuisanceConfig)
    teacher: TeacherConfig = field(default_factory=TeacherConfig)
    kernel: KernelConfig = field(default_factory=KernelConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    factual: FactualConfig = field(default_factory=FactualConfig)
    moves: MoveConfig = field(default_factory=MoveConfig)
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    student: StudentConfig = field(default_factory=StudentConfig)
    support: SupportConfig = field(default_factory=SupportConfig)
    decision: DecisionConfig = field(default_factory=DecisionConfig)
    constraints: Constraints = field(default_factory=Constraints)
    publish: PublishLimits = field(default_factory=PublishLimits)

    def __post_init__(self) -> None:
        check_types(self, "the config")
        if self.seed < 0:
            raise ConfigError(f"Expected `seed` of at least 0, got {self.seed}.")
        if not 0 <= self.money_digits <= 6:
            raise ConfigError(
                f"Expected `money_digits` from 0 to 6, got {self.money_digits}."
            )

    @classmethod
    def fast(cls, seed: int = 0) -> "Config":
        """Two fifths of the default's learning time: two surfaces, smaller nuisances.

        `python experiments/presets.py --seeds 201 --regimes hard` (20,000 rows, one core): 13 CPU
        seconds against 33, oracle recovery 1.011 against 1.015.

        >>> Config.fast(seed=7).teacher.surfaces
        ('kernel', 'sparse')
        """
        return cls(
            seed=seed,
            nuisances=NuisanceConfig(models=("ridge", "boosting"), repeats=1),
            teacher=TeacherConfig(surfaces=("kernel", "sparse"), members=2),
            kernel=KernelConfig(inducing=400, steps=80),
        )

    @classmethod
    def paper(cls, seed: int = 0) -> "Config":
        """Everything as the paper prints it, without what we added; docs/equations.md says where.

        One network teaches on the printed loss and is believed as it is. The student learns slopes
        at logged shares. The greedy trace pays β σ̂ of the members and λ_s φ(ω) of the memory for
        every step. The paper prints no sizes: where it is silent, the defaults hold.

        >>> Config.paper(seed=7).teacher.surfaces
        ('network',)
        """
        return cls(
            seed=seed,
            nuisances=NuisanceConfig(periods=False, level=False),
            teacher=TeacherConfig(surfaces=("network",), weighed=False),
            network=NetworkConfig(centred=False),
            moves=MoveConfig(places=1, reach=0.0),
            student=StudentConfig(pair="slope"),
            support=SupportConfig(margin=0.0, omega="memory"),
            decision=DecisionConfig(
                search="greedy",
                uncertainty="members",
                lambda_support=0.05,
                min_significance=0.0,
            ),
        )


# The tables of the file, each with the class that checks it; what is a number is no table.
STAGES: dict[str, type[Any]] = {
    name: stage for name, stage in get_type_hints(Config).items() if stage is not int
}
ELSEWHERE = ("abtest", "report", "serve")  # tables of the same file that other verbs read


def read_config(path: str | Path) -> tuple[Schema, Config]:
    """Read and check a TOML file; an unknown key is refused with the nearest known one."""
    table = read_toml(Path(path))
    if "schema" not in table:
        raise ConfigError(
            f"Expected a table [schema] in {path}, but there is none.{_misspelt('schema', table)}"
        )
    own = {spec.name for spec in fields(Schema)}
    misplaced = [
        key
        for key in _known()
        if isinstance(table["schema"], Mapping)
        and key in table["schema"]
        and key not in own
    ]
    if misplaced:
        raise ConfigError(
            f"Expected `{misplaced[0]}` above the first table of {path}, but it stands "
            "below [schema]."
        )
    parts = table.pop("schema")
    if "read" in table and isinstance(
        parts, Mapping
    ):  # how files are written is kept with it
        parts = {**parts, "read": table.pop("read")}
    schema = from_table(Schema, parts, f"[schema] of {path}")
    for name in ELSEWHERE:
        table.pop(name, None)
    return schema, parse_config(table, str(path))


def parse_config(table: Mapping[str, Any], where: str) -> Config:
    """Build a config from a parsed TOML table without its [schema]."""
    known = _known()
    unknown = [key for key in table if key not in known]
    if unknown:
        kind = "table" if isinstance(table[unknown[0]], Mapping) else "key"
        hint = nearest(unknown[0], [*known, "schema", "read"])
        raise ConfigError(f"Unknown {kind} `{unknown[0]}` in {where}.{hint}")
    values = dict(table)
    for name, stage in STAGES.items():
        if name in values:
            values[name] = from_table(stage, values[name], f"[{name}] of {where}")
    return from_table(Config, values, where)


def _known() -> list[str]:
    return [spec.name for spec in fields(Config)]


def _misspelt(wanted: str, table: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(wanted, table, n=1, cutoff=0.6)
    return f" [{close[0]}] looks like it." if close else ""


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a table, or one sentence."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError as problem:
        raise ConfigError(
            f"Expected a config file at {str(path)!r}, but there is none. `realloc init` "
            "writes one."
        ) from problem
    except OSError as problem:
        raise ConfigError(
            f"Expected a config file at {str(path)!r}, but it cannot be read: {problem.strerror}."
        ) from problem
    except UnicodeDecodeError as problem:
        raise ConfigError(
            f"Expected UTF-8 text in {str(path)!r}, but it is in another encoding."
        ) from problem
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(
            f"Expected TOML in {str(path)!r}, but it cannot be parsed: {problem}."
        ) from problem
    except (
        RecursionError,
        ValueError,
    ) as problem:  # nested without end, numbers without end, a NUL in the path
        raise ConfigError(
            f"Expected a TOML file of reasonable size at {str(path)!r}, but it cannot be parsed."
        ) from problem
