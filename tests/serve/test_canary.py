"""The canary asked of the scorer: whatever it answers otherwise, it is refused."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from realloc.base.errors import StoreError
from realloc.model.files import model_parts
from realloc.serve import Scorer, canary
from realloc.serve.parts import from_model
from realloc.serve.scorer import make_scorer
from realloc.storage.store.canary import ask, choose_rows
from tests.small import fitted, window


@cache
def expected():
    return ask(fitted(), choose_rows(window()))


def scorer():
    model = fitted()
    tensors, meta = model_parts(model.fitted, model.config, model.known_schema)
    return make_scorer(*from_model(meta, tensors), "here")


def test_the_writers_answers_are_the_scorers():
    """The negative control of all below."""
    canary.check(scorer(), expected())
    canary.check(scorer(), {})  # from before there were canaries


@pytest.mark.parametrize("name", ["turned", "gain"])
@pytest.mark.parametrize(
    "change",
    [lambda x: x * 1.1, lambda x: x[:-1], lambda x: x * np.nan],
    ids=["other", "few", "none"],
)
def test_other_gains_are_refused(name, change):
    with pytest.raises(
        StoreError, match="gains of fixed moves" if name == "turned" else "gains of decisions"
    ):
        canary.check(scorer(), expected() | {name: change(expected()[name])})


def test_other_reasons_are_refused():
    reasons = expected()["reason"].tobytes().decode().split("\n")
    words = np.frombuffer("\n".join("odd" for _ in reasons).encode(), np.uint8)
    with pytest.raises(StoreError, match="does not decide as the writer did"):
        canary.check(scorer(), expected() | {"reason": words})


@pytest.mark.parametrize("off", [[0.1, 0.0, 0.0], [-2.0, 1.0, 1.0]], ids=["sum", "negative"])
def test_shares_off_the_simplex_are_refused(monkeypatch, off):
    real = Scorer.decide

    def other(*asked):
        found = real(*asked)
        return replace(found, shares=found.shares + np.array(off))

    monkeypatch.setattr(Scorer, "decide", other)
    with pytest.raises(StoreError, match="on the simplex"):
        canary.check(scorer(), expected())
