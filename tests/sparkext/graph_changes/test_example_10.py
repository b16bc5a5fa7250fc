"""Example 10 of the RSP-QL paper, over a graph that changes as its Example 4 says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.oracle.recorded import element
from tests.sparkext.graph_changes.watched import local
from tests.sparkext.paper_examples.test_rspql_examples import (
    COUPON,
    EXAMPLE_10,
    NEARBY,
    SHOPS,
    W1,
    E,
)

if TYPE_CHECKING:
    from sparkext import Engine

BOB = f"<{E}b> <{E}type> <{E}Shop> .\n<{E}bob> <{E}owns> <{E}b> ."


def shops_over_time(engine: Engine) -> None:
    """G_shops of Example 4: empty before 2, all of it from 2 to 13, Bob's shop alone after that."""
    engine.replace_graph(None, SHOPS, at=2)
    engine.replace_graph(None, BOB, at=14)


def coupons(engine: Engine, operator: str, extra: Sequence[str] = ()) -> dict[int, list[str]]:
    """Example 10 by instant, each answer as shopper, shop, owner and coupon."""
    nearby, coupon = f"{E}nearby", f"{E}coupon"
    for iri in (nearby, coupon):
        engine.register_stream(iri)
    query = engine.register_query(
        f"""PREFIX : <{E}> REGISTER {operator} :q AS SELECT ?shopper ?shop ?shop_owner ?coupon
        FROM NAMED WINDOW :w1 ON <{nearby}> {W1}
        FROM NAMED WINDOW :w2 ON <{coupon}> [RANGE 2 STEP 2] {{ {EXAMPLE_10} }}"""
    )
    told: dict[int, list[str]] = {}

    def note(answers: object) -> None:
        rows = answers.rows()  # type: ignore[attr-defined]
        told[answers.time] = sorted(" ".join(map(local, row)) for row in rows)  # type: ignore[attr-defined]

    query.subscribe(note)
    added = [element(15, line) for line in extra]
    every = [(e, nearby) for e in NEARBY] + [(e, coupon) for e in [*COUPON, *added]]
    for pushed, iri in sorted(every, key=lambda pair: pair[0].time):
        engine.stream(iri).push("\n".join(pushed.triples), pushed.time)
    engine.finish()
    return {time: rows for time, rows in told.items() if rows}


def test_example_10_over_the_graph_that_changes(engine: Engine) -> None:
    shops_over_time(engine)
    assert coupons(engine, "RSTREAM") == {
        8: ["carl a alice 10%", "eve a alice 10%"],
        16: ["diana b bob free"],
    }


def test_example_10v_alice_has_left(engine: Engine) -> None:
    """She offers something at 15, but owns no shop after 13."""
    shops_over_time(engine)
    offer = f'<{E}alice> <{E}offers> "x" .'
    assert coupons(engine, "RSTREAM", [offer])[16] == ["diana b bob free"]


def test_example_10_before_there_is_a_shop(engine: Engine) -> None:
    engine.replace_graph(None, SHOPS, at=9)
    assert coupons(engine, "RSTREAM") == {16: ["diana b bob free"]}
