"""Guards of the store and the service: each check passes, and fails once its guard is switched off.

Those whose check takes a while are switched off by `make faults` only.
"""

import pytest

from tests.faults import guards, service_guards
from tests.faults.guard import switched_off

GUARDS = {
    f"{module.__name__.rpartition('.')[2]}: {name}": guard
    for module in (guards, service_guards)
    for name, guard in module.GUARDS.items()
    if not guard.long
}


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
