import numpy as np
import pytest

from realloc import LogError
from realloc.decide.types import REASONS, STARTS_OUTSIDE
from realloc.model.explain import transfers_of
from tests.advised import CHANNELS, advised, asked
from tests.small import fitted, today, window

FRAME = asked()


def unit_with(reason, model=None, frame=FRAME, **options):
    """A unit that has a row with this reason, and its rows of the recommendation."""
    found = (model or advised()).recommend(frame, **options)
    unit = found.item[found.reason == reason].iloc[0]
    return unit, found[found.item == unit]


def test_transfers_add_up_to_the_move():
    unit, rows = unit_with("moved")
    told = advised().explain(FRAME, unit)
    start = FRAME[CHANNELS].div(FRAME[CHANNELS].sum(axis=1), axis=0)
    for (place, row), day in zip(rows.iterrows(), rows.date, strict=True):
        moved = dict.fromkeys(CHANNELS, 0.0)
        for one in told.transfers:
            if one.time[:10] == str(day)[:10]:
                moved[one.source] -= one.share
                moved[one.target] += one.share
        for name in CHANNELS:
            assert np.isclose(
                moved[name], row[f"share_{name}"] - start.loc[place, name], atol=1e-9
            )
    assert told.transfers


def test_gains_of_transfers_telescope_to_the_whole_gain():
    model, frame = advised(zeros=False), asked(zeros=False)
    unit, rows = unit_with("moved", model, frame)
    told = model.explain(frame, unit)
    assert np.isclose(
        sum(one.gain for one in told.transfers), rows.gain.sum(), rtol=1e-3, atol=1e-4
    )
    assert rows.gain.sum() > 0
    assert np.isclose(sum(row["gain"] for row in told.rows), rows.gain.sum(), atol=1e-5)


def test_money_of_transfers_is_their_share_of_the_budget():
    unit, rows = unit_with("moved")
    told = advised().explain(FRAME, unit)
    budget = {
        str(row.date)[:10]: sum(row[CHANNELS])
        for _, row in FRAME[FRAME.item == unit].iterrows()
    }
    for one in told.transfers:
        assert np.isclose(one.money, one.share * budget[one.time[:10]])
        assert 0 <= one.support <= 1
        assert one.sigma > 0
        assert one.source != one.target
    assert len(rows) == len(told.rows)


def test_an_explanation_says_what_the_recommendation_says():
    for reason in ("moved", "unsupported"):
        unit, rows = unit_with(reason)
        rows = rows.sort_values("date")
        told = advised().explain(FRAME, unit)
        assert [row["reason"] for row in told.rows] == rows.reason.tolist()
        assert [row["limited_by"] for row in told.rows] == rows.limited_by.tolist()
        assert [row["similar_rows"] for row in told.rows] == rows.similar_rows.tolist()
        assert np.allclose(
            [row["gain_lower"] for row in told.rows], rows.gain_lower, atol=1e-4
        )


def test_lines_are_sentences_with_reason_evidence_and_calibration():
    unit, _ = unit_with("moved")
    text = "\n".join(advised().explain(FRAME, unit).lines())
    assert f"moved ({REASONS['moved']})" in text
    for word in (
        "best first step",
        "directional support",
        "logged moves like it",
        "nearest: s0i",
        "(calibrated on simulated worlds)",
        " → ",
    ):
        assert word in text
    assert "not calibrated" in "\n".join(
        advised(uncertainty="members").explain(FRAME, unit).lines()
    )
    blocked, _ = unit_with("unsupported")
    assert f"limited by: {STARTS_OUTSIDE}" in "\n".join(
        advised().explain(FRAME, blocked).lines()
    )


def test_constraints_are_obeyed_and_named():
    rules = {"frozen": ["coupon"], "caps": {"ads": 0.9}}
    unit, _ = unit_with("constrained", constraints=rules)
    told = advised().explain(FRAME, unit, constraints=rules)
    assert "frozen coupon" in {row["limited_by"] for row in told.rows}
    assert all("coupon" not in (one.source, one.target) for one in told.transfers)


def test_a_kept_unit_has_no_transfers():
    unit, rows = unit_with("unsupported")
    told = advised().explain(FRAME, unit)
    kept = {str(day)[:10] for day in rows.date[~rows.moved]}
    assert not [one for one in told.transfers if one.time[:10] in kept]
    assert kept


def test_transfers_come_as_a_frame():
    unit, _ = unit_with("moved")
    told = advised().explain(FRAME, unit)
    frame = told.to_frame()
    assert len(frame) == len(told.transfers)
    assert {"source", "target", "share", "money", "gain", "sigma", "support"} <= set(
        frame.columns
    )


@pytest.mark.parametrize("unit", ["nobody", 17, None])
def test_an_unknown_unit_gets_a_sentence(unit):
    with pytest.raises(
        LogError, match=f"Expected a unit of these rows, but '{unit}' is not among them."
    ):
        advised().explain(FRAME, unit)


@pytest.mark.parametrize("channels", [2, 9])
def test_few_and_many_channels_are_explained(channels):
    model, logs = fitted(channels), window(1, channels)
    unit = str(logs.units[0])
    told = model.explain(logs, unit)
    assert len(told.rows) == 5
    assert len(told.lines()) >= 10


def test_logs_and_frames_are_explained_alike():
    unit = today().item_id.iloc[0]
    one, other = fitted().explain(today(), unit), fitted().explain(window(99), unit)
    assert [row["reason"] for row in one.rows] == [row["reason"] for row in other.rows]


def test_at_most_one_transfer_fewer_than_channels_is_needed_and_no_channel_gives_and_gets():
    random = np.random.default_rng(0)
    for K in (2, 3, 8):
        for _ in range(50):
            start, end = random.dirichlet(np.ones(K), size=2)
            found = transfers_of(start, end)
            reached = start.copy()
            for k, l, step in found:
                assert step > 0
                reached[k] -= step
                reached[l] += step
            assert np.allclose(reached, end, atol=1e-11)
            assert len(found) <= K - 1 or max(step for _, _, step in found[K - 1 :]) < 1e-12
            assert not {k for k, _, _ in found} & {l for _, l, _ in found}
    assert transfers_of(start, start) == []


def test_an_explanation_shows_itself_with_its_mixes_and_transfers():
    unit, rows = unit_with("moved")
    told = advised().explain(FRAME, unit)
    row = rows.sort_values("date").iloc[0]
    recommended = [row[f"share_{name}"] for name in CHANNELS]
    assert np.allclose(told.rows[0]["recommended"], recommended, atol=1e-9)
    shown = told._repr_html_()
    assert "<svg" in shown
    assert REASONS["moved"] in shown
    assert "Transfers, the largest first" in told._repr_markdown_()
