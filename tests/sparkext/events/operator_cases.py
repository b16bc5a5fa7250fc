"""Event patterns operator by operator, with the answers that were found by hand."""

from __future__ import annotations

from dataclasses import replace

from tests.sparkext.event_cases import Case, Contents

EVENTS = {name: ("w", f"?x :{name.lower()} ?{v}") for name, v in zip("ABCD", "ijkl", strict=True)}
"""A is { ?x :a ?i }, B { ?x :b ?j }, C { ?x :c ?k }, D { ?x :d ?l }, on a landmark window."""


def case(
    match: str, contents: Contents, *expected: str, select: str = "*", pattern: str = "MATCH"
) -> Case:
    """A query evaluated at the stream's last element."""
    last = max(contents)
    used = {name: event for name, event in EVENTS.items() if name in match}
    return Case(
        match, used, {"S": contents}, {last: list(expected)}, (last,), select, pattern=pattern
    )


ABC: Contents = {1: ["x a 1"], 2: ["x b 2"], 3: ["x c 3"], 4: ["x a 4"], 5: ["x c 5"]}
Y_BETWEEN: Contents = {1: ["x a 1"], 2: ["y b 2"], 3: ["x c 3"]}
AT_THE_ENDS: Contents = {1: ["x a 1", "x b 1"], 3: ["x c 3", "x b 3"]}
NO_B = "A SEQ NOT B SEQ C"
IK = "?x ?i ?k"
RUNS: Contents = {
    1: ["x b 0"],
    2: ["x a 1"],
    3: ["x b 2"],
    4: ["x a 2"],
    5: ["x b 3"],
    6: ["y b 9"],
}
BEFORE_C: Contents = {1: ["x b 1"], 2: ["x b 2"], 3: ["x c 3"], 4: ["x b 4"], 5: ["x c 5"]}
COUNTED = "B+ BY ?x (COUNT(*) AS ?n)"

CASES: dict[str, Case] = {
    # ---- SEQ NOT
    "not: nothing between": case(f"{{ {NO_B} }}", ABC, "x 4 5", select=IK),
    "not: another's": case(f"{{ {NO_B} }}", Y_BETWEEN, "x 1 3", select=IK),
    "not: strictly between": case(f"{{ {NO_B} }}", AT_THE_ENDS, "x 1 3", select=IK),
    "not: a partner is one without": case(f"CHRONOLOGICAL {{ {NO_B} }}", ABC, "x 4 5", select=IK),
    "not: recent": case(
        f"RECENT {{ {NO_B} }}", {**ABC, 6: ["x b 6"], 7: ["x c 7"]}, "x 4 5", select=IK
    ),
    "not: naive": case(f"NAIVE {{ {NO_B} }}", {**ABC, 6: ["x b 6"], 7: ["x c 7"]}, select=IK),
    "not: of a sequence": case(
        "{ A SEQ NOT (B SEQ D) SEQ C }",
        {1: ["x a 1"], 2: ["x b 2"], 3: ["x c 3"], 4: ["x d 4"], 5: ["x c 5"]},
        "x 1 3",
        select=IK,
    ),
    "not: then more": case(
        "{ A SEQ NOT B SEQ C SEQ D }", {**Y_BETWEEN, 4: ["x d 4"]}, "x 1 3 4", select="?x ?i ?k ?l"
    ),
    # ---- AND, OR
    "and: either order": case(
        "{ A AND B FROM ?s TO ?e }",
        {1: ["x a 1", "y b 1"], 2: ["x b 2"], 4: ["y a 4"], 5: ["z a 5"]},
        "x 1 2 1 2",
        "y 4 1 1 4",
        select="?x ?i ?j ?s ?e",
    ),
    "and: at one time": case("{ A AND B }", {1: ["x a 1", "x b 1"]}, "x 1 1", select="?x ?i ?j"),
    "or": case(
        "{ A OR B FROM ?s TO ?e }",
        {1: ["x a 1"], 2: ["x b 2"]},
        "x 1 - 1 1",
        "x - 2 2 2",
        select="?x ?i ?j ?s ?e",
    ),
    "or: the other side's variable is free": case(
        "{ (A OR B) SEQ C }",
        {1: ["x a 1"], 2: ["x b 2"], 3: ["x c 3"]},
        "x 1 - 3",
        "x - 2 3",
        select="?x ?i ?j ?k",
    ),
    "or: and binds before": case(
        "{ A OR B AND C }", {1: ["x a 1"], 2: ["x b 2"]}, "x 1 - -", select="?x ?i ?j ?k"
    ),
    # ---- SEQ and its other names
    "seq: not at one time": case("{ A SEQ B }", {1: ["x a 1", "x b 1"]}),
    "before": case("{ A BEFORE B }", {1: ["x a 1"], 2: ["x b 2"]}, "x 1 2", select="?x ?i ?j"),
    "after": case("{ A AFTER B }", {1: ["x b 1"], 2: ["x a 2"]}, "x 2 1", select="?x ?i ?j"),
    "seq: of sequences": case(
        "{ A SEQ B SEQ C FROM ?s TO ?e }",
        {1: ["x a 1"], 2: ["x b 2"], 3: ["x a 3"], 4: ["x c 4"]},
        "x 1 2 4 1 4",
        select="?x ?i ?j ?k ?s ?e",
    ),
    "seq: no shared variable, chronological": Case(
        "CHRONOLOGICAL { A SEQ B }",
        {"A": ("w", "?x :a ?i"), "B": ("w", "?y :b ?j")},
        {"S": {1: ["x a 1"], 2: ["y a 2"], 3: ["z b 3"], 4: ["u b 4"]}},
        {4: ["x z"]},
        (4,),
        "?x ?y",
    ),
    "seq: no shared variable, recent": Case(
        "RECENT { A SEQ B }",
        {"A": ("w", "?x :a ?i"), "B": ("w", "?y :b ?j")},
        {"S": {1: ["x a 1"], 2: ["y a 2"], 3: ["z b 3"], 4: ["u b 4"]}},
        {4: ["y u"]},
        (4,),
        "?x ?y",
    ),
    # ---- WITHIN, AT
    "within": case(
        "{ A SEQ C WITHIN 2 }", {1: ["x a 1"], 3: ["x c 3"], 4: ["x c 4"]}, "x 1 3", select=IK
    ),
    "within: of a part": case(
        "{ (A SEQ B WITHIN 1) SEQ C }",
        {1: ["x a 1"], 2: ["x b 2"], 3: ["x b 3"], 9: ["x c 9"]},
        "x 1 2 9",
        select="?x ?i ?j ?k",
    ),
    "at": case("{ A AT ?t SEQ C AT ?u }", {10: ["x a 1"], 30: ["x c 3"]}, "10 30", select="?t ?u"),
    "at: of a sequence": case(
        "{ (A SEQ B) AT ?t SEQ C }",
        {10: ["x a 1"], 20: ["x b 2"], 30: ["x c 3"]},
        "10",
        select="?t",
    ),
    # ---- Repetition
    "run: by a key": case(
        "{ B+ BY ?x (COUNT(*) AS ?n) (SUM(?j) AS ?sum) FROM ?s TO ?e }",
        {1: ["x b 1"], 2: ["x b 2"], 3: ["y b 5"]},
        "x 2 3 1 2",
        "y 1 5 3 3",
        select="?x ?n ?sum ?s ?e",
    ),
    "run: of all": case(
        "{ B+ (MAX(?j) AS ?most) (COUNT(DISTINCT ?x) AS ?n) }",
        {1: ["x b 1"], 2: ["x b 7"], 3: ["y b 5"]},
        "7 2",
        select="?most ?n",
    ),
    "run: of nothing": case("{ B+ (COUNT(*) AS ?n) }", {1: ["x a 1"]}),
    "run: nothing to tell": case("{ B+ BY ?x }", {1: ["x b 1"], 2: ["x b 2"]}, "x", select="?x"),
    "run: after": case(
        f"{{ A SEQ {COUNTED} FROM ?s TO ?e }}",
        RUNS,
        "x 1 2 2 5",
        "x 2 1 4 5",
        select="?x ?i ?n ?s ?e",
    ),
    "run: before": case(
        f"{{ {COUNTED} SEQ C FROM ?s TO ?e }}",
        BEFORE_C,
        "x 3 2 1 3",
        "x 5 3 1 5",
        select="?x ?k ?n ?s ?e",
    ),
    "run: variables that are no keys are its own": Case(
        f"{{ A SEQ {COUNTED} }}",
        {"A": ("w", "?x :a ?j"), "B": ("w", "?x :b ?j")},
        {"S": {1: ["x a 1"], 2: ["x b 1"], 3: ["x b 2"]}},
        {3: ["x 1 2"]},
        (3,),
        "?x ?j ?n",
    ),
    "run: within": case(f"{{ A SEQ ({COUNTED} WITHIN 1) }}", RUNS, "x 2 1", select="?x ?i ?n"),
    "run: nothing between": case(
        f"{{ A SEQ NOT C SEQ {COUNTED} }}",
        {1: ["x a 1"], 2: ["x c 2"], 3: ["x a 3"], 4: ["x b 4"], 5: ["x c 5"], 6: ["x b 6"]},
        "x 3 2",
        select="?x ?i ?n",
    ),
    "run: equal mappings at one time are one": replace(
        case("{ B+ (COUNT(*) AS ?n) }", {1: ["x b 1"]}),
        events={"B": ("w", "?x :b []")},
        streams={"S": {1: ["x b 1", "x b 2"], 2: ["x b 1"]}},
        expected={2: ["2"]},
        at=(2,),
    ),
    # ---- FIRST, LAST
    "first: ties": case(
        "{ FIRST A }", {1: ["x a 1", "y a 2"], 2: ["x a 3"]}, "1", "2", select="?i"
    ),
    "last": case("{ LAST A }", {1: ["x a 1", "y a 2"], 2: ["x a 3"]}, "3", select="?i"),
    "first: among what fits the right side": case(
        "{ FIRST A SEQ C }",
        {1: ["y a 1"], 2: ["x a 2"], 3: ["x a 3"], 4: ["x c 4"]},
        "x 2 4",
        select=IK,
    ),
    "last: of the right side, over all": case(
        "{ A SEQ LAST C }",
        {1: ["y a 1"], 2: ["x a 2"], 4: ["x c 4"], 5: ["y c 5"]},
        "y 1 5",
        select=IK,
    ),
    "first: of a sequence": case(
        "{ FIRST (A SEQ C) }",
        {1: ["x a 1"], 2: ["x c 2"], 3: ["x a 3"], 4: ["x c 4"]},
        "x 1 2",
        "x 1 4",
        select=IK,
    ),
    # ---- What is around MATCH
    "around: filter on times": case(
        "{ A SEQ C FROM ?s TO ?e }",
        {1: ["x a 1"], 3: ["x c 3"], 4: ["x c 4"]},
        "1 4",
        select="?i ?k",
        pattern="MATCH FILTER(?e > '1970-01-01T00:00:00.003Z'^^<http://www.w3.org/2001/XMLSchema#dateTime>)",
    ),
    "around: static data and optional": replace(
        case(
            "{ A }",
            {1: ["x a 1"], 2: ["y a 2"], 3: ["z a 3"]},
            "x big",
            "y -",
            select="?x ?size",
            pattern="MATCH ?x :is :known OPTIONAL { ?x :size ?size }",
        ),
        static="x is known\ny is known\nx size big",
    ),
    "around: window": case(
        "{ A SEQ C }",
        {1: ["x a 1"], 2: ["x d 2"], 3: ["x c 3"]},
        "x 2",
        select="?x ?l",
        pattern="MATCH WINDOW :w { ?x :d ?l }",
    ),
    "around: exists": case(
        "{ A }",
        {1: ["x a 1"], 2: ["x d 2"], 3: ["y d 3"]},
        "y",
        select="?x",
        pattern="WINDOW :w { ?x :d ?l } FILTER NOT EXISTS { MATCH }",
    ),
    "around: counted": case(
        "{ A SEQ C }",
        {1: ["x a 1"], 2: ["x a 2"], 3: ["x c 3"]},
        "2",
        select="(COUNT(*) AS ?n)",
    ),
    "around: blank nodes": case(
        "{ A SEQ C }",
        {1: ["_:b a 1"], 3: ["_:b c 3"]},
        select=IK,
    ),
    "around: a blank node's other triples": case(
        "{ A }",
        {1: ["_:b a 1", "_:b d 7"], 2: ["_:b d 8"]},
        "_: 7",
        select="?x ?l",
        pattern="MATCH WINDOW :w { ?x :d ?l }",
    ),
    "around: no variables": replace(
        case(
            "{ A }",
            {1: ["x a 1"], 2: ["x a 1"]},
            "yes",
            select="?v",
            pattern="MATCH BIND('yes' AS ?v)",
        ),
        events={"A": ("w", ":x :a 1")},
    ),
    "around: the same event twice": replace(
        case("{ A SEQ A }", {1: ["x a 1"], 2: ["y a 1"], 3: ["x a 2"]}, "x"),
        events={"A": ("w", "?x :a []")},
    ),
    "around: a window of elements that had none at first": Case(
        "{ A SEQ C }",
        {"A": ("w", "?x :a ?i"), "C": ("w", "?x :c ?k")},
        {"T": {1: ["y b 1"]}, "S": {2: ["x a 2"], 3: ["x a 3"], 4: ["x c 4"]}},
        {1: [], 4: ["x 2 4", "x 3 4"]},
        select="?x ?i ?k",
        windows={"w": "[ELEMENTS 4 STEP 3]", "other": ":T [RANGE 1]"},
    ),
    # ---- What is inside EVENT
    "inside: filter and bind": replace(
        case("{ A }", {1: ["x a 1"], 2: ["x a 5"]}, "x 5 6", select="?x ?i ?more"),
        events={"A": ("w", "?x :a ?i FILTER(?i > 2) BIND(?i + 1 AS ?more)")},
    ),
    "inside: one element only": replace(
        case(
            "{ A }", {1: ["x a 1"], 2: ["x b 1"], 3: ["y a 3", "y b 4"]}, "y 3 4", select="?x ?i ?j"
        ),
        events={"A": ("w", "?x :a ?i . ?x :b ?j")},
    ),
    "inside: a static graph": replace(
        case("{ A }", {1: ["x a 1"], 2: ["y a 2"]}, "x 1 room", select="?x ?i ?in"),
        events={"A": ("w", "?x :a ?i GRAPH :places { ?x :in ?in }")},
        named={"places": "x in room"},
        static="y in room",
    ),
    "inside: a static graph that is optional": replace(
        case("{ A }", {1: ["x a 1"], 2: ["y a 2"]}, "x 1 room", "y 2 -", select="?x ?i ?in"),
        events={"A": ("w", "?x :a ?i OPTIONAL { GRAPH :places { ?x :in ?in } }")},
        named={"places": "x in room"},
    ),
    "inside: no static graph": replace(
        case("{ A }", {1: ["x a 1"], 2: ["y a 2"]}, "y 2", select="?x ?i"),
        events={"A": ("w", "?x :a ?i FILTER NOT EXISTS { GRAPH :places { ?x :in ?in } }")},
        named={"places": "x in room"},
    ),
    "inside: a group of inline data": replace(
        case("{ A }", {1: ["x a 1"], 2: ["y a 2"]}, "x 1 3", select="?x ?i ?most"),
        events={
            "A": (
                "w",
                "?x :a ?i { SELECT ?x (MAX(?v) AS ?most)"
                " { VALUES (?x ?v) { (:x 1) (:x 3) (:z 5) } } GROUP BY ?x }",
            )
        },
    ),
    "run: of what is never bound": case(
        "{ A+ (COUNT(?none) AS ?n) }", {1: ["x a 1"]}, "0", select="?n"
    ),
}
