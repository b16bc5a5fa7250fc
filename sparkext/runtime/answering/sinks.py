"""Ready-made subscribers: answers into a JSON Lines file, a folder of Parquet files, or one table."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from sparkext.runtime.answering.answers import Answers


class JsonLinesSink:
    """Writes one line of JSON for each evaluation; ``query.subscribe(JsonLinesSink("answers.jsonl"))``.

    `target` is a path, whose file is then written anew and flushed after each line, or an open text
    file, which stays its owner's to flush and close. With `skip_empty`, evaluations without an
    answer leave no line, unless it is a revision: the instant had some before.
    """

    def __init__(self, target: str | Path | TextIO, skip_empty: bool = False) -> None:
        if not hasattr(target, "write"):
            check.path("target", target, "a path, or an open text file")
        check.flag("skip_empty", skip_empty)
        self._owned = isinstance(target, str | Path)
        self._file: TextIO = _opened(target) if isinstance(target, str | Path) else target
        self._skip_empty = skip_empty

    def __call__(self, answers: Answers) -> None:
        """Write the answers of one evaluation."""
        if self._skip_empty and answers.empty and not answers.revision:
            return
        self._file.write(answers.to_json() + "\n")
        if self._owned:
            self._file.flush()

    def close(self) -> None:
        """Close the file, if it was opened here."""
        if self._owned:
            self._file.close()

    def __enter__(self) -> JsonLinesSink:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _opened(path: str | Path) -> TextIO:
    try:
        return Path(path).open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise ArgumentError("target", f"{path}: {error.strerror or error}") from error


class ParquetSink:
    """Writes a Parquet file for each evaluation that has answers; ``query.subscribe(ParquetSink("answers"))``.

    Files are called after the instant and appear in `folder` whole, so that ``spark.readStream`` can follow it. Their
    columns are those of `TableSink.to_arrow`. An instant that is evaluated again replaces its file, or takes it away
    where it has no answers any more.
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

        name = f"instant-{answers.time:016d}.parquet"
        if answers.empty:
            if answers.revision:
                (self._folder / name).unlink(missing_ok=True)
            return
        unfinished = self._folder / f".{name}"  # Spark leaves out names that begin with a dot
        parquet.write_table(_dated(answers), unfinished)
        unfinished.replace(self._folder / name)


class TableSink:
    """Keeps the answers of all evaluations, of each the last revision; ``query.subscribe(sink)``, then `to_arrow`.

    The table grows with every answer: for queries that are looked at, not for those that run on.
    """

    def __init__(self) -> None:
        self._evaluations: list[Answers] = []
        self._places: dict[tuple[str, int], int] = {}
        self._in_order = True

    def __call__(self, answers: Answers) -> None:
        """Take in the answers of one evaluation."""
        key = (answers.query, answers.time)
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

        told = self._evaluations
        if not self._in_order:
            told = sorted(told, key=lambda answers: answers.time)
        tables = [_dated(a) for a in told if not getattr(a, "retracted", False)]
        if not tables:
            return pa.table({"time": pa.array([], pa.timestamp("ms", tz="UTC"))})
        # In one piece: PySpark's createDataFrame drops the rows that follow an empty chunk.
        return pa.concat_tables(tables).combine_chunks()

    def to_dataframe(self, spark: SparkSession) -> DataFrame:
        """The same as a Spark DataFrame."""
        return spark.createDataFrame(self.to_arrow())


def _dated(answers: Answers) -> pa.Table:
    """The answers of one evaluation with its instant."""
    import pyarrow as pa

    asked = answers.form == "ASK"
    rows = 1 if asked else len(answers)
    times = pa.array([answers.time] * rows, pa.int64()).cast(pa.timestamp("ms", tz="UTC"))
    if asked:
        return pa.table({"time": times, "boolean": [answers.boolean]})
    names = [f"?{v}" if v == "time" else v for v in answers.variables]
    return pa.table({"time": times, **dict(zip(names, answers.table.columns, strict=True))})
