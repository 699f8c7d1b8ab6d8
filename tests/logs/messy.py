"""Logs as companies export them: German Excel, UTF-16 from a BI tool, and a workbook."""

from pathlib import Path

import numpy as np
import pandas as pd

DAYS = pd.date_range("2026-02-02", periods=40)


def plain_log(units: int = 30) -> pd.DataFrame:
    """A log with known columns: four spends without 'spend' in their names, and an income index."""
    random = np.random.default_rng(11)
    rows = units * len(DAYS)
    names = np.repeat([f"Filiale {k:02d}" for k in range(units)], len(DAYS))
    size = np.repeat(random.lognormal(6.0, 0.6, units), len(DAYS))
    shares = random.dirichlet([4, 3, 2, 1], rows)
    money = np.round(shares * size[:, None] * random.uniform(0.8, 1.2, (rows, 1)), 2)
    orders = random.poisson(0.05 * size * (1 + 0.5 * np.sqrt(shares[:, 0])))
    frame = pd.DataFrame({"shop": names, "day": np.tile(DAYS, units)})
    for k, name in enumerate(("search", "social", "email", "video")):
        frame[name] = money[:, k]
    frame["income_idx"] = np.repeat(np.round(random.normal(100, 10, units), 1), len(DAYS))
    frame["last_week_orders"] = random.poisson(0.06 * size)
    frame["clicks"] = random.poisson(orders * 9 + 1)
    frame["orders"] = orders
    return frame


def german(value: float, digits: int = 2) -> str:
    """1234.5 as 1.234,50."""
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def german_csv(folder: Path, frame: pd.DataFrame | None = None) -> Path:
    """What German Excel saves as CSV: semicolons, decimal commas, Windows' encoding, ISO dates."""
    frame = plain_log() if frame is None else frame
    names = {
        "shop": "Filiale",
        "day": "Datum",
        "orders": "Bestellungen",
        "email": "E-Mail für Kunden",
    }
    written = frame.rename(columns=names)
    for name in ("search", "social", "E-Mail für Kunden", "video"):
        written[name] = [f"{german(value)} €" for value in written[name]]
    written["income_idx"] = [german(value, 1) for value in written["income_idx"]]
    written.to_csv(folder / "umsatz.csv", sep=";", index=False, encoding="cp1252")
    return folder / "umsatz.csv"


def utf16_tsv(folder: Path, frame: pd.DataFrame | None = None) -> Path:
    """What a BI tool exports: UTF-16, tabs, DD.MM.YYYY."""
    frame = plain_log() if frame is None else frame
    written = frame.assign(day=frame["day"].dt.strftime("%d.%m.%Y"))
    written.to_csv(folder / "export.tsv", sep="\t", index=False, encoding="utf-16")
    return folder / "export.tsv"


def workbook(folder: Path, frame: pd.DataFrame | None = None) -> Path:
    """A workbook with a page of notes and a page of data with real dates."""
    frame = plain_log() if frame is None else frame
    with pd.ExcelWriter(folder / "log.xlsx") as book:
        pd.DataFrame({"Notes": ["made by hand"]}).to_excel(
            book, sheet_name="Read me", index=False
        )
        frame.to_excel(book, sheet_name="Data", index=False)
    return folder / "log.xlsx"
