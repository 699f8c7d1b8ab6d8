import numpy as np

from realloc.learn.support.config import SupportConfig
from realloc.learn.support.density import compare_counts, fit_density
from tests.learn.support.drawn import QUIET, bent, drawn, logged_of, with_zeros

SPHERE = SupportConfig(coordinates="sphere")


def centres(one):
    """Learned and true centres in the density's own coordinates, and its border."""
    density = one.support.density
    border = density.at(one.x)
    return border.centre, (one.law.centre.T - density.origin) @ density.whiten, border


def test_the_centre_of_the_worlds_law_is_recovered():
    found, true, border = centres(drawn("extreme"))
    off = np.linalg.norm(found - true, axis=1) / border.scale
    nothing = np.linalg.norm(true - true.mean(axis=0), axis=1) / border.scale
    assert np.sqrt(np.square(off).mean()) < 4 * np.sqrt(
        2 * 20 / 3500
    )  # twenty columns that may matter, two dimensions
    assert np.sqrt(np.square(off).mean()) < np.sqrt(np.square(nothing).mean()) / 3


def test_the_scale_of_the_worlds_law_is_recovered():
    one = drawn("benign")
    found, true = one.support.density.at(one.x).scale, one.law.spread
    assert np.corrcoef(np.log(found), np.log(true))[0, 1] > 0.8
    ratio = np.log(found) - np.log(true)
    assert ratio.std() < 4 * np.sqrt(20 / (4 * 3500))


def test_the_radius_is_the_mahalanobis_distance_of_the_world_up_to_its_unit():
    one = drawn("extreme")
    found = one.support.density.at(one.x).radius(one.rows, one.shares[:, None])[:, 0]
    true = np.sqrt(one.law.distance(one.shares))
    assert np.corrcoef(found, true)[0, 1] > 0.98
    assert 0.9 < np.median(found / true) < 1.1


def test_the_spread_of_members_is_the_error_of_the_centre():
    found, true, border = centres(drawn("benign"))
    z = (
        np.square((found - true) / border.scale[:, None]).mean(axis=1)
        / border.centre_variance
    )
    assert 0.6 < np.sqrt(z.mean()) < 1.5


def test_members_of_units_with_many_rows_are_less_sure_than_as_many_rows_of_their_own():
    """The rows of a unit are drawn together: eight copies of every row teach nothing new."""
    x, shares, _ = bent(90, seed=4)  # too few for curves
    x, shares = x.repeat(8, axis=0), shares.repeat(8, axis=0)
    folds = (np.arange(720) // 8) % 5
    together, apart = (
        fit_density(logged_of(x, shares, per_unit), folds, QUIET, 0)[0]
        .at(x[::8])
        .centre_variance.mean()
        for per_unit in (8, 1)
    )
    assert together > 3 * apart


def test_a_radius_with_margin_is_the_radius_and_that_many_standard_errors():
    one = drawn("benign")
    border, rows, places = (
        one.support.density.at(one.x, 0.3),
        one.rows[:50],
        one.shares[:50, None],
    )
    plain, wide = (border.radius(rows, places, margin)[:, 0] for margin in (0.0, 3.0))
    se = np.sqrt(border.centre_variance[:50] + plain**2 * border.scale_variance[:50])
    assert np.allclose(wide, plain + 3 * se)
    assert (border.centre_variance >= 0.3**2).all()


def test_directions_that_logs_never_took_are_steep():
    """The third channel always gets a tenth: a place with more of it is far."""
    random = np.random.default_rng(0)
    first = random.uniform(0.2, 0.7, 400)
    shares = np.stack([first, 0.9 - first, np.full(400, 0.1)], axis=1)
    x = random.normal(size=(400, 2)).astype(np.float32)
    density, radius = fit_density(logged_of(x, shares), np.arange(400) // 4 % 5, QUIET, 0)
    border = density.at(x[:1])
    along, across = (
        border.radius(np.array([0]), np.array([[place]]))[0, 0]
        for place in ([0.55, 0.35, 0.1], [0.4, 0.35, 0.25])
    )
    limit = np.quantile(radius, 0.95)
    assert along < limit < across


def test_held_out_radii_are_those_of_fits_that_never_saw_the_unit():
    x, shares = with_zeros(300)
    folds = np.arange(300) // 4 % 5
    logged = logged_of(x, shares)
    _, radius = fit_density(logged, folds, SPHERE, 0)
    lone = np.flatnonzero(folds == 0)[0]
    one = shares.copy()
    one[lone] = [0.05, 0.05, 0.9, 0.0]
    _, moved = fit_density(logged_of(x, one), folds, SPHERE, 0)
    others = (folds == 0) & (np.arange(300) != lone)
    assert np.allclose(radius[others], moved[others], rtol=1e-9)
    assert radius[lone] != moved[lone]
    assert not np.allclose(
        radius[folds == 1], moved[folds == 1], rtol=1e-9
    )  # their fits did see it


def test_resting_channels_hide_nothing_about_the_others():
    """Channels rest by chance: what is usual for the active ones is found, and so is its spread."""
    random = np.random.default_rng(3)
    n, spread = 3000, 0.4
    x = random.normal(size=(n, 3)).astype(np.float32)
    usual = np.stack(
        [0.8 * x[:, 0], -0.5 * x[:, 1], np.full(n, 0.5), x[:, 2], 0 * x[:, 0]], 1
    )
    amounts = np.exp(usual + spread * random.normal(size=(n, 5)))
    amounts[:, 2:] *= random.random((n, 3)) > 0.3
    shares = amounts / amounts.sum(axis=1, keepdims=True)
    logged = logged_of(x, shares)
    density, radius = fit_density(logged, np.arange(n) // 4 % 5, QUIET, 0)
    assert density.kind == "partial"
    border = density.at(x)
    centre = border.log_centre
    assert centre is not None
    off = (centre - centre.mean(axis=0)).T - (usual - usual.mean(axis=1, keepdims=True))
    assert np.sqrt(np.square(off).mean()) < 0.15 * spread
    size = np.sqrt(np.median(np.square(radius)))
    for active in (3, 4, 5):
        own = (shares > 0).sum(axis=1) == active
        assert 0.8 < np.sqrt(np.median(np.square(radius[own]))) / size < 1.15
    limit = np.quantile(radius, 0.95)
    for active in (3, 4, 5):  # a radius in fewer directions is another one
        own = (shares > 0).sum(axis=1) == active
        far = 0.95 - (radius[own] <= limit).mean()
        assert abs(far) < 4 * np.sqrt(0.95 * 0.05 / own.sum())


def test_counts_with_few_rows_join_the_more_careful_larger_one():
    random = np.random.default_rng(0)
    shares = np.tile([0.25, 0.25, 0.25, 0.25], (1400, 1))
    shares[:600] = [0.5, 0.3, 0.2, 0.0]
    shares[:50] = [0.5, 0.5, 0.0, 0.0]
    radius = random.random(1400)
    radius[:600] *= 2
    one, two, three, four = compare_counts(radius, shares, 0.95)
    assert one == two == three
    assert 1.8 < four / three < 2.2
