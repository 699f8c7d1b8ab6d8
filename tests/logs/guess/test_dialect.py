"""How a file is written is proposed by what is in it."""

import pytest

from realloc import guess_schema, read_logs
from tests.conftest import make_frame
from tests.logs.messy import german

NAMES = {name: f"{name}_spend" for name in ("ads", "coupon", "rebate")}


def written(tmp_path, sep=",", encoding="utf-8", money=None):
    frame = make_frame().rename(columns=NAMES).astype({"orders": int})
    for name in NAMES.values():
        frame[name] = [money(value) for value in frame[name] * 40] if money else frame[name]
    frame["price"] = frame["price"].map(money) if money else frame["price"]
    frame.to_csv(tmp_path / "a.csv", sep=sep, index=False, encoding=encoding)
    return guess_schema(tmp_path / "a.csv")


def test_a_plain_file_needs_nothing(tmp_path):
    assert written(tmp_path).read.changed == {}


@pytest.mark.parametrize("sep", [";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_separators_and_encodings(tmp_path, sep, encoding):
    read = written(tmp_path, sep, encoding).read
    expected = "utf-8" if encoding == "utf-8-sig" else encoding
    assert (read.delimiter, read.encoding) == (sep, expected)


@pytest.mark.parametrize(
    ("money", "keys"),
    [
        (german, {"decimal": ",", "thousands": "."}),
        (lambda value: f"€{value:,.2f}", {"thousands": ",", "currency_sign": "€"}),
        (
            lambda value: f"{german(value)} kr",
            {"decimal": ",", "thousands": ".", "currency_sign": "kr"},
        ),
        (lambda value: f"{value:,.2f}".replace(",", "'"), {"thousands": "'"}),
        (lambda value: german(value).replace(".", " "), {"decimal": ",", "thousands": " "}),
    ],
)
def test_numbers(tmp_path, money, keys):
    schema = written(tmp_path, ";", money=money)
    assert schema.read.changed == {"delimiter": ";", **keys}
    logs = read_logs(tmp_path / "a.csv", schema)
    frame = make_frame()
    assert logs.amounts.sum() == pytest.approx(
        40 * frame[list(NAMES)].sum().sum(), rel=1e-4
    )


def test_a_number_that_may_be_meant_otherwise_is_asked_about(tmp_path):
    schema = written(tmp_path, money=lambda value: f"{int(value) + 1000:,}")
    assert schema.read.changed == {"thousands": ","}
    assert "meant so?" in schema.notes["[read]"]


def test_a_column_of_grouped_wholes_beside_plain_decimals_is_asked_about(tmp_path):
    frame = make_frame().rename(columns=NAMES)
    for name in NAMES.values():
        frame[name] = [german(1000 + value, 0) for value in frame[name]]
    frame.to_csv(tmp_path / "a.csv", sep=";", index=False)
    assert "meant so?" in guess_schema(tmp_path / "a.csv").notes["[read]"]
