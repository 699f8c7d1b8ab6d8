import numpy as np
import pytest

from platform_figures import Panel
from realloc.world.platform.legacy import transfer


@pytest.fixture(params=["two", "three"])
def world(request: pytest.FixtureRequest) -> Panel:
    return request.getfixturevalue(request.param)


def test_most_days_nothing_moves(world: Panel) -> None:
    assert 0.70 < (~world.moved[world.routine]).mean() < 0.85


def test_moves_are_small_steps_of_the_menu_or_empty_a_channel(world: Panel) -> None:
    rows = world.moved & world.routine
    change = np.rint((world.after[rows] - world.before[rows]) * 1000).astype(int)
    size = change.max(axis=1)
    assert (np.count_nonzero(change, axis=1) == 2).all()
    assert (change.sum(axis=1) == 0).all()
    source = change.argmin(axis=1)
    emptied = world.after[rows][np.arange(len(source)), source] == 0
    assert (np.isin(size, world.market.parameters.legacy.steps) | emptied).all()
    assert size.max() <= 100


def test_some_shares_become_zero_by_moves_and_closed_channels_stay_closed(
    world: Panel,
) -> None:
    assert (world.after[~world.opened] == 0).all()
    emptied = world.opened & (world.after == 0) & (world.before > 0)
    reopened = world.opened & (world.after > 0) & (world.before == 0)
    assert emptied[world.routine].sum() > 20
    assert reopened[world.routine].sum() > 20


def test_a_large_budget_takes_smaller_steps(two: Panel) -> None:
    rows = two.moved & two.routine
    budget = np.log(two.column("budget")).reshape(60, -1)
    above = (budget - np.median(budget, axis=0)).ravel()[rows]
    size = np.abs(two.after - two.before)[rows].max(axis=1)
    assert size[above > 0.7].mean() < 0.95 * size[above < 0].mean()


def test_a_transfer_takes_no_more_than_there_is() -> None:
    holding = np.array([[30, 970], [500, 500], [0, 1000]], dtype=np.int32)
    pair = np.array([[0, 1], [1, 0], [1, 0]])
    assert transfer(holding, pair, np.array([50, 20, 0])).tolist() == [
        [0, 1000],
        [520, 480],
        [0, 1000],
    ]
    assert holding.tolist() == [[30, 970], [500, 500], [0, 1000]]
