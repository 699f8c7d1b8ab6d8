"""Channels without 'spend' in their names are proposed by their values, as a question."""

import numpy as np
import pytest

from realloc import LogError, guess_schema
from realloc.logs.guess import Hints
from tests.logs.messy import plain_log

MEDIA = ("search", "social", "email", "video")


def test_media_with_amounts_that_change_are_proposed():
    schema = guess_schema(plain_log())
    assert schema.channels == MEDIA
    assert schema.budget is None
    assert "named like a medium" in schema.notes["email"]


def test_a_medium_that_is_a_property_or_a_rating_is_none():
    frame = plain_log()
    frame["radio"] = frame["income_idx"]  # the same in all rows of a shop
    frame["tv"] = np.arange(len(frame)) % 4
    assert guess_schema(frame).channels == MEDIA


def test_amounts_whose_names_say_nothing_are_proposed_with_a_doubt():
    frame = plain_log().rename(columns=dict(zip(MEDIA, "abcd", strict=True)))
    frame["price"] = np.random.default_rng(0).uniform(1, 9, len(frame))
    schema = guess_schema(frame)
    assert schema.channels == ("a", "b", "c", "d")
    assert "named otherwise: is it spend?" in schema.notes["a"]


def test_where_there_are_none_the_advice_helps():
    frame = plain_log().drop(columns=list(MEDIA))
    with pytest.raises(LogError, match="--channels ads,coupon"):
        guess_schema(frame)
    frame["radio"] = frame["income_idx"]
    frame["tv"] = frame["income_idx"] * 2
    assert guess_schema(frame, Hints(channels=("radio", "tv"))).channels == ("radio", "tv")
