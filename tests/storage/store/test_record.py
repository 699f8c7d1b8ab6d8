"""The record of a round."""

from datetime import timedelta

from tests.storage.store.light import NOON, LightStore, grown


def test_times_never_run_against_the_numbers(tmp_path):
    grown(tmp_path / "store", 1)
    back = LightStore(tmp_path / "store", clock=lambda: NOON - timedelta(days=3))
    back.step()
    created = [version.created for version in (*back.history(), back.rollback())]
    assert created == sorted(created)
