"""Publish limits: a run beyond a limit is not published, says both figures, and can be forced."""

import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from realloc.base.errors import PublishError
from realloc.batch.limits import broken_limits
from realloc.batch.summary import BatchDrift, RunSummary
from realloc.model.config import Config
from realloc.model.publish_limits import PublishLimits
from realloc.monitor.age import Age
from realloc.monitor.drift import Drift
from realloc.storage.ledger import Ledger
from realloc.storage.store import Store
from tests.batch.conftest import NOW, answers, recommend, rows
from tests.small import CONFIG


def drifted(name: str, excess: float) -> Drift:
    return Drift(name, "", psi=excess, usual=0.0, excess=excess, chance=1.0, drifted=False)


def drift_of(state: Drift | None, shares: Drift | None) -> BatchDrift:
    return BatchDrift(state, shares, drifted=(), columns={})


CALM = RunSummary(
    run="a",
    made="2026-11-16",
    frozen=None,
    version=1,
    age=Age(days=3.0, window_days=4.0),
    all_rows=False,
    rows=100,
    usable=100,
    bad_rows=0,
    bad_rows_share=0.0,
    duplicates=0,
    moved=50,
    action_rate=0.5,
    money=100.0,
    moved_money=10.0,
    moved_share=0.1,
    moved_by_pair={},
    gain=1.0,
    gain_low=0.5,
    gain_high=1.5,
    calibration="simulated worlds",
    reasons={},
    searches={},
    support_coverage=None,
    bad_input={},
    drift=drift_of(drifted("feature c1", 0.1), drifted("share ads", 0.0)),
    input={},
)
LIMITS = PublishLimits(
    max_action_rate=0.5,
    max_moved_share=0.1,
    max_drift=0.1,
    max_bad_rows=0.0,
    max_age_days=3.0,
    max_window_age_days=4.0,
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"action_rate": 0.51, "moved": 51},
            "51 rows would move (51.0%, `max_action_rate` is 50.0%)",
        ),
        (
            {"moved_share": 0.2, "moved_money": 20.0},
            "20.00 would change hands (20.0% of all money, `max_moved_share` is 10.0%)",
        ),
        (
            {"drift": drift_of(None, drifted("share ads", 0.3))},
            "'share ads' has drifted by 0.300",
        ),
        (
            {"bad_rows": 1, "bad_rows_share": 0.01},
            "1 of 100 rows cannot be read (1.0%, `max_bad_rows` is 0.0%)",
        ),
        (
            {"age": Age(days=3.1, window_days=1.0)},
            "the version is 3.1 days old (`max_age_days` is 3)",
        ),
        (
            {"age": Age(days=1.0, window_days=4.5)},
            "its last window ended 4.5 days ago (`max_window_age_days` is 4)",
        ),
    ],
)
def test_each_limit_holds_alone_and_gives_both_figures(change, told):
    assert list(broken_limits(CALM, LIMITS)) == []  # at the limit is not beyond it
    found = list(broken_limits(replace(CALM, **change), LIMITS))
    assert len(found) == 1
    assert told in found[0]


def test_what_is_not_known_breaks_no_limit():
    assert (
        list(
            broken_limits(
                replace(CALM, drift=None, action_rate=None, moved_share=None),
                LIMITS,
            )
        )
        == []
    )


def with_limits(**limits) -> Config:
    return Config(decision=CONFIG.decision, publish=PublishLimits(**limits))


def test_a_run_beyond_a_limit_is_kept_aside_and_published_only_by_force(place):
    (place / "recs.parquet").write_bytes(b"of yesterday")
    tight = with_limits(max_action_rate=0.01)
    with pytest.raises(
        PublishError,
        match=r"Nothing was published: .* rows would move .* `max_action_rate` is 1.0%",
    ):
        recommend(place, config=tight)
    assert (place / "recs.parquet").read_bytes() == b"of yesterday"
    aside = answers(place, "recs.refused.parquet")
    assert aside.moved.mean() > 0.01
    told = json.loads((place / "recs.refused.summary.json").read_text())
    assert told["output"]["published"] is False
    assert told["broken_limits"]
    assert Ledger(place / "store" / "decisions").numbers() == []
    done = recommend(place, config=tight, force=True)
    assert done.summary.broken_limits
    assert done.summary.to_json()["forced"] is True
    pd.testing.assert_frame_equal(answers(place), aside)
    assert Ledger(place / "store" / "decisions").numbers() == [1]


def test_control_without_the_limit_the_same_run_is_published(place):
    assert (
        recommend(place, config=with_limits(max_action_rate=1.0)).summary.to_json()[
            "action_rate"
        ]
        > 0.01
    )


def test_drifted_states_hold_the_run(place):
    moved = rows()
    moved["c1"] = moved["c1"] + 5 * moved["c1"].std()
    moved.to_parquet(place / "moved.parquet")
    with pytest.raises(PublishError, match="'feature c1' has drifted by"):
        recommend(place, source=place / "moved.parquet")
    told = recommend(place).summary.to_json()  # rows of the same world are fine
    assert told["drift"]["drifted"] == ()


def test_too_many_bad_rows_hold_the_run(place):
    bad = rows()
    bad.loc[:30, "ads"] = np.nan
    bad.loc[:30, "coupon"] = -1.0
    bad.to_parquet(place / "bad.parquet")
    with pytest.raises(
        PublishError,
        match=r"31 of 150 rows cannot be read \(20.7%, `max_bad_rows` is 10.0%\)",
    ):
        recommend(place, source=place / "bad.parquet")


def test_a_stale_model_holds_the_run(place):
    with pytest.raises(
        PublishError, match=r"the version is 50.0 days old \(`max_age_days` is 45\)"
    ):
        recommend(place, clock=lambda: NOW + timedelta(days=50))


def test_a_frozen_store_is_never_held(place):
    """To change nothing is always safe."""
    Store(place / "store").freeze("a test")
    assert (
        recommend(place, clock=lambda: NOW + timedelta(days=50)).summary.to_json()["moved"]
        == 0
    )


def test_a_store_that_is_frozen_meanwhile_is_not_held_either(place):
    store = Store(place / "store")
    recommend(
        place,
        config=with_limits(max_action_rate=0.01),
        progress=lambda step, done, total: done and store.freeze("now"),
    )
    assert set(answers(place).reason) == {"frozen"}
