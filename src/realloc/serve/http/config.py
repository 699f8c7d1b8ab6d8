"""What can be set about the service: table `[serve]`."""

from dataclasses import dataclass

from realloc.base.errors import ConfigError
from realloc.base.validation import check_types


@dataclass(frozen=True, kw_only=True)
class ServeConfig:
    """Limits of the service (table `[serve]`)."""

    max_age_days: float = (
        30.0  # since the version was made; an older model moves nothing. 0: no limit
    )
    max_window_age_days: float = 0.0  # since its last window ended; 0: no limit
    constraints: bool = False  # whether a request may bring constraints instead of the config's
    record: bool = (
        True  # whether answers are written to the store's decision log before they are given
    )
    body_bytes: int = 64 * 1024  # of a request
    batch_bytes: int = 4 * 1024 * 1024  # of a request to /v1/batch
    rows: int = 100  # of a request
    batch_rows: int = 1000
    waiting_rows: int = 4000  # of all requests that wait; more are turned away
    waiting_requests: int = 256
    rows_per_second: float = (
        0.0  # that one token may ask (all callers together where none is needed); 0: no limit
    )
    scorers: int = 2  # threads that score; the search in C lets them run side by side
    rows_at_once: int = 256  # scored together: a row's answer does not depend on its company
    connections: int = 512
    header_seconds: float = 5.0
    body_seconds: float = 10.0
    answer_seconds: float = 10.0
    drain_seconds: float = 10.0
    keep_alive_seconds: int = 5  # of a connection that asks nothing more
    poll_seconds: float = 1.0  # how often HEAD is looked at
    allow_hosts: tuple[
        str, ...
    ] = ()  # names under which the service may be called, beside the one it is bound to

    def __post_init__(self) -> None:
        check_types(self, "[serve]")
        whole = (
            "body_bytes",
            "batch_bytes",
            "rows",
            "batch_rows",
            "waiting_rows",
            "waiting_requests",
        )
        seconds = (
            "header_seconds",
            "body_seconds",
            "answer_seconds",
            "drain_seconds",
            "keep_alive_seconds",
            "poll_seconds",
        )
        for name in (*whole, "scorers", "rows_at_once", "connections"):
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"Expected `{name}` of at least 1 in [serve], got {getattr(self, name)}."
                )
        for name in seconds:
            if not 0 < getattr(self, name) <= 600:
                raise ConfigError(
                    f"Expected `{name}` above 0 and at most 600 in [serve], got {getattr(self, name)}."
                )
        for name in ("max_age_days", "max_window_age_days", "rows_per_second"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ConfigError(
                    f"Expected `{name}` of at least 0 in [serve], got {getattr(self, name)}."
                )
        if self.waiting_rows < self.batch_rows:
            raise ConfigError(
                "Expected `waiting_rows` of at least `batch_rows` in [serve]: no batch would be let in."
            )
