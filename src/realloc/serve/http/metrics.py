"""What Prometheus is told. Labels come from fixed lists only, never from a request."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """Counters, gauges and durations of one service."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "realloc_requests",
            "Requests by route and status.",
            ("route", "status"),
            registry=registry,
        )
        self.answers = Counter(
            "realloc_answers", "Rows answered, by reason.", ("reason",), registry=registry
        )
        self.seconds = Histogram(
            "realloc_request_seconds",
            "From the request to its answer.",
            ("route",),
            registry=registry,
            buckets=BUCKETS,
        )
        self.scoring = Counter("realloc_scoring_seconds", "Spent deciding.", registry=registry)
        self.failures = Counter(
            "realloc_internal_failures", "Requests answered by keeping the mix.", registry=registry
        )
        self.recorded = Counter(
            "realloc_recorded_rows", "Answers written to the decision log.", registry=registry
        )
        self.swaps = Counter("realloc_swaps", "Versions taken into service.", registry=registry)
        self.bad_versions = Counter(
            "realloc_bad_versions", "Versions that were found unusable.", registry=registry
        )
        self.version = Gauge(
            "realloc_version", "The version that answers; 0: none.", registry=registry
        )
        self.newest = Gauge(
            "realloc_newest_version", "The version that HEAD names.", registry=registry
        )
        self.age = Gauge(
            "realloc_model_age_seconds", "Since the version was made.", registry=registry
        )
        self.frozen = Gauge("realloc_frozen", "Whether the store is frozen.", registry=registry)
        self.stale = Gauge(
            "realloc_stale", "Whether the model is too old to move anything.", registry=registry
        )
        self.waiting = Gauge(
            "realloc_waiting_rows", "Rows that wait to be scored.", registry=registry
        )

    def text(self) -> bytes:
        """In Prometheus' own format."""
        return generate_latest(self.registry)
