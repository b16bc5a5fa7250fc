"""Peers of the arrival bench in processes of their own, commands of other projects, and what rdflib leaves out."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench import arrival
from bench.arrivals.rows import write_seconds
from bench.data import World
from bench.peers.process import PeerError, PeerProcess, PeerTimeoutError
from bench.peers.runs import AnswersDifferError
from tests.bench.arrivals.tiny_runs import RATE, arguments

pytest.importorskip("duckdb")
pytest.importorskip("pyoxigraph")
pytest.importorskip("rdflib")

from bench.arrivals import rdflib_peer


def test_a_peer_speaks_the_protocol(folder: Path, tmp_path: Path, world: World) -> None:
    (rows,) = write_seconds(world, tmp_path / "rows", RATE, 1)
    with PeerProcess("numpy", "bench.arrivals.numpy_peer") as peer:
        loaded = peer.ask({"load": {"folder": str(folder), "world": str(folder / "world.npz")}}, 60)
        assert loaded["version"] == np.__version__
        assert peer.ask({"begin": "q1"}, 60) == {}
        request = {"rows": str(rows), "instant": 1000, "answer": True}
        answer = peer.ask(request, 60)
        assert answer["answers"] > 0 and answer["ms"] > 0
        with pytest.raises(PeerError, match="no-such-file") as failure:
            peer.ask({**request, "rows": "no-such-file"}, 60)
        assert failure.value.kind == "FileNotFoundError"


def test_a_peer_that_does_not_start_says_so_with_its_last_words() -> None:
    with (
        PeerProcess("nobody", "bench.arrivals.no_such_peer") as peer,
        pytest.raises(PeerError, match="No module named"),
    ):
        peer.ask({"load": {}}, 60)


def test_a_peer_that_takes_too_long_is_ended(folder: Path) -> None:
    with (
        PeerProcess("slow", "bench.arrivals.numpy_peer") as peer,
        pytest.raises(PeerTimeoutError, match=r"no answer within 0\.001 s"),
    ):
        peer.ask({"load": {"folder": str(folder), "world": str(folder / "world.npz")}}, 0.001)


PLUG_IN = """
import json, sys
import pyarrow as pa
from bench.arrivals.numpy_peer import Peer
from bench.arrivals.rows import rows_at
from bench.data.world import World
from pathlib import Path

peer, answers = Peer(), Path(sys.argv[1])
for line in sys.stdin:
    asked, told = json.loads(line), {}
    if "load" in asked:
        peer.load(World.load(Path(asked["load"]["world"])), Path(asked["load"]["folder"]))
        told = {"load_s": 0.1, "version": "1.0"}
    elif "begin" in asked:
        peer.begin(asked["begin"])
    else:
        table = peer.take(rows_at(asked["rows"], asked["instant"]), asked["instant"]).table
        names = table.column_names
        lines = [chr(9).join(row[name] for name in names) for row in table.to_pylist()]
        answers.write_text(chr(10).join([chr(9).join(names), *lines[int(sys.argv[2]):]]) + chr(10))
        told = {"ms": 2.5, "file": str(answers)}
    print(json.dumps(told), flush=True)
"""


@pytest.mark.parametrize("left_out", [0, 1])
def test_a_command_of_another_project_is_a_peer(tmp_path: Path, left_out: int) -> None:
    script = tmp_path / "engine.py"
    script.write_text(PLUG_IN, encoding="utf-8")
    command = f"{sys.executable} {script} {tmp_path / 'answers.tsv'} {left_out}"
    given = arguments("--peers", "numpy", "--peer", f"other={command}", "--query", "q4")
    if left_out:
        with pytest.raises(AnswersDifferError, match="other answers"):
            arrival.run(given)
        return
    (row,) = arrival.run(given).rows
    assert row["other_p50_ms"] == 2.5 and row["numpy_p50_ms"] > 0


@pytest.mark.parametrize("given", ["numpy=java", "no command", "x=", "a-b=c"])
def test_a_peer_without_a_name_of_its_own_or_a_command_is_refused(given: str) -> None:
    with pytest.raises(SystemExit, match="--peer: NAME=COMMAND"):
        arrival.run(arguments("--peer", given))


def test_rdflib_is_left_out_of_large_worlds(folder: Path) -> None:
    large = replace(World.load(folder / "world.npz"), people=rdflib_peer.MOST_PEOPLE + 1)
    with pytest.raises(NotImplementedError, match=r"--scale 0\.1"):
        rdflib_peer.Peer().load(large, folder)


@pytest.mark.parametrize("query", ["q3", "q4"])
def test_rdflib_leaves_out_what_takes_it_too_long(
    query: str, world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = rdflib_peer.Peer()
    peer.load(world, folder)
    monkeypatch.setattr(rdflib_peer, "MOST_PEOPLE_CITING", world.people - 1)
    peer.begin("q2")
    with pytest.raises(NotImplementedError, match=f"{query} left out"):
        peer.begin(query)
