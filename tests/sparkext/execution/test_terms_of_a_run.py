"""Terms that expressions make live for one evaluation; what a job keeps for the next one must not have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkext import Engine
from tests.sparkext.listening import E, S, listen, query, settings, triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Both are groups of static rows, and Spark keeps what it has exchanged for them.
GROUPED = "{ SELECT (GROUP_CONCAT(DISTINCT STR(?x); SEPARATOR='|') AS ?names) { ?x :knows ?y } }"
OPTIONAL = f"OPTIONAL {{ {GROUPED} BIND(STRLEN(?names) AS ?length) }}"


@pytest.mark.parametrize("jobs", [True, False])
@pytest.mark.parametrize("static", [GROUPED, OPTIONAL], ids=["joined", "optional"])
def test_static_groups_with_made_terms_are_found_in_each_evaluation(
    spark: SparkSession, static: str, jobs: bool
) -> None:
    with settings(spark, **{"driverExecution.enabled": str(not jobs).lower()}):
        engine = Engine(spark)
    try:
        engine.insert("\n".join(triple(f"p{n % 3}", "knows", f"q{n}") for n in range(6)))
        engine.register_stream(S)
        text = query(f"{static} WINDOW :w {{ ?a :p ?b }}", "[RANGE 5 STEP 5]", "?a ?names")
        heard = listen(engine, text)
        for n in range(1, 5):
            engine.push(S, triple(f"s{n}", "p", "o"), time=5 * n - 1)
        engine.advance_to(30)
    finally:
        engine.close()
    rows = [row for answers in heard for row in answers.rows()]
    assert [row[0] for row in rows] == [f"<{E}s{n}>" for n in range(1, 5)]
    for _, names in rows:
        assert names is not None
        assert sorted(names.strip('"').split("|")) == [f"{E}p{n}" for n in range(3)]
