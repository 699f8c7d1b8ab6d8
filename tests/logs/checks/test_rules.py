"""Rules for single rows."""

import numpy as np
import pandas as pd

from realloc import Schema, read_logs
from tests.conftest import SPENDS
from tests.logs.sources import codes


def test_missing_outcome_everywhere_is_an_error(frame):
    assert codes(frame.assign(orders=np.nan), level="error") == {"no_rows"}


def test_ancient_dates_are_a_warning(frame):
    old = frame.assign(date=pd.to_datetime(frame["date"]) - pd.Timedelta(days=365 * 50))
    assert "ancient_time" in codes(old, level="warning")


def test_propensities_must_be_positive_where_given(frame):
    schema = Schema(**{**SPENDS.__dict__, "propensity": "propensity"})
    given = frame.assign(propensity=np.where(frame["item"] < "i010", 0.25, np.nan))
    assert np.isnan(np.asarray(read_logs(given, schema).propensity)).sum() == 160
    assert "not_positive" in codes(given.assign(propensity=0.0), schema, level="error")
