"""Why a unit is moved or kept: every transfer, its worth, and what the log knows about it."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from realloc.base.errors import LogError
from realloc.base.imports import need
from realloc.base.numbers import percent, plain, readable, signed
from realloc.base.simplex import Floats
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.decide import decide
from realloc.decide.problem import gain_and_sigma
from realloc.decide.types import REASONS
from realloc.draw import DataTable, Figure, MixRow, PagePiece, Shown, mix_bars
from realloc.logs import Logs
from realloc.model.config import Config
from realloc.model.recommend import NOTHING, answer, open_batches
from realloc.model.state import RoundState

SMALL = 1e-12


def say_calibration(calibration: str) -> str:
    """What the column `calibration` means."""
    return "not calibrated" if calibration == NOTHING else f"calibrated on {calibration}"


def say_total(gain: float, low: float, high: float, calibration: str | None) -> str:
    """The gain of many rows together, with its interval."""
    known = f" ({say_calibration(calibration)})" if calibration else ""
    interval = f"95 % interval {readable(low)} to {readable(high)}"
    return f"Total gain {readable(gain)}, {interval}{known}."


# What is said beside every total.
SAME_BUDGET = (
    "Every gain is that of another split of the same budget. What a larger or smaller budget would "
    "bring is not estimated."
)


@dataclass(frozen=True)
class Transfer:
    """One transfer. Gains are potential differences, so they add up to the whole gain."""

    time: str
    source: str
    target: str
    share: float
    money: float
    gain: float
    sigma: float
    support: float  # of the place that is reached


@dataclass(frozen=True)
class Explanation(Shown):
    """All rows of one unit: what is advised, and the transfers that lead there."""

    unit: str
    rows: tuple[dict[str, Any], ...]
    transfers: tuple[Transfer, ...]
    channels: tuple[str, ...]

    def pieces(self) -> list[PagePiece]:
        """Every mix now and recommended, why, and the transfers."""
        pieces: list[PagePiece] = [self.plot(), _reasons_table(self.rows)]
        if self.transfers:
            pieces.append(_transfers_table(self.transfers))
        return pieces

    def plot(self) -> Figure:
        """The mixes now and recommended, as a figure."""
        mixes = [
            MixRow(row["time"], row["now"], row["recommended"], row["reason"])
            for row in self.rows
        ]
        return mix_bars(self.channels, mixes, f"{self.unit}: mix, now and recommended")

    def lines(self) -> list[str]:
        """The explanation as sentences."""
        lines: list[str] = []
        for row in self.rows:
            reason = row["reason"]
            lines.append(f"{self.unit} on {row['time']}: {reason} ({REASONS[reason]})")
            if row["limited_by"]:
                lines.append(f"  limited by: {row['limited_by']}")
            lines.append(
                f"  best first step {row['best_move'] or 'none'}: "
                f"gain {readable(row['best_move_gain'])} ± {readable(row['best_move_error'])}, "
                f"directional support {row['directional_support']:.2f}, "
                f"{row['similar_moves']} logged moves like it (nearest: {row['similar_rows']})"
            )
            for transfer in self.transfers:
                if transfer.time == row["time"]:
                    lines.append(
                        f"  {transfer.source} → {transfer.target}: "
                        f"{transfer.share:.4f} of the budget ({transfer.money:,.2f}), "
                        f"gain {readable(transfer.gain)} ± {readable(transfer.sigma)}, "
                        f"support {transfer.support:.2f}"
                    )
            if row["moved"]:
                lines.append(
                    f"  Total gain {readable(row['gain'])}, "
                    f"lower bound {readable(row['gain_lower'])} "
                    f"({say_calibration(row['calibration'])})."
                )
        return lines

    def to_frame(self) -> Any:
        """The transfers as a pandas frame."""
        pandas = need("pandas")
        return pandas.DataFrame([asdict(transfer) for transfer in self.transfers])


def _reasons_table(rows: tuple[dict[str, Any], ...]) -> DataTable:
    cells = [
        (
            row["time"],
            REASONS[row["reason"]],
            row["limited_by"],
            signed(row["gain"]) if row["moved"] else "",
            signed(row["gain_lower"]) if row["moved"] else "",
            f"{row['support']:.2f}",
            row["similar_rows"],
        )
        for row in rows
    ]
    heads = (
        "time",
        "why",
        "limited by",
        "gain",
        "at least",
        "support",
        "nearest logged rows",
    )
    return DataTable(heads, cells)


def _transfers_table(transfers: tuple[Transfer, ...]) -> DataTable:
    rows = [
        (
            transfer.time,
            f"{transfer.source} → {transfer.target}",
            percent(transfer.share),
            f"{transfer.money:,.2f}",
            f"{signed(transfer.gain)} ± {plain(transfer.sigma)}",
            f"{transfer.support:.2f}",
        )
        for transfer in transfers
    ]
    heads = ("time", "transfer", "share", "money", "gain", "support")
    return DataTable(heads, rows, "Transfers, the largest first")


def explain_unit(
    state: RoundState, logs: Logs, unit: Any, config: Config, constraints: Constraints
) -> Explanation:
    """Decide on the unit's rows again and look at every transfer."""
    texts = logs.units.cast("string").to_numpy(zero_copy_only=False)
    names = np.asarray(texts, dtype=np.str_)[logs.unit_codes]
    rows = np.flatnonzero(names == str(unit))
    if not len(rows):
        raise LogError(
            f"Expected a unit of these rows, but {str(unit)!r} is not among them."
        )
    own = logs.take(rows)
    explained: list[dict[str, Any]] = []
    transfers: list[Transfer] = []
    for batch in open_batches(state, own, config, constraints):
        decided = decide(batch.problem, config.decision)
        columns = answer(state, own, batch, decided, config)
        times = own.times[batch.rows].astype(str)
        for i, row in enumerate(batch.rows):
            explained.append(
                {
                    "time": str(times[i]),
                    "now": tuple(batch.problem.start[i].tolist()),
                    "recommended": tuple(decided.shares[i].tolist()),
                    "reason": str(columns.reason[i]),
                    "moved": bool(decided.moved[i]),
                    "gain": float(columns.gain[i]),
                    "gain_lower": float(columns.gain_lower[i]),
                    "support": float(columns.support[i]),
                    **{name: values[i].item() for name, values in columns.further.items()},
                }
            )
            shares = batch.problem.start[i]
            for source, target, step in transfers_of(shares, decided.shares[i]):
                reached = shares.copy()
                reached[source] -= step
                reached[target] += step
                reached = np.maximum(reached, 0.0)
                at = np.array([i])
                gain, sigma = gain_and_sigma(batch.problem, at, shares[None], reached[None])
                support = batch.support.score(at, shares[None], reached[None])
                transfers.append(
                    Transfer(
                        time=str(times[i]),
                        source=own.schema.channels[source],
                        target=own.schema.channels[target],
                        share=step,
                        money=step * float(own.budget[row]),
                        gain=float(gain[0]),
                        sigma=float(sigma[0]),
                        support=float(support[0]),
                    )
                )
                shares = reached
    return Explanation(str(unit), tuple(explained), tuple(transfers), own.schema.channels)


def transfers_of(start: Floats, end: Floats) -> list[tuple[int, int, float]]:
    """Transfers (k, l, δ) from `start` to `end`, the largest first; no channel gives and gets."""
    shift = end - start
    transfers: list[tuple[int, int, float]] = []
    while np.abs(shift).max() > SMALL and len(transfers) < len(start):
        source = int(shift.argmin())
        target = int(shift.argmax())
        step = float(min(-shift[source], shift[target]))
        if step <= 0:
            break
        transfers.append((source, target, step))
        shift = shift.copy()
        shift[source] += step
        shift[target] -= step
    return transfers
