"""A city with sensors along its roads and in its garages: is my way to work free, and where can I park?

The data have the shape of CityBench's: traffic sensors that count cars and measure speeds, garages that count
cars, as two streams; roads, limits, garages and places as static data. The streams come as tables, a row an
observation.

    python examples/city_traffic.py
"""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql import SparkSession

import sparkext
from static_data.terms import Iri

START = int(datetime(2026, 3, 2, 7, 30, tzinfo=UTC).timestamp() * 1000)
MINUTES = 6

CITY = "http://example.org/city#"
TRAFFIC, PARKING = "http://example.org/streams/traffic", "http://example.org/streams/parking"

# Road: what it is called, its speed limit (km/h), and the district at its end.
ROADS = {
    "r1": ("Silkeborgvej", 60, "west"),
    "r2": ("Viborgvej", 70, "west"),
    "r3": ("Randersvej", 60, "north"),
    "r4": ("Åhavevej", 70, "centre"),
    "r5": ("Skovvejen", 50, "centre"),
}
MY_WAY = ("r1", "r4")
# Garage: name, places, district.
GARAGES = {
    "norreport": ("Nørreport", 80, "north"),
    "bruuns": ("Bruuns Galleri", 953, "centre"),
    "scandcenter": ("Scandinavian Center", 210, "centre"),
    "busgadehuset": ("Busgadehuset", 130, "centre"),
}

PREFIXES = "PREFIX : <http://example.org/city#>\n"

# On which roads of my way are cars slower than half the limit, on average over a minute? The average of a window is
# compared with what is known of the road.
SLOW_ROADS = """
REGISTER RSTREAM :slow AS
SELECT ?name ?speed ?limit
FROM NAMED WINDOW :minute ON <http://example.org/streams/traffic> [RANGE PT1M STEP PT1M]
WHERE {
  { SELECT ?road (AVG(?measured) AS ?speed)
    WHERE { WINDOW :minute { ?road :averageSpeed ?measured } } GROUP BY ?road }
  :myWay :leadsOver ?road .
  ?road :name ?name ; :speedLimit ?limit .
  FILTER(?speed < ?limit / 2)
}"""

# Two streams: garages with at least ten free places, in districts to which all roads are flowing. A query over two
# streams waits for both, so that its answers do not depend on which of them comes first.
WHERE_TO_PARK = """
REGISTER RSTREAM :park AS
SELECT ?name ?free
FROM NAMED WINDOW :cars  ON <http://example.org/streams/parking> [RANGE PT1M STEP PT1M]
FROM NAMED WINDOW :roads ON <http://example.org/streams/traffic> [RANGE PT1M STEP PT1M]
WHERE {
  WINDOW :cars { ?garage :parkedCars ?parked }
  ?garage :name ?name ; :places ?places ; :district ?district .
  BIND(?places - ?parked AS ?free)
  FILTER(?free >= 10)
  FILTER NOT EXISTS {
    ?road :endsIn ?district ; :speedLimit ?limit .
    WINDOW :roads { ?road :averageSpeed ?measured }
    FILTER(?measured < ?limit / 2)
  }
} ORDER BY DESC(?free) LIMIT 2"""


def static_city() -> str:
    """Roads, garages and my way, as N-Triples."""
    lines = [f"<{CITY}myWay> <{CITY}leadsOver> <{CITY}{road}> ." for road in MY_WAY]
    number = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    for road, (name, limit, district) in ROADS.items():
        lines.append(f'<{CITY}{road}> <{CITY}name> "{name}" .')
        lines.append(f'<{CITY}{road}> <{CITY}speedLimit> "{limit}"{number} .')
        lines.append(f'<{CITY}{road}> <{CITY}endsIn> "{district}" .')
    for garage, (name, places, district) in GARAGES.items():
        lines.append(f'<{CITY}{garage}> <{CITY}name> "{name}" .')
        lines.append(f'<{CITY}{garage}> <{CITY}places> "{places}"{number} .')
        lines.append(f'<{CITY}{garage}> <{CITY}district> "{district}" .')
    return "\n".join(lines)


def traffic(minute: int, chance: random.Random) -> pa.Table:
    """A minute's speeds, each road every 20 seconds: Silkeborgvej fills up in minutes 1 to 3, Skovvejen in 4."""
    rows = []
    for second in (20, 40, 60):
        for road, (_, limit, _) in ROADS.items():
            jam = (road == "r1" and 1 <= minute <= 3) or (road == "r5" and minute == 4)
            speed = limit * (chance.uniform(0.2, 0.4) if jam else chance.uniform(0.7, 1.0))
            rows.append((CITY + road, round(speed, 1), START + (minute * 60 + second) * 1000))
    return table(rows)


def parking(minute: int) -> pa.Table:
    """The cars in each garage at the end of a minute: they fill up, each at its pace."""
    share = {"norreport": 0.97, "bruuns": 0.93, "scandcenter": 0.78, "busgadehuset": 0.90}
    rows = [
        (
            CITY + garage,
            min(places, int(places * share[garage] + 7 * minute)),
            START + (minute + 1) * 60_000,
        )
        for garage, (_, places, _) in GARAGES.items()
    ]
    return table(rows)


def table(rows: list[tuple[str, float, int]]) -> pa.Table:
    """Rows as a table with the columns that make triples with a time."""
    subjects, objects, times = zip(*rows, strict=True)
    return pa.table({"subject": subjects, "object": objects, "time": times})


def main(spark: SparkSession) -> None:
    """Load the city, register both queries, let six minutes pass by."""
    chance = random.Random(7)
    engine = sparkext.Engine(spark)
    engine.insert(static_city())
    roads, garages = engine.register_stream(TRAFFIC), engine.register_stream(PARKING)

    def slow(answers: sparkext.Answers) -> None:
        if answers.empty:
            print(f"{clock(answers.time)}  my way is free")
        for name, speed, limit in answers.rows():
            print(
                f"{clock(answers.time)}  {plain(name)} is slow: {float(plain(speed)):.0f} km/h of {plain(limit)}"
            )

    def park(answers: sparkext.Answers) -> None:
        shown = [f"{plain(name)} ({plain(free)} free)" for name, free in answers.rows()]
        print(f"{clock(answers.time)}  park at {' or '.join(shown) or 'home'}")

    engine.register_query(PREFIXES + SLOW_ROADS).subscribe(slow)
    engine.register_query(PREFIXES + WHERE_TO_PARK).subscribe(park)

    for minute in range(MINUTES):
        # What is the same in all rows, the predicate, is given as a term; the rest are columns.
        roads.push_table(traffic(minute, chance), predicate=Iri(CITY + "averageSpeed"))
        garages.push_table(parking(minute), predicate=Iri(CITY + "parkedCars"))
    engine.finish()  # nothing more will come: the last window closes
    engine.close()


def plain(term: str) -> str:
    """A term for people: `70` for `"70"^^<http://www.w3.org/2001/XMLSchema#integer>`."""
    return term.split("^^")[0].strip('"')


def clock(time_ms: int) -> str:
    """The time of day of an instant."""
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%H:%M}"


if __name__ == "__main__":
    quiet = {"spark.log.level": "ERROR", "spark.ui.enabled": "false"}
    builder = SparkSession.builder.master("local[2]").appName("city traffic").config(map=quiet)
    main(sparkext.configure(builder).getOrCreate())
