"""Six logs as companies have them, walked through by README and docs alone; writes the transcripts.

    python experiments/first_contact.py                 # docs/six-logs.md; minutes
    python experiments/first_contact.py --walk totals   # one of them, to the terminal

Each log is simulated, so that the true gain of what is recommended is known at the end. A step is a
command, what the user expected of it, and sometimes what they did because a message said so.
"""

import argparse
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fuzz_files import call

Floats = NDArray[np.float64]
PAGE = Path(__file__).parents[1] / "docs" / "six-logs.md"
PROGRESS = re.compile(r"^ *[\d.:]+ ?s?  .*\n", re.M)
MOST_LINES = 24  # of an output that are shown
SMALLEST = """
[nuisances]
folds = 3
models = ["ridge"]
[teacher]
surfaces = ["kernel"]
members = 2
few_rows = 0
[kernel]
inducing = 60
steps = 20
rows = 200
[student]
epochs = 4
width = 16
least_steps = 0
"""


@dataclass
class Market:
    """Units whose orders react to how their budget is split, by a law that is known."""

    units: int
    periods: int
    channels: tuple[str, ...]
    seed: int
    days_apart: int = 1
    noise: float = 0.4
    frame: pd.DataFrame = field(init=False)

    def __post_init__(self) -> None:
        random = np.random.default_rng(self.seed)
        n = self.units * self.periods
        unit = np.repeat(np.arange(self.units), self.periods)
        day = np.tile(np.arange(self.periods), self.units)
        taste = random.normal(size=(self.units, len(self.channels)))[unit]
        raw = 0.5 * taste + 0.5 * random.normal(size=(n, len(self.channels)))
        shares = np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True)
        budget = 100 * np.exp(0.5 * random.normal(size=self.units)[unit])
        self.frame = pd.DataFrame(
            {
                "unit": [f"u{k:03d}" for k in unit],
                "day": pd.Timestamp("2025-01-06")
                + pd.to_timedelta(day * self.days_apart, unit="D"),
                "price": np.round(random.normal(10, 2, self.units)[unit], 2),
            }
        )
        money = np.round(shares * budget[:, None], 2)
        for k, name in enumerate(self.channels):
            self.frame[name] = money[:, k]
        mean = self.orders(self.frame, self.shares(self.frame))
        self.frame["orders"] = np.round(mean + self.noise * random.normal(size=n), 2)

    def shares(self, frame: pd.DataFrame) -> Floats:
        """As they were logged."""
        money = frame[list(self.channels)].to_numpy(np.float64)
        return money / money.sum(axis=1, keepdims=True)

    def orders(self, frame: pd.DataFrame, shares: Floats) -> Floats:
        """The truth: each channel pays less and less, the first one more where prices are high."""
        worth = np.linspace(8, 2, len(self.channels))[None] + np.zeros((len(frame), 1))
        worth[:, 0] += 0.5 * (frame["price"].to_numpy() - 10)
        return 30 + (worth * np.sqrt(shares)).sum(axis=1)

    @property
    def today(self) -> pd.DataFrame:
        """The last period, to decide on."""
        return self.frame[self.frame["day"] == self.frame["day"].max()]


@dataclass(frozen=True)
class Step:
    """What was typed or done, how it ended, what it said, and why the user did it."""

    typed: str
    code: int
    said: str
    why: str = ""


@dataclass
class Walk:
    """A log in a folder, and everything that was done with it."""

    folder: Path
    small: bool
    steps: list[Step] = field(default_factory=list[Step])

    def run(self, command: str, code: int = 0, why: str = "") -> str:
        """Type a command; it must end as the user can expect."""
        here = Path.cwd()
        os.chdir(self.folder)
        try:
            said = call(*command.split()[1:])
        finally:
            os.chdir(here)
        text = said.out + PROGRESS.sub("", said.err)
        if said.code != code:
            raise AssertionError(f"{command} ended with {said.code}:\n{text}")
        self.steps.append(Step(f"$ {command}", code, text.rstrip(), why))
        return text

    def edit(self, old: str, new: str, why: str) -> None:
        """Change realloc.toml."""
        path = self.folder / "realloc.toml"
        text = path.read_text()
        if old not in text:
            raise AssertionError(f"{old!r} does not stand in:\n{text}")
        path.write_text(text.replace(old, new, 1))
        self.steps.append(Step(f"realloc.toml: {new.strip()}", 0, "", why))

    def did(self, what: str, why: str) -> None:
        """Something done to the data by other means."""
        self.steps.append(Step(what, 0, "", why))

    def fit(self, log: str) -> None:
        """Fit with the defaults; in tests with a config that takes a second."""
        if self.small:
            path = self.folder / "realloc.toml"
            path.write_text(path.read_text() + SMALLEST)
        self.run(f"realloc fit {log} --config realloc.toml --store store --quiet")

    def recommend(self, today: str, market: Market, asked: pd.DataFrame) -> None:
        """Decide on today's rows, then say what the moves are truly worth."""
        out = "recs.parquet"
        self.run(f"realloc recommend {today} --store store --out {out} --quiet")
        found = pq.read_table(self.folder / out).to_pandas()
        if "share" in found:  # long
            found = found.pivot(index=found.columns[0], columns="channel", values="share")
            shares = found[list(market.channels)].to_numpy()
            asked = asked.sort_values("unit")
        else:
            names = [name for name in found if name.startswith("share_")]
            shares = found[names].to_numpy()
        now = market.orders(asked, market.shares(asked))
        gain = market.orders(asked, shares) - now
        moved = np.abs(shares - market.shares(asked)).max(axis=1) > 1e-9
        truth = "The truth: nothing is moved, so nothing is gained or lost."
        if moved.any():
            truth = (
                f"The truth: the moves of {moved.sum()} of {len(asked)} rows bring "
                f"{gain.sum():+.1f} orders ({gain.sum() / now.sum():+.1%}); "
                f"{(gain[moved] < 0).mean():.0%} of them lose."
            )
        self.steps.append(Step(truth, 0, ""))


def expect(words: str, said: str) -> None:
    """The user relies on what a command says."""
    if words not in " ".join(said.split()):
        raise AssertionError(f"Expected {words!r} in:\n{said}")


def german(walk: Walk) -> None:
    """A chain of shops exports from German Excel; no channel is named like a spend."""
    market = Market(18, 50, ("search", "social", "email", "video"), 1)
    frame = market.frame.rename(columns={"unit": "Filiale", "day": "Datum"})
    for name, rows in (("log.csv", frame), ("today.csv", _today(frame, "Datum"))):
        written = rows.assign(Datum=rows["Datum"].dt.strftime("%d.%m.%Y"))
        written.to_csv(
            walk.folder / name, sep=";", decimal=",", index=False, encoding="cp1252"
        )
    said = walk.run("realloc init log.csv")
    expect("is it spend?", said)
    walk.run("realloc check log.csv --config realloc.toml")
    walk.fit("log.csv")
    walk.recommend("today.csv", market, market.today)
    walk.run("realloc report --store store --quiet")


def long(walk: Walk) -> None:
    """A marketplace has one row per item, day and channel; a channel without spend has no row."""
    market = Market(90, 10, ("ads", "coupon", "rebate"), 2)
    frame = market.frame.rename(columns={"unit": "item_id", "day": "date"})
    others = ["item_id", "date", "price", "orders"]
    rows = frame.melt(others, list(market.channels), "channel", "amount")
    rows.to_parquet(walk.folder / "log.parquet", index=False)
    today = _today(rows, "date")
    today.to_parquet(walk.folder / "today.parquet", index=False)
    walk.run("realloc init log.parquet")
    walk.run("realloc check log.parquet --config realloc.toml")
    walk.fit("log.parquet")
    walk.recommend("today.parquet", market, market.today)
    walk.run("realloc status --store store")


def weekly(walk: Walk) -> None:
    """Regions by week; an income index that never changes, and dates in American style."""
    market = Market(24, 40, ("tv_spend", "search_spend", "radio_spend"), 3, days_apart=7)
    frame = market.frame.rename(columns={"unit": "region", "day": "week"})
    income = np.random.default_rng(3).normal(100, 10, market.units).round(1)
    frame["income_idx"] = np.repeat(income, market.periods)
    for name, rows in (("log.csv", frame), ("today.csv", _today(frame, "week"))):
        written = rows.assign(week=rows["week"].dt.strftime("%b %d, %Y"))
        written.to_csv(walk.folder / name, index=False)
    walk.run("realloc init log.csv")
    expect("income_idx", (walk.folder / "realloc.toml").read_text().split("features")[1])
    walk.run("realloc check log.csv --config realloc.toml")
    walk.fit("log.csv")
    walk.recommend("today.csv", market, market.today)


def totals(walk: Walk) -> None:
    """Several currencies, and a row `Total` for every day."""
    market = Market(30, 30, ("ads", "coupon", "rebate"), 4)
    frame = market.frame.assign(currency=np.repeat(["EUR", "USD"], 15 * market.periods))
    frame = frame.rename(columns={name: f"{name}_spend" for name in market.channels})
    spends = [f"{name}_spend" for name in market.channels]
    sums = frame.groupby(["day", "currency"])[[*spends, "orders"]].sum().reset_index()
    sums = sums[sums["currency"] == "EUR"].assign(unit="Total", price=np.nan)
    whole = pd.concat([frame, sums], ignore_index=True)
    whole.to_csv(walk.folder / "log.csv", index=False)
    walk.run("realloc init log.csv")
    said = walk.run("realloc check log.csv --config realloc.toml", code=2)
    expect("Convert to one currency", said)
    for name in spends:
        whole.loc[whole["currency"] == "USD", name] *= 0.9
    whole.drop(columns="currency").to_csv(walk.folder / "euro.csv", index=False)
    walk.did(
        "euro.csv: all spends in EUR, without the column of currencies",
        "The check says: convert to one currency.",
    )
    walk.run("realloc init euro.csv --force", why="The columns have changed.")
    said = walk.run("realloc check euro.csv --config realloc.toml")
    expect("unit_is_a_total", said)
    walk.edit(
        '# drop_units = ["Total"]',
        'drop_units = ["Total"]',
        "`realloc init` has found that this unit is the sum of others.",
    )
    walk.run("realloc check euro.csv --config realloc.toml")
    walk.fit("euro.csv")
    market.channels = tuple(spends)
    market.frame = whole[whole["unit"] != "Total"].drop(columns="currency")
    asked = market.today
    asked.drop(columns="orders").to_csv(walk.folder / "today.csv", index=False)
    walk.recommend("today.csv", market, asked)


def late(walk: Walk) -> None:
    """One row per channel, with gaps, orders that arrive late, and a file that has rows twice."""
    market = Market(40, 30, ("ads", "coupon", "rebate"), 5)
    frame = market.frame.rename(columns={"unit": "campaign", "day": "date"})
    keep = np.random.default_rng(5).random(len(frame)) < 0.85
    newest = frame["date"].max()
    is_today = frame["date"] == newest
    log = frame[keep & ~is_today].copy()
    recent = log["date"] > newest - pd.Timedelta(days=4)
    log.loc[recent, "orders"] = (0.3 * log.loc[recent, "orders"]).round(2)
    others = ["campaign", "date", "price", "orders"]
    rows = log.melt(others, list(market.channels), "channel", "spend")
    doubled = pd.concat([rows, rows.tail(30)], ignore_index=True)
    doubled.to_csv(walk.folder / "log.csv", index=False)
    walk.run("realloc init log.csv")
    said = walk.run("realloc check log.csv --config realloc.toml", code=2)
    expect("repeated_channel", said)
    rows.to_csv(walk.folder / "once.csv", index=False)
    walk.did("once.csv: without the rows that stood there twice", "The check names them.")
    said = walk.run("realloc check once.csv --config realloc.toml")
    expect("immature_outcome", said)
    ripe = rows[rows["date"] <= newest - pd.Timedelta(days=4)]
    ripe.to_csv(walk.folder / "ripe.csv", index=False)
    walk.did(
        "ripe.csv: without the newest days", "The check says that they are incomplete."
    )
    walk.run("realloc check ripe.csv --config realloc.toml")
    walk.fit("ripe.csv")
    today = frame[is_today]
    asked = today.drop(columns="orders").melt(
        others[:3], list(market.channels), "channel", "spend"
    )
    asked.to_csv(walk.folder / "today.csv", index=False)
    walk.recommend("today.csv", market, market.today)


def dozen(walk: Walk) -> None:
    """Twelve regions, three years of weeks, a workbook."""
    market = Market(12, 156, ("tv", "search", "radio", "print"), 6, days_apart=7)
    market.frame["day"] -= pd.Timedelta(weeks=110)
    frame = market.frame.rename(columns={"unit": "region", "day": "week"})
    if walk.small:
        market.frame = market.frame[market.frame["day"] >= pd.Timestamp("2024-01-01")]
        frame = frame[frame["week"] >= pd.Timestamp("2024-01-01")]
    frame.to_excel(walk.folder / "log.xlsx", index=False)
    today = _today(frame, "week")
    today.to_excel(walk.folder / "today.xlsx", index=False)
    walk.run("realloc init log.xlsx")
    said = walk.run("realloc check log.xlsx --config realloc.toml")
    expect("few_units", said)
    walk.fit("log.xlsx")
    walk.recommend("today.xlsx", market, market.today)


def _today(frame: pd.DataFrame, time: str) -> pd.DataFrame:
    return frame[frame[time] == frame[time].max()].drop(columns="orders")


WALKS: dict[str, Callable[[Walk], None]] = {
    "german": german,
    "long": long,
    "weekly": weekly,
    "totals": totals,
    "late": late,
    "dozen": dozen,
}


def take(name: str, folder: Path, small: bool = False) -> Walk:
    """Take a walk; whatever a user would stumble over raises."""
    walk = Walk(folder, small)
    WALKS[name](walk)
    return walk


def transcript(name: str, walk: Walk) -> str:
    """A walk as Markdown."""
    story = (WALKS[name].__doc__ or "").strip()
    lines = [f"## {name.capitalize()}", "", story, ""]
    for step in walk.steps:
        if step.why:
            lines += [step.why, ""]
        if not step.typed.startswith("$"):
            lines += [f"*{step.typed}*", ""]
            continue
        said = step.said.split("\n")
        cut = [*said[:MOST_LINES], f"… ({len(said) - MOST_LINES} more lines)"]
        shown = said if len(said) <= MOST_LINES else cut
        ended = f"   # exit code {step.code}" if step.code else ""
        lines += ["```text", f"{step.typed}{ended}", *shown, "```", ""]
    return "\n".join(lines)


HEAD = """# Six logs, from the export to the first recommendation

What happens when somebody who knows README and docs alone brings a log of their own? Six logs as
companies have them, simulated with a known truth and written as such exports are. Every command
below was typed into a fresh folder by [first_contact.py](../experiments/first_contact.py), which
writes this page and stops at whatever a user would stumble over; a smaller version of each walk
runs in the tests. Fits use the defaults.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--walk", choices=WALKS)
    parser.add_argument("--small", action="store_true", help="as in the tests; seconds")
    given = parser.parse_args()
    parts: list[str] = []
    for name in [given.walk] if given.walk else WALKS:
        with TemporaryDirectory() as folder:
            parts.append(transcript(name, take(name, Path(folder), given.small)))
        print(parts[-1], flush=True)
    if not given.walk and not given.small:
        PAGE.write_text("\n".join([HEAD, *parts]))


if __name__ == "__main__":
    main()
