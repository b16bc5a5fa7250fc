"""Elements in every format, rows, static graphs and SPARQL's protocols, asked of a server that runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from tests.sparkext.serving.serving_world import NT, E, World, name, serving, triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAPPING = f"""
@prefix rr: <http://www.w3.org/ns/r2rml#> .
<#m> rr:logicalTable [ rr:tableName "readings" ] ;
  rr:subjectMap [ rr:template "{E}{{sensor}}" ] ;
  rr:predicateObjectMap [ rr:predicate <{E}p> ; rr:objectMap [ rr:column "value" ] ] .
"""
PROV = "http://www.w3.org/ns/prov#generatedAtTime"
SPARQL = "application/sparql-query"


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("data")
    (folder / "m.ttl").write_text(MAPPING)
    with serving(spark, data_dir=folder) as made:
        yield made


def query(stream: str) -> str:
    return f"""SELECT ?a ?b ?g FROM NAMED WINDOW <{E}w> ON <{stream}> [RANGE 1]
        WHERE {{ WINDOW <{E}w> {{ ?a <{E}p> ?b OPTIONAL {{ GRAPH ?g {{ ?a <{E}p> ?b }} }} }} }}"""


TTL = "text/turtle"
TRIG = "application/trig"
A = f"{E}a"
ONE = [(1000, f"<{A}>", '"1"', None)]
DATED = [(2000, f"<{A}>", '"1"', f"<{E}g>"), (1000, f"<{E}b>", '"2"', f"<{E}h>")]


@pytest.mark.parametrize(
    ("kind", "body", "parameters", "expected"),
    [
        (NT, f'<{A}> <{E}p> "1" .\r\n# a note\r\n', "?time=1000", ONE),
        (NT, f'<{A}> <{E}p> "1" .', f"?time=1000&graph={name(f'{E}g')}", [(1000, f"<{A}>", '"1"', f"<{E}g>")]),
        (TTL, f'@prefix : <{E}> . :a :p "1" .', "?time=1970-01-01T00:00:01Z", ONE),
        (TRIG, f'@prefix : <{E}> . :a :p "1" .', "?time=1000", ONE),
        ("application/n-quads", f'<{A}> <{E}p> "1" .', "?time=1000", ONE),
        (
            TRIG,
            f'@prefix : <{E}> . :g <{PROV}> 2000 . :g {{ :a :p "1" }} :h {{ :b :p "2" }}',
            "?time=1000",
            DATED,
        ),
        (
            "application/n-quads",
            f'<{E}g> <{PROV}> "1970-01-01T00:00:02Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
            f'<{A}> <{E}p> "1" <{E}g> .\n<{E}b> <{E}p> "2" <{E}h> .',
            "?time=1000",
            DATED,
        ),
        ("application/ld+json", json.dumps({"@id": A, f"{E}p": "1"}), "?time=1000", ONE),
        (
            "application/ld+json",
            json.dumps({"@id": f"{E}g", "@graph": [{"@id": A, f"{E}p": "1"}]}),
            "?time=1000",
            [(1000, f"<{A}>", '"1"', f"<{E}g>")],
        ),
        (
            "application/json",
            json.dumps([{"triples": f'<{A}> <{E}p> "1" .', "time": 2000, "graph": f"{E}g"},
                        {"triples": [[f"{E}b", f"{E}p", '"2"']], "graph": f"{E}h"}]),
            "?time=1000",
            DATED,
        ),
        ("application/x-ndjson", json.dumps({"triples": [[A, f"{E}p", '"1"']]}) + "\n\n", "?time=1000", ONE),
    ],
)  # fmt: skip
def test_elements_in_every_format(
    world: World,
    kind: str,
    body: str,
    parameters: str,
    expected: list[tuple[int, str, str, str | None]],
    request: pytest.FixtureRequest,
) -> None:
    stream = f"{E}stream/{abs(hash(request.node.name))}"
    assert world.ask("POST", "/streams", {"iri": stream}).status == 201
    assert world.ask("POST", "/queries?name=q", query(stream), SPARQL).status == 201
    heard: list[Any] = []
    world.engine.queries["q"].subscribe(heard.append)
    path = f"/streams/{name(stream)}/elements{parameters}"
    pushed = world.ask("POST", path, body, kind)
    assert pushed.json == {"accepted": len(expected), "malformed": 0, "late": 0}
    world.ask("POST", f"/streams/{name(stream)}/advance", {"time": 5000})
    assert world.ask("DELETE", "/queries/q").status == 204
    found = {(answers.time, *row) for answers in heard for row in answers.rows()}
    assert found == set(expected)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", '[{"sensor": "a", "value": "1", "at": 1000}]'),
        ("application/x-ndjson", '{"sensor": "a", "value": "1", "at": 1000}\n'),
        ("text/csv", "sensor,value,at\na,1,1000\n"),
    ],
)
def test_rows_of_a_stream_with_a_mapping(world: World, kind: str, body: str) -> None:
    stream = f"{E}rows/{kind}"
    given = {"iri": stream, "mapping": "m.ttl", "time": "at"}
    made = world.ask("POST", "/streams", given)
    assert made.status == 201 and made.json["rows"] is True, made.body
    assert world.ask("POST", "/queries?name=q", query(stream), SPARQL).status == 201
    path = f"/streams/{name(stream)}/elements"
    assert world.ask("POST", path, body, kind).json == {"accepted": 1, "malformed": 0, "late": 0}
    world.ask("POST", f"/streams/{name(stream)}/advance?time=1000")
    latest = world.ask("GET", "/queries/q/answers/latest", Accept="text/csv").body
    assert latest == f"a,b,g\r\n{E}a,1,\r\n".encode()
    if kind == "text/csv":
        world.ask("POST", path, "sensor,value,at\na,1", kind).problem(400)
    assert world.ask("DELETE", "/queries/q").status == 204
    world.ask("POST", "/streams", given).problem(409)


def test_static_graphs_are_replaced_added_to_and_emptied(world: World) -> None:
    graph = f"/static/graph?graph={name(f'{E}g')}"

    def triples() -> list[str]:
        text = f"SELECT ?o {{ GRAPH <{E}g> {{ <{E}s> <{E}p> ?o }} }} ORDER BY ?o"
        found = world.ask("POST", "/sparql", text, SPARQL, Accept="text/csv").body.decode()
        return [line.removeprefix(E) for line in found.split("\r\n")[1:-1]]

    two = f"{triple('s', 'o1')}\n{triple('s', 'o2')}"
    assert world.ask("PUT", graph, two, NT).status == 204
    assert triples() == ["o1", "o2"]
    turtle = f"@prefix : <{E}> . :s :p :o3, :o4 ."
    assert world.ask("POST", graph, turtle, TTL).status == 204
    removals = graph.replace("graph?", "graph/removals?")
    assert world.ask("POST", removals, triple("s", "o1"), NT).status == 204
    assert triples() == ["o2", "o3", "o4"]
    listed = world.ask("GET", "/static").json["graphs"]
    assert {"graph": f"{E}g", "triples": 3} in listed
    assert world.ask("DELETE", graph).status == 204
    assert triples() == []
    quoted = f'<< <{E}a> <{E}p> <{E}b> >> <{E}q> "<<" .'
    assert world.ask("PUT", "/static/graph?default", quoted, NT).status == 204
    ask = f"ASK {{ << <{E}a> <{E}p> ?o >> <{E}q> ?s }}"
    assert world.ask("POST", "/sparql", ask, SPARQL).json == {"head": {}, "boolean": True}


def test_sparql_by_every_way_of_its_protocol(world: World) -> None:
    for number in (1, 2):
        graph = f"/static/graph?graph={name(f'{E}n{number}')}"
        assert world.ask("PUT", graph, triple("s", f"o{number}"), NT).status == 204
    text = f"SELECT ?o {{ <{E}s> <{E}p> ?o }}"
    dataset = {"default-graph-uri": f"{E}n2"}

    def objects(found: Any) -> list[str]:
        assert found.status == 200, found.body
        assert found.headers["content-type"] == "application/sparql-results+json"
        return [row["o"]["value"] for row in found.json["results"]["bindings"]]

    form = "application/x-www-form-urlencoded"
    asked = urlencode({"query": text, **dataset})
    assert objects(world.ask("GET", f"/sparql?{asked}")) == [f"{E}o2"]
    assert objects(world.ask("POST", "/sparql", asked, form)) == [f"{E}o2"]
    assert objects(world.ask("POST", f"/sparql?{urlencode(dataset)}", text, SPARQL)) == [f"{E}o2"]
    both = f"/sparql?{urlencode([('default-graph-uri', f'{E}n{n}') for n in (1, 2)])}"
    assert sorted(objects(world.ask("POST", both, text, SPARQL))) == [f"{E}o1", f"{E}o2"]
    made = f"CONSTRUCT {{ ?o <{E}of> ?s }} {{ GRAPH <{E}n1> {{ ?s <{E}p> ?o }} }}"
    triples = world.ask("POST", "/sparql", made, SPARQL, Accept="text/turtle")
    assert triples.headers["content-type"].startswith("text/turtle")
    assert triples.body == f"<{E}o1> <{E}of> <{E}s> .\n".encode()
    xml = world.ask(
        "POST", "/sparql", text, SPARQL, Accept="application/sparql-results+xml;q=0.9, */*;q=0.1"
    )
    assert xml.body.startswith(b"<?xml")
    world.ask("POST", "/sparql", text, SPARQL, Accept="application/n-triples").problem(406)


def test_a_graph_changes_from_an_event_time_on(world: World) -> None:
    stream = f"{E}timed"
    world.ask("POST", "/streams", {"iri": stream})
    graph = f"{E}timed-graph"
    text = f"""SELECT ?o FROM NAMED WINDOW <{E}w> ON <{stream}> [RANGE 1]
        WHERE {{ WINDOW <{E}w> {{ ?a <{E}p> ?b }} GRAPH <{graph}> {{ <{E}s> <{E}p> ?o }} }}"""
    path = f"/static/graph?graph={name(graph)}"
    assert world.ask("PUT", path, triple("s", "old"), NT).status == 204
    assert world.ask("POST", "/queries?name=q", text, SPARQL).status == 201
    assert world.ask("PUT", f"{path}&at=2000", triple("s", "new"), NT).status == 204
    heard: list[Any] = []
    world.engine.queries["q"].subscribe(heard.append)
    for time in (1000, 2000, 3000):
        world.ask.push(triple("a", "b"), time=time, stream=stream)
    world.ask("DELETE", "/queries/q")
    assert [answers.rows() for answers in heard] == [[(f"<{E}old>",)], [(f"<{E}new>",)]]


def test_all_streams_end(world: World) -> None:
    stream = f"{E}ending"
    world.ask("POST", "/streams", {"iri": stream})
    world.ask.push(triple("a", "b"), time=1000, stream=stream)
    assert world.ask("POST", "/finish").json == {}
    assert world.ask("GET", f"/streams/{name(stream)}").json["finished"] is True
