"""Ready-made subscribers: answers into a JSON Lines file, a folder of Parquet files, or one table."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, TextIO

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError
from sparkext.runtime.answering.added_file import AddedFile
from sparkext.runtime.answering.closed_sink import ClosedSink
from sparkext.runtime.answering.delivered import Delivered, revision_of
from sparkext.s2r.event_time import parse_date_time

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from sparkext.runtime.answering.answers import Answers


class JsonLinesSink(ClosedSink):
    """Writes one line of JSON for each evaluation; ``query.subscribe(JsonLinesSink("answers.jsonl"))``.

    `target` is a path, whose file is then written anew and flushed after each line, or an open text
    file, which stays its owner's to flush and close. With `skip_empty`, evaluations without an
    answer leave no line, unless it is a revision: the instant had some before.

    With `append`, a file is gone on with: lines begin with the query and its sequence number, several queries may write
    into one file, and what a file has is not written again. So each instant of a query is in it once, also where it is
    answered anew after a restart. A line that was cut off is taken away first.
    """

    def __init__(
        self, target: str | Path | TextIO, skip_empty: bool = False, append: bool = False
    ) -> None:
        if not hasattr(target, "write"):
            check.path("target", target, "a path, or an open text file")
        check.flag("skip_empty", skip_empty)
        check.flag("append", append)
        self._owned = isinstance(target, str | Path)
        if append and not self._owned:
            raise ArgumentError(
                "append", "only a file that is given by its path can be gone on with"
            )
        self._delivered: dict[str, Delivered] | None = None
        if append:
            self._delivered = _stored_lines(Path(str(target)))
        self._file: AddedFile | TextIO = (
            _opened(target, append) if isinstance(target, str | Path) else target
        )
        self._skip_empty = skip_empty
        self._lock = RLock()

    def __call__(self, answers: Answers) -> None:
        """Write the answers of one evaluation."""
        if self._skip_empty and answers.empty and not answers.revision:
            return
        with self._lock:
            if self._delivered is None:
                self._add(answers.to_json())
                return
            known = self._delivered.setdefault(answers.query, Delivered())
            told = answers.time, revision_of(answers)
            if not known.has(*told):
                self._add(numbered_line(answers))
                known.note(*told)

    def _add(self, line: str) -> None:
        if isinstance(self._file, AddedFile):
            self._file.add(line + "\n")
        else:
            self._file.write(line + "\n")

    def close(self) -> None:
        """Close the file, if it was opened here."""
        if self._owned:
            with self._lock:
                self._file.close()


def _opened(path: str | Path, append: bool) -> AddedFile:
    try:
        return AddedFile(path, append)
    except OSError as error:
        raise ArgumentError("target", f"{path}: {error.strerror or error}") from error


_BEGINNING = re.compile(
    rb'\{"query": ("(?:[^"\\]|\\.)*"), "sequence": \d+, "time": "([^"]+)"(?:, "revision": (\d+))?'
)
_VARYING = re.compile(rb'(?<=^\{"query": ")(?:[^"\\]|\\.|\\\Z)*|(?<=", "sequence": )\d+')
_CONSTANT = b'{"query": "", "sequence": , "time": "'


def _is_cut_off(line: bytes) -> bool:
    """Whether this may be a line of the sink of which the end is missing."""
    begun = _VARYING.sub(b"", line)
    return begun.startswith(_CONSTANT) or _CONSTANT.startswith(begun)


def _stored_lines(path: Path) -> dict[str, Delivered]:
    """What the lines of a file tell, by query; one at its end that was cut off is taken away.

    Raises ArgumentError for a file that something else has written.
    """
    stored: dict[str, Delivered] = {}
    try:
        if not path.exists():
            return stored
        whole = 0
        with path.open("rb+") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n") and _is_cut_off(line):
                    file.truncate(whole)
                    break
                whole += len(line)
                match = _BEGINNING.match(line)
                if match is None:
                    said = "is no line of this sink: append to a file that it has begun"
                    raise ArgumentError("target", f"{path}:{number}: {said}")
                query, time, revision = match.groups()
                known = stored.setdefault(json.loads(query), Delivered())
                known.note(
                    parse_date_time(time.decode()), None if revision is None else int(revision)
                )
    except OSError as error:
        raise ArgumentError("target", f"{path}: {error.strerror or error}") from error
    return stored


def numbered_line(answers: Answers) -> str:
    """As `Answers.to_json`, with the query and the sequence number before it."""
    named = json.dumps(answers.query, ensure_ascii=False)
    return f'{{"query": {named}, "sequence": {answers.sequence}, {answers.to_json()[1:]}'


class ParquetSink:
    """Writes a Parquet file for each evaluation that has answers; ``query.subscribe(ParquetSink("answers"))``.

    Files are called after the instant and the query and appear in `folder` whole, so that ``spark.readStream`` can
    follow it. Their columns are those of `TableSink.to_arrow`. An instant that is evaluated again replaces its file, or
    takes it away where it has no answers any more, so that each instant of a query is in the folder once; queries with
    the same columns may share one.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(check.path("folder", folder))
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArgumentError("folder", f"{folder}: {error.strerror or error}") from error

    def __call__(self, answers: Answers) -> None:
        """Write the answers of one evaluation."""
        from pyarrow import parquet

        query = hashlib.sha256(answers.query.encode()).hexdigest()[:8]
        name = f"instant-{answers.time:016d}-{query}.parquet"
        if leaves_nothing(answers):
            if answers.revision:  # late elements may have taken all answers away
                (self._folder / name).unlink(missing_ok=True)
            return
        unfinished = self._folder / f".{name}"  # Spark leaves out names that begin with a dot
        parquet.write_table(dated(answers), unfinished)
        unfinished.replace(self._folder / name)


class TableSink:
    """Keeps the answers of all evaluations, of each the last revision; ``query.subscribe(sink)``, then `to_arrow`.

    The table grows with every answer: for queries that are looked at, not for those that run on.
    """

    def __init__(self) -> None:
        self._evaluations: list[Answers] = []
        self._places: dict[tuple[str, int], int] = {}
        self._in_order = True
        self._lock = RLock()

    def __call__(self, answers: Answers) -> None:
        """Take in the answers of one evaluation."""
        key = (answers.query, answers.time)
        with self._lock:
            self._in_order &= not self._evaluations or self._evaluations[-1].time <= answers.time
            if answers.revision and key in self._places:
                self._evaluations[self._places[key]] = answers
            else:
                self._places[key] = len(self._evaluations)
                self._evaluations.append(answers)

    def to_arrow(self) -> pa.Table:
        """All answers so far: the instant in `time` (UTC), then a column of N-Triples texts for
        each variable, or `boolean` for ASK.

        A variable called ``time`` is in the column ``?time``. There is no column but `time` before
        the first evaluation.
        """
        import pyarrow as pa

        with self._lock:
            told = list(self._evaluations)
        if not self._in_order:
            told = sorted(told, key=lambda answers: answers.time)
        tables = [dated(a) for a in told if not getattr(a, "retracted", False)]
        if not tables:
            return pa.table({"time": pa.array([], pa.timestamp("ms", tz="UTC"))})
        # In one piece: PySpark's createDataFrame drops the rows that follow an empty chunk.
        return pa.concat_tables(tables).combine_chunks()

    def to_dataframe(self, spark: SparkSession) -> DataFrame:
        """The same as a Spark DataFrame."""
        return spark.createDataFrame(self.to_arrow())


def leaves_nothing(answers: Answers) -> bool:
    """Whether nothing of their instant is to be stored: it has no answers, or is none any more."""
    return answers.empty or bool(getattr(answers, "retracted", False))


def dated(answers: Answers) -> pa.Table:
    """The answers of one evaluation with its instant."""
    import pyarrow as pa

    asked = answers.form == "ASK"
    rows = 1 if asked else len(answers)
    times = pa.array([answers.time] * rows, pa.int64()).cast(pa.timestamp("ms", tz="UTC"))
    if asked:
        return pa.table({"time": times, "boolean": [answers.boolean]})
    names = [f"?{v}" if v == "time" else v for v in answers.variables]
    return pa.table({"time": times, **dict(zip(names, answers.table.columns, strict=True))})
