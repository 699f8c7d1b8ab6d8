"""A new user's first steps with three exports, through every verb that reads files."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from realloc import LogError, ReadOptions, World, guess_schema, read_logs
from tests.logs.messy import german_csv, plain_log, utf16_tsv, workbook

SMALL = """
[nuisances]
models = ["ridge"]
repeats = 1

[teacher]
surfaces = ["sparse"]

[student]
width = 8
epochs = 2
"""


@pytest.mark.parametrize("write", [german_csv, utf16_tsv, workbook])
def test_init_then_check(run, tmp_path, write):
    path = write(tmp_path)
    said = run("init", path.name, cwd=tmp_path).stdout
    assert "4 channels" in said
    assert "1,200 rows can be used; the check found 0 errors" in said
    assert "The text is read with" in said
    written = (tmp_path / "realloc.toml").read_text()
    assert "# The first row: " in written
    checked = run("check", path.name, "--config", "realloc.toml", cwd=tmp_path).stdout
    assert "Ready to learn from. 0 errors, 0 warnings." in checked
    assert "That is right" not in checked
    guessed = run("check", path.name, cwd=tmp_path).stdout
    assert "read with" in guessed
    assert "is it spend?" in " ".join(guessed.split())
    report = json.loads(
        run("check", path.name, "--config", "realloc.toml", "--json", cwd=tmp_path).stdout
    )
    assert report["schema"]["read"] != {}


@pytest.mark.parametrize("write", [german_csv, utf16_tsv, workbook])
def test_without_a_guess_every_message_leads_on(tmp_path, write):
    """Nothing is read silently: put what each message says, until the log is read."""
    path = write(tmp_path)
    schema = guess_schema(path)
    schema = type(schema)(
        unit=schema.unit, time=schema.time, outcome=schema.outcome, channels=schema.channels
    )
    logs = follow(path, schema, {})
    assert len(logs) == len(plain_log())


def follow(path, schema, keys):
    """Read with what the messages so far have said; no message may say nothing new."""
    try:
        return read_logs(path, schema, read=ReadOptions(**keys))
    except LogError as problem:
        said = str(problem)
    advice = dict(re.findall(r"(\w+) = \"([^\"]+)\"", said))
    assert advice.keys() - keys.keys(), f"no new advice in: {said}"
    return follow(path, schema, keys | advice)


def test_later_verbs_read_in_the_same_way(run, tmp_path):
    logs = World(regime="benign", seed=1).sample(units=120, periods=6)
    frame = logs.to_pandas()
    frame = frame.astype({"orders": int}).round({"budget": 2})
    channels = list(logs.schema.channels)
    for name in channels:
        frame[name] = (frame[name] * frame["budget"]).round(2)
    frame = frame.drop(columns="budget")
    names = {name: f"{name}_kosten" for name in channels}
    german = export(frame.rename(columns=names))
    german.to_csv(tmp_path / "log.csv", sep=";", index=False, encoding="cp1252")
    newest = frame["date"] == frame["date"].max()
    today = german[newest.to_numpy()].drop(columns="orders")
    today.to_csv(tmp_path / "today.csv", sep=";", index=False, encoding="cp1252")
    run("init", "log.csv", "--date-format", "DD.MM.YYYY", cwd=tmp_path)
    config = tmp_path / "realloc.toml"
    config.write_text(config.read_text() + SMALL)
    run("check", "log.csv", "--config", "realloc.toml", cwd=tmp_path)
    run("fit", "log.csv", "--config", "realloc.toml", "--store", "store", cwd=tmp_path)
    run("recommend", "today.csv", "--store", "store", "--out", "recs.parquet", cwd=tmp_path)
    recs = pd.read_parquet(tmp_path / "recs.parquet")
    assert len(recs) == newest.sum()
    assert not (recs["reason"] == "bad_input").any()
    spends = [name for name in recs.columns if name.startswith("spend_")]
    assert np.isclose(recs[spends].sum().sum(), frame.loc[newest, channels].sum().sum())
    window = german.assign(date=shifted(frame["date"]).dt.strftime("%d.%m.%Y"))
    window.to_csv(tmp_path / "next.csv", sep=";", index=False, encoding="cp1252")
    run("update", "next.csv", "--store", "store", "--allow-gap", cwd=tmp_path)
    run("monitor", "--logs", "today.csv", "--store", "store", cwd=tmp_path)


def shifted(days):
    days = pd.to_datetime(days)
    return days + (days.max() - days.min()) + pd.Timedelta(days=1)


def export(frame):
    """Every number with a decimal comma, dates as DD.MM.YYYY."""
    written = frame.assign(date=pd.to_datetime(frame["date"]).dt.strftime("%d.%m.%Y"))
    for name in written.select_dtypes("number").columns:
        if name != "orders":
            written[name] = [f"{value:.6f}".replace(".", ",") for value in frame[name]]
    return written
