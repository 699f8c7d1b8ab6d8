import numpy as np
import pytest

from realloc.learn.support.coordinates import bend, choose, fill_in, locate, pattern_codes

INNER = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
EDGE = np.array([[0.2, 0.0, 0.8], [0.1, 0.1, 0.8]])


def test_zeros_make_the_coordinates_those_of_the_active_channels():
    assert choose(INNER, "auto") == "log_ratio"
    assert choose(EDGE, "auto") == "partial"


def test_mixes_of_one_channel_alone_make_the_coordinates_a_sphere():
    assert choose(np.eye(3), "auto") == "sphere"


def test_a_resting_channel_is_filled_in_with_what_is_usual_beside_the_others():
    shares = np.array([[0.5, 0.25, 0.25], [0.6, 0.4, 0.0]])
    centre = np.log([[0.4, 0.4, 0.2], [0.3, 0.2, 0.5]])
    filled = np.exp(fill_in(bend("partial", shares), centre))
    filled /= filled.sum(axis=1, keepdims=True)
    assert np.allclose(filled, [[0.5, 0.25, 0.25], [0.3, 0.2, 0.5]])


def test_what_active_channels_are_off_counts_as_if_none_rested():
    """Two of three channels have one degree of freedom of two: the square is doubled."""
    centre = np.zeros((1, 3))
    bent = np.array([[0.7, -0.7, -1e3]])
    off = fill_in(bent, centre)
    assert np.square(off).sum() == pytest.approx(2 * (0.7**2 + 0.7**2))
    assert off[0, 2] == 0


@pytest.mark.parametrize("kind", ["log_ratio", "partial", "sphere"])
def test_what_was_asked_for_is_used_whatever_the_log_holds(kind):
    assert choose(INNER, kind) == choose(EDGE, kind) == kind


def test_log_ratios_are_those_of_aitchison():
    centred = np.log(INNER) - np.log(INNER).mean(axis=1, keepdims=True)
    found = locate("log_ratio", INNER)
    assert found.shape == (2, 2)
    assert np.allclose(np.linalg.norm(found, axis=1), np.linalg.norm(centred, axis=1))


def test_square_roots_lie_on_the_unit_sphere_and_are_exact_at_zero():
    found = locate("sphere", EDGE)
    assert np.allclose(np.linalg.norm(found, axis=1), 1)
    assert found[0, 1] == 0


@pytest.mark.parametrize("kind", ["log_ratio", "sphere"])
def test_zeros_and_float_error_below_zero_give_finite_coordinates(kind):
    assert np.isfinite(locate(kind, np.array([[1.0, 0.0, 0.0], [0.5, 0.5, -1e-18]]))).all()


def test_sets_of_active_channels_have_numbers_of_their_own():
    random = np.random.default_rng(0)
    active = np.unique(random.random((3000, 50)) < 0.5, axis=0)
    codes = pattern_codes(active.astype(float))
    assert len(np.unique(codes)) == len(active)
    assert np.array_equal(pattern_codes(active * random.random(active.shape)), codes)


def test_every_subset_of_ten_channels_is_told_apart():
    every = (np.arange(1024)[:, None] >> np.arange(10)) & 1
    assert len(np.unique(pattern_codes(every.astype(float)))) == 1024


def test_a_share_however_small_is_active():
    assert pattern_codes(np.array([0.5, 0.5, 0.0])) != pattern_codes(
        np.array([0.5, 0.5, 1e-300])
    )
