"""Whatever is wrong with a request is a problem with a status below 500, and the server goes on."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from sparkext.serving.options import Limits
from tests.sparkext.serving.serving_world import (
    ELEMENTS,
    JSON,
    NT,
    QUERY,
    TOKEN,
    E,
    World,
    name,
    serving,
    triple,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

LIMITS = Limits(
    body_bytes=20_000, query_bytes=2_000, query_depth=6, path_steps=4, queries=2, streams=3
)
GRAPH = f"/static/graph?graph={name(f'{E}g')}"
SPARQL = "application/sparql-query"


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("outer")
    data = folder / "data"
    data.mkdir()
    (data / "people.nt").write_text(f'<{E}ann> <{E}name> "Ann" .')
    (data / "broken.nt").write_text("<http://e/ann> nonsense")
    (folder / "secret.ttl").write_text(f"<{E}key> <{E}is> 'secret' .")
    (data / "link.ttl").symlink_to(folder / "secret.ttl")
    with serving(spark, limits=LIMITS, data_dir=data) as made:
        assert made.ask("POST", "/queries", {"query": QUERY}).status == 201
        yield made


@pytest.mark.parametrize(
    "token", [None, "", "wrong-token-0123456789", TOKEN[:-1], f"{TOKEN}x", f"{TOKEN[:-1]}é"]
)
@pytest.mark.parametrize("path", ["/", "/queries", "/metrics", "/status", "/nothing", "/health"])
def test_all_but_health_needs_the_token(world: World, token: str | None, path: str) -> None:
    ask = replace(world.ask, token=None)
    given = {} if token is None else {"Authorization": f"Bearer {token}".encode().decode("latin-1")}
    refused = ask("GET", path, **given)
    assert refused.problem(401)
    assert refused.headers["www-authenticate"] == "Bearer"


def test_health_needs_none_and_nothing_tells_browsers_of_other_sites_to_read(world: World) -> None:
    ask = replace(world.ask, token=None)
    live = ask("GET", "/health/live", Origin="http://elsewhere.example")
    assert live.json == {"status": "live"}
    assert "access-control-allow-origin" not in live.headers
    assert ask("GET", "/health/ready").json == {"status": "ready"}
    world.ask("OPTIONS", "/queries", Origin="http://elsewhere.example").problem(405)
    basic = ask("GET", "/queries", Authorization=f"Basic {TOKEN}")
    basic.problem(401)
    assert ask("GET", "/health%2Flive").status == 401


DEEP = "{" * 9 + "}" * 9
ODD: list[tuple[str, str, Any, str | None, int]] = [
    ("POST", "/queries", None, JSON, 415),
    ("POST", "/queries", "", JSON, 400),
    ("POST", "/queries", "{", JSON, 400),
    ("POST", "/queries", b"\xff\xfe", JSON, 400),
    ("POST", "/queries", "[" * 15_000, JSON, 400),
    ("POST", "/queries", '{"query": NaN}', JSON, 400),
    ("POST", "/queries", [], JSON, 400),
    ("POST", "/queries", "5", JSON, 400),
    ("POST", "/queries", {"query": 5}, JSON, 400),
    ("POST", "/queries", {"query": ""}, JSON, 400),
    ("POST", "/queries", {"query": None}, JSON, 400),
    ("POST", "/queries", {"query": "\ud800"}, JSON, 400),
    ("POST", "/queries", {"query": "\0"}, JSON, 400),
    ("POST", "/queries", {"query": QUERY, "other": 1}, JSON, 400),
    ("POST", "/queries", {"query": QUERY, "name": ""}, JSON, 400),
    ("POST", "/queries", {"query": QUERY, "name": ["x"]}, JSON, 400),
    ("POST", "/queries", {"query": QUERY, "name": "\ud800"}, JSON, 400),
    ("POST", "/queries", {"query": QUERY, "name": "n" * 1001}, JSON, 400),
    ("POST", "/queries", {"query": QUERY, "name": "x", "report": "NEVER"}, JSON, 400),
    ("POST", "/queries", {"query": QUERY, "name": "x", "report": 5}, JSON, 400),
    ("POST", "/queries", {"query": QUERY, "name": "x", "report": {"a": 1}}, JSON, 400),
    ("POST", "/queries", {"query": QUERY, "name": "x", "parameters": []}, JSON, 400),
    ("POST", "/queries", {"query": QUERY, "name": "x", "parameters": {"b": []}}, JSON, 400),
    ("POST", "/queries", {"query": QUERY, "name": "x", "parameters": {"z": 1}}, JSON, 400),
    ("POST", "/queries", {"query": QUERY, "name": "x", "parameters": {"b": "<"}}, JSON, 400),
    ("POST", "/queries", "SELECT * { ?s ?p ?o }", SPARQL, 400),
    ("POST", "/queries", QUERY.replace(":s ", ":nowhere ").replace(":q AS", ":x AS"), SPARQL, 422),
    ("POST", "/queries", QUERY, "application/xml", 415),
    ("POST", "/queries", QUERY, "text/plain; charset=utf-16", 415),
    ("POST", "/queries", QUERY + " " * 2_000, SPARQL, 413),
    ("POST", "/queries", QUERY.replace("WHERE {", "WHERE {" + DEEP), SPARQL, 422),
    ("POST", "/queries", QUERY.replace(":p ", ":p/:p/:p/:p/:p/:p "), SPARQL, 422),
    ("POST", "/queries", QUERY, SPARQL, 409),
    ("POST", "/queries?name=a&name=b", QUERY, SPARQL, 400),
    ("POST", "/queries?nam=a", QUERY, SPARQL, 400),
    ("POST", "/queries", "x" * 20_001, SPARQL, 413),
    ("PUT", "/queries", "{}", JSON, 405),
    ("GET", "/queries/nothing", None, None, 404),
    ("GET", "/queries/%ff", None, None, 400),
    ("GET", "/queries/", None, None, 404),
    ("DELETE", "/queries/nothing", None, None, 404),
    ("GET", "/queries/nothing/explanation", None, None, 404),
    ("GET", "/queries/nothing/answers", None, None, 404),
    ("GET", f"/queries/{name(E + 'q')}/answers?format=png", None, None, 400),
    ("GET", f"/queries/{name(E + 'q')}/answers?empty=perhaps", None, None, 400),
    ("GET", f"/queries/{name(E + 'q')}/answers?from=then", None, None, 400),
    ("GET", f"/queries/{name(E + 'q')}/answers?last_event_id=x", None, None, 400),
    ("GET", f"/queries/{name(E + 'q')}/answers?last_event_id=-1", None, None, 400),
    ("POST", "/streams", {}, JSON, 400),
    ("POST", "/streams", {"iri": "no iri"}, JSON, 400),
    ("POST", "/streams", {"iri": 5}, JSON, 400),
    ("POST", "/streams", {"iri": f"{E}n", "on_error": "explode"}, JSON, 400),
    ("POST", "/streams", {"iri": f"{E}n", "mapping": "../secret.ttl"}, JSON, 403),
    ("POST", "/streams", {"iri": f"{E}n", "mapping": "people.nt"}, JSON, 400),
    ("POST", "/streams", "<s>", NT, 415),
    ("GET", "/streams/nothing", None, None, 404),
    ("POST", "/streams/nothing/elements", triple("a", "b"), NT, 404),
    ("POST", ELEMENTS, triple("a", "b"), "application/pdf", 415),
    ("POST", ELEMENTS, triple("a", "b"), None, 415),
    ("POST", ELEMENTS, "nonsense", NT, 400),
    ("POST", ELEMENTS, b"\xff", NT, 400),
    ("POST", ELEMENTS, "<a> <b> <c> .", "text/turtle; charset=latin-1", 415),
    ("POST", ELEMENTS, "<a> nonsense", "text/turtle", 400),
    ("POST", ELEMENTS, "{", "application/ld+json", 400),
    ("POST", ELEMENTS, '{"@context": "http://127.0.0.1:9/c", "a": 1}', "application/ld+json", 400),
    ("POST", ELEMENTS, "{", JSON, 400),
    ("POST", ELEMENTS, "[5]", JSON, 400),
    ("POST", ELEMENTS, [{"triples": 5}], JSON, 400),
    ("POST", ELEMENTS, [{"triples": [["a", "b"]]}], JSON, 400),
    ("POST", ELEMENTS, [{"triples": "nonsense"}], JSON, 400),
    ("POST", ELEMENTS, [{"triples": triple("a", "b"), "time": "then"}], JSON, 400),
    ("POST", ELEMENTS, [{"triples": triple("a", "b"), "time": True}], JSON, 400),
    ("POST", ELEMENTS, [{"triples": triple("a", "b"), "graph": "no iri"}], JSON, 400),
    ("POST", ELEMENTS, '{"triples": ""}\n{', "application/x-ndjson", 400),
    ("POST", ELEMENTS, "a,b\n1,2", "text/csv", 415),
    ("POST", f"{ELEMENTS}?time=then", triple("a", "b"), NT, 400),
    ("POST", f"{ELEMENTS}?time={'9' * 40}", triple("a", "b"), NT, 400),
    ("POST", f"{ELEMENTS}?graph=no%20iri", triple("a", "b"), NT, 400),
    ("POST", f"{ELEMENTS}?when=1", triple("a", "b"), NT, 400),
    ("POST", ELEMENTS, "x" * 20_001, NT, 413),
    ("POST", "/advance", None, None, 400),
    ("POST", "/advance", {"time": None}, JSON, 400),
    ("POST", "/advance", {"time": [1]}, JSON, 400),
    ("POST", "/advance", {"time": 10**17}, JSON, 400),
    ("POST", "/advance", {"time": 9_000_000_000_000_000}, JSON, 400),
    ("POST", "/advance?time=1&time=2", None, None, 400),
    ("POST", "/streams/nothing/advance", {"time": 1}, JSON, 404),
    ("POST", "/static/load", {"files": []}, JSON, 400),
    ("POST", "/static/load", {"files": ["../secret.ttl"]}, JSON, 403),
    ("POST", "/static/load", {"files": ["/etc/passwd"]}, JSON, 403),
    ("POST", "/static/load", {"files": ["link.ttl"]}, JSON, 403),
    ("POST", "/static/load", {"files": ["http://127.0.0.1:9/x.ttl"]}, JSON, 403),
    ("POST", "/static/load", {"files": ["file:///etc/passwd"]}, JSON, 403),
    ("POST", "/static/load", {"files": ["\0"]}, JSON, 403),
    ("POST", "/static/load", {"files": ["."]}, JSON, 404),
    ("POST", "/static/load", {"files": ["missing.ttl"]}, JSON, 404),
    ("POST", "/static/load", {"files": ["broken.nt"]}, JSON, 400),
    ("POST", "/static/load", {"files": ["people.nt"], "format": "png"}, JSON, 415),
    ("POST", "/static/load", {"files": ["people.nt"], "graph": "a b"}, JSON, 400),
    ("POST", "/static/load", {"files": ["people.nt"], "on_error": "skip"}, JSON, 400),
    ("PUT", "/static/graph", triple("a", "b"), NT, 400),
    ("PUT", "/static/graph?graph=", triple("a", "b"), NT, 400),
    ("PUT", f"{GRAPH}&default", triple("a", "b"), NT, 400),
    ("PUT", "/static/graph?default=yes", triple("a", "b"), NT, 400),
    ("PUT", "/static/graph?graph=no%20iri", triple("a", "b"), NT, 400),
    ("PUT", GRAPH, "/etc/passwd", NT, 400),
    ("PUT", GRAPH, "people.nt", "text/plain", 415),
    ("PUT", GRAPH, f"<{E}a> <{E}b> <{E}c> <{E}d> .", NT, 400),
    ("PUT", GRAPH, f"<{E}a> <{E}b> <{E}c> <{E}d> .", "application/n-quads", 400),
    ("PUT", f"{GRAPH}&at=then", triple("a", "b"), NT, 400),
    ("POST", GRAPH.replace("graph?", "graph/removals?"), f"_:b <{E}p> <{E}o> .", NT, 400),
    ("PATCH", GRAPH, triple("a", "b"), NT, 405),
    ("GET", "/sparql", None, None, 400),
    ("GET", "/sparql?query=SELECT", None, None, 400),
    ("GET", "/sparql?query=ASK%7B%7D&query=ASK%7B%7D", None, None, 400),
    ("GET", "/sparql?query=ASK%7B%7D&update=x", None, None, 400),
    ("GET", "/sparql?query=ASK%7B%7D&default-graph-uri=no", None, None, 400),
    ("POST", "/sparql", "query=ASK", "application/x-www-form-urlencoded", 400),
    ("POST", "/sparql", "query=%ff", "application/x-www-form-urlencoded", 400),
    ("POST", "/sparql", "INSERT DATA { <a:a> <a:b> <a:c> }", SPARQL, 400),
    ("POST", "/sparql", "INSERT DATA { <a:a> <a:b> <a:c> }", "application/sparql-update", 415),
    ("POST", "/sparql", "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }", SPARQL, 422),
    ("POST", "/sparql", "SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }", SPARQL, 422),
    ("POST", "/sparql", "LOAD <file:///etc/passwd>", SPARQL, 400),
    ("POST", "/sparql", QUERY, SPARQL, 400),
    ("GET", "/..%2f..%2fetc%2fpasswd", None, None, 404),
    ("GET", "/queries?x=1", None, None, 400),
]


@pytest.mark.parametrize(
    ("method", "path", "body", "kind", "status"), ODD, ids=[f"{n}" for n in range(len(ODD))]
)
def test_what_is_wrong_is_a_problem(
    world: World, method: str, path: str, body: Any, kind: str | None, status: int
) -> None:
    found = world.ask(method, path, body, kind).problem(status)
    assert "secret" not in found["detail"] or "folder of data" in found["detail"]
    assert world.ask("GET", "/health/ready").status == 200


def test_a_problem_of_a_query_has_its_place(world: World) -> None:
    found = world.ask("POST", "/queries", {"query": "SELECT *\nWHERE { ?s ?p }"}).problem(400)
    assert (found["line"], found["column"]) == (2, 15)
    assert found["error"] == "QuerySyntaxError" and found["expected"]
    turtle = world.ask("POST", ELEMENTS, "<a:a> <a:b>\n<a:c> <a:d> .", "text/turtle").problem(400)
    assert turtle["line"] == 2


def test_packed_and_chunked_bodies_that_are_too_large(world: World) -> None:
    packed = world.ask("POST", ELEMENTS, "x", NT, Content_Encoding="gzip")
    packed.problem(415)
    connection = world.ask.connection()
    chunks = (b"x" * 1000 for _ in range(100))
    headers = world.ask.headers({"Content-Type": NT, "Transfer-Encoding": "chunked"})
    connection.request("POST", ELEMENTS, chunks, headers, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /queries HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\xfe\r\nConnection: close\r\n\r\n",
    ],
)
def test_bytes_that_are_no_request(world: World, raw: bytes) -> None:
    parts = urlsplit(world.ask.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        connection.sendall(raw)
        got = connection.recv(4096)
    assert got.startswith((b"HTTP/1.1 400", b"HTTP/1.1 401"))
    assert world.ask("GET", "/health/ready").status == 200


def test_no_more_queries_and_streams_than_there_may_be(world: World) -> None:
    assert world.ask("POST", "/queries?name=second", QUERY, SPARQL).status == 201
    world.ask("POST", "/queries?name=third", QUERY, SPARQL).problem(429)
    assert world.ask("DELETE", "/queries/second").status == 204
    assert world.ask("POST", "/streams", {"iri": f"{E}t"}).status == 201
    assert world.ask("POST", "/streams", {"iri": f"{E}t"}).status == 200
    assert world.ask("POST", "/streams", {"iri": f"{E}u"}).status == 201
    world.ask("POST", "/streams", {"iri": f"{E}v"}).problem(429)


def test_files_are_loaded_from_the_folder_only(world: World, tmp_path: Path) -> None:
    loaded = world.ask("POST", "/static/load", {"files": ["people.nt"], "graph": f"{E}people"})
    assert loaded.json == {"statements": 1, "skipped": 0}
    world.served.options = replace(world.served.options, data_dir=None)
    world.ask("POST", "/static/load", {"files": ["people.nt"]}).problem(403)
