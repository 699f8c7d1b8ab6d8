"""Crafted cases: CSV files that once fooled a reader, folders of files, schemas and TOML files."""

import random
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import realloc
from tests.logs.malform import (
    CHANNELS,
    DECLARED,
    LONG,
    SHARES,
    SPENDS,
    CsvCase,
    base_cells,
    render,
)
from tests.logs.malform_tables import base_columns

HEAD = "item,date,ads,coupon,rebate,orders,color\n"
ROW = "i1,2026-01-05,1,2,3,4,red\n"
MANY = "".join(f"i{row},2026-01-05,{row % 7 + 1},2,3,4,red\n" for row in range(400))


def _spends(text: str) -> tuple[bytes, realloc.Schema]:
    return text.encode(), SPENDS


CRAFTED: dict[str, tuple[bytes, realloc.Schema]] = {
    "characters after a closing quote": _spends(
        HEAD + ROW + 'i2,2026-01-05,"1"2,2,3,4,red\n'
    ),
    "a quote left open swallows a row": _spends(
        HEAD
        + 'i1,2026-01-05,1,2,3,4,"red\ni2,2026-01-05,1,2,3,4,"blue\n'
        + ROW.replace("i1", "i3")
    ),
    "a quote left open swallows the rest": _spends(
        HEAD + ROW + 'i2,2026-01-05,1,2,3,4,"red\n' + MANY
    ),
    "a quote left open swallows the last line end": _spends(
        HEAD + ROW + 'i2,2026-01-05,1,2,3,4,"red\n'
    ),
    "a quote left open in an id": _spends(HEAD + ROW + '"i2,2026-01-05,1,2,3,4,red\n'),
    "an open quote closed two rows later": _spends(
        HEAD
        + 'i1,2026-01-05,1,2,3,4,"red\ni2,2026-01-05,1,2,3,4,red\ni3,2026-01-05,1,2,3,4,red"\n'
    ),
    "NUL far from the start": _spends(HEAD + MANY + "z\x00,2026-01-05,1,2,3,4,red\n"),
    "NUL far from the start in a number": _spends(
        HEAD + MANY + "z,2026-01-05,1\x00,2,3,4,red\n"
    ),
    "NUL far from the start in a feature": _spends(
        HEAD + MANY + "z,2026-01-05,1,2,3,4,r\x00d\n"
    ),
    "a double hidden by a missing outcome": _spends(
        HEAD + ROW + "i1,2026-01-05,7,2,3,,red\n"
    ),
    "a double hidden by a zero budget": _spends(HEAD + ROW + "i1,2026-01-05,0,0,0,9,red\n"),
    "an exact double": _spends(HEAD + ROW + ROW),
    "the same moment in two zones": _spends(
        HEAD
        + "i1,2026-01-05T10:00:00Z,1,2,3,4,red\ni1,2026-01-05T11:00:00+01:00,1,2,3,4,red\n"
    ),
    "a day and its midnight": _spends(HEAD + ROW + "i1,2026-01-05T00:00:00,1,2,3,4,red\n"),
    "a cut that leaves a smaller number": _spends(
        HEAD.replace(",color", "") + "i1,2026-01-05,1,2,3,4\ni2,2026-01-05,1,2,3,1"
    ),
    "ids that differ in Unicode form": _spends(
        HEAD + ROW.replace("i1", "é") + ROW.replace("i1", "e\u0301")
    ),
    "ids that differ in a last blank": _spends(HEAD + ROW + ROW.replace("i1", "i1 ")),
    "ids that differ in case": _spends(HEAD + ROW + ROW.replace("i1", "I1")),
    "ids that differ in leading zeros": _spends(
        HEAD + ROW.replace("i1", "01") + ROW.replace("i1", "001")
    ),
    "ids like numbers": _spends(
        HEAD + ROW.replace("i1", "1e5") + ROW.replace("i1", "100000")
    ),
    "ids like missing values": _spends(
        HEAD + ROW.replace("i1", "NA") + ROW.replace("i1", "nan")
    ),
    "outcomes of both signs at the edge": _spends(
        HEAD + ROW.replace(",4,", ",1e308,") + "i2,2026-01-05,1,2,3,-1e308,red\n"
    ),
    "outcomes at the edge": _spends(
        HEAD + ROW.replace(",4,", ",1.7e308,") + "i2,2026-01-05,1,2,3,1.7e308,red\n"
    ),
    "the year zero": _spends(HEAD + ROW + "i2,0000-01-01,1,2,3,4,red\n"),
    "a byte order mark inside": _spends(HEAD + ROW + "\ufeffi2,2026-01-05,1,2,3,4,red\n"),
    "a lone surrogate": (
        (HEAD + ROW + "i\ud8002,2026-01-05,1,2,3,4,red\n").encode("utf-8", "surrogatepass"),
        SPENDS,
    ),
    "a header of one name": _spends("item\ni1\n"),
    "a header of commas": _spends(",,,,\n1,2,3,4,5\n"),
    "a very long line": _spends(HEAD + ROW.replace("red", "x" * 300_000)),
    "a very long header": _spends(HEAD.replace("color", "c" * 300_000) + ROW),
    "ten thousand columns": _spends(
        HEAD[:-1] + "".join(f",c{i}" for i in range(10_000)) + "\n" + ROW
    ),
    "format signs in an id": _spends(
        HEAD + ROW.replace("i1", "{0}{column!r}%s") + "i2,2026-01-05,-1,2,3,4,red\n"
    ),
    "shares that are percents in one row": (
        b"item,date,budget,ads,coupon,rebate,orders\ni1,2026-01-05,10,0.5,0.5,0,4\ni2,2026-01-05,10,50,50,0,4\n",
        SHARES,
    ),
    "a channel twice on one day": (
        b"item,date,channel,spend,orders\ni1,2026-01-05,ads,1,4\ni1,2026-01-05,ads,1,4\n",
        LONG,
    ),
    "a channel that is not listed": (
        b"item,date,channel,spend,orders\ni1,2026-01-05,tv,1,4\n",
        LONG,
    ),
    "a channel with a blank": (
        b"item,date,channel,spend,orders\ni1,2026-01-05,ads ,1,4\n",
        LONG,
    ),
    "no channel": (
        b"item,date,channel,spend,orders\ni1,2026-01-05,,1,4\ni1,2026-01-05,ads,1,4\n",
        LONG,
    ),
    "two outcomes on one day": (
        b"item,date,channel,spend,orders\ni1,2026-01-05,ads,1,4\ni1,2026-01-05,coupon,1,5\n",
        LONG,
    ),
    "an outcome on one row of the day": (
        b"item,date,channel,spend,orders\ni1,2026-01-05,ads,1,4\ni1,2026-01-05,coupon,1,\n",
        LONG,
    ),
    "a wide file under a long schema": (HEAD.encode() + ROW.encode(), LONG),
    "a declared number that is text": (
        b"item,date,ads,coupon,rebate,orders,price,color\ni1,2026-01-05,1,2,3,4,cheap,red\n",
        DECLARED,
    ),
}


def crafted_cases() -> list[CsvCase]:
    """Single files, each with one trap."""
    return [CsvCase(name, content, schema) for name, (content, schema) in CRAFTED.items()]


def separated_cases() -> list[CsvCase]:
    """The same sound log under other separators and endings: only tabs in a .tsv are right."""
    cells = base_cells("spends", random.Random(4))
    made = []
    for ending in (".csv", ".tsv"):
        for delimiter in ",;\t|":
            content = render(cells, delimiter).encode()
            made.append(CsvCase(f"{delimiter!r} in a {ending}", content, SPENDS, ending))
    return made


Folder = Callable[[Path], Any]


def _table(first: int = 0, count: int = 12, **changed: Any) -> pa.Table:
    columns: dict[str, Any] = dict(base_columns(8))
    table = pa.table({**columns, **changed})
    return table.slice(first, count)


def _write(path: Path, table: pa.Table) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    return path


def _write_csv(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _pair(first: pa.Table, second: pa.Table) -> Folder:
    return lambda root: [
        _write(root / "a.parquet", first),
        _write(root / "b.parquet", second),
    ]


def _hive(*folders: str, column: str = "item", keep: bool = False) -> Folder:
    def make(root: Path) -> Path:
        for at, folder in enumerate(folders):
            table = _table(3 * at, 3)
            _write(
                root / folder / "part.parquet",
                table if keep else table.drop_columns([column]),
            )
        return root

    return make


def _touch(*names: str) -> Folder:
    def make(root: Path) -> Path:
        for name in names:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        return root

    return make


HALF, REST = _table(0, 6), _table(6, 6)
NUMBERED = pa.array([7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10, 10])
PADDED = pa.array([f"00{value}" for value in range(100, 112)])

REFUSED_FILES: dict[str, Folder] = {
    "nothing there": lambda root: root / "nope.parquet",
    "a pattern without matches": lambda root: str(root / "*.parquet"),
    "a broken pattern": lambda root: str(root / "a**b.csv"),
    "an open bracket": lambda root: str(root / "[a.csv"),
    "an empty folder": lambda root: root,
    "a folder of other files": _touch("a.txt", "b.xlsx"),
    "a folder of hidden files": _touch("_SUCCESS", ".a.csv", "_b.parquet"),
    "a file of another kind": lambda root: _touch("a.json")(root) / "a.json",
    "an empty parquet": lambda root: _touch("a.parquet")(root) / "a.parquet",
    "an empty csv": lambda root: _touch("a.csv")(root) / "a.csv",
    "an empty gz": lambda root: _touch("a.csv.gz")(root) / "a.csv.gz",
    "a csv named parquet": lambda root: _write_csv(root / "a.parquet", HEAD + ROW),
    "a parquet named csv": lambda root: _write(root / "a.parquet", HALF).rename(
        root / "a.csv"
    ),
    "a csv named gz": lambda root: _write_csv(root / "a.csv.gz", HEAD + ROW),
    "both kinds": lambda root: [
        _write(root / "a.parquet", HALF),
        _write_csv(root / "b.csv", HEAD + ROW),
    ],
    "both kinds in a folder": lambda root: (
        _write_csv(_write(root / "a.parquet", HALF).with_name("b.csv"), HEAD).parent
    ),
    "an empty list": lambda _: [],
    "a list of frames": lambda _: [HALF, REST],
    "a list with None": lambda root: [_write(root / "a.parquet", HALF), None],
    "the same file twice": lambda root: [_write(root / "a.parquet", HALF)] * 2,
    "a further column": _pair(HALF, REST.append_column("x", pa.array([1] * 6))),
    "a missing column": _pair(HALF, REST.drop_columns(["price"])),
    "text spends in the second file": _pair(HALF, _table(6, 6, ads=["5"] * 12)),
    "whole-number ids, then text": _pair(_table(0, 6, item=NUMBERED), REST),
    "whole-number ids, then padded text": _pair(
        _table(0, 6, item=NUMBERED), _table(6, 6, item=PADDED)
    ),
    "padded text ids, then whole numbers": _pair(
        _table(0, 6, item=PADDED), _table(6, 6, item=NUMBERED)
    ),
    "true/false, then numbers": _pair(
        _table(0, 6, price=[row % 2 == 0 for row in range(12)]),
        _table(6, 6, price=[float(row) for row in range(12)]),
    ),
    "text categories, then numbers": _pair(
        HALF, _table(6, 6, color=[float(row) for row in range(12)])
    ),
    "numbers, then text": _pair(HALF, _table(6, 6, price=["cheap"] * 12)),
    "numbers, then dates": _pair(HALF, _table(6, 6, price=[date(2026, 1, 1)] * 12)),
    "dates, then whole numbers": _pair(HALF, _table(6, 6, date=pa.array(range(12)))),
    "a null partition": _hive("item=i0", "item=__HIVE_DEFAULT_PARTITION__"),
    "an empty partition value": _hive("item=i0", "item="),
    "a partition of another depth": _hive("item=i0", "item=i1/x=2"),
    "a partition that contradicts its file": _hive("item=i0", "item=zzz", keep=True),
    "a partition with a bad date": _hive(
        "date=2026-01-05", "date=05.01.2026", column="date"
    ),
    "a partition that holds a spend": _hive("ads=1", "ads=2", column="ads"),
    "a cut partition": lambda root: _cut(
        _write(root / "item=i0/part.parquet", HALF.drop_columns(["item"])), root
    ),
    "a link to nowhere": lambda root: _link(root / "a.csv", root / "nope.csv"),
    "a name that is too long": lambda root: root / ("x" * 300 + ".csv"),
    "a NUL in the name": lambda root: str(root / "a\x00.csv"),
    "a remote address": lambda _: "s3://bucket/logs.parquet",
    "nothing": lambda _: None,
    "a number": lambda _: 5,
    "a dictionary": lambda _: {"item": ["a"]},
    "bytes": lambda _: b"item,date\n",
    "an array": lambda _: pa.array([1]),
    "an object": lambda _: object(),
    "a set of paths": lambda root: {str(root / "a.csv")},
    "an iterator": lambda _: iter(["a.csv"]),
}
WRONG_OBJECTS = (
    "nothing",
    "a number",
    "a dictionary",
    "bytes",
    "an array",
    "an object",
    "a set of paths",
    "an iterator",
)


def _cut(path: Path, root: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-20])
    return root


def _link(path: Path, target: Path) -> Path:
    path.symlink_to(target)
    return path.parent


ACCEPTED_FILES: dict[str, Folder] = {
    "two files": _pair(HALF, REST),
    "two files with columns in another order": _pair(
        HALF, REST.select(REST.column_names[::-1])
    ),
    "a folder": lambda root: (
        _write(_write(root / "a.parquet", HALF).with_name("b.parquet"), REST).parent
    ),
    "a pattern": lambda root: str(
        _write(_write(root / "a.parquet", HALF).with_name("b.parquet"), REST).parent
        / "?.parquet"
    ),
    "partitions of units": _hive("item=i0", "item=i1", "item=i2", "item=i3"),
    "partitions that repeat their file": _hive(
        "item=i0", "item=i1", "item=i2", "item=i3", keep=True
    ),
    "an empty file among them": lambda root: [
        _write(root / "a.parquet", _table()),
        _write(root / "b.parquet", _table().slice(0, 0)),
    ],
    "bookkeeping beside it": lambda root: _touch("_SUCCESS", ".crc")(
        _write(root / "a.parquet", _table()).parent
    ),
}

SCHEMA = """[schema]
unit = "item"
time = "date"
outcome = "orders"
channels = ["ads", "coupon"]
"""
BAD_TOML: dict[str, str | bytes] = {
    "empty": "",
    "no schema": "seed = 1\n",
    "misspelt schema": SCHEMA.replace("schema", "shema"),
    "schema is a number": "schema = 5\n",
    "schema is a list": "[[schema]]\nunit = 'a'\n",
    "no unit": SCHEMA.replace('unit = "item"\n', ""),
    "unit is a number": SCHEMA.replace('"item"', "5"),
    "unit is empty": SCHEMA.replace('"item"', '""'),
    "unit is a list": SCHEMA.replace('"item"', '["item"]'),
    "one channel": SCHEMA.replace(', "coupon"', ""),
    "no channels": SCHEMA.replace('["ads", "coupon"]', "[]"),
    "channels as text": SCHEMA.replace('["ads", "coupon"]', '"ads,coupon"'),
    "channels nested": SCHEMA.replace('["ads", "coupon"]', '[["ads"], ["coupon"]]'),
    "a channel twice": SCHEMA.replace("coupon", "ads"),
    "a channel is the outcome": SCHEMA.replace("coupon", "orders"),
    "a channel is the unit": SCHEMA.replace("coupon", "item"),
    "unknown key": SCHEMA + 'chanels = ["a"]\n',
    "features as text": SCHEMA + 'features = "price"\n',
    "a feature twice": SCHEMA + 'features = ["price", "price"]\n',
    "a feature is a channel": SCHEMA + 'features = ["ads"]\n',
    "categorical without feature": SCHEMA
    + 'features = ["price"]\ncategorical = ["color"]\n',
    "half a long layout": SCHEMA + 'channel_column = "channel"\n',
    "long with a guardrail that is the spend": SCHEMA
    + 'channel_column = "c"\nspend_column = "s"\nguardrails = ["s"]\n',
    "long with a channel named like the outcome": SCHEMA.replace("coupon", "orders")
    + 'channel_column = "c"\nspend_column = "s"\n',
    "long with a channel named like the unit": SCHEMA.replace("coupon", "item")
    + 'channel_column = "c"\nspend_column = "s"\n',
    "guardrail is the outcome": SCHEMA + 'guardrails = ["orders"]\n',
    "budget is a channel": SCHEMA + 'budget = "ads"\n',
    "drop_units of numbers": SCHEMA + "drop_units = [1]\n",
    "unknown table": SCHEMA + "[checks]\n",
    "unknown key in check": SCHEMA + "[check]\nfewest_row = 5\n",
    "check is a number": "check = 5\n" + SCHEMA,
    "check of text": SCHEMA + '[check]\nfewest_rows = "5"\n',
    "check below its least": SCHEMA + "[check]\nfewest_rows = 0\n",
    "check negative": SCHEMA + "[check]\nfew_rows = -5\n",
    "check nan": SCHEMA + "[check]\nbudget_jump = nan\n",
    "check true": SCHEMA + "[check]\nfewest_rows = true\n",
    "seed negative": "seed = -1\n" + SCHEMA,
    "seed text": 'seed = "1"\n' + SCHEMA,
    "seed true": "seed = true\n" + SCHEMA,
    "seed float": "seed = 1.5\n" + SCHEMA,
    "seed of 5,000 digits": "seed = " + "9" * 5000 + "\n" + SCHEMA,
    "digits negative": "money_digits = -1\n" + SCHEMA,
    "digits large": "money_digits = 99\n" + SCHEMA,
    "a key twice": SCHEMA + 'unit = "b"\n',
    "a table twice": SCHEMA + SCHEMA,
    "no quotes": SCHEMA.replace('"item"', "item"),
    "open quote": SCHEMA.replace('"item"', '"item'),
    "yaml": "schema:\n  unit: item\n",
    "json": '{"schema": {"unit": "item"}}',
    "csv": HEAD + ROW,
    "latin-1": SCHEMA.replace("item", "é").encode("latin-1"),
    "utf-16": SCHEMA.encode("utf-16"),
    "NUL": SCHEMA.encode() + b"\x00",
    "no such day": "seed = 2026-99-99\n" + SCHEMA,
    "a day as seed": "seed = 2026-01-01\n" + SCHEMA,
    "deep lists": "seed = " + "[" * 100_000,
    "deep tables": "[schema]\nunit = " + "{a = " * 5_000,
    "cut off": SCHEMA[:-9],
}
BAD_SCHEMAS: dict[str, dict[str, Any]] = {
    "unit None": {"unit": None},
    "unit a number": {"unit": 5},
    "unit NaN": {"unit": float("nan")},
    "channels None": {"channels": None},
    "channels a number": {"channels": 5},
    "channels a set": {"channels": {"a", "b"}},
    "channels text": {"channels": "ads"},
    "channels nested": {"channels": [["a"], ["b"]]},
    "one channel": {"channels": ["ads"]},
    "a channel twice": {"channels": ["ads", "ads"]},
    "features text": {"features": "price"},
    "guardrails None": {"guardrails": None},
    "an empty name": {"outcome": ""},
    "unit is time": {"time": "item"},
    "long, and a channel is the outcome": {
        "channels": ["ads", "orders"],
        "channel_column": "c",
        "spend_column": "s",
    },
    "long, and a channel is the date": {
        "channels": ["ads", "date"],
        "channel_column": "c",
        "spend_column": "s",
    },
    "long, and a guardrail is the outcome": {
        "guardrails": ["orders"],
        "channel_column": "c",
        "spend_column": "s",
    },
    "long, and the propensity is the outcome": {
        "propensity": "orders",
        "channel_column": "c",
        "spend_column": "s",
    },
}
UNKNOWN_COLUMNS: dict[str, dict[str, Any]] = {
    "categorical misspelt": {"categorical": ["colour"]},
    "known_before misspelt": {"known_before": ["pryce"]},
    "features misspelt": {"features": ["pryce"]},
    "guardrail misspelt": {"guardrails": ["gmv"]},
    "propensity misspelt": {"propensity": "p"},
    "currency misspelt": {"currency": "ccy"},
    "budget misspelt": {"budget": "bugdet"},
}
GOOD_SCHEMA: dict[str, Any] = {
    "unit": "item",
    "time": "date",
    "outcome": "orders",
    "channels": CHANNELS,
}
