"""Random recordings in N-Quads: elements in and out of order, mixed, flawed."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from sparkext.recorded_streams import TIME_PROPERTIES
from tests.sparkext.listening import E
from tests.sparkext.recorded_streams.whole_replay import XSD

NAMES = st.sampled_from([f"<{E}g{n}>" for n in range(6)] + ["_:g0", "_:g1", f"<{E}gé>"])
TERMS = st.sampled_from(
    [f"<{E}a>", f"<{E}b>", "_:x", "_:y", "_:g0", f"<< <{E}a> <{E}p> _:x >>", f"<{E}g1>"]
)
OBJECTS = st.one_of(
    TERMS,
    st.sampled_from(
        [
            '"o"',
            '"a\\u00E9\\t"@EN-gb',
            f'"1"^^<{XSD}integer>',
            f'"plain"^^<{XSD}string>',
            '"é_:x"',
            '"_:x"',
            f"<<( <{E}a> <{E}p> _:y )>>",
        ]
    ),
)
TIMES = st.one_of(
    st.integers(0, 60).map(lambda n: f'"{n}"^^<{XSD}integer>'),
    st.integers(0, 60).map(lambda n: f'"1970-01-01T00:00:00.{n:03d}Z"^^<{XSD}dateTime>'),
    st.sampled_from(
        [
            '"soon"',
            f'"2026-02-30T10:00:00"^^<{XSD}dateTime>',
            f'"+0007"^^<{XSD}unsignedLong>',
            f'"1969-12-31T24:00:00+00:01"^^<{XSD}dateTimeStamp>',
            f'"99999999999999999999"^^<{XSD}integer>',
        ]
    ),
)


@st.composite
def quads(draw: st.DrawFn) -> str:
    return f"{draw(TERMS)} <{E}p> {draw(OBJECTS)} {draw(NAMES)} ."


@st.composite
def dated(draw: st.DrawFn) -> str:
    return f"{draw(NAMES)} <{draw(st.sampled_from(TIME_PROPERTIES))}> {draw(TIMES)} ."


@st.composite
def elements(draw: st.DrawFn) -> list[str]:
    """The lines of an element as most files have them."""
    name = draw(NAMES)
    number = draw(st.integers(0, 10**6))
    if draw(st.integers(0, 3)):
        name = f"<{E}n{number}>"
    lines = [
        f"{draw(TERMS)} <{E}p> {draw(OBJECTS)} {name} ." for _ in range(draw(st.integers(1, 3)))
    ]
    lines.insert(
        draw(st.integers(0, len(lines))),
        f"{name} <{TIME_PROPERTIES[0]}> {draw(TIMES)} .",
    )
    if not draw(st.integers(0, 4)):
        lines.append(f'{name} <{E}by> "somebody" .')
    return lines


ODD = st.sampled_from(
    [
        "",
        "# a comment",
        "garbage",
        f'<{E}s> <{E}p> "o <{E}g1> .',
        f"<{E}g2> <{E}p> .",
        f'<{E}g3> <{TIME_PROPERTIES[0]}> "5"^^<{XSD}integer>',
        f'<{E}s> <p> "o" <{E}g2> . # why',
        f'<{E}nobody> <{E}p> "loose" .',
        f'<{E}g0> <{E}p> "about" .',
        f'_:g1 <{E}p> "about" .',
    ]
)


@st.composite
def recordings(draw: st.DrawFn) -> bytes:
    """Elements in and out of order, some mixed, some of their lines missing, flawed or twice."""
    blocks = draw(st.lists(elements(), max_size=8))
    lines = [line for block in blocks for line in block]
    for line in draw(st.lists(st.one_of(quads(), dated(), ODD), max_size=6)):
        lines.insert(draw(st.integers(0, len(lines))), line)
    if draw(st.booleans()):
        Random(draw(st.integers(0, 1000))).shuffle(lines)
    content = draw(st.sampled_from(["\n", "\r\n", "\r"])).join(lines).encode()
    if not draw(st.integers(0, 3)):
        content = content.replace(b'"o"', b'"\xff"', 1)
    return (b"\xef\xbb\xbf" if draw(st.booleans()) else b"") + content
