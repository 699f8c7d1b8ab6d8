"""Stage I: the fast teacher.

Surfaces learn r on one window, a held-out orthogonal loss weighs them.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.linalg import LinAlgError
from torch import Tensor

from realloc.base.errors import LogError
from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats
from realloc.learn.nuisances.crossfit import Nuisances
from realloc.learn.scaling import Floats32
from realloc.learn.teacher.committee import CommitteeWeights, weigh
from realloc.learn.teacher.config import (
    FactualConfig,
    KernelConfig,
    NetworkConfig,
    TeacherConfig,
)
from realloc.learn.teacher.covariance import GainCovariance
from realloc.learn.teacher.gaussian import fit_kernel
from realloc.learn.teacher.kernel import Kernel
from realloc.learn.teacher.network import NetworkSurface, fit_network
from realloc.learn.teacher.posterior import slim
from realloc.learn.teacher.sample import TeacherSample, TensorScaling, as_tensor, scale
from realloc.learn.teacher.sparse import fit_sparse
from realloc.learn.teacher.surface import Fit, Surface
from realloc.learn.window import Window

DISAGREEMENT = 1.2  # δ as a multiple of the surfaces' standard deviation
REACH = 0.2  # longest move about which surfaces are asked
MOVES = 3000  # about which surfaces are asked, and rows that they must answer for
CENTRE_RIDGE = 1e-3  # per row, on standardised states
LEAST_SHARED = 0.25  # 1 − Σw² of weights w, where one surface has nearly all of them


@dataclass(frozen=True)
class Teacher:
    """μ(x, p) − μ(x, p') of M members: a weighted sum of surfaces, in units of the outcome."""

    surfaces: tuple[Surface, ...]
    weighing: CommitteeWeights
    scaling: TensorScaling
    covariance: GainCovariance | None = None  # of the kernel surface, where there is one

    @property
    def members(self) -> int:
        """M."""
        return self.surfaces[0].members

    def values(self, x: Tensor, p: Tensor) -> Tensor:
        """μ at states (n, d) and shares (n, q, K), up to a function of the state: (M, n, q)."""
        z = self.scaling.shares(p)
        total = torch.zeros(self.members, *z.shape[:-1])
        for weight, surface in self._weighted():
            total += weight * surface.values(x, z)
        return total * self.scaling.outcome

    def field(self, x: Tensor, p: Tensor) -> Tensor:
        """The projected Jacobian P₀∇_p μ at shares (n, K) or (n, q, K): (M, …)."""
        z = self.scaling.shares(p)
        total = torch.zeros(self.members, *z.shape)
        for weight, surface in self._weighted():
            total += weight * surface.slopes(x, z)
        return self.scaling.field(total)

    def _weighted(self) -> list[tuple[float, Surface]]:
        pairs = zip(self.weighing.weights, self.surfaces, strict=True)
        return [(weight, surface) for weight, surface in pairs if weight > 0]


@dataclass(frozen=True, kw_only=True)
class SurfaceConfigs:
    """The configs of the surfaces, one each."""

    kernel: KernelConfig
    network: NetworkConfig
    factual: FactualConfig


@dataclass(frozen=True)
class KernelStart:
    """Where surfaces begin to learn: a former kernel's lengths, or all of a former teacher."""

    kernel: Kernel | None = None
    teacher: Teacher | None = None

    def network(self, number: int) -> NetworkSurface | None:
        """The former network in this place of the committee."""
        if self.teacher is None or self.teacher.weighing.failed:
            return None
        former = self.teacher.surfaces[number]
        return former if isinstance(former, NetworkSurface) else None


def fit_teacher(
    window: Window,
    nuisances: Nuisances,
    config: TeacherConfig,
    surfaces: SurfaceConfigs,
    seed: int,
    progress: Progress = silent,
    start: KernelStart | None = None,
) -> Teacher:
    """Fit every surface of the committee and weigh those that could be fitted."""
    start = start or KernelStart()
    scaling = None if start.teacher is None else start.teacher.scaling
    sample = draw_sample(window, nuisances, scaling)
    fits: dict[str, Fit] = {}
    for number, name in enumerate(config.surfaces):
        former = start.network(number)
        members = config.members
        try:
            # Whether numbers are finite is asked once, of the result.
            with np.errstate(all="ignore"):
                if name == "kernel":
                    kernel = start.kernel
                    fit = fit_kernel(
                        sample, members, surfaces.kernel, seed, progress, kernel
                    )
                elif name == "network":
                    fit = fit_network(
                        sample, members, surfaces.network, seed + 1, progress, former
                    )
                elif name == "factual":
                    fit = fit_network(
                        sample, members, surfaces.factual, seed + 2, progress, former
                    )
                else:
                    fit = fit_sparse(sample, members, seed + 3, progress)
                if is_finite(fit, sample):
                    fits[name] = fit
        except LinAlgError:
            continue
    return weigh_fits(fits, config, sample, window.shares, seed)


def is_finite(fit: Fit, sample: TeacherSample) -> bool:
    """Whether a surface answers with finite numbers, as far as `MOVES` rows show."""
    rows = torch.arange(0, len(sample.y), -(-len(sample.y) // MOVES))
    x = sample.x[rows]
    z = sample.z[rows]
    answers = [fit.surface.values(x, z[:, None]), fit.surface.slopes(x, z)]
    if fit.covariance is not None:
        answers.append(torch.from_numpy(fit.covariance.factor))
    # NaN there says that nobody held the row out.
    answers.append(fit.contrast[~fit.contrast.isnan()])
    return len(answers[-1]) > 0 and all(bool(part.isfinite().all()) for part in answers)


def weigh_fits(
    fits: dict[str, Fit],
    config: TeacherConfig,
    sample: TeacherSample,
    shares: Floats,
    seed: int,
) -> Teacher:
    """The committee of the surfaces that could be fitted, by name."""
    if not fits:
        raise LogError(
            "Expected a log that at least one of the teacher's surfaces can be fitted to, but "
            f"none of {list(config.surfaces)} gave finite numbers. Look for extreme outcomes "
            "(`realloc check`), and put them on another scale or leave them out."
        )
    weighing = weigh(
        (sample.y - sample.m).numpy(),
        [centre(fit.contrast.numpy(), sample) for fit in fits.values()],
        sample.weights.numpy(),
        sample.units.numpy(),
        config.weighed,
    )
    failed = tuple(name for name in config.surfaces if name not in fits)
    weighing = replace(weighing, failed=failed)
    parts = tuple(fit.surface for fit in fits.values())
    covariance = fits["kernel"].covariance if "kernel" in fits else None
    if covariance is not None:
        if len(parts) > 1:
            covariance = calibrate(covariance, sample, shares, parts, weighing, seed)
        covariance = slim(covariance)
    return Teacher(parts, weighing, sample.scaling, covariance)


def centre(contrast: Floats32, sample: TeacherSample) -> Floats32:
    """f(x, p) − E[f(x, p) | x] from f(x, p) − f(x, e), by regression on the state across folds.

    m is the mean of outcomes, not the outcome at the mean mix e, which may be a mix that nobody
    ever had. Where f is curved, what lies between the two hides how much of f is true.
    """
    state = torch.cat([sample.x, sample.e], dim=1).double().numpy()
    design = np.column_stack([np.ones(len(state)), state, np.square(state)])
    folds = sample.folds.numpy()
    known = np.isfinite(contrast)
    centred = contrast.copy()
    for fold in np.unique(folds):
        held = known & (folds == fold)
        others = known & (folds != fold)
        w = sample.weights.numpy()[others].astype(np.float64)
        part = design[others]
        gram = (part * w[:, None]).T @ part
        gram[np.diag_indices(len(gram))] += CENTRE_RIDGE * max(w.sum(), 1.0)
        b = np.linalg.solve(gram, part.T @ (w * contrast[others]))
        centred[held] -= (design[held] @ b).astype(np.float32)
    return centred


def calibrate(
    covariance: GainCovariance,
    sample: TeacherSample,
    shares: Floats,
    surfaces: tuple[Surface, ...],
    weighing: CommitteeWeights,
    seed: int,
) -> GainCovariance:
    """With the committee's own variance and disagreement, on moves towards other rows' shares.

    No move is longer than REACH. Both are one number for all rows: on a single move surfaces agree
    or disagree by chance, on thousands they show how wrong their kind can be.
    """
    random = np.random.default_rng(seed)
    rows = random.permutation(len(shares))[:MOVES]
    off = shares[random.permutation(rows)] - shares[rows]
    length = np.linalg.norm(off, axis=1, keepdims=True)
    off *= np.minimum(1.0, REACH / np.maximum(length, 1e-12))
    start = sample.z[rows]
    end = sample.scaling.shares(as_tensor(shares[rows] + off))
    moved = float((end - start).square().sum())
    posterior = replace(covariance, misfit=0.0).covariance(
        sample.x[rows].numpy(), shares[rows]
    )
    own = float(np.einsum("nk,nkl,nl->", off, posterior, off)) / sample.scaling.outcome**2
    if moved == 0 or own <= 0 or sum(weighing.weights) == 0:
        return covariance
    pair = torch.stack([start, end], dim=1)
    values = torch.stack(
        [surface.values(sample.x[rows], pair).double() for surface in surfaces]
    )
    gains = (values[..., 1] - values[..., 0]).numpy()  # (S, M, n)
    apart = (DISAGREEMENT * disagreement(gains.mean(axis=1), weighing)) ** 2
    share = 1.0
    if gains.shape[1] > 1:
        # What surfaces did not learn, they tend to miss together: standard deviations add up.
        spread = np.array(weighing.weights) @ gains.std(axis=1, ddof=1)
        share = float(np.square(spread).sum()) / own
    return replace(covariance, misfit=apart * len(rows) / moved, share=share)


def disagreement(gains: Floats, weighing: CommitteeWeights) -> float:
    """The standard deviation between the surfaces' gains (S, n), root mean square over moves.

    Every surface counts by its weight and at the size that held-out rows allow it: one that
    knows nothing, or promises too much, says nothing about the others' errors.
    """
    weights = np.array(weighing.weights) / sum(weighing.weights)
    sized = gains * np.array(weighing.slopes)[:, None]
    off_mean = np.square(sized - weights @ sized)
    several = max(1 - float(np.square(weights).sum()), LEAST_SHARED)
    return float((weights @ off_mean).mean() / several) ** 0.5


def draw_sample(
    window: Window, nuisances: Nuisances, scaling: TensorScaling | None = None
) -> TeacherSample:
    """The window's rows in the units a teacher learns in: its own, or those of a former teacher."""
    counted = window.weights > 0
    scaling = scaling or scale(window.shares[counted], window.outcome[counted])
    centre = float(np.average(window.outcome, weights=window.weights))

    return TeacherSample(
        x=as_tensor(window.x),
        z=scaling.shares(as_tensor(window.shares)),
        y=as_tensor((window.outcome - centre) / scaling.outcome),
        m=as_tensor((nuisances.outcome - centre) / scaling.outcome),
        e=scaling.shares(as_tensor(nuisances.shares)),
        folds=as_tensor(window.folds, np.int64),
        units=as_tensor(window.units, np.int64),
        weights=as_tensor(window.weights),
        scaling=scaling,
    )
