"""Negative controls: a check passes, and fails once its guard is off.

A guard is switched off by behaviour: one function, constant or rule is replaced by one that lets
everything pass. They are in `test_controls.py` beside the tests of each folder; others stand
in those tests themselves (`grep -rn control tests`). `make mutation` changes the source itself, in
places that nobody has thought of.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

NOTICED = (AssertionError, pytest.fail.Exception)
OTHER_ERROR = "Regex pattern did not match"  # refused all the same, for another reason


@dataclass(frozen=True)
class Control:
    """`name` of `holder` (an attribute, or a key of a dict) becomes `off`: `check` must fail."""

    check: Callable[[Path], None]
    holder: Any
    name: str
    off: Any


def nothing(*_: Any, **__: Any) -> None:
    """What a guard that is off does."""


def try_control(control: Control, folder: Path) -> None:
    """Run the check with its guard on and off, each in a folder of its own."""
    for name in ("on", "off"):
        (folder / name).mkdir()
    control.check(folder / "on")
    with pytest.MonkeyPatch.context() as patch:
        if isinstance(control.holder, dict):
            patch.setitem(control.holder, control.name, control.off)
        else:
            patch.setattr(control.holder, control.name, control.off)
        with pytest.raises(NOTICED) as failure:
            control.check(folder / "off")
    assert OTHER_ERROR not in str(failure.value)
