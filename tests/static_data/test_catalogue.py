"""Statistics against counting by hand."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from static_data.storage.catalogue import (
    TOP_VALUES,
    Catalogue,
    ColumnStatistics,
    RelationStatistics,
)
from static_data.store import StaticStore
from tests.static_data.rdf_samples import EX, XSD, write_as

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST_LITERAL = 3 << 58


def column(values: list[int]) -> ColumnStatistics:
    counts = Counter(values)
    top = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:TOP_VALUES]
    literals = sum(value >= FIRST_LITERAL for value in values)
    return ColumnStatistics(len(counts), max(counts.values(), default=0), literals, tuple(top))


def by_hand(store: StaticStore) -> dict[tuple[int, int | None], RelationStatistics]:
    quads = [tuple(row) for row in store.quads().collect()]
    found = {}
    for g in {quad[3] for quad in quads}:
        graph = [quad for quad in quads if quad[3] == g]
        s, p, o, _ = (list(values) for values in zip(*graph, strict=True))
        found[g, None] = RelationStatistics(len(graph), column(s), column(o), column(p))
        for predicate in set(p):
            rows = [quad for quad in graph if quad[1] == predicate]
            found[g, predicate] = RelationStatistics(
                len(rows), column([r[0] for r in rows]), column([r[2] for r in rows])
            )
    return found


def random_lines(seed: int, count: int) -> bytes:
    rng = random.Random(seed)
    objects = [f"<{EX}o{i}>" for i in range(30)] + [f'"{i}"' for i in range(8)]
    objects += [f'"{i}"^^<{XSD}integer>' for i in range(-3, 3)]
    objects += [f"<< <{EX}s{i}> <{EX}p0> <{EX}o{i}> >>" for i in range(5)]
    lines = []
    for _ in range(count):
        subject = f"<{EX}s{int(rng.paretovariate(0.7)) % 60}>"
        graph = rng.choice(["", "", f" <{EX}g>"])
        lines.append(f"{subject} <{EX}p{rng.randrange(4)}> {rng.choice(objects)}{graph} .\n")
    return "".join(lines).encode()


def test_counts_are_those_by_hand(spark: SparkSession, tmp_path: Path) -> None:
    store = StaticStore(spark, driver_bytes=0)
    store.load(write_as(tmp_path, "a.nq", random_lines(1, 700)))
    catalogue = store.catalogue()
    assert catalogue.relations == by_hand(store)
    assert catalogue is store.catalogue()
    # Only one graph changes, by adding to one of its predicates.
    store.load(write_as(tmp_path, "b.nt", f"<{EX}new> <{EX}p0> <{EX}o1> .".encode()), EX + "g")
    assert store.catalogue().relations == by_hand(store)
    assert Catalogue.from_json(store.catalogue().to_json()) == store.catalogue()


def test_what_is_not_there_has_no_rows(spark: SparkSession) -> None:
    catalogue = StaticStore(spark, driver_bytes=0).catalogue()
    assert catalogue.relation(0, 17) == catalogue.relation(0, None) == RelationStatistics()
    assert catalogue.relation(0, None).average_fan_out("subject") == 0.0
