"""The launch report: everything that offline evidence says about a fitted model, and whether to launch it."""

from realloc.launch.config import LaunchConfig
from realloc.launch.page import to_html
from realloc.launch.report import LaunchReport, launch_report

__all__ = ["LaunchConfig", "LaunchReport", "launch_report", "to_html"]
