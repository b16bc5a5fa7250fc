"""The ways in: each makes of readings what its caller has in hand, and then, timed, hands that over to the stream."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet

from bench.ways_in.engine import ReadingsEngine
from bench.ways_in.readings import MAPPING, OBSERVATIONS, Readings
from sparkext.recorded_streams import StreamElement


class Way:
    """A way into the stream of an engine. `mapping` is the text of the mapping that the stream needs, if any.

    Readings that are `observed` have a subject and two triples each; `keys` are settings of the engine.
    """

    name: ClassVar[str]
    mapping: ClassVar[str | None] = None
    observed: ClassVar[bool] = False
    keys: ClassVar[Mapping[str, str]] = {}
    quick: ClassVar[bool] = True
    """Whether the quick run has it."""

    def __init__(self, engine: ReadingsEngine) -> None:
        self.stream = engine.stream

    def in_hand(self, readings: Readings) -> Any:
        """What the caller has before the clock starts."""
        raise NotImplementedError

    def take(self, given: Any, until: float) -> int | None:
        """Hand it over; ways of single elements stop at a time of `perf_counter`. How many went in, None for all."""
        raise NotImplementedError

    def close(self) -> None:
        """End what the way began."""


class PushOne(Way):
    """`push`, one reading after the other: N-Triples text and a time."""

    name = "push"

    def in_hand(self, readings: Readings) -> tuple[list[str], list[int]]:
        """Lines and times."""
        return readings.lines(), readings.time.tolist()

    def take(self, given: tuple[list[str], list[int]], until: float) -> int | None:
        """Push until the time is over."""
        push, clock, count = self.stream.push, time.perf_counter, 0
        for line, moment in zip(*given, strict=True):
            push(line, moment)
            count += 1
            if clock() > until:
                break
        return count


class PushElements(Way):
    """`push_elements`: elements are made of lines and times, and pushed as a block."""

    name = "push_elements"

    def in_hand(self, readings: Readings) -> tuple[list[str], list[int]]:
        """Lines and times."""
        return readings.lines(), readings.time.tolist()

    def take(self, given: tuple[list[str], list[int]], until: float) -> int | None:
        """Make elements and push them."""
        lines, times = given
        self.stream.push_elements(
            [StreamElement(t, None, (line,)) for line, t in zip(lines, times, strict=True)]
        )
        return None


class PushText(Way):
    """`push_table` of an Arrow table whose terms are plain strings."""

    name = "push_table, text"
    dictionary: ClassVar[bool] = False

    def in_hand(self, readings: Readings) -> Any:
        """A table of terms."""
        return readings.terms(self.dictionary)

    def take(self, given: Any, until: float) -> int | None:
        """Push the table."""
        stream: Any = self.stream
        stream.push_table(given)
        return None


class PushCodes(PushText):
    """`push_table` of an Arrow table whose terms are codes of dictionaries."""

    name = "push_table, dictionary"
    dictionary = True


class PushMapped(PushText):
    """`push_table` of an Arrow table of numbers, which a mapping makes into triples."""

    name = "push_table, mapped"
    mapping = MAPPING

    def in_hand(self, readings: Readings) -> Any:
        """A table of numbers."""
        return readings.numbers()


class PushObservations(PushText):
    """`push_table` of an Arrow table of which a mapping makes two triples a row, found together."""

    name = "push_table, observations"
    mapping = OBSERVATIONS
    observed = True
    quick = False

    def in_hand(self, readings: Readings) -> Any:
        """A table of numbers."""
        return readings.numbered()


class PushObservationsJoined(PushObservations):
    """The same, with the two triples of a row found by join."""

    name = "push_table, observations joined"
    keys: ClassVar[Mapping[str, str]] = {"spark.cqels.starPatterns.enabled": "false"}


class FromDataFrame(Way):
    """A streaming DataFrame over a folder, into which a Parquet file of terms is moved: a micro-batch each."""

    name = "streaming DataFrame"

    def __init__(self, engine: ReadingsEngine) -> None:
        super().__init__(engine)
        self._folder = tempfile.TemporaryDirectory(prefix="bench-ways-")
        self._watched = Path(self._folder.name) / "watched"
        self._watched.mkdir()
        self._files = 0
        frame = (
            engine.spark.readStream.schema(
                "subject STRING, predicate STRING, object STRING, time LONG"
            )
            .option("maxFilesPerTrigger", 1)
            .parquet(str(self._watched))
        )
        self._query = self.stream.read(frame)

    def in_hand(self, readings: Readings) -> Path:
        """A file beside the folder."""
        self._files += 1
        path = Path(self._folder.name) / f"{self._files}.parquet"
        pyarrow.parquet.write_table(readings.terms(dictionary=False), path)
        return path

    def take(self, given: Path, until: float) -> int | None:
        """Move the file into the folder, and wait until its batch is in."""
        given.rename(self._watched / given.name)
        self._query.processAllAvailable()
        return None

    def close(self) -> None:
        """End the streaming query."""
        self.stream.stop_sources()
        self._folder.cleanup()


WAYS: Sequence[type[Way]] = (
    PushOne,
    PushElements,
    PushText,
    PushCodes,
    PushMapped,
    PushObservations,
    PushObservationsJoined,
    FromDataFrame,
)
