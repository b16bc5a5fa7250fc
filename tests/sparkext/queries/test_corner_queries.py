"""Corners of the language, each held to the oracle over one small stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.oracle.evaluation import static_store
from tests.oracle.recorded import Element, element
from tests.sparkext.replay import check, write_graphs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.oracle import StaticGraphs

E = "http://e/"
XSD = "http://www.w3.org/2001/XMLSchema#"
LARGE = f'"123456789012345678901234567890"^^<{XSD}integer>'


def lines(*triples: str) -> list[str]:
    """N-Triples of `subject predicate object` with local names."""
    made = []
    for text in triples:
        subject, predicate, object_ = text.split(" ", 2)
        object_ = object_ if object_.startswith('"') else f"<{E}{object_}>"
        made.append(f"<{E}{subject}> <{E}{predicate}> {object_} .")
    return made


DEFAULT = "\n".join(
    lines(
        "a p b",
        "b p c",
        "c p c",
        "p p p",
        f'a q "1"^^<{XSD}integer>',
        f'b q "2.5"^^<{XSD}decimal>',
        'c q "x"',
        'c q "x"@en',
        'b name "Bé\\n2"',
        f'a when "2026-01-31T10:00:00Z"^^<{XSD}dateTime>',
        f"d big {LARGE}",
    )
)
NAMED = {
    f"{E}g1": "\n".join(lines("a p b", "g1 p a", "b r c")),
    f"{E}g2": "\n".join(lines("a p b", "a p a", f'c r "3"^^<{XSD}integer>')),
}
STREAM = [
    element(1, *lines("a at b")),
    element(2, *lines(f'b at "1"^^<{XSD}integer>', "b at c")),
    element(3, *lines("a at a", 'c at "x"@en')),
    element(3, *lines("a at b")),
    element(5, *lines("p p p", "g1 at g2")),
    element(
        6,
        *lines(
            f"d at {LARGE}",
            f'd since "2026-01-31T11:00:00+01:00"^^<{XSD}dateTime>',
            'a name "Bé\\n2"',
        ),
    ),
    Element(9, tuple(lines("b at a")), f"{E}a"),
]

AT = "WINDOW :w { ?x :at ?y }"
COUNTS = f"{{ SELECT ?x (COUNT(*) AS ?n) {{ {AT} }} GROUP BY ?x }}"
COUNTED = f"{{ SELECT ?n (COUNT(*) AS ?c) {{ {COUNTS} }} GROUP BY ?n }}"
# What follows SELECT; the window clause is put in front of the pattern.
CORNERS = {
    "nothing but constants": "* { WINDOW :w { :a :at :b } }",
    "an empty window pattern": "* { WINDOW :w {} }",
    "constants on both sides": "?x { WINDOW :w { :b :at :c } ?x :p ?z }",
    "one variable three times": "* { WINDOW :w { ?x ?x ?x } ?x ?x ?x }",
    "one variable twice": "* { WINDOW :w { ?x :at ?x } ?x :p ?x }",
    "blank nodes in patterns": "* { WINDOW :w { [] :at ?y . _:b :at ?y } ?y :p [] }",
    "variables that differ in case": "* { WINDOW :w { ?X :at ?x } ?x :p ?XX }",
    "a variable that nothing binds": f"?x ?nope {{ {AT} }}",
    "a constant that no data holds": f"* {{ {AT} OPTIONAL {{ :nobody :p ?z }} }}",
    "a filter out of scope": f"* {{ {AT} {{ ?z :p ?v FILTER(?x = ?z) }} }}",
    "a filter of an optional part": f"* {{ {AT} OPTIONAL {{ ?z :q ?v FILTER(?z = ?x) }} }}",
    "optional in optional": f"* {{ {AT} OPTIONAL {{ ?x :p ?z OPTIONAL {{ ?z :q ?v FILTER(?x != ?z) }} }} }}",
    "a join on what may be unbound": f"* {{ {{ {AT} OPTIONAL {{ ?y :p ?z }} }} {{ ?a :p ?z }} }}",
    "union of unlike parts": f"* {{ {{ {AT} }} UNION {{ ?z :p ?v }} OPTIONAL {{ ?x :p ?z }} }}",
    "union of nothing": f"?x {{ {AT} {{}} UNION {{}} }}",
    "bind before use": f"* {{ BIND(:a AS ?x) {AT} }}",
    "inline data after the pattern": f"* {{ {AT} }} VALUES (?x ?k) {{ (:a 1) (UNDEF 2) (:b 3) }}",
    "errors in expressions": f'* {{ {AT} BIND(IF(?y = :b, "yes", 1/0) AS ?k) FILTER(!BOUND(?k) || ?k = "yes") }}',
    "numbers beyond the inline ones": f"* {{ {AT} ?z :big ?y }}",
    "one instant in two zones": "* { WINDOW :w { ?x :since ?t } ?u :when ?v FILTER(?t >= ?v && ?t <= ?v) }",
    "line ends in literals": "* { WINDOW :w { ?x :name ?y } ?z :name ?y }",
    "language tags": f'* {{ {AT} FILTER(LANG(?y) = "en" || ?y IN (1, :b)) }}',
    "aggregates of mixed numbers": f"""(MIN(?v) AS ?a) (MAX(?v) AS ?b) (SUM(?v) AS ?c) (AVG(?v) AS ?d)
        {{ {AT} ?x :q ?v FILTER(isNumeric(?v)) }}""",
    "a sum with an error": f"?x (SUM(?v) AS ?c) {{ {AT} ?x :q ?v }} GROUP BY ?x",
    "a count of nothing": "(COUNT(*) AS ?n) { WINDOW :w { ?x :at :nowhere } }",
    "groups of nothing": "?x (COUNT(*) AS ?n) { WINDOW :w { ?x :at :nowhere } } GROUP BY ?x",
    "a group by an expression": f"""?s (COUNT(DISTINCT ?x) AS ?n) {{ {AT} }}
        GROUP BY (STR(?y) AS ?s) HAVING(COUNT(?x) > 0)""",
    "the most frequent counts": f"""* {{ {COUNTS} {COUNTED}
        {{ SELECT (MAX(?c) AS ?m) {{ {COUNTED} }} }} FILTER(?c = ?m) }}""",
    "a static group by the names of elements' graphs": """* { WINDOW :w { GRAPH ?g { ?x :at ?y } }
        { SELECT ?g (MAX(?v) AS ?m) { ?g :q ?v FILTER(isNumeric(?v)) } GROUP BY ?g } }""",
    "the first two in order": f"?x ?y {{ {AT} }} ORDER BY DESC(STR(?x)) STR(?y) LIMIT 2",
    "a window in a sub-select": f"* {{ {AT} {{ SELECT (COUNT(*) AS ?n) {{ WINDOW :w {{ ?a :at ?b }} }} }} }}",
    "a sub-select in a window": """* { WINDOW :w { ?x :at ?y
        { SELECT ?y (COUNT(?q) AS ?n) { ?q :at ?y } GROUP BY ?y } } }""",
    "a static join of which nothing is read": f"?y {{ {AT} ?k :p ?v . GRAPH :g1 {{ ?k :p ?v }} }}",
    "an empty one of which nothing is read": f"?y {{ {AT} ?k :p :c . GRAPH :g2 {{ ?k :p :c }} }}",
    "graph names as nodes": "* { WINDOW :w { ?g :at ?y } GRAPH ?g { ?g :p ?o } }",
    "graphs of nothing": f"* {{ {AT} GRAPH ?g {{}} }}",
    "graphs around a union": f"""?x ?g {{ {AT}
        GRAPH ?g {{ {{ ?x :p ?z }} UNION {{ ?x :r ?z }} }} GRAPH ?g {{ ?z :p ?v }} }}""",
    "graphs around half a union": f"* {{ {AT} GRAPH ?g {{ {{ ?x :p ?y }} UNION {{}} }} }}",
    "graphs around an optional part": f"?x ?v {{ {AT} GRAPH ?g {{ ?x :p ?z OPTIONAL {{ ?z :p ?v }} }} }}",
    "graphs around inline data": f"* {{ {AT} GRAPH ?g {{ VALUES ?x {{ :a :b }} }} }}",
    "graphs around a sub-select": f"* {{ {AT} GRAPH ?g {{ SELECT DISTINCT ?y {{ ?z :p ?y }} }} }}",
    "graphs around a group": f"""* {{ {AT} OPTIONAL {{ GRAPH ?g {{
        {{ SELECT ?y (COUNT(?q) AS ?n) {{ ?q :p ?y }} GROUP BY ?y }} }} }} }}""",
    "graphs in graphs": f"* {{ {AT} GRAPH ?g {{ GRAPH ?h {{ ?x :p ?z }} }} }}",
    "a limit beyond all rows": f"* {{ {AT} }} LIMIT 9999999999",
    "an offset beyond all rows": f"* {{ {AT} }} LIMIT 99999999999999999999 OFFSET 9999999999",
    "a limit beyond all rows of a sub-select": f"* {{ {AT} {{ SELECT ?x {{ ?x :p ?z }} LIMIT 99999999999 }} }}",
    "an offset beyond all rows of a sub-select": f"* {{ {AT} {{ SELECT ?x {{ ?x :p ?z }} OFFSET 9999999999 }} }}",
}


@pytest.fixture(scope="module")
def corner(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Engine, StaticGraphs]]:
    """The static graphs."""
    from sparkext import Engine

    engine = Engine(spark)
    engine.load_static(
        write_graphs(tmp_path_factory.mktemp("corner"), DEFAULT, NAMED), progress=False
    )
    yield engine, static_store(DEFAULT, NAMED)
    engine.close()


@pytest.mark.parametrize("name", CORNERS)
def test_corner(corner: tuple[Engine, StaticGraphs], name: str) -> None:
    engine, store = corner
    select, _, pattern = CORNERS[name].partition("{")
    stream = f"{E}{list(CORNERS).index(name)}"
    text = f"PREFIX : <{E}>\nREGISTER RSTREAM :q AS SELECT {select}\n"
    text += f"FROM NAMED WINDOW :w ON <{stream}> [RANGE 4]\nWHERE {{{pattern}"
    check(engine, [text], {stream: STREAM}, store)


def test_istream_of_mappings_that_bind_nothing(corner: tuple[Engine, StaticGraphs]) -> None:
    engine, store = corner
    stream = f"{E}unit"
    text = f"""PREFIX : <{E}> REGISTER ISTREAM :q AS SELECT *
      FROM NAMED WINDOW :w ON <{stream}> [RANGE 1] WHERE {{ WINDOW :w {{ :a :at :b }} }}"""
    (answered,) = check(engine, [text], {stream: STREAM}, store)
    assert [t for t, rows in answered.items() if rows] == [1, 3]
