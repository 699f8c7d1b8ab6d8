"""Malformed logs by the thousand: CSV bytes, always the same ones for the same seed."""

import random
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import realloc

TODAY = date(2026, 11, 15)
CHANNELS = ["ads", "coupon", "rebate"]
SPENDS = realloc.Schema(unit="item", time="date", outcome="orders", channels=CHANNELS)
SHARES = realloc.Schema(
    unit="item", time="date", outcome="orders", channels=CHANNELS, budget="budget"
)
DECLARED = realloc.Schema(
    unit="item",
    time="date",
    outcome="orders",
    channels=CHANNELS,
    features=["price", "color"],
    categorical=["color"],
)
LONG = realloc.Schema(
    unit="item",
    time="date",
    outcome="orders",
    channels=CHANNELS,
    channel_column="channel",
    spend_column="spend",
)
SCHEMAS = {"spends": SPENDS, "shares": SHARES, "declared": DECLARED, "long": LONG}

NUMBERS = (
    "",
    " ",
    "nan",
    "NaN",
    "NA",
    "n/a",
    "null",
    "None",
    "-",
    "--",
    "?",
    ".",
    "+",
    "e5",
    "1e",
    "1e+",
    "1.2.3",
    "1..2",
    "5.",
    ".5",
    "+5",
    "++5",
    "+-5",
    "-0.0",
    "-0",
    "-1",
    "-1e-9",
    "-1e-320",
    "00012",
    "0x10",
    "0b1",
    "1_000",
    "1 000",
    "1,000",
    "1.000,50",
    "12,5",
    "1'000",
    "$5",
    "5$",
    "5 €",
    "£5",
    "(5)",
    "5%",
    "5e3",
    "1E5",
    "1e308",
    "1e309",
    "1e400",
    "1e-400",
    "1e999999999",
    "5e-324",
    "9e13",
    "9.1e13",
    "inf",
    "-inf",
    "+Infinity",
    "INF",
    "nan(0x1)",
    "1#QNAN",
    "#DIV/0!",
    "#N/A",
    "TRUE",
    "false",
    "true",
    "٣",
    "１２",
    "१२",
    "½",
    "²",
    "−5",
    "5\u00a0",
    "5\u200b",
    "\u202f5",
    "1\u00a0000",
    "ten",
    "1d5",
    "1f",
    "5L",
    "=1+1",
    "@5",
    "'5",
    '"5',
    '5"',
    '"5"0',
    '""5""',
    "2026-01-01",
    "9" * 400,
    "0." + "3" * 400,
    "1" + "0" * 13,
    "123456789012345678901234567890",
    "0.1e1",
    "1e5.5",
    "1e1000000000000000000000",
    "\t5",
    "5;6",
    "5|6",
    "null5",
    "\ufeff5",
)
DATES = (
    "",
    " ",
    "NaT",
    "nan",
    "null",
    "today",
    "2026-02-30",
    "2026-02-29",
    "2024-02-29",
    "2026-13-01",
    "2026-00-10",
    "2026-01-00",
    "2026-1-5",
    "26-01-05",
    "20260105",
    "2026/01/05",
    "01/02/2026",
    "1.2.2026",
    "05-Jan-2026",
    "Jan 5, 2026",
    "5 janvier 2026",
    "2026-W01-1",
    "2026-005",
    "2026-01",
    "2026",
    "46027",
    "1767571200",
    "1767571200000",
    "2026-11-15",
    "2026-11-16",
    "2027-01-01",
    "9999-12-31",
    "0000-01-01",
    "0001-01-01",
    "1600-01-01",
    "1677-09-21",
    "1899-12-30",
    "1970-01-01",
    "2262-04-12",
    "12026-01-05",
    "-2026-01-05",
    "+2026-01-05",
    "2026-01-05T",
    "2026-01-05T10",
    "2026-01-05T10:30",
    "2026-01-05 10:30:00",
    "2026-01-05T10:30:00Z",
    "2026-01-05T10:30:00+05:30",
    "2026-01-05T10:30:00-0800",
    "2026-01-05T10:30:00+24:00",
    "2026-01-05T10:30:00+99:99",
    "2026-01-05T10:30:00+10:75",
    "2026-01-05T10:30:00+05",
    "2026-01-05T24:00:00",
    "2026-01-05T23:59:60",
    "2026-01-05T25:00",
    "2026-01-05T10:61",
    "2026-01-05T10:30:00.123456",
    "2026-01-05T10:30:00.123456789",
    "2026-01-05T10:30:00.",
    "2026-01-05t10:30:00z",
    "2026-01-05T10:30:00 UTC",
    "2026-01-05T10:30:00 Europe/Paris",
    "2026-11-15T23:30:00-02:00",
    "0001-01-01T00:00:00+01:00",
    "２０２６-01-05",
    "2026‐01‐05",
    "2026-01-05\u00a0",
    "２",
    "2026-01-05\u200b",
    "2026-01-05 ",
    "2026-01-05x",
    "x",
    "1e9",
    "#VALUE!",
    "00:00.0",
)
IDS = (
    "",
    " ",
    "\u00a0",
    "\u200b",
    "NA",
    "nan",
    "null",
    "None",
    "i0 ",
    " i0",
    "I0",
    "i00",
    "0",
    "00",
    "007",
    "7",
    "1e5",
    "100000",
    "1.0",
    "é1",
    unicodedata.normalize("NFD", "é1"),
    "i\u00a00",
    "i0\u00a0",
    "i0\u200b",
    "i0\r",
    "i0\t",
    "i\x010",
    "i\x000",
    "\U0001f600",
    "x" * 5000,
    "=cmd()",
    "i'0",
    'i"0',
    "a\\b",
    "a,b",
    "a\nb",
    "-",
    "true",
    "2026-01-01",
    "[/red]",
    "{column}",
    "%s",
    "\ud7ff",
    "\ufffe",
    "ﬁ1",
    "ſ1",
)


@dataclass(frozen=True)
class CsvCase:
    """One malformed CSV: its bytes, its schema, and its name, which says how it came about."""

    name: str
    content: bytes
    schema: realloc.Schema
    ending: str = ".csv"


Cells = list[list[str]]


def base_cells(layout: str, rng: random.Random, units: int = 4, days: int = 3) -> Cells:
    """A sound log as rows of text, header first."""
    header = ["item", "date", *CHANNELS, "orders", "price", "color"]
    if layout == "shares":
        header = ["item", "date", "budget", *CHANNELS, "orders", "price", "color"]
    if layout == "long":
        header = ["item", "date", "channel", "spend", "orders"]
    return [
        header,
        *(
            row
            for unit in range(units)
            for day in range(days)
            for row in _rows(layout, rng, unit, day)
        ),
    ]


def _rows(layout: str, rng: random.Random, unit: int, day: int) -> Iterator[list[str]]:
    key = [f"i{unit}", str(date(2026, 1, 5) + timedelta(days=day))]
    orders = str(rng.randint(0, 40))
    parts = [rng.randint(1, 9999) for _ in CHANNELS]
    rest = [orders, f"{rng.randint(100, 9999) / 100}", rng.choice(["red", "blue", "green"])]
    if layout == "long":
        yield from (
            [*key, name, f"{part / 100}", orders]
            for name, part in zip(CHANNELS, parts, strict=True)
        )
    elif layout == "shares":
        shares = [rng.randint(0, 50) / 100, rng.randint(0, 50) / 100]
        yield [
            *key,
            f"{sum(parts) / 100}",
            *map(repr, shares),
            repr(round(1 - sum(shares), 2)),
            *rest,
        ]
    else:
        yield [*key, *(f"{part / 100}" for part in parts), *rest]


def quoted(cell: str, delimiter: str = ",") -> str:
    """A cell with the quotes it needs."""
    if any(sign in cell for sign in (delimiter, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def render(cells: Cells, delimiter: str = ",", end: str = "\n") -> str:
    """Cells as well-formed text."""
    return "".join(
        delimiter.join(quoted(cell, delimiter) for cell in row) + end for row in cells
    )


def cell_cases(seed: int) -> Iterator[CsvCase]:
    """Every odd value in every column of the plain layout, every second one in the others."""
    parts = {
        "spends": {"ads": NUMBERS, "orders": NUMBERS, "date": DATES, "item": IDS},
        "shares": {"budget": NUMBERS[::2], "coupon": NUMBERS[1::2]},
        "declared": {"price": NUMBERS[::2], "color": IDS[::2]},
        "long": {"spend": NUMBERS[1::2], "channel": IDS[::2], "date": DATES[1::2]},
    }
    for layout, columns in parts.items():
        for column, values in columns.items():
            for value in values:
                rng = random.Random(f"{seed} {layout} {column} {value!r}")
                cells = base_cells(layout, rng)
                row = rng.randrange(1, len(cells))
                cells[row][cells[0].index(column)] = value
                name = f"{layout}: {column} of row {row} is {value[:30]!r}"
                yield CsvCase(
                    name, render(cells).encode("utf-8", "surrogatepass"), SCHEMAS[layout]
                )


def column_cases(seed: int) -> Iterator[CsvCase]:
    """A whole column rewritten in one way: percents, amounts, decimal commas, other dates, …"""
    for layout, rewrites in COLUMN_REWRITES.items():
        for label, (columns, rewrite) in rewrites.items():
            cells = base_cells(layout, random.Random(f"{seed} {layout} {label}"))
            places = [cells[0].index(name) for name in columns]
            for row in cells[1:]:
                for place in places:
                    row[place] = rewrite(row[place])
            yield CsvCase(f"{layout}: {label}", render(cells).encode(), SCHEMAS[layout])


def _times(factor: float) -> Callable[[str], str]:
    return lambda cell: repr(float(cell) * factor)


AMOUNTS: dict[str, tuple[list[str], Callable[[str], str]]] = {
    "decimal commas": (CHANNELS, lambda cell: cell.replace(".", ",")),
    "thousands": (["orders"], lambda cell: f"1,{cell:0>3}"),
    "currency signs": (CHANNELS, lambda cell: "$" + cell),
    "negative spends": (["ads"], lambda cell: "-" + cell),
    "negative zeros": (["ads"], lambda _: "-0.0"),
    "all empty": (CHANNELS, lambda _: ""),
    "one channel empty": (["ads"], lambda _: ""),
    "all zero": (CHANNELS, lambda _: "0"),
    "outcomes empty": (["orders"], lambda _: "NA"),
    "huge outcomes": (["orders"], lambda cell: f"{int(cell) + 1}e306"),
    "huge outcomes of both signs": (["orders"], lambda cell: f"{(-1) ** int(cell)}e308"),
    "tiny spends": (CHANNELS, lambda cell: f"{cell}e-320"),
    "micros": (CHANNELS, _times(1e6)),
    "beyond cents": (CHANNELS, _times(1e13)),
    "quoted": (CHANNELS, lambda cell: f'"{cell}"'),
    "excel text": (["item"], lambda cell: f'="{cell}"'),
    "blank units": (["item"], lambda _: " "),
    "one unit": (["item"], lambda _: "i0"),
    "one date": (["date"], lambda _: "2026-01-05"),
    "german dates": (["date"], lambda cell: ".".join(reversed(cell.split("-")))),
    "american dates": (["date"], lambda cell: "/".join([*cell.split("-")[1:], cell[:4]])),
    "compact dates": (["date"], lambda cell: cell.replace("-", "")),
    "future dates": (["date"], lambda cell: cell.replace("2026", "2062")),
    "dates with midnight": (["date"], lambda cell: f"{cell}T00:00:00"),
    "dates in UTC": (["date"], lambda cell: f"{cell}T00:00:00Z"),
    "dates in India": (["date"], lambda cell: f"{cell}T00:00:00+05:30"),
    "blanks around": (["date", "ads", "orders"], lambda cell: f"  {cell} "),
}
SPLITS: dict[str, tuple[list[str], Callable[[str], str]]] = {
    "percent": (CHANNELS, _times(100)),
    "percent signs": (CHANNELS, lambda cell: f"{float(cell) * 100:g}%"),
    "basis points": (CHANNELS, _times(1e4)),
    "amounts": (CHANNELS, lambda cell: repr(float(cell) * 37)),
    "rounded": (CHANNELS, lambda cell: f"{float(cell):.1f}1"),
    "halved": (CHANNELS, _times(0.5)),
    "zero budgets": (["budget"], lambda _: "0"),
    "empty budgets": (["budget"], lambda _: ""),
    "negative budgets": (["budget"], lambda cell: "-" + cell),
    "all shares empty": (CHANNELS, lambda _: ""),
    "one share": (["ads"], lambda _: "1"),
    "nearly one": (CHANNELS, _times(1 + 1e-5)),
    "one to the last digit": (CHANNELS, _times(1 + 1e-9)),
}
COLUMN_REWRITES = {"spends": AMOUNTS, "shares": SPLITS}

Mutation = Callable[[str, random.Random], str]


def _line(text: str, rng: random.Random, header: bool = False) -> tuple[list[str], int]:
    lines = text.split("\n")
    return lines, rng.randrange(0 if header else 1, max(len(lines) - 1, 2))


def _edit_line(
    change: Callable[[str, random.Random], str], header: bool = False
) -> Mutation:
    def mutate(text: str, rng: random.Random) -> str:
        lines, at = _line(text, rng, header)
        if at < len(lines):
            lines[at] = change(lines[at], rng)
        return "\n".join(lines)

    return mutate


def _edit_all(change: Callable[[str], str], skip: int = 0) -> Mutation:
    def mutate(text: str, _: random.Random) -> str:
        lines = text.split("\n")
        return "\n".join(
            line if not line or i < skip else change(line) for i, line in enumerate(lines)
        )

    return mutate


def _drop_field(line: str, rng: random.Random) -> str:
    fields = line.split(",")
    fields.pop(rng.randrange(len(fields)))
    return ",".join(fields)


def _swap_fields(line: str, rng: random.Random) -> str:
    fields = line.split(",")
    a, b = rng.randrange(len(fields)), rng.randrange(len(fields))
    fields[a], fields[b] = fields[b], fields[a]
    return ",".join(fields)


def _add_field(line: str, rng: random.Random) -> str:
    fields = line.split(",")
    fields.insert(rng.randrange(len(fields) + 1), rng.choice(["", "x", "5", "2026-01-01"]))
    return ",".join(fields)


def _insert(signs: str) -> Mutation:
    def mutate(text: str, rng: random.Random) -> str:
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(signs) + text[at:]
        return text

    return mutate


def _open_quote(line: str, rng: random.Random) -> str:
    fields = line.split(",")
    at = rng.randrange(len(fields))
    fields[at] = rng.choice(
        ['"' + fields[at], fields[at] + '"', f'"{fields[at]}"0', f'"{fields[at]}" ']
    )
    return ",".join(fields)


def _copy_line(text: str, rng: random.Random) -> str:
    lines, at = _line(text, rng)
    lines.insert(rng.randrange(1, len(lines)), lines[at] if at < len(lines) else "")
    return "\n".join(lines)


def _shuffle_lines(text: str, rng: random.Random) -> str:
    lines = text.rstrip("\n").split("\n")
    rest = lines[1:]
    rng.shuffle(rest)
    return "\n".join([lines[0], *rest]) + "\n"


def _cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))] if text else text


def _last_fields_quoted(text: str, rng: random.Random) -> str:
    """A quote left open at the end of two lines: what lies between would be swallowed."""
    lines = text.split("\n")
    if len(lines) < 6:
        return text
    for at in sorted(rng.sample(range(1, len(lines) - 1), 2)):
        head, _, tail = lines[at].rpartition(",")
        lines[at] = f'{head},"{tail}'
    return "\n".join(lines)


TEXT_MUTATIONS: dict[str, Mutation] = {
    "drop a field": _edit_line(_drop_field, header=True),
    "swap two fields": _edit_line(_swap_fields, header=True),
    "add a field": _edit_line(_add_field, header=True),
    "extra field on every row": _edit_all(lambda line: line + ",5", skip=1),
    "extra first field on every row": _edit_all(lambda line: "5," + line, skip=1),
    "trailing comma on every row": _edit_all(lambda line: line + ",", skip=1),
    "trailing comma everywhere": _edit_all(lambda line: line + ","),
    "leading comma everywhere": _edit_all(lambda line: "," + line),
    "trailing comma in the header": lambda text, _: text.replace("\n", ",\n", 1),
    "open a quote": _edit_line(_open_quote, header=True),
    "open two last fields": _last_fields_quoted,
    "quote a whole line": _edit_line(lambda line, _: f'"{line}"', header=True),
    "quote every field": _edit_all(
        lambda line: ",".join(f'"{field}"' for field in line.split(","))
    ),
    "stray signs": _insert("\"',;|\t\n\r \\#\x00\x01\u2028\x85\x1a\x0b"),
    "stray digits": _insert("0123456789.e-+"),
    "stray letters": _insert("aéЖ٣\u200b\ufeff😀"),
    "blank lines": _insert("\n"),
    "blank line of spaces": _edit_line(lambda line, _: line + "\n   "),
    "copy a line": _copy_line,
    "shuffle lines": _shuffle_lines,
    "cut off": _cut,
    "semicolons": _edit_all(lambda line: line.replace(",", ";")),
    "tabs": _edit_all(lambda line: line.replace(",", "\t")),
    "pipes": _edit_all(lambda line: line.replace(",", "|")),
    "one line with semicolons": _edit_line(
        lambda line, _: line.replace(",", ";"), header=True
    ),
    "spaces after commas": _edit_all(lambda line: line.replace(",", ", ")),
    "space before quote": _edit_line(
        lambda line, _: line.replace(",", ', "', 1), header=True
    ),
    "no header": lambda text, _: text.split("\n", 1)[-1],
    "header twice": lambda text, _: text.split("\n", 1)[0] + "\n" + text,
    "header at the end": lambda text, _: text + text.split("\n", 1)[0] + "\n",
    "title line": lambda text, _: "My report 2026\n" + text,
    "excel sep line": lambda text, _: "sep=,\n" + text,
    "comment line": _edit_line(lambda line, _: line + "\n# a comment"),
    "total line": lambda text, _: text + "Total,,,,,,,\n",
    "blank first line": lambda text, _: "\n" + text,
    "upper-case header": lambda text, _: "".join(
        [text.split("\n", 1)[0].upper(), "\n", text.split("\n", 1)[-1]]
    ),
    "blanks in the header": lambda text, _: text.replace(",", " , ", 3),
    "column named twice": lambda text, _: text.replace("orders", "ads", 1),
    "column renamed": lambda text, _: text.replace("orders", "order", 1),
    "quoted header": lambda text, _: text.replace("item", '"item"', 1),
    "line break in the header": lambda text, _: text.replace("item", '"it\nem"', 1),
    "mac line ends": lambda text, _: text.replace("\n", "\r"),
    "windows line ends": lambda text, _: text.replace("\n", "\r\n"),
    "doubled line ends": lambda text, _: text.replace("\n", "\r\r\n"),
    "line ends of two kinds": _edit_line(lambda line, _: line + "\r", header=True),
    "no last line end": lambda text, _: text.rstrip("\n"),
    "nothing but the header": lambda text, _: text.split("\n", 1)[0] + "\n",
    "one row": lambda text, _: "\n".join(text.split("\n")[:2]) + "\n",
    "empty": lambda _, __: "",
    "only blanks": lambda _, __: " \n\n ",
    "backslash quotes": _edit_line(lambda line, _: line.replace(",", ',"a\\"b",', 1)),
    "quoted line break": _edit_line(lambda line, _: line.rpartition(",")[0] + ',"re\nd"'),
    "quoted comma": _edit_line(lambda line, _: line.rpartition(",")[0] + ',"re,d"'),
    "doubled quotes": _edit_line(lambda line, _: line.rpartition(",")[0] + ',"re""d"'),
    "json instead": lambda _, __: '{"item": "i0", "date": "2026-01-05", "ads": 1}\n',
    "html instead": lambda _, __: "<html><body>502 Bad Gateway</body></html>\n",
}


def _flip_bytes(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _insert_bytes(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return (
        content[:at]
        + rng.choice([b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1a"])
        + content[at:]
    )


BYTE_MUTATIONS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "flipped bytes": _flip_bytes,
    "inserted bytes": _insert_bytes,
    "byte order mark": lambda content, _: b"\xef\xbb\xbf" + content,
    "two byte order marks": lambda content, _: b"\xef\xbb\xbf\xef\xbb\xbf" + content,
    "utf-16": lambda content, _: content.decode().encode("utf-16"),
    "utf-16 without mark": lambda content, _: content.decode().encode("utf-16-le"),
    "utf-32": lambda content, _: content.decode().encode("utf-32"),
    "latin-1": lambda content, _: (
        content.decode().replace("red", "rosé").encode("latin-1", "replace")
    ),
    "latin-1 ids": lambda content, _: (
        content.decode().replace("i1", "é1").encode("latin-1", "replace")
    ),
    "zeros at the end": lambda content, _: content + bytes(64),
    "zeros in the middle": lambda content, rng: (
        content[: rng.randrange(len(content) + 1)] + bytes(16) + content[40:]
    ),
    "gzip named csv": lambda _, __: b"\x1f\x8b\x08\x00" + bytes(40),
    "parquet named csv": lambda _, __: b"PAR1" + bytes(40) + b"PAR1",
}


def mutated_cases(seed: int, each: int, combined: int) -> Iterator[CsvCase]:
    """Every mutation on every layout `each` times, then `combined` files with two or three."""
    for layout in SCHEMAS:
        for name in [*TEXT_MUTATIONS, *BYTE_MUTATIONS]:
            for turn in range(each):
                yield _mutated(f"{seed} {layout} {name} {turn}", layout, [name])
    for turn in range(combined):
        rng = random.Random(f"{seed} combined {turn}")
        layout = rng.choice(list(SCHEMAS))
        names = [rng.choice(list(TEXT_MUTATIONS)) for _ in range(rng.randint(1, 2))]
        names.append(rng.choice([*TEXT_MUTATIONS, *list(BYTE_MUTATIONS)[:3]]))
        yield _mutated(f"{seed} combined {turn}", layout, names)


def _mutated(key: str, layout: str, names: list[str]) -> CsvCase:
    rng = random.Random(key)
    text = render(base_cells(layout, rng))
    content = b""
    for name in names:
        if name in TEXT_MUTATIONS:
            text = TEXT_MUTATIONS[name](text, rng)
        content = text.encode()
        if name in BYTE_MUTATIONS:
            content = BYTE_MUTATIONS[name](content, rng)
    return CsvCase(f"{layout}: {', then '.join(names)} ({key!r})", content, SCHEMAS[layout])
