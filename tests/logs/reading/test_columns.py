"""Quick ways through a column lead to the same values as the slow ones."""

import numpy as np
import pyarrow as pa
import pytest

from realloc.logs.reading import columns
from realloc.logs.reading.columns import MOST_CATEGORIES, Vocabulary, to_numbers, to_times

DAYS = {
    "usual": ["2026-01-31", "1970-01-01", "2024-02-29"],
    "far away": ["0001-01-01", "9999-12-31", "1677-01-01"],
    "before the year 1": ["0000-01-01", "2026-01-01"],
    "one that does not exist": ["2026-02-30", "2026-01-01"],
    "one of another kind": ["2026/01/01", "2026-01-01"],
    "ten signs and no day": ["2026-01-1Z", "2026-1-001", "2026-01-01", " 2026-1-1 "],
    "one missing": ["2026-01-01", None],
    "one blank": ["2026-01-01", ""],
    "one moment": ["2026-01-01", "2026-01-01T09:30:00"],
    "ten signs in more bytes": ["２０２６-01-0", "2026-01-01"],
    "none": [],
}


@pytest.mark.parametrize("texts", DAYS.values(), ids=DAYS.keys())
def test_days_are_read_at_once_as_they_are_one_by_one(monkeypatch, texts):
    quick = to_times(pa.array(texts, pa.string()), "date")
    monkeypatch.setattr(columns, "_days", lambda _: None)
    slow = to_times(pa.array(texts, pa.string()), "date")
    assert (quick.zoned, quick.naive) == (slow.zoned, slow.naive)
    assert quick.values.tolist() == slow.values.tolist()
    assert quick.bad.tolist() == slow.bad.tolist()


def test_missing_text_is_missing_and_not_bad():
    texts = pa.array(["2026-01-01", None, " ", "NaN"])
    assert to_times(texts, "date").bad.tolist() == [False, False, False, False]
    numbers = to_numbers(pa.array(["1", None, "n/a", "+Inf", "-.5e1", "1,5"]), "ads", True)
    assert numbers.bad.tolist() == [False, False, False, False, False, True]
    np.testing.assert_array_equal(numbers.values, [1, np.nan, np.nan, np.inf, -5, np.nan])


@pytest.mark.parametrize(
    "values", [["b", None, "a", "b"], [7, 3, None, 7], [None, None], []]
)
@pytest.mark.parametrize("most", [None, MOST_CATEGORIES, 1])
def test_codes_of_a_first_batch_are_those_of_a_second(values, most):
    kind = pa.int64() if 7 in values else pa.string()
    first, second = Vocabulary(most), Vocabulary(most)
    second.values = pa.array([], kind)  # as after a batch without values
    one, other = first.encode(pa.array(values, kind)), second.encode(pa.array(values, kind))
    assert one.dtype == other.dtype == np.int32
    assert one.tolist() == other.tolist()
    assert first.values is not None
    assert first.values.equals(second.values)
    assert first.overflow == second.overflow
