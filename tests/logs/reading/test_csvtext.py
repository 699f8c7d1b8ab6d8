"""CSV, strictly: pandas, for one, shifts every column if rows are wider than the header."""

import gzip
import io

import pandas as pd
import pytest

from realloc import LogError, ReadOptions, read_logs
from tests.conftest import SPENDS

HEADER = "item,date,ads,coupon,rebate,orders"


def rows(*lines, header=HEADER):
    return "\n".join([header, *lines]) + "\n"


GOOD = [f"i{i % 5},2025-01-{1 + i // 5:02d},1.5,2,0,{i}" for i in range(20)]


def read(tmp_path, content, name="logs.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_logs(path, SPENDS)


def test_one_extra_field_per_row_is_refused_where_pandas_shifts_columns(tmp_path):
    shifted = rows(*(line + ",9" for line in GOOD))
    assert (
        pd.read_csv(io.StringIO(shifted))["orders"].tolist() == [9] * 20
    )  # the control: silently wrong
    with pytest.raises(
        LogError, match=r"Expected 6 fields as in the header, got 7 in line 2"
    ):
        read(tmp_path, shifted)


def test_a_good_file_is_read(tmp_path):
    assert len(read(tmp_path, rows(*GOOD))) == 20


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("\n" + HEADER + "\n", "that line is blank"),
        (HEADER + "\n", "none of 0 can be used"),
        (rows(*GOOD).replace(",", ";"), "the header has ';' instead"),
        (rows(*GOOD).replace(",", "\t"), r"the header has '\\t' instead"),
        (rows(*GOOD).encode("utf-16"), "UTF-16 or a binary file"),
        (rows("ï,2025-01-01,1,2,3,4").encode("latin-1"), "another encoding"),
        (rows(header="itém," + HEADER).encode("latin-1"), "header is in another encoding"),
        (rows(*GOOD, "i9,2025-01-01,1,2,3"), "got 5"),
        (rows(*(line + "," for line in GOOD)), "got 7"),
        (rows(*GOOD, '"i9,2025-01-01,1,2,3,4'), "Expected"),
        (rows("i1,2025-01-01,1.234,5,2,3,4"), "got 7"),
        (rows('i1,2025-01-01,"1,5",2,3,4'), "Expected numbers in column 'ads', got '1,5'"),
        (rows("i1,2025-01-01,$5,2,3,4"), r"got '\$5'"),
        (rows("i1,2025-01-01,1_000,2,3,4"), "got '1_000'"),
        (rows("i1,2025-01-01,0x1F,2,3,4"), "got '0x1F'"),
        (rows("i1,2025-01-01,1e400,2,3,4"), "finite numbers in column 'ads'"),
        (rows("i1,2025-01-01,1,2,3,Infinity"), "finite numbers in column 'orders'"),
        (rows("i1,01/02/2025,1,2,3,4"), "got '01/02/2025'"),
        (rows("i1,2025-13-2,1,2,3,4"), "got '2025-13-2'"),
        (rows(*GOOD, header=HEADER.replace("coupon", "ads")), "'ads' stands there twice"),
        (rows(*GOOD[1:], header=GOOD[0]), "looks like data. Add the column names"),
        (b"PAR1" + bytes(100), "UTF-16 or a binary file"),
    ],
)
def test_malformed_files_are_refused(tmp_path, content, text):
    with pytest.raises(LogError, match=text):
        read(tmp_path, content)


@pytest.mark.parametrize("word", ["", "NA", "NaN", "null", " "])
def test_words_for_missing_in_number_columns(tmp_path, word):
    logs = read(tmp_path, rows(*GOOD, f"i9,2025-01-01,{word},2,3,4"))
    assert logs.amounts[-1].tolist() == [0, 2, 3]


def test_a_last_line_without_end_is_a_warning(tmp_path):
    logs = read(tmp_path, rows(*GOOD).rstrip("\n"))
    assert "maybe_cut_off" in [note.code for note in logs.notes]
    assert "maybe_cut_off" not in [note.code for note in read(tmp_path, rows(*GOOD)).notes]


def test_line_ends_of_windows_are_fine(tmp_path):
    assert len(read(tmp_path, rows(*GOOD).replace("\n", "\r\n"))) == 20


def test_a_broken_gzip_is_refused(tmp_path):
    with pytest.raises(LogError, match="cannot be read"):
        read(tmp_path, b"\x1f\x8b\x08\x00garbage", name="logs.csv.gz")


def test_an_index_column_without_name_is_ignored(tmp_path):
    indexed = rows(*(f"{i},{line}" for i, line in enumerate(GOOD)), header="," + HEADER)
    assert read(tmp_path, indexed).features == ()


def test_a_wrong_encoding_is_corrected_by_what_the_message_says(tmp_path):
    (tmp_path / "logs.csv").write_text(rows(*GOOD).replace(",", ";"), encoding="utf-16")
    for given in (
        ReadOptions(),
        ReadOptions(encoding="cp1252"),
        ReadOptions(delimiter="|"),
    ):
        with pytest.raises(LogError, match='delimiter = ";", encoding = "utf-16"'):
            read_logs(tmp_path / "logs.csv", SPENDS, read=given)
    right = ReadOptions(delimiter=";", encoding="utf-16")
    assert len(read_logs(tmp_path / "logs.csv", SPENDS, read=right)) == 20
    (tmp_path / "logs.csv").write_text(rows(*GOOD).replace("i1", "ï"), encoding="utf-8")
    with pytest.raises(LogError, match='Put encoding = "utf-8" there'):
        read_logs(tmp_path / "logs.csv", SPENDS, read=ReadOptions(encoding="ascii"))


def test_options_hold_for_compressed_files(tmp_path):
    content = rows(*GOOD).replace(",", ";").encode("utf-16")
    (tmp_path / "logs.csv.gz").write_bytes(gzip.compress(content))
    right = ReadOptions(delimiter=";", encoding="utf-16")
    assert len(read_logs(tmp_path / "logs.csv.gz", SPENDS, read=right)) == 20
