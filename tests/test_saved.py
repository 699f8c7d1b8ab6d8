"""Models on disk: bit for bit the same, nothing changed accepted, no code ever run."""

import json
import pickle
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest
from safetensors.numpy import load as unpack
from safetensors.numpy import save as pack

from realloc import ReAlloc, load
from realloc.artifact import MANIFEST, WEIGHTS
from realloc.errors import ArtifactError
from tests.conftest import SPENDS, make_frame
from tests.small import CONFIG, fitted, same_bits, today, updated, window, with_student
from tests.test_artifact import seal


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model"
    fitted().save(path)
    return path


def rewrite(path, change_meta=None, change_tensors=None):
    """Change parts of a model and make all digests right again, as another program would."""
    table = json.loads((path / MANIFEST).read_text())
    tensors = unpack((path / WEIGHTS).read_bytes())
    if change_meta:
        change_meta(table["meta"])
    if change_tensors:
        change_tensors(tensors)
    seal(path, table, pack(tensors))


# What goes in comes out


def test_a_loaded_model_answers_bit_for_bit_as_before(saved):
    model, again = fitted(), load(saved)
    to = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    assert same_bits(again.field(today()), model.field(today()))
    assert same_bits(again.field(today(), members=True), model.field(today(), members=True))
    assert same_bits(again.gain(today(), to), model.gain(today(), to))
    assert (again.config, again.schema, again.state.rounds) == (model.config, model.schema, 1)
    assert again.state.encoder == model.state.encoder
    assert again.state.weighing == model.state.weighing
    assert again.state.nuisances == model.state.nuisances


def test_an_update_after_loading_is_the_update_without(saved):
    again = load(saved).update(window(1))
    assert same_bits(again.field(today()), updated().field(today()))
    assert again.churn == updated().churn


def test_saving_what_was_loaded_writes_the_same_bytes(saved, tmp_path):
    load(saved).save(tmp_path / "again")
    for name in (MANIFEST, WEIGHTS):
        assert (saved / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize("form", ["branch", "plain"])
def test_categories_lags_and_every_form_of_student_come_back(form, tmp_path):
    config = replace(with_student(form=form), features=replace(CONFIG.features, lags=2))
    frame = make_frame(units=40)
    model = ReAlloc(config, schema=SPENDS).fit(frame)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    odd = frame.assign(category="never seen")
    for rows in (frame, odd):
        assert same_bits(again.field(rows), model.field(rows))
    assert same_bits(again.update(frame).field(frame), model.update(frame).field(frame))


@pytest.mark.parametrize("channels", [2, 9])
def test_other_numbers_of_channels_come_back(channels, tmp_path):
    fitted(channels).save(tmp_path / "model")
    logs = window(1, channels)
    assert same_bits(load(tmp_path / "model").field(logs), fitted(channels).field(logs))


def test_the_folder_holds_tensors_and_json_that_anyone_can_read(saved):
    assert sorted(file.name for file in saved.iterdir()) == [MANIFEST, WEIGHTS]
    table = json.loads((saved / MANIFEST).read_text())
    assert set(table["meta"]) >= {"config", "schema", "encoder"}
    assert table["meta"]["config"] == json.loads(json.dumps(asdict(CONFIG)))
    assert set(table["versions"]) == {"numpy", "python", "realloc", "torch"}
    assert all(np.isfinite(values).all() for values in unpack((saved / WEIGHTS).read_bytes()).values())


def test_saving_again_replaces_the_former_model(saved):
    updated().save(saved)
    assert load(saved).state.rounds == 2


# Nothing changed is accepted


@pytest.mark.parametrize("name", [MANIFEST, WEIGHTS])
def test_a_byte_flipped_anywhere_is_refused(saved, name):
    sound = (saved / name).read_bytes()
    draw = np.random.default_rng(len(name))
    for position, flip in zip(draw.integers(len(sound), size=200), draw.integers(1, 256, size=200), strict=True):
        changed = bytearray(sound)
        changed[position] ^= int(flip)
        (saved / name).write_bytes(bytes(changed))
        with pytest.raises(ArtifactError):
            load(saved)
    (saved / name).write_bytes(sound)
    assert load(saved).state.rounds == 1


@pytest.mark.parametrize("name", [MANIFEST, WEIGHTS])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.999])
def test_a_truncated_or_longer_file_is_refused(saved, name, part):
    sound = (saved / name).read_bytes()
    for content in (sound[: int(part * len(sound))], sound + b" "):
        (saved / name).write_bytes(content)
        with pytest.raises(ArtifactError, match="Expected"):
            load(saved)


def test_parts_of_two_models_do_not_mix(saved, tmp_path):
    updated().save(tmp_path / "other")
    (saved / WEIGHTS).write_bytes((tmp_path / "other" / WEIGHTS).read_bytes())
    with pytest.raises(ArtifactError):
        load(saved)


def test_a_newer_format_says_that_realloc_must_be_upgraded(saved):
    table = json.loads((saved / MANIFEST).read_text())
    seal(saved, {**table, "format": 2})
    with pytest.raises(ArtifactError, match=r"written by a newer realloc \(format 2, .*\): upgrade realloc"):
        load(saved)


def test_further_keys_on_top_are_refused(saved):
    seal(saved, {**json.loads((saved / MANIFEST).read_text()), "hook": "os.system"})
    with pytest.raises(ArtifactError, match="its keys are others"):
        load(saved)


def test_nothing_there_is_said_plainly(tmp_path):
    with pytest.raises(ArtifactError, match="Expected an artifact of kind 'model'"):
        load(tmp_path / "nothing")


# Digests right, parts wrong


def put(*keys, value):
    def change(table):
        for key in keys[:-1]:
            table = table[key]
        table[keys[-1]] = value

    return change


def drop(*keys):
    def change(table):
        for key in keys[:-1]:
            table = table[key]
        del table[keys[-1]]

    return change


METAS = {
    "no config": drop("config"),
    "a config of text": put("config", value="fast"),
    "a config of a list": put("config", value=["seed"]),
    "an unknown stage": put("config", "stage", value={}),
    "an unknown key": put("config", "student", "widht", value=3),
    "another width": put("config", "student", "width", value=17),
    "another form": put("config", "student", "form", value="plain"),
    "more members": put("config", "teacher", "members", value=3),
    "more places": put("config", "moves", "places", value=3),
    "no schema": drop("schema"),
    "a channel less": put("schema", "channels", value=["ads", "coupon"]),
    "other channels": put("schema", "channels", value=["ads", "coupon", "mail"]),
    "channels turned": put("schema", "channels", value=["coupon", "ads", "rebate"]),
    "features not named": put("schema", "features", value=None),
    "a feature less": put("schema", "features", value=["c1"]),
    "a key of the schema": put("schema", "hook", value="x"),
    "an encoder of nothing": put("encoder", value={}),
    "an encoder of a number": put("encoder", value=3),
    "an encoder without numbers": put("encoder", "numbers", value=[]),
    "numbers of text": put("encoder", "numbers", value=["c1"]),
    "a scale of text": put("encoder", "budget", "centre", value="high"),
    "a cycle unknown": put("encoder", "cycles", value=["moon"]),
    "a clip of text": put("encoder", "clip", value="much"),
    "history from nowhere": put("encoder", "history", value={"count": 2}),
    "rounds of text": put("rounds", value="many"),
    "no rounds": put("rounds", value=0),
    "a scale without end": put("outcome_scale", value=10**400),
    "a scale of zero": put("outcome_scale", value=0.0),
    "a negative scale": put("outcome_scale", value=-1.0),
    "nuisances of a list": put("nuisances", value=[1]),
    "nuisances incomplete": drop("nuisances", "folds"),
    "a dependence of text": put("nuisances", "outcome_dependence", value="strong"),
    "weighing of text": put("weighing", value="heavy"),
    "weighing with more": put("weighing", "more", value=1),
}


@pytest.mark.parametrize("name", METAS)
def test_values_that_do_not_fit_together_are_refused_in_one_sentence(saved, name):
    rewrite(saved, change_meta=METAS[name])
    with pytest.raises(ArtifactError, match="Expected a model of this version of realloc at .* do not fit together"):
        load(saved)


def resize(name, *shape):
    return lambda tensors: tensors.update({name: np.zeros(shape, tensors[name].dtype)})


def retype(name, dtype):
    return lambda tensors: tensors.update({name: tensors[name].astype(dtype)})


def spoil(name, value):
    def change(tensors):
        tensors[name] = tensors[name].copy()
        tensors[name].flat[0] = value

    return change


HEAD = "student.context.head"
TENSORS = {
    "no weights": drop(HEAD),
    "more weights": lambda tensors: tensors.update({"student.extra": np.zeros(3, np.float32)}),
    "weights of another shape": resize(HEAD, 2, 3),
    "weights not finite": spoil(HEAD, np.nan),
    "no replay": drop("replay.x"),
    "states without columns": resize("replay.x", 300),
    "states of another width": resize("replay.x", 300, 4),
    "states of fewer rows": resize("replay.x", 299, 19),
    "shares of one place": resize("replay.shares", 300, 3),
    "pairs of more members": resize("replay.pair", 3, 300, 2),
    "a field not finite": spoil("replay.field", np.inf),
    "a source that is no channel": spoil("replay.source", 3),
    "a target below zero": spoil("replay.target", -1),
    "ranks too few": resize("replay.rank", 10),
    "doubles for singles": retype("replay.x", np.float64),
    "texts for steps": retype("replay.step", np.int8),
    "a centre of one": resize("scaling.centre", 1),
    "an inverse of doubles": retype("scaling.inverse", np.float64),
}


@pytest.mark.parametrize("name", TENSORS)
def test_arrays_that_do_not_fit_together_are_refused_in_one_sentence(saved, name):
    rewrite(saved, change_tensors=TENSORS[name])
    with pytest.raises(ArtifactError, match="Expected a model of this version of realloc at .* do not fit together"):
        load(saved)


def test_rewriting_without_a_change_is_accepted(saved):
    rewrite(saved)  # or the two tests above would prove nothing
    assert same_bits(load(saved).field(today()), fitted().field(today()))


# What may be written


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_not_saved(saved, value):
    model = load(saved)
    next(model.state.student.network.parameters()).view(-1)[3] = value
    with pytest.raises(
        ArtifactError, match=r"Expected finite numbers to save, but 'student\..*' holds others. Nothing"
    ):
        model.save(saved)
    assert same_bits(load(saved).field(today()), fitted().field(today()))


# No code


AUDITED = []
LISTENING = []


def listen(event, arguments):
    if LISTENING and event in ("pickle.find_class", "exec", "os.system", "subprocess.Popen"):
        AUDITED.append(event)


class Payload:
    def __reduce__(self):
        return (AUDITED.append, ("ran",))


def audited(call):
    """What dangerous a call does. Hooks cannot be removed, so this one listens only here."""
    if not hasattr(listen, "added"):
        sys.addaudithook(listen)
        listen.added = True
    AUDITED.clear()
    LISTENING.append(True)
    try:
        return call(), list(AUDITED)
    finally:
        LISTENING.clear()


def test_loading_unpickles_and_runs_nothing(saved):
    load(saved)  # imports are over
    model, found = audited(lambda: load(saved))
    assert found == []
    assert same_bits(model.field(today()), fitted().field(today()))
    _, seen = audited(lambda: pickle.loads(pickle.dumps(SPENDS)))  # noqa: S301  the hook does see what it should
    assert "pickle.find_class" in seen


def test_a_pickle_in_the_place_of_weights_is_not_run(saved):
    evil = pickle.dumps(Payload())
    _, ran = audited(lambda: pickle.loads(evil))  # noqa: S301  the payload does run where it is let
    assert "pickle.find_class" in ran
    for name in (WEIGHTS, MANIFEST):
        sound = (saved / name).read_bytes()
        (saved / name).write_bytes(evil)
        if name == WEIGHTS:
            seal(saved, weights=evil)

        def attempt():
            with pytest.raises(ArtifactError):
                load(saved)

        assert audited(attempt)[1] == []
        (saved / name).write_bytes(sound)
