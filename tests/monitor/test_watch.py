"""`realloc monitor`: a look at a deployment, with and without outcomes."""

import json

import numpy as np
import pandas as pd
import pytest

from realloc.monitor.watch import lines, watch
from realloc.serve.load import LoadedModel
from realloc.storage.store import Store
from tests.batch.conftest import NOW, _made, place, recommend  # noqa: F401  fixtures
from tests.cli.conftest import run  # noqa: F401  a fixture
from tests.small import window


def write(place, frame, name="window.parquet"):  # noqa: F811
    frame.to_parquet(place / name)
    return str(place / name)


def store_of(place):  # noqa: F811
    return Store(place / "store", clock=lambda: NOW)


def test_a_calm_window_raises_no_alarm_and_says_what_is_not_known(place):  # noqa: F811
    told = watch(store_of(place), write(place, window(96).to_pandas()))
    assert told["alarms"] == []
    assert told["version"] == 1
    assert told["realised"] == "no decisions are logged yet"
    text = "\n".join(lines(told))
    assert "Realised gains: not known, no decisions are logged yet." in text
    assert json.loads(json.dumps(told)) == told


def test_drift_a_freeze_and_age_raise_alarms(place):  # noqa: F811
    frame = window(96).to_pandas().assign(c1=99.0)
    store = store_of(place)
    store.freeze("odd prices")
    found = watch(
        Store(place / "store", clock=lambda: NOW + pd.Timedelta(days=60)), write(place, frame)
    )["alarms"]
    assert any("frozen since" in alarm for alarm in found)
    assert any("'feature c1'" in alarm for alarm in found)
    assert any("60 days old" in alarm for alarm in found)


def test_a_version_without_a_summary_says_not_known_and_never_zero(place):  # noqa: F811
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LoadedModel, "states", None)
        told = watch(store_of(place), write(place, window(96).to_pandas()))
    assert told["drift"] is None
    assert "Drift against training: not known" in "\n".join(lines(told))


def outcomes_of(place, effect):  # noqa: F811
    """The decided rows with an outcome: half of the units treated, which gain `effect` times
    what was promised.
    """
    logs = window(97, units=40).to_pandas().head(150)
    found = pd.read_parquet(place / "recs.parquet")
    treated = logs.item_id.map({u: n % 2 == 0 for n, u in enumerate(sorted(set(logs.item_id)))})
    noise = np.random.default_rng(0).normal(scale=0.02, size=len(logs))
    logs["orders"] = 10 + noise + np.where(treated, effect * found.gain.to_numpy(), 0.0)
    return logs.assign(arm=np.where(treated, "treatment", "control"))


@pytest.mark.parametrize(("effect", "change"), [(1.0, "none"), (-1.0, "stop")])
def test_a_random_hold_out_says_whether_gains_are_real(place, effect, change):  # noqa: F811
    recommend(place)
    told = watch(store_of(place), write(place, outcomes_of(place, effect)), arm="arm")
    found = told["realised"]
    assert found["joined"] == 150
    assert found["calibration"]["fit"]["share"]["value"] == pytest.approx(effect, abs=0.2)
    assert found["calibration"]["change"] == change
    assert bool(told["alarms"]) == (change == "stop")


def test_without_a_hold_out_nothing_is_claimed(place):  # noqa: F811
    recommend(place)
    found = watch(store_of(place), write(place, outcomes_of(place, 1.0)))["realised"]
    assert found["calibration"] is None
    assert "cannot be told from luck" in found["why_not"]


def test_the_command_prints_alarms_and_exits_with_two(place, run):  # noqa: F811
    calm = write(place, window(96).to_pandas())
    assert "Support:" in run("monitor", "--store", place / "store", "--logs", calm).stdout
    odd = write(place, window(96).to_pandas().assign(c1=99.0), "odd.parquet")
    done = run("monitor", "--store", place / "store", "--logs", odd, "--json", code=2)
    assert json.loads(done.stdout)["alarms"]
    assert "have drifted" in done.stderr


def test_the_audit_command_finds_a_flipped_byte(place, run):  # noqa: F811
    recommend(place)
    told = json.loads(run("audit", "--store", place / "store", "--json").stdout)
    assert told["replays"][0]["differ"] == 0
    assert "150 rows decided again, 0 differ" in run("audit", "--store", place / "store").stdout
    path = next((place / "store" / "decisions" / "00000001").glob("*.parquet"))
    content = bytearray(path.read_bytes())
    content[100] ^= 4
    path.write_bytes(bytes(content))
    assert path.name in run("audit", "--store", place / "store", code=2).stderr
