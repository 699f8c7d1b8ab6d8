"""What would help where a model moves nothing or little.

Every sentence names a key or a command that exists; tests follow each of them.
"""

from collections.abc import Iterator

from realloc.base.numbers import counted
from realloc.model.config import Config
from realloc.model.known import Knowledge
from realloc.model.last_window import LastWindow
from realloc.model.outlook import Outlook

LITTLE = 0.1  # part of the rows; where fewer move, there is advice
MOST_TIMES = 20  # more rows than this many times are no advice
LAGS = 7
LONG = 4  # periods from which lags are worth a try
REPEATS = 0.05  # by which a unit's last outcome has to explain more than the features
EXPLAINED = 0.1  # of the outcome; below it, features are missing
COMMON = 0.25  # part of the rows for which a reason is worth a word
SMALL_MOVES = (
    "a few per cent of the units, drawn at random, small moves of 1 to 5 % of the budget"
)


def advise(
    known: Knowledge, today: Outlook | None, config: Config, window: LastWindow | None
) -> tuple[str, ...]:
    """Advice, the most important first; none where much moves."""
    moves_much = today is None or today.moved >= LITTLE * today.rows
    if known.significant and moves_much:
        return ()
    return (
        *_more_rows(known, window),
        *_more_variation(known),
        *_better_baseline(known, config, window),
        *(_reasons(today, config) if today and known.significant else ()),
    )


def _more_rows(known: Knowledge, window: LastWindow | None) -> Iterator[str]:
    if known.significant:
        return
    times = (known.needed / known.evidence) ** 2 if known.evidence > 0 else float("inf")
    if times > MOST_TIMES:
        yield (
            f"No effect of the mix shows in these rows (z = {known.evidence:.1f}). More rows of "
            "the same kind will hardly change that; better ones can."
        )
        return
    periods = ""
    if window:
        more = max(1, round(window.periods * (times - 1)))
        periods = f", {counted(more, 'more period')} of the same units"
    yield (
        f"More rows: evidence grows with their square root. From z = {known.evidence:.1f} to "
        f"{known.needed:g} takes about {times:.1f} times as many ({known.rows * times:,.0f}"
        f"{periods}), if the effect is real. Fit the longer log with `realloc fit --again`."
    )


def _more_variation(known: Knowledge) -> Iterator[str]:
    if known.still:
        yield (
            f"More movement of {', '.join(known.still)}: give {SMALL_MOVES}, for a few periods; "
            "nothing can be learned about a share that stays."
        )


def _better_baseline(
    known: Knowledge, config: Config, window: LastWindow | None
) -> Iterator[str]:
    """What makes outcomes easier to predict makes effects easier to see."""
    explained = max(known.explained or 0.0, 0.0)
    repeats = window.outcome_repeats if window else None
    lags = not config.features.lags and window and window.periods >= LONG
    if lags and repeats is not None and repeats > explained + REPEATS:
        yield (
            f"Lags: a unit's last {known.outcome!r} explains {repeats:.0%} of its next one, the "
            f"features {explained:.0%}. Set `lags = {LAGS}` in [features], if outcomes are known "
            "before the next decision."
        )
    if explained < EXPLAINED and not known.levelled:
        yield (
            f"Features: what is known explains {explained:.0%} of {known.outcome!r}. Add columns "
            "that were known before the budget was split (`features` in [schema]; `realloc check` "
            "lists those that are used)."
        )


def _reasons(today: Outlook, config: Config) -> Iterator[str]:
    """What stands in the way of single rows, although the model has evidence."""
    often = COMMON * today.rows
    if today.reasons.get("uncertain", 0) > often and config.decision.beta:
        yield (
            "Gains within the uncertainty margin: four times as many rows halve it. To accept more "
            f"risk, lower `beta` in [decision] (now {config.decision.beta:g})."
        )
    if today.reasons.get("unsupported", 0) > often:
        yield (
            f"Best moves that lead where the log has nothing: give {SMALL_MOVES}, so that the "
            "next window holds such mixes."
        )
    if today.reasons.get("no_gain", 0) > often:
        yield (
            "Rows without a better mix: as far as the log can tell, theirs is good already. Look "
            "again after the next window (`realloc update`)."
        )
    if today.reasons.get("guardrail", 0) > often:
        yield (
            "Best moves that a guardrail forbids: `tolerances` in [decision] says what each "
            "guardrail may lose per row (0 unless given)."
        )
    if today.reasons.get("constrained", 0) > often:
        yield (
            "Best moves that a constraint forbids: the column `limited_by` of `realloc recommend` "
            "names it; [constraints] holds it."
        )
