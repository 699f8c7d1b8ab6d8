"""What may be set, and the sentences for what may not."""

import pytest

from realloc.base.errors import ConfigError
from realloc.learn.networks.config import TrainConfig


@pytest.mark.parametrize(
    "change",
    [{"epochs": 0}, {"batch": 0}, {"patience": 0}, {"rate": 0.0}, {"weight_decay": -1.0}],
)
def test_a_config_out_of_range_is_refused_with_a_sentence(change):
    with pytest.raises(
        ConfigError,
        match="Expected epochs, batch, patience and most_steps of at least 1, rate above 0, "
        "weight_d",
    ):
        TrainConfig(**change)


def test_a_config_of_the_wrong_type_is_refused_with_its_name():
    with pytest.raises(
        ConfigError,
        match="Expected `epochs` of the training config to be a whole number, got 2.5",
    ):
        TrainConfig(epochs=2.5)
