"""Exports drawn at random, taken by the command line from `init` to `recommend`.

    python experiments/fuzz_files.py              # 5,000 logs, a few hours of CPU; resumable
    python experiments/fuzz_files.py --quick      # 50 logs
    python experiments/fuzz_files.py --seeds 3    # the fourth fifty again

Every number is a file of its own: wide or long, spends or shares, CSV in several dialects, Parquet
or Excel, with up to three defects. Each command must end in an answer or in one clear refusal; what
`check` lets pass, `fit` must learn from; and every row of today must get its answer. A number makes
its file again.
"""

import contextlib
import io
import os
import sys
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from fuzz_logs import draw_feature, draw_outcome, draw_spends
from realloc.cli.main import main as realloc
from runner import Figures, Study, arguments, conclude, describe

LOGS = 5000
EACH = 50  # logs in a cell
SMALLEST = """
[nuisances]
folds = 2
models = ["ridge"]
repeats = 1
[teacher]
surfaces = ["sparse"]
members = 2
[student]
width = 8
trunk = 4
epochs = 2
least_steps = 0
[memory]
capacity = 200
[support]
members = 2
rows = 200
[decision]
min_significance = 0.0
"""
UNITS = ("item_id", "shop", "Filiale", "campaign name", "store no.", "region", "SKU")
TIMES = ("date", "day", "Datum", "week", "Order Date", "ts")
OUTCOMES = ("orders", "sales", "Bestellungen", "conversions", "revenue", "bookings", "y")
CHANNELS = ("ads", "coupon", "rebate", "search", "social", "email", "video", "TV")
FORMS = {
    "%d/%m/%Y": "DD/MM/YYYY",
    "%m/%d/%Y": "MM/DD/YYYY",
    "%d.%m.%Y": "DD.MM.YYYY",
    "%b %d, %Y": "MMM DD, YYYY",
    "%Y%m%d": "YYYYMMDD",
}
DATES = ("%Y-%m-%d",) * 4 + tuple(FORMS)
SPENDS = ("spend_{}", "{}_spend", "{}", "{} cost", "Kosten {}", "{}_eur", "amount.{}")


@dataclass
class Export:
    """A log as somebody keeps it; defects change it in place."""

    random: np.random.Generator
    frame: pd.DataFrame
    unit: str
    time: str
    outcome: str
    channels: list[str]
    written: str = ""  # what was done to it
    dates: str = "%Y-%m-%d"
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    suffix: str = ".csv"

    def some(self, most: int = 5) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        """A few rows."""
        return self.random.choice(len(self.frame), min(most, len(self.frame)), False)


def draw_export(seed: int) -> Export:
    """The log of a number, with its defects."""
    random = np.random.default_rng([22, seed])
    export = plain(random)
    for defect in random.permutation(len(DEFECTS))[: random.choice([0, 0, 0, 1, 1, 2])]:
        DEFECTS[defect](export)
        export.written += f" {DEFECTS[defect].__name__}"
    layout = (lay_wide, lay_wide, lay_shares, lay_long)[random.integers(4)]
    layout(export)
    export.written += f" {layout.__name__}"
    write_dates(export)
    choose_file(export)
    return export


def plain(random: np.random.Generator) -> Export:
    """A log without defects."""
    units = int(random.choice([5, 12, 12, 40]))
    periods = int(random.choice([3, 8, 20, 30, 60]))
    rows = units * periods
    channels = [*random.choice(CHANNELS, random.integers(2, 7), replace=False)]
    spelling = str(random.choice(SPENDS))
    names = [spelling.format(name) for name in channels]
    money = draw_spends(random, rows, len(names))
    frame = pd.DataFrame(np.round(money / money.max() * 1e4, 2), columns=names)
    unit, time, outcome = (str(random.choice(each)) for each in (UNITS, TIMES, OUTCOMES))
    apart = int(random.choice([1, 1, 7]))
    days = [date(2025, 1, 6) + timedelta(days=apart * d) for d in range(periods)]
    if time == "ts":
        frame[time] = pd.to_datetime(days * units) + pd.Timedelta(hours=8)
    else:
        frame[time] = days * units
    frame[unit] = [name for name in draw_units(random, units) for _ in range(periods)]
    for number in range(random.integers(0, 4)):
        frame[f"feature_{number}"] = draw_feature(random, frame[names])
    frame[outcome] = draw_outcome(random, money)
    frame = frame[[str(name) for name in random.permutation(frame.columns)]]
    return Export(random, frame, unit, time, outcome, names)


def draw_units(random: np.random.Generator, units: int) -> list[object]:
    kinds: list[Callable[[int], object]] = [
        lambda k: f"s-{k:03d}",
        lambda k: k + 1000,
        lambda k: f"{k:05d}",
        lambda k: f"Filiale Nº {k}, Süd",
        lambda k: ("NA", "null", "=A1", "1e5", "TRUE")[k % 5] + "x" * (k // 5),
    ]
    kind = kinds[random.integers(len(kinds))]
    return [kind(k) for k in range(units)]


# Defects: what happens to a log on its way through a company.


def repeat_rows(export: Export) -> None:
    rows = export.frame.iloc[export.some()]
    export.frame = pd.concat([export.frame, rows], ignore_index=True)


def total_row(export: Export) -> None:
    """A last row `Total`, without a date, or one for each date."""
    sums = export.frame.groupby(export.time)[export.channels].sum().reset_index()
    if export.random.random() < 0.5:
        sums = sums[export.channels].sum().to_frame().T
    sums[export.unit] = "Total"
    export.frame = pd.concat([export.frame, sums], ignore_index=True)


def currencies(export: Export) -> None:
    export.frame["currency"] = export.random.choice(["EUR", "USD"], len(export.frame))


def no_outcome(export: Export) -> None:
    part = export.random.random(len(export.frame)) < export.random.choice([0.1, 0.9, 1.0])
    export.frame.loc[part, export.outcome] = None


def text_in_numbers(export: Export) -> None:
    name = export.random.choice([*export.channels, export.outcome])
    export.frame = export.frame.astype({name: object})
    word = str(export.random.choice(["n/a", "-", "#DIV/0!", "1,234.50", "12%", "", " "]))
    export.frame.loc[export.some(), name] = word


def negative(export: Export) -> None:
    export.frame.loc[export.some(), export.channels[0]] = -5.0


def gaps(export: Export) -> None:
    keep = export.random.random(len(export.frame)) < export.random.uniform(0.3, 0.9)
    export.frame = export.frame[keep].reset_index(drop=True)


def no_budget(export: Export) -> None:
    export.frame.loc[export.some(20), export.channels] = 0.0


def empty_cells(export: Export) -> None:
    name = export.random.choice(list(export.frame.columns))
    export.frame = export.frame.astype({name: object})
    export.frame.loc[export.some(10), name] = None


def one_channel(export: Export) -> None:
    export.frame[export.channels[1:]] = 0


def never_used(export: Export) -> None:
    export.frame[export.channels[-1]] = export.random.choice([0.0, np.nan])


def same_mix(export: Export) -> None:
    export.frame[export.channels] = 10.0 + np.arange(len(export.channels))


def own_columns(export: Export) -> None:
    """Columns named like ours, like nothing, or twice in another case."""
    name = export.random.choice(
        ["gain", "reason", "moved", "support", " ", "ORDERS", "x\ny"]
    )
    export.frame[str(name)] = export.random.normal(size=len(export.frame))


def comment(export: Export) -> None:
    export.frame["comment"] = None
    export.frame.loc[export.some(), "comment"] = 'said "no", twice; see\tmail'


def odd_dates(export: Export) -> None:
    export.frame = export.frame.astype({export.time: object})
    value = export.random.choice(["", "unknown", "0000-00-00", "2099-01-01", "1900-01-01"])
    export.frame.loc[export.some(2), export.time] = value


def huge(export: Export) -> None:
    name = export.random.choice([*export.channels, export.outcome])
    export.frame.loc[export.some(1), name] = export.random.choice([1e13, 1e31, np.inf])


def results(export: Export) -> None:
    """Columns that were only known after the decision."""
    outcome = pd.to_numeric(export.frame[export.outcome], errors="coerce")
    export.frame["clicks"] = outcome * 9 + 1
    export.frame["roas"] = outcome / (1 + export.frame[export.channels[0]])


def other_units(export: Export) -> None:
    """Ids that differ in blanks or case only, or are missing."""
    export.frame = export.frame.astype({export.unit: str})
    ids = export.frame.loc[export.some(), export.unit]
    change = export.random.choice(["upper", "blank", "missing"])
    changed = {"upper": ids.str.upper(), "blank": ids + " ", "missing": None}[change]
    export.frame.loc[ids.index, export.unit] = changed


def few(export: Export) -> None:
    export.frame = export.frame.head(int(export.random.choice([0, 1, 2, 49, 60])))


DEFECTS: list[Callable[[Export], None]] = [
    repeat_rows, total_row, currencies, no_outcome, text_in_numbers, negative, gaps, no_budget,
    empty_cells, one_channel, never_used, same_mix, own_columns, comment, odd_dates, huge,
    results, other_units, few,
]  # fmt: skip


# Layouts and files.


def lay_wide(export: Export) -> None:
    """As it is: a column of spends for each channel."""


def lay_shares(export: Export) -> None:
    """Shares of a budget: exact, rounded, or in percent."""
    money = export.frame[export.channels].apply(pd.to_numeric, errors="coerce").fillna(0.0)
    budget = money.sum(axis=1)
    shares = money.div(budget.where(budget != 0, 1.0), axis=0)
    kind = export.random.choice(["exact", "exact", "rounded", "percent"])
    export.frame[export.channels] = {
        "exact": shares,
        "rounded": shares.round(3),
        "percent": shares * 100,
    }[kind]
    export.frame["budget"] = budget


def lay_long(export: Export) -> None:
    """One row per channel; zeros may have no row."""
    others = [name for name in export.frame if name not in export.channels]
    long = export.frame.melt(others, export.channels, "channel", "amount")
    if export.random.random() < 0.5:
        long = long[long["amount"] != 0]
    export.frame = long.sample(frac=1, random_state=int(export.random.integers(1000)))


def write_dates(export: Export) -> None:
    form = str(export.random.choice(DATES))
    if form == "%Y-%m-%d" or export.time == "ts":
        return
    export.dates = form
    days = export.frame[export.time]
    export.frame[export.time] = [
        day.strftime(form) if isinstance(day, date) else day for day in days
    ]


def choose_file(export: Export) -> None:
    random = export.random
    export.suffix = str(random.choice([".csv", ".csv", ".csv", ".parquet", ".xlsx"]))
    if export.suffix == ".csv":
        export.separator = str(random.choice([",", ",", ";", "\t", "|"]))
        export.decimal = "," if export.separator == ";" else "."
        export.encoding = str(random.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"]))


def write(export: Export, frame: pd.DataFrame, folder: Path, name: str) -> str:
    """The name of the file."""
    path = folder / f"{name}{export.suffix}"
    if export.suffix == ".csv":
        frame.to_csv(
            path,
            index=False,
            sep=export.separator,
            decimal=export.decimal,
            encoding=export.encoding,
        )
    elif export.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    else:
        as_text = {
            column: frame[column].map(lambda value: None if pd.isna(value) else str(value))
            for column in frame
            if frame[column].dtype == object and column != export.outcome
        }
        numbers = pd.to_numeric(frame[export.outcome], errors="coerce")
        frame.assign(**as_text, **{export.outcome: numbers}).to_parquet(path, index=False)
    return path.name


# The walk.


@dataclass(frozen=True)
class Said:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str


def call(*words: str) -> Said:
    """The command line in this process; a warning is an error, and so are its traces in a text."""
    out, err = io.StringIO(), io.StringIO()
    given = sys.argv
    sys.argv = ["realloc", *words]
    code = 0
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("error")
            realloc()
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.argv = given
    said = Said(code, out.getvalue(), err.getvalue())
    text = said.out + said.err
    broken = [word for word in ("Traceback", "unexpected", "Error:") if word in text]
    if code not in (0, 2) or broken:
        raise AssertionError(f"{words[0]} ended with {code}: {text.strip()[-600:]}")
    if code == 2 and words[0] != "check" and not said.err.startswith("realloc: "):
        raise AssertionError(f"{words[0]} refused without a message: {text}")
    return said


def first_words(said: Said) -> str:
    return said.err.removeprefix("realloc: ").strip().split("\n")[0][:300]


def hints(export: Export) -> list[str]:
    """What its owner knows, as the messages of `init` ask for it."""
    told = ["--unit", export.unit, "--time", export.time, "--outcome", export.outcome]
    if "channel" in export.frame:
        told += ["--channel-column", "channel", "--spend-column", "amount"]
    else:
        told += ["--channels", ",".join(export.channels)]
    return [*told, "--date-format", FORMS[export.dates]] if export.dates in FORMS else told


def walk(seed: int, folder: Path) -> str:
    """What came of a log: `decided`, or who refused it and why. Anything else raises."""
    export = draw_export(seed)
    log = write(export, export.frame, folder, "log")
    days = export.frame[export.time].astype(str)
    newest = export.frame[(days == days.max()).to_numpy()].drop(columns=export.outcome)
    os.chdir(folder)
    said = call("init", log)
    if said.code:
        said = call("init", log, *hints(export))
    if said.code:
        return f"refused by init: {first_words(said)}"
    config = Path("realloc.toml")
    tomllib.loads(config.read_text())
    checked = call("check", log, "--config", "realloc.toml")
    config.write_text(config.read_text() + SMALLEST)
    fitted = call("fit", log, "--config", "realloc.toml", "--store", "store", "--quiet")
    if (checked.code == 0) != (fitted.code == 0):
        raise AssertionError(
            f"check ended with {checked.code}, fit with {fitted.code}: {fitted.err}"
        )
    if fitted.code:
        return f"refused by check and fit: {first_words(fitted)}"
    today = write(export, newest.assign(**{export.outcome: None}), folder, "today")
    asked = ("today", "--store", "store", "--out", "recs.parquet", "--jobs", "1", "--quiet")
    said = call("recommend", today, *asked[1:])
    if said.code:
        return f"refused by recommend: {first_words(said)}"
    answers = pq.read_table("recs.parquet")
    if len(answers) != len(newest):
        raise AssertionError(f"{len(newest)} rows of today, {len(answers)} answers")
    return "decided"


def cell(key: str) -> Figures:
    """Fifty logs: how many were decided, who refused the others, and what broke."""
    ended: Counter[str] = Counter()
    refusals: dict[str, str] = {}
    failures: dict[str, str] = {}
    here = Path.cwd()
    for seed in range(int(key) * EACH, (int(key) + 1) * EACH):
        with TemporaryDirectory() as folder:
            try:
                said = walk(seed, Path(folder))
                ended[said.split(":")[0]] += 1
                if said != "decided":
                    refusals[str(seed)] = said
            except Exception as problem:
                failures[str(seed)] = f"{type(problem).__name__}: {problem}"
                ended["failed"] += 1
            finally:
                os.chdir(here)
    return {"logs": EACH, "ended": dict(ended), "failures": failures}


def report(cells: dict[str, Figures]) -> str:
    """How many, and each failure by its number."""
    ended: Counter[str] = Counter()
    for one in cells.values():
        ended.update(one["ended"])
    failures = {k: v for one in cells.values() for k, v in one["failures"].items()}
    counts = ", ".join(f"{count:,} {how}" for how, count in ended.most_common())
    lines = [
        f"{sum(one['logs'] for one in cells.values()):,} exports: {counts}.",
        "",
        *(f"- {number}: {what}" for number, what in failures.items()),
    ]
    return "\n".join([*lines, describe(cells), ""])


def main() -> None:
    given = arguments(__doc__).parse_args()
    cells = given.seeds or range(1 if given.quick else LOGS // EACH)
    name = "fuzz_files_quick" if given.quick else "fuzz_files"
    conclude(Study(name, cell, tuple(map(str, cells))), given, report)


if __name__ == "__main__":
    main()
