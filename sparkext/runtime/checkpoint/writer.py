"""The thread that writes commits, one after the other, while elements come in and queries are evaluated."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError

from sparkext.errors import CheckpointError
from sparkext.runtime.checkpoint.commits import CommitFolder, said
from sparkext.runtime.checkpoint.segment_files import SegmentFiles

logger = logging.getLogger(__name__)

MOST_WAITING = 4
"""Commits that may wait to be written; then only those are made that somebody asks for."""


@dataclass
class Commit:
    """A commit to be written: elements, parts that are new, and the state; `before` is called before it is written."""

    segment: Any | None  # the JVM's, not yet in a file
    parts: Mapping[str, Any]  # by kind, of those that have changed
    state: Mapping[str, Any]
    oldest: Mapping[str, int]  # by stream, from when on elements count
    before: Iterable[Callable[[], object]] = ()
    done: threading.Event = field(default_factory=threading.Event)
    failure: Exception | None = None

    def wait(self) -> None:
        """Return when it is written; raises CheckpointError where it could not be."""
        self.done.wait()
        if self.failure is not None:
            raise self.failure


@dataclass
class WriterReport:
    """What has been written: commits and bytes, and seconds of the last one; `failure` says why the last try failed."""

    commits: int = 0
    bytes: int = 0
    seconds: float = 0.0
    last: float | None = None
    failure: str | None = None


class CommitWriter:
    """Writes commits into a folder; what could not be written, for want of space say, is written with the next one."""

    def __init__(
        self, folder: CommitFolder, segments: SegmentFiles, parts: Mapping[str, str]
    ) -> None:
        self.report = WriterReport()
        self._folder = folder
        self._segments = segments
        self._parts = dict(parts)  # the files of the parts by kind
        self._unwritten: list[Any] = []
        self._unwritten_parts: dict[str, Any] = {}
        self._waiting: list[Commit] = []
        self._news = threading.Condition()
        self._ended = False
        self._thread: threading.Thread | None = None

    @property
    def unwritten(self) -> int:
        """How many segments could not be written so far."""
        return len(self._unwritten)

    @property
    def is_busy(self) -> bool:
        """Whether as many commits wait as may."""
        return len(self._waiting) >= MOST_WAITING

    def await_room(self, seconds: float) -> None:
        """Return when another commit may be made, after so long at most."""
        with self._news:
            self._news.wait_for(lambda: not self.is_busy, seconds)

    def write(self, commit: Commit) -> None:
        """Have a commit be written after those before it."""
        with self._news:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="checkpoint writer", daemon=True
                )
                self._thread.start()
            self._waiting.append(commit)
            self._news.notify_all()

    def end(self) -> None:
        """Write what waits, and end."""
        with self._news:
            self._ended = True
            self._news.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._news:
                while not self._waiting and not self._ended:
                    self._news.wait()
                if not self._waiting:
                    return
                commit = self._waiting[0]
            try:
                self._write(commit)
            except Exception as error:
                commit.failure = self.note_failure(error)
            finally:
                with self._news:
                    self._waiting.pop(0)
                    self._news.notify_all()
                commit.done.set()

    def note_failure(self, error: Exception) -> CheckpointError:
        """Say that a commit could not be made or written."""
        if isinstance(error, CheckpointError):
            failure = error
        else:
            reason = said(error) if isinstance(error, Py4JJavaError) else str(error)
            failure = CheckpointError(self._folder.path, f"could not be written: {reason}")
        if not (isinstance(error, Py4JError) and self._ended):  # else the JVM is gone
            logger.error("%s", failure)
        self.report.failure = str(failure)
        return failure

    def _write(self, commit: Commit) -> None:
        began = time.perf_counter()
        folder, segments = self._folder, self._segments
        # First of all: what goes wrong below, in a sink say, must not lose it for the next commit.
        if commit.segment is not None:
            self._unwritten.append(commit.segment)
        self._unwritten_parts.update(commit.parts)
        for ready in commit.before:
            ready()
        folder.check_mine()
        written = 0
        while self._unwritten:
            segment = self._unwritten[0]
            spans = json.loads(segment.spans())
            name, size = folder.write_segment(segment)
            segments.add(name, size, spans)
            written += size
            del self._unwritten[0]
            with suppress(Py4JError):
                segment.letGo()  # its memory is needed before py4j says that nobody holds it
        segments.tidy(commit.oldest, folder.join_segments)
        for kind in list(self._unwritten_parts):
            self._parts[kind] = folder.write_part(kind, self._unwritten_parts[kind])
            del self._unwritten_parts[kind]
        files = [*(file.name for file in segments.files), *self._parts.values()]
        content = {
            **commit.state,
            "segments": segments.described(),
            "parts": self._parts,
            "files": files,
        }
        written += folder.commit(content, files)
        report = self.report
        report.commits += 1
        report.bytes += written
        report.seconds = time.perf_counter() - began
        report.last = time.time()
        report.failure = None
