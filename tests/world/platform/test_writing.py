import json
from pathlib import Path

import pandas as pd
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from realloc.base.errors import ConfigError
from realloc.logs import Logs, read_logs
from realloc.world.platform import Marketplace

MARKET = Marketplace(seed=3, channels=3)


def read(folder: Path) -> pd.DataFrame:
    frame = ds.dataset(folder, format="parquet", partitioning="hive").to_table().to_pandas()
    return frame.sort_values(["date", "item_id"], ignore_index=True)


def written(folder: Path, block: int, market: Marketplace = MARKET) -> pd.DataFrame:
    market.write(folder, items=31, days=3, seed=2, block=block)
    return read(folder)


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Text instead of categories and dates, columns in one order: only values are compared."""
    text = [
        name
        for name in frame
        if frame[name].dtype in ("category", "object", "str") or name == "date"
    ]
    return frame.astype(dict.fromkeys(text, str)).sort_index(axis=1)


@pytest.mark.parametrize(("channels", "block"), [(2, 7), (3, 1), (3, 16), (9, 1)])
def test_rows_do_not_depend_on_the_block_size(
    tmp_path: Path, channels: int, block: int
) -> None:
    market = Marketplace(seed=3, channels=channels)
    one, other = (
        written(tmp_path / "whole", 1000, market),
        written(tmp_path / "parts", block, market),
    )
    pd.testing.assert_frame_equal(plain(one), plain(other), check_exact=True)


def test_written_rows_are_the_sampled_ones(tmp_path: Path) -> None:
    sampled = MARKET.sample(items=31, days=3, seed=2).to_pandas()
    pd.testing.assert_frame_equal(
        plain(sampled), plain(written(tmp_path / "logs", 40)), check_exact=True
    )


def test_there_is_a_partition_per_date_and_a_file_per_block(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    result = MARKET.write(
        tmp_path / "logs",
        items=101,
        days=3,
        block=40,
        on_progress=lambda done, total: seen.append((done, total)),
    )
    folders = sorted(path.name for path in result.folder.iterdir() if path.is_dir())
    assert folders == ["date=2026-01-05", "date=2026-01-06", "date=2026-01-07"]
    assert (result.rows, result.files) == (303, 9)
    assert result.size_bytes == sum(
        path.stat().st_size for path in result.folder.rglob("*.parquet")
    )
    assert seen[0] == (40, 303)
    assert seen[-1] == (303, 303)
    assert (
        "date"
        not in pq.read_schema(result.folder / folders[0] / "items-00000.parquet").names
    )


def test_the_card_beside_the_partitions_rebuilds_the_world(tmp_path: Path) -> None:
    result = MARKET.write(tmp_path / "logs", items=30, days=4, seed=2)
    card = json.loads((result.folder / "_world.json").read_text())
    again = Marketplace.from_card(card).sample(
        items=card["items"], days=card["days"], seed=card["sample_seed"]
    )
    pd.testing.assert_frame_equal(
        plain(again.to_pandas()), plain(read(result.folder)), check_exact=True
    )


def truth_of(logs: Logs) -> pd.DataFrame:
    """What the world knows of each row, beside its keys."""
    frame = logs.to_pandas()[["item_id", "date"]].astype(str)
    arms = pd.DataFrame(MARKET.arms(logs).probabilities).add_prefix("arm_")
    frame = pd.concat(
        [frame, arms, pd.DataFrame(MARKET.response(MARKET.state(logs), logs.amounts))],
        axis=1,
    )
    return frame.sort_values(["date", "item_id"], ignore_index=True)


def test_logs_read_back_from_a_folder_know_the_same_truth(tmp_path: Path) -> None:
    MARKET.write(tmp_path / "logs", items=31, days=3, seed=2, block=20)
    again, sampled = (
        read_logs(tmp_path / "logs", MARKET.schema),
        MARKET.sample(items=31, days=3, seed=2),
    )
    pd.testing.assert_frame_equal(truth_of(again), truth_of(sampled), check_exact=True)


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.parquet").write_text("x")
    with pytest.raises(
        ConfigError,
        match=r"Expected a new or empty folder to write to, got .*, which holds something",
    ):
        MARKET.write(tmp_path, items=1, days=1)
    with pytest.raises(ConfigError, match="Expected a new or empty folder"):
        MARKET.write(tmp_path / "old.parquet", items=1, days=1)
