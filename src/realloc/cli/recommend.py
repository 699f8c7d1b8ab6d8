"""`realloc recommend`: advice for today's rows from a fitted store, as Parquet or CSV."""

import os
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import typer
from rich.console import Console

from realloc.cli.console import stdout
from realloc.cli.fit import open_store
from realloc.config import read_config
from realloc.errors import ConfigError
from realloc.policy import REASONS
from realloc.store import frozen


def recommend(
    today: Annotated[str, typer.Argument(help="Parquet or CSV with the rows to decide on; no outcome needed.")],
    store: Annotated[Path, typer.Option(help="The folder that `realloc fit` wrote.")],
    out: Annotated[Path, typer.Option(help="Where to write: .parquet or .csv.")],
    config: Annotated[
        Path | None, typer.Option(help="TOML whose [decision] and [constraints] replace those of the fit.")
    ] = None,
    pool: Annotated[
        list[str] | None, typer.Option(help="Most money of a channel over all rows, e.g. coupon=250000; repeatable.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Recommend shares and money for every row, with the gain, how sure it is, and why."""
    if out.suffix not in (".parquet", ".csv"):
        raise ConfigError(f"Expected `--out` to end in .parquet or .csv, got {out.name!r}.")
    pools, console = _pools(pool or []), stdout()
    answers = None if frozen.why_frozen(store) else _decide(today, store, config, pools, quiet)
    why = frozen.why_frozen(store)  # again: the switch may have been pulled meanwhile
    if why or answers is None:
        answers = frozen.answer_frozen(store, today)
        console.print(f"[bold]Frozen[/] since {why or 'a moment ago'}: every mix is kept.")
    _write(answers, out)
    _show(answers, out, console)


def _decide(today: str, store: Path, config: Path | None, pools: dict[str, float] | None, quiet: bool) -> pa.Table:
    model = open_store(store)
    if config is not None:
        _, given = read_config(config)
        model.decide_with(given.decision, given.constraints)
    model.quiet = quiet
    return model.recommend(today, pools=pools)


def _pools(given: list[str]) -> dict[str, float] | None:
    pools: dict[str, float] = {}
    for text in given:
        name, _, amount = text.rpartition("=")
        try:
            pools[name] = float(amount)
        except ValueError:
            name = ""
        if not name:
            raise ConfigError(f"Expected `--pool` as channel=money, such as coupon=250000, got {text!r}.")
    return pools or None


def _write(answers: pa.Table, out: Path) -> None:
    """Whole or not at all: under another name first."""
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = out.with_name(f".{out.name}.new")
    try:
        if out.suffix == ".csv":
            pa_csv.write_csv(answers, beside)
        else:
            pq.write_table(answers, beside)
        os.replace(beside, out)
    finally:
        beside.unlink(missing_ok=True)


def _show(answers: pa.Table, out: Path, console: Console) -> None:
    def total(column: Any) -> float:
        return float(np.nansum(column.to_numpy().astype(np.float64)))

    moved = int(total(answers["moved"]))
    money = sum(total(answers[name]) for name in answers.column_names if name.startswith("spend_"))
    console.print(f"[bold]{answers.num_rows:,} rows[/], {moved:,} moved → {out}")
    console.print(f"  Expected gain {total(answers['gain']):,.4g} in all, on budgets of {money:,.2f}.")
    for reason, count in Counter(answers["reason"].to_pylist()).most_common():
        console.print(f"  {reason:12}{count:9,}  {REASONS[reason]}")
