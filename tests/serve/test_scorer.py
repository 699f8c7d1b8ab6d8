"""The scorer decides as the model does, and a row's answer is the same to the bit in any
company.
"""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from realloc import ReAlloc
from realloc import serve as serving
from realloc.base.artifact import read_artifact, write_artifact
from realloc.base.errors import ArtifactError
from realloc.base.numerics import row_stable as tiles
from realloc.learn.teacher.repeated_mixes import Places
from tests.small import CONFIG, fitted, today, updated, window

NEAR = 1e-5  # of a gain, as the issue asks


def served(model, tmp_path):
    serving.export(model, tmp_path / "serving")
    return serving.open(tmp_path / "serving")


def compare(model, scorer, rows, **asked):
    """Reasons equal, gains to 1e-5, shares to what float32 can tell apart; returns the answers
    of the scorer.
    """
    model.quiet = True
    wanted, found = model.recommend(rows, **asked), scorer.recommend(rows, **asked)
    assert list(found.columns) == list(wanted.columns)
    assert found.reason.tolist() == wanted.reason.tolist()
    assert found.moved.tolist() == wanted.moved.tolist()
    largest = wanted.gain.abs().max()
    np.testing.assert_allclose(found.gain, wanted.gain, rtol=NEAR, atol=NEAR * largest)
    np.testing.assert_allclose(
        found.sigma, wanted.sigma, rtol=1e-3, atol=1e-4 * max(wanted.sigma.max(), 1e-12)
    )
    shares = [name for name in wanted.columns if name.startswith("share_")]
    off = np.abs(found[shares].to_numpy() - wanted[shares].to_numpy()).max(axis=1)
    assert off.max() < 2e-3  # two ends of one gain
    assert np.mean(off > 1e-9) <= 0.05
    return found


def test_answers_are_those_of_the_model(tmp_path):
    model = updated()
    found = compare(model, served(model, tmp_path), today(200))
    assert found.moved.mean() > 0.2  # there is something to compare


def test_so_are_those_of_many_channels_under_constraints(tmp_path):
    model = fitted(channels=10)
    rows = window(99, channels=10).to_pandas().drop(columns="orders").head(60)
    names = list(model.known_schema.channels)
    asked = {"floors": {names[0]: 0.05}, "frozen": [names[3]], "largest_move": 0.1}
    scorer = served(model, tmp_path)
    compare(model, scorer, rows, constraints=asked)


def test_so_are_those_under_a_cap_over_all_rows(tmp_path):
    model, rows = updated(), today(60)
    scorer = served(model, tmp_path)
    money = scorer.recommend(rows)[["spend_ads", "spend_coupon", "spend_rebate"]].sum()
    grown = (
        money / rows[["ads", "coupon", "rebate"]].mul(rows.budget, axis=0).sum().to_numpy()
    ).idxmax()
    found = compare(
        model,
        scorer,
        rows,
        pools={grown.removeprefix("spend_"): round(float(money[grown]) * 0.99, 2)},
    )
    assert found[grown].sum() < money[grown]


@pytest.mark.parametrize(
    "change",
    [
        {"decision": replace(CONFIG.decision, uncertainty="members")},
        {"decision": replace(CONFIG.decision, search="greedy", lambda_support=0.01)},
        {"features": replace(CONFIG.features, lags=2)},
        {"support": replace(CONFIG.support, coordinates="sphere")},
    ],
    ids=["members", "greedy", "lags", "sphere"],
)
def test_so_are_those_of_other_settings(tmp_path, change):
    model = ReAlloc(replace(CONFIG, **change)).fit(window())
    compare(model, served(model, tmp_path), today())


def test_so_are_those_with_lasting_mixes_and_a_guardrail(tmp_path):
    frame = window().to_pandas()
    frame["gmv"] = 2 * frame.orders + np.random.default_rng(0).normal(size=len(frame))
    schema = replace(window().schema, features=None, guardrails=("gmv",))
    model = ReAlloc(CONFIG, schema, quiet=True).fit(frame)
    mixes = Places(
        np.array(window(99).shares[:20]), np.linspace(-1, 1, 20), np.full(20, 5), 0.5, 0.1
    )
    outcomes = {
        name: replace(learned, places=mixes) for name, learned in model.fitted.outcomes.items()
    }
    model.state = replace(model.fitted, outcomes=outcomes)
    found = compare(model, served(model, tmp_path), today())
    assert {"moved", "guardrail"} & set(found.reason)


def test_so_is_that_to_rows_none_of_which_can_be_read(tmp_path):
    model, rows = updated(), today(2).assign(ads=-1.0)
    model.quiet = True
    found = served(model, tmp_path).recommend(rows)
    assert set(found.reason) == {"bad_input"}
    pd.testing.assert_frame_equal(found, model.recommend(rows))


def test_field_gain_and_explanation_are_those_of_the_model(tmp_path):
    model, rows = updated(), today()
    scorer = served(model, tmp_path)
    np.testing.assert_allclose(scorer.field(rows), model.field(rows), rtol=1e-4, atol=1e-5)
    to = np.roll(rows[["ads", "coupon", "rebate"]].to_numpy(), 1, axis=1)
    np.testing.assert_allclose(scorer.gain(rows, to), model.gain(rows, to), rtol=1e-4, atol=1e-5)
    unit = rows.item_id.iloc[3]
    one, other = scorer.explain(rows, unit), model.explain(rows, unit)
    assert [row["reason"] for row in one.rows] == [row["reason"] for row in other.rows]
    assert [(t.source, t.target) for t in one.transfers] == [
        (t.source, t.target) for t in other.transfers
    ]


@pytest.mark.parametrize("channels", [3, 10])
def test_a_row_alone_is_the_row_in_a_large_batch_to_the_bit(tmp_path, channels):
    scorer = served(fitted(channels), tmp_path)
    rows = (
        window(98, channels=channels, units=2000 if channels == 3 else 60)
        .to_pandas()
        .drop(columns="orders")
    )
    together = scorer.recommend(rows)
    chosen = np.random.default_rng(0).choice(len(rows), 12, replace=False)
    for i in chosen.tolist():
        pd.testing.assert_frame_equal(
            scorer.recommend(rows.iloc[[i]]), together.iloc[[i]], check_exact=True
        )
    for size in (2, 3, 4, 7, 8, 64, 1000):
        part = rows.iloc[41 : 41 + size].sample(frac=1, random_state=size)
        pd.testing.assert_frame_equal(
            scorer.recommend(part), together.loc[part.index], check_exact=True
        )


@pytest.mark.parametrize("shape", [(19, 128), (128, 128), (128, 67), (1000, 1000), (40, 2)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products_in_tiles_give_a_row_the_same_bits_in_any_company(shape, kind):
    random = np.random.default_rng(0)
    x, weights = (
        random.normal(size=(200, shape[0])).astype(kind),
        random.normal(size=shape).astype(kind),
    )
    together = tiles.in_tiles(lambda part: part @ weights, x)
    order = random.permutation(200)
    one_by_one = np.concatenate(
        [tiles.in_tiles(lambda part: part @ weights, x[i : i + 1]) for i in range(200)]
    )
    shuffled = tiles.in_tiles(lambda part: part @ weights, x[order])
    assert together.tobytes() == one_by_one.tobytes()
    assert together[order].tobytes() == shuffled.tobytes()


def test_without_tiles_the_same_row_gives_other_bits():
    """The negative control: on this machine products do round a row by its company."""
    random = np.random.default_rng(0)
    x, weights = (
        random.normal(size=(200, 128)).astype(np.float32),
        random.normal(size=(128, 67)).astype(np.float32),
    )
    assert not np.array_equal(
        x @ weights, np.concatenate([x[i : i + 1] @ weights for i in range(200)])
    )


def test_serving_loads_no_training_code(tmp_path):
    serving.export(fitted(), tmp_path / "serving")
    today(5).to_parquet(tmp_path / "today.parquet")
    code = (
        "import sys, json; from realloc import serve; s = serve.open(sys.argv[1]); "
        "s.recommend(sys.argv[2]);"
        "print(json.dumps(sorted(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "serving", tmp_path / "today.parquet"],
        capture_output=True,
        check=True,
    )
    loaded = set(json.loads(ran.stdout))
    heavy = {
        "torch",
        "lightgbm",
        "scipy.optimize",
        "scipy.stats",
        "sklearn",
    }  # pyarrow itself loads pandas if it can
    learning = {
        "rounds",
        "reallocation",
        "saved",
        "churn",
        "teacher.fit",
        "student.distill",
        "student.potential",
    }
    learning |= {
        "nuisances.crossfit",
        "networks.stack",
        "replay.buffer",
        "support.correction",
        "world",
    }
    assert not loaded & (heavy | {f"realloc.{name}" for name in learning})
    assert "realloc.decide.decide" in loaded  # it did decide


def test_an_artifact_is_small_and_the_same_from_a_folder(tmp_path):
    model = updated()
    model.save(tmp_path / "model")
    serving.export(model, tmp_path / "one")
    serving.export_folder(tmp_path / "model", tmp_path / "other")
    for name in ("manifest.json", "weights.safetensors"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    names = read_artifact(tmp_path / "one", "serving").tensors
    assert not [name for name in names if "replay" in name]
    straight = serving.open_model(tmp_path / "model").recommend(today())
    pd.testing.assert_frame_equal(
        straight, serving.open(tmp_path / "one").recommend(today()), check_exact=True
    )


def tampered(tmp_path, change):
    """An artifact whose digests hold and whose parts do not."""
    serving.export(fitted(), tmp_path / "sound")
    sound = read_artifact(tmp_path / "sound", "serving")
    meta, tensors = sound.meta, dict(sound.tensors)
    change(meta, tensors)
    write_artifact(tmp_path / "bad", "serving", tensors, meta)
    return tmp_path / "bad"


def _cut(name):
    return lambda meta, tensors: tensors.update({name: np.ascontiguousarray(tensors[name][1:])})


BAD = {
    "a part is missing": lambda meta, tensors: tensors.pop("outcome0.student.directions"),
    "a part too many": lambda meta, tensors: tensors.update({"extra": np.zeros(3)}),
    "a network cut": _cut("outcome0.student.context.weights.0"),
    "directions cut": _cut("outcome0.student.directions"),
    "an index cut": _cut("direction.points"),
    "a memory cut": _cut("support.logged.x"),
    "no number": lambda meta, tensors: tensors["outcome0.doubt.factor"].__setitem__((0, 0), np.nan),
    "another type": lambda meta, tensors: tensors.update(
        {"outcome0.doubt.x": tensors["outcome0.doubt.x"].astype(float)}
    ),
    "a scale of 0": lambda meta, tensors: meta["outcomes"][0].update(outcome_scale=0),
    "a scale of text": lambda meta, tensors: meta["outcomes"][0].update(outcome_scale="1"),
    "a scale of true": lambda meta, tensors: meta["outcomes"][0].update(outcome_scale=True),
    "another feature": lambda meta, tensors: meta["schema"].update(
        features=[*meta["schema"]["features"][:-1], "other"]
    ),
    "no round": lambda meta, tensors: meta.update(rounds=0),
    "a head of other members": lambda meta, tensors: tensors.update(
        {
            name: np.concatenate([values, values])
            for name, values in tensors.items()
            if name.startswith("outcome0.student.context.")
        }
    ),
    "a network of another type": lambda meta, tensors: tensors.update(
        {"outcome0.student.context.head": tensors["outcome0.student.context.head"].astype(float)}
    ),
    "a network with a part too many": lambda meta, tensors: tensors.update(
        {"outcome0.student.context.more": np.zeros(3, np.float32)}
    ),
    "axes of the index cut": _cut("direction.axes"),
    "an index that asks for more than it has": lambda meta, tensors: meta["direction"].update(
        k=10**6
    ),
    "a ladder that falls": lambda meta, tensors: tensors.update(
        {"direction.ladder": np.ascontiguousarray(tensors["direction.ladder"][::-1])}
    ),
    "mixes that were never seen": lambda meta, tensors: (
        meta["outcomes"][0].update(places={"lasting": 0.5, "noise": 0.1}),
        tensors.update(
            {
                "outcome0.places.shares": np.full((4, 3), 1 / 3),
                "outcome0.places.residual": np.zeros(4),
                "outcome0.places.count": np.zeros(4, np.int64),
            }
        ),
    ),
    "another outcome": lambda meta, tensors: meta["outcomes"][0].update(name="gmv"),
    "an unknown key": lambda meta, tensors: meta["config"].update(boost=3),
    "dropout": lambda meta, tensors: meta["config"]["decision"].update(uncertainty="dropout"),
    "plain": lambda meta, tensors: meta["config"]["student"].update(form="plain"),
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD.keys())
def test_parts_that_do_not_fit_are_refused(tmp_path, change):
    with pytest.raises(ArtifactError, match="parts do not fit together"):
        serving.open(tampered(tmp_path, change))


def test_sound_parts_are_not_refused(tmp_path):
    """The negative control of the cases above."""
    serving.open(tampered(tmp_path, lambda meta, tensors: None))


@pytest.mark.parametrize("name", ["manifest.json", "weights.safetensors"])
def test_a_changed_byte_is_refused(tmp_path, name):
    serving.export(fitted(), tmp_path / "serving")
    path = tmp_path / "serving" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=name):
        serving.open(tmp_path / "serving")
