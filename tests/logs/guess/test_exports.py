"""Exports drawn at random are read to the cent, or asked about: never read otherwise."""

import random

import numpy as np
import pandas as pd
import pytest

from realloc import LogError, guess_schema, read_logs
from tests.conftest import make_frame

MONEY = ("ads_spend", "coupon_spend", "rebate_spend")
STYLES = [
    (".", ""),
    (".", ","),
    (",", ""),
    (",", "."),
    (",", " "),
    (",", "\u202f"),
    (".", "'"),
]
SIGNS = [("", ""), ("€", ""), ("", " €"), ("$", ""), ("", " kr"), ("CHF ", "")]
DATES = [
    *("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%b %d, %Y"),
    *("%d-%b-%Y", "%d.%m.%Y %H:%M"),
]


def written(value, style, sign, digits=2):
    decimal, thousands = style
    plain = f"{value:,.{digits}f}".replace(",", "\0").replace(".", decimal)
    return sign[0] + plain.replace("\0", thousands) + sign[1]


def export(draw, path):
    """A file of one drawn style; the frame that it holds, and how it was drawn."""
    frame = make_frame(units=12, days=15, seed=draw.randrange(9))
    frame = frame.rename(columns=dict(zip(("ads", "coupon", "rebate"), MONEY, strict=True)))
    frame[[*MONEY]] = (frame[[*MONEY]] * draw.choice([0.1, 1, 30])).round(2)
    style, sign, form = draw.choice(STYLES), draw.choice(SIGNS), draw.choice(DATES)
    separator = draw.choice([s for s in (",", ";", "\t", "|") if s != style[0]])
    encoding = draw.choice(["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    if "\u202f" in style or sign == ("CHF ", ""):
        encoding = "utf-8"
    text = frame.assign(
        date=pd.to_datetime(frame["date"]).dt.strftime(form),
        orders=frame["orders"].astype(int),
        price=[written(value, style, ("", "")) for value in frame["price"]],
        category=frame["category"] + " für",
    )
    for name in MONEY:
        text[name] = [written(value, style, sign) for value in frame[name]]
    text.to_csv(path, sep=separator, index=False, encoding=encoding)
    return frame, (separator, encoding, style, sign, form)


@pytest.mark.parametrize("seed", range(60))
def test_exports_are_read_to_the_cent_or_asked_about(seed, tmp_path):
    frame, drawn = export(random.Random(seed), tmp_path / "log.csv")
    schema = guess_schema(tmp_path / "log.csv")
    assert set(schema.channels) == set(MONEY), drawn
    try:
        logs = read_logs(tmp_path / "log.csv", schema)
    except LogError as problem:
        assert "that can be told apart" in str(problem), (drawn, problem)  # noqa: PT017
        return
    read = logs.to_pandas()
    wanted = frame.sort_values(["item", "date"])
    for name in (*MONEY, "orders", "price"):
        assert np.allclose(read[name], wanted[name].to_numpy(), rtol=1e-6), (drawn, name)
    assert (pd.to_datetime(read["date"]).dt.date == wanted["date"].to_numpy()).all(), drawn
