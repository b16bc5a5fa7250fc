"""The arrival bench: all peers answer alike from the first second on, and the bench notices when they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from bench import arrival
from bench.__main__ import discover, main
from bench.arrivals import PEERS, engine_peer, numpy_peer
from bench.arrivals.minutes import PARTS, Minutes
from bench.arrivals.pair_windows import PairWindows
from bench.arrivals.rows import (
    RANGE_SECONDS,
    at_instant,
    rows_at,
    second_tables,
    static_tables,
    write_seconds,
)
from bench.arrivals.serving import ArrivalPeer
from bench.data import World
from bench.peers import OURS, PeerModule
from bench.peers.answers import fingerprint
from bench.peers.process import PeerError, PeerProcess
from tests.bench.arrivals.tiny_runs import RATE, arguments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("duckdb")
pytest.importorskip("pyoxigraph")
pytest.importorskip("rdflib")

from bench.arrivals import duckdb_peer, oxigraph_peer, rdflib_peer

QUERIES = ("q1", "q2", "q3", "q4")
SECONDS = RANGE_SECONDS + 3  # long enough that sightings leave the window


@pytest.fixture(scope="module")
def tables(world: World) -> list[pa.Table]:
    return list(second_tables(world, RATE, SECONDS))


def plain(table: pa.Table) -> Counter[tuple[str, ...]]:
    """Terms without brackets, quotes and datatypes."""
    columns = [
        [text.split("^^")[0].strip('<>"') for text in column.to_pylist()]
        for column in table.columns
    ]
    return Counter(zip(*columns, strict=True))


def pairs_in_windows(world: World, second: int) -> dict[str, list[tuple[int, int]]]:
    """The distinct pairs of people and rooms in NOW and in the last 30 seconds, by going through all sightings."""
    seen = world.sightings(RATE, SECONDS)
    rows = list(zip(seen.time.tolist(), seen.person.tolist(), seen.room.tolist(), strict=True))
    now = {(person, room) for time, person, room in rows if time == second}
    w30 = {(p, r) for time, p, r in rows if second - RANGE_SECONDS < time <= second}
    return {"now": sorted(now), "w30": sorted(w30)}


def answers_by_hand(
    world: World, query: str, now: list[tuple[int, int]], w30: list[tuple[int, int]]
) -> Counter[tuple[str, ...]]:
    """The answers as nested loops over dictionaries, after the text of the queries."""
    names = world.person_names().to_pylist()
    rooms = world.room_names().to_pylist()
    if query == "q1":
        return Counter((names[person], rooms[room]) for person, room in w30)
    papers: dict[int, list[int]] = {}
    creators = zip(world.creator_paper.tolist(), world.creator_person.tolist(), strict=True)
    for paper, person in creators:
        papers.setdefault(person, []).append(paper)
    cites = set(zip(world.reference_paper.tolist(), world.reference_cited.tolist(), strict=True))
    rows: list[tuple[str, ...]] = []
    counts: Counter[tuple[int, int, int]] = Counter()
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
                        counts[p1, p2, room] += 1
    iris = world.person_iris().to_pylist()
    for (p1, p2, _), count in counts.items():
        if count == max(c for (other, _, _), c in counts.items() if other == p1):
            rows.append((iris[p1], iris[p2], str(count)))
    return Counter(rows)


def answers_of(
    peer: ArrivalPeer, query: str, tables: list[pa.Table], start: int = 0
) -> list[pa.Table]:
    peer.begin(query)
    instants = range(start + 1000, start + 1000 * len(tables) + 1, 1000)
    return [
        peer.take(at_instant(table, instant), instant).table
        for table, instant in zip(tables, instants, strict=True)
    ]


def bytewax_peer() -> ArrivalPeer:
    pytest.importorskip("bytewax")
    from bench.arrivals.bytewax_peer import Peer

    return Peer()


@pytest.mark.parametrize(
    "make",
    [numpy_peer.Peer, duckdb_peer.Peer, oxigraph_peer.Peer, bytewax_peer],
)
def test_peers_answer_every_second_as_worked_out_by_hand(
    make: Callable[[], ArrivalPeer], world: World, folder: Path, tables: list[pa.Table]
) -> None:
    peer = make()
    peer.load(world, folder)
    windows = [pairs_in_windows(world, second) for second in range(SECONDS)]
    for turn, query in enumerate(QUERIES):
        expected = [answers_by_hand(world, query, **pairs) for pairs in windows]
        assert sum(map(Counter.total, expected)) > 0
        found = answers_of(peer, query, tables, turn * 1_000_000)
        assert [plain(table) for table in found] == expected, query


def test_rdflib_answers_as_the_look_ups(world: World, folder: Path, tables: list[pa.Table]) -> None:
    peer, look_ups = rdflib_peer.Peer(), numpy_peer.Peer()
    for one in (peer, look_ups):
        one.load(world, folder)
    for turn, query in enumerate(QUERIES):
        found = answers_of(peer, query, tables[:3], turn * 1_000_000)
        expected = answers_of(look_ups, query, tables[:3], turn * 1_000_000)
        assert list(map(fingerprint, found)) == list(map(fingerprint, expected)), query
    # Nobody was seen for half a minute: all have left but those of the second.
    peer.begin("q1")
    peer.pass_by(at_instant(tables[0], 1000), 1000)
    later = peer.take(at_instant(tables[1], 32_000), 32_000).table
    peer.begin("q1")
    assert fingerprint(later) == fingerprint(peer.take(at_instant(tables[1], 1000), 1000).table)


def test_the_engine_answers_as_the_look_ups_text_for_text(
    spark: SparkSession, world: World, folder: Path, tables: list[pa.Table]
) -> None:
    ours, look_ups = engine_peer.Peer(), numpy_peer.Peer()
    ours.open(spark, folder)
    look_ups.load(world, folder)
    try:
        for turn, query in enumerate(QUERIES):
            start = turn * 1_000_000
            found = answers_of(ours, query, tables, start)
            expected = answers_of(look_ups, query, tables, start)
            assert list(map(fingerprint, found)) == list(map(fingerprint, expected)), query
            assert found[-1].schema == expected[-1].schema
    finally:
        ours.close()
    again = engine_peer.Peer()  # from what the first one has saved
    again.open(spark, folder)
    try:
        again.begin("q1")
        answered = again.take(at_instant(tables[0], 1000), 1000)
    finally:
        again.close()
    assert fingerprint(answered.table) == fingerprint(answers_of(look_ups, "q1", tables[:1])[0])
    assert answered.evaluation_ms is not None and answered.evaluation_ms > 0
    assert answered.decode_ms is not None and answered.decode_ms > 0


def test_rows_come_back_from_their_files(world: World, tmp_path: Path) -> None:
    paths = write_seconds(world, tmp_path / "rows", RATE, 2)
    expected = list(second_tables(world, RATE, 2))
    found = rows_at(paths[1], 2000)
    assert found.drop_columns("time").equals(expected[1])
    assert found["time"].to_pylist() == [2000] * RATE
    iris = set(static_tables(world)["people"]["iri"].to_pylist())
    assert set(found["person"].to_pylist()) <= iris


def test_windows_in_arrays_hold_what_windows_hold(world: World, tables: list[pa.Table]) -> None:
    static = static_tables(world)
    windows = PairWindows(*(static[name]["iri"].to_pylist() for name in ("people", "rooms")))
    held: set[int] = set()
    for second, table in enumerate(tables):
        windows.arrive(at_instant(table, second * 1000), second * 1000)
        expected = pairs_in_windows(world, second)
        for pairs, name in ((windows.now, "now"), (np.sort(windows.alive), "w30")):
            found = windows.table(pairs).to_pydict()
            rows = list(zip(found["person"], found["room"], strict=True))
            assert rows == expected[name], (second, name)
        held = (held - set(windows.gone.tolist())) | set(windows.fresh.tolist())
        assert held == set(windows.alive.tolist())
    windows.clear()
    assert not len(windows.alive) and not windows.is_alive(np.arange(world.people)).any()


class Slow:
    """A peer that says to have needed 100 ms for each answer; of the seconds that it answers it keeps the list."""

    name = "numpy"

    def __init__(self) -> None:
        self.answered: list[int] = []
        self.instants: list[int] = []

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        if "begin" in request:
            return {}
        self.instants.append(request["instant"])
        if not request["answer"]:
            return {}
        self.answered.append(len(self.instants) - 1)
        parts = dict.fromkeys(PARTS)
        return {"ms": 100.0, "answers": 1, "fingerprint": "1-a", **parts}


def test_a_slow_peer_answers_seconds_from_the_first_on_spread_over_the_minute() -> None:
    paths = [Path(str(second)) for second in range(20)]
    minutes = Minutes(peers=PEERS, seconds={RATE: paths}, budget_s=0.4, limit_s=1.0)
    peer = Slow()
    minutes.run(peer, "q1", RATE)  # type: ignore[arg-type]
    assert peer.answered == [0, 1, 10, 15]
    assert np.diff(peer.instants).tolist() == [1000] * 19
    assert minutes.row("q1", RATE, 1.0)["numpy_p50_ms"] == 100.0
    slowest = Slow()
    sure = Minutes(peers=PEERS, seconds={RATE: paths}, budget_s=0.4, limit_s=1.0, least=5)
    sure.run(slowest, "q1", RATE)  # type: ignore[arg-type]
    assert slowest.answered == [0, 1, 4, 8, 12, 16]
    unbound = Minutes(peers=PEERS, seconds={RATE: paths}, budget_s=100.0, limit_s=1.0)
    unbound.run(Slow(), "q1", RATE)  # type: ignore[arg-type]
    assert unbound.details(lambda measured: len(measured.ms)) == {"numpy": {f"q1@{RATE}": 20}}


def test_rows_of_a_tiny_run() -> None:
    report = arrival.run(arguments("--peers", "duckdb,oxigraph,numpy"))
    assert [(row["query"], row["rate"]) for row in report.rows] == [(q, RATE) for q in QUERIES]
    for row in report.rows:
        assert set(arrival.COLUMNS) <= set(row)
        for peer in ("duckdb", "oxigraph", "numpy"):
            assert row[f"{peer}_p50_ms"] > 0 and row[f"{peer}_first_answer_ms"] > 0
        absent = ("p50_ms", "p95_ms", "evaluation_ms", "upkeep_ms", "decode_ms", "spark_p50_ms")
        assert [row[key] for key in absent] == [None] * len(absent)
    assert report.rows[0]["answers"] > 0
    assert report.summary["answered"]["numpy"] == {f"{query}@{RATE}": 3 for query in QUERIES}


@pytest.mark.slow
def test_ours_and_stock_spark_in_processes_of_their_own() -> None:
    report = arrival.run(arguments("--peers", "cqels,spark,numpy", "--query", "q2"))
    (row,) = report.rows
    assert row["spark_p50_ms"] > 0 and row["first_answer_ms"] > 0, report.summary["notes"]
    parts = [row[part] for part in ("evaluation_ms", "upkeep_ms", "decode_ms")]
    assert min(parts) > 0 and max(parts) < row["p95_ms"]
    assert set(report.summary["ours_to_peer"][f"q2@{RATE}"]) == {"spark", "numpy"}


def with_answers(
    monkeypatch: pytest.MonkeyPatch, name: str, change: dict[str, object] | PeerError
) -> None:
    """Have a peer of this name tell something else when it answers."""
    honest = PeerProcess.ask

    def ask(self: PeerProcess, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        answer = honest(self, request, timeout)
        if self.name == name and "fingerprint" in answer:
            if isinstance(change, PeerError):
                raise change
            answer |= change
        return answer

    monkeypatch.setattr(PeerProcess, "ask", ask)


def test_a_peer_that_answers_wrongly_is_found_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_answers(monkeypatch, "duckdb", {"fingerprint": "0-something else"})
    options = ["--peers", "numpy,duckdb", "--scale", "0.003", "--rate", "40", "--query", "q1"]
    assert main(["arrival", "--quick", *options]) == 1
    assert "q1 at rate 40, second 0: numpy answers" in capsys.readouterr().err


def test_the_others_go_on_without_a_peer_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    with_answers(monkeypatch, "duckdb", PeerError("duckdb", "out of memory", "MemoryError"))
    report = arrival.run(arguments("--peers", "duckdb,numpy", "--query", "q1", "--query", "q2"))
    assert [row["duckdb_p50_ms"] for row in report.rows] == [None, None]
    assert all(row["numpy_p50_ms"] > 0 for row in report.rows)
    assert report.summary["notes"] == {"duckdb": "ended: duckdb: out of memory"}


def test_a_missing_peer_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PEERS, "oxigraph", PeerModule("bench.no_such", ("no_such",)))
    report = arrival.run(arguments("--peers", "oxigraph,numpy", "--query", "q1"))
    assert report.rows[0]["oxigraph_p50_ms"] is None
    assert report.summary["notes"]["oxigraph"] == "not installed (no_such)"


@pytest.mark.parametrize("quick", [[], ["--quick"]])
def test_the_others_go_on_without_a_peer_that_cannot_load(
    quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = PeerProcess.ask

    def fails(self: PeerProcess, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        if self.name == "oxigraph" and "load" in request:
            raise PeerError(self.name, "out of memory", "MemoryError")
        return honest(self, request, timeout)

    monkeypatch.setattr(PeerProcess, "ask", fails)
    report = arrival.run(arguments("--peers", "oxigraph,numpy", "--query", "q2", *quick))
    assert [row["oxigraph_p50_ms"] for row in report.rows] == [None]
    assert report.rows[0]["numpy_p50_ms"] > 0
    assert report.summary["notes"] == {"oxigraph": "oxigraph: out of memory"}
    assert set(report.summary["load_s"]) == {"numpy"}


def test_what_is_wrong_with_this_engine_ends_the_bench() -> None:
    minutes = Minutes(peers=PEERS, seconds={}, budget_s=1.0, limit_s=1.0)
    with pytest.raises(PeerError, match="boom"):
        minutes.left_out(OURS, PeerError(OURS, "boom", "RuntimeError"))


def test_unknown_peers_are_refused() -> None:
    with pytest.raises(SystemExit, match="unknown peer nobody"):
        arrival.run(arguments("--peers", "nobody"))


def test_the_bench_is_discovered() -> None:
    assert discover()["arrival"] is arrival
