"""What the report rests on: the check of the log, and how good the model's nuisances are."""

from realloc.base.numbers import signed
from realloc.evaluate.report.section import Section
from realloc.evaluate.result import NAN, Estimate
from realloc.logs import Check, Logs
from realloc.model.realloc import ReAlloc

MOST_FINDINGS = 12


def check_section(check: Check, *lines: str) -> Section:
    """The findings of `realloc check`, errors first, below further `lines`."""
    variation = [check.variation.sentence] if check.variation else []
    errors = len(check.errors)
    warnings = len(check.warnings)
    count = (
        f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}. "
        "`realloc check` shows all."
    )
    shown = [*check.errors, *check.warnings][:MOST_FINDINGS]
    rows = tuple(
        (
            finding.level,
            finding.code,
            f"{finding.what}. {finding.meaning}".strip(),
            finding.advice,
        )
        for finding in shown
    )
    return Section(
        title="Log check",
        lines=(*lines, *variation, count),
        heads=("level", "finding", "what it means", "what to do") if rows else (),
        rows=rows,
        figures=(
            Estimate.point("errors", errors, 0),
            Estimate.point("warnings", warnings, 0),
        ),
    )


def nuisance_section(model: ReAlloc, logs: Logs) -> Section:
    """What features explain of outcomes and shares, out of fold, when the model last learned."""
    state = model.fitted
    first_unit = logs.take(logs.unit_codes == logs.unit_codes[0])
    features = state.encoder.encode(first_unit).names
    rows: list[tuple[str, ...]] = []
    figures: list[Estimate] = []
    for name, learned in state.outcomes.items():
        nuisances = learned.nuisances
        z = learned.committee.significance
        r2 = nuisances.outcome_r2
        slope = "" if nuisances.slope is None else f"{nuisances.slope:.3f}"
        rows.append((name, "constant" if r2 is None else f"{r2:.1%}", slope, signed(z)))
        figures.append(
            Estimate.point(f"{name}_r2", NAN if r2 is None else r2, nuisances.rows)
        )
        figures.append(Estimate.point(f"{name}_significance", z, learned.committee.rows))
    main = state.main.nuisances
    # Shares, then what is left of both.
    lines = [line for line in main.lines(features, logs.schema.channels)[3:] if line]
    lines += state.main.committee.lines()
    least = model.config.decision.min_significance
    if not state.is_significant(model.config.decision):
        lines.append(
            f"The significance on held-out units is below {least:g}: the model moves nothing. "
            "Learn from more rows, or from rows with more variation of shares."
        )
    significance = f"significance (z, at least {least:g})"
    return Section(
        title="Nuisance quality",
        lines=(f"As of round {state.rounds}, {main.rows:,} rows, out of fold.", *lines),
        heads=("outcome", "explained by features", "calibration slope", significance),
        rows=tuple(rows),
        figures=tuple(figures),
    )
