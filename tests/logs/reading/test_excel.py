"""Workbooks: one sheet as a table of text, dates and numbers as they are."""

import tomllib
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from realloc import LogError, ReadOptions, read_logs
from realloc.base import imports
from realloc.base.errors import MissingExtra
from tests.conftest import SPENDS, make_frame


def test_a_workbook_is_read_like_the_same_csv(tmp_path):
    frame = make_frame().round(2)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.assign(date=pd.to_datetime(frame["date"])).to_excel(
        tmp_path / "a.xlsx", index=False
    )
    book = read_logs(tmp_path / "a.xlsx", SPENDS)
    assert book.table.equals(read_logs(tmp_path / "a.csv", SPENDS).table)


def test_several_sheets_are_asked_for_and_the_advice_helps(tmp_path):
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        make_frame().to_excel(book, sheet_name="2025", index=False)
        make_frame().to_excel(book, sheet_name="2024", index=False)
    with pytest.raises(LogError, match=r"got \['2025', '2024'\]. Put sheet = \"2025\""):
        read_logs(tmp_path / "a.xlsx", SPENDS)
    assert (
        len(read_logs(tmp_path / "a.xlsx", SPENDS, read=ReadOptions(sheet="2025"))) == 240
    )
    with pytest.raises(LogError, match="a sheet '2023' with rows"):
        read_logs(tmp_path / "a.xlsx", SPENDS, read=ReadOptions(sheet="2023"))


def test_cells_that_are_text_or_wrong_are_quoted(tmp_path):
    frame = make_frame().astype({"ads": object})
    frame.loc[2, "ads"] = "1.234,50"
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    with pytest.raises(LogError, match=r"got '1\.234,50' .*a.xlsx row 4") as asked:
        read_logs(tmp_path / "a.xlsx", SPENDS)
    assert 'decimal = ",", thousands = "."' in str(asked.value)
    read = ReadOptions(decimal=",", thousands=".")
    assert read_logs(tmp_path / "a.xlsx", SPENDS, read=read).amounts.max() == 1234.5


def test_titles_above_the_names_are_refused(tmp_path):
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        pd.DataFrame({"Report of the year": []}).to_excel(book, index=False)
        make_frame().to_excel(book, index=False, startrow=2)
    with pytest.raises(LogError, match="Delete the rows above"):
        read_logs(tmp_path / "a.xlsx", SPENDS)
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    book.active.delete_rows(1, 2)
    book.save(tmp_path / "a.xlsx")
    assert len(read_logs(tmp_path / "a.xlsx", SPENDS)) == 240


def test_moments_keep_their_time_of_day(tmp_path):
    frame = make_frame(days=2)
    frame["date"] = pd.to_datetime(frame["date"]) + pd.Timedelta(hours=8)
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    assert str(read_logs(tmp_path / "a.xlsx", SPENDS).times[0])[:16] == "2025-01-06T08:00"


def test_without_the_extra_the_message_brings_the_pip_line(tmp_path, monkeypatch):
    make_frame().to_excel(tmp_path / "a.xlsx", index=False)

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(imports.importlib, "import_module", missing)
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    assert any("python-calamine" in package for package in extras["excel"])
    with pytest.raises(MissingExtra, match=r"pip install 'realloc-uplift\[excel\]'"):
        read_logs(tmp_path / "a.xlsx", SPENDS)
