"""ReAlloc with a part taken out: the rest stays what it is."""

from functools import cache

import numpy as np

from realloc import ReAlloc
from realloc.baselines import WithoutOrthogonalization, WithoutSupport
from tests.advised import KERNEL, SHOP, asked, shop


@cache
def pair():
    frame = shop(zeros=False).drop(columns="gmv")
    whole = ReAlloc(KERNEL, schema=SHOP, quiet=True).fit(frame)
    free = WithoutSupport(KERNEL)
    free.schema = free.asked = SHOP
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


def test_without_orthogonalization_only_the_factual_surface_teaches():
    model = WithoutOrthogonalization(KERNEL)
    assert model.config.teacher.surfaces == ("factual",)
    assert model.config.student == KERNEL.student
