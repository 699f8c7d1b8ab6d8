"""Chunks: consecutive rows of one size, however the input was cut into files."""

import pandas as pd
import pytest

from realloc.base.errors import LogError
from realloc.batch.chunks import cut, fingerprint_files, identify_files
from realloc.logs.reading.source import open_source


def write(folder, *sizes):
    first = 0
    for number, size in enumerate(sizes):
        frame = pd.DataFrame({"unit": range(first, first + size), "x": 1.0})
        frame.to_parquet(folder / f"{number}.parquet")
        first += size
    return open_source(str(folder / "*.parquet"))


@pytest.mark.parametrize("sizes", [(10,), (3, 7), (1, 1, 8)])
def test_chunks_hold_consecutive_rows_of_one_size(tmp_path, sizes):
    chunks = list(cut(write(tmp_path, *sizes), ["unit", "x"], [0, 4, 8]))
    assert [chunk.number for chunk in chunks] == [0, 1, 2]
    assert [chunk.first for chunk in chunks] == [0, 4, 8]
    units = [chunk.source.frame["unit"].to_pylist() for chunk in chunks]
    assert units == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_an_input_without_rows_is_one_empty_chunk(tmp_path):
    chunks = list(cut(write(tmp_path, 0), ["unit"], [0]))
    assert [chunk.source.rows for chunk in chunks] == [0]


def test_files_of_other_types_are_refused(tmp_path):
    write(tmp_path, 3)
    pd.DataFrame({"unit": ["a"], "x": ["b"]}).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(LogError, match="one type per column|type"):
        list(cut(open_source(str(tmp_path / "*.parquet")), ["unit", "x"], [0, 4, 8]))


def test_a_file_that_changed_has_another_fingerprint_and_identity(tmp_path):
    source = write(tmp_path, 5)
    digest = fingerprint_files(source)
    files = identify_files(source)
    assert fingerprint_files(source) == digest
    write(tmp_path, 6)
    assert fingerprint_files(source) != digest
    assert identify_files(source) != files


@pytest.mark.parametrize("group", [2, 5, 100])
def test_a_part_of_the_chunks_is_read_from_its_row_groups_alone(
    tmp_path, group, monkeypatch
):
    for number in range(3):
        frame = pd.DataFrame({"unit": range(7 * number, 7 * number + 7), "x": 1.0})
        frame.to_parquet(tmp_path / f"{number}.parquet", row_group_size=group)
    source = open_source(str(tmp_path / "*.parquet"))
    starts = list(range(0, 21, 3))
    whole = list(cut(source, ["unit", "x"], starts))
    for first in range(7):
        for last in range(first + 1, 8):
            chunks = list(cut(source, ["unit", "x"], starts, range(first, last)))
            assert [chunk.number for chunk in chunks] == list(range(first, last))
            for chunk in chunks:
                assert chunk.first == whole[chunk.number].first
                assert chunk.source.frame.equals(whole[chunk.number].source.frame)
    for part in source.files:
        assert part.groups_before(7) == len(part.group_rows)
    assert source.files[0].groups_before(6) == 6 // group


def test_so_is_a_part_of_a_csv(tmp_path):
    pd.DataFrame({"unit": range(10), "x": 1.0}).to_csv(tmp_path / "a.csv", index=False)
    source = open_source(str(tmp_path / "a.csv"))
    (chunk,) = cut(source, ["unit"], [0, 4, 8], range(1, 2))
    assert chunk.source.frame["unit"].to_pylist() == ["4", "5", "6", "7"]
    assert chunk.source.place == (f"{tmp_path / 'a.csv'} line", 6)
