"""What to read from a source: each column's part and type, and what is left out and why."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import pyarrow as pa

from realloc.base.errors import LogError
from realloc.base.validation import nearest
from realloc.logs import names
from realloc.logs.checks.finding import Finding, Level, listed
from realloc.logs.reading import columns, csvtext
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.dates import DateForms, find_forms
from realloc.logs.reading.later import find_later
from realloc.logs.reading.options import ReadOptions
from realloc.logs.reading.source import Piece, Source
from realloc.logs.schema import Schema

Kind = Literal["number", "bool", "category", "time"]


@dataclass(frozen=True)
class ReadingPlan:
    """The schema with `features` and `currency` filled in, and a kind for every feature."""

    schema: Schema
    features: dict[str, Kind]
    has_outcome: bool
    long: bool  # the source has one row per unit, date and channel
    chosen: bool  # features were chosen by us, so unsafe ones may still be left out
    findings: tuple[Finding, ...]

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that must hold numbers, as they stand in the source."""
        schema = self.schema
        listed = [str(schema.spend_column)] if self.long else [*schema.channels]
        listed += [schema.budget] if schema.budget else []
        if self.has_outcome:
            listed += filter(None, (schema.outcome, schema.propensity, *schema.guardrails))
        return tuple(listed)

    @property
    def categories(self) -> tuple[str, ...]:
        """Columns read as text with a vocabulary; also the currency and the channel column."""
        listed = [name for name, kind in self.features.items() if kind == "category"]
        channel = self.schema.channel_column if self.long else None
        extra = filter(None, (self.schema.currency, channel))
        return tuple(dict.fromkeys([*listed, *extra]))

    @property
    def columns(self) -> list[str]:
        """All columns to read."""
        keys = (self.schema.unit, self.schema.time)
        return list(dict.fromkeys([*keys, *self.numbers, *self.categories, *self.features]))


def make_plan(source: Source, schema: Schema, need_outcome: bool = True) -> ReadingPlan:
    """Settle every column's part. Raise if a needed column is absent or of an impossible type."""
    present = source.columns.names
    currencies = [name for name in present if names.looks_currency(name)]
    free = [name for name in currencies if name not in schema.fixed_columns]
    if schema.currency is None and len(free) == 1:
        schema = replace(schema, currency=free[0])
    # A schema of the long layout also reads wide rows.
    wide = schema.channel_column not in present and set(schema.channels) <= {*present}
    long = schema.long and not wide
    _check_present(schema, present, need_outcome, long)
    findings: list[Finding] = []
    if need_outcome:  # one day's rows would not tell 01/02 from 02/01
        schema = _settle_dates(source, schema, findings)
    if schema.features is None:
        wanted = _choose_features(source, schema, findings)
    else:
        wanted = list(schema.features)
        findings += _unused_later(source, schema)
    kinds = _kinds(source, schema, wanted, findings)
    findings += _file_notes(source)
    return ReadingPlan(
        schema, kinds, need_outcome, long, schema.features is None, tuple(findings)
    )


def _check_present(
    schema: Schema, present: list[str], need_outcome: bool, long: bool
) -> None:
    parts = ["unit", "time"]
    parts += ["channel_column", "spend_column"] if long else ["channels"]
    parts += ["budget", "currency", "features"]
    if need_outcome:
        parts += ["outcome", "propensity", "known_before", "categorical", "guardrails"]
    absent: list[tuple[str, str]] = []
    for part in parts:
        value: str | tuple[str, ...] = getattr(schema, part) or ()
        for name in (value,) if isinstance(value, str) else value:
            if name not in present:
                absent.append((part, name))
    if absent:
        free = [name for name in present if name not in schema.columns]
        wide = (
            " Rows of the wide layout need a column for every channel: "
            f"{names.shortened(list(schema.channels))}."
        )
        lines = [
            f"Expected a column {name!r} (`{part}` of the schema), but the log has none."
            f"{_suggest(name, free)}{wide if part == 'channel_column' else ''}"
            for part, name in absent
        ]
        raise LogError(listed(lines))


def _suggest(name: str, free: list[str]) -> str:
    """The column that may have taken the place of a missing one."""
    hint = nearest(name, free)
    if hint.startswith(" Did you mean"):
        return hint
    return (
        f" Columns that the schema does not name: {names.shortened(free)}." if free else ""
    )


def _settle_dates(source: Source, schema: Schema, findings: list[Finding]) -> Schema:
    """The schema with the form of dates that are not ISO, where only one form fits all rows."""
    name = schema.time
    if schema.read.date_format or not columns.is_text(source.columns.field(name).type):
        return schema
    words = columns.Vocabulary(columns.MOST_CATEGORIES)
    for piece in source.pieces([name]):
        text = pc.utf8_trim_whitespace(columns.decoded(piece.batch.column(name), name))
        parsed = columns.to_times(text, name)
        words.encode(text.filter(pa.array(parsed.bad)))
        if words.overflow or (parsed.values != columns.NO_TIME).any():
            return schema  # among ISO dates, another form is a mistake
    found = None if words.values is None else find_forms(words.values)
    if found is None:
        return schema
    findings += _say_dates(name, found)
    # Where it is ambiguous, nothing is read, and either form finds the same duplicates.
    first = replace(schema.read, date_format=found.forms[0] if found.forms else None)
    return replace(schema, read=first)


def _say_dates(name: str, found: DateForms) -> Iterator[Finding]:
    examples = " and ".join(map(repr, found.examples))
    if found.one:
        yield Finding(
            "date_form",
            "info",
            f"Dates in column {name!r} are read as {found.one}: no other form fits {examples}",
            "Later windows are read in the same form.",
            f'Put date_format = "{found.one}" into [read] of the config to say so yourself.',
            column=name,
        )
        return
    if found.forms:
        what = (
            f"Expected dates in column {name!r} that can be told apart, got {examples}, which fit "
            f"{' and '.join(found.forms)}"
        )
        meaning = "No row tells which number is the month, and a guess could swap days and months."
        advice = (
            f"Say which: --date-format {found.forms[0]} for `realloc init` and `realloc check`, or "
            f'date_format = "{found.forms[0]}" in [read] of the config, or '
            f'read=realloc.ReadOptions(date_format="{found.forms[0]}") in Python.'
        )
    else:
        what = f"Expected dates of one form in column {name!r}, got {examples}"
        meaning = "No single form fits them all."
        advice = "Write them all as YYYY-MM-DD."
    yield Finding(
        "ambiguous_dates", "error", what, meaning, advice, column=name, stops_reading=True
    )


def _choose_features(source: Source, schema: Schema, findings: list[Finding]) -> list[str]:
    """Every other column that is safe to use; what was left out is added to the findings.

    Left out: columns without a name, nested ones, and those named like a spend or a later result.
    """
    taken = {
        *schema.fixed_columns,
        schema.channel_column,
        schema.spend_column,
        csvtext.UNNAMED,
    }
    rest = [name for name in source.columns.names if name not in taken]
    rest = [name for name in rest if not name.startswith("__index_level_")]
    if csvtext.UNNAMED in source.columns.names:
        unnamed = Finding(
            "unnamed_column",
            "info",
            "A column without a name is left out",
            "It is usually the row number that pandas writes along.",
            "Write the file without it (`to_csv(index=False)`), or name it.",
        )
        findings.append(unnamed)
    spent = [name for name in rest if schema.budget is None and names.looks_spent(name)]
    if spent:
        unlisted = Finding(
            "unlisted_spend",
            "warning",
            "Columns named like a channel's spend are not among the channels, and are left out: "
            + names.shortened(spent),
            "If they are channels, the budget is larger than the sum that is taken for it, "
            "and all shares are wrong.",
            "List them under `channels`, or under `known_before` and `features` if they are "
            "something else.",
            column=spent[0],
        )
        findings.append(unlisted)
        rest = [name for name in rest if name not in spent]
    suspects = [name for name in rest if name not in schema.known_before]
    later = find_later(source, schema, suspects)
    if later:
        findings.append(_ask_later(later, "warning"))
        rest = [name for name in rest if name not in later]
    odd = [name for name in rest if _typed_kind(source.columns.field(name).type) is None]
    if odd:
        unusable = Finding(
            "unusable_columns",
            "warning",
            f"Columns of a type that is no feature are left out: {', '.join(odd)}",
            "Lists, structs, bytes and durations cannot be used as they are.",
            "Turn them into numbers or categories to use them.",
            column=odd[0],
        )
        findings.append(unusable)
    return [name for name in rest if name not in odd]


def _unused_later(source: Source, schema: Schema) -> Iterator[Finding]:
    """Columns named like results that the user left out."""
    taken = {*schema.fixed_columns, *(schema.features or ())}
    unused = [name for name in source.columns.names if name not in taken]
    later = find_later(source, schema, unused)
    if later:
        yield _ask_later(later, "info")


def _ask_later(later: list[str], level: Level) -> Finding:
    return Finding(
        "post_decision_name",
        level,
        "Columns named like results of the decision are not used as features "
        f"({len(later)}): {names.shortened(later)}",
        "Was one of them known before the budget was set? Same-day clicks, orders or revenue are "
        "not: a model that sees them explains the outcome by itself and recommends nonsense.",
        "If one was, list it under `known_before` (and in `features`, if they are listed). Of the "
        "others, past values are good features (columns with `lag` or `prev` in the name).",
        column=later[0],
    )


def _kinds(
    source: Source, schema: Schema, wanted: list[str], findings: list[Finding]
) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    declared = set(schema.categorical or ())
    if source.text and (schema.features is None or schema.categorical is None):
        undeclared = [name for name in wanted if name not in declared]
        kinds = guess_text_kinds(source.pieces(undeclared), undeclared, schema.read)
        findings.append(_guessed(kinds))
    elif source.text:  # true/false and dates look like nothing else; all others are numbers
        undeclared = [name for name in wanted if name not in declared]
        first = islice(source.pieces(undeclared), 1) if undeclared else ()
        kinds = guess_text_kinds(first, undeclared, schema.read)
        kinds = {name: kind for name, kind in kinds.items() if kind != "category"}
    for name in wanted:
        if name in declared:
            kinds[name] = "category"
        elif source.text:
            kinds.setdefault(name, "number")
        else:
            kind = _typed_kind(source.columns.field(name).type)
            if kind is None:
                raise LogError(
                    f"Expected numbers, true/false, text or dates in the feature {name!r}, got "
                    f"{source.columns.field(name).type}. Convert it, or leave it out of `features`."
                )
            kinds[name] = kind
    return {name: kinds[name] for name in wanted}


def _typed_kind(kind: pa.DataType) -> Kind | None:
    if pa.types.is_boolean(kind):
        return "bool"
    if columns.is_number(kind) or pa.types.is_null(kind):
        return "number"
    if columns.is_text(kind) or pa.types.is_dictionary(kind):
        return "category"
    return "time" if columns.is_time(kind) else None


def guess_text_kinds(
    pieces: Iterable[Piece], wanted: Iterable[str], read: ReadOptions
) -> dict[str, Kind]:
    """Kinds of undeclared CSV columns, from all their values; columns without any are numbers."""
    possible: dict[str, list[Kind]] = {name: ["bool", "number", "time"] for name in wanted}
    seen: set[str] = set()
    for piece in pieces if possible else ():
        for name, kinds in possible.items():
            text = pc.utf8_trim_whitespace(columns.decoded(piece.batch.column(name)))
            if not pc.all(columns.is_missing(text)).as_py():
                seen.add(name)
                possible[name] = [kind for kind in kinds if _may_be(kind, text, name, read)]
    return {
        name: "number" if name not in seen else kinds[0] if kinds else "category"
        for name, kinds in possible.items()
    }


def _may_be(kind: Kind, text: pa.Array, name: str, read: ReadOptions) -> bool:
    """Whether all values are of a kind. Those with a leading zero (`007`) are ids, not numbers."""
    if kind == "bool":
        words = pa.array(["true", "false", *columns.MISSING_WORDS])
        return pc.all(pc.is_in(pc.utf8_lower(text), value_set=words)).as_py()
    if kind == "time":
        return not columns.to_times(text, name, read.date_format).bad.any()
    if pc.any(pc.match_substring_regex(text, r"^[+-]?0\d")).as_py():
        return False
    return not columns.to_numbers(text, name, allow_text=True, read=read).bad.any()


def _guessed(kinds: dict[str, Kind]) -> Finding:
    by_kind = {kind: [] for kind in ("number", "bool", "time", "category")}
    for name, kind in kinds.items():
        by_kind[kind].append(name)
    listed = "; ".join(
        f"{kind}: {', '.join(found)}" for kind, found in by_kind.items() if found
    )
    return Finding(
        "undeclared_types",
        "info",
        "Text carries no types, so undeclared features were typed by all their values "
        f"({listed or 'none'})",
        "Another file could be typed otherwise if its values look different.",
        "Declare `features` and `categorical` in the schema (`realloc init` writes both).",
    )


def _file_notes(source: Source) -> Iterator[Finding]:
    for name in source.cut:
        yield Finding(
            "maybe_cut_off",
            "warning",
            f"The last line of {name} has no line end",
            "A file that was cut off while being written looks like this, and its last number "
            "may be wrong.",
            "Check the last line; add a line end if the file is whole.",
            where=name,
        )
    if source.skipped:
        first = source.skipped[0]
        more = f" and {len(source.skipped) - 1} more" if len(source.skipped) > 1 else ""
        yield Finding(
            "skipped_files",
            "info",
            f"Files of other kinds beside the log were not read: {first}{more}",
            "Only .parquet, .csv (also .csv.gz and .tsv) and .xlsx are logs.",
            "Convert them if they belong to it.",
            where=first,
        )
