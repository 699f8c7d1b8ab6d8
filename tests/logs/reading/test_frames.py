"""Frames of pandas, polars and pyarrow."""

import pandas as pd

from realloc import read_logs
from tests.conftest import SPENDS
from tests.logs.sources import same


def test_reading_leaves_the_frame_alone(frame):
    before = frame.copy(deep=True)
    read_logs(frame, SPENDS)
    pd.testing.assert_frame_equal(frame, before)


def test_the_index_of_a_pandas_frame_is_no_feature(frame, tmp_path):
    shuffled = frame.sample(frac=1, random_state=1)
    shuffled.to_parquet(tmp_path / "indexed.parquet")
    for source in (shuffled, tmp_path / "indexed.parquet"):
        assert same(read_logs(source, SPENDS), read_logs(frame, SPENDS))
