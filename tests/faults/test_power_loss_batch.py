"""Power loss at any moment of a batch: no output that the decision log does not know, no half
of either, every sync is needed.
"""

import copy
import hashlib
import json
import shutil

import pytest

from realloc.batch.run import Options, recommend_file
from realloc.storage.ledger import Ledger
from realloc.storage.store import Store
from tests.batch.conftest import rows
from tests.faults.powerloss import Replayed, lay_down
from tests.faults.recording import recorded
from tests.small import fitted, window


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store and two days' rows, outside of the disk that loses power."""
    place = tmp_path_factory.mktemp("made")
    Store(place / "store").commit(fitted(), window())
    rows().head(6).to_parquet(place / "first.parquet")
    rows().head(9).to_parquet(place / "second.parquet")
    return place


def run(made, disk, day):
    recommend_file(
        made / day,
        made / "store",
        disk / "recs.parquet",
        Options(decisions=disk / "decisions"),
    )


def record(made, disk, again):
    """The disk before a batch (with one of the day before, if `again`), and the operations of
    it but for finished parts.
    """
    disk.mkdir(parents=True)
    if again:
        run(made, disk, "first.parquet")
    before = Replayed(disk)
    with recorded() as operations:
        run(made, disk, "second.parquet")
    return before, [one for one in operations if ".recs.parquet.work" not in str(one[1])]


def look(place, least, ended):
    """What is wrong with a disk on which at least so many batches were named, and the last one
    was over; None: nothing.
    """
    ledger, out = Ledger(place / "decisions"), place / "recs.parquet"
    faults = ledger.verify()
    if faults:
        return faults[0]
    known = [entry.source["output"]["sha256"] for entry in ledger.entries()]
    found = hashlib.sha256(out.read_bytes()).hexdigest() if out.exists() else None
    if found is not None and found not in known:
        return "an output that the log does not know"
    if len(known) < least or (least and found != known[least - 1] and found != known[-1]):
        return f"{len(known)} of {least} batches"
    summary = place / "recs.summary.json"
    told = (
        json.loads(summary.read_bytes())["output"]["sha256"] if summary.exists() else None
    )
    return (
        "a summary of another batch"
        if told not in (None, *known) or (ended and told != known[-1])
        else None
    )


def bad_states(before, operations, again, scratch):
    """Sentences for states that must not be; `count` of them were looked at."""
    seen, bad_states.count = set(), 0
    # Acknowledged: the folder is synced after the output got its name.
    named = next(
        i
        for i, one in enumerate(operations)
        if one[0] == "rename" and one[2].name == "recs.parquet"
    )
    end = ("make_folder", before.root / "the end")  # a moment after the last operation
    for index, operation in enumerate([None, *operations, end]):
        if operation:
            before.do(operation)
        least, ended = again + (index > named + 2), index > len(operations)
        for tree in before.states():
            key = least, ended, hash(tuple(sorted(tree.items(), key=lambda item: item[0])))
            if key not in seen:
                seen.add(key)
                bad_states.count += 1
                lay_down(tree, scratch)
                try:
                    wrong = look(scratch, least, ended)
                except ValueError:
                    wrong = "half a summary"
                shutil.rmtree(scratch)
                if wrong:
                    yield f"{wrong} after {operation[0] if operation else 'nothing'} {index}"


@pytest.mark.parametrize("again", [0, 1])
def test_a_power_loss_at_any_moment_leaves_whole_outputs_that_the_log_knows(
    made, tmp_path, again
):
    before, operations = record(made, tmp_path / "disk", again)
    assert list(bad_states(before, operations, again, tmp_path / "state")) == []
    assert bad_states.count >= 30


def test_control_without_any_one_sync_it_would_not(made, tmp_path):
    before, operations = record(made, tmp_path / "disk", 1)
    syncs = [index for index, one in enumerate(operations) if one[0].startswith("sync")]
    missed = []
    for index in syncs:
        mutant = operations[:index] + operations[index + 1 :]
        if not any(
            True for _ in bad_states(copy.deepcopy(before), mutant, 1, tmp_path / "state")
        ):
            missed.append(operations[index])
    assert missed == []
    assert len(syncs) >= 6
