"""The evaluation report: all that offline evidence says about a fitted policy,
and whether to launch it.
"""

from realloc.evaluate.report.config import ReportConfig
from realloc.evaluate.report.page import to_html
from realloc.evaluate.report.report import EvaluationReport, evaluation_report

__all__ = ["EvaluationReport", "ReportConfig", "evaluation_report", "to_html"]
