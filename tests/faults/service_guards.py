"""Guards of the service, each with the line that switches it off and the test that must then fail.

Not here: comparing tokens in constant time, locks that only a race would miss, timers that end what ends anyway a little later.
"""

from realloc.service import answers, app, auth, line, listing, protocol, rows, server, settings, strict, usual, versions
from realloc.service.app import App
from realloc.service.config import ServeConfig
from realloc.service.line import Line
from realloc.service.records import Records
from realloc.service.rows import Columns
from realloc.service.versions import Current, Versions
from tests.faults.guard import Guard, tested
from tests.service import (
    test_answers,
    test_door,
    test_line,
    test_listing,
    test_rate,
    test_records,
    test_sockets,
    test_usual,
    test_versions,
)


def body(name):
    return tested(test_door.test_bodies_that_others_let_pass_are_refused, *test_door.BAD[name])


def wanted(name):
    return tested(test_door.test_wanted_shares_that_are_none_are_refused, test_door.WHATIF[name])


def garbage(name):
    return tested(test_sockets.test_broken_clients_are_ended_in_time_and_told_nothing, test_sockets.GARBAGE[name])


def breaking_off(name):
    return tested(test_sockets.test_so_are_those_that_break_off_later, test_sockets.PAUSED[name])


counted = tested(test_door.test_rows_are_counted_also_where_few_bytes_hold_many)
named = tested(test_door.test_a_key_that_is_missing_is_named)
wrong = tested(test_door.test_what_is_wrong_with_constraints_is_said)
taken = tested(test_door.test_a_port_that_is_taken_is_said)
new_version = tested(test_versions.test_a_new_version_is_taken_over)
door = tested(test_door.test_routes_methods_types_and_hosts)
token = tested(test_door.test_a_token_is_asked_for_everywhere_but_at_the_probes)
secret = tested(test_door.test_tokens_are_refused_that_cannot_be_kept_secret)
checked = tested(test_door.test_settings_are_checked)
labels = tested(test_door.test_labels_and_logs_hold_no_words_of_a_stranger)
crowded = tested(test_sockets.test_more_connections_than_allowed_are_told_or_closed_at_once_and_the_door_opens_again)
infinite = tested(test_door.test_numbers_outside_of_rows_are_finite)
failing = tested(test_answers.test_an_internal_failure_keeps_the_mix_and_says_nothing_of_the_inside)
elsewhere = tested(test_answers.test_so_do_failures_of_the_other_routes_and_outside_of_the_scorer)
frozen = tested(test_answers.test_a_frozen_store_keeps_every_mix_at_once_and_thaws)
young, young_window = (tested(test_answers.test_a_stale_model_keeps_every_mix, *case) for case in test_answers.STALE)
late = tested(test_line.test_who_waits_too_long_is_told_to_come_again_and_costs_nothing_more)
ended = tested(test_line.test_after_the_end_nobody_waits_and_before_it_all_are_answered)
alone = test_line.test_requests_whose_rows_see_each_other_are_scored_alone
bad_version = tested(test_versions.test_a_bad_version_leaves_the_old_one_in_service_and_is_told)
other_version = tested(test_versions.test_neither_is_one_with_strangers_another_digest_or_format_taken)
broken_store = tested(test_versions.test_a_store_whose_model_is_broken_still_keeps_every_mix)
no_store = tested(test_versions.test_without_any_version_the_answer_is_to_keep_the_mix_and_try_later)

APP = {
    "never a traceback": Guard(App._serve, "except Exception as problem", "except KeyError as problem", elsewhere),
    "labels of a fixed list": Guard(App._serve, 'path if path in ASKED or path in TOLD else "other"', "path", labels),
    "methods in the log": Guard(App._serve, 'method if method in METHODS else "other"', "method", labels),
    "host": Guard(App._reply, 'host_of(headers.get(b"host", b"")) not in self.hosts', "False", door),
    "known paths": Guard(App._reply, "path not in ASKED and path not in TOLD", "False", door),
    "a token": Guard(App._reply, "path not in OPEN and who is None", "False", token),
    "a token for what is told": Guard(App._reply, "path not in OPEN and", "path in ASKED and", token),
    "method": Guard(App._reply, "method not in allowed", "False", door),
    "type of the body": Guard(
        App._read_body, 'headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != JSON', "False", door
    ),
    "compressed bodies": Guard(
        App._read_body, 'headers.get(b"content-encoding", b"identity").lower() != b"identity"', "False", door
    ),
    "length that is none": Guard(App._read_body, "not length.isdigit() or ", "", door),
    "endless length": Guard(App._read_body, "len(length) > 12 or ", "", door),
    "length before it is read": Guard(App._read_body, " or int(length) > most", "", door),
    "length while it is read": Guard(App._read_body, "size > most", "False", body("too long")),
    "slow bodies": Guard(
        App._read_body,
        "asyncio.timeout(self.config.body_seconds)",
        "asyncio.timeout(None)",
        tested(test_line.test_a_body_that_does_not_arrive_is_given_up),
        long=True,
    ),
    "whole bodies": Guard(
        App._read_body,
        'message["type"] == "http.disconnect"',
        "False",
        tested(test_door.test_a_request_whose_end_never_came_is_none),
    ),
    "close after a body too long": Guard(app._too_long, ", CLOSE", "", door),
    "safe headers": Guard(app._send, "*SAFE,", "", tested(test_door.test_answers_carry_safe_headers_and_no_banner)),
    "ready only with a model": Guard(App._ready, "200 if ready else 503", "200", broken_store),
    "ready means a scorer": Guard(App._ready, " and current.scorer is not None", "", broken_store),
}
APP |= {
    f"{name} once": Guard(
        app._read_headers, f'b"{name}",', "", tested(test_door.test_headers_that_decide_come_once, name)
    )
    for name in ("host", "authorization", "content-length", "content-type", "content-encoding")
}

AUTH = {
    "the right token": Guard(auth.Tokens.who, "hmac.compare_digest(digest, known)", "True", token),
    "last day of a token": Guard(auth.Tokens.who, "(end is None or today <= end)", "True", token),
    "bearer": Guard(auth.Tokens.who, ' if kind.lower() == b"bearer" else None', "", token),
    "rows a second": Guard(
        App._reply,
        "self.rate.take(who or 0, rows_in(body, self.config))",
        "pass",
        tested(test_rate.test_who_asks_too_fast_is_told_and_others_are_answered),
    ),
    "tokens closed to others": Guard(auth.read_tokens, "mode & (stat.S_IRWXO | stat.S_IWGRP)", "False", secret),
    "how many tokens": Guard(auth.read_tokens, "not 1 <= len(found) <= MOST", "False", secret),
    "tokens as text": Guard(auth.read_tokens, "(OSError, UnicodeDecodeError)", "OSError", secret),
    "long tokens": Guard(auth._read_line, "len(token) < SHORTEST", "False", secret),
    "days of tokens": Guard(auth._read_line, "except ValueError", "except KeyError", secret),
    "hashes of tokens": Guard(auth._read_line, "hashlib.sha256(token.encode()).digest()", "token.encode()", token),
    "names are not this machine": Guard(
        auth.is_loopback, "return False", "return True", tested(test_door.test_beyond_this_machine_names_must_be_given)
    ),
    "names for every address": Guard(
        auth.allowed_hosts,
        "wildcard and not more",
        "False",
        tested(test_door.test_beyond_this_machine_names_must_be_given),
    ),
    "this machine's names only here": Guard(
        auth.allowed_hosts,
        "if wildcard or is_loopback(host) else ()",
        "",
        tested(test_door.test_beyond_this_machine_names_must_be_given),
    ),
}

STRICT = {
    "UTF-8": Guard(strict.parse, "except UnicodeDecodeError", "except KeyError", body("Latin-1")),
    "byte-order mark": Guard(
        strict.parse,
        'text.startswith("\\ufeff")',
        "False",
        tested(test_door.test_a_byte_order_mark_is_called_by_its_name),
    ),
    "depth": Guard(strict._load, "check_depth(found)", "pass", body("deep")),
    "deepest": Guard(strict.check_depth, "if not level:", "if True:", body("deep")),
    "JSON at all": Guard(strict.parse, "(ValueError, RecursionError)", "RecursionError", body("cut off")),
    "an object": Guard(strict._load, "type(found) is not dict", "False", body("a list")),
    "every key once": Guard(strict._unique, "len(table) != len(pairs)", "False", body("duplicate key")),
    "no NaN": Guard(
        strict._constant,
        'raise refuse("Expected finite numbers in JSON, got NaN or Infinity.")',
        "return 1.0",
        body("NaN"),
    ),
    "no infinity by length": Guard(strict._float, ' or value in (float("inf"), float("-inf"))', "", infinite),
    "short numbers": Guard(strict._float, "len(token) > LONGEST_NUMBER or ", "", body("long float")),
    "minus zero": Guard(strict._float, " + 0.0", "", tested(test_door.test_minus_zero_is_zero)),
    "minus zero in rows": Guard(rows._read_numbers, " + 0.0", "", tested(test_door.test_minus_zero_is_zero)),
    "not too large in rows": Guard(rows._read_numbers, "(np.abs(found) <= LARGEST).all()", "True", body("1e99")),
    "flags are no numbers": Guard(
        rows._read_numbers, "set(map(type, values)) <= {int, float}", "True", body("true as number")
    ),
    "long numbers": Guard(strict.parse, "LONG in body.translate(NUMBER)", "False", body("long float")),
    "numbers outside of rows": Guard(
        strict.parse, 'not strict and found.keys() != {"rows"}', "False", tested(test_door.test_minus_zero_is_zero)
    ),
    "short whole numbers": Guard(
        strict._whole, "len(token) > LONGEST_WHOLE", "False", body("whole number beyond 64 bits")
    ),
    "printable text": Guard(strict.check_text, "not text.isprintable()", "False", body("newline in an id")),
}


def odd(name):
    return tested(
        test_usual.test_odd_bodies_are_read_as_the_strict_parser_reads_them, {**test_usual.ODD, "a list": b"[]"}[name]
    )


USUAL = {
    "another parser's refusals": Guard(
        usual.parse, "except orjson.JSONDecodeError", "except KeyError", odd("infinite")
    ),
    "what is odd": Guard(usual.parse, "if _is_usual(found, body)", "if True", odd("a key twice")),
    "an object": Guard(usual._is_usual, "type(found) is not dict or ", "", odd("a list")),
    "rows alone": Guard(usual._is_usual, ' or found.keys() != {"rows"}', "", odd("another key alone")),
    "a list of rows": Guard(usual._is_usual, ' or type(found["rows"]) is not list', "", odd("rows as a number")),
    "rows are objects": Guard(usual._is_usual, "set(map(type, rows)) != {dict} or ", "", odd("rows of numbers")),
    "lists inside": Guard(usual._is_usual, ' or body.count(b"[") != 1', "", odd("a deep list inside")),
    "every key once": Guard(
        usual._is_usual, "_every_key_once(1 + sum(map(len, rows)), body) and ", "", odd("a key twice")
    ),
    "blanks before a colon": Guard(
        usual._every_key_once,
        "sum(body.count(two) for two in BEFORE_COLON)",
        "body.count(BEFORE_COLON[0])",
        odd("a key twice, a blank before the colon"),
    ),
    "long numbers": Guard(
        usual._long_number, "LONG in body[::2].translate(strict.NUMBER) or ", "", odd("41 signs 0 bytes on")
    ),
    "long whole numbers": Guard(
        usual._long_number, " or LONG_WHOLE in body.translate(DIGITS)", "", odd("a whole number beyond 64 bits")
    ),
}

texts = tested(test_door.test_features_of_text_are_text_or_null_and_short)
ROWS = {
    "a list of rows": Guard(rows.check_rows, "type(rows) is not list or ", "", body("rows as number")),
    "at least one row": Guard(rows.check_rows, " or not rows", "", body("no rows")),
    "most rows": Guard(
        rows.check_rows,
        "len(rows) > most",
        "False",
        counted,
    ),
    "rows are objects": Guard(Columns.table, "type(row) is not dict", "False", body("rows of text")),
    "keys of rows": Guard(Columns.table, "row.keys() != self.names", "False", body("unknown key")),
    "missing keys by name": Guard(Columns.table, "if missing:", "if False:", named),
    "one wish for each row": Guard(Columns.shares, "len(listed) != rows or ", "", wanted("too few")),
    "wishes are objects": Guard(Columns.shares, "type(item) is not dict or ", "", wanted("text")),
    "channels of wishes": Guard(
        Columns.shares, "item.keys() != set(self.schema.channels)", "False", wanted("a channel missing")
    ),
    "wishes of at least 0": Guard(Columns.shares, "shares.min() < 0 or ", "", wanted("negative")),
    "wishes sum to 1": Guard(
        Columns.shares, "np.abs(shares.sum(axis=1) - 1).max() > 1e-6", "False", wanted("shares of 2")
    ),
    "numbers": Guard(rows._number, "type(value) not in (int, float) or ", "", body("true as number")),
    "not too large": Guard(rows._number, " or not abs(value) <= LARGEST", "", body("1e99")),
    "text features": Guard(rows._texts, "value is not None and type(value) is not str", "False", texts),
    "short text features": Guard(rows._texts, "_short(value, name, row)", "pass", texts),
    "ids": Guard(rows._ids, "type(value) is not str or ", "", body("id as float")),
    "ids with a sign": Guard(rows._ids, " or not value", "", body("empty id")),
    "short ids": Guard(rows._ids, "_short(value, name, row)", "pass", body("long id")),
    "ids with a sign at once": Guard(rows._ids, " and all(values)", "", body("empty id")),
    "texts at once": Guard(rows._are_plain, "set(map(type, values)) == {str} and ", "", body("id as float")),
    "short texts at once": Guard(rows._are_plain, "max(map(len, values)) <= LONGEST_TEXT and ", "", body("long id")),
    "signs of texts at once": Guard(
        rows._are_plain, ' and "".join(values).isprintable()', "", body("newline in an id")
    ),
    "length of text": Guard(rows._short, "len(value) > LONGEST_TEXT", "False", body("long id")),
    "signs of text": Guard(rows._short, "check_text(value)", "pass", body("NUL in an id")),
    "dates are text": Guard(rows._date, "type(value) is not str or ", "", body("date as number")),
    "spelling of dates": Guard(rows._date, " or not DATE.fullmatch(value)", "", body("a word for a date")),
    "dates that exist": Guard(rows._date, "np.datetime64(value)", "pass", body("date that does not exist")),
}

constraints = test_door.test_constraints_that_cannot_be_kept_are_refused
ANSWERS = {
    "keys of a request": Guard(
        answers._open, "not wanted <= told.keys() <= allowed", "False", body("unknown key on top")
    ),
    "constraints are checked": Guard(
        answers._close,
        '_check_constraints(current, versions.config.constraints, further["constraints"])',
        "pass",
        tested(constraints, {"floors": {"tv": 0.1}}),
    ),
    "constraints only where allowed": Guard(
        answers._check_constraints,
        "not allowed",
        "False",
        tested(test_answers.test_constraints_of_a_request_are_kept_where_they_are_allowed),
    ),
    "channels of constraints": Guard(
        answers._check_constraints,
        ".check_channels(current.schema.channels)",
        "",
        tested(constraints, {"floors": {"tv": 0.1}}),
    ),
    "types of constraints": Guard(
        answers._check_constraints,
        "(AttributeError, LookupError, TypeError, ValueError, ArithmeticError)",
        "ZeroDivisionError",
        tested(constraints, []),
    ),
    "sentences about constraints": Guard(
        answers._check_constraints,
        "except ReallocError",
        "except ZeroDivisionError",
        wrong,
    ),
    "poison alone": Guard(
        answers.answer,
        "suppress(Exception)",
        "suppress(KeyError)",
        tested(test_line.test_poison_among_requests_that_are_scored_together_spoils_only_itself),
    ),
    "rows that see each other alone": Guard(
        answers._groups, "if _alone(current):", "if False:", tested(alone, "a cap over all rows")
    ),
    "caps over all rows": Guard(answers._alone, "return capped or ", "return ", tested(alone, "a cap over all rows")),
    "lags": Guard(answers._alone, " or current.scorer.state.encoder.history is not None", "", tested(alone, "lags")),
    "numbers that are none": Guard(
        listing.list_rows,
        "np.flatnonzero(np.any(odd, axis=0)).tolist()",
        "()",
        tested(test_line.test_a_number_that_is_none_moves_nothing),
    ),
    "the mix after numbers that are none": Guard(
        answers._finite,
        "len(told) < len(rows)",
        "False",
        tested(test_line.test_a_number_that_is_none_moves_nothing),
    ),
    "what is missing is a number": Guard(
        listing._no_numbers,
        "found & ~column.is_null().to_numpy() if column.null_count else found",
        "found",
        tested(test_listing.test_what_is_missing_is_null_and_what_is_no_number_is_no_row),
    ),
    "only rows that were read together": Guard(
        answers._together,
        "all(one.read is read for one in group) and ",
        "",
        tested(test_line.test_rows_that_were_read_apart_are_put_together_in_their_order),
    ),
    "all rows that were read together": Guard(
        answers._together,
        " and sum(one.rows for one in group) == read.num_rows",
        "",
        tested(test_line.test_requests_of_several_routes_are_answered_with_their_own_rows),
    ),
    "the mix after a failure": Guard(answers._recommend, "except Exception", "except KeyError", failing),
    "the mix after another failure": Guard(answers._keep, "except Exception", "except KeyError", failing),
    "failures are counted": Guard(answers._note_failure, "versions.metrics.failures.inc()", "pass", failing),
    "the mix without a model": Guard(answers._decide, "scorer is None or reason is not None", "scorer is None", frozen),
    "the mix while frozen": Guard(answers.kept_because, "versions.why_frozen() is not None", "False", frozen),
    "the mix without a scorer": Guard(answers.kept_because, "current.scorer is None", "False", broken_store),
    "the mix of an old model": Guard(
        answers.kept_because, '"stale_model" if versions.is_stale() else None', "None", young
    ),
    "written down before it is told": Guard(
        answers._told,
        "versions.records.keep(current.version, today, answers, settings, versions.clock())",
        "pass",
        tested(test_records.test_every_answer_is_written_down_and_decided_again_alike),
    ),
    "labels of known reasons": Guard(
        answers._told,
        'reason if reason in REASONS else "other"',
        "reason",
        tested(test_answers.test_a_reason_that_nobody_knows_is_no_label),
    ),
    "no gains while frozen": Guard(answers._other, "scorer is None or reason is not None", "scorer is None", frozen),
    "no steps without an answer": Guard(answers._other, ' and "binding" in rows[0]', "", frozen),
    "rows that cannot be read": Guard(
        answers._try,
        "except ReallocError",
        "except ZeroDivisionError",
        tested(test_door.test_rows_that_cannot_be_read_are_refused_where_there_is_no_row_to_say_so),
    ),
    "failures of other routes": Guard(answers._try, "except Exception", "except KeyError", elsewhere),
    "numbers of other routes": Guard(
        answers._try, "isinstance(found, np.ndarray) and not np.isfinite(found).all()", "False", elsewhere
    ),
}

LINE = {
    "rows that wait": Guard(
        Line._enter,
        "self._rows + waiting.rows > self.config.waiting_rows or ",
        "",
        tested(test_line.test_rows_that_wait_are_bounded_too),
    ),
    "bytes that wait": Guard(
        Line._enter,
        " or self._bytes + len(waiting.body) > MOST_BYTES",
        "",
        tested(test_line.test_bytes_that_wait_are_bounded_too),
    ),
    "requests that wait": Guard(
        Line._enter,
        " or len(self._waiting) >= self.config.waiting_requests",
        "",
        tested(test_line.test_what_does_not_fit_into_the_line_is_turned_away_at_once),
    ),
    "nobody after the end": Guard(Line._enter, "self._stopped or ", "", ended, long=True),
    "under the lock": Guard(Line._enter, "with self._changed:", "if True:", ended),
    "how long to wait": Guard(
        Line.ask, "asyncio.timeout(self.config.answer_seconds)", "asyncio.timeout(None)", late, long=True
    ),
    "nothing for who is gone": Guard(Line._work, "waiting.deadline < time.monotonic()", "False", late),
    "rows at once": Guard(
        Line._take,
        "rows + self._waiting[0].rows <= self.config.rows_at_once",
        "True",
        tested(test_line.test_no_more_rows_are_scored_at_once_than_allowed),
    ),
    "nothing ends the thread": Guard(
        Line._work,
        "except Exception as problem",
        "except KeyError as problem",
        tested(test_line.test_nothing_ends_the_thread_that_scores),
    ),
    "nobody waits any more": Guard(
        line.Waiting._set,
        "self.future.done()",
        "False",
        tested(test_line.test_an_answer_that_nobody_waits_for_is_dropped),
    ),
    "a server that has ended": Guard(
        line.Waiting.settle, "suppress(RuntimeError)", "suppress(KeyError)", late, long=True
    ),
    "one version for an answer": Guard(
        Line._score,
        "answer(self.versions, current, ",
        "answer(self.versions, self.versions.current, ",
        tested(test_line.test_an_answer_comes_from_the_version_that_its_rows_were_read_for),
    ),
    "no model yet": Guard(Line._score, "current is None", "False", no_store),
    "refused alone": Guard(
        Line._score,
        "[refusal] * len(asked) if len(asked) == 1 else None",
        "[refusal] * len(asked)",
        tested(test_line.test_so_does_one_that_is_refused_when_it_is_answered),
    ),
    "refused while it is read": Guard(
        answers._or_refusal,
        "except Refusal",
        "except ZeroDivisionError",
        tested(test_line.test_a_bad_request_among_others_spoils_none),
    ),
    "a second thread for a full turn": Guard(
        Line._is_due,
        " or self._rows >= self.config.rows_at_once",
        "",
        tested(test_line.test_a_second_thread_scores_where_a_full_turn_waits_and_not_before),
    ),
    "one thread for less": Guard(
        Line._is_due,
        "(not self._busy or self._rows >= self.config.rows_at_once)",
        "True",
        tested(test_line.test_a_second_thread_scores_where_a_full_turn_waits_and_not_before),
    ),
    "a thread that fails": Guard(
        Line._work, "self._done()", "pass", tested(test_line.test_a_thread_that_fails_is_free_again)
    ),
    "what is under way": Guard(Line.stop, "thread.join(max(0.0, until - time.monotonic()))", "pass", ended),
    "a log that fails at the end": Guard(
        Line.stop,
        "suppress(ReallocError, OSError)",
        "suppress(KeyError)",
        tested(test_records.test_a_log_that_fails_at_the_end_fails_nobody),
    ),
}

canary = tested(test_versions.test_a_version_whose_canary_dies_is_not_taken)
VERSIONS = {
    "digest of HEAD": Guard(
        versions.fetch,
        "read_version(folders[head.number], head.digest)",
        "read_version(folders[head.number])",
        other_version,
    ),
    "whole before it serves": Guard(versions.fetch, "check_model(kept)", "pass", other_version),
    "canary before it serves": Guard(versions.fetch, "check(scorer, kept.canary)", "pass", canary),
    "a store of a known format": Guard(Versions.look, "not is_store(self.root)", "False", other_version),
    "a bad version": Guard(Versions.look, "except Exception as problem", "except KeyError as problem", bad_version),
    "a bad version now and then": Guard(
        Versions.look,
        "time.monotonic() - self._failed[1] < AGAIN_SECONDS",
        "False",
        tested(test_versions.test_a_bad_version_is_not_read_again_at_every_look),
    ),
    "a bad version once": Guard(
        Versions._put_up_with,
        "not self._failed or self._failed[0] != head",
        "True",
        tested(test_versions.test_a_bad_version_is_not_read_again_at_every_look),
    ),
    "what is bad is told": Guard(Versions._put_up_with, 'f"version {head.number} cannot be used"', "None", bad_version),
    "the same version once": Guard(
        Versions._is_current,
        "self.current.digest == head.digest",
        "False",
        new_version,
    ),
    "frozen at every call": Guard(Versions.why_frozen, "why_frozen(self.root)", "None", frozen),
    "age of a version": Guard(Versions.is_stale, "(most and made > most)", "False", young),
    "age of its window": Guard(Versions.is_stale, "(most_window and ended > most_window)", "False", young_window),
    "the last window counts": Guard(Current.ages, "(now - ended).total_seconds()", "0.0", young_window),
    "columns without a model": Guard(
        Versions._stand_in, 'self.current = Current(record, "", schema, None)', "pass", broken_store
    ),
    "not even a record": Guard(Versions._stand_in, "except Exception", "except KeyError", no_store),
    "a log that fails": Guard(
        Versions._look_at_records,
        "except Exception",
        "except KeyError",
        tested(test_versions.test_a_log_that_fails_does_not_end_the_following),
        long=True,
    ),
}

said = tested(test_records.test_a_log_that_cannot_be_written_is_said_at_the_start)
RECORDS = {
    "off": Guard(Records.keep, "not self.on", "False", tested(test_records.test_without_the_log_nothing_is_written)),
    "may be written": Guard(
        Records.open,
        "not os.access(self.ledger.path / JOURNAL, os.W_OK)",
        "False",
        tested(test_records.test_so_is_one_that_its_user_may_not_write),
    ),
    "is tried at the start": Guard(server.make_app, "versions.records.open()", "pass", said),
    "what was left": Guard(
        Records.open,
        "recover(self.ledger)",
        "pass",
        tested(test_records.test_what_a_killed_service_left_is_an_entry_when_the_next_one_starts),
    ),
    "is said as a sentence": Guard(Records.open, "(OSError, LedgerError)", "KeyError", said),
    "entries by version and settings": Guard(
        Records.keep,
        " or self._said != said",
        "",
        tested(test_records.test_kept_mixes_and_constraints_have_entries_of_their_own),
    ),
    "not for ever in the journal": Guard(
        Records.look,
        "self._recorder.flush_if_old()",
        "pass",
        tested(test_records.test_rows_that_have_waited_long_enough_become_an_entry),
    ),
    "all at the end": Guard(
        Records.close,
        "self._recorder.close()",
        "pass",
        tested(test_records.test_a_log_that_fails_at_the_end_fails_nobody),
    ),
}

CONFIG = {
    "types of settings": Guard(ServeConfig.__post_init__, 'check_types(self, "[serve]")', "pass", checked),
    "counts of settings": Guard(ServeConfig.__post_init__, "getattr(self, name) < 1", "False", checked),
    "seconds of settings": Guard(ServeConfig.__post_init__, "not 0 < getattr(self, name) <= 600", "False", checked),
    "ages of settings": Guard(
        ServeConfig.__post_init__, 'not 0 <= getattr(self, name) < float("inf")', "False", checked
    ),
    "room for a batch": Guard(ServeConfig.__post_init__, "self.waiting_rows < self.batch_rows", "False", checked),
    "a table of settings": Guard(
        settings.read_serve,
        "not isinstance(table, Mapping)",
        "False",
        tested(test_door.test_a_table_of_settings_is_read_and_checked),
    ),
}

good = tested(test_sockets.test_a_good_client_is_answered_and_its_token_is_in_no_log)
drained = tested(test_sockets.test_sigterm_answers_what_is_under_way_and_ends_well)
half = tested(test_sockets.test_a_half_closed_client_is_answered)
SERVER = {
    "a token beyond this machine": Guard(
        server.make_app,
        "tokens is None and not is_loopback(address.host)",
        "False",
        tested(test_door.test_beyond_this_machine_a_token_is_needed),
    ),
    "a port that is taken": Guard(
        server._listen,
        "except OSError as problem",
        "except KeyError as problem",
        taken,
    ),
    "no banner": Guard(server.run, "server_header=False", "server_header=True", good, long=True),
    "long headers": Guard(
        server.run,
        "h11_max_incomplete_event_size=LONGEST_HEADER",
        "h11_max_incomplete_event_size=10**6",
        tested(test_sockets.test_headers_are_bounded),
        long=True,
    ),
    "our protocol": Guard(
        server.run,
        "http=guarded(config.connections, config.header_seconds),",
        'http="h11",',
        garbage("nothing at all"),
        long=True,
    ),
    "an end that is no failure": Guard(
        server.run, "signal.signal(number, lambda *_: None)", "pass", drained, long=True
    ),
    "the log at the end": Guard(server.run, "app.line.stop()", "pass", drained, long=True),
    "most connections": Guard(
        protocol.Guarded.connection_made,
        "len(self.connections) > self.most_connections",
        "False",
        crowded,
        long=True,
    ),
    "most connections that are told": Guard(
        protocol.Guarded.connection_made,
        "len(self.connections) > 2 * self.most_connections",
        "False",
        crowded,
        long=True,
    ),
    "slow headers": Guard(
        protocol.Guarded._give_up,
        "self.transport.close()",
        "pass",
        tested(test_sockets.test_a_slow_loris_is_closed_while_others_are_answered),
        long=True,
    ),
    "no HTTP": Guard(
        protocol.Guarded.send_400_response,
        "h11.LocalProtocolError",
        "KeyError",
        breaking_off("bad chunks after the answer"),
        long=True,
    ),
    "what is under way ends, too": Guard(
        protocol.Guarded.send_400_response,
        "cycle is not None and not cycle.response_complete",
        "False",
        garbage("bad chunks"),
        long=True,
    ),
    "half-closed clients": Guard(
        protocol.Guarded.eof_received, "return self.heard_all or None", "return None", half, long=True
    ),
    "half requests": Guard(protocol.Guarded.eof_received, " and not cycle.more_body", "", half, long=True),
}

GUARDS = {
    f"{module}: {name}": guard
    for module, group in {
        "app": APP,
        "auth": AUTH,
        "strict": STRICT,
        "usual": USUAL,
        "rows": ROWS,
        "answers": ANSWERS,
        "line": LINE,
        "versions": VERSIONS,
        "records": RECORDS,
        "config": CONFIG,
        "server": SERVER,
    }.items()
    for name, guard in group.items()
}
