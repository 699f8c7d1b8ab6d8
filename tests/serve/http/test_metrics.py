"""Metrics stand in Prometheus' text format, by the names that dashboards use."""

from realloc.serve.http.metrics import Metrics


def test_connections_without_a_response_are_counted_as_what_they_are():
    metrics = Metrics()
    for outcome in ("answered_503", "closed_over_limit", "closed_slow_headers"):
        metrics.refused_connections.labels(outcome).inc()
        line = f'realloc_refused_connections_total{{outcome="{outcome}"}} 1.0'
        assert line.encode() in metrics.text()


def test_two_services_in_one_process_count_apart():
    first = Metrics()
    first.swaps.inc()
    assert b"realloc_swaps_total 1.0" in first.text()
    assert b"realloc_swaps_total 0.0" in Metrics().text()
