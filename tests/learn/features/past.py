"""Logs with lags: their schema, their rows by day, and the columns that look back."""

from dataclasses import replace
from datetime import date

import pandas as pd

from realloc import read_logs
from realloc.learn.features.encode import FeatureConfig
from realloc.logs.reading.read import load_today
from tests.conftest import SPENDS

SCHEMA = replace(SPENDS, features=("price",))
LAGS = FeatureConfig(lags=3)


def logs_of(frame):
    return read_logs(frame, SCHEMA, today=date(2100, 1, 1))


def today_of(frame):
    return load_today(frame.drop(columns="orders"), SCHEMA).logs


def past_of(encoder, logs):
    """The lag columns of each row, without the others."""
    encoded = encoder.encode(logs)
    first = encoded.names.index("last outcome")
    return pd.DataFrame(encoded.values[:, first:], columns=encoded.names[first:])


def upto(frame, day):
    return frame[frame["date"] <= date(2025, 1, day)]


def on(frame, day):
    return frame[frame["date"] == date(2025, 1, day)]
