"""Weather stations whose measurements are rows: a mapping says which triples a row stands for.

The data have the shape of SRBench's, the queries are two of its questions: where is it mild and windy, and is
there a blizzard? Stations come from a CSV file, observations as tables; nobody writes triples.

    python examples/weather_stations.py
"""

from __future__ import annotations

import random
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import sparkext

START = datetime(2026, 1, 12, 6, 0, tzinfo=UTC)
WEATHER = "http://example.org/weather#"

STATIONS_CSV = """code,name,state,altitude
A01,Alpine Ridge,Wyoming,2410
B02,Boulder Creek,Colorado,1650
C03,Cedar Flats,Utah,1320
D04,Delta Point,Louisiana,4
"""

# In YARRRML, the short form of RML: a station's IRI is made of its code, its altitude is a number.
STATIONS_MAPPING = """
prefixes:
  w: http://example.org/weather#
  xsd: http://www.w3.org/2001/XMLSchema#
mappings:
  station:
    sources:
      - [stations.csv~csv]
    s: http://example.org/station/$(code)
    po:
      - [a, w:Station]
      - [w:name, $(name)]
      - [w:state, $(state)]
      - [w:altitude, $(altitude), xsd:integer]
"""

# In RML: one row is one observation of a station, with three values and the time at which it was made. The
# time is not said in the mapping but when the stream is registered.
OBSERVATIONS_MAPPING = """
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix : <http://example.org/weather#> .

:Observations
  rml:logicalSource [ rml:source "observations"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rr:template "http://example.org/observation/{station}/{at}" ];
  rr:predicateObjectMap
    [ rr:predicate :by; rr:objectMap [ rr:template "http://example.org/station/{station}" ] ],
    [ rr:predicate :fahrenheit; rr:objectMap [ rml:reference "fahrenheit" ] ],
    [ rr:predicate :windSpeed; rr:objectMap [ rml:reference "wind" ] ],
    [ rr:predicate :visibility; rr:objectMap [ rml:reference "visibility" ] ] .
"""

PREFIXES = "PREFIX : <http://example.org/weather#>\n"

# "The average wind speed at the stations where the air temperature is above 32 degrees in the last hour,
# every 10 minutes." (Here every 30.)
MILD_AND_WINDY = """
REGISTER RSTREAM :mild AS
SELECT ?name (AVG(?speed) AS ?wind)
FROM NAMED WINDOW :hour ON <http://example.org/observations> [RANGE PT1H STEP PT30M]
WHERE {
  WINDOW :hour { ?seen :by ?station ; :fahrenheit ?degrees ; :windSpeed ?speed }
  ?station :name ?name .
  FILTER(?degrees > 32)
} GROUP BY ?name ORDER BY DESC(?wind) LIMIT 1"""

# "Detect if a station is observing a blizzard": cold, a strong wind and no view, for three observations of an hour.
BLIZZARD = """
REGISTER ISTREAM :blizzard AS
SELECT ?name ?state ?altitude
FROM NAMED WINDOW :hour ON <http://example.org/observations> [RANGE PT1H STEP PT10M]
WHERE {
  { SELECT ?station (COUNT(*) AS ?times)
    WHERE {
      WINDOW :hour { ?seen :by ?station ; :fahrenheit ?degrees ; :windSpeed ?speed ; :visibility ?miles }
      FILTER(?degrees < 32 && ?speed > 35 && ?miles < 0.25)
    } GROUP BY ?station HAVING(COUNT(*) >= 3) }
  ?station :name ?name ; :state ?state ; :altitude ?altitude .
}"""


def observations(minute: int, chance: random.Random) -> pa.Table:
    """What all stations measure at a minute: the ridge has a blizzard from minute 40 to 80."""
    at = START + timedelta(minutes=minute)
    rows = []
    for station, usual in (("A01", 15.0), ("B02", 28.0), ("C03", 38.0), ("D04", 61.0)):
        blizzard = station == "A01" and 40 <= minute <= 80
        rows.append(
            {
                "station": station,
                "at": at,
                "fahrenheit": round(usual + chance.uniform(-2, 2), 1),
                "wind": round(chance.uniform(38, 52) if blizzard else chance.uniform(4, 14), 1),
                "visibility": 0.1 if blizzard else 8.0,
            }
        )
    return pa.Table.from_pylist(rows)


def main(spark: SparkSession) -> None:
    """Map the stations, register the stream with its mapping, let two hours of observations pass by."""
    chance = random.Random(2012)
    engine = sparkext.Engine(spark)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "stations.csv").write_text(STATIONS_CSV, encoding="utf-8")
        (folder / "stations.yml").write_text(STATIONS_MAPPING, encoding="utf-8")
        (folder / "observations.ttl").write_text(OBSERVATIONS_MAPPING, encoding="utf-8")
        report = engine.load_static(
            folder / "stations.csv", mapping=folder / "stations.yml", progress=False
        )
        print(report.quads_added, "triples of", STATIONS_CSV.count("\n") - 1, "stations")
        stream = engine.register_stream(
            "http://example.org/observations", mapping=folder / "observations.ttl", time="at"
        )

    def mild(answers: sparkext.Answers) -> None:
        for name, wind in answers.rows():
            print(
                f"{clock(answers.time)}  windiest of the mild: {plain(name)}, {float(plain(wind)):.1f} mph"
            )

    def blizzard(answers: sparkext.Answers) -> None:
        for row in answers.rows():
            name, state, altitude = map(plain, row)
            print(f"{clock(answers.time)}  BLIZZARD at {name}, {state}, {altitude} m")

    engine.register_query(PREFIXES + MILD_AND_WINDY).subscribe(mild)
    engine.register_query(PREFIXES + BLIZZARD).subscribe(blizzard)
    for minute in range(0, 121, 10):
        stream.push_table(observations(minute, chance))
    engine.finish()
    print(stream.accepted_count, "rows came,", stream.malformed_count, "were set aside")
    engine.close()


def plain(term: str) -> str:
    """A term for people: `4` for `"4"^^<http://www.w3.org/2001/XMLSchema#integer>`."""
    return term.split("^^")[0].strip('"')


def clock(time_ms: int) -> str:
    """The time of day of an instant."""
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%H:%M}"


if __name__ == "__main__":
    quiet = {"spark.log.level": "ERROR", "spark.ui.enabled": "false"}
    builder = SparkSession.builder.master("local[2]").appName("weather").config(map=quiet)
    main(sparkext.configure(builder).getOrCreate())
