"""The marketplace's offline and A/B tables at a tiny size: cells run, tables are written, and
figures behave.
"""

from dataclasses import replace

import numpy as np
import pytest

import marketplace_abtest as abtest
import marketplace_learned as market
import marketplace_offline as offline
from marketplace_learned import QUICK, Ours
from marketplace_tables import bars, to_markdown
from realloc.base.simplex import total_variation

METHODS = ("realloc", "without_support", "context_only")
KEYS = (
    *(f"learn/{name}" for name in METHODS),
    "replay/all",
    "replay/first",
    "value/0",
    "value/1",
    "value/2",
)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Where this module's models are kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REALLOC_MODELS", str(tmp_path_factory.mktemp("models")))
        yield QUICK


@pytest.fixture(scope="module")
def cells(small):
    return {
        key: {**offline.cell(key, small, METHODS), "seconds": 1.0, "code": "test"}
        for key in KEYS
    }


def test_nobody_learns_from_the_items_that_value_policies():
    traffic = market.open_traffic(QUICK)
    learned = set(traffic.to_learn().to_arrow()["item_id"].to_pylist())
    drawn = set(traffic.logs.take(traffic.drawn_rows()).to_arrow()["item_id"].to_pylist())
    assert drawn
    assert learned
    assert not drawn & learned
    assert traffic.to_learn().times.max() < traffic.logs.times[traffic.drawn_rows()].min()


def test_permuted_gains_rank_nothing_and_true_gains_rank_best(cells):
    found = cells["replay/all"]["methods"]
    _, low, high, n = found["permuted"]["rho_gain"]
    assert low < 0 < high
    assert n == cells["replay/all"]["events"]
    assert found["oracle"]["rho_gain"][1] > 0
    assert found["oracle"]["true_rho"] == pytest.approx(1)
    assert abs(found["permuted"]["true_rho"]) < 4 / np.sqrt(n)


def test_matching_brings_balance(cells):
    before, after = np.abs(np.array(list(cells["replay/all"]["balance"].values()))).T
    assert before.max() > 0.25 > after.max()


def test_holding_has_the_lift_that_logging_lost_and_the_oracle_has_the_most(cells):
    found = cells["value/1"]
    assert found["methods"]["hold"]["truth"]["dr_lift"] == pytest.approx(-found["logging"])
    assert found["methods"]["hold"]["action_rate"][0] == 0
    best = found["methods"]["oracle"]["truth"]["dr_lift_over_hold"]
    assert best > 0
    assert all(
        best >= one["truth"]["dr_lift_over_hold"] for one in found["methods"].values()
    )


def test_only_the_support_keeps_a_greedy_model_from_an_arm(small, monkeypatch):
    """With a gain that is the same everywhere: without the rule every possible arm is picked, with
    it those inside.
    """
    monkeypatch.setattr(
        market,
        "score_ends",
        lambda problem, rows, start, ends, config: np.ones(ends.shape[:2]),
    )
    config = offline.make_config(small)
    config = replace(config, decision=replace(config.decision, min_significance=0.0))
    model = market.learned_model(small, config)
    traffic = market.open_traffic(small)
    asked = traffic.before(np.flatnonzero(traffic.day == 3))  # learned items are among them
    start, moves = np.array(asked.shares), np.array([[0.0, 0.0], [-0.02, 0.02]])
    possible = start[:, :1] >= [[0.0, 0.02]]
    whole, free = Ours(model, "realloc"), Ours(model, "without_support")
    ends = market.reach(start, moves, possible)
    inside = whole.judge.at(whole.encoder.encode(asked).values).allowed(
        np.arange(len(asked)), start, ends
    )[:, 1]
    taken = free.pick(asked, moves, possible) == 1
    assert taken.sum() > 100
    assert (taken <= possible[:, 1]).all()
    assert ((whole.pick(asked, moves, possible) == 1) == (taken & inside)).all()
    assert 0 < (taken & inside).sum() < taken.sum()


def test_what_legacy_cannot_do_is_beyond_its_reach():
    traffic = market.open_traffic(QUICK)
    start = traffic.logs.shares[traffic.events.previous[traffic.today()]]
    assert market.in_reach_of_legacy(traffic, start).all()
    other = start[:, ::-1]
    far = total_variation(start, other) > 0.1 + 1e-9
    assert far.any()
    assert not market.in_reach_of_legacy(traffic, other)[far].any()


def test_the_tables_name_every_method_and_bar(cells):
    text = to_markdown(cells, QUICK)
    for line in (
        "| **ReAlloc** |",
        "| ReAlloc w/o support |",
        "| Context-Only |",
        "| _oracle_ |",
        "## Balance",
        "## Targets",
    ):
        assert line in text
    assert "| replay ranks" in text or not cells["replay/all"]["agreement"]


def fake_value(lift: float, rate: float) -> dict:
    truth = {"dr_lift": lift, "dr_lift_over_hold": lift, "action_rate": rate}
    return {"dr_lift": [lift, lift - 0.001, lift + 0.001, 100.0], "truth": truth}


@pytest.mark.parametrize(("rate", "verdict"), [(0.2, "met"), (0.9, "**missed**")])
def test_bars_are_met_or_missed_by_the_figures(rate, verdict):
    methods = {
        "realloc": fake_value(0.02, rate),
        "vcnet": fake_value(0.01, 0.9),
        "giks": fake_value(-0.01, 0.9),
    }
    methods["without_support"] = fake_value(0.03, 1.0)
    rows = "\n".join(bars({"value/0": {"rows": 100, "methods": methods}}))
    assert (
        f"action rate ≤ .5 (the log's own explored items) | {rate:.2f} | {verdict} |"
        in rows
    )
    assert (
        "truly 0.0200; best rival VCNet 0.010 [0.009, 0.011], by the truth VCNet 0.0100 | met |"
        in rows
    )
    assert "without support 0.030 [0.029, 0.031], truly 0.0300 | **missed** |" in rows
    assert f"{0.02 / rate:.4f} against 0.0111" in rows


class Mover:
    """A stand-in for a model: moves all items a tenth towards coupons on the day it is asked."""

    def ends(self, asked):
        step = np.minimum(asked.shares[:, :1], 0.1)
        return np.hstack([asked.shares[:, :1] - step, asked.shares[:, 1:] + step]), np.full(
            len(asked), 0.01
        )


@pytest.fixture(scope="module")
def place():
    return abtest.Market(QUICK)


def test_the_old_policy_against_itself_has_no_effect(place):
    path = place.path(place.legacy)
    assert set(abtest.true_effects(path, path).values()) == {0.0}
    arm = abtest.assign(len(place.routine), 0)
    config = replace(abtest.CONFIG, predicted=None, predicted_metric=None)
    found = abtest.read_out(abtest.daily_rows(path, path, arm), config)
    assert found.split.ok
    assert (
        sum(effect.low <= 0 <= effect.high for effect in found.effects)
        >= len(found.effects) - 1
    )


def test_the_simulated_path_is_the_worlds_own(place):
    """Under the old policy, day by day, the same shares and sales as in the log."""
    path, traffic = place.path(place.legacy), market.open_traffic(QUICK)
    rows = traffic.today()
    assert np.allclose(path.test("log_orders")[0], traffic.logs.outcome[rows])
    assert np.allclose(path.test("cost")[0], traffic.logs.budget[rows])


def test_a_readout_finds_the_truth_and_what_was_promised(place):
    control, treated = (
        place.path(place.legacy),
        place.path(place.asking(Mover(), abtest.DAYS)),
    )
    truth = abtest.true_effects(control, treated)
    assert treated.moved[1:].sum() == 0
    assert treated.promised[-1] == pytest.approx(0.01)
    assert truth["profit margin"] < 0  # coupons are paid from income
    arm = abtest.assign(len(place.routine), 0)
    days = abtest.read_out(abtest.daily_rows(control, treated, arm), abtest.CONFIG)
    totals = abtest.read_out(
        abtest.total_rows(control, treated, arm), replace(abtest.CONFIG, time=None)
    )
    for name, true in truth.items():
        assert days[name].value == pytest.approx(totals[name].value)
        wide = days[name].high - days[name].low
        assert days[name].low - wide <= true <= days[name].high + wide
    assert days["profit margin"].high < 0
    assert days.calibration is not None


def test_the_table_of_the_test_has_every_metric(small):
    found = {
        key: {**abtest.cell(key, small), "seconds": 1.0, "code": "test"}
        for key in ("once", "none")
    }
    text = abtest.to_markdown(found, small)
    for line in (
        "| pay orders |",
        "| profit margin |",
        "| platform income |",
        "## Old against old",
        "Sample ratio fits",
    ):
        assert line in text
    assert found["none"]["truth"]["pay orders"] == 0
