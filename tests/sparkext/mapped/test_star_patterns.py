"""Patterns with one subject over mapped rows: the same answers with the shortcut and without, whatever the rows are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.runtime.queries import window_registry
from tests.sparkext.listening import E, S, listen
from tests.sparkext.listening import settings as session_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

MAPPING = f"""\
prefixes:
  e: {E}
mappings:
  reading:
    sources: [[rows.csv~csv]]
    s: {E}reading/$(id)
    po:
      - [a, e:Reading]
      - [e:sensor, e:$(sensor)~iri]
      - [e:value, $(value)]
      - [e:note, $(note)]
      - [e:result, e:result/$(id)/$(sensor)~iri]
  result:
    sources: [[rows.csv~csv]]
    s: {E}result/$(id)/$(sensor)
    po:
      - [e:value, $(value)]
      - [e:unit, $(unit)]
      - [e:sensor, e:$(sensor)~iri]
"""
SENSORS = "".join(f"<{E}s{n}> <{E}room> <{E}r{n % 2}> .\n" for n in range(2))
STAR = "?o a :Reading ; :sensor ?s ; :value ?v"
TWO = f"{STAR} ; :result ?x . ?x :value ?w ; :unit ?u"
PATTERNS = {
    "star": (f"WINDOW :w {{ {STAR} }}", "*"),
    "constant": ('WINDOW :w { ?o :sensor :s0 ; :value "1" ; :note ?n ; :result ?x }', "*"),
    "filter": (f'WINDOW :w {{ {STAR} FILTER(?v != "2") }} ?s :room ?r', "?o ?v ?r"),
    "two stars": (f"WINDOW :w {{ {TWO} }}", "?s ?v ?w ?u"),
    "optional": (
        f"WINDOW :w {{ {STAR} OPTIONAL {{ ?o :note ?n ; :result ?x }} }}",
        "?o ?s ?v ?n ?x",
    ),
    "aggregate": (f"WINDOW :w {{ {TWO} }}", "?s (COUNT(*) AS ?n) (COUNT(DISTINCT ?u) AS ?us)"),
    "not exists": (
        f"WINDOW :w {{ {STAR} }} FILTER NOT EXISTS {{ WINDOW :w {{ ?o :note ?n ; :sensor ?s }} }}",
        "?o ?s",
    ),
    "minus": (f"WINDOW :w {{ {STAR} MINUS {{ ?o :note ?v ; :value ?v }} }}", "?o ?s"),
    "distinct": ("WINDOW :w { ?o a :Reading ; :value ?v ; :sensor ?s }", "DISTINCT ?s"),
    "variable": ("WINDOW :w { ?o a :Reading ; :value ?v ; ?p ?v ; :note ?n }", "*"),
}
WINDOWS = ("[RANGE PT0.010S STEP PT0.005S]", "[RANGE PT0.004S]", "[ELEMENTS 3]")


def query(name: str, window: str) -> str:
    pattern, select = PATTERNS[name]
    grouped = " GROUP BY ?s" if name == "aggregate" else ""
    return (
        f"PREFIX : <{E}>\nREGISTER RSTREAM :q AS SELECT {select}\n"
        f"FROM NAMED WINDOW :w ON <{S}> {window}\nWHERE {{ {pattern} }}{grouped}"
    )


class Pair:
    """Two engines with the same queries, one of which finds stars by join."""

    def __init__(
        self, spark: SparkSession, folder: Path, duplicates: str, names: Sequence[str]
    ) -> None:
        from sparkext import Engine

        (folder / "mapping.yml").write_text(MAPPING, "utf-8")
        (folder / "rows.csv").write_text("id,sensor,value,note,unit,at\n", "utf-8")
        (folder / "sensors.nt").write_text(SENSORS, "utf-8")
        self.now = 0
        self.engines: list[Engine] = []
        self.heard: list[dict[str, list[Any]]] = []
        for enabled in ("true", "false"):
            changed = {"starPatterns.enabled": enabled, "duplicates": duplicates}
            with session_settings(spark, **changed):
                engine = Engine(spark)
            engine.load_static(folder / "sensors.nt", progress=False)
            engine.register_stream(S, mapping=folder / "mapping.yml", time="at")
            self.engines.append(engine)
            self.heard.append({})
            for number, name in enumerate(names):
                for window in WINDOWS[: 3 if name in ("star", "two stars") else 1]:
                    key = f"{name} {window}"
                    self.heard[-1][key] = listen(
                        engine, query(name, window), f"{E}q{number}{window}"
                    )

    def push(self, rows: Sequence[dict[str, Any]]) -> None:
        names = ("id", "sensor", "value", "note", "unit")
        columns: dict[str, Any] = {n: pa.array([r[n] for r in rows], pa.string()) for n in names}
        times = sorted(self.now + row["at"] for row in rows)
        self.now = times[-1] if times else self.now
        table = pa.table({**columns, "at": pa.array(times, pa.int64())})
        for engine in self.engines:
            engine.stream(S).push_table(table)

    def answers(self) -> list[dict[str, list[tuple[int, list[str]]]]]:
        """What was heard since the last time, and forget it."""
        found = []
        for heard in self.heard:
            found.append(
                {
                    n: [(a.time, sorted(map(str, a.rows()))) for a in told]
                    for n, told in heard.items()
                }
            )
            for told in heard.values():
                told.clear()
        return found

    def close(self) -> None:
        for engine in self.engines:
            engine.close()


@pytest.fixture(scope="module", params=["set", "bag"])
def pair(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Pair]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(window_registry, "MOST_STARS", 100)
        made = Pair(spark, tmp_path_factory.mktemp("stars"), request.param, tuple(PATTERNS))
    yield made
    made.close()


def some(*values: str) -> st.SearchStrategy[str | None]:
    return st.none() | st.sampled_from(values)


ROW = st.fixed_dictionaries(
    {
        "id": some("a", "b", "c"),
        "sensor": some("s0", "s1"),
        "value": some("1", "2", "3"),
        "note": some("1", "x"),
        "unit": some("C", "F"),
        "at": st.integers(0, 12),
    }
)


@settings(max_examples=12, deadline=None)
@given(batches=st.lists(st.lists(ROW, min_size=1, max_size=6), min_size=1, max_size=3))
def test_answers_do_not_depend_on_stars(pair: Pair, batches: list[list[dict[str, Any]]]) -> None:
    for rows in batches:
        pair.push(rows)
    pair.now += 30
    pair.push([{"id": "z", "sensor": None, "value": None, "note": None, "unit": None, "at": 0}])
    starred, joined = pair.answers()
    assert starred == joined


def test_the_plan_names_a_star(pair: Pair) -> None:
    starred, joined = (
        str(engine.queries[f"{E}q0{WINDOWS[0]}"].explain()) for engine in pair.engines
    )
    assert "w{?o type Reading; sensor ?s; value ?v}" in starred
    assert "; sensor" not in joined


def test_few_different_stars_are_kept_in_a_window(spark: SparkSession, tmp_path: Path) -> None:
    pair = Pair(spark, tmp_path, "set", [])
    engine = pair.engines[0]
    objects = ("a :Reading", ":sensor ?s", ":value ?v", ":note ?n", ":result ?x")
    plans = []
    for number, left_out in enumerate((*objects, *objects)):
        star = " ; ".join(part for part in objects if part != left_out)
        text = (
            f"PREFIX : <{E}>\nREGISTER RSTREAM :q AS SELECT ?o\n"
            f"FROM NAMED WINDOW :w ON <{S}> [RANGE PT1S]\nWHERE {{ WINDOW :w {{ ?o {star} }} }}"
        )
        plans.append(str(engine.register_query(text, name=f"{E}few{number}").explain()))
    pair.close()
    assert ["; " in plan for plan in plans] == [True] * 4 + [False] * 6


def test_a_pattern_that_asks_for_one_value_is_a_leaf_of_its_own(pair: Pair) -> None:
    names = list(PATTERNS)
    plan = str(pair.engines[0].queries[f"{E}q{names.index('constant')}{WINDOWS[0]}"].explain())
    assert "w{?o note ?n; result ?x}" in plan


def test_answers_stay_right_where_a_subject_has_too_many_objects(
    spark: SparkSession, tmp_path: Path
) -> None:
    pair = Pair(spark, tmp_path, "set", ["star"])
    rows = [
        {"id": "many", "sensor": f"s{n}", "value": str(n), "note": str(n), "unit": "C", "at": 1}
        for n in range(90)
    ]
    pair.push(rows)
    pair.now += 30
    pair.push([{"id": "z", "sensor": None, "value": None, "note": None, "unit": None, "at": 0}])
    starred, joined = pair.answers()
    plan = str(pair.engines[0].queries[f"{E}q0{WINDOWS[0]}"].explain())
    pair.close()
    assert starred == joined
    assert "; sensor" not in plan
    assert any(len(found) > 4096 for told in starred.values() for _, found in told)
