"""As `tests.chaos.program`, from a topic of Kafka into another: ``python -m tests.chaos.kafka_to_kafka``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import sparkext
from sparkext import sources
from sparkext.sinks import KafkaSink
from tests.chaos.program import FACTS, PREFIX, QUERIES, SIGHTINGS, element, session

KINDS = ("window", "new", "pairs")
_A_MESSAGE = 5


def documents(elements: int) -> list[str]:
    """The sightings as documents of N-Quads, a few elements each."""
    found, lines, held = [], [], 0
    for number in range(elements):
        iri, one = element(number)
        if iri != SIGHTINGS:
            continue
        graph = f"<http://e/g{number}>"
        lines += [f"{line.removesuffix(' .')} {graph} ." for line in one.triples]
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(one.time_ms // 1000))
        lines.append(
            f'{graph} <http://www.w3.org/ns/prov#generatedAtTime> "{moment}.{one.time_ms % 1000:03d}Z"'
            "^^<http://www.w3.org/2001/XMLSchema#dateTime> ."
        )
        held += 1
        if held == _A_MESSAGE:
            found.append("\n".join(lines))
            lines, held = [], 0
    return [*found, "\n".join(lines)] if lines else found


def main(folder: Path, servers: str, read: str, written: str, elements: int) -> None:
    spark = session()
    engine = sparkext.Engine(spark, checkpoint=folder / "checkpoint")
    engine.insert(FACTS)
    stream = engine.register_stream(SIGHTINGS)
    for name in KINDS:
        sink = KafkaSink(servers, written, name=f"{written}-{name}")
        engine.register_query(PREFIX + QUERIES[name], name).subscribe(sink)
    frame = sources.kafka(spark, servers, read, starting="earliest", max_records=8)
    fed = stream.read(frame, str(folder / "offsets"))
    (folder / "ready").touch()
    while stream.accepted_count < elements:
        assert fed.exception() is None, fed.exception()
        time.sleep(0.05)
    fed.stop()
    engine.finish()
    engine.commit()
    (folder / "done").touch()
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
