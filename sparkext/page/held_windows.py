"""What streams hold now and what windows show of it, with the queries whose windows these are: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from sparkext.s2r.event_time import format_date_time
from sparkext.s2r.watermark import FOREVER, NEVER
from sparkext.setting_types import show_duration

if TYPE_CHECKING:
    from sparkext.engine import Engine
    from sparkext.s2r.windows import WindowSpec

MOST_NAMED = 5
"""So many queries of a window are named; thousands may share it."""


def held(engine: Engine) -> dict[str, dict[str, Any]]:
    """By the IRI of a stream: how many panes, quads and records are held, and the windows over it.

    Of each window what it is, the stretch of time and the elements that it shows, the rows that patterns find in it,
    and how many queries it serves, the first of them by name. It is told at once, also while an evaluation runs.
    """
    users = _users(engine)
    found: dict[str, dict[str, Any]] = {}
    for iri, stream in list(engine.streams.items()):
        log = stream.held()
        windows = []
        for key, opens, closes, elements, rows in log.pop("windows"):
            spec, names = users.get((iri, key), (None, []))
            windows.append(
                {
                    "window": key if spec is None else spec_text(spec),
                    "opens": moment(opens),
                    "closes": moment(closes),
                    "elements": elements,
                    "rows": rows,
                    "queries": len(names),
                    "named": names[:MOST_NAMED],
                }
            )
        found[iri] = {**log, "windows": windows}
    return found


def _users(engine: Engine) -> Mapping[tuple[str, str], tuple[WindowSpec, list[str]]]:
    users: dict[tuple[str, str], tuple[WindowSpec, list[str]]] = {}
    for name, query in engine.queries.items():
        for window in query.windows.values():
            place = (window.stream, window.key)
            names = users.setdefault(place, (window.spec, []))[1]
            if not names or names[-1] != name:
                names.append(name)
    return users


def moment(time: int) -> str | None:
    """A time of events as text; None before all times, and where it is for ever."""
    return format_date_time(time) if NEVER < time < FOREVER else None


_COUNTS = ("count",)
_TIMES = ("start", "end")


def spec_text(spec: WindowSpec) -> str:
    """A window in a few words.

    >>> from sparkext.s2r.windows import ElementsWindow, SlidingWindow
    >>> spec_text(SlidingWindow(30_000, 5_000)), spec_text(ElementsWindow(10))
    ('sliding, width 30s, slide 5s', 'elements, count 10')
    """
    kind = type(spec).__name__.removesuffix("Window").lower()
    if not is_dataclass(spec):
        return kind
    parts = [kind]
    for one in fields(spec):
        value = getattr(spec, one.name)
        if isinstance(value, bool) or not isinstance(value, int) or value == 0:
            continue
        if one.name in _COUNTS:
            parts.append(f"{one.name} {value}")
        elif one.name in _TIMES:
            shown = moment(value)
            parts += [] if shown is None else [f"{one.name} {shown}"]
        else:
            parts.append(f"{one.name} {show_duration(value)}")
    return ", ".join(parts)
