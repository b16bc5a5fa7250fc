"""Readings of sensors at places, in every form that some way in takes, and the queries over them.

Windows are of ten seconds. Each place lies in an area, which is static data; a query asks for the readings of one area.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.data.rdf_files import START
from bench.data.text_columns import content, joined, numbers
from bench.data.vocabulary import DATE_TIME, GENERATED_AT_TIME

EXAMPLE = "http://example.org/"
STREAM = f"{EXAMPLE}readings"
SENSORS = 5_000
PLACES = 1_000
AREAS = 100
WINDOW_MS = 10_000

_AT = f"<{EXAMPLE}at>"
# Where the stream begins, a whole number of windows after the epoch.
_BEGIN_MS = int(START.timestamp()) * 1000

MAPPING = f"""@prefix rr: <http://www.w3.org/ns/r2rml#> .

<{EXAMPLE}reading> a rr:TriplesMap ;
  rr:logicalTable [ rr:tableName "readings" ] ;
  rr:subjectMap [ rr:template "{EXAMPLE}sensor/{{sensor}}" ] ;
  rr:predicateObjectMap [
    rr:predicate {_AT} ;
    rr:objectMap [ rr:template "{EXAMPLE}place/{{place}}" ]
  ] .
"""


OBSERVATIONS = f"""@prefix rr: <http://www.w3.org/ns/r2rml#> .

<{EXAMPLE}observation> a rr:TriplesMap ;
  rr:logicalTable [ rr:tableName "readings" ] ;
  rr:subjectMap [ rr:template "{EXAMPLE}reading/{{number}}" ] ;
  rr:predicateObjectMap [
    rr:predicate <{EXAMPLE}by> ;
    rr:objectMap [ rr:template "{EXAMPLE}sensor/{{sensor}}" ]
  ] ;
  rr:predicateObjectMap [
    rr:predicate {_AT} ;
    rr:objectMap [ rr:template "{EXAMPLE}place/{{place}}" ]
  ] .
"""
"""Makes two triples with one subject, a new one each time, of a row."""


@dataclass(frozen=True)
class Readings:
    """Readings that follow each other: numbers of sensors and places, and times in milliseconds."""

    sensor: np.ndarray
    place: np.ndarray
    time: np.ndarray

    @staticmethod
    def of_window(number: int, window: int) -> Readings:
        """All readings of a window, in order of time."""
        rng = np.random.default_rng([17, number])
        ends = _BEGIN_MS + number * WINDOW_MS
        return Readings(
            rng.integers(0, SENSORS, window),
            rng.integers(0, PLACES, window),
            ends + 1 + np.arange(window) * (WINDOW_MS - 1) // window,
        )

    def __len__(self) -> int:
        return len(self.time)

    def first(self, count: int) -> Readings:
        """The first so many of them."""
        return Readings(self.sensor[:count], self.place[:count], self.time[:count])

    @property
    def end_ms(self) -> int:
        """The end of the window of the last one."""
        return -(-int(self.time[-1]) // WINDOW_MS) * WINDOW_MS

    def subjects(self) -> pa.Array:
        """The sensors as N-Triples text."""
        return joined(f"<{EXAMPLE}sensor/", numbers(self.sensor), ">")

    def objects(self) -> pa.Array:
        """The places as N-Triples text."""
        return joined(f"<{EXAMPLE}place/", numbers(self.place), ">")

    def lines(self) -> list[str]:
        """Each as N-Triples text."""
        return list(joined(self.subjects(), f" {_AT} ", self.objects(), " .").to_pylist())

    def terms(self, dictionary: bool) -> pa.Table:
        """The columns `subject`, `predicate`, `object` (N-Triples text, plain or codes of a dictionary) and `time`."""
        predicate = pa.DictionaryArray.from_arrays(np.zeros(len(self), np.int32), [_AT])
        columns = [self.subjects(), predicate.cast(pa.string()), self.objects()]
        if dictionary:
            columns = [column.dictionary_encode() for column in columns]
        names = ["subject", "predicate", "object", "time"]
        return pa.table([*columns, pa.array(self.time)], names=names)

    def numbers(self) -> pa.Table:
        """The columns `sensor`, `place` and `time`, as MAPPING has them."""
        return pa.table({"sensor": self.sensor, "place": self.place, "time": self.time})

    def numbered(self) -> pa.Table:
        """The columns of `numbers`, and a `number` of each reading in its window, as OBSERVATIONS has them."""
        numbered = pa.array(np.arange(len(self)) + int(self.time[0]) * 1000)
        return self.numbers().append_column("number", numbered)

    def append_quads(self, path: Path, number: int) -> None:
        """Add to a recorded stream in N-Quads: a named graph each, from this number on, and its time."""
        graph = joined(f"<{EXAMPLE}reading/", numbers(np.arange(number, number + len(self))), ">")
        stamps = np.datetime_as_string(self.time.astype("datetime64[ms]"), timezone="UTC")
        with path.open("ab") as out:
            out.write(
                content(
                    *(self.subjects(), f" {_AT} ", self.objects(), " ", graph, " .\n"),
                    *(graph, f' <{GENERATED_AT_TIME}> "', pa.array(stamps.astype(object))),
                    f'"^^<{DATE_TIME}> .\n',
                )
            )

    def answers(self, area: int, each: bool = False) -> Counter[tuple[str, str]]:
        """What the query of an area answers over the window that holds them all; `each`: once for every reading."""
        here = self.place % AREAS == area
        some = Readings(self.sensor[here], self.place[here], self.time[here])
        pairs = zip(some.subjects().to_pylist(), some.objects().to_pylist(), strict=True)
        return Counter(pairs if each else set(pairs))

    def answer_counts(self, each: bool = False) -> np.ndarray:
        """How many answers the query of each area has over the window that holds them all."""
        if each:
            return np.bincount(self.place % AREAS, minlength=AREAS)
        pairs = np.unique(self.sensor * PLACES + self.place)
        return np.bincount(pairs % PLACES % AREAS, minlength=AREAS)


def static_lines() -> str:
    """In which area each place lies, as N-Triples."""
    return "".join(
        f"<{EXAMPLE}place/{place}> <{EXAMPLE}area> <{EXAMPLE}area/{place % AREAS}> .\n"
        for place in range(PLACES)
    )


PATTERN = "?sensor :at ?place"
OBSERVED = "?reading :by ?sensor ; :at ?place"


def query_text(number: int, pattern: str = PATTERN) -> str:
    """A query that asks for the readings of one area; queries beyond AREAS ask what earlier ones ask."""
    return f"""PREFIX : <{EXAMPLE}>
REGISTER RSTREAM :query{number} AS
SELECT ?sensor ?place
FROM NAMED WINDOW :w ON <{STREAM}> [RANGE PT10S STEP PT10S]
WHERE {{
  WINDOW :w {{ {pattern} }}
  ?place :area <{EXAMPLE}area/{number % AREAS}> .
}}"""
