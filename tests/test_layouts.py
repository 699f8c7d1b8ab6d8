"""Every layout the reader knows, from every kind of source, through every verb: the same answers
as in the wide layout.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from realloc import LogError, ReAlloc, check_source, read_logs, total_gain
from realloc.batch import Options, recommend_file
from realloc.batch.checkpoint import Checkpoint
from realloc.evaluate.report import evaluation_report
from realloc.monitor.redecide import audit
from realloc.monitor.watch import watch
from realloc.storage.ledger.ledger import DECISIONS, Ledger
from realloc.storage.store import Store
from tests.cli.conftest import run  # noqa: F401  a fixture
from tests.cli.test_fit import TOML
from tests.serve.http.asking import ask, open_app
from tests.small import CHANNELS, CONFIG, schema_of, window

KEYS = ["item_id", "date"]
KINDS = ("pandas", "polars", "arrow", "parquet", "csv")
LAYOUTS = ("wide spends", "wide shares", "long spends", "long shares")
LONG = {"channel_column": "channel", "spend_column": "amount"}


def schema_for(layout):
    schema = schema_of(window())
    if "spends" in layout:
        schema = replace(schema, budget=None)
    return replace(schema, **LONG) if "long" in layout else schema


def table(layout, number=0, units=60):
    """Rows of the small world, in the layout; a category among them."""
    frame = window(number, units=units).to_pandas()
    frame["shop"] = np.where(frame.item_id.str[-1].astype(int) % 2, "web", "store")
    if "spends" in layout:
        frame[CHANNELS] = frame[CHANNELS].mul(frame.pop("budget"), axis=0)
    return to_long(frame) if "long" in layout else frame


def to_long(frame):
    others = [name for name in frame if name not in CHANNELS]
    return frame.melt(others, CHANNELS, "channel", "amount").sort_values(
        KEYS, kind="stable"
    )


def source(frame, kind, folder, name="rows"):
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    if kind == "parquet":
        pq.write_table(arrow, folder / f"{name}.parquet")
    elif kind == "csv":
        frame.to_csv(folder / f"{name}.csv", index=False)
    else:
        return {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": arrow}[kind]
    return str(folder / f"{name}.{kind}")


def read(path):
    found = pa_csv.read_csv(path) if path.suffix == ".csv" else pq.read_table(path)
    return found.to_pandas()


@cache
def wide(family):
    """What the wide layout answers: a model fitted from pandas, and its recommendations."""
    layout = f"wide {family}"
    model = ReAlloc(CONFIG, schema_for(layout), quiet=True).fit(table(layout))
    return model, model.recommend(today(layout))


def today(layout):
    return table(layout, 97, 12).drop(columns="orders")


def assert_same(answers, expected, rows=None):
    """Wide or long answers against wide ones; `rows`: the long rows they belong to."""
    answers = answers.assign(date=pd.to_datetime(answers.date)).reset_index(drop=True)
    if rows is not None:
        asked = rows[[*KEYS, "channel"]].reset_index(drop=True)
        pd.testing.assert_frame_equal(answers[asked.columns], asked, check_dtype=False)
        values = answers.pivot_table(["share", "spend"], KEYS, "channel", sort=False)
        values.columns = [f"{kind}_{channel}" for kind, channel in values.columns]
        once = answers.drop_duplicates(KEYS).drop(columns=["channel", "share", "spend"])
        answers = once.merge(values.reset_index(), on=KEYS)[list(expected.columns)]
    expected = expected.assign(date=pd.to_datetime(expected.date))
    texts = [name for name in expected if expected[name].dtype == object]
    answers = answers.astype(dict.fromkeys(texts, object)).fillna(dict.fromkeys(texts, ""))
    pd.testing.assert_frame_equal(
        answers, expected, check_exact=False, rtol=0, atol=1e-9, check_dtype=False
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_verb_answers_as_in_the_wide_layout(layout, kind, tmp_path, run):  # noqa: F811
    other, expected = wide(layout.split()[1])
    logs = source(table(layout), kind, tmp_path, "logs")
    rows = today(layout)
    asked = source(rows, kind, tmp_path, "today")
    long_rows = rows if "long" in layout else None
    schema = schema_for(layout)

    check = check_source(logs, schema)
    assert check.ok, check
    assert check.variation == other_check(layout).variation

    model = ReAlloc(CONFIG, schema, quiet=True).fit(logs)
    answers = model.recommend(asked)
    if kind in ("pandas", "polars", "arrow"):
        assert type(answers) is type(asked)
    answers = answers.to_pandas() if not isinstance(answers, pd.DataFrame) else answers
    assert_same(answers, expected, long_rows)
    assert total_gain(answers).value == pytest.approx(total_gain(expected).value, abs=1e-9)

    wide_rows = today(f"wide {layout.split()[1]}")
    unit = rows.item_id.iloc[4]
    assert model.explain(asked, unit).lines() == other.explain(wide_rows, unit).lines()
    assert np.allclose(model.field(asked), other.field(wide_rows), rtol=0, atol=1e-9)
    to = np.tile([0.2, 0.3, 0.5], (len(wide_rows), 1))
    assert np.allclose(model.gain(asked, to), other.gain(wide_rows, to), rtol=0, atol=1e-9)

    store = Store(tmp_path / "store")
    store.commit(model, read_logs(logs, schema))
    told = watch(store, asked)
    assert told["usable"] == told["rows"] == len(wide_rows)
    if kind in ("parquet", "csv"):
        out = tmp_path / f"recs.{kind}"
        words = (
            "--store",
            store.path,
            "--out",
            out,
            "--beyond-limits",
            "--jobs",
            1,
            "--quiet",
        )
        said = run("recommend", asked, *words).stdout
        assert f"{len(wide_rows)} rows, {int(expected.moved.sum())} moved" in said
        assert_same(read(out), expected, long_rows)
        recommend_file(asked, store.path, out, Options(chunk_rows=32, force=True))
        assert_same(read(out), expected, long_rows)
        assert "0 differ" in run("audit", "--store", store.path).stdout


@cache
def other_check(layout):
    layout = f"wide {layout.split()[1]}"
    return check_source(table(layout), schema_for(layout))


def test_a_long_model_evaluates_and_learns_on_in_either_layout(tmp_path):
    model = ReAlloc(CONFIG, schema_for("long spends"), quiet=True).fit(table("long spends"))
    later = [table(layout, 1) for layout in ("long spends", "wide spends")]
    reports = [evaluation_report(model, rows, schema=model.known_schema) for rows in later]
    assert repr(reports[0].to_json()) == repr(reports[1].to_json())
    fields = []
    for rows in later:
        learner = ReAlloc(CONFIG, schema_for("long spends"), quiet=True)
        learner.fit(table("long spends")).update(rows)
        fields.append(learner.field(today("wide spends")))
    assert np.allclose(*fields, rtol=0, atol=1e-9)


@pytest.fixture(scope="module")
def long_model():
    return ReAlloc(CONFIG, schema_for("long spends"), quiet=True).fit(table("long spends"))


@pytest.fixture
def place(long_model, tmp_path):
    """A folder with a store of the long layout."""
    logs = read_logs(table("long spends"), schema_for("long spends"))
    Store(tmp_path / "store").commit(long_model, logs)
    return tmp_path


def recommend(place, source, name="recs.parquet", **options):
    given = {"chunk_rows": 32, "force": True} | options
    return recommend_file(str(source), place / "store", place / name, Options(**given))


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_model_answers_wide_rows_in_the_wide_layout(kind, long_model, tmp_path):
    answers = long_model.recommend(source(today("wide spends"), kind, tmp_path))
    answers = answers.to_pandas() if not isinstance(answers, pd.DataFrame) else answers
    assert_same(answers, wide("spends")[1])


def test_rows_in_any_order_are_answered_where_they_stand(long_model):
    rows = today("long spends").sample(frac=1, random_state=3)
    answers = long_model.recommend(rows)
    assert answers.index.equals(rows.index)
    straight = long_model.recommend(today("long spends")).loc[rows.index]
    pd.testing.assert_frame_equal(answers, straight, check_exact=False, rtol=0, atol=1e-9)


def test_one_bad_row_spoils_its_unit_and_date_only(long_model):
    rows = today("long spends").reset_index(drop=True)
    good = long_model.recommend(rows)
    rows.loc[1, "amount"] = -1.0
    rows.loc[3, "channel"] = "tv"
    rows.loc[7, "channel"] = rows.loc[6, "channel"]
    rows.loc[9, "c1"] = 99.0
    rows.loc[12, "item_id"] = None
    answers = long_model.recommend(rows)
    bad = answers.reason == "bad_input"
    assert np.flatnonzero(bad).tolist() == [*range(12), 12]
    assert answers.share[bad].isna().all()
    assert answers.channel.tolist() == rows.channel.tolist()
    pd.testing.assert_frame_equal(answers[15:], good[15:], check_dtype=False)
    with pytest.raises(LogError, match="rows that can be read, but 5 cannot"):
        long_model.field(rows)


def test_a_channel_without_a_row_counts_as_zero_as_in_the_fit(long_model):
    rows = today("long spends")
    absent = (rows.channel == "rebate") & (rows.item_id == rows.item_id.iloc[0])
    zero = long_model.recommend(rows.assign(amount=rows.amount.where(~absent, 0.0)))
    pd.testing.assert_frame_equal(
        long_model.recommend(rows[~absent]), zero[~absent], check_exact=False, atol=1e-9
    )


def test_an_input_without_rows_gets_no_answer(long_model, place):
    rows = today("long spends").head(0)
    assert list(long_model.recommend(rows)) == list(
        long_model.recommend(today("long spends"))
    )
    rows.to_parquet(place / "none.parquet")
    assert recommend(place, place / "none.parquet").summary.rows == 0


def test_rows_that_lack_a_layout_are_refused_by_name(long_model):
    with pytest.raises(
        LogError, match="'channel'.*a column for every channel: ads, coupon"
    ):
        long_model.recommend(today("wide spends").drop(columns="rebate"))


def test_a_batch_never_cuts_a_unit_and_date_and_goes_on_where_it_stopped(
    place, monkeypatch
):
    path = place / "today.parquet"
    today("long spends").to_parquet(path)
    whole = recommend(place, path, "whole.parquet", chunk_rows=10_000).summary
    keep = Checkpoint.keep
    kept = []

    def stop(self, number, chunk):
        if len(kept) == 3:
            kept.append("stopped")
            raise KeyboardInterrupt
        kept.append(number)
        return keep(self, number, chunk)

    monkeypatch.setattr(Checkpoint, "keep", stop)
    with pytest.raises(KeyboardInterrupt):
        recommend(place, path)
    done = recommend(place, path).summary
    assert kept == [0, 1, 2, "stopped", 3, 4, 5]
    assert done.all_rows is whole.all_rows is False
    assert (done.rows, done.moved) == (60, whole.moved)
    one, other = (read(place / name) for name in ("recs.parquet", "whole.parquet"))
    pd.testing.assert_frame_equal(one, other, check_exact=False, rtol=0, atol=1e-9)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_batch_takes_rows_by_channel_too(place, frozen):
    today("long spends").to_parquet(place / "today.parquet")
    today("long spends").sort_values("channel").to_parquet(place / "scattered.parquet")
    if frozen:
        Store(place / "store").freeze("odd prices")
    recommend(place, place / "today.parquet")
    done = recommend(place, place / "scattered.parquet", "scattered_recs.parquet")
    assert done.summary.all_rows is not frozen
    store = Store(place / "store")
    audited = list(audit(store, Ledger(store.path / DECISIONS)))
    assert [(one.rows, one.differ) for one in audited] == [(60, 0), (60, 0)]
    order = [*KEYS, "channel"]
    one, other = (
        read(place / name).sort_values(order).reset_index(drop=True)
        for name in ("recs.parquet", "scattered_recs.parquet")
    )
    pd.testing.assert_frame_equal(one, other, check_exact=False, rtol=0, atol=1e-9)


def test_pools_hold_over_long_rows(place):
    today("long spends").to_parquet(place / "today.parquet")
    recommend(place, place / "today.parquet")
    free = read(place / "recs.parquet")
    cap = round(float(free.spend[free.channel == "coupon"].sum()) - 0.05, 2)
    recommend(place, place / "today.parquet", "pool.parquet", pools={"coupon": cap})
    held = read(place / "pool.parquet")
    assert round(held.spend[held.channel == "coupon"].sum(), 2) <= cap
    assert len(held) == len(free)


def test_the_service_answers_wide_rows(place):
    rows = today("wide spends").head(4)
    app = open_app(place / "store")
    given = rows.assign(date=rows.date.astype(str)).to_dict(orient="records")
    answers = ask(app, "/v1/recommend", {"rows": given}).json["answers"]
    expected = wide("spends")[1].head(4)
    assert [answer["reason"] for answer in answers] == expected.reason.tolist()
    shares = [[answer["shares"][name] for name in CHANNELS] for answer in answers]
    columns = [f"share_{name}" for name in CHANNELS]
    assert np.allclose(shares, expected[columns], rtol=0, atol=1e-9)


def test_a_long_csv_goes_from_init_to_recommendations(tmp_path, run):  # noqa: F811
    def type_in(*words):
        return run(*words, cwd=tmp_path).stdout

    def write(frame, name):
        frame.rename(columns={"amount": "spend"}).to_csv(tmp_path / name, index=False)

    write(table("long spends"), "logs.csv")
    write(today("long spends"), "today.csv")
    type_in("init", "logs.csv")
    toml = tmp_path / "realloc.toml"
    assert 'channel_column = "channel"\nspend_column = "spend"' in toml.read_text()
    toml.write_text(toml.read_text() + TOML[TOML.index("[nuisances]") :])
    assert "Ready to learn from" in type_in("check", "logs.csv", "--config", "realloc.toml")
    type_in("fit", "logs.csv", "--config", "realloc.toml", "--store", "store", "--quiet")
    answers = ("recommend", "today.csv", "--store", "store", "--out", "recs.csv")
    assert "60 rows" in type_in(*answers, "--beyond-limits")
    recs = read(tmp_path / "recs.csv")
    assert recs.channel.tolist() == today("long spends").channel.tolist()
    assert np.allclose(recs.groupby(KEYS).share.sum(), 1.0, rtol=0, atol=1e-9)
    type_in("evaluate", "logs.csv", "--store", "store", "--quiet")
    write(table("long spends", 1), "later.csv")
    type_in("update", "later.csv", "--store", "store", "--quiet")
