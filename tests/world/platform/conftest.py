import pytest

from platform_figures import Panel, look_at
from realloc.world.platform import Marketplace


@pytest.fixture(scope="session")
def two() -> Panel:
    return look_at(Marketplace(seed=1), items=8000)


@pytest.fixture(scope="session")
def three() -> Panel:
    return look_at(Marketplace(seed=2, channels=3), items=2000)
