"""A small world to try out: weather stations of a town, what they measure, and queries over both."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Final

from sparkext.recorded_streams import StreamElement

NAMESPACE: Final = "https://example.org/demo/"
STREAM: Final = f"{NAMESPACE}readings"
GRAPH: Final = f"{NAMESPACE}stations"
STATIONS: Final = 40

_GEO = "http://www.w3.org/2003/01/geo/wgs84_pos#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_DISTRICTS = ("Harbour", "Old Town", "Hillside", "Meadows", "Station Quarter")
_CENTRE = (53.2743, -9.0490)
_PREFIXES = f"PREFIX : <{NAMESPACE}>\nPREFIX geo: <{_GEO}>\n"

QUERIES: Final = {
    f"{NAMESPACE}now": f"""{_PREFIXES}REGISTER RSTREAM :now AS
SELECT ?name ?temperature ?humidity ?lat ?long
FROM NAMED WINDOW :second ON :readings [RANGE PT1S STEP PT1S]
WHERE {{
  WINDOW :second {{ ?station :temperature ?temperature ; :humidity ?humidity }}
  GRAPH :stations {{ ?station :name ?name ; geo:lat ?lat ; geo:long ?long }}
}}
""",
    f"{NAMESPACE}districts": f"""{_PREFIXES}REGISTER RSTREAM :districts AS
SELECT ?district (AVG(?temperature) AS ?mean) (MAX(?temperature) AS ?highest) (COUNT(*) AS ?readings)
FROM NAMED WINDOW :half ON :readings [RANGE PT30S STEP PT2S]
WHERE {{
  WINDOW :half {{ ?station :temperature ?temperature }}
  GRAPH :stations {{ ?station :district ?district }}
}}
GROUP BY ?district
""",
    f"{NAMESPACE}fronts": f"""{_PREFIXES}REGISTER RSTREAM :fronts AS
SELECT ?warm ?cold ?difference
FROM NAMED WINDOW :recent ON :readings [RANGE PT4S STEP PT2S]
WHERE {{
  WINDOW :recent {{ ?a :temperature ?t1 . ?b :temperature ?t2 }}
  GRAPH :stations {{ ?a :district ?d ; :name ?warm . ?b :district ?d ; :name ?cold }}
  BIND (?t1 - ?t2 AS ?difference)
  FILTER (?difference > 6)
}}
""",
}
"""Queries by name: what is measured now, means of districts, and stations of one district that differ much."""


@dataclass(frozen=True)
class Station:
    """A station, where it stands and how warm it is there on the whole."""

    iri: str
    name: str
    district: str
    lat: float
    long: float
    warmth: float


def stations() -> list[Station]:
    """The stations, always the same.

    >>> first = stations()[0]
    >>> first.name, first.district, len(stations())
    ('Harbour 1', 'Harbour', 40)
    """
    chance = random.Random(11)
    made = []
    for number in range(STATIONS):
        district = number % len(_DISTRICTS)
        turn = 2 * math.pi * district / len(_DISTRICTS)
        made.append(
            Station(
                f"{NAMESPACE}station/{number + 1}",
                f"{_DISTRICTS[district]} {number // len(_DISTRICTS) + 1}",
                _DISTRICTS[district],
                round(_CENTRE[0] + 0.02 * math.sin(turn) + chance.gauss(0, 0.005), 5),
                round(_CENTRE[1] + 0.035 * math.cos(turn) + chance.gauss(0, 0.008), 5),
                14 + 2 * district + chance.gauss(0, 1.5),
            )
        )
    return made


def stations_text(made: list[Station]) -> str:
    """What is known of stations, in N-Triples."""
    lines = []
    for one in made:
        lines += [
            f'<{one.iri}> <{NAMESPACE}name> "{one.name}" .',
            f'<{one.iri}> <{NAMESPACE}district> "{one.district}" .',
            f"<{one.iri}> <{_GEO}lat> {_decimal(one.lat, 5)} .",
            f"<{one.iri}> <{_GEO}long> {_decimal(one.long, 5)} .",
        ]
    return "\n".join(lines)


def readings(made: list[Station], first: int, count: int, time_ms: int) -> list[StreamElement]:
    """So many readings at a time, from the one with a number on: station after station.

    >>> [element.time_ms for element in readings(stations(), 0, 2, 5000)]
    [5000, 5000]
    """
    found = []
    for number in range(first, first + count):
        one = made[number % len(made)]
        chance = random.Random(number)
        seconds = time_ms / 1000
        wave = 4 * math.sin(seconds / 17 + one.long * 60) + 1.5 * math.sin(
            seconds / 5 + one.lat * 90
        )
        temperature = one.warmth + wave + chance.gauss(0, 0.4)
        humidity = 70 - 1.5 * (temperature - 15) + chance.gauss(0, 2)
        lines = (
            f"<{one.iri}> <{NAMESPACE}temperature> {_decimal(temperature, 2)} .",
            f"<{one.iri}> <{NAMESPACE}humidity> {_decimal(humidity, 1)} .",
        )
        found.append(StreamElement(time_ms, None, lines, None, ()))
    return found


def _decimal(value: float, digits: int) -> str:
    return f'"{value:.{digits}f}"^^<{_XSD}decimal>'
