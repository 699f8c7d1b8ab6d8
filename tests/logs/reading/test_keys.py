"""Units and dates: one row each, and ids that are written in one way."""

import pandas as pd
import pytest

from realloc import LogError, read_logs
from tests.conftest import SPENDS
from tests.logs.sources import to_csv


def test_duplicates_are_refused_with_the_first_ones_named(frame):
    doubled = pd.concat([frame, frame.iloc[[4, 9]]])
    with pytest.raises(
        LogError,
        match="'i000' on 2025-01-10, 'i001' on 2025-01-07 .all of them exact copies.",
    ):
        read_logs(doubled, SPENDS)
    doubled = pd.concat([frame, frame.iloc[[4]].assign(orders=999.0)])
    with pytest.raises(LogError, match="0 of them exact copies"):
        read_logs(doubled, SPENDS)


@pytest.mark.parametrize(("twin", "refused"), [("i000 ", True), ("I000", False)])
def test_ids_that_are_one_id_in_two_forms(frame, twin, refused):
    frame.loc[7, "item"] = twin
    if refused:
        with pytest.raises(LogError, match="differ only in blanks"):
            read_logs(frame, SPENDS)
    else:
        assert "id_collision" in [note.code for note in read_logs(frame, SPENDS).notes]


def test_ids_that_are_numbers_stay_numbers_and_text_ids_keep_their_zeros(frame, tmp_path):
    numbered = frame.assign(item=frame["item"].str[1:].astype(int))
    assert read_logs(numbered, SPENDS).to_arrow()["item"][0].as_py() == 0
    padded = frame.assign(item="0" + frame["item"].str[1:])
    assert (
        read_logs(to_csv(padded, tmp_path / "ids.csv"), SPENDS)
        .to_arrow()["item"][0]
        .as_py()
        == "0000"
    )


def test_an_id_called_na_is_an_id(frame, tmp_path):
    named = frame.replace({"item": {"i000": "NA", "i001": "null"}})
    units = read_logs(to_csv(named, tmp_path / "na.csv"), SPENDS).units.to_pylist()
    assert {"NA", "null"} <= set(units)
