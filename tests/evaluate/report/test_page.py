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
    found = to_html(
        EvaluationReport(
            TEST_SMALL,
            ("Run `realloc abtest`.",),
            VerdictEvidence(goal="orders"),
            (section,),
        )
    )
    assert "Name <code>guardrails</code> in the schema." in found
    assert "<li>Run <code>realloc abtest</code>.</li>" in found
    assert "<b>" not in found
    assert "A &amp; B" in found
    assert "Test small." in found
