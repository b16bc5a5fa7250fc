"""Static graphs that change at a time: what evaluations before, at and after it see, and what is made anew."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.oracle.recorded import element
from tests.sparkext.test_rspql_examples import COUPON, EXAMPLE_10, NEARBY, SHOPS, W1, E

if TYPE_CHECKING:
    import pyoxigraph as ox
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answers import Answers

BOB = f"<{E}b> <{E}type> <{E}Shop> .\n<{E}bob> <{E}owns> <{E}b> ."


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    """An engine without data, whose plans change with the data only."""
    from sparkext import Engine

    spark.conf.set("spark.cqels.adaptive.enabled", "false")
    try:
        made = Engine(spark)
    finally:
        spark.conf.unset("spark.cqels.adaptive.enabled")
    yield made
    made.close()


def triple(subject: str, predicate: str, object_: str | int) -> str:
    shown = f"<{E}{object_}>"
    if isinstance(object_, int):
        shown = f'"{object_}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    return f"<{E}{subject}> <{E}{predicate}> {shown} ."


# -- the worked example of the RSP-QL paper -----------------------------------------------------------


def shops_over_time(engine: Engine) -> None:
    """G_shops of Example 4: empty before 2, all of it from 2 to 13, Bob's shop alone after that."""
    engine.replace_graph(None, SHOPS, at=2)
    engine.replace_graph(None, BOB, at=14)


def coupons(engine: Engine, operator: str, extra: Sequence[str] = ()) -> dict[int, list[str]]:
    """Example 10 by instant, each answer as shopper, shop, owner and coupon."""
    nearby, coupon = f"{E}nearby", f"{E}coupon"
    for iri in (nearby, coupon):
        engine.register_stream(iri)
    query = engine.register_query(
        f"""PREFIX : <{E}> REGISTER {operator} :q AS SELECT ?shopper ?shop ?shop_owner ?coupon
        FROM NAMED WINDOW :w1 ON <{nearby}> {W1}
        FROM NAMED WINDOW :w2 ON <{coupon}> [RANGE 2 STEP 2] {{ {EXAMPLE_10} }}"""
    )
    told: dict[int, list[str]] = {}

    def note(answers: object) -> None:
        rows = answers.rows()  # type: ignore[attr-defined]
        told[answers.time] = sorted(" ".join(map(local, row)) for row in rows)  # type: ignore[attr-defined]

    query.subscribe(note)
    added = [element(15, line) for line in extra]
    every = [(e, nearby) for e in NEARBY] + [(e, coupon) for e in [*COUPON, *added]]
    for pushed, iri in sorted(every, key=lambda pair: pair[0].time):
        engine.stream(iri).push("\n".join(pushed.triples), pushed.time)
    engine.finish()
    return {time: rows for time, rows in told.items() if rows}


def local(term: str | None) -> str:
    return str(term).removeprefix(f"<{E}").rstrip(">").strip('"')


def test_example_10_over_the_graph_that_changes(engine: Engine) -> None:
    shops_over_time(engine)
    assert coupons(engine, "RSTREAM") == {
        8: ["carl a alice 10%", "eve a alice 10%"],
        16: ["diana b bob free"],
    }


def test_example_10v_alice_has_left(engine: Engine) -> None:
    """She offers something at 15, but owns no shop after 13."""
    shops_over_time(engine)
    offer = f'<{E}alice> <{E}offers> "x" .'
    assert coupons(engine, "RSTREAM", [offer])[16] == ["diana b bob free"]


def test_example_10_before_there_is_a_shop(engine: Engine) -> None:
    engine.replace_graph(None, SHOPS, at=9)
    assert coupons(engine, "RSTREAM") == {16: ["diana b bob free"]}


# -- when a change is seen ----------------------------------------------------------------------------

ROOMS = f"""PREFIX : <{E}> SELECT ?p ?room FROM NAMED WINDOW :w ON <{E}seen> [NOW]
  {{ WINDOW :w {{ ?p :at ?place }} GRAPH :plan {{ ?place :in ?room }} }}"""


class Watched:
    """A query over sightings whose answers are kept by instant."""

    def __init__(self, engine: Engine, text: str, stream: str = "seen") -> None:
        self.stream = engine.register_stream(f"{E}{stream}")
        self.query = engine.register_query(text)
        self.told: dict[int, list[str]] = {}
        self.query.subscribe(
            lambda a: self.told.__setitem__(
                a.time, sorted(" ".join(map(local, row)) for row in a.rows())
            )
        )

    def sight(self, time: int, *lines: str) -> list[str]:
        self.stream.push("\n".join(lines), time)
        self.stream.advance_to(time)
        return self.told[time]


def test_a_change_is_seen_from_its_time_on(engine: Engine) -> None:
    engine.replace_graph(f"{E}plan", "")
    rooms = Watched(engine, ROOMS)
    engine.insert(triple("door", "in", "hall"), f"{E}plan", at=20)
    engine.insert(triple("door", "in", "house"), f"{E}plan", at=30)
    engine.remove(triple("door", "in", "hall"), f"{E}plan", at=30)
    ann = triple("ann", "at", "door")
    assert [rooms.sight(t, ann) for t in (19, 20, 29, 30)] == [
        [],
        ["ann hall"],
        ["ann hall"],
        ["ann house"],
    ]


def test_a_change_without_a_time_is_seen_next(engine: Engine) -> None:
    engine.insert([(f"{E}door", f"{E}in", f"{E}hall")], f"{E}plan")
    rooms = Watched(engine, ROOMS)
    ann = triple("ann", "at", "door")
    assert rooms.sight(1, ann) == ["ann hall"]
    engine.remove(triple("door", "in", "hall"), f"{E}plan")
    assert rooms.sight(2, ann) == []
    engine.insert(triple("door", "in", "hall"), f"{E}plan")
    assert rooms.sight(3, ann) == ["ann hall"]


def test_a_late_change_is_counted_and_seen_next(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.replace_graph(f"{E}plan", "")
    rooms = Watched(engine, ROOMS)
    ann = triple("ann", "at", "door")
    assert rooms.sight(10, ann) == []
    with caplog.at_level("WARNING", logger="sparkext"):
        engine.insert(triple("door", "in", "hall"), f"{E}plan", at=5)
    assert rooms.sight(11, ann) == ["ann hall"]
    assert engine.graph_versions.late_count == 1
    assert "comes late" in caplog.text


def test_a_query_that_lags_behind_sees_the_graph_of_its_instant(engine: Engine) -> None:
    """Another query, over a stream that is ahead, has seen two changes before this one has seen the first."""
    engine.replace_graph(f"{E}plan", triple("door", "in", "r0"))
    slow = Watched(engine, ROOMS.replace("seen", "slow"), "slow")
    fast = Watched(engine, ROOMS)
    engine.replace_graph(f"{E}plan", triple("door", "in", "r1"), at=10)
    engine.replace_graph(f"{E}plan", triple("door", "in", "r2"), at=20)
    ann = triple("ann", "at", "door")
    assert [fast.sight(t, ann) for t in (5, 10, 25)] == [["ann r0"], ["ann r1"], ["ann r2"]]
    assert [slow.sight(t, ann) for t in (6, 9, 10, 19, 20, 30)] == [
        ["ann r0"],
        ["ann r0"],
        ["ann r1"],
        ["ann r1"],
        ["ann r2"],
        ["ann r2"],
    ]


def test_instants_of_an_empty_stretch_see_the_graph_of_then(engine: Engine) -> None:
    """Under COMPUTED EVERY they come when an element after the stretch is there, as if it had come at once."""
    engine.replace_graph(f"{E}plan", triple("door", "in", "r0"))
    rooms = Watched(
        engine,
        f"""PREFIX : <{E}> REGISTER RSTREAM :rooms COMPUTED EVERY 10 AS
        SELECT ?room FROM NAMED WINDOW :w ON <{E}seen> [NOW]
        {{ GRAPH :plan {{ ?place :in ?room }} OPTIONAL {{ WINDOW :w {{ ?p :at ?place }} }} }}""",
    )
    engine.replace_graph(f"{E}plan", triple("door", "in", "r1"), at=25)
    engine.replace_graph(f"{E}plan", triple("door", "in", "r2"), at=35)
    ann = triple("ann", "at", "door")
    rooms.stream.push(ann, 5)
    rooms.stream.advance_to(50)
    assert rooms.told == {}
    rooms.stream.push(ann, 55)
    rooms.stream.advance_to(60)
    assert rooms.told == {10: ["r0"], 20: ["r0"], 30: ["r1"], 40: ["r2"], 50: ["r2"]}


def test_an_ordinary_query_sees_changes_whose_time_is_complete(engine: Engine) -> None:
    stream = engine.register_stream(f"{E}seen")
    engine.insert(triple("door", "in", "hall"), at=10)
    selected = engine.select(f"SELECT * {{ ?d <{E}in> ?room }}")
    assert selected.answer().rows() == []
    stream.advance_to(9)
    assert selected.answer().rows() == []
    stream.advance_to(10)
    assert len(selected.answer().rows()) == 1


def test_what_is_malformed_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    from static_data.errors import MalformedRdfError, MissingFileError, StaticDataError

    with pytest.raises(MalformedRdfError, match="line 2, column"):
        engine.insert(triple("a", "b", "c") + "\n<a> nonsense .", at=5)
    with pytest.raises(MissingFileError):
        engine.replace_graph(None, tmp_path / "none.nt", at=5)
    with pytest.raises(StaticDataError, match="blank node"):
        engine.remove("_:x <http://e/p> <http://e/o> .")
    assert engine.graph_versions.waiting_count == 0
    assert engine.store.version == 0


@pytest.mark.parametrize("kind", ["replace", "insert"])
def test_blank_nodes_of_several_files_stay_apart(engine: Engine, tmp_path: Path, kind: str) -> None:
    """With a label and without one: the same ones in both files."""
    files = []
    for name in ("ann", "bob"):
        path = tmp_path / f"{name}.ttl"
        path.write_text(f'_:x <{E}name> "{name}" . [] <{E}nick> "{name}" .')
        files.append(path)
    if kind == "replace":
        engine.replace_graph(f"{E}plan", files)
    else:
        engine.insert(files, f"{E}plan")
    for predicate in ("name", "nick"):
        both = f"SELECT * {{ GRAPH ?g {{ ?x <{E}{predicate}> ?a , ?b }} }}"
        pairs = [row[2:] for row in engine.select(both).answer().rows()]
        assert sorted(pairs) == [('"ann"', '"ann"'), ('"bob"', '"bob"')]


@pytest.fixture
def elsewhere(spark: SparkSession, tmp_path: Path) -> str:
    """A folder on a file system of Hadoop's, which shows what is in `tmp_path`."""
    host = tmp_path.name.replace("_", "-")  # Hadoop keeps file systems, so each test has its own.
    key = f"fs.viewfs.mounttable.{host}.link./data"
    spark.sparkContext._jsc.hadoopConfiguration().set(key, tmp_path.as_uri())
    return f"viewfs://{host}/data"


def test_triples_of_files_elsewhere_are_changed(
    engine: Engine, elsewhere: str, tmp_path: Path
) -> None:
    (tmp_path / "a.nt").write_text(triple("door", "in", "hall"))
    with gzip.open(tmp_path / "b.ttl.gz", "wt") as file:
        file.write(triple("gate", "in", "yard"))
    files = [f"{elsewhere}/a.nt", f"{elsewhere}/b.ttl.gz"]
    engine.insert(files, f"{E}plan")
    graph = engine.store.graph_id(f"{E}plan")
    assert engine.store.row_count(graph) == 2
    engine.remove([files[1], str(tmp_path / "a.nt")], f"{E}plan")
    assert engine.store.row_count(graph) == 0
    engine.insert(files, f"{E}plan")
    engine.remove(files, f"{E}plan")
    assert engine.store.row_count(graph) == 0


def test_a_problem_in_a_file_elsewhere_names_it(
    engine: Engine, elsewhere: str, tmp_path: Path
) -> None:
    from static_data.errors import MalformedRdfError, StaticDataError

    (tmp_path / "broken.nt").write_text("\n\nnonsense .")
    with pytest.raises(MalformedRdfError, match=f"^{elsewhere}/broken.nt, line 3"):
        engine.remove(f"{elsewhere}/broken.nt")
    (tmp_path / "blank.ttl").write_text(f"[] <{E}in> <{E}hall> .")
    with pytest.raises(StaticDataError, match=f"^{elsewhere}/blank.ttl: a blank node"):
        engine.remove(f"{elsewhere}/blank.ttl")


@pytest.mark.parametrize("bytes_read_here", [8 << 20, 0])
def test_files_that_name_graphs_change_nothing(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_read_here: int
) -> None:
    """Those that are too large to be read on the driver, too, also with the graph that is meant."""
    from static_data import graph_changes
    from static_data.errors import MalformedRdfError

    monkeypatch.setattr(graph_changes, "_READ_HERE", bytes_read_here)
    engine.insert(triple("door", "in", "hall"), f"{E}plan")
    before = engine.store.version
    quads = tmp_path / "large.nq"
    quads.write_text(f"# rooms\n{triple('a', 'in', 'b')}\n<{E}c> <{E}in> <{E}d> <{E}plan> .\n")
    column = len(f"<{E}c> <{E}in> <{E}d> ") + 1
    place = rf"large\.nq, line 3, column {column}: expected the closing '\.'"
    trig = tmp_path / "large.trig"
    trig.write_text(f"<{E}a> <{E}in> <{E}b> . <{E}other> {{ <{E}c>\n  <{E}in> <{E}d> }}")
    for file, words in ((quads, place), (trig, rf"large\.trig: .* in: <{E}c> .* <{E}other> \.$")):
        for change in (engine.replace_graph, lambda graph, file: engine.insert(file, graph)):
            with pytest.raises(MalformedRdfError, match=words):
                change(f"{E}plan", file)
    assert engine.store.version == before
    assert [graph.text for graph in engine.store.graphs()] == [None, f"<{E}plan>"]
    quads.write_text(triple("gate", "in", "yard"))
    engine.replace_graph(f"{E}plan", quads)
    assert engine.store.row_count(engine.store.graph_id(f"{E}plan")) == 1


# -- what is made anew --------------------------------------------------------------------------------


def test_only_what_reads_a_changed_table_is_made_anew(engine: Engine) -> None:
    """The other query keeps its plan and its relations; a pattern's table follows row by row, a join is made again."""
    engine.insert("\n".join(triple(f"d{n}", "in", f"r{n % 3}") for n in range(30)))
    engine.insert("\n".join(triple(f"r{n}", "on", f"f{n % 2}") for n in range(3)))
    engine.insert("\n".join(triple(f"p{n}", "likes", f"p{n + 1}") for n in range(9)))
    engine.insert(triple("d1", "in", "attic"), f"{E}plan")
    clause = f"PREFIX : <{E}> SELECT * FROM NAMED WINDOW :w ON <{E}seen> [NOW]"
    floors = Watched(
        engine,
        f"{clause} {{ WINDOW :w {{ ?p :at ?d }} ?d :in ?r . ?r :on ?f . FILTER(?f != :f9) }}",
    )
    liked = Watched(engine, f"{clause} {{ WINDOW :w {{ ?p :at ?d }} ?p :likes ?q }}")
    floors.sight(1, triple("p1", "at", "d1"))
    plans = liked.query.plans, floors.query.plans
    made, edited = engine.relations.made, engine.relations.edited
    engine.insert(triple("p1", "likes", "p5"))
    engine.insert(triple("d1", "in", "cellar"), f"{E}plan")
    assert liked.sight(2, triple("p1", "at", "d1")) == ["p1 d1 p2", "p1 d1 p5"]
    assert floors.query.plans is plans[1]
    assert liked.query.plans is not plans[0]
    assert (engine.relations.made, engine.relations.edited) == (made, edited + 1)
    engine.insert(triple("r1", "on", "f7"))
    again = liked.query.plans
    assert "p1 d1 r1 f7" in floors.sight(3, triple("p1", "at", "d1"))
    assert liked.query.plans is again
    assert engine.relations.made == made + 1  # the join of the two patterns


def test_a_replacement_by_the_same_changes_nothing(engine: Engine) -> None:
    engine.replace_graph(f"{E}plan", triple("door", "in", "hall") + "\n" + triple("a", "on", "b"))
    rooms = Watched(engine, ROOMS)
    rooms.sight(1, triple("ann", "at", "door"))
    version, plans = engine.store.version, rooms.query.plans
    engine.replace_graph(f"{E}plan", triple("a", "on", "b") + "\n" + triple("door", "in", "hall"))
    assert engine.store.version == version
    engine.replace_graph(f"{E}plan", triple("door", "in", "hall") + "\n" + triple("a", "on", "c"))
    assert engine.store.version == version + 1
    assert rooms.sight(2, triple("ann", "at", "door")) == ["ann hall"]
    assert rooms.query.plans is plans


# -- random changes against Oxigraph ------------------------------------------------------------------

# `WINDOW :w` is `GRAPH :w` to Oxigraph, which gets the window's content as a graph.
QUERIES = [
    "WINDOW :w { ?x :at ?d } ?d :in ?r . ?r :in ?h",
    "WINDOW :w { ?x :at ?d } ?d :likes ?t . ?e :likes ?t FILTER(?d != ?e)",
    "WINDOW :w { ?x :at ?d } { SELECT ?d (COUNT(*) AS ?n) (SUM(?v) AS ?s) { ?d :in ?r . ?r :size ?v } GROUP BY ?d }",
    "WINDOW :w { ?x :at ?d } GRAPH ?g { ?d :in ?r } FILTER(?g != :w)",
    "WINDOW :w { ?x :at ?d } ?d ?p ?r",
    "WINDOW :w { ?x :at ?d } ?d :in+ ?r",
    "WINDOW :w { ?x :at ?d } OPTIONAL { GRAPH :g1 { ?d :in ?r . ?r :size ?v } FILTER(?v > 1) }",
    "WINDOW :w { ?x :at ?d } { ?d :in :n1 } UNION { :n1 :likes ?d }",
]
PREDICATES = ("in", "likes", "size")
GRAPHS = (None, f"{E}g1", f"{E}g2")


def some_triples(random: Random, count: int) -> list[str]:
    found = set()
    for _ in range(count):
        predicate = random.choice(PREDICATES)
        object_: str | int = (
            random.randint(0, 3) if predicate == "size" else f"n{random.randint(0, 4)}"
        )
        found.add(triple(f"n{random.randint(0, 4)}", predicate, object_))
    return sorted(found)


def change_both(engine: Engine, store: ox.Store, random: Random, at: int | None) -> None:
    """One random change, scheduled in the engine, made at once in the store."""
    import pyoxigraph as ox

    graph = random.choice(GRAPHS)
    name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
    kind = random.choice(("insert", "insert", "remove", "remove", "replace"))
    lines = some_triples(random, random.randint(0, 8))
    quads = [ox.Quad(*t.triple, name) for t in ox.parse("\n".join(lines), ox.RdfFormat.N_TRIPLES)]
    text = "\n".join(lines)
    if kind == "replace":
        engine.replace_graph(graph, text, at=at)
        store.clear_graph(name)
        store.extend(quads)
    elif kind == "insert":
        engine.insert(text, graph, at=at)
        store.extend(quads)
    else:
        engine.remove(text, graph, at=at)
        for quad in quads:
            store.remove(quad)


def expected(store: ox.Store, pattern: str, seen: Sequence[str]) -> list[str]:
    import pyoxigraph as ox

    window = ox.NamedNode(f"{E}w")
    for parsed in ox.parse("\n".join(seen), ox.RdfFormat.N_TRIPLES):
        store.add(ox.Quad(*parsed.triple, window))
    found = store.query(f"PREFIX : <{E}> SELECT * {{ {pattern.replace('WINDOW', 'GRAPH')} }}")
    assert isinstance(found, ox.QuerySolutions)
    names = [v.value for v in found.variables]
    rows = sorted(
        sorted((n, v) for n, v in zip(names, map(text_of, row), strict=True)) for row in found
    )
    store.clear_graph(window)
    return [str(row) for row in rows]


def text_of(term: object) -> str:
    return "" if term is None else str(term)


@pytest.mark.parametrize("seed", range(2))
def test_random_changes_against_oxigraph(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Some graphs come from files and are changed row by row, others exist beside files only."""
    import pyoxigraph as ox

    from sparkext import Engine

    random, store, engine = Random(seed), ox.Store(), Engine(spark)
    try:
        for graph in GRAPHS[:2]:
            lines = some_triples(random, 12)
            (tmp_path / "start.nt").write_text("\n".join(lines) + "\n")
            engine.load_static(tmp_path / "start.nt", graph=graph, progress=False)
            name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
            store.load("\n".join(lines).encode(), ox.RdfFormat.N_TRIPLES, to_graph=name)
        stream = engine.register_stream(f"{E}seen")
        told: dict[tuple[str, int], list[str]] = {}
        for pattern in QUERIES:
            query = engine.register_query(
                f"PREFIX : <{E}> SELECT * FROM NAMED WINDOW :w ON <{E}seen> [NOW] {{ {pattern} }}"
            )

            def note(answers: Answers, pattern: str = pattern) -> None:
                rows = [
                    sorted((n, v or "") for n, v in zip(answers.variables, row, strict=True))
                    for row in answers.rows()
                ]
                told[pattern, answers.time] = [str(row) for row in sorted(rows)]

            query.subscribe(note)
        for time in range(10, 100, 10):
            seen = [triple("ann", "at", f"n{n}") for n in range(5) if random.random() < 0.7]
            seen = seen or [triple("ann", "at", "n0")]
            stream.push("\n".join(seen), time - 1)
            before = [expected(store, pattern, seen) for pattern in QUERIES]
            scheduled = random.random() < 0.5
            if not scheduled:
                stream.advance_to(time - 1)
            for _ in range(random.randint(1, 3)):
                change_both(engine, store, random, time if scheduled else None)
            stream.push("\n".join(seen), time)
            stream.advance_to(time)
            after = [expected(store, pattern, seen) for pattern in QUERIES]
            assert [told[pattern, time - 1] for pattern in QUERIES] == before
            assert [told[pattern, time] for pattern in QUERIES] == after
        assert engine.graph_versions.late_count == 0
        check_catalogue(engine)
    finally:
        engine.close()


def check_catalogue(engine: Engine) -> None:
    """Rows and literals are counted exactly whatever was changed."""
    store = engine.store
    catalogue = store.catalogue()
    for graph in [graph.id for graph in store.graphs()]:
        counted = 0
        for predicate in store.predicates(graph):
            pairs = store.table(graph, predicate).collect()
            relation = catalogue.relation(graph, predicate)
            literals = sum(pair["o"] >= 3 << 58 for pair in pairs)
            assert len(pairs) == len(set(pairs)) == relation.rows
            assert relation.object.literal_rows == literals
            counted += len(pairs)
        assert catalogue.relation(graph, None).rows == counted == store.row_count(graph)


def test_saved_data_hold_what_was_changed(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    """Terms that only a change brought are saved, too; what is waiting for its time is not."""
    from sparkext import Engine

    (tmp_path / "rooms.nt").write_text(
        triple("door", "in", "hall") + "\n" + triple("gate", "in", "yard")
    )
    engine.load_static(tmp_path / "rooms.nt", graph=f"{E}plan", progress=False)
    engine.remove(triple("door", "in", "hall"), f"{E}plan")
    engine.insert(triple("door", "in", "new"), f"{E}plan")
    engine.insert(f"<< <{E}door> <{E}in> <{E}new> >> <{E}since> <{E}today> .")
    engine.insert(triple("door", "in", "later"), f"{E}plan", at=10)
    engine.save_static(tmp_path / "saved")
    engine.remove(triple("gate", "in", "yard"), f"{E}plan")
    opened = Engine(spark)
    try:
        opened.open_static(tmp_path / "saved", progress=False)
        rooms = Watched(opened, ROOMS)
        seen = (triple("ann", "at", "door"), triple("bob", "at", "gate"))
        assert rooms.sight(20, *seen) == ["ann new", "bob yard"]
        quoted = opened.select(f"SELECT * {{ << ?d <{E}in> ?r >> <{E}since> ?t }}").answer()
        assert [[local(term) for term in row] for row in quoted.rows()] == [
            ["door", "new", "today"]
        ]
    finally:
        opened.close()


@pytest.mark.slow
def test_two_hundred_changes_leave_nothing_behind(engine: Engine, spark: SparkSession) -> None:
    """New terms each time: they, their rows, relations and plans go with the graph that is replaced."""
    rooms = Watched(engine, ROOMS) if engine.store.announce_graph(f"{E}plan") else None
    assert rooms is not None
    jvm = spark.sparkContext._jvm
    assert jvm is not None

    def held() -> tuple[int, int, int]:
        return (
            engine.store.dictionary.streamSize(),
            len(engine.relations),
            engine.relations.memory_bytes(),
        )

    def heap() -> int:
        for _ in range(3):
            jvm.java.lang.System.gc()
        runtime = jvm.java.lang.Runtime.getRuntime()
        return int(runtime.totalMemory() - runtime.freeMemory())

    marks = {}
    for number in range(1, 201):
        lines = [triple(f"door{n}", "in", f"room{number}x{n}") for n in range(20)]
        engine.replace_graph(f"{E}plan", "\n".join(lines), at=10 * number)
        seen = rooms.sight(10 * number, triple("ann", "at", "door3"))
        assert seen == [f"ann room{number}x3"]
        if number in (100, 200):
            marks[number] = (held(), heap())
    assert marks[100][0] == marks[200][0]
    assert marks[200][1] - marks[100][1] < 16 << 20
