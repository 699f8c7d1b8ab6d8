"""`realloc fit` and `realloc update`: the first round into a store, and every later one."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from realloc.base.errors import ConfigError
from realloc.base.numbers import counted
from realloc.base.progress import show_progress
from realloc.base.tasks import LocalEngine, processors
from realloc.cli.console import indented, print_json, progress_bar, stdout
from realloc.cli.options import (
    AllowNetwork,
    AsJson,
    Details,
    Files,
    Quiet,
    Report,
    StorePath,
)
from realloc.cli.outputs import Force, check_free
from realloc.logs import Logs, Schema, read_logs
from realloc.model.config import read_config
from realloc.model.experiments import experiment_lines
from realloc.model.realloc import ReAlloc
from realloc.storage.store import Store, Version


def fit(
    logs: Files,
    config: Annotated[
        Path, typer.Option(help="TOML with a [schema]; `realloc init` writes one.")
    ],
    store: Annotated[
        Path, typer.Option(help="Folder that keeps the model between rounds.")
    ],
    seed: Annotated[
        int | None, typer.Option(min=0, help="Replaces the seed of the config.")
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Start over if the store already holds a model."),
    ] = False,
    experiments: Annotated[
        Path | None,
        typer.Option(help="TOML with a [[test]] for each lift, geo or A/B test."),
    ] = None,
    allow_network: AllowNetwork = False,
    report: Report = None,
    force: Force = False,
    details: Details = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn from logs: the first round into a store."""
    check_free(report, force, "--report")
    place = Store(store, allow_network=allow_network)
    if not place.empty and not again:
        raise ConfigError(
            f"Expected a store without a model, but {str(store)!r} holds one. "
            "Use `realloc update` for a further window, another folder, or `--again` to start over."
        )
    schema, settings = read_config(config)
    settings = settings if seed is None else replace(settings, seed=seed)
    window = _read(logs, schema, quiet)
    with place.writer():
        with show_progress(quiet, piped=True) as progress:
            model = ReAlloc(settings, schema, jobs=processors())
            model.fit(window, progress=progress, experiments=experiments)
        version = place.commit(model, window, again=again)
    _write_report(model, version, report)
    _show(model, version, store, details=details, as_json=as_json)


def update(
    window: Files,
    store: StorePath,
    churn: Annotated[
        bool,
        typer.Option(
            "--churn", help="Run the round twice to tell new data from refit noise."
        ),
    ] = False,
    allow_gap: Annotated[
        bool,
        typer.Option(
            "--allow-gap",
            help="Allow a gap since the last window that is longer than any so far.",
        ),
    ] = False,
    allow_overlap: Annotated[
        bool,
        typer.Option(
            "--allow-overlap",
            help="Allow rows that were learned from before, and earlier windows.",
        ),
    ] = False,
    allow_network: AllowNetwork = False,
    report: Report = None,
    force: Force = False,
    details: Details = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn from one more window: a fast teacher on it, the slow student through the memory.

    A window that was applied before changes nothing.
    """
    check_free(report, force, "--report")
    place = Store(store, allow_network=allow_network)
    if place.empty:
        place.load()  # its sentence, before the folder is made
    with place.writer():
        model = place.load()
        rows = _read(window, model.known_schema, quiet)
        if place.applied(rows):
            if as_json:
                print_json({"already_applied": True})
            else:
                stdout().print(f"This window was already applied; {store} stays as it is.")
            return
        place.check_window(rows, model, allow_gap=allow_gap, allow_overlap=allow_overlap)
        with show_progress(quiet, piped=True) as progress:
            model.engine = LocalEngine(processors())
            model.update(rows, progress=progress, churn=churn)
        version = place.commit(
            model, rows, allow_gap=allow_gap, allow_overlap=allow_overlap
        )
    _write_report(model, version, report)
    _show(model, version, store, details=details, as_json=as_json)


def _write_report(model: ReAlloc, version: Version, out: Path | None) -> None:
    if out is not None:
        from realloc.report.store import write_fit_report

        write_fit_report(model, version, out)


def open_store(store: Path) -> ReAlloc:
    """The current model of a store."""
    return Store(store).load()


def _read(source: list[str], schema: Schema, quiet: bool) -> Logs:
    with progress_bar("Reading", quiet=quiet) as advance:
        return read_logs(source, schema, on_progress=advance)


def _show(
    model: ReAlloc, version: Version, store: Path, *, details: bool, as_json: bool
) -> None:
    summary = model.summary()
    if as_json:
        from realloc.evaluate.result import without_nan

        learned = model.fitted.main
        technical = {
            "nuisances": asdict(learned.nuisances),
            "committee": asdict(learned.committee),
            "memory": len(learned.memory),
            "churn": model.churn.to_json() if model.churn else None,
            "experiments": asdict(learned.tested) if learned.tested else None,
        }
        print_json(
            {
                "version": version.number,
                **summary.to_json(),
                "details": without_nan(technical),
            }
        )
        return
    console = stdout()
    console.print(
        f"[bold]Round {summary.known.rounds}[/] → {store}, version {version.number}"
    )
    churn = model.churn.lines() if model.churn else []
    tested = model.fitted.main.tested
    tests = experiment_lines(tested) if tested else []
    details_shown = _details(model) if details else ()
    for line in [*summary.lines(), *tests, *details_shown, *churn]:
        console.print(indented(escape(line)))


def _details(model: ReAlloc) -> Iterator[str]:
    """How well the parts of the model did."""
    state = model.fitted
    learned = state.main
    weights = dict(
        zip(model.config.teacher.surfaces, learned.committee.weights, strict=True)
    )
    shown = ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())
    window = model.last_window
    features = state.encoder.encode(window.today).names if window else ()
    yield from learned.nuisances.lines(features, model.known_schema.channels)
    yield f"Weights of the teacher's surfaces by held-out orthogonal loss: {shown}."
    yield from learned.committee.lines()
    if not any(weights.values()):
        yield "No surface predicts held-out units: nothing was learned, and every gain is 0."
    rounds = counted(state.rounds, "round")
    yield f"The memory holds {counted(len(learned.memory), 'row')} of {rounds}."
