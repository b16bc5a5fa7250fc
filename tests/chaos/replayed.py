"""`cqels run` with a checkpoint over a recorded stream: ``python -m tests.chaos.replayed``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sparkext.cli import main as cqels
from tests.chaos.killed import Told
from tests.chaos.program import FACTS, PREFIX, QUERIES, SIGHTINGS, element

NAME = "new"


def write_recording(file: Path, elements: int) -> None:
    """The sightings as N-Quads, their times in time triples."""
    lines = []
    for number in range(elements):
        iri, one = element(number)
        if iri == SIGHTINGS:
            graph = f"<http://e/g{number}>"
            lines += [f"{line.removesuffix(' .')} {graph} ." for line in one.triples]
            moment = f"1970-01-01T00:{one.time_ms // 60000:02d}:{one.time_ms % 60000 / 1000:06.3f}Z"
            lines.append(
                f'{graph} <http://www.w3.org/ns/prov#generatedAtTime> "{moment}"'
                "^^<http://www.w3.org/2001/XMLSchema#dateTime> ."
            )
    file.write_text("\n".join(lines) + "\n")


def told(folder: Path) -> Told:
    """What was told, as `tests.chaos.killed.told` has it: here each instant once, in order."""
    lines = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    times = [line["time"] for line in lines]
    assert times == sorted(set(times))
    return {(NAME, line["time"], 0): (0, (json.dumps(line["results"]),)) for line in lines}


def main(folder: Path, elements: int, checkpoint: bool) -> None:
    recording, query, static = folder / "s.nq", folder / "q.rspql", folder / "facts.nt"
    if not static.exists():
        write_recording(recording, elements)
        query.write_text(PREFIX + QUERIES[NAME])
        static.write_text(FACTS)
    arguments = ["run", str(query), "--static", str(static)]
    arguments += ["--stream", f"{SIGHTINGS}={recording}", "--out", str(folder / "answers.jsonl")]
    arguments += ["--set", "spark.cqels.checkpoint.interval=50 ms"]
    if checkpoint:
        arguments += ["--checkpoint", str(folder / "checkpoint")]
    (folder / "ready").touch()
    status = cqels(arguments)
    assert status == 0, status
    (folder / "done").touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "kept")
