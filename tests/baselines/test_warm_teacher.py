"""WarmTeacher: every window goes on where the last one ended."""

import torch

from realloc.baselines.warm_teacher import WarmTeacher
from tests.small import CONFIG, window


def test_the_second_window_starts_from_the_first_ones_teacher_and_encoder():
    policy = WarmTeacher(config=CONFIG, surfaces=("kernel",))
    assert policy.start() is None
    policy.fit(window())
    encoder = policy.encoder
    teacher = policy.response.teacher
    start = policy.start()
    assert start.teacher is teacher
    lengths = start.kernel.state_dict()
    assert all(
        torch.equal(values, torch.from_numpy(teacher.covariance.kernel[name]))
        for name, values in lengths.items()
    )
    policy.fit(window(1))
    assert policy.encoder is encoder
    assert policy.response.teacher is not teacher
    assert policy.response.teacher.scaling is teacher.scaling
