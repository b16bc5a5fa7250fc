"""The peers of the CQELS bench agree with each other, and the bench notices when they do not."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from bench import cqels
from bench.__main__ import discover, main
from bench.answers import fingerprint
from bench.data import World, generate_world
from bench.data.rdf_files import write_world
from bench.peers import PEERS, PeerModule
from bench.peers.process import PeerError, PeerProcess, PeerTimeoutError
from bench.peers.protocol import FastestVariant
from bench.windows import WindowContent, window_contents

pytest.importorskip("duckdb")
pyoxigraph = pytest.importorskip("pyoxigraph")

from bench.peers import duckdb_peer, oxigraph_peer  # noqa: E402 (they import what may be missing)

QUERIES = ("q1", "q2", "q3", "q4")


@pytest.fixture(scope="module")
def world() -> World:
    return generate_world(0.003)


@pytest.fixture(scope="module")
def folder(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("world")
    write_world(world, target, rate=10, seconds=1)
    world.save(target / "world.npz")
    return target


@pytest.fixture(scope="module")
def contents(world: World) -> list[WindowContent]:
    return list(window_contents(world.sightings(rate=40, seconds=90), [5, 31, 32, 33, 80]))


@pytest.fixture(scope="module")
def duckdb_loaded(world: World, folder: Path) -> duckdb_peer.Peer:
    peer = duckdb_peer.Peer()
    peer.load(world, folder)
    return peer


def bag(table: pa.Table) -> Counter[tuple[object, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def texts(table: pa.Table) -> Counter[tuple[object, ...]]:
    return bag(pa.table([c.cast(pa.string()) for c in table.columns], table.column_names))


def answers_by_hand(world: World, query: str, content: WindowContent) -> list[tuple[object, ...]]:
    """The answers as nested loops over dictionaries, after the text of the queries."""
    names = world.person_names().to_pylist()
    rooms = world.room_names().to_pylist()
    w30 = list(zip(content.w30_person.tolist(), content.w30_room.tolist(), strict=True))
    if query == "q1":
        return [(names[person], rooms[room]) for person, room in w30]
    papers: dict[int, list[int]] = {}
    for paper, person in zip(
        world.creator_paper.tolist(), world.creator_person.tolist(), strict=True
    ):
        papers.setdefault(person, []).append(paper)
    cites = set(zip(world.reference_paper.tolist(), world.reference_cited.tolist(), strict=True))
    rows: list[tuple[object, ...]] = []
    counts: dict[tuple[int, int, int], int] = {}
    now = zip(content.now_person.tolist(), content.now_room.tolist(), strict=True)
    for p1, room in now:
        for p2, room2 in w30:
            if room != room2 or p1 == p2:
                continue
            for a in papers.get(p1, []):
                for b in papers.get(p2, []):
                    named = (names[p1], names[p2], rooms[room])
                    if query == "q2" and a == b:
                        rows.append(named)
                    elif query == "q3":
                        rows += [named] * (((a, b) in cites) + ((b, a) in cites))
                    elif query == "q4" and (a, b) in cites:
                        counts[p1, p2, room] = counts.get((p1, p2, room), 0) + 1
    iris = world.person_iris().to_pylist()
    for (p1, p2, _), count in counts.items():
        if count == max(c for (other, _, _), c in counts.items() if other == p1):
            rows.append((iris[p1], iris[p2], count))
    return rows


@pytest.mark.parametrize("query", QUERIES)
def test_duckdb_in_every_variant_answers_as_worked_out_by_hand(
    query: str, world: World, duckdb_loaded: duckdb_peer.Peer, contents: list[WindowContent]
) -> None:
    found = 0
    for content in contents:
        expected = answers_by_hand(world, query, content)
        found += len(expected)
        for variant in duckdb_peer.variants(citing=True)[query]:
            answers = duckdb_loaded.run_variant(query, content, variant).answers
            assert bag(answers) == Counter(expected), variant
    assert found > 0


@pytest.mark.parametrize("as_written", [False, True])
def test_oxigraph_agrees_with_duckdb(
    as_written: bool,
    world: World,
    folder: Path,
    duckdb_loaded: duckdb_peer.Peer,
    contents: list[WindowContent],
) -> None:
    oxigraph = oxigraph_peer.Peer(as_written)
    oxigraph.load(world, folder)
    for query in QUERIES:
        for index, content in enumerate(contents):
            warm_up = index < 2
            expected = duckdb_loaded.evaluate(query, content, warm_up=True).answers
            answers = oxigraph.evaluate(query, content, warm_up).answers
            assert answers.column_names == expected.column_names
            assert texts(answers) == texts(expected), (query, content.time)


def test_both_decoders_of_oxigraph_give_the_same_table() -> None:
    store = pyoxigraph.Store()
    text = 'SELECT ?a ?b { VALUES (?a ?b) { (<http://x/y> "12") ("a,\\"b\\"" "01") } }'
    from_terms = oxigraph_peer.from_terms(store.query(text))
    assert from_terms.equals(oxigraph_peer.from_csv(store.query(text)))
    assert from_terms.to_pydict() == {"a": ["http://x/y", 'a,"b"'], "b": ["12", "01"]}


def test_a_peer_speaks_the_protocol(
    folder: Path, contents: list[WindowContent], duckdb_loaded: duckdb_peer.Peer, tmp_path: Path
) -> None:
    contents[1].save(tmp_path / "content.npz")
    request = {"query": "q2", "content": str(tmp_path / "content.npz"), "warm_up": True}
    with PeerProcess("duckdb", "bench.peers.duckdb_peer") as peer:
        loaded = peer.ask({"load": {"folder": str(folder), "world": str(folder / "world.npz")}}, 60)
        assert loaded["version"] == duckdb_peer.Peer.version
        answer = peer.ask(request, 60)
        expected = duckdb_loaded.evaluate("q2", contents[1], warm_up=True).answers
        assert answer["fingerprint"] == fingerprint(expected)
        assert answer["answers"] == expected.num_rows
        assert answer["ms"] > 0 and answer["window_ms"] > 0
        with pytest.raises(PeerError, match="no-such-file") as failure:
            peer.ask({"query": "q2", "content": "no-such-file"}, 60)
        assert failure.value.kind == "FileNotFoundError"


def test_a_peer_that_does_not_start_says_so_with_its_last_words() -> None:
    with (
        PeerProcess("nobody", "bench.peers.no_such_peer") as peer,
        pytest.raises(PeerError, match="No module named"),
    ):
        peer.ask({"load": {}}, 60)


def test_a_peer_that_takes_too_long_is_ended(folder: Path) -> None:
    with (
        PeerProcess("slow", "bench.peers.duckdb_peer") as peer,
        pytest.raises(PeerTimeoutError, match=r"no answer within 0\.001 s"),
    ):
        peer.ask({"load": {"folder": str(folder), "world": str(folder / "world.npz")}}, 0.001)


def test_the_fastest_variant_counts_and_a_new_warm_up_forgets() -> None:
    choice = FastestVariant({"q": ["a", "b"]})
    assert choice.to_run("q", warm_up=True) == ["a", "b"]
    for variant, ms in (("a", 9.0), ("b", 5.0), ("a", 1.0), ("b", 5.0), ("a", 9.0)):
        choice.note("q", variant, ms)
    assert choice.to_run("q", warm_up=False) == ["b"]
    choice.to_run("q", warm_up=True)
    choice.note("q", "a", 2.0)
    choice.note("q", "b", 3.0)
    assert choice.to_run("q", warm_up=False) == ["a"]


def arguments(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    cqels.add_arguments(parser)
    return parser.parse_args(["--scale", "0.003", "--rate", "40", "--evaluations", "2", *given])


@pytest.mark.parametrize("order", ["interleaved", "sequential"])
def test_rows_of_the_bench(order: str) -> None:
    report = cqels.run(arguments("--peers", "duckdb,oxigraph", "--warm-ups", "1", "--order", order))
    assert [(row["query"], row["rate"]) for row in report.rows] == [(q, 40) for q in QUERIES]
    for row in report.rows:
        assert row["scale"] == 0.003
        assert row["duckdb_p50_ms"] > 0 and row["oxigraph_p50_ms"] > 0
        assert row["answers"] > 0
        absent = ("p50_ms", "p95_ms", "window_ms", "spark_p50_ms")
        assert [row[key] for key in absent] == [None] * 4
    assert report.summary["order"] == order
    assert report.summary["peers"]["duckdb"]["q1@40"]["evaluations"] == 2


@pytest.mark.slow
def test_stock_spark_agrees() -> None:
    pytest.importorskip("pyspark")
    report = cqels.run(arguments("--peers", "duckdb,spark", "--warm-ups", "1"))
    assert all(row["spark_p50_ms"] > 0 for row in report.rows), report.summary["notes"]


def test_differing_answers_stop_the_bench(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    honest = PeerProcess.ask

    def one_row_missing(self: PeerProcess, request: dict[str, object], timeout: float) -> object:
        answer = honest(self, request, timeout)
        if self.name == "oxigraph" and "fingerprint" in answer:
            table = pa.table({"x": ["something else"]})
            answer["fingerprint"] = fingerprint(table)
        return answer

    monkeypatch.setattr(PeerProcess, "ask", one_row_missing)
    options = ["--peers", "duckdb,oxigraph", "--scale", "0.003", "--rate", "40", "--query", "q1"]
    assert main(["cqels", "--quick", *options]) == 1
    assert "q1 at rate 40, evaluation 0: duckdb answers" in capsys.readouterr().err


def test_a_missing_peer_is_null(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    absent = PeerModule("bench.peers.oxigraph_peer", ("no_such",), 0, 0)
    monkeypatch.setitem(PEERS, "oxigraph", absent)
    written = tmp_path / "results" / "cqels.json"
    options = ["--peers", "duckdb,oxigraph", "--scale", "0.003", "--rate", "40", "--query", "q2"]
    assert main(["cqels", "--quick", "--json", str(written), *options]) == 0
    result = json.loads(written.read_text(encoding="utf-8"))
    assert set(result) == {"name", "machine", "versions", "rows", "summary"}
    assert result["rows"][0]["oxigraph_p50_ms"] is None
    assert result["rows"][0]["duckdb_p50_ms"] > 0
    assert result["summary"]["notes"]["oxigraph"] == "not installed (no_such)"


def test_the_others_go_on_without_a_peer_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PeerProcess.ask

    def fails(self: PeerProcess, request: dict[str, object], timeout: float) -> object:
        if self.name == "oxigraph" and "query" in request:
            raise PeerError(self.name, "out of memory", "MemoryError")
        return honest(self, request, timeout)

    monkeypatch.setattr(PeerProcess, "ask", fails)
    report = cqels.run(arguments("--peers", "duckdb,oxigraph", "--query", "q2"))
    assert [row["oxigraph_p50_ms"] for row in report.rows] == [None]
    assert all(row["duckdb_p50_ms"] > 0 for row in report.rows)
    assert report.summary["notes"]["oxigraph"] == "ended: oxigraph: out of memory"


@pytest.mark.parametrize("quick", [[], ["--quick"]])
def test_the_others_go_on_without_a_peer_that_cannot_load(
    quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = PeerProcess.ask

    def fails(self: PeerProcess, request: dict[str, object], timeout: float) -> object:
        if self.name == "oxigraph" and "load" in request:
            raise PeerError(self.name, "out of memory", "MemoryError")
        return honest(self, request, timeout)

    monkeypatch.setattr(PeerProcess, "ask", fails)
    report = cqels.run(arguments("--peers", "duckdb,oxigraph", "--query", "q2", *quick))
    assert [row["oxigraph_p50_ms"] for row in report.rows] == [None]
    assert all(row["duckdb_p50_ms"] > 0 for row in report.rows)
    assert report.summary["notes"] == {"oxigraph": "oxigraph: out of memory"}
    assert set(report.summary["load_s"]) == {"duckdb"}


def test_unknown_peers_are_refused() -> None:
    with pytest.raises(SystemExit, match="unknown peer nobody"):
        cqels.run(arguments("--peers", "nobody"))


def test_benches_are_discovered() -> None:
    assert discover()["cqels"] is cqels
