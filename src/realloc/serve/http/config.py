"""Settings of the service: table `[serve]`."""

from dataclasses import dataclass
from pathlib import Path

from realloc.base.errors import ConfigError
from realloc.base.validation import Checked, check_types, from_table
from realloc.model.config import read_toml


@dataclass(frozen=True, kw_only=True)
class ServeConfig(Checked):
    """Limits of the service (table `[serve]`)."""

    # Days since the version was made; an older model moves nothing. 0: no limit
    max_age_days: float = 30.0
    # Days since its last window ended; 0: no limit
    max_window_age_days: float = 0.0
    constraints: bool = False  # whether a request may bring its own constraints
    # Whether answers go to the store's decision log before they are sent.
    record: bool = True
    body_bytes: int = 64 * 1024  # of a request
    batch_bytes: int = 4 * 1024 * 1024  # of a request to /v1/batch
    rows: int = 100  # of a request
    batch_rows: int = 1000
    waiting_rows: int = 4000  # in the request queue; beyond it requests are answered 429
    waiting_requests: int = 256
    # Rows per second and token (all callers together where no token is needed); 0: no limit
    rows_per_second: float = 0.0
    scorers: int = 2  # threads that decide; the compiled search lets them run in parallel
    # Decided together: a row's answer does not depend on other rows.
    rows_at_once: int = 256
    connections: int = 512
    header_seconds: float = 5.0
    body_seconds: float = 10.0
    answer_seconds: float = 10.0
    drain_seconds: float = 10.0
    keep_alive_seconds: int = 5  # until an idle connection is closed
    poll_seconds: float = 1.0  # between two looks at HEAD
    # Host names under which the service may be called, beside the one it is bound to
    allow_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_types(self, "[serve]")
        for name, value in vars(self).items():
            if name.endswith("_seconds"):
                expected = "above 0 and at most 600"
                is_valid = 0 < value <= 600
            elif name in ("max_age_days", "max_window_age_days", "rows_per_second"):
                expected = "of at least 0"
                is_valid = 0 <= value < float("inf")
            else:
                expected = "of at least 1"
                is_valid = type(value) is not int or value >= 1
            if not is_valid:
                raise ConfigError(f"Expected `{name}` {expected} in [serve], got {value}.")
        if self.waiting_rows < self.batch_rows:
            raise ConfigError(
                "Expected `waiting_rows` of at least `batch_rows` in [serve]: no batch would fit "
                "into the request queue."
            )


def read_serve(path: Path | None) -> ServeConfig:
    """Read the table `[serve]` of a config file; without a file, the defaults."""
    table = {} if path is None else read_toml(path).get("serve", {})
    return from_table(ServeConfig, table, f"[serve] of {path}")
