"""Features: the encoder of states."""

from realloc.learn.features.encode import Encoded, Encoder, FeatureConfig, fit_encoder

__all__ = ["Encoded", "Encoder", "FeatureConfig", "fit_encoder"]
