"""Guards of the store: each check passes, and fails once its guard is switched off."""

import pytest

from tests.faults.guards import GUARDS, switched_off


@pytest.mark.parametrize("name", GUARDS)
def test_no_guard_can_be_switched_off_unnoticed(tmp_path, monkeypatch, name):
    (tmp_path / "on").mkdir()
    (tmp_path / "off").mkdir()
    guard = GUARDS[name]
    if not hasattr(guard.check, "elsewhere"):
        guard.check(tmp_path / "on", monkeypatch)
    with switched_off(guard), pytest.raises(BaseException) as noticed:  # noqa: PT011  however it fails, it is noticed
        guard.check(tmp_path / "off", monkeypatch)
    assert not isinstance(noticed.value, NameError | SyntaxError)  # of what was switched off, not of the switch
