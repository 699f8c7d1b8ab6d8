"""`realloc simulate`: draw logs from a synthetic world."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pyarrow.csv as pc_csv
import pyarrow.parquet as pq
import typer

from realloc.base.errors import ConfigError
from realloc.cli.console import busy, progress_bar
from realloc.cli.options import Quiet
from realloc.cli.outputs import Force, check_free
from realloc.logs import Logs
from realloc.logs.reading.source import kind_of

if TYPE_CHECKING:
    from realloc.world.platform import Marketplace

ZOO = "zoo:"


@dataclass(frozen=True)
class WorldSize:
    """What is drawn where nothing else is asked for."""

    units: int = 2000
    periods: int = 10
    channels: int = 3


def simulate(
    out: Annotated[
        Path,
        typer.Option(
            help="A .parquet or .csv file; for the platform also a folder, one partition a day."
        ),
    ],
    world: Annotated[
        str,
        typer.Option(
            help="paper: the paper's world. platform: a marketplace with randomized "
            "exploration. zoo:NAME: a world of the zoo (docs/zoo.md)."
        ),
    ] = "paper",
    regime: Annotated[
        str, typer.Option(help="Of the paper's world: benign, medium, hard or extreme.")
    ] = "hard",
    units: Annotated[
        int | None,
        typer.Option(min=1, help="How many items; 2000, or what the zoo's card says."),
    ] = None,
    periods: Annotated[
        int | None,
        typer.Option(min=1, help="How many days; 10, or what the zoo's card says."),
    ] = None,
    channels: Annotated[
        int | None,
        typer.Option(min=2, help="How many channels; 3, or what the zoo's card says."),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(min=0, help="Seed of the world: the same seed gives the same truth."),
    ] = 1,
    sample_seed: Annotated[
        int,
        typer.Option(
            min=0, help="Seed of the draw: another one gives other items of the same world."
        ),
    ] = 0,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Draw logs from a synthetic world with a known truth.

    The card beside them rebuilds the world bit for bit.
    """
    in_zoo = world.startswith(ZOO)
    if world not in ("paper", "platform") and not in_zoo:
        raise ConfigError(
            f"Expected --world paper, platform or zoo:NAME, got {world!r}. "
            "docs/zoo.md names the worlds of the zoo."
        )
    folder = kind_of(out) is None and world == "platform"
    if kind_of(out) is None and not folder:
        raise ConfigError(f"Expected --out to end in .parquet or .csv, got {str(out)!r}.")
    check_free(out, force, folder=folder)
    if folder and out.exists() and not (out / "_world.json").exists():
        raise ConfigError(
            f"Expected a new name for --out, but {str(out)!r} exists and is no finished "
            "simulation, so it may be yours. Choose another name or remove it. "
            "Nothing was written."
        )
    card_path = _card_path(out)
    name = world.removeprefix(ZOO)
    default = _zoo_size(name, channels) if in_zoo else WorldSize()
    units = units or default.units
    periods = periods or default.periods
    channels = channels or default.channels
    with busy("Simulating", quiet or folder):
        if in_zoo:
            from realloc.world.zoo import ZooWorld

            chosen = ZooWorld(name, seed)
            _write(chosen.sample(units, periods, sample_seed), out)
            card = chosen.card()
        elif world == "paper":
            from realloc.world import World

            drawn = World(regime=regime, seed=seed, channels=channels)
            _write(drawn.sample(units, periods, sample_seed), out)
            card = drawn.card()
        else:
            from realloc.world.platform import Marketplace

            market = Marketplace(seed=seed, channels=channels)
            if folder:
                _write_folder(market, out, units, periods, sample_seed, quiet)
            else:
                _write(market.sample(units, periods, sample_seed), out)
            card = market.card()
    card["sample"] = {
        "file": out.name,
        "units": units,
        "periods": periods,
        "sample_seed": sample_seed,
    }
    card_path.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    typer.echo(
        f"Wrote {units * periods:,} rows to {out} and the world's card to {card_path}."
    )


def _zoo_size(name: str, channels: int | None) -> WorldSize:
    from realloc.world.zoo import ZooWorld

    card = ZooWorld(name).parameters
    if channels not in (None, card.channels):
        raise ConfigError(
            f"Expected no --channels with the world {name!r}, which always has "
            f"{card.channels}, got {channels}."
        )
    return WorldSize(card.units, card.periods, card.channels)


def _card_path(out: Path) -> Path:
    """`world.json` beside the output, or `<name>.world.json` if that is another output's card."""
    shared = out.with_name("world.json")
    named = out.with_name(f"{out.name.split('.')[0]}.world.json")
    if named.exists():
        return named
    if not shared.exists():
        return shared
    try:
        described = json.loads(shared.read_text(encoding="utf-8"))["sample"]["file"]
    except (OSError, ValueError, KeyError, TypeError):
        return named
    return shared if described == out.name else named


def _write_folder(
    market: "Marketplace", out: Path, items: int, days: int, seed: int, quiet: bool
) -> None:
    half = out.with_name(f".{out.name}.part")
    shutil.rmtree(half, ignore_errors=True)
    try:
        with progress_bar("Simulating", quiet=quiet) as advance:
            market.write(half, items, days, seed, advance)
        shutil.rmtree(out, ignore_errors=True)
        half.rename(out)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _write(logs: Logs, out: Path) -> None:
    table = logs.to_arrow()
    out.parent.mkdir(parents=True, exist_ok=True)
    half = out.with_name(f".{out.name}.part")
    try:
        if kind_of(out) == "parquet":
            pq.write_table(table, half, write_page_checksum=True)
        else:
            pc_csv.write_csv(table, half)
        half.replace(out)
    finally:
        half.unlink(missing_ok=True)
