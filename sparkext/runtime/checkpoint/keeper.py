"""An engine's checkpoint: when commits are made, of what, and what of the last one is still to be taken up."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from py4j.protocol import Py4JError

from sparkext.errors import CheckpointError, EvaluationError, first_line
from sparkext.runtime.checkpoint import stream_state
from sparkext.runtime.checkpoint.change_log import ChangeLog, LoggedChange
from sparkext.runtime.checkpoint.commits import CommitFolder
from sparkext.runtime.checkpoint.restored import Restored
from sparkext.runtime.checkpoint.resumption import Resumption
from sparkext.runtime.checkpoint.segment_files import SegmentFiles
from sparkext.runtime.checkpoint.stream_state import StreamTimesKept
from sparkext.runtime.checkpoint.writer import Commit, CommitWriter, WriterReport
from sparkext.runtime.queries.given_query import Said

if TYPE_CHECKING:
    from sparkext.runtime.parts.engine_parts import EngineParts
    from sparkext.runtime.streams.stream import Stream

logger = logging.getLogger(__name__)

_SETTINGS = (
    "semantics",
    "starting_at",
    "window_bounds",
    "duplicates",
    "rdf",
    "filter_scope",
    "dictionary_hash_bits",
)
"""Those that decide on answers: a checkpoint is gone on with under the same ones only."""

_SHORTEST = 0.01  # seconds between two looks whether it is time
_MOST_UNWRITTEN = 64  # segments that could not be written; then elements are taken in no more
_MOST_AT_ONCE = 1 << 18  # elements of a commit, about: what is in none yet is in memory
_ROOM_S = 1.0  # how long elements wait for those before them to be written; a sink may need who brings them


class Evaluations(StreamTimesKept, Protocol):
    """The evaluation loop as a checkpoint sees it."""

    turns: int

    @property
    def is_idle(self) -> bool: ...


class Kept(Protocol):
    """What is registered, as plain data and by name."""

    @property
    def streams(self) -> Mapping[str, Stream]: ...

    @property
    def evaluations(self) -> Evaluations: ...

    def query_states(self) -> dict[str, dict[str, Any]]: ...

    def query_parts(self) -> dict[str, dict[str, Any]]: ...

    def barriers(self) -> list[Callable[[], object]]: ...

    def remembered_since(self) -> int: ...


class Keeper:
    """Keeps an engine in a folder of any file system that Hadoop knows; called under the engine's lock.

    Raises CheckpointError where another process uses the folder, its files are not whole, or settings that decide on
    answers are others than when it was written.
    """

    def __init__(self, parts: EngineParts, path: str) -> None:
        self._parts = parts
        self._interval = parts.settings.checkpoint_interval / 1e3
        self._folder = CommitFolder(parts.room.jvm.checkpointFolder(path), path)
        self._settings = {name: getattr(parts.settings, name) for name in _SETTINGS}
        self.restored: Restored | None = None
        try:
            content = self._folder.last_commit()
            if content is not None:
                self.restored = Restored(self._folder, content, parts.room)
                self.restored.check_settings(self._settings)
        except BaseException:
            self._folder.leave()  # a process that lives on would keep others from it
            raise
        before = self.restored
        self.changes = ChangeLog() if before is None else before.changes
        segments = SegmentFiles() if before is None else before.segments
        files = {} if content is None else content["parts"]
        self._writer = CommitWriter(self._folder, segments, files)
        self._turns = 0 if content is None else int(content["turns"])
        self._registrations_changed = before is None
        self._kept: Kept | None = None
        self._cut_at = time.monotonic()
        self._cut_after = self._waited_at = 0  # elements that had been taken in
        self._dirty = threading.Event()
        self._closed = False
        self.resumption: Resumption | None = None  # what is still to be taken up
        self.taken_up: set[str] = set()
        """The queries that were registered as they were, and that the program may still register."""
        self._goes_on = False
        self._ticker: threading.Thread | None = None
        self._said_last = ""  # of what failed in it

    @property
    def path(self) -> str:
        """The folder."""
        return self._folder.path

    @property
    def report(self) -> WriterReport:
        """What has been written so far."""
        return self._writer.report

    def keep(self, kept: Kept) -> None:
        """Say what there is to keep."""
        self._kept = kept
        kept.evaluations.turns = self._turns

    # ---- what there was

    def new_stream(self, stream: Stream) -> None:
        """Have a new stream go on where the one of its IRI was, and be kept from now on."""
        if self.restored is not None and self._kept is not None:
            self.restored.restore_stream(stream, self._kept.evaluations)
        stream.log.keepJournal()

    def take_query(self, name: str, said: Said | None) -> dict[str, Any] | None:
        """What is known of the query of a name, which is now registered; None for a new one."""
        self._registrations_changed = True
        self.note()
        self.taken_up.discard(name)  # it was ended since
        return None if self.restored is None else self.restored.take_query(name, said)

    def give_back(self, name: str, known: Mapping[str, Any]) -> None:
        """Say that a query of which this is known could not be registered: it is still to be."""
        if self.restored is not None:
            self.restored.give_back(name, known)

    def went_on(self) -> None:
        """Say that a query that was taken is registered."""
        self._goes_on = True

    def query_ended(self) -> None:
        """Note that a query is no more."""
        self._registrations_changed = True
        self.note()

    # ---- when

    def at_rest(self) -> None:
        """Make a commit where it is time for one: nothing is due now."""
        if self._closed or not self._is_idle:
            return
        is_time = time.monotonic() - self._cut_at >= self._interval
        if (is_time or self._has_many) and not self._writer.is_busy:
            self._try_to_cut()
        else:
            self.note()

    def note(self) -> None:
        """Say that there is something to keep, and nothing else may come that has a commit be made."""
        if self._dirty.is_set():
            return
        self._dirty.set()
        if self._ticker is None:
            self._ticker = threading.Thread(
                target=self._tick, name="checkpoint ticker", daemon=True
            )
            self._ticker.start()

    def _tick(self) -> None:
        """Make a commit of what came last before a silence."""
        while not self._closed:
            self._dirty.wait()
            if self._closed:
                return
            time.sleep(max(_SHORTEST, self._cut_at + self._interval - time.monotonic()))
            try:
                with self._parts.lock:
                    busy = self._writer.is_busy
                    if self._dirty.is_set() and not self._closed and self._is_idle and not busy:
                        self._try_to_cut()
            except Exception as error:  # without this thread no silence would be kept any more
                self._note_failure(error)
            else:
                self._said_last = ""
            if self._dirty.is_set():  # not yet
                time.sleep(self._interval)

    def _note_failure(self, error: Exception) -> None:
        """Say why no commit could be made in a silence: once, as a JVM that is gone does not come back."""
        said = str(error)
        if said != self._said_last and not self._closed:
            self._writer.note_failure(error)
        self._said_last = said

    def commit(self) -> Commit | None:
        """Make a commit now, to be waited for without the lock; None where something is due.

        Before what the last commit has is taken up, there is none either. Raises CheckpointError.
        """
        return self._cut() if self._is_idle else None

    @property
    def _is_idle(self) -> bool:
        if self._kept is None or self.resumption is not None or self._parts.takings:
            return False
        return self._kept.evaluations.is_idle

    @property
    def _has_many(self) -> bool:
        return self._parts.taken_in - self._cut_after >= _MOST_AT_ONCE

    def check_written(self) -> None:
        """Wait a while where more has come in than is written; raise CheckpointError where no more may come in."""
        if self._parts.taken_in - self._waited_at >= _MOST_AT_ONCE and self._has_many:
            self._writer.await_room(_ROOM_S)
            # Else each element would wait for what may not come.
            self._waited_at = self._parts.taken_in
        if self._writer.unwritten > _MOST_UNWRITTEN:
            self.note()  # who is refused brings nothing that would have a commit be tried again
            raise CheckpointError(
                self.path,
                f"nothing more is taken in, as {self._writer.unwritten} parts could not be written"
                f" ({self._writer.report.failure})",
            )

    def close(self, commit: Commit | None) -> None:
        """End when the last commit is written, and let others have the folder; called without the engine's lock."""
        self._closed = True
        self._dirty.set()
        self._writer.end()
        try:
            if commit is not None:
                commit.wait()
        finally:
            self._folder.leave()

    # ---- of what

    def _try_to_cut(self) -> None:
        """Make a commit; where that fails, which is logged, all of it is in the next one."""
        with suppress(CheckpointError):
            self._cut()

    def _cut(self) -> Commit:
        kept = self._kept
        assert kept is not None
        self._dirty.clear()
        self._cut_at = time.monotonic()
        self._cut_after = self._parts.taken_in
        try:
            self._parts.hand_over()
            commit = self._described(kept)
            # Last of all: what has been cut is in no later commit.
            commit.segment = self._segment()
        except BaseException:  # Ctrl-C, too: nothing of it is kept yet
            self._dirty.set()
            self._registrations_changed = self.changes.changed = True
            raise
        self._writer.write(commit)
        return commit

    def _segment(self) -> Any:
        try:
            return self._parts.room.jvm.cutSegment()
        except Py4JError as error:  # no memory, say
            raise self._writer.note_failure(error) from error

    def _described(self, kept: Kept) -> Commit:
        """All of a commit but its elements."""
        queries = kept.query_states()
        streams = {
            iri: stream_state.state_of(stream, kept.evaluations)
            for iri, stream in kept.streams.items()
        }
        parts: dict[str, Any] = {}
        if self._registrations_changed:
            parts["queries"] = kept.query_parts()
            self._registrations_changed = False
        if self.changes.changed:
            parts["changes"] = self.changes.described(kept.remembered_since())
        if self.restored is not None:  # what nobody has taken up yet is kept as it was
            streams.update(self.restored.streams)
        state = {
            "written_by": _version(),
            "written_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "settings": self._settings,
            "turns": kept.evaluations.turns,
            "scopes": int(self._parts.room.dictionary.elementScopes()),
            "horizon": self._parts.horizon.newest,
            "streams": streams,
            "evaluated": queries,
        }
        oldest = {iri: stream_state.oldest_needed(state) for iri, state in streams.items()}
        return Commit(None, parts, state, oldest, kept.barriers())

    # ---- static data

    def change(self, change: LoggedChange) -> int:
        """Note a change of a static graph."""
        self.note()
        return self.changes.add(change)

    def changed(self, number: int, turn: int) -> None:
        """Note that a change has been made that waited, after so many evaluations."""
        self.changes.came(number, turn)

    @property
    def resumes(self) -> bool:
        """Whether what the last commit has is still to be taken up."""
        return self.resumption is not None

    @property
    def goes_on(self) -> bool:
        """Whether the program has registered again what was there: what comes now is new, not what it begins with."""
        return self.resumes and self._goes_on

    def resume(self) -> list[str]:
        """Take up what the last commit has and nobody has yet; the names of the queries that are registered by that."""
        resumption = self.resumption
        if resumption is None:
            return []
        try:
            resumption.run()
        except EvaluationError as error:
            # Of whoever takes elements in, one would mean that they are in.
            raise CheckpointError(self.path, first_line(error)) from error
        self.resumption = None
        self.taken_up.update(resumption.names)
        return resumption.names

    def forget_query(self, name: str) -> bool:
        """Forget a query that nobody has registered again; whether there was one."""
        known = {} if self.restored is None else self.restored.queries
        if known.pop(name, None) is None:
            return False
        self.query_ended()
        return True


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("spark-cqels")
    except PackageNotFoundError:
        return "of a checkout"
