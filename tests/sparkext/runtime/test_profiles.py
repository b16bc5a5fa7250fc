"""Semantics profiles through the engine: instants, bounds, streaming operators, and what each refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import ProfileError
from sparkext.language import parse_query
from sparkext.language.event_patterns import Match
from sparkext.r2r.patterns.inner_patterns import exists_of
from sparkext.runtime.parts.profile_rules import under_profile
from sparkext.s2r.profiles import PROFILES
from sparkext.s2r.report import ReportPolicyError, policy_of_profile
from sparkext.s2r.windows import LandmarkWindow, SlidingWindow
from static_data.terms import Iri
from tests.oracle.recorded import Element
from tests.sparkext.paper_examples.test_rspql_examples import COUPON, NEARBY, SHOPS
from tests.sparkext.replay import by_instant, stream_element

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

E = "http://example.org/"
# RSP-QL*: E0 to E5 at these times.
TIMES = (0, 5, 10, 15, 19, 20)
READINGS = [
    Element(
        t, (f"<{E}o{n}> <{E}value> <{E}E{n}> .",), f"{E}g{n}", (f'<{E}g{n}> <{E}time> "{t}" .',)
    )
    for n, t in enumerate(TIMES)
]


@contextmanager
def engine_with(spark: SparkSession, **settings: str) -> Iterator[Engine]:
    from sparkext import Engine

    for key, value in settings.items():
        spark.conf.set(f"spark.cqels.{key}", value)
    try:
        engine = Engine(spark)
    finally:
        for key in settings:
            spark.conf.unset(f"spark.cqels.{key}")
    yield engine
    engine.close()


def run(
    engine: Engine,
    text: str,
    elements: list[Element],
    report: str | Mapping[str, str] | None = None,
) -> dict[int, str]:
    """The last column of the answers, local names in order, by instant."""
    stream = engine.register_stream(f"{E}s")
    answers: list[Answers] = []
    query = engine.register_query(f"PREFIX : <{E}> {text}", report=report)
    query.subscribe(answers.append)
    stream.push_elements([stream_element(e) for e in elements])
    engine.finish()
    assert query.progress.failures == 0
    return {
        t: " ".join(
            sorted(str(row[-1]).removeprefix(f"<{E}").rstrip(">") for row in rows.elements())
        )
        for t, rows in by_instant(answers).items()
    }


def readings_query(window: str, register: str = "") -> str:
    pattern = "WINDOW :w { GRAPH ?g { ?o :value ?e } }"
    return f"{register} SELECT ?e FROM NAMED WINDOW :w ON :s {window} {{ {pattern} }}"


NEARBY_QUERY = (
    "SELECT ?p FROM NAMED WINDOW :w ON :s [RANGE 5 STEP 2] { WINDOW :w { ?p :isNearby ?shop } }"
)


@pytest.mark.parametrize("register", ["", "REGISTER STREAM :q AS", "REGISTER ISTREAM :q AS"])
def test_example_13_cqels_reports_arrivals_as_istream(spark: SparkSession, register: str) -> None:
    """Also where no operator is written; the hidden t0 is a setting. Slip S-001-4."""
    with engine_with(spark, semantics="cqels", startingAt="1") as engine:
        told = run(engine, f"{register} {NEARBY_QUERY.replace('?p FROM', '?p ?shop FROM')}", NEARBY)
    assert told == {2: "a b", 5: "a", 7: "a", 12: "b"}


def test_definition_15_literally_at_instants_given_from_outside(spark: SparkSession) -> None:
    """The last window with close < tau (slip S-002-1), empty before the first close (S-002-2)."""
    with engine_with(spark, semantics="rspqlstar") as engine:
        query = readings_query("[RANGE 10 STEP 5]", "REGISTER RSTREAM :q COMPUTED EVERY 1 AS")
        told = run(engine, query, READINGS)
    expected = {
        10: "",
        11: "E0 E1",
        15: "E0 E1",
        16: "E1 E2",
        20: "E1 E2",
        21: "E2 E3 E4",
        25: "E2 E3 E4",
        26: "E3 E4 E5",
        31: "E5",
        35: "E5",
    }
    assert {t: told[t] for t in expected} == expected
    assert list(told) == list(range(36))


def test_definition_15_reported_just_after_the_close(spark: SparkSession) -> None:
    """The window that closes, [x - alpha, x), stamped x."""
    with engine_with(spark, semantics="rspqlstar") as engine:
        told = run(engine, readings_query("[RANGE 10 STEP 5]"), READINGS)
    assert told == {10: "E0 E1", 15: "E1 E2", 20: "E2 E3 E4", 25: "E3 E4 E5", 30: "E5"}


def test_definition_14_4_outside_graph_only_the_time_triples(spark: SparkSession) -> None:
    query = "SELECT ?o FROM NAMED WINDOW :w ON :s [RANGE 10 STEP 10] { WINDOW :w { ?s ?p ?o } }"
    with engine_with(spark, semantics="rspqlstar") as engine:
        assert run(engine, query, READINGS)[20] == '"10" "15" "19"'
    with engine_with(spark, windowBounds="closed-open") as engine:  # slip S-002-8
        assert run(engine, query, READINGS)[20] == '"10" "15" "19" E2 E3 E4'


def test_slip_s_002_7_closed_open_windows_by_a_switch(spark: SparkSession) -> None:
    """The element on the opening edge is in, the one on the closing edge is not: (10,20] or [10,20)."""
    query = readings_query("[RANGE 10 STEP 10]")
    with engine_with(spark) as engine:
        assert run(engine, query, READINGS) == {10: "E1 E2", 20: "E3 E4 E5"}
    with engine_with(spark, windowBounds="closed-open") as engine:
        assert run(engine, query, READINGS) == {10: "E0 E1", 20: "E2 E3 E4", 30: "E5"}


def test_where_the_profile_leaves_the_policy_open_the_caller_may_choose(
    spark: SparkSession,
) -> None:
    query = readings_query("[RANGE 10 STEP 10]")
    with engine_with(spark) as engine:
        assert list(run(engine, query, READINGS, "content change")) == [5, 10, 15, 19, 20]
    with engine_with(spark) as engine:
        told = run(engine, query, READINGS, {f"{E}w": "WC AND NC"})
        assert list(told) == [10, 20]
        for wish, message in (
            ("now and then", "'NOW' is not a report strategy"),
            ({f"{E}v": "WC"}, "names the window <http://example.org/v>"),
        ):
            with pytest.raises(ReportPolicyError, match=message):
                engine.register_query(f"PREFIX : <{E}> {query}", report=wish)  # type: ignore[arg-type]


def test_computed_every_beside_a_policy_both_must_hold(spark: SparkSession) -> None:
    register = "REGISTER RSTREAM :q COMPUTED EVERY 4 AS"
    with engine_with(spark) as engine:
        query = readings_query("[RANGE 5 STEP 5 STARTING AT 1] REPORT ON NC", register)
        # (1,6] (6,11] (11,16] (16,21]; t0 + 4k is 1, 5, 9, ...; nothing is shown at 1, 9, 13 and 17.
        assert run(engine, query, READINGS) == {5: "E1", 21: "E4 E5"}
        twice = readings_query("[RANGE 5] REPORT ON EVERY 2", register.replace(":q", ":r"))
        with pytest.raises(ReportPolicyError, match="exclude each other"):
            engine.register_query(f"PREFIX : <{E}> {twice}")


def test_a_fixed_policy_is_not_to_be_chosen(spark: SparkSession) -> None:
    with engine_with(spark, semantics="cqels") as engine:
        engine.register_stream(f"{E}s")
        with pytest.raises(ReportPolicyError, match="profile cqels has a report policy"):
            engine.register_query(f"PREFIX : <{E}> {NEARBY_QUERY}", report="WC")


WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE 5 STEP 2]"


@pytest.mark.parametrize(
    ("profile", "text", "message", "column"),
    [
        (
            "csparql",
            f"REGISTER ISTREAM :q AS SELECT * {WINDOW} {{ ?a :p ?b }}",
            "ISTREAM cannot be used: profile csparql has only RSTREAM",
            1,
        ),
        (
            "cqels",
            f"REGISTER RSTREAM :q AS SELECT * {WINDOW} {{ ?a :p ?b }}",
            "RSTREAM cannot be used: profile cqels has only ISTREAM",
            1,
        ),
        (
            "sparqlstream",
            "SELECT * FROM NAMED WINDOW :w ON :s [RANGE 5 STEP 2 STARTING AT 1] { ?a :p ?b }",
            "STARTING AT cannot be used: profile sparqlstream hides t0",
            10,
        ),
        (
            "csparql",
            "SELECT * FROM WINDOW ON :s [RANGE 5] . [RANGE 5 STEP 2 STARTING AT 1] { ?a :p ?b }",
            "STARTING AT cannot be used: profile csparql hides t0",
            10,
        ),
        (
            "cqels",
            f"SELECT * {WINDOW} REPORT ON WC {{ ?a :p ?b }}",
            "REPORT cannot be used: profile cqels has a report policy of its own",
            10,
        ),
        (
            "csparql",
            f"REGISTER RSTREAM :q REPORT ON WC OF :w AS SELECT * {WINDOW} {{ ?a :p ?b }}",
            "REPORT cannot be used: profile csparql has a report policy of its own",
            1,
        ),
        (
            "cqels",
            "SELECT * FROM WINDOW ON :s [RANGE 5] { ?a :p ?b }",
            "FROM WINDOW without NAMED cannot be used: profile cqels does not merge windows",
            10,
        ),
        (
            "csparql",
            f"SELECT * {WINDOW} {{ WINDOW :w {{ ?a :p ?b }} }}",
            "WINDOW with <http://example.org/w> cannot be used: profile csparql merges all windows",
            56,
        ),
        (
            "sparqlstream",
            f"SELECT * {WINDOW} {{ WINDOW ?w {{ ?a :p ?b }} }}",
            "WINDOW with a variable cannot be used: profile sparqlstream merges all windows",
            56,
        ),
        (
            "sparqlstream",
            f"SELECT * {WINDOW} {{ GRAPH :w {{ ?a :p ?b }} }}",
            "GRAPH with the window <http://example.org/w> cannot be used",
            56,
        ),
    ],
)
def test_what_a_profile_does_not_have(profile: str, text: str, message: str, column: int) -> None:
    with pytest.raises(ProfileError) as caught:
        under_profile(parse_query(text, prefixes={"": E}), PROFILES[profile])
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (1, column)


BOTH_WINDOWS = (
    """?shopper :isNearby ?shop . ?shop_owner :offers ?coupon . ?shop_owner :owns ?shop"""
)


@pytest.mark.parametrize("profile", ["csparql", "sparqlstream"])
def test_example_12_windows_merged_in_the_default_graph(
    spark: SparkSession, tmp_path: Path, profile: str
) -> None:
    """Example 10 without WINDOW on dataset B: the same three rows, at the instants of both windows."""
    with engine_with(spark, semantics=profile, startingAt="0") as engine:
        path = tmp_path / "shops.nt"
        path.write_text(SHOPS + "\n")
        engine.load_static(path, progress=False)
        nearby, coupon = engine.register_stream(f"{E}n"), engine.register_stream(f"{E}c")
        answers: list[Answers] = []
        query = engine.register_query(f"""PREFIX : <{E}> SELECT ?shopper
          FROM NAMED WINDOW :w1 ON :n [RANGE 6 STEP 2] FROM NAMED WINDOW :w2 ON :c [RANGE 2 STEP 2]
          {{ {BOTH_WINDOWS} }}""")
        query.subscribe(answers.append)
        nearby.push_elements([stream_element(e) for e in NEARBY])
        coupon.push_elements([stream_element(e) for e in COUPON])
        engine.finish()
        told = {
            t: sorted(str(row[0]) for row in rows.elements())
            for t, rows in by_instant(answers).items()
        }
    carl, eve, diana = (f"<{E}{name}>" for name in ("carl", "eve", "diana"))
    # (2,8] at 8 holds carl and eve; (10,16] at 16 diana.
    assert {t: names for t, names in told.items() if names} == {8: [carl, eve], 16: [diana]}
    assert list(told) == [6, 8, 10, 12, 14, 16]


@pytest.mark.parametrize("profile", ["csparql", "sparqlstream"])
def test_example_13_c_sparql_and_sparqlstream(spark: SparkSession, profile: str) -> None:
    with engine_with(spark, semantics=profile, startingAt="1") as engine:
        query = "SELECT ?p FROM WINDOW ON :s [RANGE 5 STEP 2] { ?p :isNearby ?shop }"
        told = run(engine, query, NEARBY)
    assert told == {
        6: "carl diana eve",
        8: "carl eve",
        10: "eve",
        12: "diana",
        14: "diana",
        16: "diana",
    }


def test_example_12_shapes_of_the_dataset() -> None:
    """Named windows for CQELS; for C-SPARQL and SPARQLstream all are merged in the default graph."""
    query = parse_query(
        f"SELECT * {WINDOW} {{ ?a :p ?b GRAPH :g {{ ?b :q ?c }} }}", prefixes={"": E}
    )
    names = {
        name: [w.name is not None for w in under_profile(query, PROFILES[name]).windows]
        for name in ("rspql", "rspqlstar", "cqels", "csparql", "sparqlstream")
    }
    assert names == {
        "rspql": [True],
        "rspqlstar": [True],
        "cqels": [True],
        "csparql": [False],
        "sparqlstream": [False],
    }
    operators = {name: under_profile(query, p).stream_operator for name, p in PROFILES.items()}
    assert operators == {
        "rspql": "RSTREAM",
        "rspqlstar": "RSTREAM",
        "cqels": "ISTREAM",
        "csparql": "RSTREAM",
        "sparqlstream": "RSTREAM",
        "epsparql-unrestricted": "ISTREAM",
        "epsparql-chronological": "ISTREAM",
        "epsparql-recent": "ISTREAM",
    }


EVENTS = f"""{WINDOW} FROM NAMED WINDOW :m ON :s [NOW]
EVENT ON :w {{ ?a :p ?b }} AS A EVENT ON :w {{ ?b :q ?c }} AS B"""


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("keeps", ["", "WITHOUT CONSUMPTION"])
def test_what_a_match_selects_that_names_nothing(profile: str, keeps: str) -> None:
    text = f"SELECT * {EVENTS} {{ MATCH {keeps} {{ A SEQ B }} FILTER EXISTS {{ MATCH {{ A }} }} }}"
    read = under_profile(parse_query(text, prefixes={"": E}), PROFILES[profile]).pattern
    (outer,) = (node for node in read.walk() if isinstance(node, Match))
    (inner,) = (
        part
        for node in read.walk()
        for exists in exists_of(node)
        for part in exists.pattern.walk()
        if isinstance(part, Match)
    )
    selection = {
        "csparql": "naive",
        "epsparql-chronological": "chronological",
        "epsparql-recent": "recent",
    }.get(profile, "unrestricted")
    consumes = selection in ("chronological", "recent")
    assert (outer.selection, outer.consumes) == (selection, consumes and not keeps)
    assert (inner.selection, inner.consumes) == (selection, consumes)
    assert not outer.keeps


@pytest.mark.parametrize("profile", PROFILES)
def test_what_a_match_names_holds_in_every_profile(profile: str) -> None:
    text = f"SELECT * {EVENTS} {{ MATCH RECENT {{ A SEQ B }} MATCH UNRESTRICTED {{ A SEQ B }} }}"
    query = parse_query(text, prefixes={"": E})
    read = under_profile(query, PROFILES[profile]).pattern
    assert read == query.pattern


@pytest.mark.parametrize("profile", ["csparql", "sparqlstream"])
def test_windows_of_events_keep_their_names_where_others_are_merged(profile: str) -> None:
    text = f"SELECT * {EVENTS} {{ MATCH {{ A SEQ B }} ?c :r ?d }}"
    read = under_profile(parse_query(text, prefixes={"": E}), PROFILES[profile])
    assert [window.name for window in read.windows] == [Iri(f"{E}w"), None]
    with pytest.raises(ProfileError, match=r"WINDOW with <.*> cannot be used"):
        text = f"SELECT * {EVENTS} {{ MATCH {{ A SEQ B }} WINDOW :w {{ ?c :r ?d }} }}"
        under_profile(parse_query(text, prefixes={"": E}), PROFILES[profile])


@pytest.mark.parametrize("selection", ["unrestricted", "chronological", "recent"])
def test_ep_sparql_is_evaluated_as_elements_enter(selection: str) -> None:
    policy = policy_of_profile(
        f"epsparql-{selection}", [SlidingWindow(10, 5, 0), LandmarkWindow(1)]
    )
    assert policy == policy_of_profile("cqels", [SlidingWindow(10, 5, 0), LandmarkWindow(1)])
