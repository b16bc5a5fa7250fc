"""The tunnel as RDF: static triples, stream elements, recorded streams, and the queries with their threshold."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from string import Template

import numpy as np
import pyarrow as pa

from bench.data.text_columns import content, decimals, joined, numbers
from bench.data.tunnel import KINDS, Tunnel
from sparkext.recorded_streams import StreamElement

QUERIES = Path(__file__).resolve().parent.parent / "queries" / "tvs"
START = datetime(2021, 3, 1, 10, 0, 0, tzinfo=UTC)
START_MS = int(START.timestamp() * 1000)
STREAM = "http://example.org/"

_DATA = "http://example.org/data/"
_TUNNEL = "http://example.org/ontology/"
_SOSA = "http://www.w3.org/ns/sosa/"
_RSPU = "http://w3id.org/rsp/rspu#"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
_UNCERTAINTY = f"<{_RSPU}uncertainty>"
_RESULT = f"<{_SOSA}hasSimpleResult>"
_GENERATED = "<http://www.w3.org/ns/prov#generatedAtTime>"
_XSD = "http://www.w3.org/2001/XMLSchema#"


def query_names() -> list[str]:
    """q1a, q1b ... q6b."""
    return sorted(path.stem for path in QUERIES.glob("*.rspql"))


def query_text(name: str, threshold: float) -> str:
    """A query of the tunnel with its probability threshold filled in; q4a to q6b have none.

    >>> "0.4" in query_text("q1a", 0.4) and "$" not in query_text("q1a", 0.4)
    True
    """
    text = (QUERIES / f"{name}.rspql").read_text(encoding="utf-8")
    return Template(text).substitute(threshold=np.format_float_positional(threshold, trim="0"))


def timestamp(second: int) -> str:
    """The xsd:dateTime literal of a second of the streams.

    >>> timestamp(61)
    '"2021-03-01T10:01:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    """
    text = (START + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f'"{text}"^^<{_XSD}dateTime>'


def _distribution(text: str) -> str:
    return f'"{text}"^^<{_RSPU}distribution>'


def static_columns(tunnel: Tunnel) -> list[pa.Array]:
    """The static triples as N-Triples lines, a column for each kind of triple: 23 a sector, and 6 of the kinds."""
    sector = numbers(np.arange(tunnel.sectors))
    location = joined(f"<{_DATA}location/", sector, ">")
    columns = [
        joined(location, f" {_TYPE} <{_SOSA}FeatureOfInterest> .\n"),
        joined(location, f" {_TYPE} <{_TUNNEL}TunnelSector> .\n"),
        joined(location, f' {_LABEL} "Tunnel segment ', sector, '" .\n'),
    ]
    for quantity in ("temperature", "oxygen"):
        observed = joined(f"<{_DATA}{quantity}/", sector, ">")
        columns.append(joined(observed, f" {_TYPE} <{_SOSA}ObservableProperty> .\n"))
        columns.append(joined(observed, f' {_LABEL} "{quantity} of segment ', sector, '" .\n'))
    kinds = []
    for kind in KINDS.values():
        sensor = joined(f"<{_DATA}sensor/{kind.type_name}#", sector, ">")
        columns += [
            joined(sensor, f" {_TYPE} <{_SOSA}Sensor> .\n"),
            joined(sensor, f" {_TYPE} <{_TUNNEL}{kind.name}> .\n"),
            joined(sensor, f" <{_SOSA}observes> <{_DATA}{kind.quantity}/", sector, "> .\n"),
            joined(sensor, f" <{_TUNNEL}location> ", location, " .\n"),
        ]
        kinds.append(f"<{_TUNNEL}{kind.name}> {_TYPE} <{_SOSA}Sensor> .\n")
        if kind.kind_error:
            error = _distribution(kind.kind_error)
            kinds.append(f"<{_TUNNEL}{kind.name}> {_UNCERTAINTY} {error} .\n")
    return [*columns, pa.array(kinds)]


def write_static(tunnel: Tunnel, path: Path) -> int:
    """Writes the static triples as N-Triples; returns how many they are."""
    columns = static_columns(tunnel)
    with path.open("wb") as out:
        for column in columns:
            out.write(content(column))
    return sum(len(column) for column in columns)


def element_columns(tunnel: Tunnel, stream: str, second: int) -> tuple[pa.Array, list[pa.Array]]:
    """The names of a second's elements, `<...>`, and their triples without the ending ` .`, a column for each."""
    kind = KINDS[stream]
    sector = numbers(tunnel.measured(stream))
    value = joined(
        '"', decimals(tunnel.readings(stream, second), kind.digits), f'"^^<{_XSD}decimal>'
    )
    name = kind.type_name
    graph = joined(f"<{_DATA}graph/{name}_", sector, f"#{second}>")
    reading = joined(f"<{_DATA}observation/{name}/", sector, f"#{second}>")
    result = joined(reading, f" {_RESULT} ", value)
    columns = [
        joined(reading, f" {_TYPE} <{_SOSA}Observation>"),
        joined(reading, f" <{_SOSA}observedProperty> <{_DATA}{kind.quantity}/", sector, ">"),
        joined(reading, f" <{_SOSA}hasFeatureOfInterest> <{_DATA}location/", sector, ">"),
        joined(reading, f" <{_SOSA}madeBySensor> <{_DATA}sensor/{name}#", sector, ">"),
        joined(reading, f" <{_SOSA}resultTime> {timestamp(second)}"),
        result,
    ]
    if kind.reading_error:
        error = _distribution(kind.reading_error)
        columns.append(joined("<< ", result, f" >> {_UNCERTAINTY} {error}"))
    return graph, columns


def elements(tunnel: Tunnel, stream: str, second: int) -> list[StreamElement]:
    """The elements of one second, as an engine takes them."""
    graph, columns = element_columns(tunnel, stream, second)
    time = START_MS + second * 1000
    lines = zip(*(joined(column, " .").to_pylist() for column in columns), strict=True)
    dated = f"{_GENERATED} {timestamp(second)} ."
    return [
        StreamElement(time, name, triples, f"{name} {dated}")
        for name, triples in zip(graph.to_pylist(), lines, strict=True)
    ]


def write_stream(tunnel: Tunnel, stream: str, path: Path) -> int:
    """Writes a recorded stream as N-Quads-star; returns the number of its elements."""
    count = 0
    with path.open("wb") as out:
        for second in range(tunnel.seconds):
            graph, columns = element_columns(tunnel, stream, second)
            ending = joined(" ", graph, " .\n")
            parts = [part for column in columns for part in (column, ending)]
            dated = joined(graph, f" {_GENERATED} {timestamp(second)} .\n")
            out.write(content(*parts, dated))
            count += len(graph)
    return count


def write_tunnel(tunnel: Tunnel, folder: Path, threshold: float) -> dict[str, object]:
    """Writes all files of a tunnel into `folder` and returns what its manifest.json says."""
    if not 0 <= threshold <= 1:
        raise ValueError(f"a threshold is a probability, between 0 and 1, not {threshold}")
    folder.mkdir(parents=True, exist_ok=True)
    counts = {"static_triples": write_static(tunnel, folder / "tunnel.nt")}
    for stream in KINDS:
        counts[f"{stream}_elements"] = write_stream(tunnel, stream, folder / f"{stream}.nq")
    (folder / "queries").mkdir(exist_ok=True)
    for name in query_names():
        path = folder / "queries" / f"{name}.rspql"
        path.write_text(query_text(name, threshold), encoding="utf-8")
    manifest: dict[str, object] = {
        "kind": "tvs",
        "parameters": {
            "sectors": tunnel.sectors,
            "seconds": tunnel.seconds,
            "seed": tunnel.seed,
            "threshold": threshold,
        },
        "counts": counts,
        "streams": {f"{STREAM}{stream}": f"{stream}.nq" for stream in KINDS},
        "static_files": ["tunnel.nt"],
        "settings": {"spark.cqels.filterScope": "lift"},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return manifest
