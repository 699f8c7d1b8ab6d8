"""ReAlloc with a part taken out: the rest stays what it is."""

from dataclasses import replace
from functools import cache

import numpy as np

from realloc import ReAlloc
from realloc.baselines import WithoutOrthogonalization, WithoutStudent, WithoutSupport
from tests.advised import KERNEL, SHOP, asked, shop


@cache
def pair():
    frame = shop(zeros=False).drop(columns="gmv")
    whole = ReAlloc(KERNEL, schema=SHOP, quiet=True).fit(frame)
    free = WithoutSupport(KERNEL)
    free.schema = free.given_schema = SHOP
    return whole, free.fit(frame)


def test_without_support_nothing_is_forbidden_for_lack_of_evidence():
    whole, free = (model.recommend(asked(zeros=False)) for model in pair())
    assert not (free["reason"] == "unsupported").any()
    moved = whole["moved"]
    assert moved.any()
    border = 1 - KERNEL.support.level
    assert (whole["support"][moved] >= border - 1e-9).all()
    assert (free["support"][free["moved"]] < border).mean() > 0.2
    assert free["gain"].sum() > whole["gain"].sum()


def test_without_support_the_field_is_the_same():
    whole, free = (model.field(asked(zeros=False)) for model in pair())
    assert np.array_equal(whole, free)


@cache
def committee():
    model = WithoutStudent(KERNEL)
    model.schema = model.given_schema = SHOP
    return model.fit(shop(zeros=False).drop(columns="gmv"))


def test_without_student_doubt_support_and_evidence_are_the_same():
    whole, bare = pair()[0].fitted, committee().fitted
    assert bare.main.committee == whole.main.committee
    assert np.array_equal(bare.support.ranks.values, whole.support.ranks.values)
    x, shares = whole.support.logged.x[:20], whole.support.logged.shares[:20]
    assert np.array_equal(
        bare.main.covariance.covariance(x, shares),
        whole.main.covariance.covariance(x, shares),
    )


def test_without_student_gains_are_what_the_student_learned_and_doubt_is_taken_off():
    today = asked(zeros=False)
    whole, bare = (model.field(today) for model in (pair()[0], committee()))
    assert np.corrcoef(whole.ravel(), bare.ravel())[0, 1] > 0.95
    assert not np.array_equal(whole, bare)
    answer = committee().recommend(today)
    assert answer["moved"].any()
    assert (answer["gain_error"][answer["moved"]] > 0).all()
    assert np.allclose(
        committee().gain(today, answer[[f"share_{name}" for name in SHOP.channels]]),
        answer["gain"],
        atol=1e-3,
    )
    sure = committee()
    sure.config = replace(KERNEL, decision=replace(KERNEL.decision, beta=3.0))
    assert sure.recommend(today)["gain"].sum() < answer["gain"].sum()
    sure.config = KERNEL


def test_without_orthogonalization_only_the_factual_surface_teaches():
    model = WithoutOrthogonalization(KERNEL)
    assert model.config.teacher.surfaces == ("factual",)
    assert model.config.student == KERNEL.student
