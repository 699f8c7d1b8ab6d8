"""The launch report as a page."""

from realloc.evaluate.report.page import to_html
from realloc.evaluate.report.report import EvaluationReport
from realloc.evaluate.report.section import Section
from realloc.evaluate.report.verdict import TEST_SMALL, VerdictEvidence


def test_names_in_sentences_are_set_as_code_and_nothing_from_the_data_becomes_markup():
    section = Section(
        title="A & B",
        lines=("The unit <b>x</b> is new.",),
        missing=("Name `guardrails` in the schema.",),
    )
    report = EvaluationReport(
        TEST_SMALL,
        ("Run `realloc abtest`.",),
        VerdictEvidence(goal="orders"),
        (section,),
    )
    found = to_html(report)
    assert "Name <code>guardrails</code> in the schema." in found
    assert "<li>Run <code>realloc abtest</code>.</li>" in found
    assert "<b>" not in found
    assert "A &amp; B" in found
    assert "Test small." in found
    assert "> **Test small.**" in report._repr_markdown_()
