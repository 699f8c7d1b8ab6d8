"""kill −9 at random moments of real `realloc fit`, `update` and `recommend`; a thousand of them
by `make faults`.
"""

import os
import signal

import pytest

from realloc.storage.store import commit
from realloc.storage.store.store import Store
from tests.faults.commands import (
    Undisturbed,
    check_after_kill,
    commands,
    run,
    survive,
    write_inputs,
)

KILLS = (3, 4, 4, 3)  # of the fit, two updates and the advice


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    write_inputs(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        return Undisturbed(folder, folder / "plain")


@pytest.mark.parametrize(
    "number", range(4), ids=["fit", "update", "second update", "recommend"]
)
def test_a_killed_command_leaves_a_whole_store_and_run_again_ends_as_if_never_killed(
    plain, number
):
    survive(plain, number, KILLS[number], seed=number)


def point_first(root, version, model, gate, _real=commit._publish):
    """The mutant: HEAD names the version before it is there."""
    record = version.pack(root / "tmp" / "record", {})
    commit.write_head(
        root, commit.Head(version.number, commit.sha256(record[commit.MANIFEST]))
    )
    return _real(root, version, model, gate)


def test_control_a_command_that_points_before_it_writes_is_caught(plain):
    store = plain.store.with_name("mutant")

    def mutate():
        commit._publish = point_first
        setattr(Store, "_gate", lambda *_: os.kill(os.getpid(), signal.SIGKILL))  # noqa: B010

    assert run(commands(plain.folder, store)[0], prepare=mutate).code is None
    with pytest.raises(Exception, match="cannot be used"):
        check_after_kill(store, 0, {}, plain.after[0])


def test_control_a_window_that_was_acknowledged_and_lost_is_caught(plain):
    with pytest.raises(AssertionError, match="2 was acknowledged, the store holds 1"):
        check_after_kill(plain.before[1], 2, {}, {})
