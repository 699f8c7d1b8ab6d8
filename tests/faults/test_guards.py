"""Guards of the store, the service and batches: each check passes, and fails once its guard is switched off.

`make faults` switches off all of them; with every change all of the store, and every twelfth of the others.
"""

import pytest

from tests.faults import batch_guards, guards, service_guards
from tests.faults.guard import switched_off

OTHERS = [*service_guards.GUARDS.items(), *batch_guards.GUARDS.items()]
GUARDS = guards.GUARDS | dict([(name, guard) for name, guard in OTHERS if not guard.long][::12])


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
