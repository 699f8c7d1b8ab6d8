"""What to read from a source: each column's part and type, what is left out and why. No value decides silently."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from realloc.base.errors import LogError
from realloc.base.validation import nearest
from realloc.logs import names
from realloc.logs.checks.finding import Finding
from realloc.logs.reading import columns, csvtext
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.source import Source
from realloc.logs.schema import Schema

Kind = Literal["number", "bool", "category", "time"]


@dataclass(frozen=True)
class Plan:
    """The schema with everything settled: `features` and `currency` filled in, a kind for every feature."""

    schema: Schema
    features: dict[str, Kind]
    has_outcome: bool
    chosen: bool  # features were chosen by us, so unsafe ones may still be left out once values are known
    findings: tuple[Finding, ...]

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that must hold numbers, as they stand in the source."""
        gone = (
            ()
            if self.has_outcome
            else (self.schema.outcome, *self.schema.guardrails, self.schema.propensity)
        )
        listed = self.schema.number_columns
        if self.schema.long:
            listed = (str(self.schema.spend_column), *listed[len(self.schema.channels) :])
        return tuple(name for name in listed if name not in gone)

    @property
    def categories(self) -> tuple[str, ...]:
        """Columns read as text with a vocabulary: categories, the currency, the long layout's channel."""
        extra = (self.schema.currency, self.schema.channel_column)
        listed = [name for name, kind in self.features.items() if kind == "category"]
        return tuple(dict.fromkeys([*listed, *(name for name in extra if name is not None)]))

    @property
    def columns(self) -> list[str]:
        """All columns to read."""
        wanted = (
            self.schema.unit,
            self.schema.time,
            *self.numbers,
            *self.categories,
            *self.features,
        )
        return list(dict.fromkeys(wanted))


def make_plan(source: Source, schema: Schema, need_outcome: bool = True) -> Plan:
    """Settle every column's part. Raises where a needed column is absent or of an impossible type."""
    present = source.columns.names
    schema = _settle_currency(schema, present)
    has_outcome = need_outcome or schema.outcome in present
    _check_present(schema, present, need_outcome)
    findings: list[Finding] = []
    if schema.features is not None:
        wanted = list(schema.features)
        findings += _unused_later(present, schema)
    else:
        wanted = _choose_features(source, schema, findings)
    kinds = _kinds(source, schema, wanted, findings)
    findings += [_cut_off(name) for name in source.cut]
    if source.skipped:
        findings.append(_skipped(source.skipped))
    return Plan(schema, kinds, has_outcome, schema.features is None, tuple(findings))


def _settle_currency(schema: Schema, present: list[str]) -> Schema:
    taken = set(schema.fixed_columns)
    named = [name for name in present if name not in taken and names.looks_currency(name)]
    return schema if schema.currency or len(named) != 1 else replace(schema, currency=named[0])


def _check_present(schema: Schema, present: list[str], need_outcome: bool) -> None:
    parts: list[tuple[str, str | None]] = [("unit", schema.unit), ("time", schema.time)]
    if schema.long:
        parts += [("channel_column", schema.channel_column), ("spend_column", schema.spend_column)]
    else:
        parts += [("channels", name) for name in schema.channels]
    parts += [
        ("budget", schema.budget),
        ("currency", schema.currency),
        *(("features", n) for n in schema.features or ()),
    ]
    if need_outcome:
        parts += [("outcome", schema.outcome), ("propensity", schema.propensity)]
        parts += [("known_before", name) for name in schema.known_before]
        parts += [("categorical", name) for name in schema.categorical or ()]
        parts += [("guardrails", name) for name in schema.guardrails]
    absent = [(part, name) for part, name in parts if name is not None and name not in present]
    if absent:
        part, name = absent[0]
        more = f" ({len(absent)} columns of the schema are absent.)" if len(absent) > 1 else ""
        raise LogError(
            f"Expected a column {name!r} (`{part}` of the schema), but the log has none.{nearest(name, present)}{more}"
        )


def _choose_features(source: Source, schema: Schema, findings: list[Finding]) -> list[str]:
    """Every other column that is safe to use: not named like something known only later, not nested, not unnamed."""
    taken = {*schema.fixed_columns, schema.channel_column, schema.spend_column, csvtext.UNNAMED}
    rest = [
        name
        for name in source.columns.names
        if name not in taken and not name.startswith("__index_level_")
    ]
    if csvtext.UNNAMED in source.columns.names:
        findings.append(_unnamed())
    spent = [name for name in rest if schema.budget is None and names.looks_spent(name)]
    if spent:
        findings.append(_unlisted_spend(spent))
        rest = [name for name in rest if name not in spent]
    later = [name for name in rest if names.looks_later(name) and name not in schema.known_before]
    if later:
        findings.append(_later_names(later))
    odd = [
        name
        for name in rest
        if name not in later and _typed_kind(source.columns.field(name).type) is None
    ]
    if odd:
        findings.append(
            Finding(
                code="unusable_columns",
                level="warning",
                what=f"Columns of a type that is no feature are left out: {', '.join(odd)}",
                meaning="Lists, structs, bytes and durations cannot be used as they are.",
                advice="Turn them into numbers or categories to use them.",
                column=odd[0],
            )
        )
    return [name for name in rest if name not in later and name not in odd]


def _unnamed() -> Finding:
    return Finding(
        code="unnamed_column",
        level="info",
        what="A column without a name is left out",
        meaning="It is usually the row number that pandas writes along.",
        advice="Write the file without it (`to_csv(index=False)`), or name it.",
    )


def _unlisted_spend(spent: list[str]) -> Finding:
    return Finding(
        code="unlisted_spend",
        level="warning",
        what=f"Columns named like a channel's spend are not among the channels, and are left out: {names.shortened(spent)}",
        meaning="If they are channels, the budget is larger than the sum that is taken for it, and all shares are wrong.",
        advice="List them under `channels`, or under `known_before` and `features` if they are something else.",
        column=spent[0],
    )


def _later_names(later: list[str]) -> Finding:
    return Finding(
        code="post_decision_name",
        level="warning",
        what=f"Columns named like results of the decision are left out of the features ({len(later)}): "
        + names.shortened(later),
        meaning="Same-day clicks, orders or revenue are known only after the budget was spent: a model that sees them "
        "explains the outcome by itself and recommends nonsense.",
        advice="Use their past values instead (columns with `lag` or `prev` in the name), or list a column under "
        "`known_before` if it truly was known before the decision.",
        column=later[0],
    )


def _unused_later(present: list[str], schema: Schema) -> list[Finding]:
    """Columns named like results that the user left out, as it should be."""
    taken = {*schema.fixed_columns, *(schema.features or ())}
    later = [name for name in present if name not in taken and names.looks_later(name)]
    if not later:
        return []
    finding = Finding(
        code="post_decision_name",
        level="info",
        what=f"Columns named like results of the decision are not among the features ({len(later)}): "
        + names.shortened(later),
        meaning="That is right: same-day clicks, orders or revenue are known only after the budget was spent.",
        advice="Their past values would be good features.",
        column=later[0],
    )
    return [finding]


def _kinds(
    source: Source, schema: Schema, wanted: list[str], findings: list[Finding]
) -> dict[str, Kind]:
    declared = set(schema.categorical or ())
    if source.text:
        unknown = [name for name in wanted if name not in declared]
        if schema.features is not None and schema.categorical is not None:
            return {name: "category" if name in declared else "number" for name in wanted}
        guessed = guess_text_kinds(source, unknown)
        findings.append(_guessed(guessed))
        return {name: "category" if name in declared else guessed[name] for name in wanted}
    kinds: dict[str, Kind] = {}
    for name in wanted:
        kind = "category" if name in declared else _typed_kind(source.columns.field(name).type)
        if kind is None:
            raise LogError(
                f"Expected numbers, true/false, text or dates in the feature {name!r}, "
                f"got {source.columns.field(name).type}. Convert it, or leave it out of `features`."
            )
        kinds[name] = kind
    return kinds


def _typed_kind(kind: pa.DataType) -> Kind | None:
    if pa.types.is_boolean(kind):
        return "bool"
    if (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    ):
        return "number"
    if columns.is_text(kind) or pa.types.is_dictionary(kind):
        return "category"
    return "time" if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else None


def guess_text_kinds(source: Source, wanted: Iterable[str]) -> dict[str, Kind]:
    """Kinds of undeclared CSV columns, from all their values: number, true/false, ISO date, else category.

    Values with a leading zero (`007`) are ids, so a column that holds one is a category.
    """
    tests = {name: {"number": True, "bool": True, "time": True, "seen": False} for name in wanted}
    if not tests:
        return {}
    for piece in source.pieces(list(tests)):
        for name, state in tests.items():
            _look_at(piece.batch.column(name), name, state)
    return {name: _decide(state) for name, state in tests.items()}


def _look_at(column: pa.Array, name: str, state: dict[str, bool]) -> None:
    text = pc.utf8_trim_whitespace(columns.decoded(column))
    lower = pc.utf8_lower(text)
    given = pc.invert(pc.is_in(lower, value_set=pa.array(columns.MISSING_WORDS)))
    if not pc.any(given).as_py():
        return
    state["seen"] = True
    if state["number"]:
        zero_led = pc.any(pc.match_substring_regex(text, r"^[+-]?0\d")).as_py()
        state["number"] = not zero_led and not bool(
            np.any(columns.to_numbers(text, name, allow_text=True).bad)
        )
    if state["bool"]:
        words = pc.is_in(lower, value_set=pa.array(["true", "false", *columns.MISSING_WORDS]))
        state["bool"] = bool(pc.all(words).as_py())
    if state["time"]:
        state["time"] = not bool(np.any(columns.to_times(text, name)[0].bad))


def _decide(state: dict[str, bool]) -> Kind:
    for kind in ("bool", "number", "time"):
        if state["seen"] and state[kind]:
            return kind
    return "category" if state["seen"] else "number"


def _guessed(kinds: dict[str, Kind]) -> Finding:
    listed = "; ".join(
        f"{kind}: {', '.join(name for name in kinds if kinds[name] == kind)}"
        for kind in ("number", "bool", "time", "category")
        if kind in kinds.values()
    )
    return Finding(
        code="undeclared_types",
        level="info",
        what=f"A CSV carries no types, so undeclared features were typed by all their values ({listed or 'none'})",
        meaning="Another file could be typed otherwise if its values look different.",
        advice="Declare `features` and `categorical` in the schema (`realloc init` writes both).",
    )


def _skipped(paths: Sequence[str]) -> Finding:
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return Finding(
        code="skipped_files",
        level="info",
        what=f"Files of other kinds beside the log were not read: {paths[0]}{more}",
        meaning="Only .parquet and .csv (also .csv.gz and .tsv) are logs.",
        advice="Convert them if they belong to it.",
        where=paths[0],
    )


def _cut_off(name: str) -> Finding:
    return Finding(
        code="maybe_cut_off",
        level="warning",
        what=f"The last line of {name} has no line end",
        meaning="A file that was cut off while being written looks like this, and its last number may be wrong.",
        advice="Check the last line; add a line end if the file is whole.",
        where=name,
    )
