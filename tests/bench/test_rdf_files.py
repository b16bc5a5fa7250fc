"""The files of the generator: parsed by an independent parser, they hold the world's triples."""

from __future__ import annotations

import gzip
import json
from datetime import datetime
from pathlib import Path

import pytest

from bench.data import World, generate_world, vocabulary
from bench.data.__main__ import main

ox = pytest.importorskip("pyoxigraph")

SCALE, RATE, SECONDS = 0.002, 20, 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("world")
    arguments = ["--scale", str(SCALE), "--rate", str(RATE), "--seconds", str(SECONDS)]
    assert main(["dblp", "--out", str(target), *arguments]) == 0
    return target


@pytest.fixture(scope="module")
def world() -> World:
    return generate_world(SCALE)


def number(term: object, prefix: str) -> int:
    value = term.value  # type: ignore[attr-defined]
    assert value.startswith(prefix)
    return int(value.removeprefix(prefix))


def test_static_files_hold_the_triples_of_the_world(folder: Path, world: World) -> None:
    paths = sorted(folder.glob("dblp-*.nt.gz"))
    assert len(paths) == 2
    creators, references, names = set(), set(), {}
    count = 0
    for path in paths:
        for triple in ox.parse(gzip.decompress(path.read_bytes()), ox.RdfFormat.N_TRIPLES):
            count += 1
            predicate = triple.predicate.value
            if predicate == vocabulary.NAME:
                names[number(triple.subject, vocabulary.PERSON)] = triple.object.value
                continue
            paper = number(triple.subject, vocabulary.PAPER)
            if predicate == vocabulary.CREATOR:
                creators.add((paper, number(triple.object, vocabulary.PERSON)))
            else:
                assert predicate == vocabulary.REFERENCES
                references.add((paper, number(triple.object, vocabulary.PAPER)))
    pairs = zip(world.creator_paper.tolist(), world.creator_person.tolist(), strict=True)
    assert creators == set(pairs)
    pairs = zip(world.reference_paper.tolist(), world.reference_cited.tolist(), strict=True)
    assert references == set(pairs)
    assert [names[i] for i in range(world.people)] == world.person_names().to_pylist()
    assert count == len(creators) + len(references) + len(names)


def test_localization_names_the_rooms(folder: Path) -> None:
    triples = list(ox.parse(path=str(folder / "localization.ttl"), format=ox.RdfFormat.TURTLE))
    named = {t.subject.value: t.object.value for t in triples}
    assert len(named) == 100
    assert named[f"{vocabulary.ROOM}17"] == "Room 17"
    assert {t.predicate.value for t in triples} == {f"{vocabulary.LOC}name"}


def test_every_element_is_a_graph_with_a_time(folder: Path, world: World) -> None:
    expected = world.sightings(RATE, SECONDS)
    start = datetime.fromisoformat("2026-01-31T10:00:00+00:00")
    sighted, times = {}, {}
    for quad in ox.parse(path=str(folder / "sightings.nq"), format=ox.RdfFormat.N_QUADS):
        if isinstance(quad.graph_name, ox.DefaultGraph):
            assert quad.predicate.value == vocabulary.GENERATED_AT_TIME
            assert quad.object.datatype.value == vocabulary.DATE_TIME
            seconds = datetime.fromisoformat(quad.object.value) - start
            assert quad.subject.value not in times
            times[quad.subject.value] = seconds.total_seconds()
        else:
            assert quad.predicate.value == f"{vocabulary.LOC}at"
            pair = number(quad.subject, vocabulary.PERSON), number(quad.object, vocabulary.ROOM)
            assert quad.graph_name.value not in sighted
            sighted[quad.graph_name.value] = pair
    assert list(sighted.values()) == list(
        zip(expected.person.tolist(), expected.room.tolist(), strict=True)
    )
    assert [times[graph] for graph in sighted] == expected.time.tolist()


def test_manifest_states_counts_and_parameters(folder: Path, world: World) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["parameters"] == {
        "scale": SCALE,
        "seed": world.seed,
        "rate": RATE,
        "seconds": SECONDS,
    }
    assert manifest["counts"]["creators"] == len(world.creator_paper)
    assert manifest["counts"]["sightings"] == RATE * SECONDS
    assert manifest["static_files"] == ["dblp-0.nt.gz", "dblp-1.nt.gz"]
    queries = sorted(path.name for path in (folder / "queries").iterdir())
    assert queries == ["q1.rspql", "q2.rspql", "q3.rspql", "q4.rspql"]


def test_same_seed_same_bytes(folder: Path, tmp_path: Path) -> None:
    arguments = ["--scale", str(SCALE), "--rate", str(RATE), "--seconds", str(SECONDS)]
    main(["dblp", "--out", str(tmp_path), *arguments])
    for path in folder.glob("*.*"):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_impossible_parameters_are_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["dblp", "--out", str(tmp_path), "--scale", "0.002", "--rate", "0"])
    assert refused.value.code == 2
    assert "rate and seconds must be at least 1" in capsys.readouterr().err
