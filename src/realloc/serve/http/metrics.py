"""Prometheus metrics. Labels come from fixed lists only, never from a request."""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """Counters, gauges and durations of one service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        self.requests = counter(
            "realloc_requests", "Requests by route and status.", ("route", "status")
        )
        self.refused_connections = counter(
            "realloc_refused_connections",
            "Connections that got no answer of the application: answered 503 over the limit, "
            "closed unanswered over twice the limit, or closed unanswered for slow headers.",
            ("outcome",),
        )
        self.answers = counter("realloc_answers", "Rows answered, by reason.", ("reason",))
        self.seconds = Histogram(
            "realloc_request_seconds",
            "From the request to its response.",
            ("route",),
            registry=self.registry,
            buckets=BUCKETS,
        )
        self.scoring = counter("realloc_scoring_seconds", "CPU time spent deciding.")
        self.failures = counter(
            "realloc_internal_failures",
            "Requests answered by keeping the mix after a failure.",
        )
        self.recorded = counter(
            "realloc_recorded_rows", "Answers written to the decision log."
        )
        self.swaps = counter("realloc_swaps", "Versions taken into service.")
        self.bad_versions = counter(
            "realloc_bad_versions", "Versions that could not be used."
        )
        self.version = gauge("realloc_version", "The version that answers; 0: none.")
        self.newest = gauge("realloc_newest_version", "The version that HEAD names.")
        self.age = gauge("realloc_model_age_seconds", "Age of the version that answers.")
        self.frozen = gauge("realloc_frozen", "Whether the store is frozen.")
        self.stale = gauge(
            "realloc_stale", "Whether the model is too old to move anything."
        )
        self.waiting = gauge("realloc_waiting_rows", "Rows in the request queue.")

    def text(self) -> bytes:
        """Return all of them in Prometheus' text format."""
        return generate_latest(self.registry)
