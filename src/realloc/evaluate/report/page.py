"""The report as one HTML page."""

from realloc.draw.page import bullets, heading, page, paragraph, table, verdict_box
from realloc.draw.svg import forest
from realloc.evaluate.report.report import EvaluationReport
from realloc.evaluate.report.section import Section
from realloc.evaluate.report.verdict import DO_NOT, LAUNCH, TEST_SMALL

TONES = {LAUNCH: "good", TEST_SMALL: "wait", DO_NOT: "bad"}


def to_html(report: EvaluationReport, title: str = "Evaluation report") -> str:
    """The whole page: verdict and why, every section, and the rules of the verdict."""
    parts = [
        verdict_box(f"{report.verdict.capitalize()}.", TONES[report.verdict]),
        bullets(report.reasons),
        *(part for section in report.sections for part in _show(section)),
        heading("Rules of the verdict"),
        bullets(report.rules),
    ]
    return page(title, parts)


def _show(section: Section) -> list[str]:
    return [
        heading(section.title),
        *(paragraph(text, "missing") for text in section.missing),
        *(paragraph(text) for text in section.lines),
        table(section.heads, section.rows) if section.rows else "",
        forest(section.drawn, "", f"{section.title}: values with 95 % intervals"),
    ]
