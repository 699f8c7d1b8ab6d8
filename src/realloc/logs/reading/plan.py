"""What to read from a source: each column's part and type, and what is left out and why."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

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
class ReadingPlan:
    """The schema with `features` and `currency` filled in, and a kind for every feature."""

    schema: Schema
    features: dict[str, Kind]
    has_outcome: bool
    chosen: bool  # features were chosen by us, so unsafe ones may still be left out
    findings: tuple[Finding, ...]

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that must hold numbers, as they stand in the source."""
        schema = self.schema
        listed = [str(schema.spend_column)] if schema.long else [*schema.channels]
        listed += [schema.budget] if schema.budget else []
        if self.has_outcome:
            listed += filter(None, (schema.outcome, schema.propensity, *schema.guardrails))
        return tuple(listed)

    @property
    def categories(self) -> tuple[str, ...]:
        """Columns read as text with a vocabulary; also the currency and the channel column."""
        listed = [name for name, kind in self.features.items() if kind == "category"]
        extra = filter(None, (self.schema.currency, self.schema.channel_column))
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
    _check_present(schema, present, need_outcome)
    if schema.features is None:
        wanted, findings = _choose_features(source, schema)
    else:
        wanted = list(schema.features)
        findings = list(_unused_later(present, schema))
    kinds = _kinds(source, schema, wanted, findings)
    findings += _file_notes(source)
    return ReadingPlan(
        schema, kinds, need_outcome, schema.features is None, tuple(findings)
    )


def _check_present(schema: Schema, present: list[str], need_outcome: bool) -> None:
    parts = ["unit", "time"]
    parts += ["channel_column", "spend_column"] if schema.long else ["channels"]
    parts += ["budget", "currency", "features"]
    if need_outcome:
        parts += ["outcome", "propensity", "known_before", "categorical", "guardrails"]
    absent: list[tuple[str, str]] = []
    for part in parts:
        listed: str | tuple[str, ...] = getattr(schema, part) or ()
        for name in (listed,) if isinstance(listed, str) else listed:
            if name not in present:
                absent.append((part, name))
    if absent:
        part, name = absent[0]
        more = (
            f" ({len(absent)} columns of the schema are absent.)" if len(absent) > 1 else ""
        )
        raise LogError(
            f"Expected a column {name!r} (`{part}` of the schema), but the log has none."
            f"{nearest(name, present)}{more}"
        )


def _choose_features(source: Source, schema: Schema) -> tuple[list[str], list[Finding]]:
    """Every other column that is safe to use, and what was left out.

    Left out: columns without a name, nested ones, and those named like a spend or a later result.
    """
    findings: list[Finding] = []
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
    later = [
        name for name in rest if names.looks_later(name) and name not in schema.known_before
    ]
    if later:
        left_out = Finding(
            "post_decision_name",
            "warning",
            "Columns named like results of the decision are left out of the features "
            f"({len(later)}): {names.shortened(later)}",
            "Same-day clicks, orders or revenue are known only after the budget was spent: "
            "a model that sees them explains the outcome by itself and recommends nonsense.",
            "Use their past values instead (columns with `lag` or `prev` in the name), or list a "
            "column under `known_before` if it truly was known before the decision.",
            column=later[0],
        )
        findings.append(left_out)
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
    return [name for name in rest if name not in odd], findings


def _unused_later(present: list[str], schema: Schema) -> Iterator[Finding]:
    """Columns named like results that the user left out, as it should be."""
    taken = {*schema.fixed_columns, *(schema.features or ())}
    later = [name for name in present if name not in taken and names.looks_later(name)]
    if later:
        yield Finding(
            "post_decision_name",
            "info",
            "Columns named like results of the decision are not among the features "
            f"({len(later)}): {names.shortened(later)}",
            "That is right: same-day clicks, orders or revenue are known only after the budget "
            "was spent.",
            "Their past values would be good features.",
            column=later[0],
        )


def _kinds(
    source: Source, schema: Schema, wanted: list[str], findings: list[Finding]
) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    declared = set(schema.categorical or ())
    if source.text and (schema.features is None or schema.categorical is None):
        kinds = guess_text_kinds(source, [name for name in wanted if name not in declared])
        findings.append(_guessed(kinds))
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


def guess_text_kinds(source: Source, wanted: Iterable[str]) -> dict[str, Kind]:
    """Kinds of undeclared CSV columns, from all their values; columns without any are numbers."""
    possible: dict[str, list[Kind]] = {name: ["bool", "number", "time"] for name in wanted}
    seen: set[str] = set()
    missing = pa.array(columns.MISSING_WORDS)
    for piece in source.pieces(list(possible)) if possible else ():
        for name, kinds in possible.items():
            text = pc.utf8_trim_whitespace(columns.decoded(piece.batch.column(name)))
            if not pc.all(pc.is_in(pc.utf8_lower(text), value_set=missing)).as_py():
                seen.add(name)
                possible[name] = [kind for kind in kinds if _may_be(kind, text, name)]
    return {
        name: "number" if name not in seen else kinds[0] if kinds else "category"
        for name, kinds in possible.items()
    }


def _may_be(kind: Kind, text: pa.Array, name: str) -> bool:
    """Whether all values are of a kind. Those with a leading zero (`007`) are ids, not numbers."""
    if kind == "bool":
        words = pa.array(["true", "false", *columns.MISSING_WORDS])
        return pc.all(pc.is_in(pc.utf8_lower(text), value_set=words)).as_py()
    if kind == "time":
        return not columns.to_times(text, name).bad.any()
    if pc.any(pc.match_substring_regex(text, r"^[+-]?0\d")).as_py():
        return False
    return not columns.to_numbers(text, name, allow_text=True).bad.any()


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
        "A CSV carries no types, so undeclared features were typed by all their values "
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
            "Only .parquet and .csv (also .csv.gz and .tsv) are logs.",
            "Convert them if they belong to it.",
            where=first,
        )
