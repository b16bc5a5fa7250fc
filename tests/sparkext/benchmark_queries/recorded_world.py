"""Streams and static data of a benchmark as files, an engine's answers to its queries, and what `cqels check` says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.cli import main
from sparkext.recorded_streams import StreamElement, read_recorded_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.runtime.answering.answers import Answers

START = int(datetime(2026, 3, 2, 6, 0, tzinfo=UTC).timestamp())
PROV = "http://www.w3.org/ns/prov#generatedAtTime"
XSD = "http://www.w3.org/2001/XMLSchema#"


def number(value: float) -> str:
    """A decimal literal."""
    return f'"{value}"^^<{XSD}decimal>'


@dataclass(frozen=True)
class Element:
    """Triples, as N-Triples without their full stops, at a time in seconds from the start."""

    second: int
    triples: tuple[str, ...]


@dataclass(frozen=True)
class World:
    """Static data as N-Triples, and streams by their IRIs."""

    static: str
    streams: Mapping[str, Sequence[Element]]

    def write(self, folder: Path) -> tuple[Path, dict[str, Path]]:
        """The file of the static data, and those of the streams."""
        static = folder / "static.nt"
        static.write_text(self.static, encoding="utf-8")
        files = {}
        for count, (iri, elements) in enumerate(self.streams.items()):
            files[iri] = folder / f"stream-{count}.nq"
            files[iri].write_text("".join(_quads(iri, elements)), encoding="utf-8")
        return static, files


def _quads(iri: str, elements: Sequence[Element]) -> Iterable[str]:
    for count, element in enumerate(elements):
        graph = f"<{iri}/{count}>"
        yield from (f"{triple} {graph} .\n" for triple in element.triples)
        time = datetime.fromtimestamp(START + element.second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield f'{graph} <{PROV}> "{time}"^^<{XSD}dateTime> .\n'


def texts_of(folder: str) -> dict[str, Path]:
    """The queries of a benchmark by their names, in order of their numbers."""
    found = (Path(__file__).parent / folder).glob("q*.rspql")
    return {path.stem: path for path in sorted(found, key=lambda path: int(path.stem[1:]))}


def rows_checked(
    spark: SparkSession,
    world: World,
    queries: Mapping[str, Path],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> dict[str, int]:
    """How many rows, triples or truths each query has answered, all of them right by `cqels check`."""
    from sparkext import Engine

    static, files = world.write(folder)
    heard: dict[str, list[Answers]] = {name: [] for name in queries}
    with closing(Engine(spark)) as engine:
        engine.load_static(static)
        for iri in files:
            engine.register_stream(iri)
        for name, path in queries.items():
            text = path.read_text(encoding="utf-8")
            engine.register_query(text, name=name).subscribe(heard[name].append)
        for iri, element in merged(files):
            engine.stream(iri).push_elements([element])
        engine.finish()
    found = {}
    streams = [part for iri, file in files.items() for part in ("--stream", f"{iri}={file}")]
    for name, path in queries.items():
        used = [
            part
            for pair in zip(streams[::2], streams[1::2], strict=True)
            if f"<{pair[1].partition('=')[0]}>" in path.read_text(encoding="utf-8")
            for part in pair
        ]
        answers = folder / f"{name}.jsonl"
        lines = "".join(f"{one.to_json()}\n" for one in heard[name])
        answers.write_text(lines, encoding="utf-8")
        capsys.readouterr()
        given = [str(path), "--static", str(static), *used, "--answers", str(answers)]
        status = main(["check", *given])
        said = capsys.readouterr()
        assert status == 0, f"{name}: {said.out}{said.err}"
        assert said.out.startswith("correct: "), f"{name}: {said.out}"
        found[name] = sum(one.boolean for one in heard[name])
    return found


def merged(files: Mapping[str, Path]) -> list[tuple[str, StreamElement]]:
    """All elements with the IRIs of their streams, in order of time."""
    found = [
        (iri, element)
        for iri, file in files.items()
        for element in read_recorded_stream(file).elements
    ]
    return sorted(found, key=lambda pair: pair[1].time_ms)
