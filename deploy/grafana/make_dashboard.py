"""Write realloc.json, the Grafana dashboard: what is moved, whether it may be, how fast."""

import json
from pathlib import Path
from typing import Any

SOURCE = {"type": "prometheus", "uid": "${source}"}
PANELS = (
    # title, unit, width, kind, (expression, legend) …
    ("Version in service", "none", 4, "stat", ("max(realloc_version)", "")),
    ("Newest version", "none", 4, "stat", ("max(realloc_newest_version)", "")),
    ("Model age", "s", 4, "stat", ("max(realloc_model_age_seconds)", "")),
    ("Frozen", "bool_yes_no", 4, "stat", ("max(realloc_frozen)", "")),
    ("Too old to move", "bool_yes_no", 4, "stat", ("max(realloc_stale)", "")),
    (
        "Failures, last day",
        "none",
        4,
        "stat",
        ("sum(increase(realloc_internal_failures_total[1d]))", ""),
    ),
    (
        "Rows by reason",
        "rows/s",
        12,
        "timeseries",
        ("sum by (reason) (rate(realloc_answers_total[5m]))", "{{reason}}"),
    ),
    (
        "Part of rows moved",
        "percentunit",
        12,
        "timeseries",
        (
            'sum(rate(realloc_answers_total{reason="moved"}[5m]))'
            " / sum(rate(realloc_answers_total[5m]))",
            "moved",
        ),
    ),
    (
        "Requests by status",
        "reqps",
        12,
        "timeseries",
        ("sum by (status) (rate(realloc_requests_total[5m]))", "{{status}}"),
    ),
    (
        "Latency of /v1/recommend",
        "s",
        12,
        "timeseries",
        *(
            (
                f"histogram_quantile({quantile}, sum by (le) "
                '(rate(realloc_request_seconds_bucket{route="/v1/recommend"}[5m])))',
                f"p{100 * quantile:g}",
            )
            for quantile in (0.5, 0.99)
        ),
    ),
    (
        "Rows waiting and CPU",
        "none",
        12,
        "timeseries",
        ("sum(realloc_waiting_rows)", "rows waiting"),
        ("sum(rate(realloc_scoring_seconds_total[5m]))", "cores deciding"),
    ),
    (
        "Versions and connections",
        "none",
        12,
        "timeseries",
        ("sum(increase(realloc_swaps_total[1h]))", "versions taken over"),
        (
            "sum(increase(realloc_bad_versions_total[1h]))",
            "versions that could not be used",
        ),
        (
            "sum by (outcome) (increase(realloc_refused_connections_total[1h]))",
            "connections {{outcome}}",
        ),
        ("sum(rate(realloc_recorded_rows_total[5m]))", "rows on record per second"),
    ),
)


def make_panels() -> list[dict[str, Any]]:
    """Panels from left to right, row by row of 24 units."""
    panels: list[dict[str, Any]] = []
    x = y = 0
    for number, (title, unit, width, kind, *targets) in enumerate(PANELS, start=1):
        height = 4 if kind == "stat" else 8
        panels.append(
            {
                "id": number,
                "title": title,
                "type": kind,
                "datasource": SOURCE,
                "gridPos": {"x": x, "y": y, "w": width, "h": height},
                "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
                "targets": [
                    {
                        "refId": chr(ord("A") + place),
                        "expr": expression,
                        "legendFormat": legend,
                        "datasource": SOURCE,
                    }
                    for place, (expression, legend) in enumerate(targets)
                ],
            }
        )
        x += width
        if x >= 24:
            x = 0
            y += height
    return panels


def make_dashboard() -> str:
    """The file's text."""
    variable = {
        "name": "source",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
    }
    dashboard = {
        "uid": "realloc",
        "title": "ReAlloc",
        "schemaVersion": 39,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": [variable]},
        "panels": make_panels(),
    }
    return json.dumps(dashboard, indent=2) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("realloc.json").write_text(make_dashboard(), encoding="utf-8")
