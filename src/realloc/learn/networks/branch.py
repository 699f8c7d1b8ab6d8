"""Branch and trunk: a function of the shares whose coefficients a network of the state gives.

f(x, z) = ⟨a(x), z⟩ + Σ_j w_j(x) [σ(⟨V_j, z⟩ + s_j(x)) − σ(s_j(x))],  f(x, 0) = 0

The state's network (the branch) runs once per state; a share vector then costs one small layer (the
trunk) that the state shifts by s and weighs by w. σ is SiLU, so the gradient in z is smooth and
written down rather than differentiated.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from realloc.learn.networks.stack import Shape, Stack


@dataclass(frozen=True, kw_only=True)
class BranchShape:
    """Sizes of a branch: d inputs, K channels, widths, and further heads of the state alone."""

    inputs: int
    channels: int
    width: int = 128
    trunk: int = 64
    heads: int = 0


@dataclass(frozen=True)
class BranchAt:
    """What the states say: slopes a (M, n, K), shifts s and weights w (M, n, W), further heads (M,
    n, heads).
    """

    directions: Tensor  # V (M, K, W)
    a: Tensor
    s: Tensor
    w: Tensor
    heads: Tensor

    def value(self, z: Tensor) -> Tensor:
        """f at z."""
        a, s, w = self._spread(z)
        lifted = nn.functional.silu(self._lift(z) + s) - nn.functional.silu(s)
        return (a * z).sum(-1) + (lifted * w).sum(-1)

    def slopes(self, z: Tensor) -> Tensor:
        """∇_z f = a + V (w σ')."""
        a, s, w = self._spread(z)
        pre = self._lift(z) + s
        gate = torch.sigmoid(pre)
        bend = gate * (1 + pre * (1 - gate)) * w
        return a + (bend.flatten(1, -2) @ self.directions.transpose(1, 2)).view(z.shape)

    def _lift(self, z: Tensor) -> Tensor:
        lifted = z.flatten(1, -2) @ self.directions
        return lifted.view(*z.shape[:-1], lifted.shape[-1])

    def _spread(self, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if z.ndim == self.a.ndim:
            return self.a, self.s, self.w
        return self.a.unsqueeze(2), self.s.unsqueeze(2), self.w.unsqueeze(2)


class Branch(nn.Module):
    """M members of f."""

    def __init__(self, members: int, shape: BranchShape, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        K = shape.channels
        W = shape.trunk
        self.sizes = [K, W, W, shape.heads]
        stack = Shape(
            inputs=shape.inputs,
            outputs=sum(self.sizes),
            width=shape.width,
        )
        self.context = Stack(members, stack, seed)
        self.directions = nn.Parameter(
            torch.randn(members, K, W, generator=generator) * K**-0.5
        )
        self.offsets = nn.Parameter(torch.randn(members, 1, W, generator=generator) * 0.5)

    @property
    def members(self) -> int:
        """M."""
        return self.context.members

    def open(self, x: Tensor) -> BranchAt:
        """Read states (M, n, d) once."""
        a, s, w, heads = self.context(x).split(self.sizes, dim=-1)
        return BranchAt(self.directions, a, s + self.offsets, w, heads)


@dataclass(frozen=True)
class OpenedPlain:
    """A network on states and shares together; its slopes cost a backward pass."""

    network: Stack
    x: Tensor  # (M, n, d)

    def value(self, z: Tensor) -> Tensor:
        """f at z."""
        x = (
            self.x
            if z.ndim == self.x.ndim
            else self.x.unsqueeze(2).expand(-1, -1, z.shape[2], -1)
        )
        together = torch.cat([x, z], dim=-1)
        return self.network(together.flatten(1, -2))[..., 0].view(z.shape[:-1])

    def slopes(self, z: Tensor) -> Tensor:
        """∇_z f, differentiable again where parameters are being learned."""
        again = torch.is_grad_enabled()
        with torch.enable_grad():
            at = z.detach().requires_grad_()
            return torch.autograd.grad(self.value(at).sum(), at, create_graph=again)[0]


class Plain(nn.Module):
    """M members of one network f(x, z), for comparison."""

    def __init__(self, members: int, shape: BranchShape, seed: int) -> None:
        super().__init__()
        inputs = shape.inputs + shape.channels
        self.network = Stack(
            members,
            Shape(
                inputs=inputs,
                outputs=1,
                width=shape.width,
            ),
            seed,
        )

    @property
    def members(self) -> int:
        """M."""
        return self.network.members

    def open(self, x: Tensor) -> OpenedPlain:
        """Hold states (M, n, d)."""
        return OpenedPlain(self.network, x)
