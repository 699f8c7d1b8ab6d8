"""Guards of batches, the launch brake, the decision log, the scorer and the monitor; see service_guards.py.

Not here: locks between threads and files that vanish in between, which only a race would miss; numbers of threads, which only
cost time; and ends of workers whose run was killed.
"""

from realloc.batch import asked, audit, keys, limits, parts, publish, run, score, together, watch, work, workers
from realloc.brake import LaunchLimits
from realloc.ledger import entry, journal, ledger
from realloc.ledger.fingerprint import _blocks, _words, fingerprint
from realloc.serving import canary, network, scorer
from realloc.serving import parts as serving
from realloc.store.store import Store
from tests.batch import test_audit, test_brake, test_faults, test_run
from tests.faults.guard import Guard, tested
from tests.ledger import test_fingerprint, test_journal, test_ledger
from tests.monitor import test_watch
from tests.service import test_records
from tests.serving import test_canary, test_scorer


def held(number):
    change, told = LIMITS[number]
    return tested(test_brake.test_each_limit_holds_alone_and_gives_both_figures, change, told)


def other_parts(what):
    return tested(test_faults.test_parts_of_anything_else_are_not_used_either, what)


def freeze(when):
    return tested(test_run.test_a_freeze_during_the_run_is_obeyed, when)


def failing(case):
    check = test_faults.test_a_failure_at_any_operation_leaves_the_old_output_and_the_next_run_ends_as_if_nothing_was
    return tested(check, case)


def changed(how):
    return tested(test_ledger.test_other_changes_are_found, how)


def unfit(name):
    return tested(test_scorer.test_parts_that_do_not_fit_are_refused, test_scorer.BAD[name])


LIMITS = test_brake.test_each_limit_holds_alone_and_gives_both_figures.pytestmark[0].args[1]
DISK = test_ledger.test_a_failure_at_any_operation_adds_the_entry_or_nothing.pytestmark[0].args[1]
BEFORE, AFTER = "right before publishing", "right after it was logged"
said = tested(test_run.test_what_cannot_be_done_is_said)
aside = tested(test_brake.test_a_run_beyond_a_limit_is_kept_aside_and_published_only_by_force)
nonsense = tested(test_brake.test_limits_of_the_fit_hold_without_a_config_and_nonsense_is_refused)
unread = tested(test_run.test_rows_that_cannot_be_read_are_answered_counted_and_named)
kept_frozen = tested(test_run.test_a_frozen_store_answers_every_row_with_no_change)
written = tested(test_faults.test_an_output_is_on_the_disk_before_it_has_its_name_and_so_is_the_name)
lock = tested(test_faults.test_a_lock_that_was_removed_meanwhile_is_taken_anew)
two_runs = tested(test_faults.test_of_two_runs_to_one_output_the_second_is_told)
lags = tested(test_run.test_rows_that_look_back_at_each_other_are_decided_together)
files = tested(test_run.test_files_that_do_not_fit_together_or_are_gone_are_named)

RUN = {
    "kinds of output": Guard(run.recommend_file, "out.suffix not in ENDINGS", "False", said),
    "files, no frame": Guard(run.recommend_file, "not source.files", "False", said),
    "not the input itself": Guard(
        run.recommend_file,
        "out.exists() and any(file.path.samefile(out) for file in source.files)",
        "False",
        said,
    ),
    "a model at all": Guard(run.recommend_file, "place.empty and place.frozen is None", "False", said),
    "the input stays": Guard(
        run.recommend_file,
        "stamps(source) != before",
        "False",
        tested(test_run.test_an_input_that_changes_meanwhile_is_refused),
    ),
    "frozen meanwhile": Guard(
        run.recommend_file,
        "None if job.overtaken else ",
        "",
        tested(test_brake.test_a_store_that_is_frozen_meanwhile_is_not_held_either),
    ),
    "errors of the disk": Guard(
        run.recommend_file, "except OSError", "except KeyError", failing("disk full"), long=True
    ),
    "what an error means": Guard(
        run._explain, "_stamp(out) != was", "False", failing("error reported late"), long=True
    ),
    "frozen before publishing": Guard(
        run._end,
        "if job.overtaken:\n        return None\n    figures |=",
        "figures |=",
        freeze(BEFORE),
    ),
    "frozen after the log": Guard(
        run._end, "if job.overtaken:\n        return None\n    give_name", "give_name", freeze(AFTER)
    ),
    "frozen since": Guard(
        run.Job.overtaken.fget, "self.store.frozen is not None", "False", freeze("while parts are decided")
    ),
    "frozen is never held": Guard(
        run._end, "() if frozen else ", "", tested(test_brake.test_a_frozen_store_is_never_held)
    ),
    "the brake": Guard(run._end, "bool(broken) and not options.force", "False", aside),
    "only by force": Guard(run._end, "bool(broken) and not options.force", "not options.force", written),
    "held under another name": Guard(run._end, "refused_name(job.out) if held else job.out", "job.out", aside),
    "held means not logged": Guard(run._end, "raise BrakeError(", "print(", aside),
    "log before output": Guard(
        run._end,
        'figures |= {"decision_log": _log(job, figures, options)}\n    if job.overtaken:\n        return None\n'
        "    give_name(place, target)",
        'give_name(place, target)\n    figures |= {"decision_log": _log(job, figures, options)}',
        failing("disk full"),
        long=True,
    ),
    "logged once": Guard(run._log, "entry = ledger.find(run.id)", "entry = None", failing("killed after"), long=True),
    "parts go when all is done": Guard(run._end, "close_work(job.work)", "pass", other_parts("input")),
    "pools over all rows": Guard(
        run._prepare, "bool(options.pools) or ", "", tested(test_run.test_pools_hold_over_all_parts)
    ),
    "caps over all rows": Guard(
        run._prepare,
        "opened.together or ",
        "",
        tested(test_run.test_a_cap_over_all_rows_holds_over_all_parts),
    ),
    "lags over all rows": Guard(run._prepare, " or (opened.remembers and keys.units_repeat)", "", lags),
    "a cap is seen": Guard(
        asked.Opened.together.fget,
        "self.config.constraints.largest_move_per_day is not None",
        "False",
        tested(test_run.test_a_cap_over_all_rows_holds_over_all_parts),
    ),
    "lags are seen": Guard(asked.Opened.remembers.fget, "self.state.encoder.history is not None", "False", lags),
    "rules in the key": Guard(
        run._prepare,
        '"settings": settings,',
        "",
        tested(test_faults.test_parts_of_another_input_or_other_rules_are_not_used),
    ),
    "input in the key": Guard(run._prepare, '"input": digest,', "", other_parts("input")),
    "version in the key": Guard(run._prepare, '"version": asked.version,', "", other_parts("version")),
    "model in the key": Guard(
        run._prepare,
        '"model": opened.record.model if opened.record else _digest_unversioned(store.path),',
        "",
        other_parts("model"),
        long=True,
    ),
    "cut in the key": Guard(run._prepare, '"part_rows": options.part_rows,', "", other_parts("part_rows")),
    "program in the key": Guard(run._prepare, '"realloc": __version__,', "", other_parts("realloc")),
}

PUBLISH = {
    "bytes before the name": Guard(publish.write_beside, "disk.sync_file(place)", "pass", written),
    "the name itself": Guard(publish.give_name, "disk.sync_folder(out.parent)", "pass", written),
    "in one step": Guard(publish.beside, 'out.with_name(f".{out.name}.new")', "out", written),
    "no link is followed": Guard(
        publish.write_beside,
        "if place.exists():\n        disk.remove_file(place)",
        "pass",
        tested(test_faults.test_a_link_in_the_place_of_the_new_output_is_not_followed),
    ),
    "half an output goes": Guard(
        publish.write_beside,
        "place.unlink(missing_ok=True)",
        "pass",
        tested(
            test_faults.test_an_output_that_does_not_fit_leaves_the_old_one_and_control_written_in_place_it_would_not,
            False,
        ),
    ),
    "half a summary goes": Guard(
        publish.write_json,
        "if place.exists():\n        disk.remove_file(place)",
        "pass",
        failing("killed after"),
        long=True,
    ),
}

BRAKE = {
    "rows that cannot be read": Guard(
        limits.broken_limits, 'told["bad_rows_share"] > limits.max_bad_rows', "False", held(3)
    ),
    "rows that move": Guard(limits.broken_limits, "rate > limits.max_action_rate", "False", held(0)),
    "money that moves": Guard(limits.broken_limits, "share > limits.max_moved_share", "False", held(1)),
    "drift": Guard(limits.broken_limits, "largest[1] > limits.max_drift", "False", held(2)),
    "age": Guard(limits._too_old, 'age["days"] > limits.max_age_days', "False", held(4)),
    "age of the window": Guard(limits._too_old, "window > most", "False", held(5)),
    "ages are looked at": Guard(limits.broken_limits, 'yield from _too_old(told["age"], limits)', "pass", held(4)),
    "what is not known": Guard(
        limits.broken_limits,
        "rate is not None and ",
        "",
        tested(test_brake.test_what_is_not_known_breaks_no_limit),
    ),
    "types of limits": Guard(LaunchLimits.__post_init__, 'check_types(self, "[launch]")', "pass", nonsense),
    "parts of one": Guard(LaunchLimits.__post_init__, "not 0 <= getattr(self, name) <= 1", "False", nonsense),
    "drift of at least 0": Guard(LaunchLimits.__post_init__, "self.max_drift < 0 or ", "", nonsense),
    "ages above 0": Guard(LaunchLimits.__post_init__, "self.max_age_days <= 0 or ", "", nonsense),
    "ages of windows above 0": Guard(
        LaunchLimits.__post_init__, " or not (self.max_window_age_days or 1) > 0", "", nonsense
    ),
    "the switch": Guard(Store.frozen.fget, "frozen.why_frozen(self.path)", "None", kept_frozen),
    "frozen means no model": Guard(asked.open_asked, "_frozen(store) if asked.frozen else ", "", kept_frozen),
    "frozen answers keep": Guard(
        asked._frozen, "partial(keep, reason=REASON)", 'partial(keep, reason="moved")', kept_frozen
    ),
}

KEYS = {
    "keys that repeat": Guard(
        keys.look_at_keys, "_confirm(opened, schema, found, suspects) if len(suspects) else ", "", unread
    ),
    "keys, not their hashes": Guard(
        keys._confirm,
        "counts[key] > 1",
        "True",
        tested(test_run.test_keys_that_merely_share_a_hash_are_no_duplicates),
    ),
    "units that repeat": Guard(keys.look_at_keys, "bool(len(_repeated(names)))", "False", lags),
    "none of them moves": Guard(score.read_part, "not twice.any()", "True", unread),
}

part_changed = test_faults.test_a_finished_part_that_was_changed_is_decided_again
flipped_part = tested(test_faults.test_any_flipped_bit_of_a_finished_part_is_noticed)
WORK = {
    "one run": Guard(work.only_run, "fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass", two_runs),
    "the lock that others find": Guard(work.only_run, "_is_same(handle, folder / LOCK)", "True", lock),
    "a folder that has just gone": Guard(work.only_run, "except FileNotFoundError", "except KeyError", lock),
    "a lock that has just gone": Guard(work._is_same, "except FileNotFoundError", "except KeyError", lock),
    "nothing is left of what was refused": Guard(
        work.only_run, "name != LOCK and set(os.listdir(folder / name)) <= {RUN}", "False", said
    ),
    "nothing is left at all": Guard(work.only_run, "os.listdir(folder) == [LOCK]", "False", said),
    "answers of a part": Guard(
        work.Work.has, "sha256_file(self._path(number, kind)) != told[kind]", "False", tested(part_changed, "arrow")
    ),
    "rows for the log of a part": Guard(
        work.Work.has, '("arrow", "parquet")', '("arrow",)', tested(part_changed, "parquet")
    ),
    "tally of a part": Guard(
        work.Work.has, 'told.pop("digest") != key_of(told)', 'told.pop("digest") == 0', flipped_part
    ),
    "a part that cannot be read": Guard(
        work.Work.has, "(OSError, ValueError, KeyError, TypeError)", "OSError", flipped_part
    ),
    "a part that was left": Guard(
        work.Work.keep, "self._path(number, kind).exists()", "False", tested(part_changed, "arrow")
    ),
    "parts of other keys": Guard(
        work.open_work, "shutil.rmtree(folder / name, ignore_errors=True)", "pass", other_parts("input")
    ),
    "parts name their run": Guard(
        work.open_work,
        "shutil.rmtree(own)  # parts name the run they belong to\n        own.mkdir()",
        "pass",
        tested(test_faults.test_parts_without_the_run_they_belong_to_are_not_used),
    ),
    "few parts under way": Guard(
        workers._spread,
        "len(waiting) >= jobs * (1 + AHEAD)",
        "False",
        tested(test_run.test_few_parts_are_under_way_at_once),
    ),
    "a worker that is ended": Guard(
        workers.decide_parts,
        "except BrokenProcessPool",
        "except KeyError",
        tested(test_run.test_a_worker_that_is_ended_is_said),
    ),
}

ASKED = {
    "whole before it is asked": Guard(
        asked._fetch, "check_model(kept)", "pass", tested(test_run.test_a_version_with_strangers_is_not_asked)
    ),
    "canary before it is asked": Guard(
        asked._fetch,
        "check(scorer, kept.canary)",
        "pass",
        tested(test_run.test_a_scorer_that_computes_something_else_is_not_asked),
        long=True,
    ),
    "input that is gone": Guard(parts.fingerprint_files, "except OSError", "except KeyError", files),
    "replaced by another": Guard(
        parts._stamp,
        "found.st_ino, found.st_size, found.st_mtime_ns",
        "0, 0, 0",
        tested(test_run.test_an_input_that_changes_meanwhile_is_refused),
    ),
    "told once": Guard(
        together._keep,
        "today.findings if part.number == 0 else ()",
        "today.findings",
        tested(test_run.test_rows_that_cannot_be_read_are_counted_once_where_all_are_decided_together),
    ),
}

AUDIT = {
    "inputs": Guard(
        audit._compare,
        "a != b for a, b",
        "False for a, b",
        tested(test_audit.test_control_inputs_that_were_others_are_found),
    ),
    "answers": Guard(
        audit._compare,
        "different |= apart",
        "pass",
        tested(test_audit.test_control_a_decision_that_was_another_is_found),
    ),
    "what cannot be decided again": Guard(
        audit.audit, "except ReallocError", "except KeyError", tested(test_audit.test_a_version_that_is_gone_is_said)
    ),
    "together": Guard(
        audit.replay,
        "[pa.concat_tables(tables)] if together else ",
        "",
        tested(test_audit.test_a_cap_over_all_rows_is_replayed_over_all_of_them),
    ),
    "by request": Guard(
        audit.replay,
        'entry.settings.get("by_request")',
        "False",
        tested(test_records.test_rows_that_see_each_other_are_audited_as_they_were_asked),
        long=True,
    ),
    "rows that could be read": Guard(
        audit.replay,
        "table.filter(table[INPUTS].is_valid())",
        "table",
        tested(test_records.test_rows_that_cannot_be_read_are_written_down_too),
    ),
    "kept mixes": Guard(
        audit._decide,
        "keep(logs, kept) if kept else ",
        "",
        tested(test_records.test_mixes_kept_for_other_reasons_are_audited_too),
    ),
    "pools": Guard(
        audit._decide,
        'entry.settings.get("pools") or None',
        "None",
        tested(test_audit.test_a_cap_over_all_rows_is_replayed_over_all_of_them),
    ),
}

bits = tested(test_ledger.test_one_flipped_bit_anywhere_is_found_and_its_file_named)
too_long = tested(test_ledger.test_an_entry_that_nobody_could_read_is_not_added)
on_disk = tested(test_ledger.test_an_entry_is_on_the_disk_before_it_has_its_name_and_so_is_the_name)
full = tested(test_ledger.test_a_failure_at_any_operation_adds_the_entry_or_nothing, *DISK[0])
left_by_a_kill = tested(test_ledger.test_what_a_killed_run_left_is_no_hindrance_to_the_same_run)
few_bytes = tested(test_journal.test_a_disk_that_takes_a_few_bytes_at_a_time_gets_all_of_them)
LEDGER = {
    "digest of an entry": Guard(entry.read_entry, "_digest(table) != digest or ", "", bits),
    "spelling of an entry": Guard(
        entry.read_entry, ' or content != _line(table | {"digest": digest})', "", changed("respelled")
    ),
    "an entry that is none": Guard(
        entry.read_entry, "(ValueError, TypeError, KeyError, AttributeError, RecursionError)", "KeyError", bits
    ),
    "format of an entry": Guard(
        entry.read_entry,
        "found.format != FORMAT",
        "False",
        tested(test_ledger.test_an_entry_of_a_newer_format_asks_for_an_upgrade),
    ),
    "longest entry": Guard(entry.read_entry, "file.read(LONGEST)", "file.read()", too_long),
    "longest entry to write": Guard(entry.Entry.pack, "len(content) > LONGEST", "False", too_long),
    "errors of the disk": Guard(ledger.Ledger.append, "except OSError", "except KeyError", full),
    "the same run again": Guard(ledger.Ledger._append, "work.exists()", "False", left_by_a_kill),
    "number taken": Guard(
        ledger.Ledger._append,
        "problem.errno not in TAKEN",
        "True",
        tested(test_ledger.test_a_number_that_somebody_else_took_is_left_to_them),
    ),
    "names before the name": Guard(ledger.Ledger._append, "disk.sync_folder(work)", "pass", on_disk),
    "the name itself": Guard(ledger.Ledger._append, "disk.sync_folder(self.path)", "pass", on_disk),
    "half an entry goes": Guard(ledger.Ledger._append, "shutil.rmtree(work, ignore_errors=True)", "pass", full),
    "order of times": Guard(
        ledger.Ledger._following,
        'max(entry.made, last.made if last else "")',
        "entry.made",
        tested(test_ledger.test_a_clock_that_goes_back_does_not_turn_the_order),
    ),
    "chain": Guard(
        ledger.Ledger._following,
        "(last.number + 1, last.digest)",
        "(last.number + 1, None)",
        tested(test_ledger.test_entries_are_numbered_chained_and_found_by_their_run),
    ),
    "what is somebody's": Guard(
        ledger.Ledger._forget_stale,
        "time.time() - folder.stat().st_mtime > STALE_SECONDS",
        "True",
        tested(test_ledger.test_only_what_belongs_to_nobody_is_forgotten),
    ),
    "what is nobody's": Guard(
        ledger.Ledger._forget_stale,
        "time.time() - folder.stat().st_mtime > STALE_SECONDS",
        "False",
        tested(test_ledger.test_only_what_belongs_to_nobody_is_forgotten),
    ),
    "no gaps": Guard(ledger.Ledger.verify, "number != expected", "False", changed("taken out")),
    "follow the chain": Guard(
        ledger.Ledger.verify, 'digest not in ("", entry.previous) and number > 1', "False", changed("of another log")
    ),
    "changed entries": Guard(ledger.Ledger.verify, "faults.append(str(problem))", "pass", bits),
    "number of an entry": Guard(
        ledger.Ledger._faults_of,
        "entry.number != int(folder.name)",
        "False",
        tested(test_ledger.test_an_entry_under_another_number_is_found),
    ),
    "strangers": Guard(ledger.Ledger._faults_of, "if strange:", "if False:", changed("further file")),
    "bytes of segments": Guard(ledger.Ledger._faults_of, "if not whole:", "if False:", changed("cut")),
    "lost segments": Guard(ledger.Ledger._faults_of, "except OSError", "except KeyError", changed("gone")),
    "bytes before they are read": Guard(
        ledger.Ledger.read,
        "sha256_file(path) != segment.sha256",
        "False",
        tested(test_ledger.test_a_changed_segment_is_not_read),
    ),
    "an empty log": Guard(ledger.Ledger.dataset, "not paths", "False", tested(test_ledger.test_an_empty_log_is_said)),
}

torn = tested(test_journal.test_a_torn_last_frame_is_dropped_and_the_rest_kept)
alive = tested(test_journal.test_a_journal_of_a_living_process_is_left_alone)
aside = tested(test_journal.test_full_journals_wait_aside_until_somebody_makes_entries_of_them)
unwritten = tested(test_journal.test_what_cannot_be_written_raises_so_that_nothing_is_answered)
on_the_disk = tested(test_journal.test_an_answer_is_on_the_disk_before_it_is_given)
twice = tested(test_journal.test_a_journal_that_is_an_entry_already_is_not_added_twice)
JOURNAL = {
    "on the disk": Guard(journal.Recorder.write, "os.fsync(handle)", "pass", on_the_disk),
    "its name on the disk": Guard(journal.Recorder._open, "disk.sync_folder(folder)", "pass", on_the_disk),
    "no half frame": Guard(journal.Recorder.write, "os.ftruncate(handle, begun)", "pass", unwritten),
    "raises": Guard(journal.Recorder.write, "except OSError as problem:", "except KeyError as problem:", unwritten),
    "all bytes": Guard(journal._write_all, "while left:", "if left:", few_bytes),
    "not too many rows": Guard(
        journal.Recorder.write,
        "self._rows >= self.most_rows or ",
        "",
        tested(test_journal.test_small_batches_become_few_entries),
    ),
    "not too long": Guard(
        journal.Recorder.write,
        " or time.monotonic() - self._since >= self.most_seconds",
        "",
        tested(test_journal.test_rows_that_have_waited_become_an_entry_with_the_next),
    ),
    "an entry for each version": Guard(
        journal.Recorder.change,
        "self._end_journal()",
        "pass",
        tested(test_journal.test_another_version_begins_another_entry),
    ),
    "full ones at the end": Guard(journal.Recorder.flush, "self._make_entries()", "pass", aside),
    "full ones by and by": Guard(journal.Recorder.flush_if_old, "self._make_entries()", "pass", aside),
    "not too many full ones": Guard(journal.Recorder._end_journal, " or len(self._full) >= MOST_FULL", "", aside),
    "held while it lives": Guard(journal.Recorder._open, "_hold(self._handle)", "pass", alive),
    "others are left alone": Guard(journal.recover, "if _hold(handle):", "if True:", alive),
    "held by one": Guard(journal._hold, "fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass", alive),
    "what was left": Guard(
        journal.Recorder.__init__,
        "recover(ledger)",
        "pass",
        tested(test_journal.test_whoever_opens_the_log_takes_over_what_was_left),
    ),
    "once": Guard(journal._to_entry, " and ledger.find(run) is None", "", twice),
    "half a segment": Guard(
        journal._to_entry,
        "disk.remove_file(left)",
        "pass",
        tested(test_journal.test_one_that_was_stopped_before_its_entry_is_taken_over),
    ),
    "nothing stays": Guard(journal._to_entry, "disk.remove_file(path)", "pass", twice),
    "checksum of frames": Guard(journal.read_frames, " or zlib.crc32(frame) != check", "", torn),
}

values = tested(test_fingerprint.test_every_value_that_is_read_counts)
names = tested(test_fingerprint.test_names_count_and_zero_has_no_sign)
FINGERPRINT = {
    "missing is not 0": Guard(_blocks, "missing[none] = 1", "pass", values),
    "zero has no sign": Guard(_blocks, "value + 0.0", "value", names),
    "names": Guard(fingerprint, 'start.update(f"{len(name.encode())}:{name}".encode())', "pass", names),
    "words": Guard(_words, "str(word).encode()", 'b""', values),
}

other, few, none = test_canary.test_other_gains_are_refused.pytestmark[0].args[1]
simplex = test_canary.test_shares_off_the_simplex_are_refused
SERVING = {
    "forms that can be served": Guard(
        serving._check_served, 'config.student.form != "branch"', "False", unfit("plain")
    ),
    "doubt that can be served": Guard(
        serving._check_served, 'config.decision.uncertainty == "dropout"', "False", unfit("dropout")
    ),
    "features": Guard(
        serving.build, "set(encoder.features) != set(schema.features or ())", "False", unfit("another feature")
    ),
    "finite": Guard(serving.build, "_check_finite(tensors)", "pass", unfit("no number")),
    "outcomes": Guard(serving.build, "names != [schema.outcome, *schema.guardrails] or ", "", unfit("another outcome")),
    "a round": Guard(serving.build, ' or int(meta["rounds"]) < 1', "", unfit("no round")),
    "all arrays known": Guard(
        serving.build, "_check_all_known(meta, tensors, len(names))", "pass", unfit("a part too many")
    ),
    "types of arrays": Guard(
        serving._check_arrays, "found.dtype.name != dtype or found.ndim != len(axes)", "False", unfit("another type")
    ),
    "axes of arrays": Guard(
        serving._check_arrays,
        "sizes.setdefault(axis, size) != size for axis, size",
        "False for axis, size",
        unfit("a memory cut"),
    ),
    "directions": Guard(serving._served, "directions.shape != (M, K, W) or ", "", unfit("directions cut")),
    "members": Guard(serving._served, " or len(network.head) != M", "", unfit("a head of other members")),
    "counts of mixes": Guard(
        serving._served, 'tensors["places.count"].min() < 1', "False", unfit("mixes that were never seen")
    ),
    "true is no number": Guard(serving._number, "isinstance(value, bool) or ", "", unfit("a scale of true")),
    "text is no number": Guard(
        serving._number,
        "not isinstance(value, int | float) or ",
        "isinstance(value, str) and (value := 1.0) and ",
        unfit("a scale of text"),
    ),
    "least number": Guard(serving._number, "not least <= value < np.inf", "False", unfit("a scale of 0")),
    "axes of the index": Guard(
        serving._direction, "axes.shape != (dimensions, points.shape[1]) or ", "", unfit("axes of the index cut")
    ),
    "neighbours of the index": Guard(
        serving._direction,
        "not 1 <= k < max(len(points), 2)",
        "False",
        unfit("an index that asks for more than it has"),
    ),
    "ladder of the index": Guard(
        serving._direction, "np.any(np.diff(ladder) < 0)", "False", unfit("a ladder that falls")
    ),
    "parts of a network": Guard(
        network.read_network,
        'depth < 1 or set(weights) != wanted | ({"path"} if path else set())',
        "False",
        unfit("a network with a part too many"),
    ),
    "shapes of a network": Guard(network.read_network, "weights[name].shape != shape or ", "", unfit("a network cut")),
    "types of a network": Guard(
        network.read_network, " or weights[name].dtype != np.float32", "", unfit("a network of another type")
    ),
    "misfits are said": Guard(scorer.make_scorer, "(*MISFITS, ReallocError)", "OSError", unfit("a part is missing")),
    "canary of fixed moves": Guard(
        canary.check,
        '_compare("gains of fixed moves", turned, expected["turned"], NEAR)',
        "pass",
        tested(test_canary.test_other_gains_are_refused, "turned", other),
    ),
    "canary of decisions": Guard(
        canary.check,
        '_compare("gains of decisions", np.asarray(found.gain), expected["gain"], CLOSE)',
        "pass",
        tested(test_canary.test_other_gains_are_refused, "gain", other),
    ),
    "canary of as many": Guard(
        canary._compare,
        "found.shape != expected.shape or ",
        "",
        tested(test_canary.test_other_gains_are_refused, "gain", few),
    ),
    "canary of numbers": Guard(
        canary._compare,
        "not np.abs(found - expected).max(initial=0.0) <= near * largest",
        "np.abs(found - expected).max(initial=0.0) > near * largest",
        tested(test_canary.test_other_gains_are_refused, "gain", none),
    ),
    "canary's reasons": Guard(
        canary.check,
        "np.mean(found.reason == np.array(reasons)) < SAME",
        "False",
        tested(test_canary.test_other_reasons_are_refused),
    ),
    "canary's shares sum to 1": Guard(
        canary.check, " or np.abs(found.shares.sum(axis=1) - 1).max() > 1e-9", "", tested(simplex, [0.1, 0.0, 0.0])
    ),
    "canary's shares are of at least 0": Guard(
        canary.check, "np.any(found.shares < 0) or ", "", tested(simplex, [-2.0, 1.0, 1.0])
    ),
}

alarms = tested(test_watch.test_drift_a_freeze_and_age_raise_alarms)
WATCH = {
    "alarm of a freeze": Guard(watch._alarms, 'if told["frozen"]:', "if False:", alarms),
    "alarm of drift": Guard(watch._alarms, "if drifted:", "if False:", alarms),
    "alarm of age": Guard(watch._alarms, 'told["age"]["days"] > max_age', "False", alarms),
    "alarm of gains": Guard(
        watch._alarms,
        'realised["calibration"]["change"] in ("stop", "unranked")',
        "False",
        tested(test_watch.test_a_random_hold_out_says_whether_gains_are_real, -1.0, "stop"),
    ),
    "no drift without a summary": Guard(
        watch.watch,
        "states is not None and len(logs)",
        "len(logs)",
        tested(test_watch.test_a_version_without_a_summary_says_not_known_and_never_zero),
    ),
}

GUARDS = {
    f"{module}: {name}": guard
    for module, group in {
        "run": RUN,
        "publish": PUBLISH,
        "brake": BRAKE,
        "keys": KEYS,
        "work": WORK,
        "asked": ASKED,
        "audit": AUDIT,
        "ledger": LEDGER,
        "journal": JOURNAL,
        "fingerprint": FINGERPRINT,
        "serving": SERVING,
        "watch": WATCH,
    }.items()
    for name, guard in group.items()
}
