"""The canary: a model that answers otherwise than its version's writer did is refused."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from realloc import ReAlloc
from realloc.base.errors import StoreError
from realloc.storage.store.canary import ask, check, choose_rows
from tests.small import fitted, window


@cache
def expected():
    return ask(fitted(), choose_rows(window()))


def test_the_writers_answers_are_accepted():
    """The negative control of all below."""
    check(fitted(), expected())


@pytest.mark.parametrize("name", ["fixed_gain", "gain"])
@pytest.mark.parametrize(
    "change",
    [lambda x: x * 1.1, lambda x: x[:-1], lambda x: x * np.nan, lambda x: x[:0]],
    ids=["other", "few", "no numbers", "none"],
)
def test_other_gains_are_refused(name, change):
    changed = expected() | {name: change(expected()[name])}
    with pytest.raises(StoreError, match="canary"):
        check(fitted(), changed)


def test_other_reasons_are_refused():
    reasons = expected()["reason"].tobytes().decode().split("\n")
    words = np.frombuffer("\n".join("odd" for _ in reasons).encode(), np.uint8)
    with pytest.raises(
        StoreError, match="does not decide as the one that wrote the version did"
    ):
        check(fitted(), expected() | {"reason": words})


def test_a_canary_of_another_kind_is_refused():
    with pytest.raises(StoreError, match="canary that was written with the model"):
        check(fitted(), {"rows": np.zeros(8, np.uint8)})


@pytest.mark.parametrize(
    "off", [[0.1, 0.0, 0.0], [-2.0, 1.0, 1.0]], ids=["sum", "negative"]
)
def test_shares_off_the_simplex_are_refused(monkeypatch, off):
    real = ReAlloc.decide

    def other(*arguments):
        decision = real(*arguments)
        return replace(decision, shares=decision.shares + np.array(off))

    monkeypatch.setattr(ReAlloc, "decide", other)
    with pytest.raises(StoreError, match="on the simplex"):
        check(fitted(), expected())
