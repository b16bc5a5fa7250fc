"""The generated tunnel: its files hold what the workload of the uncertainty paper says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from bench.data.__main__ import main
from bench.data.tunnel import KINDS, Tunnel
from bench.data.tunnel_files import START_MS, elements, query_names, query_text
from sparkext.language import parse_query
from sparkext.recorded_streams import read_recorded_stream
from sparkext.rewriting.lift_filters import apply_filter_scope

ox = pytest.importorskip("pyoxigraph")

SECTORS, SECONDS = 7, 4
SOSA = "http://www.w3.org/ns/sosa/"
TUNNEL = "http://example.org/ontology/"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("tunnel")
    arguments = ["--sectors", str(SECTORS), "--seconds", str(SECONDS), "--threshold", "0.6"]
    assert main(["tvs", "--out", str(target), *arguments]) == 0
    return target


def test_static_triples(folder: Path) -> None:
    triples = list(ox.parse(path=str(folder / "tunnel.nt"), format=ox.RdfFormat.N_TRIPLES))
    assert len(triples) == len(set(map(str, triples))) == 23 * SECTORS + 6
    kinds = Counter(t.object.value for t in triples if t.predicate.value == TYPE)
    assert kinds[f"{SOSA}Sensor"] == 4 * SECTORS + 4
    assert kinds[f"{TUNNEL}OxygenSensor2"] == kinds[f"{TUNNEL}TunnelSector"] == SECTORS
    assert kinds[f"{SOSA}ObservableProperty"] == 2 * SECTORS
    errors = {
        t.subject.value.removeprefix(TUNNEL): t.object.value
        for t in triples
        if t.predicate.value.endswith("uncertainty")
    }
    assert errors == {"OxygenSensor1": "U(-0.01,0.01)", "TemperatureSensor1": "U(-2,2)"}
    located = {t.subject.value for t in triples if t.predicate.value == f"{TUNNEL}location"}
    assert f"http://example.org/data/sensor/OxygenSensorType1#{SECTORS - 1}" in located
    assert len(located) == 4 * SECTORS


@pytest.mark.parametrize("stream", KINDS)
def test_recorded_streams_hold_the_elements(folder: Path, stream: str) -> None:
    read = read_recorded_stream(folder / f"{stream}.nq")
    assert read.set_aside == [] and read.ignored_triples == 0
    tunnel = Tunnel(SECTORS, SECONDS)
    made = [e for second in range(SECONDS) for e in elements(tunnel, stream, second)]
    assert len(made) == SECONDS * (SECTORS if stream.startswith("ox") else (SECTORS + 1) // 2)
    by_name = {e.graph: e for e in made}
    assert len(by_name) == len(made) == len(read.elements)
    for element in read.elements:
        same = by_name[element.graph]
        assert element.time_ms == same.time_ms
        assert set(element.triples) == set(same.triples)
        assert element.time_triple == same.time_triple
        assert len(same.triples) == (7 if stream.endswith("2") else 6)
    assert {e.time_ms - START_MS for e in made} == {1000 * s for s in range(SECONDS)}


def test_readings_have_the_distributions_of_the_workload() -> None:
    tunnel = Tunnel(sectors=2000, seconds=3)
    for stream, kind in KINDS.items():
        values = np.concatenate([tunnel.readings(stream, s) for s in range(3)]) / 10.0**kind.digits
        assert len(np.unique(values)) > 0.99 * len(values)
        low, high = kind.parameters
        if kind.normal:
            assert np.mean(values) == pytest.approx(low, abs=0.1 * high)
            assert np.std(values) == pytest.approx(high, rel=0.1)
        else:
            assert low <= values.min() < low + 0.01 * (high - low)
            assert high - 0.01 * (high - low) < values.max() <= high + 1e-8


def test_same_seed_same_bytes_and_another_seed_other_readings(folder: Path, tmp_path: Path) -> None:
    size = ["--sectors", str(SECTORS), "--seconds", str(SECONDS), "--threshold", "0.6"]
    main(["tvs", "--out", str(tmp_path / "same"), *size])
    main(["tvs", "--out", str(tmp_path / "other"), *size, "--seed", "1"])
    for path in folder.glob("*.n?"):
        assert (tmp_path / "same" / path.name).read_bytes() == path.read_bytes(), path.name
    other, path = (tmp_path / "other" / "ox1.nq").read_bytes(), folder / "ox1.nq"
    assert other != path.read_bytes()


def test_manifest(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["counts"] == {
        "static_triples": 23 * SECTORS + 6,
        "ox1_elements": SECTORS * SECONDS,
        "ox2_elements": SECTORS * SECONDS,
        "temp1_elements": 4 * SECONDS,
        "temp2_elements": 4 * SECONDS,
    }
    assert manifest["parameters"]["sectors"] == SECTORS


def test_queries_are_lifted_and_have_their_threshold(folder: Path) -> None:
    assert query_names() == [f"q{n}{variant}" for n in range(1, 7) for variant in "ab"]
    for name in query_names():
        text = (folder / "queries" / f"{name}.rspql").read_text(encoding="utf-8")
        assert text == query_text(name, 0.6) and "$" not in text
        assert (">= 0.6" in text) == (name[1] in "123")
        query = parse_query(text)
        assert bool(query.warnings) == (name[1] in "23")
        lifted = apply_filter_scope(query, "lift")
        assert not lifted.warnings


def test_a_and_b_differ_in_the_order_of_their_windows_only() -> None:
    for number in range(1, 7):
        first, second = (query_text(f"q{number}{variant}", 0.5) for variant in "ab")
        order_a, order_b = (
            [line for line in text.splitlines() if line.startswith("  WINDOW")]
            for text in (first, second)
        )
        assert order_a == order_b[::-1]
        names = {f":q{number}a": ":q", f":q{number}b": ":q"}

        def lines(text: str, names: dict[str, str] = names) -> Counter[str]:
            for name, shown in names.items():
                text = text.replace(name, shown)
            return Counter(line for line in text.splitlines() if not line.startswith("#"))

        assert lines(first) == lines(second)


def test_impossible_parameters_are_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["tvs", "--out", str(tmp_path), "--sectors", "0"])
    assert refused.value.code == 2
    assert "sectors and seconds must be at least 1" in capsys.readouterr().err
