"""Constraints: what each rule of the run costs, and what other rules would bring."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from realloc.base.errors import ConfigError
from realloc.base.numbers import percent, plain, signed
from realloc.console.screen import Screen, Visit
from realloc.decide.constraints.constraints import Constraints
from realloc.draw import DataTable, PagePiece, Paragraph
from realloc.logs import Logs
from realloc.model.realloc import ReAlloc
from realloc.report.prices import DecidedTotals, price_pieces, price_rules
from realloc.report.rows import sample_rows
from realloc.storage.ledger.entry import Entry

SAMPLE = 400  # rows that rules are tried on


def constraints(visit: Visit) -> Screen:
    """The run's rules with their prices; with rules in the address also what those would bring."""
    entry = visit.source.run(visit.text("run"))
    model = visit.source.model_of(entry)
    rules = model.config.constraints
    logs = sample_rows(visit.source.ledger, entry, SAMPLE)
    channels = logs.schema.channels
    tried = read_rules(visit.query, channels, rules) if visit.text("try") else None
    shown = tried or rules
    pieces: list[PagePiece] = []
    if tried is not None:
        pieces += preview(model, logs, rules, tried)
    return Screen(
        title="Constraints",
        menu="/constraints",
        template="constraints.html",
        subtitle=f"Tried on {len(logs):,} of {entry.rows:,} rows of run {entry.run}.",
        pieces=pieces,
        values={
            "run": entry,
            "channels": [
                (
                    name,
                    _percentage(shown.floors.get(name)),
                    _percentage(shown.caps.get(name)),
                    name in shown.frozen,
                )
                for name in channels
            ],
            "largest": _percentage(shown.largest_move),
            "smallest": _percentage(shown.smallest_move),
            "toml": as_toml(tried) if tried is not None else "",
            "prices": _prices(visit, entry, model, logs),
            "tried": tried is not None,
        },
    )


def read_rules(
    query: Mapping[str, str], channels: tuple[str, ...], rules: Constraints
) -> Constraints:
    """The rules of a form; rules that it does not show stay as they are."""
    floors: dict[str, float] = {}
    caps: dict[str, float] = {}
    frozen: list[str] = []
    for k, name in enumerate(channels):
        for kind, bounds in (("floor", floors), ("cap", caps)):
            part = _part(query.get(f"{kind}{k}", ""))
            if part is not None:
                bounds[name] = part
        if query.get(f"frozen{k}"):
            frozen.append(name)
    return replace(
        rules,
        floors=floors,
        caps=caps,
        frozen=tuple(frozen),
        largest_move=_part(query.get("largest", "")),
        smallest_move=_part(query.get("smallest", "")),
    )


def preview(
    model: ReAlloc, logs: Logs, rules: Constraints, tried: Constraints
) -> list[PagePiece]:
    """The same rows by the run's rules and by others."""
    now = DecidedTotals.of(logs, model.decide(logs, rules))
    then = DecidedTotals.of(logs, model.decide(logs, tried))
    cells = [
        (
            "expected gain",
            signed(now.gain),
            signed(then.gain),
            signed(then.gain - now.gain),
        ),
        ("rows moved", f"{now.moved:,}", f"{then.moved:,}", signed(then.moved - now.moved)),
        (
            "money moved",
            plain(now.moved_money),
            plain(then.moved_money),
            signed(then.moved_money - now.moved_money),
        ),
    ]
    part = (then.gain - now.gain) / now.gain if now.gain else 0.0
    said = f"These rules change the expected gain by {percent(part)}."
    heads = ("of these rows", "rules of the run", "these rules", "change")
    return [Paragraph(said), DataTable(heads, cells, "What these rules would bring")]


def as_toml(rules: Constraints) -> str:
    """The rules that the form sets, as the table of a config file."""
    lines = ["[constraints]"]
    for kind in ("floors", "caps"):
        bounds: dict[str, float] = getattr(rules, kind)
        if bounds:
            inner = ", ".join(
                f"{_quoted(name)} = {value:g}" for name, value in bounds.items()
            )
            lines.append(f"{kind} = {{ {inner} }}")
    if rules.frozen:
        lines.append(f"frozen = [{', '.join(map(_quoted, rules.frozen))}]")
    for kind in ("largest_move", "smallest_move"):
        if getattr(rules, kind) is not None:
            lines.append(f"{kind} = {getattr(rules, kind):g}")
    return "\n".join(lines)


def _prices(visit: Visit, entry: Entry, model: ReAlloc, logs: Logs) -> list[PagePiece]:
    rules = model.config.constraints
    made: tuple[Any, Any] = visit.source.remember(
        ("prices", entry.digest), lambda: price_rules(model, logs, rules)
    )
    return price_pieces(*made, entry.rows)


def _part(text: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ConfigError(f"Expected a share from 0 to 100 %, got {text[:20]!r}.")
    return value / 100


def _percentage(part: float | None) -> str:
    return "" if part is None else f"{100 * part:g}"


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
