"""The rows of a run in the engine are those of the log."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from realloc.base.errors import LedgerError
from realloc.console.run_rows import RunRows
from realloc.console.selection import RowSelection
from realloc.storage.ledger.rows import INPUTS
from tests.console.conftest import HOSTILE


@pytest.fixture(scope="module")
def rows(source):
    return source.rows(source.run())


@pytest.fixture(scope="module")
def logged(source):
    return pa.concat_tables(source.ledger.read(source.run()))


def numbers(page):
    return [row["row"] for row in page.rows]


def walk(rows, selection):
    """Every row of a selection, page by page."""
    page = rows.page(selection)
    while page.rows:
        yield from page.rows
        if not page.later:
            return
        page = rows.page(RowSelection(**{**vars(selection), "after": page.rows[-1]["row"]}))


@pytest.mark.parametrize("order", ["money", "gain", "budget", "support", "unit"])
@pytest.mark.parametrize("up", [True, False])
def test_pages_hold_every_row_once_in_order_and_lead_back(rows, logged, order, up):
    selection = RowSelection(order=order, up=up, size=7)
    found = list(walk(rows, selection))
    assert sorted(row["row"] for row in found) == list(range(logged.num_rows))
    known = [row[order] for row in found if row[order] is not None]
    assert known == sorted(known, reverse=not up)
    first = rows.page(selection)
    second = rows.page(
        RowSelection(order=order, up=up, size=7, after=first.rows[-1]["row"])
    )
    back = rows.page(RowSelection(order=order, up=up, size=7, before=second.rows[0]["row"]))
    assert numbers(back) == numbers(first)
    assert (first.earlier, first.later, second.earlier) == (False, True, True)


def test_filters_and_totals_agree_with_the_log(rows, logged):
    for reason in set(logged["reason"].to_pylist()):
        one = rows.totals(RowSelection(reason=reason))
        assert one["rows"] == pc.sum(pc.equal(logged["reason"], reason)).as_py()
    assert rows.totals(RowSelection())["gain"] == pytest.approx(
        pc.sum(logged["gain"]).as_py()
    )
    unit = logged["unit"][20].as_py()
    assert rows.totals(RowSelection(prefix=unit))["rows"] == 5
    assert rows.totals(RowSelection(prefix=unit[:-1] + "%"))["rows"] == 0
    signs = [
        rows.totals(RowSelection(channel="ads", sign=sign))["rows"]
        for sign in ("up", "down", "same", "")
    ]
    assert signs[0] + signs[1] == signs[3]
    assert sum(signs[:3]) == logged.num_rows - 2  # two could not be read


def test_a_row_has_the_inputs_and_shares_of_the_log(rows, logged):
    for number in (0, 40, 149):
        row = rows.row(number)
        assert row["unit"] == logged["unit"][number].as_py()
        logs = rows.inputs(number)
        assert logs.units.to_pylist() == [row["unit"]]
        now, to = rows.mixes(row)
        assert np.allclose(now, logs.shares[0])
        assert to[0] == logged["share_ads"][number].as_py()
        assert row["budget"] == logged[INPUTS][number]["budget"].as_py()


def test_digests_of_rows_are_those_of_the_log(rows, logged):
    digests = {row["row"]: row["input"] for row in rows.some([149, 3, 40])}
    expected = {n: logged["fingerprint"][n].as_py() for n in (3, 40, 149)}
    assert digests == {n: one.hex() if one else "" for n, one in expected.items()}


def test_rows_that_could_not_be_read_or_are_not_there_get_a_sentence(rows):
    with pytest.raises(LedgerError, match="could not be read when it was decided"):
        rows.inputs(3)
    with pytest.raises(LedgerError, match="Expected a row of run"):
        rows.row(10_000)


def test_history_goes_back_over_runs_and_holds_each_time_once(rows, logged):
    unit = logged["unit"][20].as_py()
    found = rows.history(unit)
    assert len({row["time"] for row in found}) == len(found) == 5
    assert rows.history("nobody") == []


def test_an_export_is_the_selection_in_the_order_of_the_run(rows, logged):
    batches = list(rows.export(RowSelection(reason="moved")))
    found = pa.Table.from_batches(batches)
    expected = logged.filter(pc.equal(logged["reason"], "moved"))
    assert found["item_id"].to_pylist() == expected["unit"].to_pylist()
    assert found["share_ads"].to_pylist() == expected["share_ads"].to_pylist()


def test_hostile_names_are_values_and_quoted_names(hostile):
    rows = hostile.rows(hostile.run())
    assert rows.categories == ("re\"g'ion",)
    assert rows.values_of("re\"g'ion") == ["a", "<b>", "b"]
    found = rows.page(RowSelection(column="re\"g'ion", value="a", order="unit"))
    assert {row["unit"] for row in found.rows} == set(HOSTILE[:2])
    for name in HOSTILE:
        assert rows.totals(RowSelection(prefix=name))["rows"] == 1
        assert rows.find_unit(name)["unit"] == name


def test_a_damaged_file_is_said(copied):
    entry = copied.run()
    path = copied.ledger.folder(entry.number) / entry.segments[1].name
    path.write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(LedgerError, match="missing or damaged. `realloc audit` names it."):
        RunRows(copied.ledger, entry)
