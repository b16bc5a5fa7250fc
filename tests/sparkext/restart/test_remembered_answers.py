"""What a query that consumes has answered last, and cannot find again, is known to the process that goes on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext import Engine
from tests.sparkext.listening import E, S, listen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ELEMENTS = {
    1: f'<{E}x1> <{E}p> "a\\tb" .\n<{E}x2> <{E}p> "c" .',
    2: f"<{E}x1> <{E}q> <{E}z> .\n<{E}x2> <{E}q> <{E}z> .",
    3: f"<{E}no> <{E}r> <{E}no> .",
    4: f"<{E}no> <{E}r> <{E}no> .",
}


@pytest.mark.parametrize(
    ("select", "order", "left"),
    [
        ("?x ?text", "", [(f"<{E}x1>", '"a\tb"'), (f"<{E}x2>", '"c"')]),
        ("?text", "ORDER BY DESC(STR(?x))", [('"a\tb"',), ('"c"',)]),
    ],
)
def test_what_left_is_told_after_a_restart(
    spark: SparkSession, tmp_path: Path, select: str, order: str, left: list[tuple[str, ...]]
) -> None:
    text = (
        f"PREFIX : <{E}> REGISTER DSTREAM :q AS SELECT {select} FROM NAMED WINDOW :w ON :s [RANGE PT1H]"
        f" EVENT ON :w {{ ?x :p ?text }} AS A EVENT ON :w {{ ?x :q ?z }} AS B"
        f" {{ MATCH CHRONOLOGICAL {{ A SEQ B }} }} {order}"
    )
    told: dict[int, list[tuple[str | None, ...]]] = {}
    for times in ((1, 2, 3), (4,)):
        with closing(Engine(spark, checkpoint=tmp_path / "kept")) as engine:
            engine.register_stream(S)
            heard = listen(engine, text)
            for time in times:
                engine.push(S, ELEMENTS[time], time=time)
        told |= {answers.time: sorted(answers.rows()) for answers in heard}
    assert told == {1: [], 2: [], 3: left}
