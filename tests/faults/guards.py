"""Guards of the store, each with the line that switches it off and a check that must then fail.

Checks are tests of other files where there are such, else those of guard_checks.py.
"""

from realloc import artifact
from realloc.store import canary, commit, frozen, head, lock, place, record, restore, versions, windows
from realloc.store.store import Store, _check_new, _check_round
from tests.faults import test_flipped_bytes as flipped
from tests.faults.guard import Guard, tested
from tests.faults.guard_checks import (
    another_number,
    another_old_model,
    answers_with,
    applied_twice,
    back_to_what_is_damaged,
    changed_manifest,
    flipped_in,
    foreign_folder,
    foreign_folder_with_a_lock,
    from_the_future,
    from_the_future_before_learning,
    frozen_by_what_cannot_be_read,
    hostile,
    huge_manifest,
    known_rows,
    known_rows_at_commit,
    known_rows_before_learning,
    link_to_a_version,
    link_to_versions,
    linked_weights,
    models_swapped,
    models_swapped_for_real,
    no_number,
    of_another_round,
    of_another_store,
    off_the_simplex,
    on_the_network,
    rolled_back_twice,
    sealed,
    stopped_at,
    strange_version,
    stranger_in_version,
    the_first_reason_stays,
    two_of_a_number,
    two_writers,
    under_our_name,
    version_lost,
    without_a_canary,
)
from tests.store import test_export, test_head, test_light, test_place, test_store, test_windows
from tests.store.light import LightStore

WRONG_WINDOW = {"first": "2026-01-01", "last": "2026-01-02", "rows": "x", "digest": "w", "hole_seconds": 1}
NO_TIMES = WRONG_WINDOW | {"rows": 1, "first": "2026-01-02", "last": "2026-01-01"}
canary_test = test_store.test_a_canary_that_sings_otherwise_stops_the_load

GUARDS = {
    "one writer": Guard(lock.locked, "fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass", two_writers),
    "no lock elsewhere": Guard(
        lock.locked, " | os.O_NOFOLLOW", "", hostile("LOCK is a link to nothing", LightStore.step, "failed")
    ),
    "format": Guard(
        place.is_store, "content != FORMAT_LINE", "False", tested(test_place.test_a_newer_format_asks_for_an_upgrade)
    ),
    "a free folder": Guard(
        Store._enter,
        "if not is_store(self.path) and not (self.path / LOCK).exists():\n        check_free(self.path)",
        "pass",
        foreign_folder,
    ),
    "a free folder, under the lock": Guard(
        Store._enter,
        "if not is_store(self.path):\n        check_free(self.path)",
        "pass",
        foreign_folder_with_a_lock,
    ),
    "strangers": Guard(place.check_free, "if strange:", "if False:", foreign_folder),
    "a folder, not a file": Guard(
        place.check_free,
        "if root.exists() and not root.is_dir():",
        "if False:",
        tested(test_place.test_a_file_in_the_place_of_the_folder_is_named),
    ),
    "folders, not links": Guard(
        place.check_folders,
        "place.is_symlink()",
        "False",
        hostile("tmp is a link", LightStore.step, "it is a link"),
    ),
    "no network": Guard(place.check_local, "if kind in NETWORK:", "if False:", on_the_network),
    "no network, asked": Guard(Store._enter, "if not self.allow_network:", "if False:", on_the_network),
    "pointer": Guard(
        head.read_head,
        "head is None or head.line() != content",
        "head is None",
        tested(
            test_head.test_any_other_spelling_is_refused_and_says_what_to_do, test_head.LINE.replace(b"42 ", b"43 ")
        ),
    ),
    "names of versions": Guard(
        versions.list_versions,
        "if match is None or ",
        "if match is None:\n            continue\n        if ",
        strange_version,
    ),
    "one folder for a number": Guard(versions.list_versions, "int(match[1]) in found or ", "", two_of_a_number),
    "versions are no links": Guard(versions.list_versions, " or (place / name).is_symlink()", "", link_to_a_version),
    "the folder of versions is none": Guard(
        versions.list_versions, "if place.is_symlink():", "if False:", link_to_versions
    ),
    "digest of the current record": Guard(
        versions.read_version,
        "(digest is not None and own != digest)",
        "False",
        of_another_store(2, LightStore.current),
    ),
    "digest of other records": Guard(
        versions.read_version, "not folder.name.endswith(own[:8])", "False", under_our_name
    ),
    "number of a record": Guard(
        versions.read_version, "version.number != int(folder.name[:8])", "False", another_number
    ),
    "types of a record": Guard(
        versions.Version.__post_init__,
        'check_types(self, "the record")',
        "pass",
        sealed("record", "rounds", meta={"rounds": "x"}),
    ),
    "types of its windows": Guard(
        versions.Version.__post_init__,
        'check_types(window, "the record")',
        "pass",
        sealed("record", "windows", meta={"windows": [WRONG_WINDOW]}),
    ),
    "times of its windows": Guard(
        windows.WindowId.__post_init__,
        "not np.datetime64(self.first) <= np.datetime64(self.last)",
        "False",
        sealed("record", "windows", meta={"windows": [NO_TIMES]}),
    ),
    "time of a record": Guard(
        versions.Version.__post_init__,
        "datetime.fromisoformat(self.created)",
        "pass",
        sealed("record", "created", meta={"created": "[/red]"}),
    ),
    "digits of a record": Guard(
        versions.Version.__post_init__,
        "not 0 <= self.money_digits <= MOST_DIGITS",
        "False",
        sealed("record", "money_digits", meta={"money_digits": 10**9}),
    ),
    "strangers in a version": Guard(versions.check_model, "if strange:", "if False:", stranger_in_version),
    "model of the record": Guard(versions.check_model, "!= kept.version.model", "== 0", models_swapped),
    "every byte of the model": Guard(
        versions.check_model,
        "read_artifact(kept.folder / MODEL, MODEL)",
        "pass",
        flipped_in("model/weights.safetensors"),
    ),
    "chain of versions": Guard(
        versions.find_faults,
        "expected[kept.version.parent] = kept.version.parent_digest",
        "pass",
        of_another_store(1, LightStore.number),
    ),
    "the current one is there": Guard(versions.find_faults, "head.number not in folders", "False", version_lost),
    "bytes of weights": Guard(
        artifact._read_folder,
        '_sha256(content) != expected["sha256"]',
        "False",
        flipped_in("model/weights.safetensors"),
    ),
    "bytes of a manifest": Guard(
        artifact._read_manifest,
        'digest != _sha256(_to_bytes(table)) or content != _to_bytes({**table, "digest": digest})',
        "False",
        changed_manifest,
    ),
    "names in an artifact": Guard(
        artifact._check_names,
        "if strange:",
        "if False:",
        hostile("stranger 'model.pkl' beside the model", LightStore.number, "model.pkl"),
    ),
    "plain files": Guard(artifact.read_plain, "not stat.S_ISREG(os.lstat(path).st_mode)", "False", linked_weights),
    "length of files": Guard(artifact.read_plain, "not least <= length <= most", "False", huge_manifest),
    "the gate": Guard(
        commit._publish,
        "canary = gate(work / MODEL)",
        "canary = {}",
        tested(test_light.test_a_candidate_that_fails_its_gate_is_put_aside_and_the_old_version_stays),
    ),
    "the gate asks": Guard(
        Store._gate,
        "canary.check(load(folder), expected, version.machine == canary.machine())",
        "pass",
        tested(test_store.test_the_gate_puts_aside_a_model_that_reads_back_as_another),
    ),
    "pointer that was put back": Guard(
        commit.clear_unfinished,
        "if newest > number + 1:",
        "if False:",
        tested(test_light.test_a_pointer_that_was_put_back_is_told_instead_of_losing_versions),
    ),
    "version without a pointer": Guard(
        commit.clear_unfinished, "if newest > number:", "if False:", stopped_at("point")
    ),
    "half-made version": Guard(
        commit.clear_unfinished, 'disk.empty_folder(root / "tmp")', "pass", stopped_at("_write_part")
    ),
    "needed versions": Guard(commit.forget_old, " if number not in needed", "", rolled_back_twice),
    "retention": Guard(
        commit.forget_old,
        "[:-keep]",
        "[:0]",
        tested(test_light.test_old_versions_go_but_never_the_current_one_or_its_parent),
    ),
    "least to keep": Guard(
        Store.__init__,
        "if keep < 2:",
        "if False:",
        tested(test_light.test_old_versions_go_but_never_the_current_one_or_its_parent),
    ),
    "a window once": Guard(Store.commit, "_has(parent.version, new)", "False", applied_twice),
    "order at commit": Guard(
        Store.commit, "check_order(new, known, self.clock(), allow_gap, allow_overlap)", "pass", from_the_future
    ),
    "new rows at commit": Guard(
        Store.commit, "_check_new(window, model, model.fitted.rounds - 1, allow_overlap)", "pass", known_rows_at_commit
    ),
    "round at commit": Guard(
        Store.commit, "_check_round(model, parent.version if parent else None, again)", "pass", of_another_round
    ),
    "order before learning": Guard(
        Store.check_window,
        "check_order(identify(window), known, self.clock(), allow_gap, allow_overlap)",
        "pass",
        from_the_future_before_learning,
    ),
    "new rows before learning": Guard(
        Store.check_window,
        "_check_new(window, model, model.fitted.rounds, allow_overlap)",
        "pass",
        known_rows_before_learning,
    ),
    "new rows": Guard(_check_new, "if repeats and not allow_overlap:", "if False:", known_rows),
    "round": Guard(_check_round, "if model.fitted.rounds != wanted:", "if False:", of_another_round),
    "windows with rows": Guard(
        windows.identify, "if not len(logs):", "if False:", tested(test_windows.test_an_empty_window_is_refused)
    ),
    "no future": Guard(
        windows.check_order,
        "if last >= np.datetime64((now + timedelta(days=2)).date().isoformat()):",
        "if False:",
        tested(test_windows.test_a_window_from_the_future_is_refused_also_after_the_clock_went_back),
    ),
    "order of windows": Guard(
        windows.check_order,
        "if last < np.datetime64(latest.last) and not allow_overlap:",
        "if False:",
        tested(test_windows.test_a_window_from_before_is_refused_unless_allowed),
    ),
    "holes": Guard(
        windows.check_order,
        "if longest and hole > longest and not allow_gap:",
        "if False:",
        tested(test_windows.test_a_hole_is_refused_unless_allowed),
    ),
    "clock that goes back": Guard(
        record.stamp, "max(text, parent)", "text", tested(test_light.test_times_never_run_against_the_numbers)
    ),
    "whole before a load": Guard(Store.load, "check_model(kept)", "pass", models_swapped_for_real),
    "canary at a load": Guard(
        Store.load,
        "canary.check(model, kept.canary, kept.version.machine == canary.machine())",
        "pass",
        tested(canary_test),
    ),
    "a canary at all": Guard(Store.load, "if kept.version.windows and not kept.canary:", "if False:", without_a_canary),
    "canary to the bit": Guard(
        canary.check, "found[name].tobytes() != expected[name].tobytes()", "False", tested(canary_test)
    ),
    "canary elsewhere": Guard(canary.check, "if not turned <= allowed:", "if False:", tested(canary_test)),
    "numbers of the canary": Guard(
        canary.ask, "if not np.isfinite(found[name]).all():", "if False:", answers_with(no_number)
    ),
    "simplex of the canary": Guard(
        canary.ask,
        'found["shares"].min() < 0 or np.abs(found["shares"].sum(axis=1) - 1).max() > 1e-9',
        "False",
        answers_with(off_the_simplex),
    ),
    "whole before a rollback": Guard(restore.find_target, "check_model(target)", "pass", back_to_what_is_damaged),
    "newest where HEAD was put back": Guard(
        restore.find_head,
        "newest <= head.number + 1",
        "True",
        tested(test_light.test_a_pointer_that_was_put_back_is_told_instead_of_losing_versions),
    ),
    "damaged versions aside": Guard(
        restore.put_damaged_aside,
        'disk.rename(folder, root / "quarantine" / folder.name)',
        "pass",
        tested(flipped.test_after_any_damage_to_what_is_current_a_rollback_works, "model/weights.safetensors"),
    ),
    "old model with strangers": Guard(
        restore.clear_old_model, " or set(os.listdir(folder)) - set(NAMES)", "", another_old_model(True)
    ),
    "old model that differs": Guard(
        restore.clear_old_model,
        "if read_files(folder) == read_files(first / MODEL):",
        "if True:",
        another_old_model(False),
    ),
    "frozen though unreadable": Guard(
        frozen.why_frozen, 'None if gone else "for a reason that cannot be read"', "None", frozen_by_what_cannot_be_read
    ),
    "first reason": Guard(
        frozen.freeze,
        "with suppress(FileExistsError):",
        "if True:\n            remove = (root / FROZEN).unlink(missing_ok=True)",
        the_first_reason_stays,
    ),
    "export only what is whole": Guard(
        Store.export,
        "self.load(number)",
        "pass",
        tested(test_export.test_what_is_damaged_is_not_exported_and_the_store_is_no_place_for_it),
    ),
    "export outside": Guard(
        Store.export,
        'os.path.realpath(target).startswith(os.path.join(os.path.realpath(self.path), ""))',
        "False",
        tested(test_export.test_what_is_damaged_is_not_exported_and_the_store_is_no_place_for_it),
    ),
}
