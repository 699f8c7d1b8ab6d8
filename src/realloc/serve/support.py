"""The support without torch: the density's states in tiles, and its network in numpy."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from realloc.base.numerics.row_stable import in_tiles
from realloc.base.simplex import Floats
from realloc.learn.support.density import Border, Density
from realloc.serve.network import Network, read_network


@dataclass(frozen=True)
class Shifts:
    """Shifts of the centre (n, D) and of log s (n,), and their variances among members (n,)."""

    centre: Floats
    log_scale: Floats
    centre_variance: Floats
    scale_variance: Floats


@dataclass(frozen=True, eq=False)
class Correction:
    """A stack of networks and how much they count, as `learn/support/correction.py`."""

    network: Network
    weight: float

    def at(self, x: NDArray[np.float32]) -> Shifts:
        """Their mean and spread at n states."""
        out = (
            in_tiles(lambda tiles: self.network(tiles).transpose(0, 2, 1, 3), x).astype(np.float64)
            * self.weight
        )
        mean = out.mean(axis=1)  # (n, D + 1)
        variance = np.square(out - mean[:, None]).mean(axis=1)
        return Shifts(mean[:, :-1], mean[:, -1], variance[:, :-1].mean(axis=1), variance[:, -1])


def build_correction(
    weight: float, weights: dict[str, NDArray[np.float32]], inputs: int, dimensions: int
) -> Correction:
    """From the weights as they are saved."""
    return Correction(read_network(weights, inputs, dimensions + 1), weight)


@dataclass(frozen=True)
class TiledDensity(Density):
    """The density whose sums of the design are made a tile at a time."""

    def at(self, x: NDArray[np.float32], limit_error: float = 0.0) -> Border:
        """The density of n states."""
        return self.border_of(
            in_tiles(lambda tiles: tiles @ self._every, self.basis.design(x)), x, limit_error
        )


def tiled(density: Density) -> TiledDensity:
    """The same density, in tiles."""
    return TiledDensity(**{spec.name: getattr(density, spec.name) for spec in fields(Density)})
