"""A few of the random logs, with fixed seeds; `experiments/fuzz_logs.py` tries as many as asked."""

from dataclasses import replace

import numpy as np
import pytest

import fuzz_logs
from tests.small import CONFIG


@pytest.mark.parametrize("seed", range(6))
def test_a_random_log_ends_in_an_answer_or_a_clear_refusal(seed: int):
    log = fuzz_logs.draw_log(seed)
    said = fuzz_logs.try_log(
        replace(log, config=replace(CONFIG, features=log.config.features))
    )
    assert said.startswith(("decided", "Expected"))


def test_a_seed_makes_its_log_again():
    one, other = (fuzz_logs.draw_log(3) for _ in range(2))
    assert one.frame.equals(other.frame)
    assert one.config == other.config


def test_an_answer_that_is_not_finite_is_a_failure(monkeypatch):
    def spoilt(model: fuzz_logs.ReAlloc, today: fuzz_logs.pd.DataFrame) -> object:
        answer = recommend(model, today)
        return answer.assign(gain=np.nan)

    recommend = fuzz_logs.ReAlloc.recommend
    monkeypatch.setattr(fuzz_logs.ReAlloc, "recommend", spoilt)
    log = replace(fuzz_logs.draw_log(0), config=CONFIG)
    with pytest.raises(FloatingPointError, match="not finite"):
        fuzz_logs.try_log(log)
