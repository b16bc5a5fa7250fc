"""Elements as the text that the JVM reads: a header and lines of N-Triples each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from sparkext.argument_checks import lone_surrogate
from sparkext.recorded_streams import StreamElement
from sparkext.runtime.parts.pushed_times import time_flaw
from sparkext.s2r.event_time import GREATEST_TIME

# Elements that go over to the JVM as one text, which is held twice on the way.
_BLOCK = 20_000
_SPACE = re.compile(r"\s", re.ASCII)


def block_of(elements: Sequence[StreamElement]) -> bytes | None:
    """Elements as a block that ElementLines.scala reads, a header and N-Triples lines each; None where one has a flaw.

    >>> element = StreamElement(5, None, ("<http://e/s> <http://e/p> <http://e/o> .",), None, ())
    >>> print(block_of([element]).decode())
    @5 - 1 0
    <http://e/s> <http://e/p> <http://e/o> .
    >>> block_of([StreamElement(5, None, ("<http://e/s>\\n<http://e/p> <http://e/o> .",))])
    """
    parts: list[str] = []
    if not elements:
        return b""
    try:
        for element in elements:
            time, graph, triples = element.time_ms, element.graph, element.triples
            if type(time) is not int or not -GREATEST_TIME <= time <= GREATEST_TIME:
                return None
            if element.time_triple is None and not element.about:
                parts.append(f"@{time} {graph or '-'} {len(triples)} 0")
                parts += triples
            else:
                lines = lines_of(element)
                count = len(triples)
                parts.append(f"@{time} {graph or '-'} {count} {len(lines) - count}")
                parts += lines
        text = "\n".join(parts)
        # A break within a line, a space in a graph name and what is no text would be read as something else.
        named = [e.graph for e in elements if e.graph is not None]
        if text.count("\n") != len(parts) - 1 or _SPACE.search("".join(named)):
            return None
        return text.encode()
    except (AttributeError, TypeError, UnicodeEncodeError):
        return None


def parts_of(
    elements: Sequence[StreamElement], most: int = _BLOCK
) -> list[Sequence[StreamElement]]:
    """Elements in parts of `most`; where these are several, in order of time.

    >>> elements = [StreamElement(time, None, ()) for time in (3, 1, 2)]
    >>> [[element.time_ms for element in part] for part in parts_of(elements, 2)]
    [[1, 2], [3]]
    """
    if len(elements) <= most:
        return [elements]
    whole = [e for e in elements if type(getattr(e, "time_ms", None)) is int]
    odd = [e for e in elements if type(getattr(e, "time_ms", None)) is not int]
    whole.sort(key=lambda element: element.time_ms)
    whole += odd
    return [whole[n : n + most] for n in range(0, len(whole), most)]


def sound_of(
    elements: Iterable[StreamElement], flawed: Callable[[str], object]
) -> Iterator[StreamElement]:
    """Those that can be part of a block; `flawed` is told what is wrong with the others."""
    for element in elements:
        flaw = flaw_of(element)
        if flaw is None:
            yield element
        else:
            flawed(f"element at {element.time_ms} ms: {flaw}")


def lines_of(element: StreamElement) -> list[str]:
    """The lines of an element: its triples, the one that dates it, what is said about it."""
    times = () if element.time_triple is None else (element.time_triple,)
    return [line.rstrip("\r\n") for line in (*element.triples, *times, *element.about)]


def trimmed(element: StreamElement) -> StreamElement:
    """An element whose lines have no breaks at their ends."""
    lines = lines_of(element)
    count = len(element.triples)
    return StreamElement(
        int(element.time_ms), element.graph, tuple(lines[:count]), None, tuple(lines[count:])
    )


def flaw_of(element: StreamElement) -> str | None:
    """Why an element cannot be part of a block, None if it can; whether its lines are RDF is not asked."""
    try:
        for line in lines_of(element):
            if "\n" in line:
                return f"a line break in {line!r}"
            place = lone_surrogate(line)
            if place is not None:
                return f"column {place + 1}: a lone surrogate in {line!r}"
        graph = element.graph
        if graph is not None and (_SPACE.search(graph) or lone_surrogate(graph) is not None):
            return f"{graph!r} is no graph name"
    except (AttributeError, TypeError):
        return "its triples or its graph name are no texts"
    return time_flaw(element.time_ms)
