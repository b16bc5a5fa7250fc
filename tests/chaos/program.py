"""A program that is killed at any moment, and begun again until its end: ``python -m tests.chaos.program``.

It pushes elements that depend on their number only, commits as it goes, and writes answers as lines, flushed at once.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

import sparkext
from sparkext.recorded_streams import StreamElement

E = "http://e/"
SIGHTINGS, DOORS = f"{E}sightings", f"{E}doors"
PREFIX = f"PREFIX : <{E}>\n"
FACTS = "\n".join(f"<{E}p{n}> <{E}likes> <{E}p{(n * 7) % 40}> ." for n in range(40))

QUERIES = {
    "window": f"""REGISTER RSTREAM :window AS SELECT ?x ?y ?z
        FROM NAMED WINDOW :w ON <{SIGHTINGS}> [RANGE 400 STEP 100]
        WHERE {{ WINDOW :w {{ ?x :at ?r . ?y :at ?r }} ?x :likes ?z FILTER(?x != ?y) }}""",
    "count": f"""REGISTER RSTREAM :count AS SELECT ?r (COUNT(*) AS ?n)
        FROM NAMED WINDOW :w ON <{SIGHTINGS}> [ELEMENTS 50 STEP 20]
        WHERE {{ WINDOW :w {{ ?x :at ?r }} }} GROUP BY ?r""",
    "new": f"""REGISTER ISTREAM :new AS SELECT ?x ?z
        FROM NAMED WINDOW :w ON <{SIGHTINGS}> [RANGE 300]
        WHERE {{ WINDOW :w {{ ?x :at :r1 }} ?x :likes ?z }}""",
    "counted": f"""REGISTER ISTREAM :counted COMPUTED EVERY 150 AS SELECT ?r (COUNT(?x) AS ?n)
        FROM NAMED WINDOW :w ON <{SIGHTINGS}> [RANGE 450]
        WHERE {{ WINDOW :w {{ ?x :at ?r }} }} GROUP BY ?r""",
    "gone": f"""REGISTER DSTREAM :gone AS SELECT ?x ?r
        FROM NAMED WINDOW :w ON <{SIGHTINGS}> [RANGE 200 STEP 50]
        FROM NAMED WINDOW :d ON <{DOORS}> [RANGE 900]
        WHERE {{ WINDOW :w {{ ?x :at ?r }} WINDOW :d {{ ?r :door ?o }} }}""",
    "pairs": f"""REGISTER RSTREAM :pairs AS SELECT ?x ?a ?b
        FROM NAMED WINDOW :w ON <{SIGHTINGS}> [RANGE 500]
        EVENT ON :w {{ ?x :at :r1 . ?x :seen ?a }} AS A EVENT ON :w {{ ?x :at :r2 . ?x :seen ?b }} AS B
        WHERE {{ MATCH CHRONOLOGICAL {{ A SEQ B WITHIN PT0.4S }} }}""",
    f"{E}made": f"""REGISTER RSTREAM <{E}made> AS CONSTRUCT {{ ?x :with ?y }}
        FROM NAMED WINDOW :w ON <{SIGHTINGS}> [RANGE 100 STEP 100]
        WHERE {{ WINDOW :w {{ ?x :at ?r . ?y :at ?r }} FILTER(?x != ?y) }}""",
    "of-made": f"""REGISTER ISTREAM :of-made AS SELECT ?x (COUNT(?y) AS ?n)
        FROM NAMED WINDOW :w ON <{E}made> [RANGE 500]
        WHERE {{ WINDOW :w {{ ?x :with ?y }} }} GROUP BY ?x""",
}

CORRECTED = ("window", "count", "new", "counted", "gone", f"{E}made")
"""Those that late elements correct."""


def element(number: int) -> tuple[str, StreamElement]:
    """The element of a number, and its stream."""
    random = Random(number)
    moment = 10_000 + 7 * number
    if number % 11 == 0:
        line = f"<{E}r{random.randint(0, 4)}> <{E}door> <{E}o{number % 6}> ."
        return DOORS, StreamElement(moment, None, (line,), None, ())
    person = f"<{E}p{random.randint(0, 39)}>"
    lines = (
        f"{person} <{E}at> <{E}r{random.randint(0, 4)}> .",
        f"{person} <{E}seen> <{E}sighting{number}> .",
    )
    return SIGHTINGS, StreamElement(moment, None, lines, None, ())


def shuffled(number: int) -> int:
    """Which element comes as the one of a number: each ten come in an order of their own.

    >>> sorted(map(shuffled, range(20))) == list(range(20)), shuffled(3) == 3
    (True, False)
    """
    block = list(range(number - number % 10, number - number % 10 + 10))
    Random(block[0] + 1).shuffle(block)
    return block[number % 10]


def session(master: str = "local[2]", **settings: str) -> SparkSession:
    builder = SparkSession.builder.master(master).appName("chaos")
    builder = builder.config("spark.ui.enabled", "false").config(
        "spark.cqels.checkpoint.interval", "50 ms"
    )
    for key, value in settings.items():
        builder = builder.config(key.replace("_", "."), value)
    spark = sparkext.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def line_of(answers: Any) -> str:
    rows = sorted(map(str, answers.rows()))
    told = {
        "query": answers.query,
        "time": answers.time,
        "sequence": answers.sequence,
        "revision": answers.revision,
        "rows": rows,
    }
    return json.dumps(told) + "\n"


def main(
    spark: SparkSession,
    folder: Path,
    elements: int,
    pause: float,
    checkpoint: bool,
    before_each: Callable[[int], object] = lambda number: None,
    names: Collection[str] = QUERIES.keys(),
    late: bool = False,
) -> None:
    """With `late`, elements come in another order than that of their times, and correct what was answered."""
    engine = sparkext.Engine(spark, checkpoint=folder / "checkpoint" if checkpoint else None)
    engine.insert(FACTS)
    given: dict[str, Any] = {"allowed_lateness": 100, "late": "correct"} if late else {}
    streams = {iri: engine.register_stream(iri, **given) for iri in (SIGHTINGS, DOORS)}
    # A torn last line is one that was never told.
    with (folder / "answers.jsonl").open("a") as out:

        def tell(answers: Any) -> None:
            out.write(line_of(answers))
            out.flush()

        for name in names:
            engine.register_query(PREFIX + QUERIES[name], name).subscribe(tell)
        (folder / "ready").touch()
        begun = max(stream.position or 0 for stream in streams.values())
        for number in range(begun, elements):
            before_each(number)
            iri, one = element(shuffled(number) if late else number)
            if (
                number % 50 == 17
            ):  # before the element, so that it is done again where that is pushed again
                engine.insert(f"<{E}p{number % 40}> <{E}likes> <{E}p{number % 7}> .")
            streams[iri].push_elements([one], position=number + 1)
            if pause:
                time.sleep(pause)
        engine.finish()
        if checkpoint:
            engine.commit()
    (folder / "done").touch()
    engine.close()


if __name__ == "__main__":
    kept, *some = sys.argv[4:]
    main(
        session(),
        Path(sys.argv[1]),
        int(sys.argv[2]),
        float(sys.argv[3]),
        "kept" in kept,
        names=some or (CORRECTED if "late" in kept else QUERIES.keys()),
        late="late" in kept,
    )
