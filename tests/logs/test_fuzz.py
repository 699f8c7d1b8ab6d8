"""Thousands of malformed logs: each is refused with a clear message or read as a reference does.

No case may end in a traceback, and none may be accepted with other rows than those of the slow,
strict reference. Everything is drawn from fixed seeds, so that a failure can be made again.
"""

import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import realloc
from realloc.cli.main import main
from realloc.logs.reading import csvtext
from tests.logs import malform, malform_files, malform_tables
from tests.logs.compare import Outcome, difference, unclear
from tests.logs.malform import SPENDS, TODAY, CsvCase
from tests.logs.malform_tables import TableCase
from tests.logs.reference import Row, Verdict, judge_csv, judge_records

SEED = 20261115
BREAKS_EACH = 12
# Where the reader may refuse what the reference takes: it says why, and the user can act.
STRICTER = (
    r"Expected finite numbers in column '(price|color)'",
    r"Expected numbers in column '\w+', got (text|the type)",
    r"not in range|cannot be converted|over \d+ MiB|ids below 2\^63|numbers below 1e30",
    r"Values may not hold line breaks",  # an open quote looks like a line break in a value
    r"Expected ids without control characters|Expected UTF-8 text in column",
    r"Expected dates .* in column '(price|color)'",
    r"Expected one kind of value in column",  # of a pandas object column
)


@cache
def csv_groups() -> dict[str, list[CsvCase]]:
    return {
        "cells": list(malform.cell_cases(SEED)),
        "columns": list(malform.column_cases(SEED)),
        "mutations": list(malform.mutated_cases(SEED, each=1, combined=160)),
        "crafted": malform_files.crafted_cases(),
        "separators": malform_files.separated_cases(),
    }


@cache
def table_groups() -> dict[str, list[TableCase]]:
    return {
        "arrow": list(malform_tables.arrow_cases(SEED)),
        "shapes": list(malform_tables.shape_cases(SEED)),
        "pandas cells": list(malform_tables.pandas_cell_cases(SEED)),
        "pandas": list(malform_tables.pandas_cases(SEED)),
        "polars": list(malform_tables.polars_cases(SEED)),
    }


def report(faults: dict[str, list[str]]) -> str:
    """All faults, so that one run shows every bug; the commonest kind may not hide the others."""
    lines = [f"{len(faults)} cases went wrong:"]
    shown: Counter[str] = Counter()
    for name, found in faults.items():
        kind = re.sub(r"['\"(].*", "", found[0])[:60]
        shown[kind] += 1
        if shown[kind] <= 8:
            lines.append(f"  {name[:150]}\n      {found[0][:400]}")
    return "\n".join(
        [*lines, *(f"  {count} × {kind}" for kind, count in shown.most_common())]
    )


def judge_one(source: object, schema: realloc.Schema, verdict: Verdict | None) -> list[str]:
    outcome = Outcome(source, schema, TODAY)
    faults = outcome.faults(verdict)
    stricter = outcome.message is not None and verdict is not None and not verdict.refused
    if stricter and not any(
        re.search(pattern, str(outcome.message)) for pattern in STRICTER
    ):
        faults.append(f"refused, though sound: {outcome.message}")
    return faults


def csv_faults(cases: Iterable[CsvCase], folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for case in cases:
        path = folder / f"logs{case.ending}"
        path.write_bytes(case.content)
        verdict = judge_csv(
            case.content, case.schema, TODAY, "\t" if case.ending == ".tsv" else ","
        )
        faults = judge_one(path, case.schema, verdict)
        if faults:
            found[case.name] = faults
    return found


def table_faults(cases: Iterable[TableCase]) -> dict[str, list[str]]:
    judged = {
        case.name: judge_one(case.table, case.schema, verdict_of(case)) for case in cases
    }
    return {name: faults for name, faults in judged.items() if faults}


def verdict_of(case: TableCase) -> Verdict | None:
    return None if case.plain is None else judge_records(case.plain, case.schema, TODAY)


@pytest.mark.slow
@pytest.mark.parametrize(
    "group", ["cells", "columns", "mutations", "crafted", "separators"]
)
def test_malformed_csv_is_refused_or_read_as_the_reference_reads_it(
    group: str, tmp_path: Path
) -> None:
    faults = csv_faults(csv_groups()[group], tmp_path)
    assert not faults, report(faults)


def test_small_blocks_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csvtext, "BLOCK_BYTES", 512)
    quoting = [
        case
        for case in csv_groups()["mutations"]
        if re.search("quote|cut|line|comma", case.name)
    ][:120]
    faults = csv_faults(quoting, tmp_path)
    faults = {
        name: found
        for name, found in faults.items()
        if not found[0].startswith("refused, though sound")
    }
    assert not faults, report(faults)


@pytest.mark.slow
@pytest.mark.parametrize("group", ["arrow", "shapes", "pandas cells", "pandas", "polars"])
def test_malformed_frames_are_refused_or_read_as_the_reference_reads_them(
    group: str,
) -> None:
    faults = table_faults(table_groups()[group])
    assert not faults, report(faults)


@pytest.mark.slow
def test_parquet_of_every_type_is_refused_or_read_as_the_reference_reads_it(
    tmp_path: Path,
) -> None:
    faults: dict[str, list[str]] = {}
    written = 0
    for case in [*table_groups()["arrow"], *table_groups()["shapes"]]:
        content = (
            malform_tables.parquet_bytes(case.table)
            if isinstance(case.table, pa.Table)
            else None
        )
        if content is None:
            continue
        written += 1
        path = tmp_path / "logs.parquet"
        path.write_bytes(content)
        found = judge_one(path, case.schema, verdict_of(case))
        if found:
            faults[case.name] = found
    assert written > 300
    assert not faults, report(faults)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "detects"),
    [
        ({"write_page_checksum": True}, True),
        ({"write_page_checksum": True, "compression": "none"}, True),
        (
            {"compression": "none", "use_dictionary": False},
            False,
        ),  # nothing in the file could tell: no traceback only
    ],
)
def test_broken_parquet_is_refused_or_unharmed(
    options: dict[str, object], detects: bool, tmp_path: Path
) -> None:
    table = pa.table(malform_tables.base_columns(SEED))
    content = malform_tables.parquet_bytes(table, **options)
    assert content is not None
    verdict = judge_records(malform_tables.plain_of_arrow(table), SPENDS, TODAY)
    assert not verdict.refused
    faults: dict[str, list[str]] = {}
    for how in malform_tables.BREAKS:
        for turn in range(BREAKS_EACH):
            broken = malform_tables.break_bytes(
                content, how, random.Random(f"{SEED} {how} {turn}")
            )
            path = tmp_path / "logs.parquet"
            path.write_bytes(broken)
            found = Outcome(path, SPENDS, TODAY).faults(verdict if detects else None)
            if found:
                faults[f"{how} {turn}"] = found
    assert not faults, report(faults)


@pytest.mark.parametrize("name", malform_files.REFUSED_FILES)
def test_wrong_files_and_objects_are_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = Outcome(malform_files.REFUSED_FILES[name](tmp_path), SPENDS, TODAY)
    assert outcome.faults(Verdict(refused=name)) == []
    assert outcome.message is not None
    if name in malform_files.WRONG_OBJECTS:
        assert outcome.message.startswith(
            "Expected a path, a list of paths, or a pandas, polars or pyarrow table"
        )


@pytest.mark.parametrize("name", malform_files.ACCEPTED_FILES)
def test_several_files_are_read_as_one(name: str, tmp_path: Path) -> None:
    verdict = judge_records(
        malform_tables.plain_of_arrow(pa.table(malform_tables.base_columns(8))),
        SPENDS,
        TODAY,
    )
    outcome = Outcome(malform_files.ACCEPTED_FILES[name](tmp_path), SPENDS, TODAY)
    assert outcome.message is None
    assert outcome.faults(verdict) == []


@pytest.mark.parametrize("name", malform_files.BAD_TOML)
def test_malformed_config_is_refused(name: str, tmp_path: Path) -> None:
    content = malform_files.BAD_TOML[name]
    path = tmp_path / "realloc.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(realloc.ConfigError) as refusal:
        realloc.read_config(path)
    assert unclear(str(refusal.value)) == []


def test_a_sound_config_is_read(tmp_path: Path) -> None:
    path = tmp_path / "realloc.toml"
    path.write_text(malform_files.SCHEMA + "[check]\nfewest_rows = 5\n")
    assert realloc.read_config(path)[0].channels == ("ads", "coupon")


@pytest.mark.parametrize("name", malform_files.BAD_SCHEMAS)
def test_impossible_schema_is_refused(name: str) -> None:
    with pytest.raises(realloc.ConfigError) as refusal:
        realloc.Schema(**(malform_files.GOOD_SCHEMA | malform_files.BAD_SCHEMAS[name]))
    assert unclear(str(refusal.value)) == []


@pytest.mark.parametrize("name", malform_files.UNKNOWN_COLUMNS)
def test_schema_that_names_no_column_is_refused(name: str) -> None:
    table = pa.table(malform_tables.base_columns(SEED))
    schema = realloc.Schema(
        **(malform_files.GOOD_SCHEMA | malform_files.UNKNOWN_COLUMNS[name])
    )
    with pytest.raises(realloc.LogError, match=r"Expected .* column"):
        realloc.read_logs(table, schema, today=TODAY)


# The command line


def big_log(seed: int = 3) -> str:
    """A sound log, large enough to be learned from: only what is broken can make `check` fail."""
    return malform.render(
        malform.base_cells("spends", random.Random(seed), units=24, days=8)
    )


CONFIG = """
[schema]
unit = "item"
time = "date"
outcome = "orders"
channels = ["ads", "coupon", "rebate"]
"""
WORST = [
    *(
        "drop a field",
        "add a field",
        "extra field on every row",
        "trailing comma on every row",
        "open a quote",
    ),
    *(
        "open two last fields",
        "quote a whole line",
        "copy a line",
        "semicolons",
        "tabs",
        "pipes",
        "no header",
    ),
    *(
        "header twice",
        "header at the end",
        "title line",
        "excel sep line",
        "comment line",
        "total line",
    ),
    *(
        "blank first line",
        "upper-case header",
        "column named twice",
        "column renamed",
        "line break in the header",
    ),
    *(
        "nothing but the header",
        "empty",
        "only blanks",
        "backslash quotes",
        "json instead",
        "html instead",
    ),
    *(
        "extra first field on every row",
        "blank line of spaces",
        "one line with semicolons",
        "space before quote",
    ),
    *(
        "utf-16",
        "utf-16 without mark",
        "utf-32",
        "latin-1",
        "latin-1 ids",
        "zeros at the end",
        "zeros in the middle",
    ),
    *("gzip named csv", "parquet named csv", "inserted bytes"),
]
UNREADABLE = [
    *(
        "extra field on every row",
        "trailing comma on every row",
        "add a field",
        "semicolons",
        "empty",
        "only blanks",
    ),
    *(
        "blank first line",
        "utf-16",
        "latin-1",
        "zeros in the middle",
        "nothing but the header",
        "html instead",
    ),
]


PROPOSED = {
    "semicolons": 'delimiter = ";"',
    "utf-16": 'encoding = "utf-16"',
    "latin-1": 'encoding = "cp1252"',
}


def broken_log(name: str) -> bytes:
    rng = random.Random(f"{SEED} {name}")
    text = big_log()
    if name in malform.TEXT_MUTATIONS:
        return malform.TEXT_MUTATIONS[name](text, rng).encode()
    return malform.BYTE_MUTATIONS[name](text.encode(), rng)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder with a config."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text(CONFIG)
    return tmp_path


def run(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["realloc", *arguments])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def assert_refused(code: int, said: str, before: dict[Path, bytes], desk: Path) -> None:
    assert code == 2, said
    assert said.strip()
    assert "Traceback" not in said
    assert "realloc: unexpected" not in said
    assert snapshot(desk) == before


def snapshot(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", WORST)
def test_check_ends_with_2_and_writes_nothing(
    name: str,
    desk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (desk / "logs.csv").write_bytes(broken_log(name))
    before = snapshot(desk)
    code = run(["check", "logs.csv", "--config", "config.toml"], monkeypatch)
    said = capsys.readouterr()
    assert_refused(code, said.out + said.err, before, desk)


@pytest.mark.parametrize("name", PROPOSED)
def test_init_proposes_how_a_file_is_written(
    name: str,
    desk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (desk / "logs.csv").write_bytes(broken_log(name))
    assert run(["init", "logs.csv"], monkeypatch) == 0
    assert f"The text is read with {PROPOSED[name]}" in capsys.readouterr().out
    assert run(["check", "logs.csv", "--config", "realloc.toml"], monkeypatch) == 0


@pytest.mark.parametrize("name", [name for name in UNREADABLE if name not in PROPOSED])
def test_init_ends_with_2_and_writes_nothing(
    name: str,
    desk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (desk / "logs.csv").write_bytes(broken_log(name))
    before = snapshot(desk)
    code = run(["init", "logs.csv"], monkeypatch)
    said = capsys.readouterr()
    assert_refused(code, said.out + said.err, before, desk)
    assert said.err.startswith("realloc: Expected ")


def broken_parquet(part: str) -> bytes:
    """A log whose text is not UTF-8 in one column, or that was cut off."""
    columns: dict[str, object] = dict(malform_tables.base_columns(SEED))
    spends = {f"{name}_spend": columns.pop(name) for name in malform.CHANNELS}
    table = pa.table({**columns, **spends})
    if part in table.column_names:
        at = table.column_names.index(part)
        table = table.set_column(
            at, part, malform_tables.ARRAYS["text that is not UTF-8"](len(table))
        )
    content = malform_tables.parquet_bytes(table)
    assert content is not None
    return content[:-30] if part == "end" else content


@pytest.mark.parametrize("part", ["item", "date", "ads_spend", "orders", "color", "end"])
@pytest.mark.parametrize("verb", ["check", "init"])
def test_parquet_that_is_not_text_ends_with_2_and_writes_nothing(
    verb: str,
    part: str,
    desk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (desk / "logs.parquet").write_bytes(broken_parquet(part))
    before = snapshot(desk)
    code = run([verb, "logs.parquet"], monkeypatch)
    said = capsys.readouterr()
    assert_refused(code, said.out + said.err, before, desk)
    assert said.err.startswith("realloc: Expected ")


def test_init_writes_a_config_for_the_same_table_unharmed(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk / "logs.parquet").write_bytes(broken_parquet("nothing"))
    assert run(["init", "logs.parquet"], monkeypatch) == 0
    assert (desk / "realloc.toml").exists()


def test_names_with_markup_end_well(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    header = (
        "[/id] item,date [red],[/]ads spend,[bold]coupon spend,rebate spend[/bold],orders[/],"
        "price,color\n"
    )
    (desk / "[x].csv").write_text(header + big_log().split("\n", 1)[1])
    assert run(["init", "[x].csv", "--out", "[y].toml"], monkeypatch) == 0, (
        capsys.readouterr().err
    )
    said = capsys.readouterr().out
    assert "[/id] item" in said
    assert "[y].toml" in said
    assert run(["check", "[x].csv", "--config", "[y].toml"], monkeypatch) == 0, (
        capsys.readouterr().out
    )


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
def test_a_file_name_that_is_not_text_is_no_reason_to_blame_its_bytes(
    tmp_path: Path,
) -> None:
    path = tmp_path / os.fsdecode(b"logs\xff.csv")
    path.write_text(big_log())
    outcome = Outcome(path, SPENDS, TODAY)
    assert outcome.faults(judge_csv(path.read_bytes(), SPENDS, TODAY)) == []
    assert (
        outcome.message is None
        or "some bytes are in another encoding" not in outcome.message
    )


SHELL = [
    ("check", "extra field on every row"),
    ("check", "utf-16"),
    ("check", "open two last fields"),
    ("init", "trailing comma on every row"),
    ("init", "empty"),
    ("init", "zeros in the middle"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "name"), SHELL)
def test_the_command_itself_ends_with_2_and_writes_nothing(
    verb: str, name: str, desk: Path
) -> None:
    (desk / "logs.csv").write_bytes(broken_log(name))
    before = snapshot(desk)
    arguments = ["logs.csv", "--config", "config.toml"] if verb == "check" else ["logs.csv"]
    command = [
        sys.executable,
        "-c",
        "from realloc.cli.main import main; main()",
        verb,
        *arguments,
    ]
    ended = subprocess.run(
        command, cwd=desk, capture_output=True, text=True, timeout=60, check=False
    )
    assert_refused(ended.returncode, ended.stdout + ended.stderr, before, desk)


# Controls: that the tests above can fail


def test_there_are_at_least_two_thousand_cases_and_always_the_same() -> None:
    csv = csv_groups()
    assert csv == csv_groups.__wrapped__()
    broken = 3 * BREAKS_EACH * len(malform_tables.BREAKS)
    tables = sum(map(len, table_groups().values()))
    crafted = (
        len(malform_files.REFUSED_FILES)
        + len(malform_files.BAD_TOML)
        + len(malform_files.BAD_SCHEMAS)
    )
    distinct = len({case.content for group in csv.values() for case in group})
    assert distinct > 1_000
    assert distinct + tables + broken + crafted > 2_000


def test_the_sound_log_is_accepted_before_it_is_broken(tmp_path: Path) -> None:
    sound = [
        CsvCase(
            layout,
            malform.render(malform.base_cells(layout, random.Random(turn))).encode(),
            schema,
        )
        for layout, schema in malform.SCHEMAS.items()
        for turn in range(5)
    ]
    for case in sound:
        assert judge_csv(case.content, case.schema, TODAY).refused is None
        path = tmp_path / "logs.csv"
        path.write_bytes(case.content)
        assert Outcome(path, case.schema, TODAY).message is None
    assert csv_faults(sound, tmp_path) == {}


def test_the_reference_both_accepts_and_refuses_many() -> None:
    verdicts = [
        judge_csv(case.content, case.schema, TODAY)
        for group in csv_groups().values()
        for case in group
    ]
    refused = sum(verdict.refused is not None for verdict in verdicts)
    assert refused > 500
    assert len(verdicts) - refused > 200


def test_the_sound_big_log_passes_check(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk / "logs.csv").write_text(big_log())
    assert run(["check", "logs.csv", "--config", "config.toml"], monkeypatch) == 0


def test_a_crash_in_check_would_be_seen(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr("realloc.cli.check.load", crash)
    (desk / "logs.csv").write_text(big_log())
    code = run(["check", "logs.csv", "--config", "config.toml"], monkeypatch)
    with pytest.raises(AssertionError):
        assert_refused(code, capsys.readouterr().err, snapshot(desk), desk)


def careless_reader(source: Path, schema: realloc.Schema, **_: object) -> realloc.Logs:
    """What a short script does: pandas guesses everything, what is missing or odd is replaced."""
    frame = pd.read_csv(source)
    frame["date"] = pd.date_range("2025-01-01", periods=len(frame))
    frame["item"] = frame["item"].astype(str)
    for name in (*schema.channels, schema.outcome):
        frame[name] = (
            pd.to_numeric(frame[name], errors="coerce")
            .fillna(0.0)
            .clip(lower=0.01, upper=1e9)
        )
    return realloc.read_logs(
        frame[["item", "date", *schema.channels, schema.outcome]], schema
    )


@pytest.mark.parametrize(
    "name",
    [
        "extra field on every row",
        "trailing comma on every row",
        "copy a line",
        "open two last fields",
        "total line",
    ],
)
def test_a_careless_reader_is_caught(name: str, tmp_path: Path) -> None:
    path = tmp_path / "logs.csv"
    path.write_bytes(broken_log(name))
    verdict = judge_csv(path.read_bytes(), SPENDS, TODAY)
    assert Outcome(path, SPENDS, TODAY, careless_reader).faults(verdict) != []


def test_pandas_shifts_columns_where_a_field_is_too_many_and_that_is_seen(
    tmp_path: Path,
) -> None:
    path = tmp_path / "logs.csv"
    path.write_text(
        "item,date,ads,coupon,rebate,orders\n" + "i1,2026-01-05,1,2,3,4,5\n" * 2
    )
    shifted = pd.read_csv(path)
    assert shifted["orders"].tolist() == [
        5,
        5,
    ]  # pandas took the item for an index: nothing stands where it was
    assert (
        judge_csv(path.read_bytes(), SPENDS, TODAY).refused
        == "7 fields under a header of 6"
    )


def test_every_part_of_a_row_is_compared() -> None:
    content = malform.render(malform.base_cells("spends", random.Random(1))).encode()
    rows = judge_csv(content, SPENDS, TODAY).rows
    row = rows[3]
    changes = [
        {"unit": "other"},
        {"time": row.time.replace(hour=1)},
        {"spends": (row.spends[0] * (1 + 1e-12), *row.spends[1:])},
        {"spends": (-0.0, *row.spends[1:])},
        {"outcome": row.outcome + 1e-9},
        {"budget": row.budget + 0.01},
    ]
    assert difference(list(rows), rows) == []
    assert difference(list(rows[1:]), rows) != []
    for change in changes:
        other: list[Row] = [*rows[:3], replace(row, **change), *rows[4:]]
        assert difference(other, rows) != [], change


def test_rows_set_aside_without_a_word_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "logs.csv"
    path.write_text(
        malform_files.HEAD
        + malform_files.ROW
        + "i2,2026-01-05,0,0,0,4,red\ni3,2026-01-05,1,2,3,,red"
    )
    verdict = judge_csv(path.read_bytes(), SPENDS, TODAY)
    assert verdict.aside == {"zero_budget": 1, "missing_outcome": 1}
    assert verdict.cut

    def silent(source: Path, schema: realloc.Schema, today: object) -> realloc.Logs:
        return replace(realloc.read_logs(source, schema, today=TODAY), notes=())

    assert Outcome(path, SPENDS, TODAY).faults(verdict) == []
    assert len(Outcome(path, SPENDS, TODAY, silent).faults(verdict)) == 2


@pytest.mark.parametrize(
    "message",
    [
        "",
        "bad file",
        "Expected a table.\nTraceback (most recent call last):",
        "Expected numbers, got ArrowInvalid: nope.",
        "Expected text, got <class 'int'>.",
        "Expected a path, got '.': Expected files in the folder '.', but there are none.",
        "Expected a path ..",
        "Expected " + "x" * 5000 + ".",
    ],
)
def test_an_unclear_message_is_seen(message: str) -> None:
    assert unclear(message) != []


def test_a_crash_and_a_wrong_kind_of_error_are_seen(tmp_path: Path) -> None:
    def crash(*_: object, **__: object) -> realloc.Logs:
        raise KeyError("item")

    assert Outcome(tmp_path, SPENDS, TODAY, crash).faults(None) == [
        "traceback: KeyError: 'item'"
    ]


def test_page_checksums_are_what_finds_a_flipped_bit(tmp_path: Path) -> None:
    """Without them a flipped bit in the data reads as another number, and nothing can tell."""
    table = pa.table(malform_tables.base_columns(SEED))
    changed = {True: 0, False: 0}
    for checked in changed:
        content = malform_tables.parquet_bytes(
            table, compression="none", use_dictionary=False, write_page_checksum=checked
        )
        assert content is not None
        at = (
            content.index(pa.array(table["ads"].to_pylist()).buffers()[1].to_pybytes()[:16])
            + 6
        )
        path = tmp_path / "logs.parquet"
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert pq.read_table(path)["ads"].to_pylist() != table["ads"].to_pylist()
        changed[checked] = Outcome(path, SPENDS, TODAY).message is None
    assert changed == {True: False, False: True}
