"""Checks on units and dates: one row each, ids that are one id, and what empty cells were taken for."""

import numpy as np
import pyarrow as pa

from realloc.logs.checks.finding import Finding
from realloc.logs.reading import columns
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.intake import Intake, say
from realloc.logs.schema import Schema


def usage_notes(intake: Intake) -> list[Finding]:
    """What reading assumed: empty spends mean not used, clocks without zone are local."""
    findings: list[Finding] = []
    empty = {name: count for name, count in intake.missing_cells.items() if count}
    if empty:
        findings.append(_empty_cells(intake, empty))
    mixed = [name for name in empty if intake.zero_cells.get(name)]
    if mixed:
        findings.append(
            _mixed_zeros(mixed, sum(empty[name] + intake.zero_cells[name] for name in mixed))
        )
    if intake.zoned:
        findings.append(
            Finding(
                code="time_zone",
                level="info",
                what=f"Times in column {intake.plan.schema.time!r} carry a zone and were converted to UTC",
                meaning="A day ends at midnight UTC.",
                advice="Hand in local dates if budgets are set per local day.",
                column=intake.plan.schema.time,
            )
        )
    if intake.naive:
        findings.append(
            Finding(
                code="no_time_zone",
                level="warning",
                what=f"Times of day in column {intake.plan.schema.time!r} carry no zone and are taken as they stand",
                meaning="The days when clocks change have 23 or 25 hours, and logs from two zones would mix.",
                advice="Write the zone (2026-01-31T08:00:00+01:00), or dates only.",
                column=intake.plan.schema.time,
            )
        )
    absent = _absent_drops(intake)
    return findings + ([absent] if absent else [])


def check_keys(schema: Schema, table: pa.Table) -> list[Finding]:
    """Duplicates and ids that are written in two ways. The table is sorted by unit and time."""
    column = table[schema.unit].chunk(0)
    codes = column.indices.to_numpy()
    times = table[schema.time].to_numpy()
    same = (np.diff(codes) == 0) & (np.diff(times) == np.timedelta64(0))
    findings = [_duplicates(schema, table, same)] if same.any() else []
    return findings + check_ids(schema, column.dictionary)


def check_aside(intake: Intake, table: pa.Table) -> list[Finding]:
    """Rows set aside that repeat a unit and date: which of the two is right is a guess too."""
    if not intake.aside:
        return []
    schema, column = intake.plan.schema, table[intake.plan.schema.unit].chunk(0)
    place = intake.unit_words.sorted()[1]
    aside_codes = place[np.concatenate([codes for codes, _ in intake.aside])]
    aside_times = np.concatenate([times for _, times in intake.aside])
    kept = table[schema.time].to_numpy().astype("datetime64[us]").astype(np.int64)
    all_keys = np.stack(
        [np.append(column.indices.to_numpy(), aside_codes), np.append(kept, aside_times)]
    )
    order = np.lexsort(all_keys[::-1])
    same = order[1:][(np.diff(all_keys[:, order]) == 0).all(axis=0)]
    if not len(same):
        return []
    unit, day = str(column.dictionary[int(all_keys[0, same[0]])].as_py()), say(all_keys[1, same[0]])
    return [_hidden_duplicate(unit, day, len(same))]


def _hidden_duplicate(unit: str, day: str, rows: int) -> Finding:
    return Finding(
        code="duplicates",
        level="error",
        what=f"Expected one row per unit and date, got more for {unit!r} on {day}, some without budget or outcome",
        meaning="Which of them is right would be a guess.",
        advice="Keep one row per unit and date.",
        unit=unit,
        date=day,
        rows=rows,
        stops_reading=True,
    )


def check_ids(schema: Schema, units: pa.Array) -> list[Finding]:
    """Ids that differ only in blanks or Unicode form (an error), in case or leading zeros (a warning)."""
    if not columns.is_text(units.type):
        return []
    control = pc.match_substring_regex(units, pattern=r"[\x00-\x1f\x7f]")
    if pc.any(control).as_py():
        return [_control_character(schema, str(units.filter(control)[0].as_py()))]
    tidy = pc.utf8_trim_whitespace(pc.utf8_normalize(units, form="NFC"))
    unpadded = pc.if_else(pc.utf8_is_digit(units), pc.utf8_ltrim(units, characters="0"), units)
    forms = {
        "blanks or Unicode form": tidy,
        "upper and lower case": pc.utf8_lower(units),
        "leading zeros": unpadded,
    }
    twins = {how: _twins(units, form) for how, form in forms.items()}
    return [
        _collision(schema, pair, how, how.startswith("blanks"))
        for how, pair in twins.items()
        if pair
    ]


def _control_character(schema: Schema, unit: str) -> Finding:
    return Finding(
        code="bad_id",
        level="error",
        what=f"Expected ids without control characters in column {schema.unit!r}, got {unit!r}",
        meaning="Files and logs would show or cut it in different ways.",
        advice="Clean the ids.",
        column=schema.unit,
        unit=unit,
        stops_reading=True,
    )


def _twins(units: pa.Array, form: pa.Array) -> tuple[str, str] | None:
    """Two ids that have the same form, or None."""
    if len(pc.unique(form)) == len(units):
        return None
    first: dict[str, str] = {}
    pairs = zip(units.to_pylist(), form.to_pylist(), strict=True)
    return next(
        ((first[same], unit) for unit, same in pairs if first.setdefault(same, unit) != unit), None
    )


def _collision(schema: Schema, pair: tuple[str, str], how: str, error: bool) -> Finding:
    return Finding(
        code="id_collision",
        level="error" if error else "warning",
        what=f"Ids in column {schema.unit!r} that differ only in {how}: {pair[0]!r} and {pair[1]!r}",
        meaning="They are probably one unit, and would be treated as two.",
        advice="Write ids in one form.",
        column=schema.unit,
        unit=pair[0],
        stops_reading=error,
    )


def _duplicates(schema: Schema, table: pa.Table, same: np.ndarray) -> Finding:
    rows = np.flatnonzero(same)
    names = (
        [*schema.channels, schema.outcome]
        if schema.outcome in table.column_names
        else list(schema.channels)
    )
    exact = np.ones(len(rows), dtype=bool)
    for name in names:
        values = table[name].to_numpy()
        exact &= values[rows] == values[rows + 1]
    pairs = list(
        zip(
            table[schema.unit].take(rows[:5]).to_pylist(),
            table[schema.time].take(rows[:5]).to_pylist(),
            strict=True,
        )
    )
    listed = ", ".join(f"{unit!r} on {day}" for unit, day in pairs)
    kind = (
        "all of them exact copies" if exact.all() else f"{int(exact.sum()):,} of them exact copies"
    )
    return Finding(
        code="duplicates",
        level="error",
        what=f"Expected one row per unit and date, got more for {listed}{' …' if len(rows) > 5 else ''} ({kind})",
        meaning="Copies count twice and leak across splits; adding different rows up would be a guess.",
        advice="Drop the copies, or add the rows up if they are parts of one day. For one row per channel, set "
        "`channel_column` and `spend_column`.",
        unit=str(pairs[0][0]),
        date=str(pairs[0][1]),
        rows=len(rows),
        stops_reading=True,
    )


def _empty_cells(intake: Intake, empty: dict[str, int]) -> Finding:
    total = sum(empty.values())
    cells = max(intake.seen * len(intake.missing_cells), 1)
    shown = ", ".join(
        f"{name} {count / max(intake.seen, 1):.0%}" for name, count in list(empty.items())[:12]
    )
    return Finding(
        code="empty_spend",
        level="info",
        what=f"{total:,} channel cells ({total / cells:.0%}) are empty and read as 0, channel not used ({shown})",
        meaning="An empty spend is taken to mean that nothing was spent.",
        advice="If it means `unknown` in your data, drop those rows before reading.",
        column=next(iter(empty)),
    )


def _mixed_zeros(mixed: list[str], cells: int) -> Finding:
    return Finding(
        code="mixed_zeros",
        level="warning",
        what=f"Both empty cells and 0 occur in {len(mixed)} channel columns: {', '.join(mixed)} ({cells:,} cells)",
        meaning="Two codes for `not used` often come from two sources; both are read as 0.",
        advice="If one of them means `unknown`, drop or fill those rows before reading.",
        column=mixed[0],
    )


def _absent_drops(intake: Intake) -> Finding | None:
    if not intake.plan.schema.drop_units:
        return None
    words = intake.unit_words.values
    known = set() if words is None else {str(value) for value in words.to_pylist()}
    absent = [unit for unit in intake.plan.schema.drop_units if unit not in known]
    if not absent:
        return None
    return Finding(
        code="unknown_drop",
        level="warning",
        what=f"`drop_units` names {absent[0]!r}, but the log has no such unit",
        meaning="Nothing was dropped for it.",
        advice="Check the spelling.",
        unit=absent[0],
    )
