"""Batches of numbered sources: each is taken in once, whole or not at all, also where its source is stopped."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event, Lock, RLock, Thread
from typing import TYPE_CHECKING, Any, Protocol

from sparkext.errors import EvaluationError, StreamElementError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

logger = logging.getLogger(__name__)

_LOOK_S = 0.05

Taking = Callable[["Entry"], bool]
"""Takes in a batch that was read, and evaluates what becomes due; whether it was new and still wanted."""

Read = Callable[[Hashable, int, "DataFrame"], Taking]
"""Reads the rows of a batch: of a source, by its number."""


@dataclass(frozen=True)
class BegunBatch:
    """A batch of a source in real-time mode of which rows were taken in: how many partitions it has, whether these rows
    are all of it, and how many there are of each partition."""

    partitions: int
    ended: bool
    rows: dict[int, int]


class AppliedBatches:
    """Which batches of numbered sources a stream has taken in.

    >>> applied = AppliedBatches()
    >>> applied.note("s", 0); applied.has("s", 0), applied.has("s", 1)
    (True, False)
    """

    def __init__(self) -> None:
        self.last: dict[Hashable, int] = {}
        self.begun: dict[Hashable, BegunBatch] = {}
        """Of sources in real-time mode, the batch after the last."""
        self.threads: dict[Hashable, Thread] = {}
        """Of those, what takes in their rows."""
        self._restored: set[Hashable] = set()

    def restore(self, last: Mapping[Hashable, int], begun: Mapping[Hashable, BegunBatch]) -> None:
        """Have these been taken in last, as a checkpoint says."""
        self.last, self._restored = dict(last), set(last)
        self.begun = dict(begun)

    def has(self, source: Hashable, number: int) -> bool:
        """Whether this batch of a source, or a later one, has been taken in."""
        return number <= self.last.get(source, -1)

    def note(self, source: Hashable, number: int) -> None:
        """Say that a batch is taken in."""
        self.last[source] = number
        self.begun.pop(source, None)

    def begin(self, source: Hashable, position: str) -> None:
        """Say what is taken in of a batch, and all batches before: its number, how many partitions it has, 1 where it
        has ended, and for each of them its number and how many rows."""
        number, partitions, ended, *rows = map(int, position.split(","))
        self.last[source] = number - 1
        pairs = zip(rows[::2], rows[1::2], strict=True)
        self.begun[source] = BegunBatch(partitions, bool(ended), dict(pairs))

    def begun_by(self, source: Hashable) -> tuple[int, BegunBatch]:
        """The batch of a source that was begun last, and what was taken in of it; -1 where nothing is known.

        >>> applied = AppliedBatches()
        >>> applied.begin("s", "4,1,0,0,17")
        >>> applied.has("s", 3), applied.has("s", 4), applied.begun_by("s")
        (True, False, (4, BegunBatch(partitions=1, ended=False, rows={0: 17})))
        >>> applied.begun_by("t")
        (-1, BegunBatch(partitions=0, ended=False, rows={}))
        """
        nothing = BegunBatch(0, False, {})
        if source not in self.last:
            return -1, nothing
        return self.last[source] + 1, self.begun.get(source, nothing)

    def check_next(self, source: Hashable, number: int) -> None:
        """A batch must be whole, and after a restart go on where the checkpoint ends; raises StreamElementError."""
        if begun := self.begun.get(source):
            if begun.ended and number == self.last[source] + 2:
                self.note(source, number - 1)
            elif number == self.last[source] + 1 and any(begun.rows.values()):
                raise StreamElementError(
                    f"batch {number} of the source was begun in real-time mode, and can only end in that mode"
                )
        if source not in self._restored:
            return
        last = self.last[source]
        if number > last + 1:
            raise StreamElementError(
                f"batches {last + 1} to {number - 1} are done for their source, and are not in the"
                " checkpoint, which is an older one: begin the source anew, or do without them by"
                " another checkpoint folder of the source"
            )
        self._restored.discard(source)


class Entry:
    """Whether a batch still goes in: withdrawn where its source is stopped before it has begun, else taken whole."""

    def __init__(self) -> None:
        self._deciding = Lock()
        self._entered: bool | None = None

    def enter(self) -> bool:
        """Begin, with the engine's lock; False for a batch that was withdrawn."""
        return self._decided(True)

    def withdraw(self) -> None:
        """Have the batch not go in, unless it has begun."""
        self._decided(False)

    def _decided(self, entered: bool) -> bool:
        with self._deciding:
            if self._entered is None:
                self._entered = entered
            return self._entered


class Batched(Protocol):
    """A stream that knows which batches of a source it has taken in."""

    iri: str
    batches: AppliedBatches
    sources: list[StreamingQuery]
    feeds: list[BatchFeed]

    def wait_kept(self) -> None: ...


class BatchFeed:
    """What Structured Streaming calls with each micro-batch of one source.

    A batch is read in Spark's thread, and taken in and evaluated in one of the feed's own: `StreamingQuery.stop()`
    interrupts the first. What it interrupts while a batch is read has taken in nothing, and Spark reads that again; a
    batch that is being taken in goes in whole, with its evaluations, while who stopped the source waits for the engine
    when it is used next. Spark, which does not take it to be done, gives it again after a restart; it is known then.
    """

    def __init__(self, stream: Batched, read: Read) -> None:
        self._stream = stream
        self._read = read
        self._source = ""
        self.query: StreamingQuery | None = None
        """What gives the batches, from `begin` on."""
        self._last: Future[None] | None = None
        self._begun = Event()
        self._taking = RLock()
        self._ended = False
        self._thread = ThreadPoolExecutor(1, f"batches of {stream.iri}")

    def begin(self, query: StreamingQuery) -> None:
        """Let the first batch in; the query's id is kept in its checkpoint, and another one in another checkpoint."""
        self.query, self._source = query, query.id
        self._begun.set()

    @property
    def has_ended(self) -> bool:
        """Whether the query gives no batch any more, and the last one is in."""
        if self.query is None or self.query.isActive:
            return False
        return self._last is None or self._last.done()

    def let_go(self) -> None:
        """Let the thread of a feed that has ended go."""
        self._thread.shutdown(wait=False)

    def end(self, waits: bool = True) -> None:
        """Let in no batch any more, and return when none is being taken in.

        Who has the engine's lock must not be one who `waits`: a batch may be waiting for that. It is withdrawn when
        Spark's thread is stopped.
        """
        self._ended = True
        if waits:
            with self._taking:
                pass

    def __call__(self, batch: DataFrame, number: int) -> None:
        self._begun.wait()  # the query may be faster than who starts it
        stream = self._stream
        jvm: Any = batch.sparkSession._jvm
        thread = stream.batches.threads.get(self._source)
        while thread is not None and thread.is_alive():  # the source was in real-time mode before
            thread.join(_LOOK_S)
            jvm.java.lang.Thread.sleep(1)
        if stream.batches.has(self._source, number):
            logger.info("stream <%s>: batch %d is known, left out", stream.iri, number)
            taking: Taking = self._known
        else:
            taking = self._read(self._source, number, batch)
        entry = Entry()
        done = self._last = self._thread.submit(self._take, taking, entry, number)
        self._await(done, entry, jvm)
        done.result()

    def _known(self, entry: Entry) -> bool:
        """It may have come in while it could not be written."""
        self._stream.wait_kept()
        return False

    def _await(self, done: Future[None], entry: Entry, jvm: Any) -> None:
        while not wait((done,), _LOOK_S).done:
            try:
                # In Spark's thread, as this is: InterruptedException where the source is being stopped. It might be a
                # subscriber of this batch that stops it, and waits for this thread.
                jvm.java.lang.Thread.sleep(1)
            except BaseException:
                entry.withdraw()
                raise

    def _take(self, taking: Taking, entry: Entry, number: int) -> None:
        iri = self._stream.iri
        with self._taking:
            if self._ended:
                raise StreamElementError(f"stream <{iri}>: the source is stopped")
            try:
                taking(entry)
            except EvaluationError as error:
                # The elements are in; the failing query counts it, and must not take the stream from the others.
                logger.error("stream <%s>, batch %d: %s", iri, number, error)
