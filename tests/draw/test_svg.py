"""Figures: every value stands where its number says."""

from xml.etree import ElementTree

from realloc.draw.svg import Bar, Point, forest, scatter

NAN = float("nan")


def parse(figure: str) -> ElementTree.Element:
    return ElementTree.fromstring(figure)[0]  # noqa: S314


def numbers(element: ElementTree.Element, *names: str) -> list[float]:
    return [float(element.attrib[name]) for name in names]


def test_a_forest_draws_intervals_around_zero_and_limits():
    bars = [Bar("orders", 1.0, -1.0, 3.0), Bar("a < b", -2.0, -3.0, -1.0, limit=-2.5)]
    figure = parse(forest(bars, "%", "Effects"))
    assert figure.attrib["aria-label"] == "Effects"
    texts = [text.text for text in figure.findall("text")]
    assert texts == ["-2 %", "+2 %", "0 %", "orders", "a < b"]
    (zero,) = [
        x for x, text in zip(figure.findall("text"), texts, strict=True) if text == "0 %"
    ]
    (middle,) = numbers(zero, "x")
    first, second = figure.findall("line[@class='bar']")
    low, high = numbers(first, "x1", "x2")
    assert abs((middle - low) * 3 - (high - middle)) < 0.5
    assert numbers(second, "x2")[0] < middle
    assert len(figure.findall("circle")) == 2
    assert len(figure.findall("line[@class='limit']")) == 1


def test_what_has_no_interval_is_left_out():
    assert forest([Bar("x", 1.0, NAN, NAN)], "", "nothing") == ""
    some = parse(forest([Bar("x", 1.0, NAN, NAN), Bar("y", 1.0, 0.0, 2.0)], "", "one"))
    assert len(some.findall("circle")) == 1


def test_a_scatter_draws_every_point_and_the_diagonal():
    points = [Point(0.0, 0.1, -0.2, 0.4), Point(2.0, 1.5, 1.0, 2.0)]
    figure = parse(scatter(points, "caption", "label"))
    (first, second) = (numbers(dot, "cx", "cy") for dot in figure.findall("circle"))
    assert second[0] > first[0]  # further right
    assert second[1] < first[1]  # higher
    assert len(figure.findall("line[@class='limit']")) == 1
    assert [text.text for text in figure.findall("text")][-1] == "caption"


def test_fewer_than_two_points_draw_nothing():
    assert scatter([Point(0.0, 0.0, 0.0, 0.0)], "caption", "label") == ""
