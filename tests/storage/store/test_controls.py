"""The checks of a store can fail: each one does once its guard is off."""

import hashlib
import itertools
from contextlib import nullcontext
from dataclasses import replace

import pytest

from realloc.base import artifact
from realloc.base.errors import StoreError
from realloc.storage.store import canary, place, versions
from realloc.storage.store import store as store_module
from tests.controls import Control, nothing, try_control
from tests.faults import test_refusals as refusals


class SameHash:
    """A hash that tells nothing apart."""

    def __init__(self, *_, **__) -> None:
        self.update = nothing

    def hexdigest(self) -> str:
        return "0" * 64

    def digest(self) -> bytes:
        return bytes(32)


def count_windows(logs):
    """As if every window were a new one."""
    known = next(COUNTER)
    return replace(IDENTIFY(logs), digest=str(known))


COUNTER = itertools.count()
IDENTIFY = store_module.identify


def applied_windows_change_nothing(folder):
    try:
        refusals.test_a_window_that_was_applied_changes_nothing(folder)
    except StoreError as problem:  # of the next check: its rows are known
        raise AssertionError from problem


def mounted_from_the_network(folder):
    with pytest.MonkeyPatch.context() as patch:
        refusals.test_a_network_file_system(folder, patch)


CONTROLS = {
    "one writer": Control(
        refusals.test_a_second_writer,
        store_module,
        "locked",
        lambda *_, **__: nullcontext(),
    ),
    "folders of others": Control(
        lambda folder: refusals.test_a_folder_of_somebody_else(folder, locked=False),
        store_module,
        "check_free",
        nothing,
    ),
    "network": Control(mounted_from_the_network, store_module, "check_local", nothing),
    "links at our names": Control(
        lambda folder: refusals.test_a_writer_among_links(
            folder, "tmp is a link", "it is a link"
        ),
        place,
        "check_folders",
        nothing,
    ),
    "links to weights": Control(
        refusals.test_weights_behind_a_link,
        artifact,
        "read_plain",
        lambda path, *_: path.read_bytes(),
    ),
    "bytes of weights": Control(
        refusals.test_a_flipped_bit_in_the_weights, versions, "check_model", nothing
    ),
    "strangers in a version": Control(
        refusals.test_a_stranger_in_a_version, versions, "check_model", nothing
    ),
    "digest of the model": Control(
        refusals.test_the_model_of_another_version, hashlib, "sha256", SameHash
    ),
    "chain of versions": Control(
        refusals.test_an_old_version_of_another_store, hashlib, "sha256", SameHash
    ),
    "rollback": Control(
        refusals.test_a_rollback_to_a_version_of_another_store_under_our_name,
        hashlib,
        "sha256",
        SameHash,
    ),
    "windows that were applied": Control(
        applied_windows_change_nothing,
        store_module,
        "identify",
        count_windows,
    ),
    "order of windows": Control(
        refusals.test_a_window_from_the_future, store_module, "check_order", nothing
    ),
    "rows that are remembered": Control(
        refusals.test_rows_that_the_model_remembers,
        store_module,
        "count_repeats",
        lambda *_: 0,
    ),
    "canary": Control(
        refusals.test_a_canary_with_the_answers_of_another_model, canary, "check", nothing
    ),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_a_check_fails_once_its_guard_is_off(tmp_path, name):
    try_control(CONTROLS[name], tmp_path)
