"""Every advice of the check is followed: the log has the problem, what was advised is done, and the
problem is gone. A finding without a case here fails the first test.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import realloc.logs
from realloc import ReadOptions, check_source
from realloc.logs.checks.rules import RULES
from realloc.logs.reading import intake
from tests.conftest import SHARES, SPENDS, as_shares, make_frame
from tests.logs.sources import codes

SOURCE = Path(realloc.logs.__file__).parent
CHANNELS = list(SPENDS.channels)
LONG = replace(SPENDS, channel_column="channel", spend_column="spend")
ONE_FEATURE = replace(SPENDS, features=["price"], categorical=[])
# They say that something is right as it is, or that files were not read at all.
NOTHING_TO_DO = {"zero_budget", "zeros", "unreadable"}
Log = tuple[object, object]  # source, schema


@dataclass(frozen=True)
class Case:
    """A log with the problem, and the same log after the advice was followed."""

    broken: Callable[[pd.DataFrame], Log]
    mended: Callable[[pd.DataFrame], Log]


def sound(frame: pd.DataFrame) -> Log:
    """What it should have been: corrected, filled in, or without the rows in question."""
    return frame, SPENDS


def put(name: str, value: object, rows: slice = slice(3, 5), schema=SPENDS):
    """A few cells of a column."""

    def change(frame: pd.DataFrame) -> Log:
        changed = (
            frame.astype({name: object}) if name in frame else frame.assign(**{name: 1})
        )
        changed = changed.astype({name: object})
        changed.iloc[rows, changed.columns.get_loc(name)] = value
        return changed, schema

    return change


def column(name: str, values: object, schema=SPENDS):
    """A further column, or another one in its place."""
    return lambda frame: (
        frame.assign(**{name: values(frame) if callable(values) else values}),
        schema,
    )


def long(frame: pd.DataFrame) -> pd.DataFrame:
    others = [name for name in frame if name not in CHANNELS]
    return frame.melt(others, CHANNELS, "channel", "spend")


def later(shares: float):
    """The outcome and a column that nearly repeats it."""
    return lambda frame: frame["orders"] * 9 + shares


def with_total(frame: pd.DataFrame) -> pd.DataFrame:
    sums = frame.groupby("date")[[*CHANNELS, "orders"]].sum().reset_index()
    return pd.concat(
        [frame, sums.assign(item="Total", price=1.0, category="all", promoted=False)]
    )


def spread(frame: pd.DataFrame, size: float) -> pd.DataFrame:
    """Splits that move by `size` within units."""
    rest = np.random.default_rng(0).uniform(-size, size, len(frame))
    return frame.assign(ads=100 + 100 * rest, coupon=200.0, rebate=100 - 100 * rest)


def few(frame: pd.DataFrame) -> pd.DataFrame:
    """A few units with long histories."""
    del frame
    return make_frame(units=12, days=100)


def by_price(frame: pd.DataFrame) -> pd.DataFrame:
    """Splits that the price alone decides."""
    price = frame["price"] - frame["price"].min()
    share = price / (price.max() + 1)
    rest = 50 * (1 - share)
    return frame.assign(ads=100 * share, coupon=rest, rebate=rest)


def as_text(name: str, value: str):
    """A column of text, and in two rows something else."""

    def change(frame: pd.DataFrame) -> Log:
        texts = frame[name].astype(str)
        return frame.assign(**{name: texts.where(frame.index > 1, value)}), SPENDS

    return change


def few_units(frame: pd.DataFrame, units: int) -> pd.DataFrame:
    return frame[frame["item"] < f"i{units:03d}"]


def of_day(frame: pd.DataFrame, hours: bool) -> pd.DataFrame:
    twice = pd.concat([frame, frame]).reset_index(drop=True)
    second = np.arange(len(twice)) >= len(frame)
    time = pd.to_datetime(twice["date"]) + pd.to_timedelta(8 + 8 * second, unit="h")
    return twice.assign(date=time.dt.tz_localize("UTC")) if hours else frame


def without_features(frame: pd.DataFrame) -> Log:
    return frame[["item", "date", *CHANNELS, "orders"]], SPENDS


SAME = dict.fromkeys(CHANNELS, 10.0)
CASES: dict[str, Case] = {
    "infinite": Case(put("orders", np.inf), put("orders", np.nan)),
    "too_large": Case(put("ads", 2e14), sound),
    "absurd": Case(put("orders", 1e31), put("orders", np.nan)),
    "negative": Case(put("ads", -5.0), sound),
    "not_positive": Case(
        column("chance", 0.0, replace(SPENDS, propensity="chance")),
        column("chance", np.nan, replace(SPENDS, propensity="chance")),
    ),
    "shares_sum": Case(
        lambda f: (as_shares(f).assign(**{n: 100 * as_shares(f)[n] for n in CHANNELS}), SHARES),
        lambda f: (as_shares(f), SHARES),
    ),
    "missing_unit": Case(put("item", None), sound),
    "missing_time": Case(put("date", None), sound),
    "bad_time": Case(as_text("date", "yesterday"), sound),
    "future_time": Case(put("date", pd.Timestamp("2999-01-01").date()), sound),
    "ancient_time": Case(put("date", pd.Timestamp("1970-01-01").date(), slice(3, 4)), sound),
    "missing_budget": Case(
        lambda f: (put("budget", None)(as_shares(f))[0], SHARES),
        lambda f: (as_shares(f), SHARES),
    ),
    "missing_outcome": Case(put("orders", None), sound),
    "missing_guardrail": Case(
        put("price", None, schema=replace(SPENDS, guardrails=["price"])), put("price", None)
    ),
    "negative_outcome": Case(put("orders", -3.0), sound),
    "unlisted_channel": Case(
        lambda f: (long(f), replace(LONG, channels=("ads", "coupon"))),
        lambda f: (long(f), LONG),
    ),
    "repeated_channel": Case(
        lambda f: (pd.concat([long(f), long(f).head(3)]), LONG), lambda f: (long(f), LONG)
    ),
    "differs_within_day": Case(
        lambda f: (long(f).assign(price=np.arange(3 * len(f))), LONG),
        lambda f: (long(f), LONG),
    ),
    "post_decision_name": Case(
        column("clicks", lambda f: np.arange(len(f)) % 7),
        column("clicks", lambda f: np.arange(len(f)) % 7, replace(SPENDS, known_before=["clicks"])),
    ),
    "ambiguous_dates": Case(
        lambda f: (f.assign(date="01/02/2025").head(1), SPENDS),
        lambda f: (
            f.assign(date="01/02/2025").head(1),
            replace(SPENDS, read=ReadOptions(date_format="DD/MM/YYYY")),
        ),
    ),
    "date_form": Case(
        column("date", lambda f: pd.to_datetime(f["date"]).dt.strftime("%d.%m.%Y")),
        column(
            "date",
            lambda f: pd.to_datetime(f["date"]).dt.strftime("%d.%m.%Y"),
            replace(SPENDS, read=ReadOptions(date_format="DD.MM.YYYY")),
        ),
    ),
    "unlisted_spend": Case(
        column("tv_spend", lambda f: f["ads"] * 2),
        lambda f: (
            f.assign(tv_spend=f["ads"] * 2),
            replace(SPENDS, channels=(*CHANNELS, "tv_spend")),
        ),
    ),
    "unusable_columns": Case(column("tags", lambda f: [["a"]] * len(f)), sound),
    "no_rows": Case(column("orders", np.nan), sound),
    "duplicates": Case(lambda f: (pd.concat([f, f.head(3)]), SPENDS), sound),
    "empty_spend": Case(put("ads", None), lambda f: (f.drop(index=range(3, 5)), SPENDS)),
    "mixed_zeros": Case(
        lambda f: (put("ads", 0.0, slice(9, 12))(put("ads", None)(f)[0])[0], SPENDS),
        put("ads", 0.0, slice(9, 12)),
    ),
    "time_zone": Case(lambda f: (of_day(f, hours=True), SPENDS), sound),
    "no_time_zone": Case(
        column("date", lambda f: pd.to_datetime(f["date"]) + pd.Timedelta(hours=8)), sound
    ),
    "several_a_day": Case(lambda f: (of_day(f, hours=True), SPENDS), sound),
    "unknown_drop": Case(
        lambda f: (f, replace(SPENDS, drop_units=["Totl"])),
        lambda f: (with_total(f), replace(SPENDS, drop_units=["Total"])),
    ),
    "unit_is_a_total": Case(
        lambda f: (with_total(few(f)), SPENDS),
        lambda f: (with_total(few(f)), replace(SPENDS, drop_units=["Total"])),
    ),
    "dominant_unit": Case(
        lambda f: (with_total(f), SPENDS),
        lambda f: (with_total(f), replace(SPENDS, drop_units=["Total"])),
    ),
    "bad_id": Case(put("item", "a\x01b"), sound),
    "id_collision": Case(put("item", "i000 ", slice(0, 4)), sound),
    "one_channel": Case(
        lambda f: (f.assign(coupon=0.0, rebate=0.0), SPENDS), sound
    ),
    "unused_channel": Case(
        lambda f: (f.assign(rebate=0.0), SPENDS),
        lambda f: (f.drop(columns="rebate"), replace(SPENDS, channels=("ads", "coupon"))),
    ),
    "one_unit_channel": Case(
        lambda f: (f.assign(rebate=f["rebate"].where(f["item"] == "i000", 0.0)), SPENDS), sound
    ),
    "rare_channel": Case(
        lambda f: (f.assign(rebate=f["rebate"].where(f.index % 40 == 0, 0.0)), SPENDS),
        lambda f: (
            f.assign(
                coupon=f["coupon"] + f["rebate"].where(f.index % 40 == 0, 0.0)
            ).drop(columns="rebate"),
            replace(SPENDS, channels=("ads", "coupon")),
        ),
    ),
    "few_rows_per_channel": Case(lambda f: (f.head(140), SPENDS), sound),
    "no_variation": Case(lambda f: (f.assign(**SAME), SPENDS), lambda f: (spread(f, 0.3), SPENDS)),
    "little_variation": Case(
        lambda f: (f.assign(**f.groupby("item")[CHANNELS].transform("mean")), SPENDS), sound
    ),
    "no_overlap": Case(
        lambda f: (by_price(f), replace(SPENDS, known_before=["price"])),
        lambda f: (spread(f, 0.3), replace(SPENDS, known_before=["price"])),
    ),
    "post_decision_values": Case(
        column("till", later(3.0)),
        lambda f: (
            f.assign(till=(f["orders"] * 9 + 3).groupby(f["item"]).shift(1)),
            SPENDS,
        ),
    ),
    "all_missing": Case(column("note", np.nan), sound),
    "constant_feature": Case(column("country", "DE"), sound),
    "id_like": Case(column("row", lambda f: [f"r{k}" for k in range(len(f))]), sound),
    "mixed_currencies": Case(
        column("currency", lambda f: np.where(f["item"] < "i075", "EUR", "USD")), sound
    ),
    "budget_jump": Case(put("ads", 4e6, slice(3, 4)), sound),
    "looks_like_shares": Case(
        lambda f: (as_shares(f), SPENDS), lambda f: (as_shares(f), SHARES)
    ),
    "budget_mismatch": Case(
        lambda f: (f.assign(budget=f[CHANNELS].sum(axis=1) * 1.5), SPENDS), sound
    ),
    "too_few_rows": Case(lambda f: (f.head(40), SPENDS), sound),
    "few_rows": Case(lambda f: (f.head(400), SPENDS), sound),
    "too_few_units": Case(
        lambda f: (few_units(f, 8), SPENDS),
        lambda f: (make_frame(units=8, days=60), SPENDS),
    ),
    "few_units": Case(lambda f: (few_units(f, 12), SPENDS), sound),
    "constant_within_units": Case(
        column("orders", lambda f: f["item"].str[1:].astype(float) + 1), sound
    ),
    "constant_outcome": Case(column("orders", 3.0), sound),
    "no_features": Case(without_features, sound),
}  # fmt: skip
FILES = {
    "not_a_number",
    "too_many_categories",
    "unnamed_column",
    "undeclared_types",
    "skipped_files",
}
# Followed where the log that shows the problem is made; the test is named.
ELSEWHERE = {
    "carry_over": "checks/test_carry_over.py",
    "immature_outcome": "../experiments/test_first_contact.py",  # the walk `late`
    "interference": "checks/test_interference.py",
    "maybe_cut_off": "reading/test_csvtext.py",
}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return make_frame(units=150)


def test_every_finding_has_a_case():
    found = set(RULES)
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding":
                code = node.args[0] if node.args else None
                found |= {code.value} if isinstance(code, ast.Constant) else set()
    missing = found - CASES.keys() - NOTHING_TO_DO - ELSEWHERE.keys() - FILES
    assert not missing, f"no test follows the advice of {sorted(missing)}"


def test_the_other_tests_are_there_and_name_the_finding():
    for code, path in ELSEWHERE.items():
        text = (Path(__file__).parent / path).read_text()
        text += (Path(__file__).parents[2] / "experiments" / "first_contact.py").read_text()
        assert code in text, code


@pytest.mark.parametrize("code", sorted(CASES.keys() - ELSEWHERE.keys() - FILES))
def test_the_advice_helps(code, frame):
    case = CASES[code]
    broken = check_source(*case.broken(frame.copy()))
    (finding,) = [one for one in broken.findings if one.code == code][:1]
    assert finding.advice or finding.level == "info"
    assert code not in codes(*case.mended(frame.copy()))


def test_advice_on_files_helps(frame, tmp_path):
    path = tmp_path / "log.csv"
    frame.to_csv(path)
    assert {"unnamed_column", "undeclared_types"} <= codes(path)
    frame.to_csv(path, index=False)
    assert "unnamed_column" not in codes(path)
    declared = replace(
        SPENDS, features=["price", "category", "promoted"], categorical=["category"]
    )
    assert "undeclared_types" not in codes(path, declared)
    marked = pd.DataFrame(as_text("orders", "n/a?")(frame)[0])
    marked.to_csv(path, index=False)
    (error,) = check_source(path, declared).errors
    assert (error.code, error.advice) == (
        "not_a_number",
        "Leave the cell empty where there is no value.",
    )
    marked.replace("n/a?", "").to_csv(path, index=False)
    assert "not_a_number" not in codes(path, declared)
    (tmp_path / "notes.txt").write_text("later")
    assert "skipped_files" in codes(tmp_path)
    (tmp_path / "notes.txt").unlink()
    assert "skipped_files" not in codes(tmp_path)


def test_a_category_with_too_many_values_is_grouped_or_left_out(frame, monkeypatch):
    monkeypatch.setattr(intake, "MOST_CATEGORIES", 50)
    words = frame.assign(note=[f"n{k % 400}" for k in range(len(frame))])
    assert "too_many_categories" in codes(words)
    grouped = words.assign(note=words["note"].str[:2])
    assert "too_many_categories" not in codes(grouped)
