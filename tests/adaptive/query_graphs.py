"""Query graphs and catalogues that several test modules use."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from adaptive.graph.query_graph import (
    ColumnStatistics,
    FilterKind,
    JoinFilter,
    QueryGraph,
    Relation,
    RelationKind,
    RelationStatistics,
)
from adaptive.statistics.catalogue import Catalogue

WINDOW, STATIC, DERIVED = RelationKind.WINDOW, RelationKind.STATIC, RelationKind.DERIVED


def statistics(rows, **distinct):
    return RelationStatistics(rows, {name: ColumnStatistics(d) for name, d in distinct.items()})


def catalogue_of(graph, rows=1_000.0, distinct=100.0):
    return Catalogue(
        {r.name: statistics(rows, **dict.fromkeys(r.variables, distinct)) for r in graph.relations}
    )


def chain(n):
    return QueryGraph(tuple(Relation(f"r{i}", (f"v{i}", f"v{i + 1}"), STATIC) for i in range(n)))


def star(n):
    hub = Relation("hub", tuple(f"v{i}" for i in range(1, n)), STATIC)
    return QueryGraph((hub, *(Relation(f"r{i}", (f"v{i}",), STATIC) for i in range(1, n))))


def clique(n):
    return QueryGraph(tuple(Relation(f"r{i}", ("v", f"w{i}"), STATIC) for i in range(n)))


# Queries Q1 to Q3 of the CQELS report on the DBLP-like data of scale 1.
NOW = Relation("now", ("person1", "loc"), WINDOW)
W30 = Relation("w30", ("person2", "loc"), WINDOW)
LOCNAME = Relation("locname", ("loc", "locName"), STATIC)
NAME1 = Relation("name1", ("person1", "author1Name"), STATIC)
NAME2 = Relation("name2", ("person2", "author2Name"), STATIC)
DIFFERENT = JoinFilter("different", frozenset({"person1", "person2"}), kind=FilterKind.NOT_EQUAL)
OUTPUT = frozenset({"author1Name", "author2Name", "locName"})

Q1 = QueryGraph((W30, LOCNAME, NAME2), output=frozenset({"author2Name", "locName"}))
Q2 = QueryGraph(
    (
        NOW,
        W30,
        LOCNAME,
        Relation("creator1", ("paper", "person1"), STATIC),
        Relation("creator2", ("paper", "person2"), STATIC),
        NAME1,
        NAME2,
    ),
    (DIFFERENT,),
    OUTPUT,
)
Q3 = QueryGraph(
    (
        NOW,
        W30,
        LOCNAME,
        Relation("creator1", ("p1", "person1"), STATIC),
        Relation("creator2", ("p2", "person2"), STATIC),
        Relation("refs", ("p1", "p2"), STATIC),
        NAME1,
        NAME2,
    ),
    (DIFFERENT,),
    OUTPUT,
)


def dblp(**rows):
    """What is known of it, but for other row counts as told."""
    known = {
        "now": statistics(1_000, person1=950, loc=100),
        "w30": statistics(5_000, person2=4_900, loc=100),
        "locname": statistics(100, loc=100, locName=100),
        "creator1": statistics(8e5, paper=3e5, p1=3e5, person1=2e5),
        "creator2": statistics(8e5, paper=3e5, p2=3e5, person2=2e5),
        "refs": statistics(3e6, p1=3e5, p2=3e5),
        "name1": statistics(2e5, person1=2e5, author1Name=1.9e5),
        "name2": statistics(2e5, person2=2e5, author2Name=1.9e5),
    }
    return Catalogue(
        {name: replace(one, rows=rows.get(name, one.rows)) for name, one in known.items()}
    )


@st.composite
def queries(draw, max_relations=6, connected=True):
    """A random query graph with its catalogue."""
    size = draw(st.integers(1, max_relations))
    relations, bound, known = [], [], {}
    for position in range(size):
        own = f"v{position}"
        fewest = 1 if connected and bound else 0
        shared = draw(
            st.lists(
                st.sampled_from(bound) if bound else st.nothing(),
                min_size=fewest,
                max_size=2 if bound else 0,
                unique=True,
            )
        )
        kind = draw(st.sampled_from(list(RelationKind)))
        indexable = kind is not DERIVED and draw(st.sampled_from([True, True, False]))
        relation = Relation(f"r{position}", (*shared, own), kind, indexable)
        relations.append(relation)
        bound.append(own)
        rows = draw(st.sampled_from([0.0, 1.0, 7.0, 100.0, 5_000.0, 3e5, 2e6]))
        known[relation.name] = RelationStatistics(
            rows,
            {
                variable: ColumnStatistics(
                    max(1.0, rows * draw(st.sampled_from([0.001, 0.1, 0.5, 1.0]))),
                    tuple(
                        (term, int(rows) // 10)
                        for term in draw(st.sets(st.integers(1, 6), max_size=3))
                    ),
                )
                for variable in relation.variables
            },
            draw(st.sampled_from([None, 0.0, rows / 20])),
        )
    filters = tuple(
        JoinFilter(
            f"f{number}",
            frozenset(draw(st.lists(st.sampled_from(bound), min_size=1, max_size=2))),
            draw(st.sampled_from([None, 0.0, 0.01, 0.5, 1.0])),
            draw(st.sampled_from(list(FilterKind))),
        )
        for number in range(draw(st.integers(0, 2)))
    )
    output = draw(st.none() | st.frozensets(st.sampled_from(bound)))
    return QueryGraph(tuple(relations), filters, output), Catalogue(known)
