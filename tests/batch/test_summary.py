"""The figures of a run, in lines and as JSON."""

import json
from dataclasses import replace

from tests.batch.test_limits import CALM, drift_of, drifted


def test_lines_give_the_totals_and_say_what_is_not_known():
    lines = list(replace(CALM, drift=None).lines())
    assert lines[2].endswith("a larger or smaller budget would bring is not estimated.")
    assert lines[:2] == [
        "Total gain 1, 95 % interval 0.5 to 1.5 (calibrated on simulated worlds).",
        "10.00 of 100.00 change hands (10.0%).",
    ]
    assert lines[-3] == "Current shares supported: not known."
    assert lines[-2] == "Against the training window: not known."
    assert lines[-1] == "Version 1, made 3.0 days ago."


def test_lines_say_which_search_decided_and_why_it_was_not_the_compiled_one():
    searched = replace(CALM, searches={"numpy: guardrail": 1, "compiled": 1_500})
    assert (
        "Search: 1,500 rows by the compiled search, 1 row by the numpy search (guardrail)."
        in list(searched.lines())
    )
    assert "Search: no row was searched." in list(CALM.lines())


def test_the_farthest_column_is_named():
    one = drift_of(drifted("feature c1", 0.1), drifted("share ads", 0.4))
    assert one.largest().name == "share ads"
    assert drift_of(drifted("feature c1", 0.1), None).largest().name == "feature c1"
    line = list(replace(CALM, drift=one).lines())[-2]
    assert line.endswith("'share ads' changed most, but so few rows may do so by chance.")


def test_everything_fits_into_json():
    plain = json.loads(json.dumps(CALM.to_json()))
    assert plain["drift"]["state"]["name"] == "feature c1"
    assert plain["broken_limits"] == []
    assert plain["decision_log"] is None
