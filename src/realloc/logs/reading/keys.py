"""Checks on units and dates: one row each, ids written in one way, and what reading assumed."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from realloc.base.simplex import Integers
from realloc.logs.checks.finding import Finding
from realloc.logs.reading import columns
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.intake import Intake, say
from realloc.logs.schema import Schema


def usage_notes(intake: Intake) -> Iterator[Finding]:
    """What reading assumed: empty spends mean not used, clocks without zone are local."""
    time = intake.plan.schema.time
    yield from _empty_spends(intake)
    if intake.zoned:
        yield Finding(
            "time_zone",
            "info",
            f"Times in column {time!r} carry a zone and were converted to UTC",
            "A day ends at midnight UTC.",
            "Hand in local dates if budgets are set per local day.",
            column=time,
        )
    if intake.naive:
        yield Finding(
            "no_time_zone",
            "warning",
            f"Times of day in column {time!r} carry no zone and are taken as they stand",
            "The days when clocks change have 23 or 25 hours, and logs from two zones would mix.",
            "Write the zone (2026-01-31T08:00:00+01:00), or dates only.",
            column=time,
        )
    words = intake.unit_words.values
    known = [] if words is None else words.cast(pa.string()).to_pylist()
    absent = [unit for unit in intake.plan.schema.drop_units if unit not in known]
    if absent:
        yield Finding(
            "unknown_drop",
            "warning",
            f"`drop_units` names {absent[0]!r}, but the log has no such unit",
            "Nothing was dropped for it.",
            "Check the spelling.",
            unit=absent[0],
        )


def _empty_spends(intake: Intake) -> Iterator[Finding]:
    empty = +intake.empty_cells  # those above 0
    if not empty:
        return
    total = empty.total()
    part = total / (intake.seen * len(intake.empty_cells))
    shown = [f"{name} {count / intake.seen:.0%}" for name, count in empty.items()]
    yield Finding(
        "empty_spend",
        "info",
        f"{total:,} channel cells ({part:.0%}) are empty and read as 0, channel not used "
        f"({', '.join(shown[:12])})",
        "An empty spend is taken to mean that nothing was spent.",
        "If it means `unknown` in your data, drop those rows before reading.",
        column=next(iter(empty)),
    )
    mixed = [name for name in empty if intake.zero_cells[name]]
    if mixed:
        cells = sum(empty[name] + intake.zero_cells[name] for name in mixed)
        yield Finding(
            "mixed_zeros",
            "warning",
            f"Both empty cells and 0 occur in {len(mixed)} channel columns: {', '.join(mixed)} "
            f"({cells:,} cells)",
            "Two codes for `not used` often come from two sources; both are read as 0.",
            "If one of them means `unknown`, drop or fill those rows before reading.",
            column=mixed[0],
        )


def check_keys(schema: Schema, table: pa.Table) -> list[Finding]:
    """Duplicates and ids that are written in two ways. The table is sorted by unit and time."""
    column = table[schema.unit].chunk(0)
    codes = column.indices.to_numpy()
    times = table[schema.time].to_numpy()
    same = (codes[1:] == codes[:-1]) & (times[1:] == times[:-1])
    findings = list(check_ids(schema, column.dictionary))
    if same.any():
        findings.insert(0, _duplicates(schema, table, np.flatnonzero(same)))
    return findings


def _duplicates(schema: Schema, table: pa.Table, rows: Integers) -> Finding:
    exact = np.ones(len(rows), dtype=bool)
    for name in (*schema.channels, schema.outcome):
        if name in table.column_names:
            values = table[name].to_numpy()
            exact &= values[rows] == values[rows + 1]
    units = table[schema.unit].take(rows[:5]).to_pylist()
    days = table[schema.time].take(rows[:5]).to_pylist()
    listed = ", ".join(f"{unit!r} on {day}" for unit, day in zip(units, days, strict=True))
    more = " …" if len(rows) > 5 else ""
    copies = "all" if exact.all() else f"{int(exact.sum()):,}"
    return Finding(
        "duplicates",
        "error",
        f"Expected one row per unit and date, got more for {listed}{more} "
        f"({copies} of them exact copies)",
        "Copies count twice and leak across splits; adding different rows up would be a guess.",
        "Drop the copies, or add the rows up if they are parts of one day. For one row per "
        "channel, set `channel_column` and `spend_column`.",
        unit=str(units[0]),
        date=str(days[0]),
        rows=len(rows),
        stops_reading=True,
    )


def check_aside(intake: Intake, table: pa.Table) -> list[Finding]:
    """Rows set aside that repeat a unit and date: which of the two is right is a guess too."""
    aside = intake.aside.take_all()
    if not len(aside):
        return []
    schema = intake.plan.schema
    column = table[schema.unit].chunk(0)
    place = intake.unit_words.sorted()[1]
    kept = table[schema.time].to_numpy().astype("datetime64[us]").astype(np.int64)
    known = (aside.units >= 0) & (aside.times != columns.NO_TIME)
    units = np.append(column.indices.to_numpy(), place[aside.units[known]])
    times = np.append(kept, aside.times[known])
    order = np.lexsort((times, units))
    same_unit = np.diff(units[order]) == 0
    same_time = np.diff(times[order]) == 0
    same = order[1:][same_unit & same_time]
    if not len(same):
        return []
    unit = str(column.dictionary[int(units[same[0]])].as_py())
    day = say(times[same[0]])
    finding = Finding(
        "duplicates",
        "error",
        f"Expected one row per unit and date, got more for {unit!r} on {day}, some wrong or "
        "without budget or outcome",
        "Which of them is right would be a guess.",
        "Keep one row per unit and date.",
        unit=unit,
        date=day,
        rows=len(same),
        stops_reading=True,
    )
    return [finding]


def check_ids(schema: Schema, units: pa.Array) -> Iterator[Finding]:
    """Ids that differ only in blanks or Unicode form (error), case or leading zeros (warning)."""
    if not columns.is_text(units.type):
        return
    control = pc.match_substring_regex(units, pattern=r"[\x00-\x1f\x7f]")
    if pc.any(control).as_py():
        unit = str(units.filter(control)[0].as_py())
        yield Finding(
            "bad_id",
            "error",
            f"Expected ids without control characters in column {schema.unit!r}, got {unit!r}",
            "Files and logs would show or cut it in different ways.",
            "Clean the ids.",
            column=schema.unit,
            unit=unit,
            stops_reading=True,
        )
        return
    forms = {
        "blanks or Unicode form": pc.utf8_trim_whitespace(
            pc.utf8_normalize(units, form="NFC")
        ),
        "upper and lower case": pc.utf8_lower(units),
        "leading zeros": pc.if_else(
            pc.utf8_is_digit(units), pc.utf8_ltrim(units, "0"), units
        ),
    }
    for how, form in forms.items():
        if len(pc.unique(form)) < len(units):
            twins = _twins(units.to_pylist(), form.to_pylist())
            error = how.startswith("blanks")
            yield Finding(
                "id_collision",
                "error" if error else "warning",
                f"Ids in column {schema.unit!r} that differ only in {how}: "
                f"{twins[0]!r} and {twins[1]!r}",
                "They are probably one unit, and would be treated as two.",
                "Write ids in one form.",
                column=schema.unit,
                unit=twins[0],
                stops_reading=error,
            )


def _twins(units: list[str], forms: list[str]) -> tuple[str, str]:
    """The first two ids that have the same form."""
    first: dict[str, str] = {}
    pairs = zip(units, forms, strict=True)
    return next(
        (first[form], unit) for unit, form in pairs if first.setdefault(form, unit) != unit
    )
