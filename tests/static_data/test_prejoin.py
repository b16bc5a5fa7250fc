"""Pre-joins and size estimates against joining by hand."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from static_data.errors import StaticDataError
from static_data.prejoin import decidable_by_ids, estimate_rows, materialise
from static_data.store import StaticStore
from static_data.sub_pattern import (
    Branch,
    StaticSubPattern,
    Term,
    TermComparison,
    TriplePattern,
    canonical,
)
from tests.static_data.rdf_samples import EX, write_as

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Quad = tuple[int, int, int, int]


@pytest.fixture(scope="module")
def store(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StaticStore]:
    """Two graphs over few nodes, so that joins meet; p0 has loops, p2 has literals."""
    rng = random.Random(5)
    lines = []
    for _ in range(90):
        s, o, p = (f"<{EX}{k}{rng.randrange(n)}>" for k, n in (("n", 9), ("n", 9), ("p", 3)))
        if p.endswith("2>") and rng.random() < 0.5:
            o = f'"{rng.randrange(4)}"'
        lines.append(f"{s} {p} {o}{rng.choice(['', '', f' <{EX}g>'])} .\n")
    made = StaticStore(spark)
    made.load(write_as(tmp_path_factory.mktemp("prejoin"), "a.nq", "".join(lines).encode()))
    yield made
    made.close()


@pytest.fixture(scope="module")
def quads(store: StaticStore) -> list[Quad]:
    return [(r[0], r[1], r[2], r[3]) for r in store.quads().collect()]


def by_hand(
    quads: list[Quad], sub_pattern: StaticSubPattern, filtered: bool = True
) -> Counter[tuple[int, ...]]:
    """Solutions by nested loops."""
    found: Counter[tuple[int, ...]] = Counter()
    for branch in sub_pattern.branches:
        solutions: list[dict[str, int]] = [{}]
        for pattern in branch.patterns:
            solutions = [
                extended
                for solution in solutions
                for quad in quads
                if quad[3] == pattern.graph
                and (extended := matched(pattern, quad, solution)) is not None
            ]
        for solution in solutions:
            if not filtered or all(holds(f, solution) for f in branch.filters):
                found[tuple(solution[c] for c in sub_pattern.columns)] += 1
    return found


def matched(pattern: TriplePattern, quad: Quad, solution: dict[str, int]) -> dict[str, int] | None:
    extended = dict(solution)
    for term, value in zip(pattern.terms, quad, strict=False):
        bound = term if isinstance(term, int) else extended.setdefault(term, value)
        if bound != value:
            return None
    return extended


def holds(comparison: TermComparison, solution: dict[str, int]) -> bool:
    left, right = (
        t if isinstance(t, int) else solution[t] for t in (comparison.left, comparison.right)
    )
    return (left == right) == (comparison.operator == "=")


def rows(frame: DataFrame, sub_pattern: StaticSubPattern) -> Counter[tuple[int, ...]]:
    assert frame.columns == [*sub_pattern.columns, "count"]
    assert set(dict(frame.dtypes).values()) == {"bigint"}
    collected = [tuple(row) for row in frame.collect()]
    found = Counter({row[:-1]: row[-1] for row in collected})
    assert len(found) == len(collected)
    return found


def random_sub_pattern(rng: random.Random, store: StaticStore) -> StaticSubPattern:
    p = [store.lookup(f"<{EX}p{i}>") for i in range(3)]
    g = store.graph_id(EX + "g")
    nodes = [store.lookup(f"<{EX}n{i}>") for i in range(3)]
    projection = ["a", "b"][: rng.randrange(3)]
    branches = []
    for _ in range(rng.choice([1, 1, 2])):
        patterns = []
        while not set(projection) <= {v for x in patterns for v in x.variables} or not patterns:
            patterns = []
            for _ in range(rng.randrange(1, 4)):
                predicate: Term = rng.choice([*p, *p, "e"])
                ends = [rng.choice(["a", "b", "c", "d", rng.choice(nodes)]) for _ in range(2)]
                patterns.append(TriplePattern(ends[0], predicate, ends[1], rng.choice([0, 0, g])))
        bound = sorted({v for x in patterns for v in x.variables})
        filters = []
        if len(bound) > 1 and rng.random() < 0.6:
            left, right = rng.sample(bound, 2)
            filters.append(TermComparison(rng.choice(["!=", "!=", "="]), left, right))
        branches.append(Branch(tuple(patterns), tuple(filters)))
    return canonical(branches, projection)[0]


@pytest.mark.parametrize("seed", range(24))
def test_random_sub_patterns(store: StaticStore, quads: list[Quad], seed: int) -> None:
    sub_pattern = random_sub_pattern(random.Random(seed), store)
    expected = by_hand(quads, sub_pattern)
    assert rows(materialise(store, sub_pattern), sub_pattern) == expected
    estimate = estimate_rows(store, sub_pattern)
    unfiltered = by_hand(quads, sub_pattern, filtered=False)
    assert estimate.exact
    assert estimate.solutions == sum(unfiltered.values())
    assert len(unfiltered) <= estimate.rows <= max(estimate.solutions, 0)


def test_co_authors_keep_their_multiplicity(spark: SparkSession, tmp_path: Path) -> None:
    papers = {1: "ab", 2: "abc", 3: "c"}
    text = "".join(f"<{EX}{n}> <{EX}by> <{EX}{a}> .\n" for n, who in papers.items() for a in who)
    store = StaticStore(spark)
    store.load(write_as(tmp_path, "a.nt", text.encode()))
    by = store.lookup(f"<{EX}by>")
    form, columns = canonical(
        [
            Branch(
                (TriplePattern("paper", by, "x"), TriplePattern("paper", by, "y")),
                (TermComparison("!=", "x", "y"),),
            )
        ],
        ["x", "y"],
    )
    found = {
        store.text(x)[-2] + store.text(y)[-2]: n
        for x, y, n in materialise(store, form)
        .select(columns["x"], columns["y"], "count")
        .collect()
    }
    assert found == {"ab": 2, "ba": 2, "ac": 1, "ca": 1, "bc": 1, "cb": 1}
    assert estimate_rows(store, form).solutions == 4 + 9 + 1
    sampled = estimate_rows(store, form, sample=2)
    assert not sampled.exact
    assert sampled.solutions % 2 == 0
    with pytest.raises(StaticDataError):
        estimate_rows(store, form, sample=0)


def test_samples_come_near(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(3)
    text = "".join(
        f"<{EX}s{rng.randrange(3000)}> <{EX}p> <{EX}o{rng.randrange(400)}> .\n" for _ in range(9000)
    )
    store = StaticStore(spark)
    store.load(write_as(tmp_path, "a.nt", text.encode()))
    p = store.lookup(f"<{EX}p>")
    form, _ = canonical([Branch((TriplePattern("s", p, "a"), TriplePattern("s", p, "b")))], ["a"])
    exact = estimate_rows(store, form).solutions
    sampled = estimate_rows(store, form, sample=8).solutions
    assert 0.7 * exact < sampled < 1.3 * exact


def test_no_solutions(store: StaticStore) -> None:
    nobody = store.encode(f"<{EX}nobody>")
    form, _ = canonical([Branch((TriplePattern(nobody, "p", "o"),))], [])
    assert materialise(store, form).collect() == []
    assert estimate_rows(store, form).solutions == 0
    form, _ = canonical([Branch((TriplePattern("s", nobody, "o"),))], ["s"])
    assert materialise(store, form).collect() == []


def test_comparing_ids_is_for_terms_that_are_no_literals(store: StaticStore) -> None:
    p0, p2 = (store.lookup(f"<{EX}p{i}>") for i in (0, 2))
    catalogue = store.catalogue()

    def decidable(patterns: list[TriplePattern], left: Term, right: Term) -> bool:
        comparison = TermComparison("!=", left, right)
        return decidable_by_ids(catalogue, Branch(tuple(patterns)), comparison)

    literals = [TriplePattern("s", p2, "x"), TriplePattern("s", p2, "y")]
    assert not decidable(literals, "x", "y")
    assert decidable([*literals, TriplePattern("x", p0, "z")], "x", "y")
    assert decidable(literals, "x", "s")
    assert decidable([TriplePattern("s", p0, "x"), TriplePattern("s", p2, "y")], "x", "y")
    assert decidable(literals, "x", p0)
    assert not decidable(literals, "x", store.encode('"1"'))
