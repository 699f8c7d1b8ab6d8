"""From a fitted model and today's rows to advice: what the contract promises, end to end."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realloc import ConfigError, LogError, ReAlloc, load
from realloc.base.simplex import close
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.types import LEADS_OUTSIDE, LOWER_BOUND, REASONS, STARTS_OUTSIDE
from realloc.learn.teacher.config import TeacherConfig
from realloc.model import recommend as recommendation
from tests.advised import CHANNELS, SHOP, advised, asked, shop
from tests.small import CONFIG, fitted, today, window

SHARES = [f"share_{name}" for name in CHANNELS]
SPENDS = [f"spend_{name}" for name in CHANNELS]


def start_of(frame):
    return close(frame[CHANNELS].fillna(0).to_numpy(float))


def cents(frame):
    return np.rint(frame[SPENDS].to_numpy() * 100).astype(int)


def moved_share(frame, answer):
    return np.abs(answer[SHARES].to_numpy() - start_of(frame)).sum(axis=1) / 2


# The contract's columns


def test_shares_sum_to_one_and_money_to_the_budget_to_the_cent():
    frame = asked()
    found = advised().recommend(frame)
    shares = found[SHARES].to_numpy()
    assert (shares >= 0).all()
    assert np.abs(shares.sum(axis=1) - 1).max() < 1e-9
    assert np.array_equal(
        cents(found).sum(axis=1), np.rint(frame[CHANNELS].sum(axis=1) * 100)
    )
    assert (
        np.abs(
            found[SPENDS].to_numpy()
            - shares * frame[CHANNELS].sum(axis=1).to_numpy()[:, None]
        ).max()
        < 0.02
    )
    assert found.moved.mean() > 0.5


def test_what_the_columns_say_fits_together():
    frame = asked()
    found = advised(uncertainty="members").recommend(frame)
    kept = ~found.moved
    assert kept.any()
    assert found.moved.any()
    assert set(found.reason) <= set(REASONS)
    assert (found.loc[kept, ["gain", "gain_lower", "moved_share", "steps"]] == 0).all(
        axis=None
    )
    assert np.array_equal(found[SHARES].to_numpy()[kept], start_of(frame)[kept])
    assert (found.loc[found.moved, "gain_lower"] <= found.loc[found.moved, "gain"]).all()
    assert np.allclose(found.moved_share, moved_share(frame, found))
    assert found.support.between(0, 1).all()
    assert found.directional_support.between(0, 1).all()
    assert (found.loc[found.moved, "steps"] >= 1).all()


def test_the_lower_value_is_so_many_deviations_below_the_gain():
    for confidence, radius in ((0.95, 1.6449), (0.5, 0.0)):
        found = advised(confidence=confidence).recommend(asked())
        assert np.allclose(
            found.gain - found.gain_lower, radius * found.gain_error, atol=1e-4
        )
    assert found.moved.any()


def test_gain_is_the_models_own():
    frame = asked()
    model = advised(zeros=False)
    found = model.recommend(asked(zeros=False))
    assert np.allclose(
        model.gain(asked(zeros=False), found[SHARES].to_numpy()), found.gain, atol=1e-4
    )
    assert found.moved.any()
    assert len(found) == len(frame)


def test_budget_goes_where_orders_rise():
    frame = asked()
    found = advised().recommend(frame)
    gone = found[SHARES].to_numpy() - start_of(frame)
    assert (gone[found.moved, 1] > 0).mean() > 0.95
    assert (found.loc[found.moved, "gain"] > 0).all()


def test_evidence_names_logged_rows_that_exist():
    found = advised().recommend(asked())
    known = {f"{item}@{day}" for item, day in zip(shop().item, shop().date, strict=True)}
    named = {one for text in found.similar_rows for one in text.split("; ")}
    assert named <= known
    assert (found.similar_rows.str.count(";") == 2).all()
    assert found.best_move.str.match(r"^(ads|coupon|rebate) → (ads|coupon|rebate)$").all()


# Kinds of frames, order, repetition


def test_the_kind_of_frame_and_the_order_of_rows_are_kept():
    frame = asked()
    model = advised()
    expected = model.recommend(frame)
    assert expected.item.tolist() == frame.item.tolist()
    for handed_in in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        found = model.recommend(handed_in)
        assert type(found) is type(handed_in)
        back = found.to_pandas()
        assert back.item.tolist() == frame.item.tolist()
        assert np.array_equal(back[SHARES].to_numpy(), expected[SHARES].to_numpy())
        assert back.reason.tolist() == expected.reason.tolist()
    turned = model.recommend(frame.iloc[::-1])
    assert np.allclose(
        turned[SHARES].to_numpy()[::-1], expected[SHARES].to_numpy(), atol=1e-6
    )
    assert turned.index.tolist() == frame.index.tolist()[::-1]


def test_the_order_of_columns_changes_nothing():
    frame = asked()
    model = advised()
    expected = model.recommend(frame)
    pd.testing.assert_frame_equal(
        model.recommend(frame[frame.columns[::-1]])[expected.columns], expected
    )


def test_the_same_seed_gives_the_same_bits_and_a_saved_model_too(tmp_path):
    frame = shop().drop(columns="gmv")
    one, other = (
        ReAlloc(CONFIG, schema=SHOP, quiet=True).fit(frame).recommend(asked())
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(one, other, check_exact=True)
    model = advised()
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(
        load(tmp_path / "model").recommend(asked()),
        model.recommend(asked()),
        check_exact=True,
    )


def test_small_batches_give_what_one_batch_gives(monkeypatch):
    frame = asked(100)
    whole = advised().recommend(frame)
    monkeypatch.setattr(recommendation, "PLACES", 1)  # 32 rows at a time
    parts = advised().recommend(frame)
    assert np.allclose(parts[SHARES].to_numpy(), whole[SHARES].to_numpy(), atol=1e-6)
    assert parts.reason.tolist() == whole.reason.tolist()
    assert parts.similar_rows.tolist() == whole.similar_rows.tolist()


def test_row_by_row_gives_what_a_batch_gives():
    frame = asked(10)
    whole = advised().recommend(frame)
    single = pd.concat([advised().recommend(frame.iloc[[i]]) for i in range(10)])
    assert np.allclose(single[SHARES].to_numpy(), whole[SHARES].to_numpy(), atol=1e-6)
    assert single.reason.tolist() == whole.reason.tolist()


def test_the_input_is_left_alone():
    frame = asked()
    before = frame.copy(deep=True)
    advised().recommend(frame, constraints={"caps": {"coupon": 0.5}}, pools={"coupon": 1e9})
    pd.testing.assert_frame_equal(frame, before)


# Constraints, end to end


RULES = {
    "floors": {"floors": {"ads": 0.2, "rebate": 0.05}},
    "caps": {"caps": {"coupon": 0.35}},
    "frozen": {"frozen": ["ads"]},
    "group": {"groups": [{"channels": ["ads", "coupon"], "cap": 0.9, "floor": 0.5}]},
    "largest": {"largest_move": 0.07},
    "grid": {"grid": 0.05},
}


def breaks(name, frame, answer, shares):
    """How far shares (n, 3) are off the rule, by row."""
    first = start_of(frame)
    if name == "floors":
        return np.maximum(0.2 - shares[:, 0], 0.05 - shares[:, 2])
    if name == "caps":
        return shares[:, 1] - 0.35
    if name == "frozen":
        return np.abs(shares[:, 0] - first[:, 0])
    if name == "group":
        return np.maximum(shares[:, :2].sum(axis=1) - 0.9, 0.5 - shares[:, :2].sum(axis=1))
    if name == "largest":
        return np.abs(shares - first).sum(axis=1) / 2 - 0.07
    away = (shares - first) / 0.05
    return np.abs(away - np.rint(away)).max(axis=1) * 0.05


@pytest.mark.parametrize("name", list(RULES))
def test_every_rule_holds_in_shares_and_in_money(name):
    frame, model = asked(zeros=False), advised(zeros=False)
    free, found = model.recommend(frame), model.recommend(frame, constraints=RULES[name])
    budget = frame[CHANNELS].sum(axis=1).to_numpy()
    fine = (found.reason != "infeasible").to_numpy()
    assert fine.all()
    error = 1e-9 if name == "grid" else 1e-12
    assert breaks(name, frame, found, found[SHARES].to_numpy()).max() <= error
    in_money = breaks(name, frame, found, cents(found) / np.rint(budget * 100)[:, None])
    assert (
        in_money
        <= (0.011 if name in ("grid", "frozen", "largest") else 1e-12)
        / (budget if name != "caps" else 1)
    ).all()
    assert (
        breaks(name, frame, free, free[SHARES].to_numpy()).max() > 1e-3
    )  # without the rule it would be broken
    assert found.moved.any()
    assert (cents(found).sum(axis=1) == np.rint(budget * 100)).all()


def test_caps_in_money_hold_to_the_cent():
    frame, model = asked(zeros=False), advised(zeros=False)
    found = model.recommend(frame, constraints=Constraints(caps_money={"coupon": 222.22}))
    assert (found.spend_coupon <= 222.22).all()
    assert (model.recommend(frame).spend_coupon > 222.22).any()


def test_rows_that_break_a_rule_today_are_moved_as_far_as_it_demands():
    frame, model = asked(zeros=False), advised(zeros=False)
    found = model.recommend(frame, constraints={"caps": {"coupon": 0.3}})
    over = start_of(frame)[:, 1] > 0.3 + 1e-9
    assert over.any()
    assert found.moved[over].all()
    assert (found.reason[over] == "required").any()
    assert (found.share_coupon <= 0.3).all()


def test_rules_that_contradict_each_other_for_a_row_are_explained_and_the_row_is_kept():
    frame = asked(zeros=False)
    rules = Constraints(floors_money={"ads": 250.0}, caps={"ads": 0.5})
    found = advised(zeros=False).recommend(frame, constraints=rules)
    small = frame[CHANNELS].sum(axis=1).to_numpy() < 500
    assert small.any()
    assert (found.reason[small] == "infeasible").all()
    assert found.limited_by[small].str.contains("ads").all()
    assert np.array_equal(found[SHARES].to_numpy()[small], start_of(frame)[small])
    assert (found.reason[~small] != "infeasible").all()


def test_a_channel_an_item_never_used_stays_exactly_empty_unless_opened():
    frame, model = asked(), advised()
    never = frame.item.str[-3:].astype(int) % 3 == 0
    found = model.recommend(frame)
    assert (found.share_rebate[never] == 0).all()
    assert (found.spend_rebate[never] == 0).all()
    everything = model.recommend(
        frame, constraints={"open": ["*"], "floors": {"rebate": 0.05}}
    )
    assert (everything.share_rebate[never] >= 0.05).all()


def test_an_item_nobody_knows_may_use_what_it_uses_today():
    stranger = asked(40, seed=3)
    found = advised().recommend(stranger)
    assert (found.share_rebate[stranger.rebate == 0] == 0).all()
    assert found.moved.any()


def test_a_move_that_is_too_small_to_be_useful_is_constrained():
    found = advised(max_length=0.03).recommend(asked(), constraints={"smallest_move": 0.1})
    assert not found.moved.any()
    assert ("constrained", "smallest move") in set(
        zip(found.reason, found.limited_by, strict=True)
    )


# Caps over all rows


def test_a_pool_holds_to_the_cent_over_all_rows():
    frame, model = asked(zeros=False), advised(zeros=False)
    free = model.recommend(frame)
    most = round((free.spend_coupon.sum() + frame.coupon.sum()) / 2, 2)
    found = model.recommend(frame, pools={"coupon": most})
    assert cents(found)[:, 1].sum() <= round(most * 100) < cents(free)[:, 1].sum()
    assert (cents(found).sum(axis=1) == cents(free).sum(axis=1)).all()
    gave = found.reason == "pooled"
    assert gave.any()
    assert np.array_equal(found[SHARES].to_numpy()[gave], start_of(frame)[gave])


def test_the_money_moved_per_day_is_bounded():
    frame, model = asked(zeros=False), advised(zeros=False)
    rule = Constraints(largest_move_per_day=0.05)
    free, found = model.recommend(frame), model.recommend(frame, constraints=rule)
    budget = frame[CHANNELS].sum(axis=1).to_numpy()
    for answer, holds in ((found, True), (free, False)):
        before = np.rint(frame[CHANNELS].to_numpy() * 100)
        money = np.maximum(cents(answer) - before, 0).sum(axis=1)
        by_day = (
            pd.DataFrame({"moved": money, "budget": 100 * budget, "day": frame.date})
            .groupby("day")
            .sum()
        )
        assert (by_day.moved <= 0.05 * by_day.budget + 1e-6).all() == holds
    assert found.moved.any()


# Bad input


def test_no_bad_row_stops_a_batch_and_every_one_has_its_reason():
    frame = asked(40, zeros=False)
    good = advised(zeros=False).recommend(frame)
    bad = frame.astype({"price": float})
    bad.loc[0, CHANNELS] = 0.0
    bad.loc[1, "ads"] = -5.0
    bad.loc[2, "ads"] = np.inf
    bad.loc[3, "item"] = None
    bad.loc[4, "coupon"] = np.nan
    bad.loc[5, ["coupon", "rebate"]] = 0.0
    bad.loc[6, "price"] = np.nan
    bad.loc[7, "kind"] = "never seen"
    bad.loc[8, "item"] = "never seen"
    bad.loc[9, CHANNELS] = [400.0, 1e-9, 1e-9]
    bad.loc[10, "price"] = 1e25
    found = advised(zeros=False).recommend(bad)
    assert len(found) == 40
    assert found.reason.tolist()[:4] == ["bad_input"] * 4
    assert found.loc[:3, SHARES].isna().all(axis=None)
    assert not found.loc[:3, "moved"].any()
    # No evidence for a channel at zero, at a share never seen, or for a state never seen: kept,
    # with the reason.
    for row in (4, 5, 9):
        assert found.reason[row] in ("unsupported", "constrained")
        assert np.array_equal(
            found.loc[row, SHARES].to_numpy(float), start_of(bad.loc[[row]])[0]
        )
    assert (found.reason[6:9] != "bad_input").all()
    rest = found.loc[4:]
    names = ["gain", "gain_lower", "support", "gain_error", "directional_support"]
    assert np.isfinite(rest[[*SHARES, *SPENDS, *names]]).all(axis=None)
    assert np.allclose(found.loc[11:, SHARES], good.loc[11:, SHARES], atol=1e-6)


def test_shares_off_by_rounding_are_read_as_shares():
    frame = today(20)
    rounded = frame.copy()
    rounded[CHANNELS] = rounded[CHANNELS].round(7)
    rounded.loc[0, "ads"] += 1e-7
    found = fitted().recommend(rounded)
    assert (found.reason != "bad_input").all()
    assert np.abs(found[SHARES].sum(axis=1) - 1).max() < 1e-9
    wrong = frame.assign(ads=frame.ads + 0.2)
    wrong.loc[1:, "ads"] -= 0.2
    assert fitted().recommend(wrong).reason[0] == "bad_input"


def test_no_rows_give_no_rows():
    for extra in ({}, {"pools": {"coupon": 5.0}}):
        found = advised().recommend(asked().head(0), **extra)
        assert len(found) == 0
        assert {*SHARES, "reason", "calibration"} <= set(found.columns)


@pytest.mark.parametrize("channels", [2, 50])
def test_few_and_many_channels(channels):
    model = fitted(channels)
    logs = window(1, channels)
    frame = logs.to_pandas().drop(columns="orders").head(20)
    names = list(logs.schema.channels)
    found = model.recommend(frame)
    assert np.abs(found[[f"share_{name}" for name in names]].sum(axis=1) - 1).max() < 1e-9
    assert set(found.reason) <= set(REASONS)
    rules = {"caps": {names[0]: 0.9}, "frozen": [names[1]]}
    assert (model.recommend(frame, constraints=rules)[f"share_{names[0]}"] <= 0.9).all()


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"caps": {"cupon": 0.5}}, "Unknown channel 'cupon'.*'coupon'"),
        ({"cap": {}}, "Unknown key `cap`"),
        ({"floors": {"ads": 0.8, "coupon": 0.8}}, "sum to at most 1"),
    ],
)
def test_constraints_that_cannot_be_meant_are_refused(rules, message):
    with pytest.raises(ConfigError, match=message):
        advised().recommend(asked(), constraints=rules)


def test_weights_and_tolerances_of_unknown_outcomes_are_refused():
    for option in ({"weights": {"order": 1.0}}, {"tolerances": {"gm": 1.0}}):
        with pytest.raises(ConfigError, match="Unknown outcome"):
            advised(guarded=True, **option).recommend(asked())


# Guardrails and doubt


def test_a_guardrail_stops_what_orders_alone_would_do():
    frame = asked()
    free, held = advised().recommend(frame), advised(guarded=True).recommend(frame)
    assert free.moved.mean() > 0.5
    assert held.moved.mean() < 0.1
    stopped = held.reason == "guardrail"
    assert stopped.mean() > 0.5
    assert (held.limited_by[stopped] == "guardrail gmv").all()
    loose = advised(guarded=True, tolerances={"gmv": 1e6}).recommend(frame)
    assert loose.moved.mean() > 0.5


def test_weights_turn_the_objective():
    frame = asked()
    by_gmv = advised(guarded=True, weights={"gmv": 1.0}, tolerances={"gmv": 1e6}).recommend(
        frame
    )
    gone = (by_gmv[SHARES].to_numpy() - start_of(frame))[by_gmv.moved.to_numpy()]
    assert len(gone)
    assert (gone[:, 1] < 0).mean() > 0.9


def test_uncertainty_can_come_from_members_and_differs_from_the_posterior():
    frame = asked(30)
    by = {
        kind: advised(uncertainty=kind).recommend(frame)
        for kind in ("posterior", "members")
    }
    assert not np.allclose(by["posterior"].best_move_error, by["members"].best_move_error)
    for kind, found in by.items():
        assert (found.best_move_error >= 0).all(), kind
        assert found.best_move_error.max() > 0, kind


def test_the_spread_of_members_is_what_members_says():
    frame = asked(20, zeros=False)
    model = advised(zeros=False, uncertainty="members", beta=0.0)
    found = model.recommend(frame)
    gains = model.gain(frame, found[SHARES].to_numpy(), members=True)
    moved = found.moved.to_numpy()
    assert moved.any()
    assert np.allclose(found.gain_error[moved], gains.std(axis=0, ddof=1)[moved], atol=1e-4)


def test_the_calibration_says_where_it_comes_from():
    frame = asked(10)
    assert set(advised().recommend(frame).calibration) == {"simulated worlds"}
    assert set(advised(uncertainty="members").recommend(frame).calibration) == {"nothing"}
    config = replace(CONFIG, teacher=replace(CONFIG.teacher, surfaces=("network",)))
    assert isinstance(config.teacher, TeacherConfig)
    plain = ReAlloc(config, schema=SHOP, quiet=True).fit(shop().drop(columns="gmv"))
    assert plain.fitted.main.covariance is None
    assert set(plain.recommend(frame).calibration) == {"nothing"}


def test_with_fallback_no_row_moves_that_may_lose():
    frame = asked()
    free = advised().recommend(frame)
    assert (free.gain_lower[free.moved] < 0).any()
    safe = advised(fallback=True).recommend(frame)
    assert (safe.gain_lower >= 0).all()
    assert ("uncertain", LOWER_BOUND) in set(zip(safe.reason, safe.limited_by, strict=True))
    bold = advised(fallback=True, confidence=0.5).recommend(frame)
    assert bold.moved.any()


def test_unsupported_rows_say_so():
    frame = asked(zeros=False)
    found = advised(zeros=False).recommend(frame)
    where = found.reason == "unsupported"
    assert where.any()
    assert set(found.limited_by[where]) <= {STARTS_OUTSIDE, LEADS_OUTSIDE}
    outside = found.support <= 1 - CONFIG.support.level
    assert (found.reason[outside] == "unsupported").all()
    assert outside.any()


ROWS = today(30).assign(date=lambda frame: frame.date.astype(str)).to_dict(orient="records")


@given(
    st.lists(st.sampled_from(ROWS), min_size=1, max_size=4),
    st.sampled_from([None, {"floors": {"ads": 0.3}}, {"grid": 0.05, "frozen": ["rebate"]}]),
    st.sampled_from([{}, {"e1": None}, {"budget": 0.0}, {"ads": 2.0}, {"more": 1}]),
)
def test_a_row_alone_gets_the_answer_of_a_table(rows, constraints, changed):
    """Whether it is read without a table or is unusual; and a list gets that of each row."""
    model = fitted()
    rows = [rows[0] | changed, *rows[1:]]
    table = pa.Table.from_pylist(
        [row | {"more": 1} if changed == {"more": 1} else row for row in rows]
    )
    expected = model.recommend(table, constraints).to_pylist()
    assert model.recommend(rows, constraints) == expected
    alone = model.recommend(rows[0], constraints)
    assert alone == expected[0]
    assert list(alone) == list(expected[0])


def test_a_row_without_a_key_is_refused_with_its_name():
    row = {name: value for name, value in ROWS[0].items() if name != "coupon"}
    with pytest.raises(LogError, match="Expected a column 'coupon'"):
        fitted().recommend(row)
    with pytest.raises(LogError, match="Expected rows whose values are of one type"):
        fitted().recommend([ROWS[0], ROWS[1] | {"e1": "text"}])
