"""The age of a version."""

from realloc.monitor.age import age_of
from tests.batch.conftest import NOW


def test_ages_count_from_the_record_and_never_go_below_zero():
    age = age_of("2026-11-06T12:00:00+00:00", "2026-11-01", NOW)
    assert (age.days, age.window_days) == (10.0, 15.5)
    assert age_of("2027-01-01T00:00:00+00:00", "2027-01-01", NOW).days == 0.0
