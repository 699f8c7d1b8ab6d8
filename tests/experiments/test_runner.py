"""Cells survive interruption, failures do not take others with them, and files are never torn."""

import json

import pytest

import runner
from runner import Study, run


def square(key):
    return {"value": int(key.split("/")[1]) ** 2}


def odd_only(key):
    if int(key.split("/")[1]) % 2 == 0:
        raise ArithmeticError(f"{key} is even")
    return square(key)


def unreachable(key):
    raise AssertionError(f"{key} was computed again")


def keys(count):
    return tuple(f"cell/{number}" for number in range(1, count + 1))


def test_workers_do_not_run_out_of_tasks(tmp_path):
    """They once did after eight each, and the run stood still."""
    assert len(run(Study("squares", square, keys(20), tmp_path), jobs=2)) == 20


def test_every_cell_is_measured_once_and_kept(tmp_path, capsys):
    first = run(Study("squares", square, keys(3), tmp_path), jobs=2)
    assert {key: cell["value"] for key, cell in first.items()} == {
        "cell/1": 1,
        "cell/2": 4,
        "cell/3": 9,
    }
    assert "3/3" in capsys.readouterr().out
    assert run(Study("squares", unreachable, keys(3), tmp_path), jobs=1) == first


def test_only_what_is_missing_is_computed(tmp_path):
    run(Study("squares", square, keys(2), tmp_path), jobs=1)
    found = run(Study("squares", square, keys(4), tmp_path), jobs=1)
    assert sorted(found) == ["cell/1", "cell/2", "cell/3", "cell/4"]


def test_a_failed_cell_is_named_and_tried_again(tmp_path, capsys):
    found = run(Study("squares", odd_only, keys(3), tmp_path), jobs=1)
    assert sorted(found) == ["cell/1", "cell/3"]
    told = capsys.readouterr().out
    assert "ArithmeticError: cell/2 is even" in told
    assert "1 of 3 cells failed: cell/2" in told
    assert sorted(run(Study("squares", square, keys(3), tmp_path), jobs=1)) == [
        "cell/1",
        "cell/2",
        "cell/3",
    ]


def test_results_carry_their_card(tmp_path):
    study = Study("squares", square, keys(1), tmp_path)
    run(study, jobs=1)
    table = json.loads(study.path.read_text())
    assert {"commit", "python", "machine", "packages", "seeds", "cpu_hours"} <= set(
        table["card"]
    )
    assert table["card"]["packages"]["torch"]
    assert set(table["cells"]["cell/1"]) == {"value", "seconds", "code"}


def test_a_card_keeps_packages_of_earlier_runs_and_counts_all_cells(tmp_path):
    study = Study("squares", square, keys(3), tmp_path)
    told = {
        "card": {"packages": {"d3rlpy": "2.8.1", "torch": "0"}},
        "cells": {"cell/7": {"seconds": 7200, "code": "old"}},
    }
    study.path.write_text(json.dumps(told))
    run(study, jobs=1)
    card = json.loads(study.path.read_text())["card"]
    assert card["packages"]["d3rlpy"] == "2.8.1"
    assert card["packages"]["torch"] != "0"
    assert {1, 3, 7} <= set(card["seeds"])
    assert card["cpu_hours"] == pytest.approx(2, abs=0.1)


def test_an_interrupted_write_leaves_the_former_file(tmp_path, monkeypatch):
    study = Study("squares", square, keys(1), tmp_path)
    cells = run(study, jobs=1)
    monkeypatch.setattr(runner, "card", lambda *_: object())  # cannot be written
    with pytest.raises(TypeError):
        runner.save(study, cells)
    assert study.done() == cells


def test_intervals_hold_the_mean():
    low, high = runner.interval(runner.np.array([0.1, 0.2, 0.3, 0.4]))
    assert 0.1 <= low < 0.25 < high <= 0.4
