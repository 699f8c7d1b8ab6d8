"""`realloc status`, `freeze` and `unfreeze` on a store whose rounds cost nothing."""

import json

import pytest
import typer
from typer.testing import CliRunner

from realloc.base.errors import StoreError
from realloc.cli import store as commands
from realloc.storage.ledger.entry import Entry
from realloc.storage.ledger.ledger import DECISIONS, Ledger
from tests.storage.store.light import grown

app = typer.Typer()
for name in ("status", "rollback", "verify", "freeze", "unfreeze"):
    app.command(name)(getattr(commands, name))


def run(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done.output


def test_status_says_what_the_store_holds(tmp_path):
    store = grown(tmp_path / "store", 3)
    told = run("status", "--store", store.path)
    assert "3 (current)" in told
    assert "2026-01-01 to 2026-01-02" in told
    found = json.loads(run("status", "--store", store.path, "--json"))
    assert [version["number"] for version in found["versions"]] == [2, 3]
    assert (found["current"], found["frozen"], found["problem"], found["writing"]) == (
        3,
        None,
        None,
        False,
    )
    with store.writer():
        assert "Another process is writing to the store" in run(
            "status", "--store", store.path
        )


def test_status_says_which_search_decided_the_last_batch(tmp_path):
    store = grown(tmp_path / "store", 1)
    assert json.loads(run("status", "--store", store.path, "--json"))["last_batch"] is None
    assert "Compiled search:" in run("status", "--store", store.path)
    searches = {"compiled": 2, "numpy: grid": 1}
    for kind, source in (("batch", {"searches": searches}), ("service", {})):
        entry = Entry(
            number=0,
            previous=None,
            run=f"{kind} of today",
            kind=kind,
            made="2026-11-16T12:00:00+00:00",
            version=1,
            model=None,
            segments=(),
            rows=0,
            schema={},
            settings={},
            source=source,
        )
        Ledger(store.path / DECISIONS).append(entry, [])
    shown = " ".join(run("status", "--store", store.path).split())
    assert "Last batch, run batch of today: 2 rows by the compiled search, " in shown
    assert "1 row by the numpy search (grid)." in shown
    found = json.loads(run("status", "--store", store.path, "--json"))
    assert found["last_batch"] == {"run": "batch of today", "searches": searches}


def test_status_of_a_broken_store_says_so_and_exits_with_2(tmp_path):
    store = grown(tmp_path / "store", 2)
    (store.path / "HEAD").write_bytes(b"broken")
    assert "realloc rollback --to N" in " ".join(
        run("status", "--store", store.path, code=2).split()
    )
    assert (
        "HEAD"
        in json.loads(run("status", "--store", store.path, "--json", code=2))["problem"]
    )


def test_verify_names_the_file_and_exits_with_2(tmp_path):
    store = grown(tmp_path / "store", 2)
    weights = next(store.path.glob("versions/00000001-*/model/weights.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x07")
    assert "weights.safetensors" in run("verify", "--store", store.path, code=2)
    assert (
        json.loads(run("verify", "--store", store.path, "--json", code=2))["intact"]
        is False
    )


def test_freeze_and_unfreeze(tmp_path):
    store = grown(tmp_path / "store", 1)
    run("freeze", "--store", store.path, "--reason", "prices look odd")
    assert "prices look odd" in run("status", "--store", store.path)
    assert "again" in run("unfreeze", "--store", store.path)
    assert "was not frozen" in run("unfreeze", "--store", store.path)


def test_no_store_is_a_sentence(tmp_path):
    for verb in ("status", "rollback", "freeze"):
        done = CliRunner().invoke(app, [verb, "--store", str(tmp_path / "none")])
        assert isinstance(done.exception, StoreError), verb
    with pytest.raises(StoreError, match="there is no folder"):
        commands.status(tmp_path / "none")
