"""Bounds of every row, and the sentences about what they forbid."""

import pytest

from tests.decide.constraints.test_repair import case_of


def test_a_floor_for_a_channel_never_used_says_how_to_open_it():
    start, used = (
        [[0.5, 0.5, 0.0], [0.4, 0.4, 0.2]],
        [[True, True, False], [True, True, True]],
    )
    _, problem = case_of(start, used=used, floors={"rebate": 0.1}).limits().repair()
    assert problem.tolist() == [
        "row 0: floor of rebate 0.1 exceeds never used rebate (closed at 0 unless named in `open`)",
        "",
    ]
    shares, problem = (
        case_of(start, used=used, floors={"rebate": 0.1}, open=("rebate",))
        .limits()
        .repair()
    )
    assert problem.tolist() == ["", ""]
    assert shares[0] == pytest.approx([0.45, 0.45, 0.1])
