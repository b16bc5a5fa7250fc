"""Answers that are kept: many small ones, of which none has a mapping of memory, and large ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.listening import S, listen, query, triple

if TYPE_CHECKING:
    from sparkext import Engine

MAPS = Path("/proc/self/maps")


def mapped() -> int:
    """How many files that are gone this process has mapped."""
    return MAPS.read_text().count("(deleted)")


@pytest.mark.skipif(not MAPS.exists(), reason="only Linux tells what is mapped")
def test_small_answers_are_not_mapped(engine: Engine) -> None:
    stream = engine.register_stream(S)
    heard = listen(engine, query("WINDOW :w { ?x :at ?y }", "[RANGE 1]"))
    before = mapped()
    for time in range(1, 101):
        stream.push(triple(f"x{time}", "at", "room"), time)
    engine.advance_to(100)
    assert mapped() - before < 10
    large = "\n".join(triple(f"x{n}", "at", "room" * 20) for n in range(2000))
    for time in range(101, 104):
        stream.push(large, time)
    engine.advance_to(103)
    assert mapped() - before >= 3
    assert [answers.rows()[0][0] for answers in heard[:100]] == [
        f"<http://e/x{time}>" for time in range(1, 101)
    ]
    assert [len(answers.rows()) for answers in heard[100:]] == [2000] * 3
