"""A script: CQELS queries, and random ones, on a cluster of three JVMs, held to the table and the oracle.

    python -m tests.sparkext.execution.on_cluster WORK_DIR QUERIES RANDOM_COUNT

QUERIES are names of the test world's queries, separated by commas, or "all".
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

import sparkext
from sparkext.errors import CqelsError, UnsupportedFeatureError
from tests.oracle.evaluation import bag, select, static_store
from tests.sparkext.cqels_world import (
    DEFAULT_GRAPH,
    LOCALIZATION,
    QUERIES,
    ROOMS,
    STREAM,
    query,
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

NAMED = "WINDOW :w30 { ?person loc:at ?loc } ?person foaf:name ?name"
TWO_NAMED = f"{NAMED} WINDOW :now {{ ?other loc:at ?loc }} ?other foaf:name ?called"
NEED_TEXTS = [
    query("?person ?loc", f'{NAMED} FILTER(REGEX(?name, "^[AB]"))', "w30"),
    query("?person", f'{NAMED} FILTER(CONTAINS(STR(?person), "org/a"))', "w30"),
    query("?name ?called", f"{TWO_NAMED} FILTER(?name < ?called)"),
    query("?name ?called", f"{TWO_NAMED} FILTER(?name != ?called)"),
    query("?loc (MIN(?name) AS ?first)", NAMED, "w30", "GROUP BY ?loc"),
    query("?loud", f"{NAMED} BIND(UCASE(?name) AS ?loud)", "w30"),
    query(
        "?person ?n",
        "WINDOW :w30 { ?person loc:at ?loc }"
        " { SELECT ?person ?n { ?person foaf:name ?n } ORDER BY ?n LIMIT 2 }",
        "w30",
    ),
]
IDS = query("?person ?other", "WINDOW :w30 { ?person loc:at ?loc . ?other loc:at ?loc }", "w30")
OTHER_STREAM = "http://deri.org/others"
SELECTED = "SELECT ?person { ?person <http://xmlns.com/foaf/0.1/name> ?name FILTER(STRSTARTS(?name, 'A')) }"


def start(folder: Path, **settings: str) -> SparkSession:
    """A session on two executors of one core, with further settings of Spark."""
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
    for key, value in settings.items():
        builder = builder.config(f"spark.{key}", value)
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


def check_parts(spark: SparkSession, folder: Path, names: list[str]) -> None:
    """The same where relations lie in parts; queries tell of the steps of all tasks, and of orders that changed."""
    settings = {"driverExecution.enabled": "false", "multiwayJoin.broadcastRows": "1"}
    for key, value in settings.items():
        spark.conf.set(f"spark.cqels.{key}", value)
    work = folder / "parts"
    work.mkdir()
    engine = sparkext.Engine(spark, work_dir=work / "store")
    path = write_graphs(work, DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
    engine.load_static(path, progress=False)
    told: list[str] = []
    answered = replay(
        engine,
        [QUERIES[name] for name in names],
        {STREAM: sightings()},
        ended=lambda queries: told.extend(str(query.explain()) for query in queries),
    )
    for name, text, (_, answers) in zip(names, told, answered, strict=True):
        assert shortened(answers) == table_of(name), name
        assert "Spark job" in text, text
    # Where a window was empty in the end, nothing was joined.
    assert any("then exchange by ?" in text and "rows in" in text for text in told), told
    engine.close()
    for key in settings:
        spark.conf.unset(f"spark.cqels.{key}")


def check_texts(spark: SparkSession, folder: Path) -> None:
    """Queries that need texts of terms have the oracle's answers where everything else runs as jobs."""
    spark.conf.set("spark.cqels.driverExecution.enabled", "true")
    spark.conf.set("spark.cqels.driverExecution.maxRows", "0")
    # As large files are: static tables are read by executors.
    spark.conf.set("spark.cqels.load.driverMaxBytes", "0")
    work = folder / "texts"
    work.mkdir()
    engine = sparkext.Engine(spark, work_dir=work / "store")
    graphs = {ROOMS: LOCALIZATION}
    engine.load_static(write_graphs(work, DEFAULT_GRAPH, graphs), progress=False)
    static = static_store(DEFAULT_GRAPH, graphs)
    answered = check(engine, NEED_TEXTS, {STREAM: sightings()}, static)
    for text, by_instant in zip(NEED_TEXTS, answered, strict=True):
        assert any(by_instant.values()), text
    engine.register_stream(OTHER_STREAM)
    for text, where in (NEED_TEXTS[0], "driver (texts of terms are there)"), (IDS, "Spark job"):
        registered = engine.register_query(text.replace(STREAM, OTHER_STREAM))
        assert registered.execution.startswith(where), registered.execution
        registered.stop()
    names = engine.select(SELECTED).answer()
    assert bag(names.rows()) == select(SELECTED, static)[1] != bag([])
    engine.close()
    for key in "driverExecution.maxRows", "load.driverMaxBytes":
        spark.conf.unset(f"spark.cqels.{key}")


def check_refused(spark: SparkSession, folder: Path) -> None:
    """Without the driver, such queries are refused when they are registered, on stock Spark too."""
    work = folder / "refused"
    work.mkdir()
    path = write_graphs(work, DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
    for key in "spark.cqels.driverExecution.enabled", "spark.cqels.enabled":
        spark.conf.set(key, "false")
        engine = sparkext.Engine(spark, work_dir=work / key)
        spark.conf.set(key, "true")
        engine.load_static(path, progress=False)
        engine.register_stream(STREAM)
        engine.register_query(IDS).stop()
        for ask in engine.register_query, engine.select:
            try:
                ask(NEED_TEXTS[0] if ask == engine.register_query else SELECTED)
            except UnsupportedFeatureError as error:
                assert f"set {key} to true" in error.message, error
            else:
                raise AssertionError(f"{key}=false: a query that needs texts was taken")
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
        made = random_query(random)
        used = {
            iri: s
            for place, (iri, s) in enumerate(streams.items(), 1)
            if f"STREAM-{place}" in made.text
        }
        check(engine, [made.on(*streams)], used, store, batch=5)
    engine.close()


def check_match(spark: SparkSession, folder: Path) -> None:
    """The running example of RSEP-QL: events are found on the driver, what a MATCH finds is joined by executors."""
    base = "http://e/"
    text = (
        f"PREFIX : <{base}> REGISTER RSTREAM :query COMPUTED EVERY PT0.002S AS SELECT ?x ?z "
        "FROM NAMED WINDOW :w1 ON :S [LANDMARK 1] FROM NAMED WINDOW :w2 ON :S [RANGE PT0.005S] "
        "EVENT ON :w1 { ?x :p ?y } AS E1 EVENT ON :w2 { ?y :q ?z } AS E2 "
        "WHERE { ?x :is :good MATCH RECENT { E1 SEQ E2 } }"
    )
    elements = {
        2: ["a1 p b1"],
        4: ["a2 p b2"],
        6: ["b1 q c1", "b2 q c2"],
        8: ["b2 q c2"],
        10: ["b1 q c1"],
    }
    for on_driver in ("true", "false"):
        spark.conf.set("spark.cqels.driverExecution.enabled", on_driver)
        engine = sparkext.Engine(spark, work_dir=folder / f"match-{on_driver}")
        engine.insert([(f"<{base}a{n}>", f"<{base}is>", f"<{base}good>") for n in (1, 2)])
        stream = engine.register_stream(f"{base}S")
        found: dict[int, list[tuple[str | None, ...]]] = {}
        answered = engine.register_query(text)
        answered.subscribe(lambda told, into=found: into.update({told.time: sorted(told.rows())}))  # type: ignore[misc]
        for time, triples in elements.items():
            parts = ([f"<{base}{part}>" for part in triple.split()] for triple in triples)
            stream.push([tuple(triple) for triple in parts], time)
        engine.advance_to(12)
        engine.close()
        pairs = [(f"<{base}a{n}>", f"<{base}c{n}>") for n in (1, 2)]
        assert {time: rows for time, rows in found.items() if rows} == {6: pairs}, found


def check_source(spark: SparkSession, folder: Path) -> None:
    """Executors read the rows of a streaming DataFrame; their terms, those of several parts too, are the driver's."""
    spark.conf.unset("spark.cqels.driverExecution.enabled")
    rows = folder / "rows"
    rows.mkdir()
    for part in range(3):
        lines = [
            {
                "subject": f"http://e/{name}",
                "predicate": "http://e/p",
                "object": value,
                "time": n,
                "graph": graph,
            }
            for n, (name, value, graph) in enumerate(
                [("a", f'"{part}"', "http://e/g"), ("b", "_:x", None), ("c", "oops", None)], 1
            )
        ]
        (rows / f"{part}.json").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    schema = "subject STRING, predicate STRING, object STRING, time LONG, graph STRING"
    engine = sparkext.Engine(spark, work_dir=folder / "source")
    stream = engine.register_stream("http://e/s")
    heard: list[tuple[str | None, ...]] = []
    engine.register_query(
        "REGISTER RSTREAM <http://e/q> AS SELECT ?s ?o FROM NAMED WINDOW <http://e/w> ON <http://e/s>"
        " [RANGE 10] WHERE { WINDOW <http://e/w> { ?s ?p ?o } }"
    ).subscribe(lambda found: heard.extend(found.rows()))
    frame = spark.readStream.schema(schema).json(str(rows)).repartition(3)
    try:
        stream.read(frame, real_time="1 minute")
    except CqelsError as error:
        assert "other processes than the stream" in str(error), error
    else:
        raise AssertionError("real-time mode was not refused")
    query = stream.read(frame)
    query.processAllAvailable()
    query.stop()
    engine.finish()
    assert (stream.accepted_count, stream.malformed_count) == (4, 3)
    first = [("<http://e/a>", f'"{part}"') for part in range(3)]
    assert sorted(row for row in heard[:3]) == first, heard
    assert len({row for row in heard if row[0] == "<http://e/b>"}) == 3, heard
    engine.close()


def main() -> None:
    """Do what the arguments say; a failure is an uncaught error."""
    folder, wanted, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    spark = start(folder)
    names = list(QUERIES) if wanted == "all" else wanted.split(",")
    check_table(spark, folder, names, on_driver=False)
    check_parts(spark, folder, names)
    if count:
        check_table(spark, folder, names, on_driver=True)
        check_random(spark, folder, count)
    check_texts(spark, folder)
    check_refused(spark, folder)
    check_match(spark, folder)
    check_source(spark, folder)
    spark.stop()
    sys.stdout.write("all answers are right\n")


if __name__ == "__main__":
    main()
