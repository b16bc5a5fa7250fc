"""Files of recorded streams, made ready to be read line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from sparkext.recorded_streams.reader import format_of, reading_file
from sparkext.recorded_streams.trig_statements import read_trig
from static_data.files.packings import open_unpacked
from static_data.files.rdf_formats import RdfFormat
from static_data.files.reading import Reading


@dataclass(frozen=True)
class RecordingFile:
    """One file: what a user calls it, where its lines are, and how they are packed ("": they are not).

    With `noted`, the lines are canonical ones of another format, with notes that LineStatements.scala reads.
    """

    name: str
    lines: Path
    packing: str = ""
    noted: bool = False


@contextmanager
def recording_folder() -> Iterator[Path]:
    """A temporary folder for what `recording_file` writes."""
    with TemporaryDirectory(prefix="cqels-recordings-") as folder:
        yield Path(folder)


def recording_file(file: str | Path, folder: Path, reading: Reading) -> RecordingFile:
    """Look into a file; one of TriG(-star) is written to `folder` as lines of N-Quads-star.

    Raises InputFileError for a file that is missing, packed wrongly or of another format.
    """
    path = Path(file)
    kind, most = format_of(path), reading.most_expansion
    if kind.rdf is RdfFormat.N_QUADS:
        with (
            reading_file(path, kind.compression),
            open_unpacked(path, kind.compression, most) as stream,
        ):
            stream.read(1)
        return RecordingFile(str(file), path, kind.compression.value)
    lines = folder / f"{len(list(folder.iterdir()))}.nq"
    with (
        reading_file(path, kind.compression),
        lines.open("w", encoding="utf-8", newline="\n") as out,
    ):
        read_trig(
            lambda: open_unpacked(path, kind.compression, most),
            path.absolute().as_uri(),
            NotedLines(str(file), out),
            reading,
        )
    return RecordingFile(str(file), lines, noted=True)


def recording_files(
    files: Sequence[str | Path], folder: Path, reading: Reading
) -> list[RecordingFile]:
    """As `recording_file`, of the files of one stream."""
    return [recording_file(file, folder, reading) for file in files]


class NotedLines:
    """Writes statements as lines; what a line cannot say is in notes before it."""

    def __init__(self, file: str, out: IO[str]) -> None:
        self.file = file
        self._out = out
        self._line: int | None = None

    def quad(
        self, subject: str, predicate: str, object_: str, graph: str | None, line: int | None
    ) -> None:
        if line != self._line:
            self._out.write(f"#@ {line or 0}\n")
            self._line = line
        ending = "." if graph is None else f"{graph} ."
        self._out.write(f"{subject} {predicate} {object_} {ending}\n")

    def spoil(self, graph: str | None, reason: str, line: int | None) -> None:
        said = " ".join(reason.splitlines()).encode("utf-8", "replace").decode()
        self._out.write(f"#! {line or 0} {graph or '-'} {said}\n")

    def clear(self) -> None:
        self._out.seek(0)
        self._out.truncate()
        self._line = None
