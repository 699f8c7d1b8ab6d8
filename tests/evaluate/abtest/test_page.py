"""The readout as a page."""

import re
from xml.etree import ElementTree

from realloc.evaluate.abtest import read_out, to_html
from tests.evaluate.abtest.simulated import METRICS, make_arms, make_config


def test_the_page_stands_alone_and_escapes_names():
    metrics = {**METRICS, "<b>odd</b>": {"value": "orders"}}
    config = make_config(
        metrics=metrics,
        predicted="gain",
        predicted_lower="gain_lower",
        predicted_metric="orders",
    )
    found = read_out(make_arms(4000), config)
    page = to_html(found, "Test of <May>")
    assert "http:" not in page
    assert "<script" not in page
    assert "<b>" not in page
    assert "Test of &lt;May&gt;" in page
    drawn = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page)]  # noqa: S314
    assert len(drawn) == 3  # effects in percent, in points, and calibration
    assert len(drawn[0].findall("circle")) == 5
    assert "NaN" not in page
    assert "nan" not in page
    for effect in found.effects:
        assert effect.decision in page
    assert found.verdict in found._repr_html_()
