"""One of every figure, with names that try to be markup, for tests of what all have in common."""

from xml.etree import ElementTree

import numpy as np

from realloc.draw import (
    Bar,
    Figure,
    MixRow,
    PairGain,
    Point,
    Series,
    TernaryField,
    TernaryPlot,
    bin_values,
    calibration,
    counts,
    distribution,
    flow_matrix,
    gain_matrix,
    intervals,
    lattice,
    mix_bars,
    money_flow,
    ternary,
    time_series,
)

HOSTILE = '<b onclick="x">&amp; "אבג" & a name that goes on and on ' + "x" * 200
CHANNELS = ["ads", HOSTILE, "rebate"]
FLOWS = np.array([[0.0, 50.0, 10.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
GAINS = {
    ("ads", HOSTILE): PairGain(0.05, 0.01, 0.09),
    (HOSTILE, "ads"): PairGain(-0.02, -0.06, 0.02),
    ("rebate", "ads"): PairGain(-0.04, -0.06, -0.02),
}
DAYS = np.arange("2026-01-01", "2026-01-11", dtype="datetime64[D]")
COURSE = np.append(np.linspace(10, 19, 9), np.nan)
FIGURES: dict[str, Figure] = {
    "mix": mix_bars(
        CHANNELS, [MixRow(HOSTILE, [0.5, 0.3, 0.2], [0.4, 0.35, 0.25], HOSTILE)]
    ),
    "counts": counts({"moved": 3, HOSTILE: 1}, "Reasons", highlighted=["moved"]),
    "gains": gain_matrix(CHANNELS, GAINS),
    "flows": flow_matrix(CHANNELS, FLOWS, 1_000.0),
    "sankey": money_flow(CHANNELS, [500.0, 300.0, 200.0], FLOWS),
    "intervals": intervals(
        [Bar("orders", 1.0, -1.0, 3.0), Bar(HOSTILE, 2, 1, 3, -2.5)], "Effects"
    ),
    "calibration": calibration([Point(0, 0.1, -0.2, 0.4), Point(2, 1.5, 1, 2)], "Kept"),
    "distribution": distribution(*bin_values(np.linspace(-1, 3, 200)), "Gains", HOSTILE),
    "series": time_series(
        [Series(HOSTILE, DAYS, COURSE, COURSE - 1, COURSE + 1)], "Course"
    ),
    "ternary": ternary(
        CHANNELS,
        TernaryPlot(
            inside=lattice(8)[:, 2] < 0.5,
            lattice=8,
            logged=np.array([[0.4, 0.3, 0.3]]),
            field=TernaryField(np.array([[0.3, 0.4, 0.3]]), np.array([[-1.0, 0.5, 0.5]])),
            trace=np.array([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]]),
        ),
    ),
}
EMPTY: dict[str, Figure] = {
    "mix": mix_bars(CHANNELS, []),
    "counts": counts({}, "Reasons"),
    "gains": gain_matrix(CHANNELS, {}),
    "flows": flow_matrix(CHANNELS, np.zeros((3, 3))),
    "sankey": money_flow(CHANNELS, [0.0, 0.0, 0.0], np.zeros((3, 3))),
    "intervals": intervals([Bar("x", 1.0, float("nan"), float("nan"))], "Effects"),
    "calibration": calibration([Point(0, 0, 0, 0)], "Kept"),
    "distribution": distribution(*bin_values(np.array([np.nan])), "Gains", "gain"),
    "series": time_series([], "Course"),
    "ternary": ternary(["a", "b"], TernaryPlot()),
}


def parse(figure: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(figure.svg())  # noqa: S314


def texts(figure: Figure) -> list[str]:
    """Every text that the drawing shows."""
    return [text.text or "" for text in parse(figure).iter("text")]


def marks(figure: Figure, look: str) -> list[ElementTree.Element]:
    """Every mark with this class among its looks."""
    found = parse(figure).iter()
    return [mark for mark in found if look in mark.attrib.get("class", "").split()]


def numbers(mark: ElementTree.Element, *names: str) -> list[float]:
    return [float(mark.attrib[name]) for name in names]
