"""Power loss at any moment of a commit: what the disk may then hold is always a whole store,
and every sync is needed for it.
"""

import itertools
import shutil

import pytest

from realloc.base.errors import StoreError
from tests.faults.powerloss import Replayed, lay_down
from tests.faults.recording import recorded
from tests.storage.store.light import LightStore, grown


def record(folder, rounds):
    """The disk before the commit after `rounds` others, the operations of it, and where the
    store lies.
    """
    if rounds:
        grown(folder / "store", rounds)
    before = Replayed(folder)
    with recorded() as operations:
        LightStore(folder / "store").step()
    return before, operations


def bad_states(before, operations, rounds, scratch, start=0):
    """Sentences for states in which the store is not whole, has lost what was acknowledged, or
    takes no further round.
    """
    seen, count = set(), 0
    pointed = max(
        i
        for i, operation in enumerate(operations)
        if operation[0] == "rename" and operation[2].name == "HEAD"
    )
    acknowledged = pointed + 1  # the sync after it, or what stands in its place
    for index, operation in enumerate([None, *operations]):
        if operation:
            before.do(operation)
        if index < start:
            continue
        for tree in before.states():
            key = (
                index > acknowledged,
                hash(tuple(sorted(tree.items(), key=lambda item: item[0]))),
            )
            if key in seen:
                continue
            seen.add(key)
            count += 1
            lay_down(tree, scratch)
            try:
                number = LightStore(scratch / "store").number()
                least = rounds + 1 if index > acknowledged else rounds
                if not least <= number <= rounds + 1:
                    yield f"version {number} after {operation}"
                if (
                    LightStore(scratch / "store").step(window=rounds + 1).number
                    != rounds + 1
                ):
                    yield f"no further round after {operation}"
            except (StoreError, OSError) as problem:
                yield f"{problem} after {operation}"
            finally:
                shutil.rmtree(scratch)
    bad_states.count = count


@pytest.mark.parametrize("rounds", [0, 3])
def test_a_power_loss_at_any_moment_leaves_a_whole_store(tmp_path, rounds):
    (tmp_path / "disk").mkdir()
    before, operations = record(tmp_path / "disk", rounds)
    assert list(bad_states(before, operations, rounds, tmp_path / "state")) == []
    assert bad_states.count > 60


def syncs(operations):
    return [
        index
        for index, operation in enumerate(operations)
        if operation[0].startswith("sync")
    ]


def is_caught(folder, rounds, index):
    """Whether states after the pointer was renamed, or else any after the sync that is left
    out, show that it is missing.
    """
    for from_pointer in (True, False):
        shutil.rmtree(folder / "disk", ignore_errors=True)
        (folder / "disk").mkdir()
        before, operations = record(folder / "disk", rounds)
        mutant = operations[:index] + operations[index + 1 :]
        if index == len(operations) - 1:
            mutant.append(
                ("make_folder", folder / "disk" / "acknowledged")
            )  # a moment after the acknowledgement
        pointed = next(
            i for i, o in enumerate(mutant) if o[0] == "rename" and o[2].name == "HEAD"
        )
        start = max(index, pointed + 1) if from_pointer else index
        if any(True for _ in bad_states(before, mutant, rounds, folder / "state", start)):
            return True
    return False


@pytest.mark.parametrize("rounds", [0, 3])
def test_control_without_any_one_sync_a_power_loss_would_break_the_store(tmp_path, rounds):
    (tmp_path / "disk").mkdir()
    _, operations = record(tmp_path / "disk", rounds)
    assert [
        operations[index]
        for index in syncs(operations)
        if not is_caught(tmp_path, rounds, index)
    ] == []
    assert len(syncs(operations)) >= 11


def test_control_a_pointer_written_in_place_is_caught(tmp_path):
    (tmp_path / "disk").mkdir()
    before, operations = record(tmp_path / "disk", 3)
    place = next(
        i for i, o in enumerate(operations) if o[0] == "rename" and o[2].name == "HEAD"
    )
    head = operations[place][2]
    line = next(o[2] for o in operations if o[0] == "create" and o[1].name == ".HEAD.new")
    in_place = [("remove_file", head), ("create", head, line), ("sync_file", head)]
    mutant = operations[:place] + in_place + operations[place + 1 :]
    end = tmp_path / "disk" / "end"
    mutant += [
        ("make_folder", end),
        ("rename", end, end.with_name("HEAD")),
    ]  # stands for the moment of acknowledgement
    assert list(itertools.islice(bad_states(before, mutant, 3, tmp_path / "state"), 1))
