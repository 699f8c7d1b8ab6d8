"""What an agent may ask of a store: everything here reads, and nothing changes the store.

A tool takes plain values and answers with plain values. Files are read below one folder only, the
one that the person named who started the server.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from realloc.base.errors import ConfigError
from realloc.decide.totals import name_flows
from realloc.logs import Logs, check_source, guess_schema
from realloc.logs.reading.read import load_today
from realloc.model.config import Config, read_config
from realloc.model.realloc import ReAlloc
from realloc.model.request import read_constraints
from realloc.report.prices import DecidedTotals, price_rules
from realloc.report.rows import sample_rows
from realloc.report.run import figures_of_run, newest_run
from realloc.report.verdict import judge
from realloc.storage.ledger.ledger import DECISIONS, Ledger
from realloc.storage.store import Store

MOST_VERSIONS = 10  # that `status` tells of
MOST_EXPLAINED = 31  # rows of one unit


@dataclass(frozen=True)
class AgentTools:
    """The tools over one store; files are named relative to `files`."""

    store: Path
    files: Path

    @property
    def tools(self) -> tuple[Callable[..., dict[str, Any]], ...]:
        """All of them. None freezes, rolls back, fits or publishes."""
        return (
            self.status,
            self.model_summary,
            self.last_batch,
            self.check_logs,
            self.explain,
            self.what_if,
        )

    def status(self) -> dict[str, Any]:
        """The store: its current version, the versions before it, and whether it is frozen."""
        store = Store(self.store)
        current = store.current()
        versions = [
            {
                "version": version.number,
                "created": version.created,
                "rounds": version.rounds,
                "last_day_learned": version.windows[-1].last,
                "rows": version.windows[-1].rows,
                "restores": version.restores,
            }
            for version in store.history()[-MOST_VERSIONS:]
        ]
        number = current.number if current else None
        return {"current": number, "frozen": store.frozen, "versions": versions}

    def model_summary(self) -> dict[str, Any]:
        """What the current model has learned and on how much evidence."""
        summary = self._model().summary()
        return {"sentences": summary.lines(), "figures": asdict(summary.known)}

    def last_batch(self) -> dict[str, Any]:
        """The newest batch of recommendations: money and rows moved, gain, reasons, verdict."""
        ledger = Ledger(self.store / DECISIONS)
        entry = newest_run(ledger)
        if entry is None:
            return {
                "run": None,
                "verdict": "No batch has been decided with this store yet.",
            }
        figures = figures_of_run(ledger, entry)
        verdict = judge(figures)
        total = figures.total
        return {
            "run": entry.run,
            "made": entry.made,
            "version": entry.version,
            "verdict": verdict.text,
            "warnings": list(verdict.fired),
            "rows": figures.rows,
            "rows_moved": figures.moved,
            "money": figures.money,
            "money_moved": figures.moved_money,
            "gain": figures.gain,
            "gain_interval_95": [total.gain - total.half, total.gain + total.half]
            if total
            else None,
            "reasons": figures.reasons,
            "flows": name_flows(figures.flows, figures.schema.channels),
        }

    def check_logs(self, logs: str, config: str | None = None) -> dict[str, Any]:
        """Check a log file: what is wrong, what is risky, what would be learned from.

        `logs` and `config` (realloc.toml) are file names below the shared folder; without a config
        the columns' parts are guessed.
        """
        source = self._file(logs)
        if config is None:
            schema, settings = guess_schema(source), Config()
        else:
            schema, settings = read_config(self._file(config))
        found = check_source(source, schema, settings.check)
        return {"guessed": config is None, **found.to_json()}

    def explain(self, rows: str, unit: str) -> dict[str, Any]:
        """Why one unit of a file of today's rows is moved or kept, transfer by transfer.

        `rows` is a file name below the shared folder.
        """
        model = self._model()
        found = model.explain(self._rows(model, rows), unit)
        return {
            "sentences": found.lines(),
            "transfers": [
                asdict(transfer) for transfer in found.transfers[:MOST_EXPLAINED]
            ],
        }

    def what_if(
        self, constraints: dict[str, Any], rows: str | None = None
    ) -> dict[str, Any]:
        """What other constraints would lead to, beside those in force, and what each rule costs.

        `constraints` has the keys of the table [constraints], such as {"floors": {"ads": 0.1}}.
        `rows` is a file name below the shared folder; without it the newest batch is decided again,
        or at most 2,000 of its rows. Nothing is published.
        """
        model = self._model()
        logs = self._rows(model, rows)
        given = read_constraints(constraints, model.config)
        given.check_channels(model.known_schema.channels)
        within, prices = price_rules(model, logs, given)
        now = DecidedTotals.of(logs, model.decide(logs))
        return {
            "in_force": asdict(now),
            "what_if": asdict(within),
            "gain_difference": within.gain - now.gain,
            "rules": [{"rule": one.rule, "gain_lost": one.gain_lost} for one in prices],
        }

    def _model(self) -> ReAlloc:
        store = Store(self.store)
        if store.frozen:
            raise ConfigError(
                f"The store is frozen since {store.frozen}: no model answers until a person runs "
                "`realloc unfreeze`."
            )
        return store.load()

    def _rows(self, model: ReAlloc, rows: str | None) -> Logs:
        if rows is not None:
            return load_today(self._file(rows), model.known_schema).logs
        ledger = Ledger(self.store / DECISIONS)
        entry = newest_run(ledger)
        if entry is None:
            raise ConfigError(
                "Expected `rows`, or a batch that was decided with this store, but there is none. "
                "Name a file of today's rows."
            )
        return sample_rows(ledger, entry)

    def _file(self, name: str) -> str:
        """The path of a file below the shared folder, links followed."""
        root = self.files.resolve()
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise ConfigError(f"Expected a file below {str(root)!r}, got {name!r}.")
        if not path.is_file():
            raise ConfigError(
                f"Expected a file {name!r} below {str(root)!r}, but there is none."
            )
        return str(path)
