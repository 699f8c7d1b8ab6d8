"""Networks of `stack.py` at work: the forward pass in numpy, from weights by name.

A row's output does not depend on the rows beside it (`base/numerics/row_stable.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from realloc.base.numerics.row_stable import in_tiles, multiply
from realloc.learn.scaling import Floats32

EPS = 1e-5  # of the layer norm, as in training
PARTS = ("weights", "biases", "gains", "shifts")


@dataclass(frozen=True, eq=False)
class Layer:
    """Linear, layer norm, SiLU. The mean that the norm subtracts is taken off the weights once."""

    weight: Floats32  # (M, in, out)
    bias: Floats32  # (M, 1, out)
    gain: Floats32  # (M, 1, out)
    shift: Floats32  # (M, 1, out)

    def __call__(self, x: Floats32) -> Floats32:
        """Outputs (t, M, T, out) of inputs (t, M, T, in)."""
        hidden = multiply(x, self.weight)
        hidden += self.bias
        size = np.add.reduce(np.square(hidden), axis=-1, keepdims=True)
        size /= np.float32(hidden.shape[-1])
        hidden *= 1 / np.sqrt(size + np.float32(EPS))
        hidden *= self.gain
        hidden += self.shift
        return silu(hidden)


@dataclass(frozen=True, eq=False)
class Network:
    """M members of one shape: hidden layers, a head, and a linear path past them."""

    layers: tuple[Layer, ...]
    head: Floats32  # (M, width, out)
    offset: Floats32  # (M, 1, out)
    path: Floats32  # (M, in, out)

    def __call__(self, x: Floats32) -> Floats32:
        """Outputs (n, M, out) of states (n, in)."""
        return in_tiles(self._tiles, x)

    def _tiles(self, x: Floats32) -> Floats32:
        states = x[:, None]
        hidden = states
        for layer in self.layers:
            hidden = layer(hidden)
        out = multiply(hidden, self.head)
        out += self.offset
        out += multiply(states, self.path)
        return out.transpose(0, 2, 1, 3)


def read_network(weights: Mapping[str, Floats32], inputs: int, outputs: int) -> Network:
    """A network from its weights; each must have the shape that the one before it requires."""
    depth = sum(name.startswith("weights.") for name in weights)
    members = len(weights["head"])
    shapes: dict[str, tuple[int, ...]] = {}
    size = inputs
    for layer in range(depth):
        width = weights[f"weights.{layer}"].shape[-1]
        shapes[f"weights.{layer}"] = (members, size, width)
        for part in PARTS[1:]:
            shapes[f"{part}.{layer}"] = (members, 1, width)
        size = width
    shapes["head"] = (members, size, outputs)
    shapes["offset"] = (members, 1, outputs)
    shapes["path"] = (members, inputs, outputs)
    if depth < 1 or set(weights) != set(shapes):
        raise ValueError(f"a network has the parts {sorted(weights)}")
    for name, shape in shapes.items():
        if weights[name].shape != shape or weights[name].dtype != np.float32:
            raise ValueError(
                f"{name} is of {weights[name].dtype} and shape {weights[name].shape}, not {shape}"
            )
    layers = tuple(
        Layer(
            weight=_centred(weights[f"weights.{layer}"]),
            bias=_centred(weights[f"biases.{layer}"]),
            gain=weights[f"gains.{layer}"],
            shift=weights[f"shifts.{layer}"],
        )
        for layer in range(depth)
    )
    return Network(layers, weights["head"], weights["offset"], weights["path"])


def silu(x: Floats32) -> Floats32:
    """x σ(x)."""
    out = np.negative(x)
    with np.errstate(
        over="ignore"
    ):  # far below 0 the exponential is infinite and the value 0
        np.exp(out, out=out)
    out += 1
    return np.divide(x, out, out=out)


def _centred(x: Floats32) -> Floats32:
    return (x - x.mean(axis=-1, keepdims=True, dtype=np.float64)).astype(np.float32)
