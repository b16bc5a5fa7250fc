"""Table 1 of the uncertainty paper, row by row, on the small data of its worked examples."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparkext.language import parse_query
from sparkext.language.algebra import Project
from sparkext.language.nodes import Node
from sparkext.rewriting.rules import RULES
from static_data.terms import XSD_INTEGER, Iri, Literal
from tests.sparkext.rewriting.algebra_evaluation import Evaluation, World, integer

HEAD = "PREFIX : <http://e/> SELECT * FROM NAMED WINDOW :w ON :s [NOW] FROM NAMED WINDOW :w2 ON :s [NOW]"
BY_NAME: dict[str, Callable[[Node], Node | None]] = {rule.name: rule.rewrite for rule in RULES}


def iri(name: str) -> Iri:
    return Iri(f"http://e/{name}")


P1 = frozenset({(iri("a"), iri("v"), integer(1)), (iri("b"), iri("v"), integer(5))})
P2 = frozenset((iri(o), iri("t"), integer(t)) for o, t in (("a", 20), ("a", 31), ("c", 40)))
P3 = frozenset({(iri("a"), iri("u"), integer(7)), (iri("b"), iri("u"), integer(8))})
ALL = P1 | P2 | P3
WORLD = World(ALL, {iri("g"): P1}, {iri("w"): World(P1)})

V, T, U = "{ ?o :v ?v }", "{ ?o :t ?t }", "{ ?o :u ?u }"
ONE_JOIN = ["a t20 v1", "a t31 v1"]
UNITED = ["a t20 u7", "a t31 u7", "a u7 v1", "b u8 v5"]

ROWS = {
    # rule: (the group whose algebra is the left side, the solutions of both sides)
    "UAss": (
        f"{{ {{ {V} UNION {T} }} UNION {U} }}",
        ["a t20", "a t31", "a u7", "a v1", "b u8", "b v5", "c t40"],
    ),
    "JAss": (f"{{ {{ {V} {T} }} {U} }}", ["a t20 u7 v1", "a t31 u7 v1"]),
    "UComm": (f"{{ {V} UNION {T} }}", ["a t20", "a t31", "a v1", "b v5", "c t40"]),
    "JComm": (f"{{ {V} {T} }}", ONE_JOIN),
    "JUDistR": (f"{{ {{ {V} UNION {T} }} {U} }}", UNITED),
    "LUDistR": (f"{{ {{ {V} UNION {T} }} OPTIONAL {U} }}", sorted([*UNITED, "c t40"])),
    "FDecompI": ("{ ?o :v ?v FILTER(?v < 4 && ?v > 0) }", ["a v1"]),
    "FReordI": ("{ ?o :v ?v FILTER(?v < 4 && ?v > 0) }", ["a v1"]),
    "FReordII": ("{ ?o :v ?v FILTER(?v < 4 || ?v > 0) }", ["a v1", "b v5"]),
    "FUPush": (f"{{ {{ {V} UNION {T} }} FILTER(?v < 4) }}", ["a v1"]),
    "FJPush": (f"{{ {V} {T} FILTER(?v < 4) }}", ONE_JOIN),
    "FLPush": (f"{{ {V} OPTIONAL {T} FILTER(?v < 4) }}", ONE_JOIN),
    "FWPush": (f"{{ WINDOW :w {V} FILTER(?v < 4) }}", ["a v1"]),
    "FGPush": (f"{{ GRAPH :g {V} FILTER(?v < 4) }}", ["a v1"]),
    "FBPush": ("{ ?o :v ?v BIND(?v + 100 AS ?k) FILTER(?v < 4) }", ["a k101 v1"]),
    "BGPush": ("{ GRAPH :g { ?o :v ?v BIND(?v + 100 AS ?k) } }", ["a k101 v1", "b k105 v5"]),
    "BWPush": ("{ WINDOW :w { ?o :v ?v BIND(?v + 100 AS ?k) } }", ["a k101 v1", "b k105 v5"]),
    "BJPush": (
        f"{{ {V} {T} BIND(?v + 100 AS ?k) }}",
        ["a k101 t20 v1", "a k101 t31 v1"],
    ),
    "BLPush": (
        f"{{ {V} OPTIONAL {T} BIND(?v + 100 AS ?k) }}",
        ["a k101 t20 v1", "a k101 t31 v1", "b k105 v5"],
    ),
}


def pattern(group: str) -> Node:
    query = parse_query(f"{HEAD} {group}").pattern
    assert isinstance(query, Project)
    return query.input


def answers(node: Node, bag: bool = True) -> list[str]:
    """Each solution as its ?o and the other variables with their values, by name."""
    found = []
    for solution in Evaluation(WORLD, bag).solutions(node).elements():
        values = {variable.name: term for variable, term in solution}
        subject = values.pop("o")
        assert isinstance(subject, Iri)
        parts = [subject.value.removeprefix("http://e/")]
        for name, term in sorted(values.items()):
            assert isinstance(term, Literal) and term.datatype == XSD_INTEGER
            parts.append(f"{name}{term.lexical}")
        found.append(" ".join(parts))
    return sorted(found)


@pytest.mark.parametrize("rule", ROWS)
def test_row(rule: str) -> None:
    group, expected = ROWS[rule]
    left = pattern(group)
    right = BY_NAME[rule](left)
    assert right is not None and right != left
    assert answers(left) == expected
    assert answers(right) == expected


def test_row_fdecomp_ii_is_for_sets() -> None:
    left = pattern("{ ?o :v ?v FILTER(?v < 4 || ?v > 0) }")
    right = BY_NAME["FDecompII"](left)
    assert right is not None
    assert answers(left, bag=False) == answers(right, bag=False) == ["a v1", "b v5"]
    assert answers(left) == ["a v1", "b v5"]
    assert answers(right) == ["a v1", "a v1", "b v5"]


@pytest.mark.parametrize("rule", ["FJPush", "FLPush"])
def test_condition_on_the_other_side_is_not_pushed(rule: str) -> None:
    optional = "OPTIONAL" if rule == "FLPush" else ""
    left = pattern(f"{{ {V} {optional} {T} FILTER(?t > 25) }}")
    assert BY_NAME[rule](left) is None
    assert answers(left) == ["a t31 v1"]
    inner = pattern(f"{{ {{ ?o :v ?v FILTER(?t > 25) }} {T} }}")
    assert answers(inner) == []


def test_bind_of_an_optional_value_is_not_pushed() -> None:
    left = pattern(f"{{ {V} OPTIONAL {T} BIND(?t + 1 AS ?k) }}")
    assert BY_NAME["BLPush"](left) is None
    assert answers(left) == ["a k21 t20 v1", "a k32 t31 v1", "b v5"]
    inner = pattern(f"{{ {{ ?o :v ?v BIND(?t + 1 AS ?k) }} OPTIONAL {T} }}")
    assert answers(inner) == ["a t20 v1", "a t31 v1", "b v5"]


def test_every_printed_rule_has_its_row() -> None:
    printed = {rule.name for rule in RULES if rule.printed and "right to left" not in rule.name}
    assert printed == {*(set(ROWS) - {"FGPush", "FBPush"}), "FDecompII"}


# -- the worked examples, by their names --------------------------------------------------------------

EXAMPLES = [f"000-T1-{rule}" for rule in (*ROWS, "FDecompII") if rule not in ("FGPush", "FBPush")]


def worked_example(shared: Path, name: str) -> dict[str, Any]:
    cases = json.loads((shared / "papers" / "examples.json").read_text(encoding="utf-8"))["cases"]
    (case,) = [case for case in cases if case["id"] == name]
    assert isinstance(case, dict)
    return case


def written(rows: list[dict[str, Any]]) -> list[str]:
    """Rows of a worked example in the form of `answers`."""
    return sorted(
        " ".join([row["o"], *(f"{k}{v}" for k, v in sorted(row.items()) if k != "o")])
        for row in rows
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_example(shared: Path, name: str) -> None:
    case = worked_example(shared, name)
    rule = name.removeprefix("000-T1-")
    sets_only = rule == "FDecompII"
    left = pattern(ROWS["FReordII" if sets_only else rule][0])
    right = BY_NAME[rule](left)
    assert right is not None and case["both_sides_equal"]
    expected = written(case["expected"])
    assert answers(left, bag=not sets_only) == answers(right, bag=not sets_only) == expected
    if sets_only:
        assert answers(right) == written(case["bag_right"])


@pytest.mark.parametrize("name", ["000-T1-FJPush-violated", "000-T1-FLPush-violated"])
def test_worked_example_of_a_broken_condition(shared: Path, name: str) -> None:
    case = worked_example(shared, name)
    optional = "OPTIONAL" if "FLPush" in name else ""
    left = pattern(f"{{ {V} {optional} {T} FILTER(?t > 25) }}")
    right = pattern(f"{{ {{ ?o :v ?v FILTER(?t > 25) }} {optional} {T} }}")
    assert BY_NAME[name.split("-")[2]](left) is None
    assert answers(left) == written(case["expected"]["left"])
    assert answers(right) == written(case["expected"]["right"])


def test_every_worked_example_of_the_table_is_here(shared: Path) -> None:
    cases = json.loads((shared / "papers" / "examples.json").read_text(encoding="utf-8"))["cases"]
    names = {case["id"] for case in cases if case["id"].startswith("000-T1-")}
    assert names == {*EXAMPLES, "000-T1-FJPush-violated", "000-T1-FLPush-violated"}
