"""A script: CQELS queries, and random ones, on a cluster of three JVMs, held to the table and the oracle.

    python -m tests.sparkext.on_cluster WORK_DIR QUERIES RANDOM_COUNT

QUERIES are names of the test world's queries, separated by commas, or "all".
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

import sparkext
from tests.oracle.evaluation import static_store
from tests.sparkext.cqels_world import (
    DEFAULT_GRAPH,
    LOCALIZATION,
    QUERIES,
    ROOMS,
    STREAM,
    shortened,
    sightings,
    table_of,
)
from tests.sparkext.random_queries import (
    BASE,
    STATIC_GRAPHS,
    random_query,
    random_stream,
    random_triples,
)
from tests.sparkext.replay import check, replay, write_graphs


def start(folder: Path) -> SparkSession:
    """A session on two executors of one core."""
    builder = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .appName("cluster tests")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    )
    return sparkext.configure(builder).getOrCreate()


def check_table(spark: SparkSession, folder: Path, names: list[str], on_driver: bool) -> None:
    """The test world's queries of these names give the table's answers."""
    spark.conf.set("spark.cqels.driverExecution.enabled", str(on_driver).lower())
    work = folder / f"table-{on_driver}"
    work.mkdir()
    engine = sparkext.Engine(spark, work_dir=work / "store")
    path = write_graphs(work, DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
    engine.load_static(path, progress=False)
    texts = [QUERIES[name] for name in names]
    for name, (_, answered) in zip(
        names, replay(engine, texts, {STREAM: sightings()}), strict=True
    ):
        assert shortened(answered) == table_of(name), name
    engine.close()


def check_random(spark: SparkSession, folder: Path, count: int) -> None:
    """So many random queries are answered as by the oracle, as Spark jobs."""
    random = Random(count)
    default, named = (
        random_triples(random, 10),
        {graph: random_triples(random, 8) for graph in STATIC_GRAPHS},
    )
    spark.conf.set("spark.cqels.driverExecution.enabled", "false")
    work = folder / "random"
    work.mkdir()
    engine = sparkext.Engine(spark, work_dir=work / "store")
    engine.load_static(write_graphs(work, default, named), progress=False)
    store = static_store(default, named)
    for number in range(count):
        streams = {
            f"{BASE}{number}-1": random_stream(random, 12),
            f"{BASE}{number}-2": random_stream(random, 8),
        }
        query = random_query(random)
        used = {
            iri: s
            for place, (iri, s) in enumerate(streams.items(), 1)
            if f"STREAM-{place}" in query.text
        }
        check(engine, [query.on(*streams)], used, store, batch=5)
    engine.close()


def main() -> None:
    """Do what the arguments say; a failure is an uncaught error."""
    folder, wanted, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    spark = start(folder)
    names = list(QUERIES) if wanted == "all" else wanted.split(",")
    check_table(spark, folder, names, on_driver=False)
    if count:
        check_table(spark, folder, names, on_driver=True)
        check_random(spark, folder, count)
    spark.stop()
    sys.stdout.write("all answers are right\n")


if __name__ == "__main__":
    main()
