"""The checks of a batch can fail: each one does once its guard is off."""

import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pandas as pd
import pytest

from realloc.base.errors import LogError, PublishError
from realloc.batch import ending, job, plan
from realloc.batch.keys import Keys
from realloc.model.publish_limits import PublishLimits
from realloc.storage.store import Store
from tests.batch.conftest import answers, recommend, rows
from tests.controls import Control, nothing, try_control
from tests.small import CONFIG, fitted, window
from tests.storage.store.light import NOON


@cache
def _batch() -> Path:
    folder = Path(mkdtemp(prefix="realloc-controls-"))
    Store(folder / "store", clock=lambda: NOON).commit(fitted(), window())
    rows(60).to_parquet(folder / "today.parquet")
    return folder


def batch(folder: Path) -> Path:
    shutil.copytree(_batch(), folder, dirs_exist_ok=True)
    return folder


def limits_hold(folder):
    limits = PublishLimits(max_action_rate=0.0)
    with pytest.raises(PublishError):
        recommend(batch(folder), config=replace(CONFIG, publish=limits))
    assert not (folder / "recs.parquet").exists()


def repeated_rows_stay(folder):
    twice = pd.concat([rows(20), rows(20)])
    twice.to_parquet(batch(folder) / "today.parquet")
    recommend(folder, force=True)
    assert not answers(folder)["moved"].any()


def frozen_stores_keep_every_mix(folder):
    Store(batch(folder) / "store").freeze("a test")
    recommend(folder, force=True)
    assert set(answers(folder)["reason"]) == {"frozen"}


def changed_input_is_refused(folder):
    def replaced(*_: Any) -> None:
        rows(50).to_parquet(folder / "today.parquet")

    with pytest.raises(LogError, match="was replaced"):
        recommend(batch(folder), progress=replaced)


CONTROLS = {
    "publish limits": Control(limits_hold, ending, "broken_limits", lambda *_: iter(())),
    "rows that repeat a key": Control(
        repeated_rows_stay,
        plan,
        "scan_keys",
        lambda *_: Keys(40, np.empty(0, int), False),
    ),
    "freeze, batch": Control(frozen_stores_keep_every_mix, Store, "frozen", None),
    "input that changes": Control(changed_input_is_refused, job, "identify_files", nothing),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_a_check_fails_once_its_guard_is_off(tmp_path, name):
    try_control(CONTROLS[name], tmp_path)
