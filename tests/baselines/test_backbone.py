"""The backbone: one for all networks by default, checked when made."""

from dataclasses import fields

import pytest

from realloc import ConfigError
from realloc.baselines.backbone import Backbone
from realloc.baselines.density_constrained import DensityConfig
from realloc.baselines.giks import GIKSConfig
from realloc.baselines.s_trees import TreeConfig
from realloc.baselines.vcnet import VCNetConfig


def test_settings_that_cannot_be_used_are_refused():
    with pytest.raises(
        ConfigError,
        match="Unknown `activation` 'rely' in the backbone. Did you mean 'relu'",
    ):
        Backbone(activation="rely")
    with pytest.raises(ConfigError, match="`members` >= 1 in the backbone, got 0"):
        Backbone(members=0)
    with pytest.raises(ConfigError, match="`leaves` of at least 2"):
        TreeConfig(leaves=1)
    with pytest.raises(ConfigError, match="`quantile` in"):
        DensityConfig(quantile=1.0)


def test_defaults_hold_one_backbone():
    for own in (VCNetConfig(), GIKSConfig(), DensityConfig().outcome):
        assert all(
            getattr(own, spec.name) == getattr(Backbone(), spec.name)
            for spec in fields(Backbone)
        )
