"""What is published is what was approved, and nothing else changes."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from realloc.base.errors import ConfigError, LedgerError
from realloc.console.approvals import decide_rows
from realloc.console.publish import publish_approved
from realloc.console.roles import Member
from realloc.console.selection import RowSelection

ANNA = Member("anna", "review")
SHARES = ["share_ads", "share_coupon", "share_rebate"]
SPENDS = ["spend_ads", "spend_coupon", "spend_rebate"]


def matrix(table, names):
    return np.stack([table[name].to_numpy() for name in names], axis=1)


def test_approved_and_edited_mixes_are_published_and_others_stay(copied, tmp_path):
    run = copied.run()
    rows = copied.rows(run)
    moved = [row["row"] for row in rows.page(RowSelection(reason="moved")).rows]
    decide_rows(copied, rows, moved[:5], "approve", ANNA, "")
    decide_rows(copied, rows, moved[5:7], "reject", ANNA, "")
    decide_rows(copied, rows, [20], "edit", ANNA, "sale", (0.2, 0.4, 0.4))
    done = publish_approved(copied, tmp_path / "out.parquet", "cron", "monday")
    table = pq.read_table(done.out)
    logged = pa.concat_tables(copied.ledger.read(run))
    shares = matrix(table, SHARES)
    advised = matrix(logged, SHARES)
    for number in range(table.num_rows):
        row = rows.row(number)
        if number in (3, 4):
            assert np.isnan(shares[number]).all()
        elif number == 20:
            assert shares[number].tolist() == [0.2, 0.4, 0.4]
        elif number in moved[:5]:
            assert shares[number].tolist() == advised[number].tolist()
        else:
            assert np.allclose(shares[number], rows.mixes(row)[0])
    known = [n for n in range(table.num_rows) if n not in (3, 4)]
    budget = np.array([rows.row(n)["budget"] for n in known])
    assert np.allclose(matrix(table, SPENDS)[known].sum(axis=1), np.round(budget, 2))
    words = table["decision"].to_pylist()
    assert words.count("approved") == done.approved == 5 - (20 in moved[:5])
    assert words.count("rejected") == 2 - (20 in moved[5:7])
    entry = copied.entries()[-1]
    assert (entry.kind, entry.source["who"], entry.source["why"]) == (
        "publish",
        "cron",
        "monday",
    )
    assert copied.ledger.verify() == ()


def test_nothing_is_published_without_approval_or_out_of_date(copied, tmp_path):
    out = tmp_path / "out.parquet"
    with pytest.raises(LedgerError, match="Expected approved rows"):
        publish_approved(copied, out, "a", "")
    rows = copied.rows(copied.run())
    moved = rows.page(RowSelection(reason="moved")).rows[0]["row"]
    decide_rows(copied, rows, [moved], "approve", ANNA, "")
    with pytest.raises(ConfigError, match="Expected `--out` to end in"):
        publish_approved(copied, tmp_path / "out.xls", "a", "")
    copied.store.freeze("odd")
    with pytest.raises(LedgerError, match="The store is frozen"):
        publish_approved(copied, out, "a", "")
    copied.store.unfreeze()
    entry = copied.run()
    path = copied.ledger.folder(entry.number) / entry.segments[0].name
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(LedgerError, match="Nothing was published"):
        publish_approved(copied, out, "a", "")
    assert not out.exists()
