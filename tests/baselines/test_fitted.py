"""What all baselines share: logs are checked, and nothing is advised before a fit."""

import pytest

from realloc import LogError, read_logs
from realloc.baselines import BASELINES
from tests.baselines.test_every_policy import TODAY
from tests.conftest import SPENDS


def test_recommending_before_a_fit_is_refused():
    for make in BASELINES.values():
        with pytest.raises(LogError, match="`fit` was not called"):
            make().recommend(TODAY)


@pytest.mark.parametrize("name", list(BASELINES))
def test_a_log_that_fails_the_check_is_not_fitted(name, frame):
    for broken, text in [
        (frame.head(20), "50 rows"),
        (frame.assign(orders=1.0), "varies in column 'orders'"),
    ]:
        with pytest.raises(LogError, match=text):
            BASELINES[name]().fit(read_logs(broken, SPENDS))
