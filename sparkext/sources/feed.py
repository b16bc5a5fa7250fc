"""What feeds a stream from a connection: a thread that reads messages, one that has the stream take them in.

The buffer between them is bounded: when it is full, nothing is read from the connection, so that whoever sends has to
wait. A connection that breaks is made again, after pauses that grow. A message is acknowledged when its elements have
been taken in.
"""

from __future__ import annotations

import logging
import threading
import time as clock
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, Full, Queue
from typing import Any, Protocol, cast

from sparkext.argument_checks import check
from sparkext.errors import (
    ArgumentError,
    CheckpointError,
    ClosedEngineError,
    EvaluationError,
    SourceError,
)
from sparkext.recorded_streams import StreamElement
from sparkext.runtime.checkpoint.commits import TakenOverError
from sparkext.runtime.parts.pushed_times import milliseconds
from sparkext.runtime.streams.mapped_stream import MappedStream
from sparkext.runtime.streams.stream import Stream
from sparkext.sources.backoff import Backoff
from sparkext.sources.rdf_messages import RdfMessages
from sparkext.sources.row_messages import RowMessages

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 0.2
_MOST_TOGETHER = 4096


@dataclass(frozen=True, slots=True)
class Message:
    """A payload as it came; `token` is what acknowledges it, `stamped` the time it carries, `name` where it is from."""

    payload: bytes
    stamped: int | None = None
    token: Any = None
    name: str = "message"
    flaw: str | None = None


class Put(Protocol):
    """Takes a message into the buffer, waiting until there is room; False where the feed is being stopped."""

    def __call__(self, message: Message) -> bool: ...


class Connection(ABC):
    """What a feed reads from."""

    name: str
    waits_for_checkpoint = False
    """Whether what is acknowledged is to be in the engine's checkpoint, since it does not come again."""

    def begin(self, position: object) -> None:  # noqa: B027
        """Told, before it runs, how far a former run had read, as `position` said."""

    def position(self, messages: Sequence[Message]) -> object:
        """How far it has been read with these messages, as plain data; None where the protocol does not tell."""
        return None

    @abstractmethod
    def run(self, put: Put, connected: Callable[[], None], stopping: threading.Event) -> None:
        """Connect, call `connected`, and put what comes until the other side ends, something breaks, or `stopping`."""

    def interrupt(self) -> None:  # noqa: B027
        """Have `run`, in another thread, return soon; it looks at `stopping` itself where nothing is done here."""

    def acknowledge(self, messages: Sequence[Message]) -> None:  # noqa: B027
        """Told of messages whose elements have been taken in."""

    def finish(self) -> None:  # noqa: B027
        """The feed has ended: nothing will be acknowledged any more."""


class ConnectionLostError(Exception):
    """A connection has ended, or could not be made; it is to be tried again."""


@dataclass(frozen=True)
class Reading:
    """How a feed reads: payloads as RDF or rows, how much is buffered, what is waited before connecting anew."""

    messages: RdfMessages | RowMessages
    buffer: int = 1000
    backoff: Backoff = field(default_factory=Backoff)

    @classmethod
    def checked(
        cls, messages: RdfMessages | RowMessages, buffer: object, backoff: object
    ) -> Reading:
        """The same, of what a user gave; raises ArgumentError."""
        if check.whole("buffer", buffer) < 1:
            raise ArgumentError("buffer", f"must be above 0, not {buffer}")
        if not isinstance(backoff, Backoff):
            raise check.wrong("backoff", "a sparkext.sources.Backoff", backoff)
        return cls(messages, cast(int, buffer), backoff)


class Feed:
    """A running source: made by a source's `feed(stream)`, ended by `stop`, or by `engine.close()`.

    `received` counts messages, `reconnects` connections after the first; `connected` tells whether there is one.
    """

    def __init__(self, connection: Connection, stream: Stream, reading: Reading) -> None:
        mapped, rows = isinstance(stream, MappedStream), isinstance(reading.messages, RowMessages)
        if mapped != rows:
            said = (
                "has a mapping, so messages are rows: format json, csv or avro"
                if mapped
                else "has no mapping, so messages are RDF"
            )
            raise SourceError(f"<{stream.iri}> {said}")
        self.received = 0
        self.connected = False
        self._connections = 0
        self._connection = connection
        self._stream = stream
        self._reading = reading
        self._is_dated_here = (
            isinstance(reading.messages, RdfMessages) and reading.messages.time == "now"
        )
        self._error: BaseException | None = None
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._waiting: Queue[Message] = Queue(reading.buffer)
        name = f"{connection.name} for <{stream.iri}>"
        self._name = name
        self._reader = threading.Thread(target=self._read, name=f"reader of {name}", daemon=True)
        self._feeder = threading.Thread(target=self._feed, name=f"feed of {name}", daemon=True)
        known = stream.position
        connection.begin(known.get(connection.name) if isinstance(known, dict) else None)
        # Stopped with the engine, like the streaming queries that feed a stream.
        stream.sources.append(cast(Any, self))
        self._reader.start()
        self._feeder.start()

    @property
    def reconnects(self) -> int:
        """How many connections there were after the first."""
        return max(0, self._connections - 1)

    @property
    def active(self) -> bool:
        """Whether it runs: it ends by `stop`, and by an error."""
        return not self._ended.is_set()

    def exception(self) -> BaseException | None:
        """The error that ended it; None while it runs and after `stop`."""
        return self._error

    def stop(self) -> None:
        """End it; what waits in the buffer is taken in first. A second time it does nothing.

        Called by a subscriber it returns at once: what waits is taken in when the subscriber has returned, unless the
        engine is closed.
        """
        self._stopping.set()
        self._connection.interrupt()
        if self._stream.is_held_here:
            return
        for thread in (self._reader, self._feeder):
            if thread is not threading.current_thread():
                thread.join()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended, so many seconds at most; tells whether it has. Raises SourceError for its error."""
        ended = self._ended.wait(timeout)
        if self._error is not None:
            raise SourceError(f"{self._name}: {self._error}") from self._error
        return ended

    # ---- reading

    def _read(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            before, begun = self.received, clock.monotonic()
            try:
                self._connection.run(self._put, self._note_connection, self._stopping)
                reason = "the other side has ended it"
            except ConnectionLostError as error:
                reason = str(error)
            except Exception as error:
                self._fail(error)
                break
            self.connected = False
            if self._stopping.is_set():
                break
            lasted = clock.monotonic() - begun > self._reading.backoff.most
            failures = 1 if lasted or self.received > before else failures + 1
            pause = self._reading.backoff.seconds(failures)
            logger.warning("%s: %s; connecting anew in %.1f s", self._name, reason, pause)
            self._stopping.wait(pause)
        self.connected = False

    def _note_connection(self) -> None:
        self.connected = True
        self._connections += 1

    def _put(self, message: Message) -> bool:
        while not self._stopping.is_set():
            try:
                self._waiting.put(message, timeout=_LOOK_SECONDS)
            except Full:
                continue
            self.received += 1
            return True
        return False

    # ---- taking in

    def _feed(self) -> None:
        try:
            while True:
                block = self._block()
                if block:
                    self._take(block)
                    if self._connection.waits_for_checkpoint:
                        self._insist(self._stream.wait_kept)
                    self._connection.acknowledge(block)
                elif not self._reader.is_alive():
                    break
        except ClosedEngineError:
            self._stopping.set()  # what is not acknowledged comes again, where the other side keeps it
            self._connection.interrupt()
        except Exception as error:
            self._fail(error)
        finally:
            self._connection.finish()
            self._ended.set()

    def _block(self) -> list[Message]:
        """What waits, up to a number; nothing if nothing comes for a while."""
        try:
            block = [self._waiting.get(timeout=_LOOK_SECONDS)]
        except Empty:
            return []
        while len(block) < _MOST_TOGETHER:
            try:
                block.append(self._waiting.get_nowait())
            except Empty:
                break
        return block

    def _take(self, block: Sequence[Message]) -> None:
        flaws: list[str] = []
        elements: list[StreamElement] = []
        rows: list[tuple[int | None, dict[str, Any]]] = []
        messages = self._reading.messages
        for message in block:
            if message.flaw is not None:
                flaws.append(f"{message.name}: {message.flaw}")
            elif isinstance(messages, RdfMessages):
                read = messages.read(message.payload, message.stamped)
                elements += read.elements
                flaws += (f"{message.name}: {flaw}" for flaw in read.flaws)
            else:
                found = messages.read(message.payload)
                rows += ((message.stamped, row) for row in found.rows)
                flaws += (f"{message.name}: {flaw}" for flaw in found.flaws)
        position = self._position(block)
        try:
            if flaws:
                self._stream.set_aside_messages(flaws)
            if elements:
                self._insist(lambda: self._push(elements, position))
            if rows:
                self._insist(lambda: self._push_rows(rows, position))
        except EvaluationError as error:
            # The elements are in; the failing query counts it, and must not take the stream from the others.
            logger.error("%s: %s", self._name, error)

    def _push(self, elements: list[StreamElement], position: object) -> None:
        with self._stream.turn() as earliest:
            if self._is_dated_here:
                elements = [
                    e if e.time_ms >= earliest else replace(e, time_ms=earliest) for e in elements
                ]
            self._stream.push_elements(elements, position)

    def _push_rows(self, rows: list[tuple[int | None, dict[str, Any]]], position: object) -> None:
        assert isinstance(self._stream, MappedStream)
        with self._stream.turn():
            now = milliseconds(None)
            # As a frame of Kafka has it, for mappings whose rows have no time of their own.
            dated = [{"timestamp": now if at is None else at, **row} for at, row in rows]
            self._stream.push_rows(dated, position)

    def _insist(self, step: Callable[[], object]) -> None:
        """Do a step again, after pauses, until the engine's checkpoint can be written.

        Elements are refused before any is in, so that none comes twice. Raises CheckpointError where it never will be,
        and where the feed is being stopped meanwhile.
        """
        failures = 0
        while True:
            try:
                step()
            except TakenOverError:
                raise
            except CheckpointError as error:
                if self._stopping.is_set():
                    raise
                failures += 1
                if failures == 1:
                    logger.error("%s waits, and tries again: %s", self._name, error)
                self._stopping.wait(self._reading.backoff.seconds(failures))
            else:
                if failures:
                    logger.warning("%s goes on after %d tries", self._name, failures)
                return

    def _position(self, block: Sequence[Message]) -> object:
        """What the stream is told of how far its sources have been read; others may feed it as well."""
        read = self._connection.position(block)
        if read is None:
            return None
        known = self._stream.position
        return {**(known if isinstance(known, dict) else {}), self._connection.name: read}

    def _fail(self, error: BaseException) -> None:
        if self._error is None:
            self._error = error
        logger.error("%s has ended: %s", self._name, error)
        self._stopping.set()
        self._connection.interrupt()

    def __repr__(self) -> str:
        state = "connected" if self.connected else "not connected" if self.active else "ended"
        return f"Feed({self._name}, {state}, {self.received} messages)"
