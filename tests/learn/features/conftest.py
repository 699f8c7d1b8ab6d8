import numpy as np
import pandas as pd
import pytest

from tests.conftest import make_frame
from tests.learn.features.rows import logs_of


@pytest.fixture
def rich(frame):
    """Numbers with an outlier and holes, a flag, a date, few and many categories."""
    frame.loc[3, "price"] = 1e9
    frame.loc[5:9, "price"] = np.nan
    frame["launched"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(
        np.arange(len(frame)) % 50, unit="D"
    )
    frame["brand"] = [f"brand {i % 60}" for i in range(len(frame))]
    return logs_of(frame, features=("price", "category", "promoted", "launched", "brand"))


@pytest.fixture
def gaps():
    """A log in which days and whole units are missing here and there."""
    frame = make_frame(units=12, days=14)
    return frame[np.random.default_rng(3).random(len(frame)) < 0.7].reset_index(drop=True)
