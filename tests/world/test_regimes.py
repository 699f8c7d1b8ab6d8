import json
from dataclasses import replace

import pytest

from realloc.base.errors import ConfigError
from realloc.world.regimes import (
    REGIMES,
    Regime,
    WorldParameters,
    find_regime,
    parameters_hash,
)


def test_the_four_regimes_are_the_papers():
    table = {
        name: (r.confounding, r.overlap, r.boundary, r.exploration)
        for name, r in REGIMES.items()
    }
    assert table == {
        "benign": (0.25, 0.40, 0.0, 0.10),
        "medium": (0.75, 0.25, 0.0, 0.05),
        "hard": (1.25, 0.15, 0.0, 0.02),
        "extreme": (1.75, 0.10, 0.5, 0.01),
    }


def test_what_the_paper_states_is_kept():
    p = WorldParameters()
    assert (p.block_size, p.shock_scale, p.budget_noise, p.budget_min, p.budget_max) == (
        6,
        0.35,
        0.2,
        0.2,
        5.0,
    )
    assert (p.logit_scale, p.spread_tilt, p.slope_confounding, p.interaction_shift) == (
        0.45,
        0.2,
        0.35,
        0.4,
    )
    assert (p.treatment_scale, p.energy_shares, p.rotation_scale) == (
        4.0,
        (0.45, 0.35, 0.20),
        1.2,
    )


def test_the_world_is_frozen():
    """Changing a parameter or a regime changes every published number: it needs a new calibration
    and docs/world.md.
    """
    assert parameters_hash() == "811156203d91c085"


def test_any_change_changes_the_hash():
    assert parameters_hash(replace(WorldParameters(), noise=0.51)) != parameters_hash()


def test_parameters_survive_json():
    p = replace(WorldParameters(), steps=(0.03, 0.07))
    assert WorldParameters.from_dict(json.loads(json.dumps(p.to_dict()))) == p


def test_an_unknown_regime_names_the_nearest():
    with pytest.raises(ConfigError, match="got 'bening'. Did you mean 'benign'"):
        find_regime("bening")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"support_level": 1.0}, "Expected `support_level` between 0 and 1"),
        ({"path_intervals": 5}, "Expected path_intervals >= 10, got 5"),
        ({"energy_shares": (0.5, 0.5)}, "Expected three energy_shares that sum to 1"),
        ({"exploration_scale": 1.0}, "Expected exploration_scale > 1, got 1.0"),
        ({"block_size": 3}, "Expected block_size >= 4"),
        ({"steps": (0.1, 0.0)}, "Expected steps > 0"),
        ({"steps": 0.1}, "Expected `steps`"),
    ],
)
def test_bad_parameters_are_refused(change, text):
    with pytest.raises(ConfigError, match=text):
        WorldParameters(**change)


def test_a_regime_needs_overlap_and_a_rate():
    with pytest.raises(ConfigError, match="Expected `overlap` > 0"):
        Regime(name="none", confounding=0.0, overlap=0.0, boundary=0.0, exploration=0.0)
    with pytest.raises(ConfigError, match="Expected `exploration` from 0 to 1"):
        Regime(name="all", confounding=0.0, overlap=0.1, boundary=0.0, exploration=1.5)
