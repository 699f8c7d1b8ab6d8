"""What every policy answers: the contract's table, whatever the rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from realloc import LogError, read_logs
from realloc.decide.types import REASONS, Decision, recommend
from tests.conftest import SHARES, SPENDS

COLUMNS = [
    *(
        "item",
        "date",
        "share_ads",
        "share_coupon",
        "share_rebate",
        "spend_ads",
        "spend_coupon",
        "spend_rebate",
    ),
    *("moved", "moved_share", "steps", "gain", "gain_lower", "support", "reason"),
]


def halve_ads(logs):
    """Move half of the first channel's share to the second."""
    shares = np.array(logs.shares)
    shares[:, 1] += shares[:, 0] / 2
    shares[:, 0] /= 2
    n = len(logs)
    fill = {name: np.ones(n) for name in ("gain", "gain_lower", "support")}
    return Decision(
        shares=shares, steps=np.ones(n, dtype=np.int64), reason=np.full(n, "moved"), **fill
    )


def test_the_answer_has_the_contracts_columns_in_the_order_of_the_rows(frame):
    today = frame.sample(frac=1, random_state=4).drop(columns="orders")
    answer = recommend(halve_ads, today, SPENDS)
    assert list(answer.columns) == COLUMNS
    assert answer["item"].tolist() == today["item"].tolist()
    assert answer["date"].tolist() == today["date"].tolist()
    spends = today[["ads", "coupon", "rebate"]].to_numpy()
    expected = spends[:, 0] / spends.sum(axis=1) / 2
    assert np.allclose(answer["share_ads"], expected, atol=1e-12)
    assert np.allclose(answer["moved_share"], expected, atol=1e-12)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.Table])
def test_the_answer_is_the_kind_of_frame_that_was_handed_in(frame, kind):
    makers = {
        pd.DataFrame: lambda f: f,
        pl.DataFrame: pl.from_pandas,
        pl.LazyFrame: lambda f: pl.from_pandas(f).lazy(),
        pa.Table: pa.Table.from_pandas,
    }
    assert isinstance(recommend(halve_ads, makers[kind](frame), SPENDS), kind)


def test_answers_join_to_the_rows_of_a_pandas_frame(frame):
    some = frame[frame["item"].isin(["i004", "i009"])].sample(frac=1, random_state=2)
    answer = recommend(halve_ads, some, SPENDS)
    assert answer.index.equals(some.index)
    assert (some.join(answer[["spend_ads"]])["spend_ads"] <= some["ads"]).all()


def test_logs_and_empty_frames_are_answered(frame):
    assert recommend(halve_ads, read_logs(frame, SPENDS), SPENDS).num_rows == len(frame)
    empty = recommend(halve_ads, frame.head(0), SPENDS)
    assert list(empty.columns) == COLUMNS
    assert len(empty) == 0


def test_a_path_is_answered_with_an_arrow_table(frame, tmp_path):
    frame.to_parquet(tmp_path / "today.parquet")
    assert isinstance(recommend(halve_ads, tmp_path / "today.parquet", SPENDS), pa.Table)


def test_money_sums_to_the_rounded_budget_and_shares_to_one(share_frame):
    answer = recommend(halve_ads, share_frame, SHARES)
    cents = np.rint(
        answer[["spend_ads", "spend_coupon", "spend_rebate"]].to_numpy() * 100
    ).astype(int)
    assert np.array_equal(
        cents.sum(axis=1), np.rint(share_frame["budget"].to_numpy() * 100).astype(int)
    )
    assert np.all(
        np.abs(answer[["share_ads", "share_coupon", "share_rebate"]].sum(axis=1) - 1)
        < 1e-12
    )


def test_rows_that_cannot_be_read_get_bad_input_and_do_not_stop_the_others(frame):
    frame.loc[2, "ads"] = -5.0
    frame.loc[4, ["ads", "coupon", "rebate"]] = 0.0
    frame.loc[6, "item"] = None
    answer = recommend(halve_ads, frame, SPENDS)
    bad = answer.loc[[2, 4, 6]]
    assert bad["reason"].tolist() == ["bad_input"] * 3
    assert not bad["moved"].any()
    assert bad["share_ads"].isna().all()
    assert len(answer) == len(frame)
    assert (answer.drop(index=[2, 4, 6])["reason"] == "moved").all()


def test_rows_that_are_all_bad_are_kept_with_their_reason(frame):
    answers = recommend(halve_ads, frame.assign(ads=-1.0), SPENDS)
    assert len(answers) == len(frame)
    assert (answers["reason"] == "bad_input").all()
    assert not answers["moved"].any()


def test_future_days_may_be_decided_on(frame):
    tomorrow = frame.assign(date=pd.Timestamp("2999-01-01").date())
    assert (recommend(halve_ads, tomorrow, SPENDS)["reason"] == "moved").all()


def test_unmoved_rows_keep_their_shares_to_the_last_bit(frame):
    def stay(logs):
        made = halve_ads(logs)
        return Decision(**{**made.__dict__, "reason": np.full(len(logs), "uncertain")})

    answer = recommend(stay, frame, SPENDS)
    logs = read_logs(frame, SPENDS)
    assert np.array_equal(
        answer[["share_ads", "share_coupon", "share_rebate"]].to_numpy(), logs.shares
    )
    assert (answer[["gain", "gain_lower", "moved_share", "steps"]] == 0).all(axis=None)


def test_a_policy_that_leaves_the_simplex_is_refused(frame):
    def broken(logs):
        made = halve_ads(logs)
        return Decision(**{**made.__dict__, "shares": np.full_like(made.shares, np.nan)})

    with pytest.raises(LogError, match="on the simplex from the policy"):
        recommend(broken, frame, SPENDS)


def test_ties_of_cents_do_not_depend_on_the_order_of_channels(frame):
    def even(logs):
        made = halve_ads(logs)
        return Decision(**{**made.__dict__, "shares": np.full_like(made.shares, 1 / 3)})

    swapped = SPENDS.__class__(
        **{**SPENDS.__dict__, "channels": ("rebate", "ads", "coupon")}
    )
    one, other = recommend(even, frame, SPENDS), recommend(even, frame, swapped)
    for name in ("spend_ads", "spend_coupon", "spend_rebate"):
        assert np.array_equal(one[name], other[name])


def test_every_reason_is_explained():
    assert all(REASONS.values())
