"""What to do with a run, and the rules that say so: tested sentences, no free text."""

from dataclasses import dataclass

from realloc.base.numbers import counted, percent, plain
from realloc.report.run import RunFigures

RULES = (
    "While the store is frozen nothing may move.",
    "A run that broke a publish limit and was published by force needs a second look.",
    "Where no gain is promised, or the 95 % interval of the total gain includes 0, look before "
    "you publish.",
    "A column that has drifted from the training window is looked at before anything is published.",
)


@dataclass(frozen=True)
class RunVerdict:
    """One sentence on what to do, and each rule that fired."""

    text: str
    tone: str  # good, wait or bad
    fired: tuple[str, ...]


def judge(figures: RunFigures) -> RunVerdict:
    """Judge a run by `RULES`."""
    logged = figures.logged
    frozen = logged.get("frozen")
    if frozen or figures.entry.settings.get("frozen"):
        why = (f"The store was frozen: {frozen}.",) if frozen else ()
        return RunVerdict(
            "Keep every mix: the store was frozen during this run.", "bad", why
        )
    if not figures.moved:
        text = "Nothing to publish: every mix is kept."
        return RunVerdict(text, "wait", ("No row is moved; the reasons are below.",))
    fired = [
        f"Published by force although {text}." for text in logged.get("broken_limits", ())
    ]
    fired += _doubts(figures)
    if fired:
        return RunVerdict(
            "Look at what is listed here before you publish.", "wait", tuple(fired)
        )
    text = f"Ready to publish: {counted(figures.moved, 'move')}, no rule speaks against it."
    return RunVerdict(text, "good", ())


def _doubts(figures: RunFigures) -> list[str]:
    found: list[str] = []
    total = figures.total
    if total is None:
        found.append(
            "The interval of the total gain is not known: the log holds no errors of it."
        )
    elif total.gain - total.half <= 0:
        low, high = plain(total.gain - total.half), plain(total.gain + total.half)
        found.append(f"The 95 % interval of the total gain includes 0 ({low} to {high}).")
    drift = figures.logged.get("drift") or {}
    drifted = drift.get("drifted", ())
    if drifted:
        first = max(
            (drift[group] for group in ("state", "shares") if drift.get(group)),
            key=lambda one: one["excess"],
        )
        more = f" and {len(drifted) - 1} more" if len(drifted) > 1 else ""
        said = f": {first['change']}" if first["change"] else ""
        found.append(f"{first['name']!r}{more} drifted from the training window{said}.")
    bad = figures.rows - figures.usable
    if bad:
        part = percent(bad / figures.rows)
        found.append(
            f"{counted(bad, 'row')} ({part}) could not be read and keep their mix."
        )
    return found
