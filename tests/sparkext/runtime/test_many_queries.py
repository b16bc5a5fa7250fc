"""Queries that differ in constants only are evaluated together, and each is as if it were alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.sparkext.listening import E, S, query, settings, triple

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

ROOMS = "WINDOW :w { ?p :at :ROOM }"


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    from sparkext import Engine

    made = Engine(spark)
    made.register_stream(S)
    yield made
    made.close()


def in_room(room: str, **options: Any) -> str:
    return query(ROOMS.replace("ROOM", room), **options).replace(" :q AS", f" :{room} AS")


def hear(engine: Engine, *texts: str) -> list[list[tuple[int, list[tuple[str | None, ...]]]]]:
    """Registers the queries; what each is told, as it comes."""
    heard: list[list[tuple[int, list[tuple[str | None, ...]]]]] = []
    for text in texts:
        told: list[tuple[int, list[tuple[str | None, ...]]]] = []

        def note(answers: Answers, told: Any = told) -> None:
            told.append((answers.time, answers.rows()))

        engine.register_query(text).subscribe(note)
        heard.append(told)
    return heard


def at(engine: Engine, time: int, person: str, room: str) -> None:
    engine.push(S, triple(person, "at", room), time)
    engine.advance_to(time)


def evaluated(engine: Engine) -> list[str]:
    """The names of what is evaluated, without E."""
    return [name.removeprefix(E) for name in engine._registered.evaluated]


def names(rows: list[tuple[str | None, ...]]) -> list[str]:
    return sorted(str(cell).removeprefix(f"<{E}").removesuffix(">") for row in rows for cell in row)


def test_the_second_of_a_kind_makes_a_template_that_others_join(engine: Engine) -> None:
    heard = hear(engine, *(in_room(f"r{n}") for n in range(5)))
    assert evaluated(engine) == ["r0", "template-1"]
    at(engine, 1, "ann", "r1")
    at(engine, 2, "bob", "r3")
    assert [[names(rows) for _, rows in told] for told in heard] == [
        [[], []],
        [["ann"], ["ann"]],
        [[], []],
        [[], ["bob"]],
        [[], []],
    ]
    progress = engine.queries[f"{E}r1"].progress
    assert (progress.evaluations, progress.answers) == (2, 2)
    explained = engine.queries[f"{E}r1"].explain().data
    assert (explained["template"], explained["instances"]) == ("template-1", 4)


def test_sharing_switched_off(spark: SparkSession) -> None:
    from sparkext import Engine

    with settings(spark, **{"sharing.enabled": "false"}):
        engine = Engine(spark)
    engine.register_stream(S)
    hear(engine, *(in_room(f"r{n}") for n in range(3)))
    assert evaluated(engine) == ["r0", "r1", "r2"]
    engine.close()


def test_what_does_not_differ_stays_a_constant(engine: Engine) -> None:
    pattern = "WINDOW :w {{ ?p :at :r{0} ; :as :{1} }}"
    texts = [query(pattern.format(n, role)) for n, role in ((0, "a"), (1, "a"), (2, "a"), (3, "b"))]
    for number, text in enumerate(texts):
        engine.register_query(text, name=f"n{number}")
    assert evaluated(engine) == ["n0", "template-1", "template-2"]
    engine.register_query(query(pattern.format(9, "a")), name="n9")
    assert len(engine.queries["n9"].template) == 3  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "pattern",
    [
        "WINDOW :w { ?p :at ?room } VALUES ?room { :ROOM }",
        "WINDOW :w { ?p :at ?room } VALUES (?room ?p) { (:ROOM UNDEF) (:none :ROOM) (:ROOM :bob) }",
        "WINDOW :w { ?p :at ?room } ?room :in+ :ROOM",
        "WINDOW :w { ?p :at ?room } :ROOM :in+ ?other . ?other ^:in* ?room",
        "WINDOW :w { ?p :at ?room OPTIONAL { ?p :in+ ?q VALUES ?room { :ROOM } } }",
        "WINDOW :w { ?p :at ?room FILTER EXISTS { VALUES ?room { :ROOM } } }",
        "WINDOW :w { GRAPH ?g { ?p :at ?room FILTER(?room != :ROOM) } }",
        "WINDOW :w { GRAPH ?g { SELECT ?p ?room { ?p :at ?room FILTER(?room != :ROOM) } } }",
        "WINDOW :w { GRAPH ?g { SELECT (COUNT(?q) AS ?p) { ?q :at ?r FILTER(?r != :ROOM) } } }",
        "WINDOW :w { ?p :at ?room } GRAPH ?g { ?room :in ?in FILTER(?in != :ROOM) }",
    ],
)
def test_inline_data_ends_of_paths_and_graphs(
    engine: Engine, spark: SparkSession, tmp_path: Path, pattern: str
) -> None:
    from sparkext import Engine

    file = tmp_path / "rooms.nt"
    triples = (("r1", "r2"), ("r2", "r3"), ("r3", "r1"), ("r4", "r1"))
    file.write_text("".join(f"<{E}{a}> <{E}in> <{E}{b}> .\n" for a, b in triples))
    with settings(spark, **{"sharing.enabled": "false"}):
        apart = Engine(spark)
    apart.register_stream(S)
    found = []
    for one in (engine, apart):
        one.load_static(file, progress=False)
        for graph in ("one", "two"):
            one.insert(file.read_text(), f"{E}{graph}")
        for room in ("r1", "r2", "r3", "r4", "r5", "ann"):
            text = query(pattern.replace("ROOM", room), select="?p ?room")
            one.register_query(text, name=room)
        told = []
        for time, (person, room) in enumerate((("ann", "r1"), ("bob", "r4"), ("r3", "r5")), 1):
            one.push(S, triple(person, "at", room), time, f"{E}{person}-{time}")
            one.advance_to(time)
            told.append([sorted(a.rows()) for q in one.queries.values() if (a := q.last_answers)])
        found.append(told)
    assert evaluated(engine) == ["r1", "template-1"]
    assert found[0] == found[1]
    assert any(map(any, found[0]))
    apart.close()


@pytest.mark.parametrize("rooms", [(0, 1, 2, 3), (1, 1, 1)])
def test_each_of_a_kind_draws_for_itself(engine: Engine, rooms: tuple[int, ...]) -> None:
    pattern = "WINDOW :w {{ ?p :at ?r }} BIND(UUID() AS ?id) FILTER(?r != :r{0})"
    for number, room in enumerate(rooms):
        text = query(pattern.format(room), select="?id")
        engine.register_query(text, name=f"n{number}")
    assert evaluated(engine) == ["n0", "template-1"]
    at(engine, 1, "ann", "elsewhere")
    found = [q.last_answers for q in engine.queries.values()]
    assert len({row for answers in found if answers for row in answers.rows()}) == len(rooms)


def test_equal_queries_are_one(engine: Engine) -> None:
    for number in range(4):
        engine.register_query(in_room("r1"), name=f"n{number}")
    assert evaluated(engine) == ["n0", "template-1"]
    at(engine, 1, "ann", "r1")
    for number in range(4):
        last = engine.queries[f"n{number}"].last_answers
        assert last is not None
        assert names(last.rows()) == ["ann"]


def test_variables_have_their_own_names_and_order_and_limit_are_their_own(engine: Engine) -> None:
    for number, (variable, limit) in enumerate((("x", 1), ("y", 2), ("z", 3))):
        text = query(f"WINDOW :w {{ ?{variable} :at :r }}", select=f"?{variable}")
        engine.register_query(f"{text} ORDER BY ?{variable} LIMIT {limit}", name=f"n{number}")
    assert evaluated(engine) == ["n0", "template-1"]
    for time, person in enumerate("dcba", 1):
        at(engine, time, person, "r")
    found = [engine.queries[f"n{number}"].last_answers for number in range(3)]
    assert [answers and answers.variables for answers in found] == [("x",), ("y",), ("z",)]
    assert [[str(r[0])[-2] for r in a.rows()] if a else [] for a in found] == [
        ["a"],
        ["a", "b"],
        ["a", "b", "c"],
    ]


def test_instances_come_and_go_between_evaluations(engine: Engine) -> None:
    heard = hear(engine, *(in_room(f"r{n}", operator="ISTREAM") for n in range(3)))
    at(engine, 1, "ann", "r1")
    at(engine, 2, "ann", "r2")
    engine.stop_query(f"{E}r1")
    late = hear(engine, in_room("r4", operator="ISTREAM"), in_room("r2b", operator="ISTREAM"))
    again = hear(engine, in_room("r1", operator="ISTREAM"))
    at(engine, 3, "bob", "r4")
    assert [names(rows) for _, rows in heard[2]] == [[], ["ann"], []]
    assert [names(rows) for _, rows in heard[1]] == [["ann"], []]
    assert [names(rows) for _, rows in late[0]] == [["bob"]]
    # What the window holds is new to a query that is.
    assert [names(rows) for _, rows in again[0]] == [["ann"]]
    assert evaluated(engine) == ["r0", "template-1"]


def test_what_is_new_comes_to_each_instance_in_whatever_order_it_is_found(engine: Engine) -> None:
    pattern = "WINDOW :w {{ ?p :at ?room . ?room :in :{0} }}"
    texts = [query(pattern.format(f"h{n}"), select="?p", operator="ISTREAM") for n in range(3)]
    for number, text in enumerate(texts):
        engine.register_query(text, name=f"n{number}")
    engine.register_query(texts[1] + " LIMIT 1", name="cut")
    assert evaluated(engine) == ["n0", "template-1", "cut"]
    assert engine.queries["n1"].evaluation == "delta evaluation"
    for number in (1, 2, 1, 2):
        engine.push(S, triple("r", "in", f"h{number}"), number)
    for person in ("ann", "bob", "cat"):
        engine.push(S, triple(person, "at", "r"), 3)
    engine.advance_to(3)
    found = [engine.queries[f"n{number}"].last_answers for number in range(3)]
    assert [names(a.rows()) if a else [] for a in found] == [[], *[["ann", "bob", "cat"]] * 2]
    last = engine.queries["cut"].last_answers
    assert last is not None
    assert len(last) == 1


def test_the_last_instance_ends_the_template(engine: Engine) -> None:
    hear(engine, *(in_room(f"r{n}") for n in range(3)))
    at(engine, 1, "ann", "r1")
    stopped = engine.queries[f"{E}r1"]
    for name in list(engine.queries):
        engine.stop_query(name)
        engine.queries.get(name)
    assert evaluated(engine) == []
    assert not stopped.active
    stopped.stop()
    assert stopped.last_answers is not None
    assert names(stopped.last_answers.rows()) == ["ann"]
    hear(engine, in_room("r7"))
    assert evaluated(engine) == ["r7"]


def test_patterns_that_no_query_matches_any_more_are_not_known(engine: Engine) -> None:
    for number in range(10):
        engine.register_query(query(f"WINDOW :w {{ ?p :at{number} ?r ; :in ?h }}"), name="q")
        at(engine, number, "ann", "r0")
        engine.stop_query("q")
    assert not engine._registered.windows._pattern_users


def test_constants_leave_the_dictionary_with_their_instances(engine: Engine) -> None:
    def terms() -> int:
        return int(engine.room.dictionary.streamSize())

    hear(engine, in_room("r0"), in_room("r1"))
    at(engine, 1, "ann", "r0")
    before = terms()
    for number in range(10, 60):
        engine.register_query(in_room(f"r{number}"))
    at(engine, 2, "ann", "r0")
    assert terms() == before + 50
    for number in range(10, 60):
        engine.stop_query(f"{E}r{number}")
    at(engine, 3, "ann", "r0")
    assert terms() == before


def test_a_failing_subscriber_is_its_own_query_s(engine: Engine) -> None:
    heard = hear(engine, *(in_room(f"r{n}") for n in range(4)))

    def fails(answers: Answers) -> None:
        raise RuntimeError(str(answers))

    engine.queries[f"{E}r1"].subscribe(fails)
    end = engine.queries[f"{E}r2"].subscribe(lambda _: engine.stop_query(f"{E}r3"))
    at(engine, 1, "ann", "r1")
    end()
    at(engine, 2, "bob", "r2")
    assert engine.queries[f"{E}r1"].progress.subscriber_failures == 2
    assert engine.queries[f"{E}r2"].progress.subscriber_failures == 0
    assert [len(told) for told in heard] == [2, 2, 2, 0]


@pytest.mark.parametrize("apart", [False, True])
def test_who_leaves_twice_has_left_once(engine: Engine, apart: bool) -> None:
    made = engine.register_query(in_room("r0"))
    told: list[int] = []

    def note(answers: Answers) -> None:
        told.append(answers.time)

    leave = made.subscribe(note, apart)
    again = made.subscribe(note)
    leave()
    leave()
    at(engine, 1, "ann", "r0")
    assert told == [1]
    again()
    again()
    at(engine, 2, "ann", "r0")
    assert told == [1]


@pytest.mark.parametrize("room", ["r0", "r2"], ids=["alone", "an instance"])
def test_a_slow_subscriber_apart_delays_nobody(engine: Engine, room: str) -> None:
    heard = hear(engine, *(in_room(f"r{n}") for n in range(4)))
    may_go_on, told = threading.Event(), []

    def slow(answers: Answers) -> None:
        assert may_go_on.wait(60)
        told.append(answers.time)
        if answers.time == 2:
            raise RuntimeError("at 2")

    registered = engine.queries[f"{E}{room}"]
    end = registered.subscribe(slow, apart=True)
    for time in (1, 2, 3):
        at(engine, time, "ann", "r1")
    assert [len(told) for told in heard] == [3, 3, 3, 3]
    assert told == []
    end()
    may_go_on.set()
    for thread in threading.enumerate():
        if thread.name == f"subscriber of {E}{room}":
            thread.join(60)
    assert told == [1, 2, 3]
    assert registered.progress.subscriber_failures == 1


def test_static_data_change_for_all_instances(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "names.nt"
    file.write_text(f'<{E}ann> <{E}name> "Ann" .\n')
    engine.load_static(file, progress=False)
    pattern = 'WINDOW :w { ?p :at ?r } ?p :name "NAME"'
    texts = [query(pattern.replace("NAME", name), select="?r") for name in ("Ann", "Bob", "Cat")]
    for number, text in enumerate(texts):
        engine.register_query(text, name=f"n{number}")
    at(engine, 1, "bob", "r1")
    engine.insert(f'<{E}bob> <{E}name> "Bob" .')
    at(engine, 2, "ann", "r2")
    found = [engine.queries[f"n{number}"].last_answers for number in range(3)]
    assert [a and names(a.rows()) if a is None or len(a) else [] for a in found] == [
        ["r2"],
        ["r1"],
        [],
    ]


def test_forms(engine: Engine) -> None:
    head, _, rest = in_room("ROOM").partition(" SELECT *")
    for room in ("r0", "r1", "r2"):
        here = rest.replace("ROOM", room)
        prefix = head.partition("REGISTER")[0]
        engine.register_query(f"{prefix} ASK {here}", name=f"ask {room}")
        construct = f"{prefix} CONSTRUCT {{ ?p :in :here . :here :has ?p }} {here}"
        engine.register_query(construct, name=f"construct {room}")
        engine.register_query(f"{prefix} SELECT (COUNT(?p) AS ?n) {here}", name=f"count {room}")
        engine.register_query(
            f"{prefix} SELECT (COUNT(?p) AS ?n) {here} GROUP BY ?p HAVING(COUNT(?p) > 0)",
            name=f"group {room}",
        )
    at(engine, 1, "ann", "r1")
    found = {n: a for n, q in engine.queries.items() if (a := q.last_answers) is not None}
    assert len(found) == 12
    assert [a.boolean for n, a in found.items() if n.startswith("ask")] == [
        False,
        True,
        False,
    ]
    triples = [len(a.triples()) for n, a in found.items() if n.startswith("construct")]
    assert triples == [0, 2, 0]
    counts = [a.rows()[0][0] for n, a in found.items() if n.startswith("count")]
    assert [str(count)[1] for count in counts] == ["0", "1", "0"]
    groups = [len(a.rows()) for n, a in found.items() if n.startswith("group")]
    assert groups == [0, 1, 0]
    assert len([name for name in evaluated(engine) if name.startswith("template")]) == 4


def test_the_most_of_each_instance(engine: Engine) -> None:
    counted = (
        "{ SELECT ?room (COUNT(DISTINCT ?p) AS ?n) "
        "{ WINDOW :w { ?p :at ?room ; :likes :FOOD } } GROUP BY ?room }"
    )
    pattern = f"{counted} {{ SELECT (MAX(?n) AS ?most) {{ {counted} }} }} FILTER(?n = ?most)"
    for food in ("tea", "rum", "ice"):
        text = query(pattern.replace("FOOD", food), select="?room")
        engine.register_query(text, name=food)
    likes = {"tea": "abc", "rum": "bd", "ice": ""}
    for food, people in likes.items():
        for person in people:
            engine.push(S, triple(person, "likes", food), 1)
    for person, room in ("a1", "b1", "b2", "c2", "d2", "d3"):
        engine.push(S, triple(person, "at", f"r{room}"), 1)
    engine.advance_to(1)
    found = {food: q.last_answers for food, q in engine.queries.items()}
    rooms = {food: names(a.rows()) if a else [] for food, a in found.items()}
    assert rooms == {"tea": ["r1", "r2"], "rum": ["r2"], "ice": []}
