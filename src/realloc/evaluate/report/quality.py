"""What the report rests on: the check of the log, and how good the model's nuisances are."""

from realloc.evaluate.report.section import Section, signed
from realloc.evaluate.result import Estimate
from realloc.logs import Check, Logs
from realloc.model.realloc import ReAlloc
from realloc.model.recommend import is_evident

NAN = float("nan")
MOST_FINDINGS = 12


def check_section(check: Check) -> Section:
    """The findings of `realloc check`, errors first."""
    lines = [check.variation.sentence] if check.variation else []
    errors, warnings = len(check.errors), len(check.warnings)
    lines.append(
        f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}. `realloc check` shows all."
    )
    shown = [*check.errors, *check.warnings][:MOST_FINDINGS]
    rows = tuple(
        (finding.level, finding.code, f"{finding.what}. {finding.meaning}".strip(), finding.advice)
        for finding in shown
    )
    return Section(
        title="Log check",
        lines=tuple(lines),
        heads=("level", "finding", "what it means", "what to do") if rows else (),
        rows=rows,
        figures=(
            Estimate("errors", errors, NAN, NAN, 0),
            Estimate("warnings", warnings, NAN, NAN, 0),
        ),
    )


def nuisance_section(model: ReAlloc, logs: Logs) -> Section:
    """What features explain of outcomes and shares, out of fold, when the model last learned."""
    state, few = model.fitted, logs.take(logs.unit_codes == logs.unit_codes[0])
    encoded, channels = state.encoder.encode(few), logs.schema.channels
    rows: list[tuple[str, ...]] = []
    figures: list[Estimate] = []
    lines: list[str] = []
    for name, learned in state.outcomes.items():
        found, t = learned.nuisances, learned.weighing.evidence
        r2, slope = found.outcome_r2, found.slope
        rows.append((name, _percent(r2), "" if slope is None else f"{slope:.3f}", signed(t)))
        figures += [Estimate(f"{name}_r2", NAN if r2 is None else r2, NAN, NAN, found.rows)]
        figures += [Estimate(f"{name}_evidence", t, NAN, NAN, learned.weighing.rows)]
    main = state.main.nuisances
    lines += [
        line for line in main.lines(encoded.names, channels)[3:] if line
    ]  # shares, then what is left of both
    least = model.config.decision.min_significance
    if not is_evident(state, model.config):
        lines.append(
            f"The evidence of held-out units is below {least:g}: the model moves nothing. Learn from more rows, or from rows "
            "with more variation of shares."
        )
    return Section(
        title="Nuisance quality",
        lines=(f"As of round {state.rounds}, {main.rows:,} rows, out of fold.", *lines),
        heads=(
            "outcome",
            "explained by features",
            "calibration slope",
            f"evidence (t, at least {least:g})",
        ),
        rows=tuple(rows),
        figures=tuple(figures),
    )


def _percent(value: float | None) -> str:
    return "constant" if value is None else f"{value:.1%}"
