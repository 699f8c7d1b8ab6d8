"""The calendar: cycles are used where the log spans them."""

import numpy as np

from realloc.learn.features.encode import FeatureConfig, fit_encoder
from tests.conftest import make_frame
from tests.learn.features.rows import logs_of


def test_the_calendar_is_used_where_the_log_spans_it(frame):
    short = fit_encoder(logs_of(frame, features=("price",)))
    assert short.cycles == ()
    long = logs_of(make_frame(units=3, days=800), features=("price",))
    encoder = fit_encoder(long)
    assert encoder.cycles == ("week", "year")
    encoded = encoder.encode(long)
    week = encoded.values[
        :,
        [
            encoded.names.index("sine of the week"),
            encoded.names.index("cosine of the week"),
        ],
    ]
    assert np.allclose(week[0], week[7], atol=1e-3)
    assert not np.allclose(week[0], week[3], atol=0.1)
    assert fit_encoder(long, FeatureConfig(calendar=False)).cycles == ()
