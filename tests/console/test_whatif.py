import tomllib

import numpy as np
import pytest

from realloc.console.whatif import AskedRow, as_constraints, spread_rest
from realloc.decide.constraints.constraints import Constraints

EVEN = np.array([0.2, 0.4, 0.4])


@pytest.fixture(scope="module")
def asked(source):
    entry = source.run()
    rows = source.rows(entry)
    return AskedRow.read(source.model_of(entry), rows.inputs(20)), rows.row(20), rows


def test_the_recommended_mix_brings_what_was_logged(asked):
    one, row, rows = asked
    found = one.ask(rows.mixes(row)[1])
    assert row["moved"]
    assert found.gain == pytest.approx(row["gain"], abs=1e-6)
    assert found.lower == pytest.approx(row["gain_lower"], abs=1e-6)
    assert found.support == pytest.approx(row["support"], abs=1e-6)
    assert found.supported
    assert found.allowed


def test_the_gain_is_the_models(asked, source):
    one, _, rows = asked
    model = source.model_of(source.run())
    assert one.ask(EVEN).gain == pytest.approx(model.gain(rows.inputs(20), [EVEN])[0])


def test_what_speaks_against_shares_is_said(asked):
    one = asked[0]
    far = one.ask(np.array([0.98, 0.01, 0.01]))
    assert not far.supported
    assert "the gain is a guess" in far.detail
    assert far.tone == "bad"
    below = one.ask(spread_rest(one.now, {0: 0.1}))  # the floor of ads is 0.2
    assert "A constraint forbids these shares." in below.detail
    assert one.ask(one.now).headline == "These are today's shares."


def test_ranges_hold_the_current_share_and_are_supported(asked):
    one = asked[0]
    for k, (low, high) in enumerate(one.ranges()):
        assert low - 0.0125 <= one.now[k] <= high + 0.0125
        support = one.batch.problem.support
        ends = np.array([spread_rest(one.now, {k: share}) for share in (low, high)])
        inside = support.inside(np.zeros(1, np.intp), ends[None], one.now[None])
        assert inside.all()


def test_what_is_left_goes_to_the_others_in_proportion():
    assert spread_rest(EVEN, {0: 0.6}).tolist() == pytest.approx([0.6, 0.2, 0.2])
    fixed = {1: 1.0}
    assert spread_rest(EVEN, fixed).tolist() == [0, 1, 0]
    assert spread_rest(np.array([1.0, 0, 0]), {0: 0.4}).tolist() == pytest.approx(
        [0.4, 0.3, 0.3]
    )


def test_shares_become_constraints_that_hold_them():
    text = as_constraints(('a"b', "b", "c"), EVEN)
    rules = Constraints(**tomllib.loads(text)["constraints"])
    assert rules.floors['a"b'] == pytest.approx(0.195)
    assert rules.caps["c"] == pytest.approx(0.405)
