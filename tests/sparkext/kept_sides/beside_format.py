"""A script: one session with a table format's extension beside ours, or without ours; prints the answers as JSON.

python -m tests.sparkext.kept_sides.beside_format FORMAT ORDER WORK_DIR PACKAGES_DIR

FORMAT is a name of FORMATS. ORDER is `alone`, or says which stands first in `spark.sql.extensions`: `ours` or `theirs`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkext
from sparkext.session import EXTENSION
from tests.sparkext.kept_sides.streaming_job import StreamingJob

if TYPE_CHECKING:
    from collections.abc import Callable

# What Spark has itself.
SPARKS_OWN = (
    *("com.fasterxml.jackson.*", "com.github.luben", "com.google.code.findbugs", "commons-logging"),
    *("commons-pool", "io.airlift", "org.apache.hadoop", "org.apache.logging.log4j"),
    *(
        "org.apache.parquet",
        "org.roaringbitmap",
        "org.scala-lang",
        "org.slf4j",
        "org.xerial.snappy",
    ),
)
BATCH = [(i, i % 6, f"s{i}", i / 2, None) for i in range(12)]


@dataclass(frozen=True)
class TableFormat:
    """A table format, the Spark that it is made for, and what its SQL has of its own."""

    spark: str
    package: str
    extension: str
    catalog: str
    catalog_class: str
    properties: str
    snapshots: str
    commands: tuple[str, ...]

    def table(self, name: str) -> str:
        """The name of a table in SQL."""
        return f"{self.catalog}.default.{name}"


FORMATS = {
    "delta": TableFormat(
        "4.2",
        "io.delta:delta-spark_4.2_2.13:4.4.0",
        "io.delta.sql.DeltaSparkSessionExtension",
        "spark_catalog",
        "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "'delta.enableDeletionVectors' = 'true'",
        "DESCRIBE HISTORY {0}",
        (
            "OPTIMIZE {0} WHERE part = 1",
            "DESCRIBE DETAIL {0}",
            "VACUUM {0} RETAIN 200 HOURS DRY RUN",
            "ALTER TABLE {0} ADD CONSTRAINT keys CHECK (key >= 0)",
        ),
    ),
    "iceberg": TableFormat(
        "4.1",
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "lake",
        "org.apache.iceberg.spark.SparkCatalog",
        "'format-version' = '2', 'write.delete.mode' = 'merge-on-read'",
        "SELECT snapshot_id FROM {0}.snapshots ORDER BY committed_at DESC",
        (
            "CALL lake.system.rewrite_data_files(table => '{0}')",
            "ALTER TABLE {0} WRITE ORDERED BY key",
            "ALTER TABLE {0} CREATE TAG first_of_all",
        ),
    ),
}


class Scenes:
    """What is done with tables of a format; each scene gives the rows that it came to."""

    def __init__(self, spark: SparkSession, form: TableFormat, folder: Path, kept: bool) -> None:
        self.spark = spark
        self.form = form
        self.folder = folder
        self.kept = kept

    def made(self, name: str) -> str:
        """A new table of rooms in three parts: keys 0 to 4, of which 4 twice."""
        table = self.form.table(name)
        self.spark.sql(
            f"CREATE TABLE {table} (key INT, label STRING, part INT) USING {self.form_name}"
            f" PARTITIONED BY (part) TBLPROPERTIES ({self.form.properties})"
        )
        rows = [(key, f"room {key}", key % 3) for key in (0, 1, 2, 3, 4, 4)]
        source = self.spark.createDataFrame(rows, "key INT, label STRING, part INT")
        source.coalesce(1).writeTo(table).append()
        return table

    @property
    def form_name(self) -> str:
        return next(name for name, form in FORMATS.items() if form is self.form)

    def job(self, name: str) -> StreamingJob:
        """A job of its own folder."""
        return StreamingJob(self.spark, self.folder / name, self.kept)

    def versions(self, table: str) -> list[int]:
        """The versions that the table has had, the last one first."""
        return [row[0] for row in self.spark.sql(self.form.snapshots.format(table)).collect()]

    def sides(self) -> list[Any]:
        """What is kept, if anything can be."""
        return sparkext.kept_sides(self.spark) if self.kept else []

    def changes(self) -> list[str]:
        """A table that changes while a job joins with it, two batches with each version of it."""
        table = self.made("changing")
        job = self.job("changes")
        static = self.spark.table(table).where("part <> 2")
        job.start(job.readings().join(static, F.col("k") == F.col("key")))
        for change in (
            "",
            f"INSERT INTO {table} VALUES (5, 'new', 1), (1, 'again', 1)",
            f"DELETE FROM {table} WHERE label = 'again' OR key = 0",
            f"MERGE INTO {table} t USING (SELECT 4 k) s ON t.key = s.k"
            " WHEN MATCHED THEN UPDATE SET label = 'merged'",
        ):
            if change:
                self.spark.sql(change)
            for _ in range(2):
                job.feed(BATCH)
            self.check_kept(job, "changing")
        job.stop()
        return job.answers()

    def check_kept(self, job: StreamingJob, *tables: str) -> None:
        """Both batches of the last version of these tables found what was read once."""
        if self.kept:
            for table in tables:
                assert f"KeptStaticSide {self.form.table(table)}" in job.plan(), job.plan()
            assert all(s.uses > 1 for s in self.sides() if s.side.endswith(tables)), self.sides()

    def versions_and_parts(self) -> list[str]:
        """Joins with two parts of a table as it is, and with one of them as it was at first, in one job."""
        table = self.made("versions")
        first = self.versions(table)[0]
        self.spark.sql(f"INSERT INTO {table} VALUES (1, 'second', 1), (0, 'second', 0)")
        job = self.job("versions")
        answers = job.readings()
        wheres = ("WHERE part = 0", "WHERE part = 1", f"VERSION AS OF {first} WHERE part = 1")
        for number, where in enumerate(wheres):
            side = self.spark.sql(f"SELECT key k{number}, label label{number} FROM {table} {where}")
            answers = answers.join(side, F.col("k") == F.col(f"k{number}"), "left")
        job.start(answers)
        for change in ("", f"INSERT INTO {table} VALUES (4, 'third', 1), (3, 'third', 0)"):
            if change:
                self.spark.sql(change)
            for _ in range(2):
                job.feed(BATCH[:6])
            self.check_kept(job, "versions")
        if self.kept:
            assert job.plan().count("KeptStaticSide") >= 3, job.plan()
        job.stop()
        return job.answers()

    def merges(self) -> list[str]:
        """Batches joined with a table and merged into another, the job started again in between."""
        static, target = self.made("merged_with"), self.made("merged_into")

        def merge(batch: DataFrame, _number: int) -> None:
            known = batch.join(self.spark.table(static), F.col("k") == F.col("key"))
            totals = known.groupBy("key", "part").agg(
                F.max("label").alias("label"), F.count("*").alias("n")
            )
            totals.createOrReplaceTempView("totals")
            batch.sparkSession.sql(
                f"MERGE INTO {target} t USING totals s ON t.key = s.key AND t.part = s.part"
                " WHEN MATCHED AND s.key = 2 THEN DELETE"
                " WHEN MATCHED THEN UPDATE SET label = concat(t.label, ' ', s.label, ' ', s.n)"
                " WHEN NOT MATCHED THEN INSERT (key, label, part) VALUES (s.key, s.label, s.part)"
            )

        job = self.job("merges")
        for number in range(3):
            answers = job.readings().where("k <> 4").writeStream.foreachBatch(merge)
            job.query = answers.option("checkpointLocation", str(job.folder / "state")).start()
            job.feed(BATCH)
            job.feed(BATCH[: 4 + number])
            job.stop()
            self.spark.sql(f"INSERT INTO {static} VALUES (5, 'late', 2)")
        if self.kept:
            # Rows that a MERGE made for itself go again.
            assert sum(s.side == "LocalRelation" for s in self.sides()) <= 3, self.sides()
            assert any(s.side.endswith("merged_with") and s.uses > 1 for s in self.sides()), (
                self.sides()
            )
        return self.rows(target)

    def streams(self) -> list[str]:
        """A stream from one table into another through a join with a third, started again with each change."""
        source, static, target = (
            self.made("source"),
            self.made("joined_with"),
            self.form.table("sink"),
        )
        self.spark.sql(
            f"CREATE TABLE {target} (key INT, label STRING, found STRING) USING {self.form_name}"
        )
        for change in (
            "",
            f"INSERT INTO {source} VALUES (2, 'more', 0)",
            f"DELETE FROM {static} WHERE key = 1",
        ):
            if change:
                self.spark.sql(change)
            self.spark.sql(f"INSERT INTO {source} VALUES (1, 'next', 0)")
            side = self.spark.table(static).select("key", F.col("label").alias("found"))
            joined = self.spark.readStream.table(source).join(side, "key", "left")
            writer = joined.select("key", "label", "found").writeStream.format(self.form_name)
            writer = writer.option("checkpointLocation", str(self.folder / "sink"))
            query = writer.trigger(availableNow=True).toTable(target)
            query.awaitTermination()
        if self.kept:
            assert any(s.side.endswith("joined_with") for s in self.sides()), self.sides()
        return self.rows(target)

    def commands(self) -> list[str]:
        """Commands that Spark does not have itself, and what they leave."""
        table = self.made("commanded")
        for command in self.form.commands:
            self.spark.sql(command.format(table)).collect()
        return [*self.rows(table), str(len(self.versions(table)))]

    def rows(self, table: str) -> list[str]:
        """What a table has."""
        return sorted(self.spark.table(table).toJSON().collect())


def session(form: TableFormat, order: str, folder: Path, packages: Path) -> SparkSession:
    """A session with these extensions in this order."""
    extensions = [form.extension] if order != "ours" else [EXTENSION, form.extension]
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder}")
        .config("spark.cqels.classArchive", "false")
        .config("spark.jars.ivy", str(packages))
        .config("spark.jars.packages", form.package)
        .config("spark.jars.excludes", ",".join(f"{group}:*" for group in SPARKS_OWN))
        .config("spark.sql.extensions", ",".join(extensions))
        .config(f"spark.sql.catalog.{form.catalog}", form.catalog_class)
        # Tables of a few rows.
        .config("spark.databricks.delta.snapshotPartitions", "1")
        .config("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
        .config("spark.ui.showConsoleProgress", "false")
    )
    if form.catalog != "spark_catalog":
        builder.config(f"spark.sql.catalog.{form.catalog}.type", "hadoop")
        builder.config(f"spark.sql.catalog.{form.catalog}.warehouse", str(folder / "lake"))
    return (builder if order == "alone" else sparkext.configure(builder)).getOrCreate()


def main() -> None:
    """Do it; a failure is an uncaught error."""
    name, order, folder, packages = sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
    form = FORMATS[name]
    spark = session(form, order, folder, packages)
    scenes = Scenes(spark, form, folder, order != "alone")
    played: list[Callable[[], list[str]]] = [
        scenes.changes,
        scenes.versions_and_parts,
        scenes.merges,
        scenes.streams,
        scenes.commands,
    ]
    answers = {scene.__name__: scene() for scene in played}
    spark.stop()
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main()
