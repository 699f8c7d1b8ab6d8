"""Shares that a user asks about."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from realloc import LogError
from realloc.logs.reading.wanted import read_shares

CHANNELS = ("ads", "coupon", "rebate")
SHARES = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]])


def read(to, rows=3):
    return read_shares(to, CHANNELS, rows)


@pytest.mark.parametrize(
    "to", [SHARES, SHARES.tolist(), SHARES.astype(np.float32), np.asfortranarray(SHARES)]
)
def test_arrays_stand_in_the_order_of_the_channels(to):
    assert np.allclose(read(to), SHARES, atol=1e-7)
    assert read(to).dtype == np.float64


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("prefix", ["", "share_"])
def test_frames_are_read_by_name_whatever_else_they_hold(kind, prefix):
    columns = {f"{prefix}{name}": SHARES[:, k] for k, name in enumerate(CHANNELS)}
    turned = {"unit": ["a", "b", "c"], **dict(reversed(columns.items()))}
    assert np.array_equal(read(kind(turned)), SHARES)


def test_a_frames_own_index_does_not_matter():
    frame = pd.DataFrame(SHARES, columns=CHANNELS, index=[7, 3, 7])
    assert np.array_equal(read(frame), SHARES)


def test_nobody_else_sees_what_happens_to_the_array():
    to = SHARES.copy()
    read(to)
    assert np.array_equal(to, SHARES)


@pytest.mark.parametrize(
    ("to", "message"),
    [
        (
            SHARES[:2],
            r"Expected `to` of shape \(3, 3\), a row for each row and a column per channel, "
            r"got \(2, 3\)",
        ),
        (SHARES[:, :2], r"got \(3, 2\)"),
        (SHARES[0], r"got \(3,\)"),
        (SHARES[None], r"got \(1, 3, 3\)"),
        (None, r"got \(\)"),
        (0.5, r"got \(\)"),
        ([[0.5, 0.5], [1.0]], "Expected numbers in `to`, got something else"),
        ("ads", "Expected numbers in `to`"),
        (np.full((3, 3), "much"), "Expected numbers in `to`"),
        (
            pd.DataFrame({name: ["a", "b", "c"] for name in CHANNELS}),
            "Expected numbers in `to`",
        ),
        (
            SHARES * 100,
            r"at least 0 that sum to 1 in `to`, but 3 of 3 rows have others; "
            r"row 0 is \[20.0, 30.0, 50.0\]",
        ),
        (SHARES + np.diag([0, 0, 1e-4]), "1 of 3 rows have others; row 2 is"),
        (
            np.array([[0.2, 0.3, 0.5], [1.5, -0.5, 0.0], [1, 0, 0]]),
            r"1 of 3 .* row 1 is \[1.5, -0.5, 0.0\]",
        ),
        (np.where(SHARES == 1, np.nan, SHARES), r"1 of 3 .* row 1 is \[nan, 0.0, 0.0\]"),
        (np.where(SHARES == 1, np.inf, SHARES), r"row 1 is \[inf"),
        (
            pl.DataFrame(
                {"ads": [None, 1.0, 1.0], "coupon": [0.0] * 3, "rebate": [0.0] * 3}
            ),
            "row 0 is",
        ),
        (
            pd.DataFrame(SHARES[:, :2], columns=CHANNELS[:2]),
            "a column of shares for channel 'rebate' in `to`, but 'share_rebate' is missing",
        ),
    ],
)
def test_anything_else_is_refused_with_the_row_that_is_wrong(to, message):
    with pytest.raises(LogError, match=message):
        read(to)


def test_current_and_wanted_shares_in_one_frame_are_not_guessed_apart():
    both = pd.DataFrame(SHARES, columns=CHANNELS).assign(
        share_ads=1.0, share_coupon=0.0, share_rebate=0.0
    )
    with pytest.raises(LogError, match="both 'ads' and 'share_ads' are there. Leave out"):
        read(both)


def test_a_recommendation_is_read_although_its_money_is_named_like_the_channel():
    advice = pd.DataFrame(
        {"share_ads": [0.4], "share_tv": [0.6], "spend_ads": [4.0], "spend_tv": [6.0]}
    )
    assert read_shares(advice, ("spend_ads", "spend_tv"), 1).tolist() == [[0.4, 0.6]]


def test_no_rows_need_no_shares():
    assert read(np.empty((0, 3)), rows=0).shape == (0, 3)
