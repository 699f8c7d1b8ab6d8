import numpy as np
import pandas as pd
import polars as pl
import pytest

from realloc.base.errors import LogError
from realloc.evaluate.abtest.arms import read_arms, read_units
from tests.evaluate.abtest.simulated import make_arms, make_config


@pytest.fixture
def frame():
    return make_arms(60)


def test_days_of_a_unit_are_summed_and_its_past_stands_once(frame):
    days = pd.concat([frame, frame.assign(orders=1.0)])
    arms = read_arms(days, make_config())
    once = read_arms(frame, make_config())
    assert arms.rows == 120
    assert np.array_equal(arms.values["orders"], once.values["orders"] + 1)
    assert np.array_equal(arms.values["orders_before"], once.values["orders_before"])


def test_clusters_hold_the_totals_of_their_units(frame):
    frame = frame.sort_values("arm").assign(shop=np.repeat(np.arange(12), 5))
    arms = read_arms(frame, make_config(cluster="shop"))
    assert arms.size.tolist() == [5.0] * 12
    assert arms.cluster_treated.sum() == 6
    assert np.allclose(arms.total("gmv"), frame.groupby("shop", sort=False)["gmv"].sum())


def test_a_csv_a_parquet_and_frames_of_other_kinds_are_one_table(frame, tmp_path):
    frame.to_csv(tmp_path / "arms.csv", index=False)
    frame.to_parquet(tmp_path / "arms.parquet")
    sources = (
        frame,
        pl.from_pandas(frame),
        tmp_path / "arms.csv",
        str(tmp_path / "arms.parquet"),
    )
    found = [read_arms(source, make_config()) for source in sources]
    for arms in found[1:]:
        assert np.allclose(arms.values["gmv"], found[0].values["gmv"], rtol=1e-12)
        assert np.array_equal(arms.treated, found[0].treated)


def test_flags_and_numbers_can_name_arms(frame):
    named = read_arms(frame, make_config())
    flags = read_arms(
        frame.assign(arm=frame["arm"] == "treatment"),
        make_config(control="false", treatment="true"),
    )
    numbers = read_arms(
        frame.assign(arm=(frame["arm"] == "treatment").astype(int)),
        make_config(control="0", treatment="1"),
    )
    assert np.array_equal(named.treated, flags.treated)
    assert np.array_equal(named.treated, numbers.treated)


def _twice(frame, column, value):
    extra = frame.iloc[[0]].copy()
    extra[column] = value
    return pd.concat([frame, extra])


@pytest.mark.parametrize(
    ("spoil", "changes", "text"),
    [
        (lambda f: f.drop(columns="arm"), {}, "Expected a column 'arm'.*but there is none"),
        (
            lambda f: f.rename(columns={"gmv": "GMV_"}),
            {},
            "Expected a column 'gmv'.*Did you mean 'GMV_'",
        ),
        (
            lambda f: f[f["arm"] == "control"],
            {},
            "Expected two arms in column 'arm', got 'control' only",
        ),
        (
            lambda f: f.replace({"arm": {"treatment": "b"}}),
            {},
            "Expected the arms 'control' and 'treatment'.*got 'b'",
        ),
        (
            lambda f: f.assign(arm=f["arm"].where(f.index > 3)),
            {},
            "value of 'arm' in every row, but 4 are empty, first row 1",
        ),
        (
            lambda f: f.assign(orders=f["orders"].where(f.index != 7)),
            {},
            "number of 'orders'.*1 are empty.*first for 'i7'",
        ),
        (lambda f: f.assign(gmv=np.inf), {}, "finite number of 'gmv'"),
        (lambda f: f.assign(gmv="many"), {}, "Expected numbers in column 'gmv', got text"),
        (
            lambda f: pd.concat([f, f.assign(arm="control")]),
            {},
            "every unit in one arm, but 30 stand in two, first item 'i",
        ),
        (
            lambda f: f.assign(shop="one"),
            {"cluster": "shop"},
            "every cluster in one arm, but 1 stand in both, first shop 'one'",
        ),
        (
            lambda f: _twice(f.assign(shop=f["item"]), "shop", "x"),
            {"cluster": "shop"},
            "every unit in one cluster",
        ),
        (
            lambda f: _twice(f, "orders_before", -1.0),
            {},
            "one value of the pre-period column 'orders_before'.*'i0'",
        ),
        (
            lambda f: pd.concat([f, f]).assign(day="d"),
            {"time": "day"},
            "every unit once a period, got 'i0' 2 times on d",
        ),
        (lambda f: f.iloc[:0], {}, "Expected rows"),
        (
            lambda f: f[
                (f["arm"] == "control")
                | (f["item"] == f[f["arm"] != "control"]["item"].iloc[0])
            ],
            {},
            "got 1 in 'treatment'",
        ),
    ],
)
def test_a_table_that_spoils_a_test_is_refused(frame, spoil, changes, text):
    with pytest.raises(LogError, match=text):
        read_arms(spoil(frame), make_config(**changes))


def test_a_csv_with_a_word_for_a_number_is_refused(frame, tmp_path):
    frame.assign(
        orders=frame["orders"].astype(object).where(frame.index != 2, "few")
    ).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(
        LogError, match="Expected numbers in column 'orders', got 'few' in row 3"
    ):
        read_arms(tmp_path / "a.csv", make_config())


def test_a_plan_needs_no_arms_but_units(frame):
    assert len(read_units(frame.drop(columns="arm"), make_config()).treated) == 60
    with pytest.raises(LogError, match="at least three units"):
        read_units(frame.iloc[:2], make_config())
