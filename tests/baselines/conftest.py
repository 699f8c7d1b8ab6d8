import warnings

import pytest

WHY = "needs the extra `peers`"


@pytest.fixture
def econml():
    with (
        warnings.catch_warnings()
    ):  # what packages of others warn about while they are imported
        warnings.simplefilter("ignore")
        pytest.importorskip("econml.dml", reason=WHY)


@pytest.fixture
def d3rlpy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("d3rlpy", reason=WHY)
