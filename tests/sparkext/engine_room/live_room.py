"""An EngineRoom driven from Python with few calls into the JVM: tables go in and out as text."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

Row = tuple[int, ...]


class LiveRoom:
    """One engine room over a session, with its own dictionary.

    Three threads share every evaluation on the driver, however small.
    """

    def __init__(self, spark: SparkSession, scratch: Path) -> None:
        self.spark = spark
        self.jvm = spark._jvm
        self.cqels = spark._jvm.org.apache.spark.sql.cqels
        self.dictionary = self.cqels.dictionary.Dictionary()
        self.room = self.cqels.queries.EngineRoom.apply(
            spark._jsparkSession, self.dictionary, str(scratch), 3
        )
        self.divide(0)
        self.number: int = self.room.number()

    def divide(self, nanoseconds: int) -> None:
        """Have plans prepared from now on wake another thread for so much work; 0: always."""
        getattr(self.room, "sliceNanos_$eq")(nanoseconds)

    def names(self, *values: Any) -> Any:
        """A Java list."""
        names = self.jvm.java.util.ArrayList()
        for value in values:
            names.add(value)
        return names

    def static(self, name: str, rows: Iterable[Sequence[int]], arity: int = 2) -> Any:
        """Static content of rows given by value."""
        cells = ",".join(str(cell) for row in rows for cell in row)
        return self.room.smallContent(name, arity, cells)

    def counted(self, name: str, rows: Iterable[Sequence[int]], arity: int = 2) -> Any:
        """Static content of rows whose last number, beyond `arity`, is their multiplicity."""
        columns = [f"c{i}" for i in range(arity)]
        repeated = [row[:arity] for row in rows for _ in range(row[arity])]
        return self.room.countedContent(name, self.stock(repeated, *columns)._jdf)

    def stage(self, name: str, arity: int = 2) -> Any:
        """Live content that is replaced as a whole."""
        return self.room.stageContent(name, arity)

    def put(self, stage: Any, rows: Iterable[Sequence[int]]) -> None:
        """Replace the rows of a stage."""
        stage.replace(self.static("rows", rows, stage.arity()).table())

    def frame(self, content: Any, *columns: str, rows: int = 1000) -> DataFrame:
        """The content as a DataFrame whose plan reads what it holds then."""
        return DataFrame(self.room.frame(content, self.names(*columns), rows), self.spark)

    def stock(self, rows: Sequence[Sequence[int]], *columns: str) -> DataFrame:
        """An ordinary DataFrame of bigint columns."""
        schema = ", ".join(f"{column} bigint not null" for column in columns)
        return self.spark.createDataFrame([tuple(row) for row in rows], schema)

    def stock_copy(self, content: Any, *columns: str) -> DataFrame:
        """An ordinary DataFrame of the rows that the content holds now."""
        return DataFrame(self.room.stockFrame(content, self.names(*columns)), self.spark)

    def prepare(self, frame: DataFrame, label: str = "plan") -> Any:
        """The frame's plan, prepared."""
        return self.room.prepare(frame._jdf, label, False)

    def rows(self, table: Any) -> list[Row]:
        """The rows of a LongTable, sorted."""
        width, count = table.arity(), table.rowCount()
        if width == 0:
            return [()] * count
        text = self.jvm.java.util.Arrays.toString(table.toArray())
        cells = [int(cell) for cell in text[1:-1].split(",") if cell]
        found = [tuple(cells[at : at + width]) for at in range(0, len(cells), width)]
        assert len(found) == count
        return sorted(found)

    def on_driver(self, plan: Any) -> list[Row]:
        """The answers now, iterated on the driver, sorted; 0 for null."""
        return self.rows(plan.runOnDriver())

    def as_job(self, plan: Any, slices: int = 1) -> list[Row]:
        """The answers now, as a Spark job, sorted; 0 for null."""
        return self.rows(plan.runAsJob(slices))

    def id(self, text: str) -> int:
        """The id of a term given by its canonical text; the dictionary keeps it."""
        return int(self.dictionary.encodeRetained(text))

    def keep_static(self, texts: Iterable[str]) -> None:
        """Make terms, by their canonical texts, those of static data: they never leave."""
        layer = getattr(self.cqels.dictionary, "CompactDictionary$Builder")(16)
        for text in texts:
            layer.add(text)
        self.dictionary.addStatic(layer.build())

    def text(self, term: int) -> str:
        """The canonical text of a term."""
        return str(self.dictionary.text(term))

    @contextmanager
    def settings(self, values: dict[str, str]) -> Iterator[None]:
        """Session settings for the time of a block."""
        conf = self.spark.conf
        before = {key: conf.get(key, None) for key in values}
        for key, value in values.items():
            conf.set(key, value)
        try:
            yield
        finally:
            for key, value in before.items():
                if value is None:
                    conf.unset(key)
                else:
                    conf.set(key, value)

    def live_bytes(self) -> int:
        """Bytes of all objects that can be reached in the JVM, counted after a full collection."""
        gc.collect()  # Objects that Python still refers to count as reachable.
        jvm = self.jvm
        server = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
        # The class of the server is not open to py4j, the interface is.
        connection = jvm.java.lang.Class.forName("javax.management.MBeanServerConnection")
        invoke = next(m for m in connection.getMethods() if m.getName() == "invoke")
        command = (
            jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand"),
            "gcClassHistogram",
            self._array(jvm.Object, self._array(jvm.String)),
            self._array(jvm.String, "[Ljava.lang.String;"),
        )
        histogram = invoke.invoke(server, self._array(jvm.Object, *command))
        return int(histogram.rsplit(None, 1)[1])

    def _array(self, kind: Any, *values: Any) -> Any:
        array = self.spark.sparkContext._gateway.new_array(kind, len(values))
        for at, value in enumerate(values):
            array[at] = value
        return array

    def memory_manager(self) -> Any:
        """What hands out memory to tasks in the driver."""
        return self._field(self._env(), "org.apache.spark.SparkEnv", "_memoryManager")

    def block_infos(self) -> Any:
        """The blocks that the driver holds."""
        manager = self._field(self._env(), "org.apache.spark.SparkEnv", "blockManager")
        return self._field(manager, "org.apache.spark.storage.BlockManager", "blockInfoManager")

    def _env(self) -> Any:
        context = self.spark.sparkContext._jsc.sc()
        return self._field(context, "org.apache.spark.SparkContext", "_env")

    def _field(self, holder: Any, kind: str, name: str) -> Any:
        # By reflection: py4j itself stumbles over optional classes that methods of these refer to.
        found = self.jvm.java.lang.Class.forName(kind).getDeclaredField(name)
        found.setAccessible(True)
        return found.get(holder)

    def close(self) -> None:
        """Let go of the dictionary."""
        self.room.close()


def answers(rows: Iterable[Sequence[int | None]]) -> list[Row]:
    """Rows as result tables show them: sorted, 0 for null."""
    return sorted(tuple(0 if cell is None else int(cell) for cell in row) for row in rows)
