"""The launch report: everything that offline evidence says about a fitted model, and whether to launch it."""

from realloc.evaluate.report.config import LaunchConfig
from realloc.evaluate.report.page import to_html
from realloc.evaluate.report.report import LaunchReport, launch_report

__all__ = ["LaunchConfig", "LaunchReport", "launch_report", "to_html"]
