"""Outputs are written beside their name, whole or not at all."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from realloc.base import disk
from realloc.batch.publish import refused_name, summary_name, write_beside

CHUNKS = [pa.table({"n": [1, 2]}), pa.table({"n": [3]})]


def test_names_are_made_of_the_outputs_name():
    assert refused_name(Path("out/recs.csv")) == Path("out/recs.refused.csv")
    assert summary_name(Path("out/recs.parquet")) == Path("out/recs.summary.json")


@pytest.mark.parametrize(
    ("name", "read"), [("recs.parquet", pq.read_table), ("recs.csv", pa_csv.read_csv)]
)
def test_all_chunks_are_in_the_file_and_the_output_has_no_name_yet(tmp_path, name, read):
    place = write_beside(iter(CHUNKS), tmp_path / name)
    assert place == disk.beside(tmp_path / name)
    assert not (tmp_path / name).exists()
    assert read(place)["n"].to_pylist() == [1, 2, 3]


def test_what_an_earlier_run_left_is_replaced(tmp_path):
    disk.beside(tmp_path / "recs.parquet").write_bytes(b"half a file")
    place = write_beside(iter(CHUNKS), tmp_path / "recs.parquet")
    assert pq.read_table(place).num_rows == 3


def test_half_a_file_does_not_stay(tmp_path):
    def failing():
        yield CHUNKS[0]
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_beside(failing(), tmp_path / "recs.parquet")
    assert os.listdir(tmp_path) == []
