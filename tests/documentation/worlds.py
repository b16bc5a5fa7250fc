"""Files that several pages speak of."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

PREFIXES = """@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix loc: <http://deri.org/localization/schema#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <http://example.org/> .
"""
QUERY = """PREFIX foaf: <http://xmlns.com/foaf/0.1/>
PREFIX loc:  <http://deri.org/localization/schema#>
PREFIX :     <http://example.org/>
REGISTER RSTREAM :q1 AS
SELECT ?name ?locName
FROM NAMED WINDOW :w30 ON <http://deri.org/locstreams> [RANGE PT30S]
WHERE {
  WINDOW :w30 { ?person loc:at ?loc }
  GRAPH <http://deri.org/localization/> { ?loc loc:name ?locName }
  ?person foaf:name ?name
}
"""
ANSWERS = (
    '{"time": "2026-01-31T10:00:00.000Z", "head": {"vars": ["name", "locName"]}, "results": {"bindings":'
    ' [{"name": {"type": "literal", "value": "Ann"}, "locName": {"type": "literal", "value": "Room 1"}}]}}\n'
)
OF_BOB = ' {"name": {"type": "literal", "value": "Bob"}, "locName": {"type": "literal", "value": "Room 2"}}'


def rooms() -> None:
    """People, rooms, sightings, a query over them and its answers, in the working directory."""
    Path("people.ttl").write_text(PREFIXES + ':ann foaf:name "Ann" . :bob foaf:name "Bob" .\n')
    Path("rooms.ttl").write_text(PREFIXES + ':r1 loc:name "Room 1" . :r2 loc:name "Room 2" .\n')
    Path("sightings.trig").write_text(
        PREFIXES
        + ':g1 prov:generatedAtTime "2026-01-31T10:00:00Z"^^xsd:dateTime . :g1 { :ann loc:at :r1 }\n'
        + ':g2 prov:generatedAtTime "2026-01-31T10:00:10Z"^^xsd:dateTime . :g2 { :bob loc:at :r2 }\n'
    )
    Path("q1.rspql").write_text(QUERY)
    both = ANSWERS.replace("10:00:00.000", "10:00:10.000").replace("}]}}", "}," + OF_BOB + "]}}")
    Path("answers.jsonl").write_text(ANSWERS + both)


def sensors() -> None:
    """A table of sensors as Parquet files."""
    Path("sensors").mkdir()
    table = pa.table({"sensor": [1, 2], "room": [10, 20], "threshold": [20.0, 30.0]})
    pq.write_table(table, "sensors/part.parquet")
