"""What may be set, and the sentences for what may not."""

import pytest

from realloc.base.errors import ConfigError
from realloc.learn.memory.config import MemoryConfig, MoveConfig


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"steps": ()}, r"Expected `steps` of \[moves\] between 0 and 1, got \[\]"),
        (
            {"steps": (0.0, 0.1)},
            r"Expected `steps` of \[moves\] between 0 and 1, got \[0.0, 0.1\]",
        ),
        ({"steps": (1.0,)}, r"Expected `steps` of \[moves\] between 0 and 1, got \[1.0\]"),
        (
            {"places": 0},
            r"Expected `places` and `rows` of \[moves\] of at least 1 and `reach` between 0 and 1",
        ),
        ({"rows": 0}, "Expected `places` and `rows`"),
        ({"reach": 1.0}, "Expected `places` and `rows`"),
        ({"steps": ("a",)}, r"Expected `steps` of \[moves\] to be a list of a number"),
    ],
)
def test_moves_out_of_range_are_refused_with_a_sentence(change, sentence):
    with pytest.raises(ConfigError, match=sentence):
        MoveConfig(**change)


def test_a_memory_that_is_too_small_is_refused_with_a_sentence():
    with pytest.raises(
        ConfigError,
        match=r"Expected `capacity` of \[memory\] of at least 100 rows, got 99\.",
    ):
        MemoryConfig(capacity=99)
    assert MemoryConfig(capacity=100).capacity == 100
