"""Which plans say that ids are not enough for them; `cluster_checks` sees to it that they are right."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.term_values.text_cases import OF_IDS, OF_TEXTS, OF_VALUES, written


def plan(live: LiveRoom, expression: str) -> Any:
    frame = live.frame(live.stage("terms"), "a", "b")
    return live.prepare(frame.selectExpr(f"{written(live, expression)} as x"))


@pytest.mark.parametrize("name", OF_IDS)
def test_ids_are_enough(live: LiveRoom, name: str) -> None:
    made = plan(live, OF_IDS[name])
    assert made.needsTexts() is None
    assert made.mayNeedTexts() is None


@pytest.mark.parametrize("name", OF_VALUES)
def test_texts_of_some_terms_are_needed(live: LiveRoom, name: str) -> None:
    made = plan(live, OF_VALUES[name])
    assert made.needsTexts() is None
    assert made.mayNeedTexts()


@pytest.mark.parametrize("name", OF_TEXTS)
def test_texts_are_needed_always(live: LiveRoom, name: str) -> None:
    made = plan(live, OF_TEXTS[name])
    assert made.needsTexts() == made.mayNeedTexts()
    assert made.needsTexts()


def test_every_part_of_a_plan_is_looked_at(live: LiveRoom) -> None:
    terms = live.frame(live.stage("terms"), "a", "b")
    test = written(live, "cqels_regex_constant({room}, a, {string}, {string})")
    assert live.prepare(terms.where(test).select("b")).needsTexts() == "regex"
    inner = live.frame(live.stage("terms"), "c", "d").where(test.replace(", a,", ", c,"))
    joined = terms.join(inner, terms.a == inner.c, "left_semi")
    assert live.prepare(joined).needsTexts() == "regex"
    within = live.spark.sql(
        "select a from {terms} where b in (select c from {inner})", terms=terms, inner=inner
    )
    assert live.prepare(within).needsTexts() == "regex"


def test_an_order_of_terms_needs_texts_and_one_of_ids_does_not(live: LiveRoom) -> None:
    frame = live.frame(live.stage("terms"), "a", "b")
    for keys, need in (live.names("-a"), "ORDER BY"), (live.names(), None):
        cut = live.room.slice(frame._jdf, keys, live.names("a", "b"), 0, 1)
        made = live.room.prepare(cut, "slice", False)
        assert made.needsTexts() is None
        assert made.mayNeedTexts() == need


def test_plans_of_stages_and_of_stock_spark_tell_too(live: LiveRoom) -> None:
    frame = live.frame(live.stage("terms"), "a", "b")
    contains = frame.where(written(live, "cqels_contains({room}, a, b)"))
    plans = live.room.plans(live.prepare(frame))
    assert plans.mayNeedTexts() is None
    plans.addStage(live.stage("stage"), live.prepare(contains))
    assert plans.needsTexts() == plans.mayNeedTexts() == "contains"
    assert live.room.plans(live.room.stock(contains._jdf, "stock")).needsTexts() == "contains"
