"""A join with a static UNION that is computed at each evaluation is distributed over its sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkext.language import parse_query
from sparkext.r2r.clusters.distribute_unions import MOST_CLUSTERS, distributed
from sparkext.r2r.leaves.flattening import flatten
from sparkext.r2r.leaves.leaf import DerivedLeaf
from sparkext.r2r.leaves.scopes import DEFAULT_GRAPH
from tests.sparkext.listening import E, S, query, triple

if TYPE_CHECKING:
    from pathlib import Path

    from sparkext import Engine
    from sparkext.r2r.leaves.flattening import Cluster


def cluster(pattern: str) -> Cluster:
    return flatten(parse_query(query(pattern)).pattern.children[0], DEFAULT_GRAPH)


KNOWS = "{ ?p :knows ?q } UNION { ?q :cites ?d . ?d :by ?p FILTER(?p != ?q) }"


def test_each_side_is_joined_with_all_else() -> None:
    parts = distributed(cluster(f"WINDOW :w {{ ?p :at ?r }} {KNOWS}"), lambda leaf: False)
    assert [len(part.leaves) for part in parts] == [2, 3]
    assert [len(part.conditions) for part in parts] == [0, 1]


@pytest.mark.parametrize(
    "pattern",
    [
        "WINDOW :w { ?p :at ?r } { WINDOW :w { ?p :at ?q } } UNION { ?p :knows ?q }",
        "WINDOW :w { ?a :at ?r } { ?p :knows ?q } UNION { ?q :knows ?p }",
        KNOWS,
        f"WINDOW :w {{ ?p :at ?r }} BIND(UUID() AS ?id) {KNOWS}",
    ],
    ids=["over windows", "joined by nothing", "alone", "beside lots"],
)
def test_others_stay(pattern: str) -> None:
    whole = cluster(pattern)
    assert distributed(whole, lambda leaf: False) == [whole]


def test_what_is_kept_stays() -> None:
    whole = cluster(f"WINDOW :w {{ ?p :at ?r }} {KNOWS}")
    assert distributed(whole, lambda leaf: isinstance(leaf, DerivedLeaf)) == [whole]


def test_there_are_not_too_many() -> None:
    unions = " ".join(f"{{ ?p :a ?x{n} }} UNION {{ ?p :b ?x{n} }}" for n in range(6))
    parts = distributed(cluster(f"WINDOW :w {{ ?p :at ?r }} {unions}"), lambda leaf: False)
    assert len(parts) == MOST_CLUSTERS


def test_answers_count_as_often(engine: Engine, tmp_path: Path) -> None:
    lines = [triple("ann", "knows", q) for q in ("bob", "cat")]
    lines += [triple("bob", "cites", "d1"), triple("bob", "cites", "d2")]
    lines += [triple(d, "by", p) for d in ("d1", "d2") for p in ("ann", "bob")]
    (tmp_path / "static.nt").write_text("\n".join(lines))
    engine.load_static(tmp_path / "static.nt", progress=False)
    engine.register_stream(S)
    text = (
        query(f"WINDOW :w {{ ?p :at ?r }} {KNOWS}", select="?q (COUNT(*) AS ?n)") + " GROUP BY ?q"
    )
    registered = engine.register_query(text)
    engine.push(S, triple("ann", "at", "r"), 1)
    engine.advance_to(1)
    answers = registered.last_answers
    assert answers is not None
    # ann knows bob, and bob cites two documents by her.
    found = {str(q).removeprefix(f"<{E}"): str(n)[1] for q, n in answers.rows()}
    assert found == {"bob>": "3", "cat>": "1"}
