"""Baselines: one policy per file, the same two verbs as ours."""

from collections.abc import Callable
from functools import partial

from realloc.baselines.ablations import (
    WithoutOrthogonalization,
    WithoutStudent,
    WithoutSupport,
)
from realloc.baselines.additive import AdditiveROI
from realloc.baselines.constant_field import ConstantField
from realloc.baselines.context_only import ContextOnly
from realloc.baselines.density_constrained import DensityConstrained
from realloc.baselines.giks import GIKS
from realloc.baselines.logging import Logging
from realloc.baselines.peers_causal_forest import CausalForestDMLPolicy
from realloc.baselines.peers_cql import CQLPolicy
from realloc.baselines.peers_linear_dml import LinearDMLConfig, LinearDMLPolicy
from realloc.baselines.r_learner import RLearner
from realloc.baselines.ridge_interactions import RidgeInteractions
from realloc.baselines.s_network import PAPER, SNetwork
from realloc.baselines.s_trees import STrees
from realloc.baselines.teacher_only import TeacherOnly
from realloc.baselines.uniform import Uniform
from realloc.baselines.vcnet import VCNet
from realloc.baselines.warm_teacher import WarmTeacher
from realloc.decide.types import Policy
from realloc.learn.teacher.config import SURFACES, TeacherConfig

BASELINES: dict[str, Callable[..., Policy]] = {
    "logging": Logging,
    "uniform": Uniform,
    "constant_field": ConstantField,
    "additive_roi": AdditiveROI,
    "s_gbdt_global": partial(STrees, search="global"),
    "s_gbdt_constrained": partial(STrees, search="constrained"),
    "s_gbdt_local": partial(STrees, search="greedy"),
    "s_nn_global": partial(SNetwork, search="global", settings=PAPER),
    "s_nn_constrained": partial(SNetwork, search="constrained", settings=PAPER),
    "s_nn_local": partial(SNetwork, search="greedy", settings=PAPER),
    "s_nn_ensemble": SNetwork,
    "ridge_interactions": RidgeInteractions,
    "r_learner": RLearner,
    "context_only": ContextOnly,
    "vcnet": VCNet,
    "giks": GIKS,
    "density_constrained": DensityConstrained,
    "linear_dml": LinearDMLPolicy,
    "linear_dml_poly": partial(LinearDMLPolicy, settings=LinearDMLConfig(degree=2)),
    "causal_forest": CausalForestDMLPolicy,
    "cql": CQLPolicy,
    "teacher_only": TeacherOnly,
    "without_student": WithoutStudent,
    "warm_teacher": partial(
        WarmTeacher, surfaces=SURFACES, members=TeacherConfig().members
    ),
    "without_orthogonalization": WithoutOrthogonalization,
    "without_support": WithoutSupport,
}

__all__ = [
    "BASELINES",
    "GIKS",
    "AdditiveROI",
    "CQLPolicy",
    "CausalForestDMLPolicy",
    "ConstantField",
    "ContextOnly",
    "DensityConstrained",
    "LinearDMLPolicy",
    "Logging",
    "RLearner",
    "RidgeInteractions",
    "SNetwork",
    "STrees",
    "TeacherOnly",
    "Uniform",
    "VCNet",
    "WarmTeacher",
    "WithoutOrthogonalization",
    "WithoutStudent",
    "WithoutSupport",
]
