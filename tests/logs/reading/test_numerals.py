"""Numbers as people write them, by what [read] says, and nothing else."""

import pyarrow as pa
import pytest

from realloc import LogError, ReadOptions, read_logs
from realloc.logs.reading.numerals import looks_like, plain_numbers
from tests.conftest import SPENDS, make_frame


@pytest.mark.parametrize(
    ("keys", "cell", "number"),
    [
        ({}, "1234.5", 1234.5),
        ({}, "1,234.5", None),
        ({}, "1,5", None),
        ({"decimal": ","}, "1,5", 1.5),
        ({"decimal": ","}, "1.5", None),
        ({"decimal": ",", "thousands": "."}, "1.234.567,8", 1234567.8),
        ({"decimal": ",", "thousands": "."}, "12.34", None),
        ({"thousands": ","}, "-1,234", -1234),
        ({"thousands": ","}, "0,123", None),
        ({"thousands": " "}, "1\u202f234", 1234),
        ({"thousands": "'"}, "1’234", 1234),
        ({"currency_sign": "€"}, "€5", 5),
        ({"currency_sign": "€"}, "-€5", -5),
        ({"currency_sign": "€"}, "€ -5", -5),
        ({"currency_sign": "€"}, "5 €", 5),
        ({"currency_sign": "€"}, "$5", None),
        ({"currency_sign": "$"}, "$5", 5),
        ({"decimal": ","}, "1e-3", 0.001),
    ],
)
def test_a_cell(keys, cell, number):
    read = plain_numbers(pa.array([cell]), ReadOptions(**keys)).cast(pa.float64())
    assert read.to_pylist() == [number]


@pytest.mark.parametrize(
    "cell", ["€1,234.50", "1.234,50", "1,5", "3 kr", "1'234.50", "1 234,5"]
)
def test_the_message_says_what_a_cell_looks_like_and_following_it_helps(cell, tmp_path):
    frame = make_frame().astype({"orders": int}).drop(columns="price")
    frame[["ads", "coupon", "rebate"]] = cell
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(LogError, match="It looks like") as asked:
        read_logs(tmp_path / "a.csv", SPENDS)
    assert looks_like(cell) in str(asked.value)
    keys = dict(part.split(" = ") for part in looks_like(cell).split(", ") if " = " in part)
    if looks_like(cell).startswith('decimal = ","'):
        keys = {"decimal": '","', **{k: v for k, v in keys.items() if k != "decimal"}}
    read = ReadOptions(**{name: value.strip('"') or "," for name, value in keys.items()})
    assert len(read_logs(tmp_path / "a.csv", SPENDS, read=read)) == len(frame)


def test_another_currency_is_no_number(tmp_path):
    frame = make_frame()
    frame["ads"] = [
        f"{'$' if k == 3 else '€'}{value}" for k, value in enumerate(frame["ads"])
    ]
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(LogError, match=r"got '\$"):
        read_logs(tmp_path / "a.csv", SPENDS, read=ReadOptions(currency_sign="€"))
