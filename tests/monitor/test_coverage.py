"""Support coverage falls where mixes are strange, and only there."""

from realloc.logs import read_logs
from realloc.monitor.coverage import compare_coverage, measure_coverage
from tests.small import fitted, window


def test_coverage_of_rows_like_those_of_training_does_not_fall_and_of_strange_mixes_it_does():
    state, logs = fitted().fitted, window(96)
    near = measure_coverage(state, logs)
    assert not near.fell
    frame = logs.to_pandas()
    frame["ads"], frame["coupon"], frame["rebate"] = 0.98, 0.01, 0.01
    far = measure_coverage(state, read_logs(frame, logs.schema))
    assert far.fell
    assert far.now < near.now
    assert not compare_coverage(
        0.90, 0.95, 100, 20
    ).fell  # of twenty units chance explains it
    assert compare_coverage(0.90, 0.95, 10_000, 10_000).fell
