"""The bench of large static data: a small world goes all the way, and wrong answers are found out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import scale
from bench.__main__ import discover
from bench.arrivals import ENCODED, numpy_peer
from bench.arrivals.rows import at_instant, second_tables
from bench.data import generate_world
from bench.large_static import one_size
from bench.large_static.making import TRIPLES_A_SCALE, Made, among_holders, make
from bench.large_static.resident import Resident, drop_cached_pages, files_below
from bench.large_static.serving import Answers, Served
from bench.peers.answers import fingerprint
from bench.peers.runs import AnswersDifferError


def arguments(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    scale.add_arguments(parser)
    return parser.parse_args(given)


def test_look_ups_among_badge_holders_answer_as_those_of_the_whole_world(tmp_path: Path) -> None:
    world = generate_world(0.003)
    rows = [at_instant(table, 1000) for table in second_tables(world, 100, 1)]
    whole, part = numpy_peer.Peer(), numpy_peer.Peer()
    whole.load(world, tmp_path)
    reached = among_holders(world)
    assert 0 < reached.papers < world.papers and reached.people == len(world.holders)
    part.load(reached, tmp_path)
    for query in scale.QUERIES:
        tables = []
        for peer in (whole, part):
            peer.begin(query)
            tables.append(peer.take(rows[0], 1000).table)
        assert len(tables[0]) > 0
        assert fingerprint(tables[0]) == fingerprint(tables[1]), query


@pytest.mark.parametrize("triples", [1_000, 100_000])
def test_a_world_has_about_as_many_triples_as_are_asked_for(triples: int, tmp_path: Path) -> None:
    made = make(tmp_path, triples, seed=7, rate=20, seconds=2)
    assert made.triples == pytest.approx(triples, rel=0.15)
    assert made.scale == triples / TRIPLES_A_SCALE
    assert made.generate_s is not None and made.generate_s > 0
    assert [path.exists() for path in [*made.static_files, *made.seconds]] == [True] * 4
    again = make(tmp_path, triples, seed=7, rate=20, seconds=2)
    assert again.generate_s is None and again.static_files == made.static_files
    assert make(tmp_path, triples, seed=8, rate=20, seconds=2).generate_s is not None


def test_resident_memory_of_this_process() -> None:
    held = np.ones(64 << 20, dtype=np.uint8)
    resident = Resident.of()
    assert resident.peak_mib >= resident.now_mib > len(held) >> 20
    assert resident.now_mib > resident.mapped_mib > 0


def test_files_whose_pages_are_dropped_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_bytes(b"some")
    drop_cached_pages(tmp_path)
    (path,) = files_below(tmp_path)
    assert path.read_bytes() == b"some"


def measured(ms: list[float]) -> one_size.Measured:
    served = Served(1.0, 0.5, {"q2": Answers(0.25, ms=ms)}, 1.0, Resident(1.0, 1.0, 1.0))
    nothing: Any = None
    return one_size.Measured(nothing, nothing, {"q2": served}, None, 0)


def test_growth_is_of_medians_of_the_largest_and_the_smallest() -> None:
    sizes = [measured([40.0] * 20 + [10.0] * 10), measured([7.0]), measured([60.0] * 30)]
    assert scale.growth(sizes) == {"q2": 1.5}
    assert scale.growth(sizes, scale.LAST_SECONDS) == {"q2": 6.0}
    assert scale.growth(sizes[:1]) == {}
    assert sizes[2].served["q2"].first_s("q2") == pytest.approx(0.5 + 0.25 + 0.06)


def test_too_few_triples_are_refused() -> None:
    with pytest.raises(SystemExit, match="at least 500 triples, not 10"):
        scale.run(arguments("--triples", "10"))


def test_the_bench_is_discovered() -> None:
    assert discover()["scale"] is scale


@pytest.mark.slow
def test_a_small_world_goes_all_the_way_and_a_wrong_answer_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[Made, dict[str, Served]]] = []
    honest = one_size.compare

    def compare(made: Made, served: dict[str, Served]) -> int:
        compared.append((made, served))
        return honest(made, served)

    monkeypatch.setattr(one_size, "compare", compare)
    given = ["--quick", "--triples", "5000", "--seconds", "2", "--query", "q2"]
    given += ["--data", str(tmp_path)]
    report = scale.run(arguments(*given))
    (row,) = report.rows
    assert set(scale.COLUMNS) <= set(row)
    others = {f"{query}_p{percent}_ms" for query in ("q1", "q3", "q4") for percent in (50, 95)}
    assert {key for key in scale.COLUMNS if row[key] is None} == {"cold_s", *others}
    assert all(row[key] > 0 for key in scale.COLUMNS if row[key] is not None)
    assert row["started_s"] > row["first_s"] > row["open_s"]
    assert row["disk_b"] == pytest.approx(row["terms_b"] + row["tables_b"], abs=0.02)
    assert list(report.summary["register_s"].values()) == [
        {"q2": pytest.approx(row["first_s"], rel=0.5)}
    ]
    assert report.summary["growth"] == {}
    assert files_below(tmp_path / "5000" / ENCODED)

    ((made, served),) = compared
    served["q2"].answers["q2"].fingerprints[1] = "0-something else"
    with pytest.raises(AnswersDifferError, match=r"q2, .* second 2: numpy answers"):
        honest(made, served)
