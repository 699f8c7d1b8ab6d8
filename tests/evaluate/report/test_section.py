from realloc.base.numbers import plain
from realloc.draw import Bar
from realloc.evaluate.report.section import Section, bar, figure, figure_rows, span
from realloc.evaluate.result import NAN, Estimate, EstimateTable


def test_numbers_read_well():
    assert [figure(value) for value in (12_345.6, -0.5, NAN)] == ["12,346", "−0.5", ""]


def test_intervals_are_empty_where_there_are_none():
    estimate = Estimate("x", 1.0, 0.5, 1.5, 9)
    assert span(estimate) == "[+0.5, +1.5]"
    assert span(estimate, plain) == "[0.5, 1.5]"
    assert span(Estimate.point("x", 1.0, 9)) == ""
    assert bar("name", estimate, -1.0) == Bar("name", 1.0, 0.5, 1.5, -1.0)


def test_figures_stand_in_the_order_of_their_labels_and_lifts_with_a_sign():
    table = EstimateTable(
        (
            Estimate("dr_lift", 0.5, 0.1, 0.9, 20),
            Estimate.point("rate", 0.25, 1000),
            Estimate.point("unknown", NAN, 9),
            Estimate.point("unlabelled", 1.0, 9),
        )
    )
    labels = {"rate": "the rate", "unknown": "not known", "dr_lift": "the lift"}
    assert figure_rows(table, labels) == (
        ("the rate", "0.25", "", "1,000"),
        ("the lift", "+0.5", "[+0.1, +0.9]", "20"),
    )


def test_a_section_is_plain_values():
    section = Section(title="T", heads=("a", "b"), rows=(("1", "2"),), lines=("Text.",))
    assert section.to_json()["table"] == [{"a": "1", "b": "2"}]
    assert section.to_json()["lines"] == ["Text."]
