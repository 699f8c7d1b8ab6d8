import pytest

from realloc.base.errors import LedgerError
from realloc.report.rows import sample_rows
from realloc.report.run import newest_run


def test_all_rows_come_back_but_those_that_could_not_be_read(ledger):
    entry = newest_run(ledger)
    logs = sample_rows(ledger, entry, None)
    assert len(logs) == 148
    assert logs.schema.channels == ("ads", "coupon", "rebate")


def test_a_sample_is_spread_over_all_files(ledger):
    entry = newest_run(ledger)
    logs = sample_rows(ledger, entry, 10)
    assert len(logs) == 10
    first, last = sorted(logs.units.to_pylist())[0], sorted(logs.units.to_pylist())[-1]
    everything = sorted(sample_rows(ledger, entry, None).units.to_pylist())
    assert (first, last) == (everything[0], everything[-1])


def test_a_run_without_readable_rows_says_so(ledger):
    from dataclasses import replace

    entry = replace(newest_run(ledger), rows=0, segments=())
    with pytest.raises(LedgerError, match="rows that could be read in run"):
        sample_rows(ledger, entry)
