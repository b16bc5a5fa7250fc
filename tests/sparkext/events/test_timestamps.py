"""C-SPARQL's `timestamp(s, p, o)`: the engine and the oracle against answers worked out by hand, and each other.

A time unit is a millisecond; triples are three local names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from random import Random
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import QuerySyntaxError, UnsupportedFeatureError
from sparkext.language import check_supported, parse_query
from sparkext.oracle import ContinuousEvaluation, static_graphs
from tests.oracle.evaluation import stream_element
from tests.sparkext.event_cases import Contents, E, History, stream, told, triple
from tests.sparkext.replay import replay, write_graphs

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from sparkext import Engine

PREFIXES = f"PREFIX : <{E}> PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#> "
G: Contents = {
    2: ["a1 p b1"],
    4: ["a2 p b2"],
    6: ["b1 q c1", "b2 q c2"],
    8: ["b2 q c2"],
    10: ["a3 p b3", "b1 q c1"],
}
E2, E3 = "a1 b1 c1", "a2 b2 c2"
SEQUENCE = "f:timestamp(?x, :p, ?y) < f:timestamp(?y, :q, ?z)"
MERGED = "FROM STREAM :S [RANGE 7ms STEP 1ms]"
NAMED = "FROM NAMED WINDOW :w ON :S [RANGE 7]"
MATCHED = "?x :p ?y . ?y :q ?z"
KINDS = {
    "usual": {},
    "stock": {"enabled": "false"},
    "not adaptive": {"adaptive.enabled": "false"},
    "bags": {"duplicates": "bag"},
    "as a job": {"driverExecution.maxRows": "0"},
}

SOME_SLOW = [
    kind if kind in ("usual", "bags") else pytest.param(kind, marks=pytest.mark.slow)
    for kind in KINDS
]


@contextmanager
def an_engine(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[Engine]:
    from sparkext import Engine

    for key, value in settings.items():
        spark.conf.set(f"spark.cqels.{key}", value)
    try:
        engine = Engine(spark)
    finally:
        for key in settings:
            spark.conf.unset(f"spark.cqels.{key}")
    with closing(engine):
        yield engine


def by_oracle(
    text: str,
    streams: Mapping[str, Contents],
    profile: str = "rspql",
    bags: bool = False,
    static: str = "",
) -> History:
    """What the oracle answers, where there is anything."""
    elements = {
        f"{E}{name}": [stream_element(e) for e in stream(contents)]
        for name, contents in streams.items()
    }
    lines = "\n".join(map(triple, static.splitlines()))
    query = parse_query(PREFIXES + text)
    check_supported(query)
    evaluation = ContinuousEvaluation(query, elements, static_graphs(lines), profile, bags=bags)
    found = {t: told(answer.rows) for t, answer in evaluation.answers().items()}
    return {t: rows for t, rows in found.items() if rows}


def by_engine(
    engine: Engine, text: str, streams: Mapping[str, Contents], batch: int = 1
) -> History:
    """What the engine answers, where there is anything."""
    elements = {f"{E}{name}": stream(contents) for name, contents in streams.items()}
    ((_, answered),) = replay(engine, [PREFIXES + text], elements, batch)
    found = {t: told(rows.elements()) for t, rows in answered.items()}
    return {t: rows for t, rows in found.items() if rows}


PAPER = {8: sorted([E2, E3]), 10: [E3]}


@pytest.mark.parametrize("kind", SOME_SLOW)
def test_s_004_10_with_times_of_bindings(spark: SparkSession, kind: str) -> None:
    """The paper's example as C-SPARQL's function has it, with windows (7, 1): e2 and e3 at 8, e3 at 10."""
    text = f"SELECT ?x ?y ?z {MERGED} WHERE {{ {MATCHED} FILTER({SEQUENCE}) }}"
    settings = {"semantics": "csparql", **KINDS[kind]}
    expected = by_oracle(text, {"S": G}, "csparql", bags=kind == "bags")
    assert {t: expected[t] for t in PAPER} == (
        PAPER if kind != "bags" else {8: [E2, E3, E3], 10: [E3, E3]}
    )
    with an_engine(spark, settings) as engine:
        assert by_engine(engine, text, {"S": G}) == expected


def in_w(pattern: str) -> str:
    return f"{{ WINDOW :w {{ {pattern} }} }}"


LATEST = "f:timestamp(?y, :q, ?z)"
GROUP = "{ SELECT ?y (MAX(?v) AS ?m) { VALUES (?y ?v) { (:b1 1) (:b1 3) (:b2 2) } } GROUP BY ?y }"
CASES: dict[str, tuple[str, History]] = {
    "FILTER in WINDOW": (
        f"SELECT ?x ?y ?z {NAMED} WHERE {in_w(f'{MATCHED} FILTER({SEQUENCE})')}",
        {6: [E2, E3], 8: [E2, E3], 10: [E3]},
    ),
    "FILTER outside": (
        f"SELECT ?x ?y ?z {NAMED} WHERE {{ WINDOW :w {{ {MATCHED} }} FILTER({SEQUENCE}) }}",
        {6: [E2, E3], 8: [E2, E3], 10: [E3]},
    ),
    "a SELECT expression, and what is new": (
        f"REGISTER ISTREAM :q AS SELECT ?y ({LATEST} AS ?t) {NAMED} WHERE {in_w('?y :q ?z')}",
        {6: ["b1 6", "b2 6"], 8: ["b2 8"], 10: ["b1 10"]},
    ),
    "those that the window still shows": (
        "SELECT (f:timestamp(:b, :q, :c) AS ?t) FROM NAMED WINDOW :w ON :T [ELEMENTS 2]"
        f" WHERE {in_w('?x :p ?y')}",
        {1: ["1"], 2: ["2"], 3: ["2", "2"], 4: ["-", "-"]},
    ),
    "two windows": (
        "SELECT ?z (f:timestamp(:b, :q, ?z) AS ?t) FROM NAMED WINDOW :v ON :T [ELEMENTS 1]"
        f" FROM NAMED WINDOW :w ON :T [LANDMARK 1] WHERE {{ {in_w('?y :q ?z')} WINDOW :v {{ ?u :q ?z }} }}",
        {1: ["c 1"], 2: ["c 2"]},
    ),
    "ORDER BY": (
        f"SELECT ?y {NAMED} WHERE {in_w('?y :q ?z')} ORDER BY DESC({LATEST}) ?y LIMIT 1",
        {6: ["b1"], 8: ["b2"], 10: ["b1"]},
    ),
    "an aggregate": (
        f"SELECT (MAX({LATEST}) AS ?t) {NAMED} WHERE {in_w('?y :q ?z')}",
        {2: ["-"], 4: ["-"], 6: ["6"], 8: ["8"], 10: ["10"]},
    ),
    "no element holds it": (
        f"SELECT ?y ?t {NAMED} WHERE {in_w('?y :q ?z BIND(f:timestamp(?y, :p, ?z) AS ?t)')}",
        {t: ["b1 -", "b2 -"] for t in (6, 8, 10)},
    ),
    "an unbound variable": (
        f"SELECT ?x ?t {NAMED} WHERE {in_w(f'?x :p ?y OPTIONAL {{ ?y :q ?z }} BIND({LATEST} AS ?t)')}",
        {
            2: ["a1 -"],
            4: ["a1 -", "a2 -"],
            6: ["a1 6", "a2 6"],
            8: ["a1 6", "a2 8"],
            10: ["a2 8", "a3 -"],
        },
    ),
    "a variable that the group does not know": (
        f"SELECT ?x ?t {NAMED} WHERE {in_w('?x :p ?y BIND(f:timestamp(?x, :p, ?u) AS ?t)')}",
        {
            2: ["a1 -"],
            4: ["a1 -", "a2 -"],
            6: ["a1 -", "a2 -"],
            8: ["a1 -", "a2 -"],
            10: ["a2 -", "a3 -"],
        },
    ),
    "the condition of OPTIONAL": (
        f"SELECT ?x ?z {NAMED} WHERE {in_w(f'?x :p ?y OPTIONAL {{ ?y :q ?z FILTER({LATEST} > 6) }}')}",
        {
            2: ["a1 -"],
            4: ["a1 -", "a2 -"],
            6: ["a1 -", "a2 -"],
            8: ["a1 -", "a2 c2"],
            10: ["a2 c2", "a3 -"],
        },
    ),
    "EXISTS": (
        f"SELECT ?x {NAMED} WHERE {in_w(f'?x :p ?y FILTER EXISTS {{ ?y :q ?z FILTER({SEQUENCE} && {LATEST} > 6) }}')}",
        {8: ["a2"], 10: ["a2"]},
    ),
    "a constant": (
        f"SELECT ?y ?t {NAMED} WHERE {{ {in_w('?y :q ?z')} BIND(f:timestamp(?y, :q, :c1) AS ?t) FILTER(BOUND(?t)) }}",
        {6: ["b1 6"], 8: ["b1 6"], 10: ["b1 10"]},
    ),
    "a sub-select": (
        f"SELECT ?x ?t {NAMED} WHERE {{ {in_w('?x :p ?y')}"
        f" {{ SELECT ?y ({LATEST} AS ?t) {in_w('?y :q ?z')} }} }}",
        {6: ["a1 6", "a2 6"], 8: ["a1 6", "a2 8"], 10: ["a2 8"]},
    ),
    "beside a group of inline data": (
        f"SELECT ?y ?m {NAMED} WHERE {{ {in_w(f'?y :q ?z FILTER({LATEST} > 6)')} {GROUP} }}",
        {8: ["b2 2"], 10: ["b1 3", "b2 2"]},
    ),
    "HAVING": (
        f"SELECT ?y {NAMED} WHERE {in_w('?y :q ?z')} GROUP BY ?y ?z HAVING({LATEST} > 7)",
        {8: ["b2"], 10: ["b1", "b2"]},
    ),
    "GRAPH ?g in WINDOW": (
        f"SELECT ?y ?t {NAMED} WHERE {in_w(f'GRAPH ?g {{ ?y :q ?z BIND({LATEST} AS ?t) }}')}",
        {},
    ),
}
FEW = ("FILTER in WINDOW", "an unbound variable", "those that the window still shows", "EXISTS")
STREAMS = {
    "S": G,
    "T": {1: ["b q c", "x p y"], 2: ["b q c"], 3: ["x p y", "u p v"], 4: ["x p y", "u p v"]},
}


@pytest.mark.parametrize("name", CASES)
def test_what_the_oracle_says(name: str) -> None:
    text, expected = CASES[name]
    assert by_oracle(text, STREAMS) == {t: sorted(rows) for t, rows in expected.items()}


@pytest.mark.parametrize("kind", SOME_SLOW)
def test_what_the_engine_says(spark: SparkSession, kind: str) -> None:
    names = list(CASES if kind == "usual" else FEW)
    texts = [PREFIXES + CASES[name][0] for name in names]
    with an_engine(spark, KINDS[kind]) as engine:
        elements = {f"{E}{name}": stream(contents) for name, contents in STREAMS.items()}
        results = replay(engine, texts, elements)
    for name, (_, answered) in zip(names, results, strict=True):
        found = {t: told(rows.elements()) for t, rows in answered.items() if rows}
        expected = by_oracle(CASES[name][0], STREAMS, bags=kind == "bags")
        assert found == expected, name


MISTAKES = {
    "SELECT * WHERE { ?x :p ?y FILTER(f:timestamp(?x, :p) > 1) }": (
        QuerySyntaxError,
        "3 arguments",
    ),
    "SELECT * WHERE { ?x :p ?y FILTER(f:timestamp(?x, :p, ?y + 1) > 1) }": (
        QuerySyntaxError,
        "BIND",
    ),
    f"SELECT * {NAMED} WHERE {{ ?x :p ?y FILTER(f:timestamp(?x, :p, ?y) > 1) }}": (
        UnsupportedFeatureError,
        "its group reads none",
    ),
    f"SELECT * {NAMED} EVENT ON :w {{ ?x :p ?y FILTER(f:timestamp(?x, :p, ?y) > 1) }} AS E"
    " WHERE { MATCH { E } }": (UnsupportedFeatureError, "in an EVENT"),
    f"SELECT * {NAMED} WHERE {in_w('?x :p ?y OPTIONAL { ?z :q ?u FILTER(f:timestamp(?x, :p, ?u) > 1) }')}": (
        UnsupportedFeatureError,
        "OPTIONAL",
    ),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_told_with_their_place(engine: Engine, text: str) -> None:
    kind, message = MISTAKES[text]
    engine.register_stream(f"{E}S")
    with pytest.raises(kind, match=message) as raised:
        engine.register_query(PREFIXES + text, name="wrong")
    place = f"line 1, column {len(PREFIXES) + text.index('f:timestamp') + 1}"
    assert str(raised.value).startswith(place)


def test_no_delta_evaluation(spark: SparkSession) -> None:
    with an_engine(spark, {"semantics": "cqels"}) as engine:
        engine.register_stream(f"{E}S")
        text = f"SELECT ?x ?y ?z {NAMED} WHERE {in_w(f'{MATCHED} FILTER({SEQUENCE})')}"
        query = engine.register_query(PREFIXES + text, name="sequence")
        assert "a time of the window" in str(query.explain())
        # What the window's patterns have matched is joined with its times, in one cluster.
        assert "ClusterJoin" in str(query.explain().data)
        assert "w{time of ?x p ?y}" in str(query.explain().data)


def random_stream(random: Random) -> Contents:
    def some() -> str:
        return f"n{random.randrange(3)} {random.choice('pq')} n{random.randrange(3)}"

    times = sorted(random.sample(range(1, 30), 12))
    return {t: sorted({some() for _ in range(random.randint(1, 3))}) for t in times}


def random_text(random: Random, merged: bool) -> str:
    """A query with one or two windows and some calls."""

    def term() -> str:
        return random.choice(["?x", "?x", "?y", "?y", "?z", "n1"]).replace("n1", ":n1")

    def call() -> str:
        return f"f:timestamp({term()}, {random.choice(['?p', ':p', ':q'])}, {term()})"

    def window() -> str:
        width = random.randint(2, 9)
        return random.choice(
            [f"[RANGE {width}]", f"[ELEMENTS {width // 2}]", f"[RANGE {width} STEP 2]"]
        )

    name = random.choice(("S", "T"))
    declared = [f"WINDOW :{w} ON :{name} {window()}" for w in "vw"]
    froms = " ".join(f"FROM {'' if merged else 'NAMED '}{clause}" for clause in declared)
    if merged:
        froms = froms.replace("WINDOW :v ", "WINDOW ").replace("WINDOW :w ", "WINDOW ")

    def block(pattern: str) -> str:
        return f"{{ {pattern} }}" if merged else f"WINDOW :{random.choice('vw')} {{ {pattern} }}"

    compared = random.choice(["<", "<=", "=", ">"])
    test = f"{call()} {compared} {random.choice([call(), str(random.randrange(30))])}"
    parts = [block(f"?x ?p ?y {random.choice(['', f'FILTER({test})'])}")]
    more = block(f"?y :q ?z {random.choice(['', f'BIND({call()} AS ?u)'])}")
    parts.append(
        random.choice(
            ["", more, f"OPTIONAL {{ {more} }}", f"FILTER EXISTS {{ {more} FILTER({test}) }}"]
        )
    )
    parts.append(random.choice([f"BIND({call()} AS ?t)", f"FILTER({test}) BIND({call()} AS ?t)"]))
    operator = random.choice(("RSTREAM", "ISTREAM"))
    return f"REGISTER {operator} :q{random.randrange(10**6)} AS SELECT * {froms} WHERE {{ {' '.join(parts)} }}"


@pytest.mark.parametrize(
    ("merged", "settings"), [(True, {}), (False, {}), (False, {"duplicates": "bag"})]
)
def test_random_queries(
    spark: SparkSession, tmp_path: Path, merged: bool, settings: dict[str, str]
) -> None:
    random = Random(f"{merged} {settings}")
    streams = {"S": random_stream(random), "T": random_stream(random)}
    static = "n0 p n1\nn1 q n2"
    expected: dict[str, History] = {}
    while len(expected) < 4:
        text = random_text(random, merged)
        answers = by_oracle(text, streams, bags=bool(settings), static=static)
        if len(answers) > 4:  # answers that are all empty would agree with anything
            expected[text] = answers
    with an_engine(spark, settings) as engine:
        lines = "\n".join(map(triple, static.splitlines()))
        engine.load_static(write_graphs(tmp_path, lines, {}), progress=False)
        elements = {f"{E}{name}": stream(contents) for name, contents in streams.items()}
        results = replay(engine, [PREFIXES + text for text in expected], elements)
    for (text, wanted), (variables, answered) in zip(expected.items(), results, strict=True):
        assert list(variables) == [v.name for v in parse_query(PREFIXES + text).answered]
        found = {t: told(rows.elements()) for t, rows in answered.items() if rows}
        assert found == wanted, text
