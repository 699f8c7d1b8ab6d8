"""Colours can be read and told apart, also by people who are colour-blind."""

from itertools import combinations

import numpy as np
import pytest

from realloc.draw.palette import CHANNELS, COLOURS, contrast, ink_on, look_of, palette_css

# Machado, Oliveira and Fernandes (2009), full severity; on linear RGB.
BLIND = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "nobody": np.eye(3),
}


def lab(colour: str, blind: str) -> np.ndarray:
    """CIELAB of a colour as somebody sees it."""
    rgb = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(BLIND[blind]) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ seen / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one: str, other: str, blind: str) -> float:
    return float(np.linalg.norm(lab(one, blind) - lab(other, blind)))


@pytest.mark.parametrize("blind", BLIND)
@pytest.mark.parametrize("side", [0, 1])
def test_the_first_six_channels_can_be_told_apart(blind, side):
    for one, other in combinations(CHANNELS[:6], 2):
        assert distance(one[side], other[side], blind) > 14, (one, other)


@pytest.mark.parametrize("blind", BLIND)
def test_gains_and_losses_can_be_told_apart(blind):
    for side in (0, 1):
        assert distance(COLOURS["gain"][side], COLOURS["loss"][side], blind) > 40


def test_red_and_green_alone_would_fail_this_test():
    assert (
        distance("#c0392b", "#5d7a1c", "deutan")
        < 14
        < distance("#c0392b", "#5d7a1c", "nobody")
    )


@pytest.mark.parametrize("side", [0, 1])
def test_text_stands_out_from_its_ground(side):
    for ground in ("paper", "card"):
        for ink in ("ink", "soft", "gain", "loss", "good", "bad", "wait"):
            assert contrast(COLOURS[ink][side], COLOURS[ground][side]) >= 4.4, (ink, ground)
    for pair in CHANNELS:
        assert contrast(ink_on(pair[side]), pair[side]) >= 4.4, pair


def test_channels_beyond_the_palette_share_a_grey():
    assert look_of(0) == "c0"
    assert look_of(len(CHANNELS)) == look_of(99) == "cx"


def test_every_variable_that_the_style_uses_is_defined():
    import re

    from realloc.draw.templates import style

    used = set(re.findall(r"var\((--[\w-]+)\)", style()))
    assert used <= set(re.findall(r"(--[\w-]+):#", palette_css()))
