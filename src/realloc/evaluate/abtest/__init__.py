"""Randomized tests: plan them, read them out,
and hold the model's predicted gains against what was realised.
"""

from realloc.evaluate.abtest.calibration import Calibration
from realloc.evaluate.abtest.config import AbtestConfig, Metric, parse_abtest
from realloc.evaluate.abtest.page import to_html
from realloc.evaluate.abtest.power import TestPlan, plan_test
from realloc.evaluate.abtest.readout import Readout, read_out

__all__ = [
    "AbtestConfig",
    "Calibration",
    "Metric",
    "Readout",
    "TestPlan",
    "parse_abtest",
    "plan_test",
    "read_out",
    "to_html",
]
