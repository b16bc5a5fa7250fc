"""What the live page is made of and asks for: its files, an engine's state, words to complete, checks, the demo."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from sparkext.page.demo_world import GRAPH, QUERIES, STREAM
from sparkext.page.page_files import page_files
from tests.sparkext.serving.serving_world import QUERY, E, S, World, name, serving, triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Q = f"{E}q"


@pytest.fixture(scope="module")
def world(spark: SparkSession) -> Iterator[World]:
    with serving(spark) as made:
        made.ask("POST", "/queries", {"query": QUERY})
        yield made


def until(found: Callable[[], Any]) -> Any:
    """What is found, once it is; the test fails after a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.1)
    raise AssertionError("nothing comes")


def test_browsers_get_the_page_without_a_token_and_nothing_else(world: World) -> None:
    ask = replace(world.ask, token=None)
    page = ask("GET", "/", Accept="text/html,application/xhtml+xml,*/*;q=0.8")
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "script-src 'self';" in policy and "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    for file in page_files():
        assert ask("GET", f"/page/{file}").status == 200
    ask("GET", "/page/nothing.js").problem(404)
    ask("GET", "/page/..%2F__init__.py").problem(404)
    ask("GET", "/", Accept="application/json").problem(401)
    for path in ("/state", "/vocabulary", "/demo", f"/queries/{name(Q)}/history"):
        ask("GET", path, Accept="text/html").problem(401)
    assert "/state" in world.ask("GET", "/").json["paths"]


def test_the_files_of_the_page_ask_for_nothing_from_elsewhere_and_make_no_markup() -> None:
    files = page_files()
    assert {"index.html", "style.css", "main.js"} <= set(files)
    found = 0
    for file, (content, _) in files.items():
        text = content.decode()
        for forbidden in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ):
            assert forbidden not in text, (file, forbidden)
        for place in re.findall(
            r"""(?:\bsrc=|\bhref=|\burl\(|\bfrom |\bimport )["']([^"']+)["']""", text
        ):
            assert place.startswith(("/page/", "./", "#")), (file, place)
            found += 1
    assert found > 10


def test_state_tells_windows_elements_and_rows(world: World) -> None:
    world.ask.push(triple("a", "b"), triple("c", "d"), time=1_000)
    world.ask.push(triple("a", "b"), time=1_005)
    world.ask.push("nonsense", time=1_005)
    world.ask("POST", "/advance", {"time": 1_005})

    def found() -> Any:
        state = world.ask("GET", "/state").json
        stream = next(one for one in state["streams"] if one["iri"] == S)
        return (state, stream) if stream["windows"][0]["elements"] == 2 else None

    state, stream = until(found)
    assert state["status"] == "ready"
    assert all(one["bytes"] > 0 for one in state["kept_sides"])  # of other tests' jobs
    (window,) = stream["windows"]
    assert window["named"] == [Q] and window["queries"] == 1 and window["rows"] == 2
    assert window["closes"] == "1970-01-01T00:00:01.005Z"
    assert stream["elements"] == 2 and stream["panes"] == 2 and stream["quads"] == 3
    (query,) = (one for one in state["queries"] if one["name"] == Q)
    assert query["evaluations"] >= 1 and query["switches"] == 0 and query["execution"]


def test_words_are_those_of_static_data_streams_and_queries(world: World) -> None:
    world.ask(
        "PUT",
        f"/static/graph?graph={name(E + 'g')}",
        f"<{E}x> <{E}knows> <{E}y> .",
        "application/n-triples",
    )
    world.ask.push(f"<{E}a> <http://xmlns.com/foaf/0.1/name> <{E}n> .", time=2_000)
    found = world.ask("GET", "/vocabulary").json
    known = {one["iri"]: one for one in found["predicates"]}
    assert known[f"{E}knows"] == {"iri": f"{E}knows", "triples": 1, "streams": []}
    assert known["http://xmlns.com/foaf/0.1/name"]["streams"] == [S]
    assert found["prefixes"][""] == E and found["prefixes"]["foaf"] == "http://xmlns.com/foaf/0.1/"
    assert f"{E}g" in found["graphs"] and S in found["streams"]


def test_a_check_tells_the_place_of_a_flaw_and_registers_nothing(world: World) -> None:
    wrong = world.ask("POST", "/check", {"query": QUERY.replace("?a :p ?b", "?a :p")}).json
    assert not wrong["ok"] and (wrong["problem"]["line"], wrong["problem"]["column"]) == (4, 27)
    right = world.ask("POST", "/check", {"query": QUERY.replace(":s ", ":t ")}).json
    assert right["ok"] and right["continuous"] and right["variables"] == ["a", "b"]
    assert right["name"] == Q and right["unknown_streams"] == [f"{E}t"]
    plain = world.ask("POST", "/check", {"query": "SELECT * { ?s ?p ?o }"}).json
    assert plain["ok"] and not plain["continuous"]
    deep = world.ask("POST", "/check", {"query": "SELECT * " + "{" * 99}).json
    assert not deep["ok"] and deep["problem"]["status"] == 422
    world.ask("POST", "/check", {"text": ""}).problem(400)
    assert len(world.ask("GET", "/queries").json["queries"]) == 1


def test_the_history_of_a_query_has_its_evaluations(world: World) -> None:
    told = world.ask("GET", f"/queries/{name(Q)}/history").json
    assert told["query"] == Q and told["count"] == 0 and told["switches"] == []
    assert told["evaluations"] and len(told["evaluations"][0]) == 3
    world.ask("GET", "/queries/nothing/history").problem(404)


def test_the_demo_begins_answers_and_ends(world: World) -> None:
    assert world.ask("GET", "/demo").json["runs"] is False
    for odd in ({"rate": 0}, {"rate": True}, {"seconds": 10**9}, {"other": 1}):
        world.ask("POST", "/demo", odd).problem(400)
    begun = world.ask("POST", "/demo", {"rate": 200, "seconds": 60})
    assert begun.status == 201 and begun.json["runs"] and begun.json["rate"] == 200

    def rows() -> Any:
        latest = world.ask("GET", f"/queries/{name(next(iter(QUERIES)))}/answers/latest")
        return latest.status == 200 and latest.json["results"]["bindings"]

    row = until(rows)[0]
    assert {"name", "temperature", "lat", "long"} <= set(row)
    graphs = {one["graph"]: one["triples"] for one in world.ask("GET", "/static").json["graphs"]}
    assert graphs[GRAPH] == 160
    assert world.ask("DELETE", "/demo").status == 204
    assert world.ask("GET", "/demo").json["runs"] is False
    assert world.ask.push(triple("a", "b"), time=3_000).json["accepted"] == 1
    named = [one["name"] for one in world.ask("GET", "/queries").json["queries"]]
    assert named == [Q]
    assert world.ask("GET", f"/streams/{name(STREAM)}").json["elements"] > 0
