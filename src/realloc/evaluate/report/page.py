"""The report as pieces, and as one HTML page."""

from realloc.draw import (
    Bullets,
    DataTable,
    PagePiece,
    Paragraph,
    Part,
    VerdictBox,
    intervals,
    page,
)
from realloc.evaluate.report.report import EvaluationReport
from realloc.evaluate.report.section import Section
from realloc.evaluate.report.verdict import DO_NOT, LAUNCH, TEST_SMALL

TONES = {LAUNCH: "good", TEST_SMALL: "wait", DO_NOT: "bad"}


def to_html(report: EvaluationReport, title: str = "Evaluation report") -> str:
    """The whole page: verdict and why, every section, and the rules of the verdict."""
    return page(title, to_pieces(report))


def to_pieces(report: EvaluationReport) -> list[PagePiece]:
    """What the page shows."""
    return [
        VerdictBox(f"{report.verdict.capitalize()}.", TONES[report.verdict]),
        Bullets(report.reasons),
        *(Part(section.title, _show(section)) for section in report.sections),
        Part("Rules of the verdict", [Bullets(report.rules)]),
    ]


def _show(section: Section) -> list[PagePiece]:
    pieces: list[PagePiece] = [Paragraph(text, "missing") for text in section.missing]
    pieces += [Paragraph(text) for text in section.lines]
    if section.rows:
        pieces.append(DataTable(section.heads, section.rows))
    drawn = intervals(section.drawn, "Values with 95 % intervals")
    return pieces if drawn.empty else [*pieces, drawn]
