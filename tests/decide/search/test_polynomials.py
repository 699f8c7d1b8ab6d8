"""Polynomials of a move: the order of their terms, and their values."""

import numpy as np

from realloc.decide.search.polynomials import evaluate, exponents
from realloc.learn.student.local_polynomial import Bend


def test_terms_are_asked_for_in_their_order():
    assert len(list(exponents(3, 6))) == Bend(np.ones((2, 3), np.float32)).terms(6)
    powers = list(exponents(3, 4))
    assert len(set(powers)) == len(powers)
    coefficients = np.random.default_rng(0).normal(size=len(powers))
    d = np.random.default_rng(1).normal(size=(3, 5, 7))
    wanted = sum(
        c * np.prod([d[i] ** p for i, p in enumerate(power)], axis=0)
        for c, power in zip(coefficients, powers, strict=True)
    )
    np.testing.assert_allclose(
        evaluate(iter(coefficients), d, 4), wanted, rtol=1e-12, atol=1e-12
    )
