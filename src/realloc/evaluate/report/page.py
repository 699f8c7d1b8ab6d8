"""The report as one HTML page that needs nothing else, in the look of the A/B readout."""

import re
from html import escape

from realloc.evaluate.abtest.page import forest, page, table, verdict_box
from realloc.evaluate.report.report import EvaluationReport
from realloc.evaluate.report.section import Section
from realloc.evaluate.report.verdict import DO_NOT, LAUNCH, TEST_SMALL

TONES = {LAUNCH: "good", TEST_SMALL: "wait", DO_NOT: "bad"}


def to_html(report: EvaluationReport, title: str = "Evaluation report") -> str:
    """The whole page: verdict and why, every section, and the rules of the verdict."""
    parts = [
        verdict_box(f"{report.verdict.capitalize()}.", TONES[report.verdict]),
        _list(report.reasons),
        *(_section(section) for section in report.sections),
        "<h2>Rules of the verdict</h2>",
        _list(report.rules),
    ]
    return page(title, parts)


def _section(section: Section) -> str:
    return "".join(
        (
            f"<h2>{escape(section.title)}</h2>",
            *(f'<p class="missing">{_prose(text)}</p>' for text in section.missing),
            *(f"<p>{_prose(text)}</p>" for text in section.lines),
            table(section.heads, section.rows) if section.rows else "",
            forest(section.drawn, "", f"{section.title}: values with 95 % intervals"),
        )
    )


def _list(texts: tuple[str, ...]) -> str:
    return f"<ul>{''.join(f'<li>{_prose(text)}</li>' for text in texts)}</ul>"


def _prose(text: str) -> str:
    """Safe for a page, with `names` set as such."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
