"""As `tests.chaos.program`, fed by Structured Streaming: ``python -m tests.chaos.structured``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import sparkext
from tests.chaos.program import FACTS, PREFIX, QUERIES, SIGHTINGS, element, line_of, session

KINDS = ("window", "new", "gone-here", "pairs")
HERE = {
    **QUERIES,
    "gone-here": f"""REGISTER DSTREAM :gone AS SELECT ?x ?r
        FROM NAMED WINDOW :w ON <{SIGHTINGS}> [RANGE 200 STEP 50]
        WHERE {{ WINDOW :w {{ ?x :at ?r }} }}""",
}
SCHEMA = "subject STRING, predicate STRING, object STRING, graph STRING, time BIGINT"
_A_FILE = 20


def write_source(folder: Path, elements: int) -> None:
    """Files that a stream of files reads in the order of their names, and of their times of writing."""
    folder.mkdir()
    for first in range(0, elements, _A_FILE):
        rows = []
        for number in range(first, min(first + _A_FILE, elements)):
            iri, one = element(number)
            if iri == SIGHTINGS:
                for line in one.triples:
                    subject, predicate, value = line.removesuffix(" .").split(" ", 2)
                    rows.append(
                        f'"{subject}","{predicate}","{value}","http://e/g{number}",{one.time_ms}'
                    )
        file = folder / f"part-{first:06d}.csv"
        file.write_text("\n".join(rows) + "\n")
        os.utime(
            file, (1_700_000_000 + first, 1_700_000_000 + first)
        )  # they are read in this order


def main(folder: Path, elements: int, checkpoint: bool) -> None:
    source = folder / "source"
    if not source.exists():
        write_source(folder / "being-written", elements)
        (folder / "being-written").rename(source)
    spark = session()
    engine = sparkext.Engine(spark, checkpoint=folder / "checkpoint" if checkpoint else None)
    engine.insert(FACTS)
    stream = engine.register_stream(SIGHTINGS)
    with (folder / "answers.jsonl").open("a") as out:

        def tell(answers: Any) -> None:
            out.write(line_of(answers))
            out.flush()

        for name in KINDS:
            engine.register_query(PREFIX + HERE[name], name).subscribe(tell)
        frame = (
            spark.readStream.schema(SCHEMA)
            .option("maxFilesPerTrigger", 1)
            .option("latestFirst", False)
            .csv(str(source))
        )
        fed = stream.read(frame, str(folder / "offsets"))
        (folder / "ready").touch()
        fed.processAllAvailable()
        fed.stop()
        engine.finish()
        if checkpoint:
            engine.commit()
    (folder / "done").touch()
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "kept")
