"""The figures of README and docs/results.md are those of the committed results."""

import json
import re
from pathlib import Path

import pytest
from benchmarks.speed import table

import zoo

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
REGIMES = ("benign", "medium", "hard", "extreme")
METHODS = {
    "**ReAlloc**": "realloc",
    "EconML LinearDML, quadratic": "linear_dml_poly",
    "EconML LinearDML": "linear_dml",
    "S-learner ensemble": "s_nn_ensemble",
}


def load(path: str) -> dict:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def mean(method: str, regime: str, figure: str) -> float:
    cells = load("experiments/results/static_quality.json")["cells"]
    values = [cells[f"{method}/{regime}/{seed}"]["ascent"][figure] for seed in range(1, 11)]
    return sum(values) / len(values)


@pytest.mark.parametrize("title", METHODS)
def test_the_table_of_the_readme_is_that_of_the_committed_cells(title):
    row = next(line for line in README.splitlines() if line.startswith(f"| {title} |"))
    cells = [cell.strip() for cell in row.strip("|").split("|")][1:]
    method = METHODS[title]
    recovery = [f"{mean(method, regime, 'safe_local_recovery'):.3f}" for regime in REGIMES]
    assert [cell.rjust(5, "0") for cell in cells[:4]] == recovery
    assert cells[4] == f"{100 * mean(method, 'hard', 'harm_rate'):.1f} %"


def test_the_coverage_by_rows_is_what_the_block_above_it_prints(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    block = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.S)
    assert block is not None
    exec(compile(block[1], "results.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out == block[2]


def test_latencies_and_refusals_are_those_of_the_load_test():
    load_test = load("benchmarks/results/serve_load.json")
    for part in ("half", "twice"):
        for kind in ("recommend", "health"):
            for quantile in ("p50_ms", "p99_ms"):
                assert f"{load_test[part][kind][quantile]:,.0f} ms" in PAGE
    statuses = load_test["twice"]["recommend"]["statuses"]
    without_status = sum(count for name, count in statuses.items() if not name.isdigit())
    assert f"**{without_status:,} got no HTTP status at all**" in PAGE
    assert (
        f"of {sum(statuses.values()):,} requests {statuses['200']:,} were answered" in PAGE
    )


def test_the_table_of_the_zoo_is_that_of_the_committed_cells():
    page = (ROOT / "docs" / "zoo.md").read_text(encoding="utf-8").split("## Results")[1]
    overview = zoo.overview(load("experiments/results/zoo_evaluation.json")["cells"])
    assert "\n".join(overview) in page


def test_the_table_of_decisions_is_that_of_the_speed_run():
    results = load("benchmarks/results/speed.json")
    for line in table(results):
        assert line in PAGE
    models = results["summary"]["models"]
    assert (
        f"Over {models['count']} small models the slowest hundredth takes "
        f"{models['p99_to_median']:.1f} times the median" in PAGE
    )
    assert models["not_compiled"] == 0
