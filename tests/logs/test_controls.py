"""The checks of logs can fail: each one does once its guard is off."""

import numpy as np
import pandas as pd
import pytest

from realloc import read_logs
from realloc.base.errors import LogError
from realloc.logs.checks import rules
from realloc.logs.reading import keys
from tests.conftest import SHARES, SPENDS, as_shares, make_frame
from tests.controls import Control, try_control


def log_is_refused(change, schema=SPENDS):
    def check(_):
        with pytest.raises(LogError):
            read_logs(change(make_frame()), schema)

    return check


def with_first(column, value):
    def change(frame):
        frame.loc[0, column] = value
        return frame

    return change


def forgiven(code):
    return rules.RULES[code]._replace(level="warning")


CONTROLS = {
    "negative amounts": Control(
        log_is_refused(with_first("ads", -1.0)),
        rules.RULES,
        "negative",
        forgiven("negative"),
    ),
    "infinite amounts": Control(
        log_is_refused(with_first("orders", np.inf)),
        rules.RULES,
        "infinite",
        forgiven("infinite"),
    ),
    "shares that do not sum to 1": Control(
        log_is_refused(lambda frame: with_first("ads", 0.9)(as_shares(frame)), SHARES),
        rules.RULES,
        "shares_sum",
        forgiven("shares_sum"),
    ),
    "duplicates": Control(
        log_is_refused(lambda frame: pd.concat([frame, frame.head(1)])),
        keys,
        "check_keys",
        lambda *_: [],
    ),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_a_check_fails_once_its_guard_is_off(tmp_path, name):
    try_control(CONTROLS[name], tmp_path)
