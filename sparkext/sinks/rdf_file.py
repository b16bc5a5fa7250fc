"""Answers of CONSTRUCT queries as a recorded stream: a file to which each evaluation adds an element."""

from __future__ import annotations

from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError
from sparkext.runtime.answering.added_file import AddedFile
from sparkext.runtime.answering.closed_sink import ClosedSink
from sparkext.runtime.answering.delivered import Delivered, revision_of
from sparkext.sinks.payloads import RDF_FORMATS, checked_format, element, graph_of, instant_of

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers


class RdfFileSink(ClosedSink):
    """Adds the triples of each evaluation to a file of N-Quads or TriG; `query.subscribe(RdfFileSink("alarms.nq"))`.

    Each is a named graph with its time, as `cqels run --stream` and `read_recorded_stream` read them; an evaluation
    without triples adds nothing. A file that is there is gone on with: an element that it has is not written again, and
    one that was cut off is taken away, so each instant of a query is in it once.
    """

    def __init__(self, path: str | Path, format: str | None = None) -> None:
        self._path = Path(check.path("path", path))
        if format is None:
            format = {".nq": "nquads", ".trig": "trig"}.get(self._path.suffix.lower())
            if format is None:
                raise ArgumentError("path", f"{path}: ends in .nq or .trig, or say the format")
        self._format = checked_format(format, RDF_FORMATS)
        try:
            self._stored = _stored_elements(self._path)
            self._file = AddedFile(self._path, append=True)
        except OSError as error:
            raise ArgumentError("path", f"{path}: {error.strerror or error}") from error
        self._lock = RLock()

    def __call__(self, answers: Answers) -> None:
        """Write the answers of one evaluation; raises SourceError for those of SELECT and ASK."""
        text = element(answers, self._format)
        query = graph_of(answers)[1:-1].rpartition("#")[0]
        told = answers.time, revision_of(answers)
        with self._lock:
            known = self._stored.setdefault(query, Delivered())
            if text and not known.has(*told):
                self._file.add(text)
                known.note(*told)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()


def _stored_elements(path: Path) -> dict[str, Delivered]:
    """Which elements a file has, by query; what follows the last line that dates one is cut off."""
    stored: dict[str, Delivered] = {}
    if not path.exists():
        return stored
    read = whole = 0
    with path.open("rb+") as file:
        for line in file:
            read += len(line)
            found = instant_of(line) if line.endswith(b"\n") else None
            if found is not None:
                query, time, revision = found
                stored.setdefault(query, Delivered()).note(time, revision)
                whole = read
        if read > whole:
            if not whole and read:
                said = "has no whole element of this sink: remove it if its first one was cut off"
                raise ArgumentError("path", f"{path}: {said}")
            file.truncate(whole)
    return stored
