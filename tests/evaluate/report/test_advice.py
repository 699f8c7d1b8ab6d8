"""What a policy would do: ours, or any other with the two verbs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from realloc import read_logs
from realloc.base.errors import LogError
from realloc.baselines import BASELINES
from realloc.evaluate.report import evaluation_report
from realloc.evaluate.report.advice import PredictsGain, advise, last_rows
from realloc.evaluate.report.ranking import TITLE as RANKING
from realloc.evaluate.report.worth import TITLE as VALUE
from tests.evaluate.report.simulated import SCHEMA, fitted, later, make_logs


class MoreAds:
    """A policy of two verbs and nothing else: five points of share to ads."""

    def fit(self, logs):
        return self

    def recommend(self, frame):
        frame = frame.to_pandas()
        ads = np.minimum(frame["ads"] + 0.05, 1.0)
        columns = {
            "gain": 0.2,
            "gain_lower": 0.1,
            "support": 1.0,
            "steps": 1,
            "moved": True,
        }
        answer = pd.DataFrame(
            {"share_ads": ads, "share_coupon": 1 - ads, "reason": "moved"}
        )
        return pa.Table.from_pandas(answer.assign(**columns))


def test_our_models_answer_is_that_of_recommend():
    logs = last_rows(read_logs(later(), SCHEMA))
    advice = advise(fitted(), logs)
    answer = fitted().recommend(logs).to_pandas()
    assert np.array_equal(advice.moved, answer["moved"])
    assert np.allclose(advice.shares, answer[["share_ads", "share_coupon"]])
    assert np.allclose(advice.gain, answer["gain"])
    assert (advice.gain[~advice.moved] == 0).all()


def test_a_policy_of_two_verbs_is_valued_and_the_report_says_what_it_cannot_tell():
    report = evaluation_report(MoreAds().fit(None), read_logs(later(), SCHEMA))
    assert report[VALUE].rows
    lift = report.evidence.lift
    assert lift.low < 0.05 * 4.0 < lift.high  # a share of ads is worth 4 orders
    assert report.verdict == "test small"  # nobody knows what it learned from
    assert "not known which rows the policy learned from" in report["Log check"].lines[0]
    assert "no method `gain`" in report[RANKING].missing[0]
    assert "Nuisance quality" not in [section.title for section in report.sections]


def test_a_baseline_that_predicts_gains_is_ranked():
    logs = read_logs(make_logs(), SCHEMA)
    policy = BASELINES["s_gbdt_local"]().fit(logs)
    assert isinstance(policy, PredictsGain)
    report = evaluation_report(policy, later())
    assert report[RANKING].rows
    assert report.evidence.rho is not None


def test_a_policy_without_a_schema_needs_one():
    with pytest.raises(LogError, match="MoreAds has none. Give `schema=`"):
        evaluation_report(MoreAds(), later())
    found = evaluation_report(MoreAds(), later(), schema=replace(SCHEMA, guardrails=()))
    assert found["Biggest moves"].rows
