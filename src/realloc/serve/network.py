"""The networks of `realloc.learn.networks.stack` in numpy: M members of one shape, from weights by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.learn.student.local_polynomial import silu

Floats32 = NDArray[np.float32]

EPS = 1e-5  # of the layer norm, as in training
PARTS = ("weights", "biases", "gains", "shifts")


@dataclass(frozen=True)
class Network:
    """Hidden layers (linear, layer norm, SiLU), a head, and a linear path past them where there is one.

    What a layer norm takes off, the mean over a layer's outputs, is taken off its weights and biases once.
    """

    layers: tuple[
        tuple[Floats32, Floats32, Floats32, Floats32], ...
    ]  # each (M, in, out) and three of (M, 1, out)
    head: Floats32  # (M, width, out)
    offset: Floats32  # (M, 1, out)
    path: Floats32 | None  # (M, in, out)

    def __call__(self, x: Floats32) -> Floats32:
        """Outputs (t, M, T, out) of tiles of states (t, T, in)."""
        states = x[:, None]
        hidden = states
        for weight, bias, gain, shift in self.layers:
            hidden = hidden @ weight
            hidden += bias
            hidden *= 1 / np.sqrt(np.square(hidden).mean(axis=-1, keepdims=True) + np.float32(EPS))
            hidden *= gain
            hidden += shift
            hidden = silu(hidden)
        out = hidden @ self.head + self.offset
        return out if self.path is None else out + states @ self.path


def read_network(weights: Mapping[str, NDArray[Any]], inputs: int, outputs: int) -> Network:
    """A network from its weights; each must have the shape that the one before asks for."""
    depth = sum(name.startswith("weights.") for name in weights)
    path = "path" in weights
    wanted = {f"{part}.{layer}" for part in PARTS for layer in range(depth)} | {"head", "offset"}
    if depth < 1 or set(weights) != wanted | ({"path"} if path else set()):
        raise ValueError(f"a network has the parts {sorted(weights)}")
    members, size, shapes = len(weights["head"]), inputs, dict[str, tuple[int, ...]]()
    for layer in range(depth):
        width = weights[f"weights.{layer}"].shape[-1]
        shapes[f"weights.{layer}"] = (members, size, width)
        shapes |= {f"{part}.{layer}": (members, 1, width) for part in PARTS[1:]}
        size = width
    shapes |= {"head": (members, size, outputs), "offset": (members, 1, outputs)}
    shapes |= {"path": (members, inputs, outputs)} if path else {}
    for name, shape in shapes.items():
        if weights[name].shape != shape or weights[name].dtype != np.float32:
            raise ValueError(
                f"{name} is of {weights[name].dtype} and shape {weights[name].shape}, not {shape}"
            )
    layers = tuple(
        (
            *(_centred(weights[f"{part}.{layer}"]) for part in PARTS[:2]),
            *(weights[f"{part}.{layer}"] for part in PARTS[2:]),
        )
        for layer in range(depth)
    )
    return Network(layers, weights["head"], weights["offset"], weights["path"] if path else None)  # pyright: ignore[reportArgumentType]


def _centred(x: Floats32) -> Floats32:
    return (x - x.mean(axis=-1, keepdims=True, dtype=np.float64)).astype(np.float32)
