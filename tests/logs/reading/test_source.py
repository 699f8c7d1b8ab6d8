"""Sources: files, lists, globs, folders of partitions and frames."""

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from realloc import LogError, read_logs
from tests.conftest import SPENDS
from tests.logs.sources import same, to_csv


def test_all_sources_give_the_same_logs(frame, tmp_path):
    expected = read_logs(frame, SPENDS)
    frame.to_parquet(tmp_path / "logs.parquet")
    halves = tmp_path / "halves"
    halves.mkdir()
    frame[::2].to_parquet(halves / "b.parquet")
    frame[1::2].to_parquet(halves / "a.parquet")
    (halves / "_SUCCESS").write_text("")
    sources = {
        "polars": pl.from_pandas(frame),
        "lazy polars": pl.from_pandas(frame).lazy(),
        "arrow": pa.Table.from_pandas(frame, preserve_index=False),
        "record batch": pa.RecordBatch.from_pandas(frame, preserve_index=False),
        "parquet": tmp_path / "logs.parquet",
        "text path": str(tmp_path / "logs.parquet"),
        "list": [halves / "a.parquet", halves / "b.parquet"],
        "glob": str(halves / "*.parquet"),
        "folder": halves,
        "csv": to_csv(frame, tmp_path / "logs.csv"),
        "tsv": to_csv(frame, tmp_path / "logs.tsv", sep="\t"),
        "gzip": to_csv(frame, tmp_path / "logs.csv.gz"),
        "bom": to_csv(frame, tmp_path / "bom.csv", encoding="utf-8-sig"),
    }
    for name, source in sources.items():
        assert same(read_logs(source, SPENDS), expected), name


def test_hive_partitions_carry_their_column(frame, tmp_path):
    pq.write_to_dataset(
        pa.Table.from_pandas(frame, preserve_index=False),
        tmp_path / "lake",
        partition_cols=["date"],
    )
    assert same(read_logs(tmp_path / "lake", SPENDS), read_logs(frame, SPENDS))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("/nowhere/at/all.parquet", "nothing is at"),
        ("s3://bucket/logs.parquet", "a path on this machine"),
        ("/nowhere/*.parquet", "nothing is at"),
        ([], "an empty list"),
        ([1, 2], "a list of paths"),
        (3, "a path, a list of paths, or a pandas, polars or pyarrow table, got int"),
        (None, "got NoneType"),
        ({"item": [1]}, "got dict"),
    ],
)
def test_sources_that_are_none(source, text):
    with pytest.raises(LogError, match=text):
        read_logs(source, SPENDS)


def test_unusable_files(tmp_path, frame):
    (tmp_path / "logs.txt").write_bytes(b"PK")
    with pytest.raises(LogError, match="ends in .parquet"):
        read_logs(tmp_path / "logs.txt", SPENDS)
    (tmp_path / "logs.xlsx").write_bytes(b"PK")
    with pytest.raises(LogError, match="cannot be opened"):
        read_logs(tmp_path / "logs.xlsx", SPENDS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogError, match="there are none"):
        read_logs(tmp_path / "empty", SPENDS)
    frame.to_parquet(tmp_path / "a.parquet")
    to_csv(frame, tmp_path / "b.csv")
    with pytest.raises(LogError, match="Parquet and text together"):
        read_logs([tmp_path / "a.parquet", tmp_path / "b.csv"], SPENDS)
    frame.drop(columns="price").to_parquet(tmp_path / "c.parquet")
    with pytest.raises(LogError, match=r"c\.parquet has no column 'price'"):
        read_logs([tmp_path / "a.parquet", tmp_path / "c.parquet"], SPENDS)
