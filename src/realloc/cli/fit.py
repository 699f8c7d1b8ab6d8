"""`realloc fit` and `realloc update`: the first round into a store, and every later one."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.padding import Padding

from realloc.cli.console import progress_bar, stdout
from realloc.config import read_config
from realloc.errors import ConfigError
from realloc.logs import Logs, Schema, read_logs
from realloc.progress import show_progress

if TYPE_CHECKING:
    from realloc.reallocation import ReAlloc

Source = Annotated[list[str], typer.Argument(help="Parquet or CSV file(s), a quoted glob, or a folder of partitions.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bars.")]


def fit(
    logs: Source,
    config: Annotated[Path, typer.Option(help="TOML with a [schema]; `realloc init` writes one.")],
    store: Annotated[Path, typer.Option(help="Folder that keeps the model between rounds.")],
    seed: Annotated[int | None, typer.Option(min=0, help="Instead of the config's.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Start over where the store holds a model already.")] = False,
    quiet: Quiet = False,
) -> None:
    """Learn from logs: the first round into a store."""
    from realloc.reallocation import ReAlloc  # noqa: PLC0415  torch loads only where something is learned

    if _model(store).exists() and not again:
        raise ConfigError(
            f"Expected a store without a model, but {str(store)!r} holds one. "
            "Use `realloc update` for a further window, another folder, or `--again` to start over."
        )
    schema, settings = read_config(config)
    settings = settings if seed is None else replace(settings, seed=seed)
    window = _read(logs, schema, quiet)
    with show_progress(quiet) as progress:
        model = ReAlloc(settings, schema).fit(window, progress=progress)
    _keep(model, store)
    _show(model, window, store, stdout())


def update(
    window: Source,
    store: Annotated[Path, typer.Option(help="The folder that `realloc fit` wrote.")],
    churn: Annotated[
        bool, typer.Option("--churn", help="Run the round twice to tell new data from refit noise.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Learn from one more window: a fast teacher on it, the slow student through the replay."""
    model = open_store(store)
    rows = _read(window, model.known_schema, quiet)
    with show_progress(quiet) as progress:
        model.update(rows, progress=progress, churn=churn)
    _keep(model, store)
    console = stdout()
    _show(model, rows, store, console)
    for line in model.churn.lines() if model.churn else ():
        console.print(Padding(line, (0, 0, 0, 2)))


def open_store(store: Path) -> "ReAlloc":
    """The model of a store."""
    from realloc.reallocation import load  # noqa: PLC0415  torch loads only where something is learned

    if not _model(store).exists():
        raise ConfigError(
            f"Expected a store with a model at {str(store)!r}, but there is none. `realloc fit` makes one."
        )
    return load(_model(store))


def _model(store: Path) -> Path:
    return store / "model"


def _keep(model: "ReAlloc", store: Path) -> None:
    store.mkdir(parents=True, exist_ok=True)
    model.save(_model(store))


def _read(source: list[str], schema: Schema, quiet: bool) -> Logs:
    with progress_bar("Reading", quiet=quiet) as advance:
        return read_logs(source, schema, on_progress=advance)


def _show(model: "ReAlloc", window: Logs, store: Path, console: Console) -> None:
    state = model.fitted
    learned = state.main
    weights = dict(zip(model.config.teacher.surfaces, learned.weighing.weights, strict=True))
    console.print(f"[bold]Round {state.rounds}[/]  {len(window):,} rows of {window.unit_count:,} units → {store}/model")
    for line in learned.nuisances.lines(channels=window.schema.channels):
        console.print(Padding(line, (0, 0, 0, 2)))
    told = ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())
    console.print(Padding(f"Weights of the teacher's surfaces by held-out orthogonal loss: {told}.", (0, 0, 0, 2)))
    if not any(weights.values()):
        console.print(
            Padding("No surface predicts held-out units: nothing was learned, and every gain will be 0.", (0, 0, 0, 2))
        )
    console.print(Padding(f"The replay holds {len(learned.replay):,} rows of {state.rounds} rounds.", (0, 0, 0, 2)))
