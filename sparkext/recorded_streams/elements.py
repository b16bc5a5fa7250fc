"""Stream elements put together from statements: named graphs and the triples that date them.

A recorded stream is an RDF dataset: each element is a named graph, and its time is one triple of
the default graph. The order of the statements matters only to tell a graph name that is used twice
from a graph that is written in several pieces:

- quads of one graph that do not lie together are one graph, as in any RDF dataset, so long as there
  is one time for it;
- once an element has its quads and its time and another graph has begun, more quads of its name
  *with a time triple of their own* are a second element whose name is already used: the second is
  set aside, the first stays;
- a second time without further quads makes an element with two times, which is set aside; the same
  time triple repeated is one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from sparkext.s2r.event_time import GREATEST_TIME, parse_date_time
from static_data.terms import XSD_INTEGERS

PROV_GENERATED_AT_TIME = "http://www.w3.org/ns/prov#generatedAtTime"
SOSA_RESULT_TIME = "http://www.w3.org/ns/sosa/resultTime"
TIME_PROPERTIES = (PROV_GENERATED_AT_TIME, SOSA_RESULT_TIME)

_XSD = "http://www.w3.org/2001/XMLSchema#"
_DATE_TIMES = frozenset({f"{_XSD}dateTime", f"{_XSD}dateTimeStamp"})
_INTEGERS = frozenset(datatype.value for datatype in XSD_INTEGERS)
_TYPED = re.compile(r'"([^"\\]*)"\^\^<([^>]*)>')
_INTEGER = re.compile(r"[+-]?[0-9]+")
_LABEL_OR_OPAQUE = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>]*>|(_:[^\s<>"]+)')


@dataclass(frozen=True, slots=True)
class StreamElement:
    """One element: its time in milliseconds since the epoch, its graph's name and its triples.

    All texts are canonical N-Triples; a triple is written `s p o .`. `time_triple` is the triple of
    the default graph that dates the element, `about` the other triples of the default graph whose
    subject is the graph's name. An element that was pushed may have no name, and then no time
    triple either. Blank nodes have labels of their own in each element.
    """

    time_ms: int
    graph: str | None
    triples: tuple[str, ...]
    time_triple: str | None = None
    about: tuple[str, ...] = ()

    def nquads(self) -> Iterator[str]:
        """N-Quads-star lines: the graph's triples, then those of the default graph."""
        ending = "." if self.graph is None else f"{self.graph} ."
        for triple in self.triples:
            yield triple[:-1] + ending
        if self.time_triple is not None:
            yield self.time_triple
        yield from self.about


@dataclass(frozen=True, slots=True)
class SetAside:
    """An element, or a stray statement, that could not be used; `line` where known."""

    file: str
    line: int | None
    graph: str | None
    reason: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.reason if self.graph is None else f'{self.graph}: {self.reason}'}"


@dataclass(slots=True)
class _Use:
    """What is said about one use of a graph name."""

    graph: str
    line: int | None
    triples: list[str] = field(default_factory=list)
    times: dict[str, str] = field(default_factory=dict)
    about: list[str] = field(default_factory=list)
    piece: int = 0  # the piece of the file in which its last quad lies; 0 = no quad yet
    spoilt: tuple[str, int | None] | None = None


class ElementAssembler:
    """Takes the statements of one file in order; gives back elements and what was set aside.

    `used_names` holds the graph names of earlier files of the same stream and is added to. `scope`
    goes in front of blank node labels, `first_number` is the number of the first element; both keep
    the labels of several files and streams apart. `default_time` is the time of elements that have none.
    """

    def __init__(
        self,
        file: str,
        time_properties: Collection[str] = TIME_PROPERTIES,
        used_names: set[str] | None = None,
        scope: str = "",
        first_number: int = 0,
        default_time: int | None = None,
    ) -> None:
        self.file = file
        self._default_time = default_time
        self.ignored_triples = 0
        self._times = frozenset(f"<{iri}>" for iri in time_properties)
        self._used_names = set() if used_names is None else used_names
        self._scope = scope
        self._number = first_number
        self._uses: dict[str, list[_Use]] = {}
        self._order: list[_Use] = []
        self._loose: dict[str, list[str]] = {}
        self._open: _Use | None = None
        self._piece = 0
        self._set_aside: list[SetAside] = []

    def quad(
        self, subject: str, predicate: str, object_: str, graph: str | None, line: int | None
    ) -> None:
        """Take in one statement; None as the graph is the default graph."""
        text = f"{subject} {predicate} {object_} ."
        if graph is None:
            self._default_triple(subject, predicate, object_, text, line)
            return
        use = self._open
        if use is None or use.graph != graph:
            self._piece += 1
            use = self._last_use(graph)
            if use is None or (use.triples and use.times):
                use = self._new_use(graph, line)
            use.piece = self._piece
            self._open = use
        use.triples.append(text)

    def spoil(self, graph: str | None, reason: str, line: int | None) -> None:
        """Note a malformed statement, of the element of that name, or of none that can be told."""
        if graph is None:
            self._set_aside.append(SetAside(self.file, line, None, reason))
            return
        use = self._last_use(graph) or self._new_use(graph, line)
        if use.spoilt is None:
            use.spoilt = (reason, line)

    def clear(self) -> None:
        """Forget all statements."""
        self._uses.clear()
        self._order.clear()
        self._loose.clear()
        self._set_aside.clear()
        self._open = None
        self._piece = 0

    def knows(self, graph: str) -> bool:
        """Whether some statement so far was in that graph, or dated it."""
        return graph in self._uses

    @property
    def open_graph(self) -> str | None:
        """The name of the graph of the last quad."""
        return None if self._open is None else self._open.graph

    def finish(self) -> tuple[list[StreamElement], list[SetAside]]:
        """The elements in the order of the file, and everything set aside."""
        self._fold_uses()
        for name, triples in self._loose.items():
            if name in self._uses:
                self._uses[name][0].about.extend(triples)
            else:
                self.ignored_triples += len(triples)
        elements = []
        for use in self._order:
            reason = self._flaw(use)
            if reason is None:
                try:
                    elements.append(self._element(use))
                except ValueError as error:
                    reason = (str(error), use.line)
            if reason is not None:
                self._set_aside.append(SetAside(self.file, reason[1], use.graph, reason[0]))
        self._used_names.update(name for name in self._uses if not name.startswith("_:"))
        return elements, self._set_aside

    def _default_triple(
        self, subject: str, predicate: str, object_: str, text: str, line: int | None
    ) -> None:
        use = self._last_use(subject)
        if predicate not in self._times:
            if use is None:
                self._loose.setdefault(subject, []).append(text)
            else:
                use.about.append(text)
            return
        closed = use is not None and use.piece not in (0, self._piece)
        if use is None or (use.times and closed):
            use = self._new_use(subject, line)
        use.times[text] = object_

    def _last_use(self, graph: str) -> _Use | None:
        uses = self._uses.get(graph)
        return None if uses is None else uses[-1]

    def _new_use(self, graph: str, line: int | None) -> _Use:
        use = _Use(graph, line)
        self._uses.setdefault(graph, []).append(use)
        self._order.append(use)
        return use

    def _fold_uses(self) -> None:
        """Join to an element what only looked like a second: quads or a time without the other."""
        for uses in self._uses.values():
            kept = uses[:1]
            for use in uses[1:]:
                if (use.triples and use.times) or (use.spoilt and (use.triples or use.times)):
                    kept.append(use)
                    continue
                first = kept[-1]
                first.triples += use.triples
                first.times |= use.times
                first.about += use.about
                first.spoilt = first.spoilt or use.spoilt
            uses[:] = kept
        staying = {id(use) for uses in self._uses.values() for use in uses}
        self._order = [use for use in self._order if id(use) in staying]

    def _flaw(self, use: _Use) -> tuple[str, int | None] | None:
        """Why the element cannot be used, and where; None if it can."""
        first = self._uses[use.graph][0]
        if use.graph in self._used_names:
            return "its graph name is already used in another file of the stream", use.line
        if use is not first:
            where = "" if first.line is None else f", in line {first.line}"
            return f"its graph name is already used{where}", use.line
        if use.spoilt is not None:
            return use.spoilt
        if not use.triples:
            return "a time, but no triple in a graph of that name", use.line
        if not use.times and self._default_time is None:
            return "no time", use.line
        if len(use.times) > 1:
            return f"{'two' if len(use.times) == 2 else len(use.times)} times", use.line
        return None

    def _element(self, use: _Use) -> StreamElement:
        time_triple: str | None = None
        time = self._default_time
        if use.times or time is None:
            ((time_triple, value),) = use.times.items()
            time = time_of(value)
        triples = tuple(dict.fromkeys(use.triples))
        about = tuple(dict.fromkeys(use.about))
        number = self._number
        self._number += 1
        if "_:" not in " ".join((use.graph, *triples, *about)):
            return StreamElement(time, use.graph, triples, time_triple, about)
        labels: dict[str, str] = {}

        def scoped(match: re.Match[str]) -> str:
            label = match.group(1)
            if label is None:
                return match.group()
            return labels.setdefault(label, f"_:{self._scope}e{number}b{len(labels)}")

        graph = _LABEL_OR_OPAQUE.sub(scoped, use.graph)
        dated = None if time_triple is None else _LABEL_OR_OPAQUE.sub(scoped, time_triple)
        return StreamElement(
            time,
            graph,
            tuple(_LABEL_OR_OPAQUE.sub(scoped, text) for text in triples),
            dated,
            tuple(_LABEL_OR_OPAQUE.sub(scoped, text) for text in about),
        )


@lru_cache(maxsize=4096)
def time_of(value: str) -> int:
    """Milliseconds since the epoch of a time triple's object, an xsd:dateTime or an integer of
    milliseconds.

    Raises ValueError for anything else.

    >>> time_of('"2026-01-31T10:00:00"^^<http://www.w3.org/2001/XMLSchema#dateTime>')
    1769853600000
    """
    match = _TYPED.fullmatch(value)
    lexical, datatype = match.groups() if match is not None else ("", "")
    if datatype in _DATE_TIMES:
        time = parse_date_time(lexical)
    elif datatype in _INTEGERS and _INTEGER.fullmatch(lexical):
        time = int(lexical)
    else:
        raise ValueError(f"its time {value} is neither an xsd:dateTime nor an integer")
    if abs(time) > GREATEST_TIME:
        raise ValueError(f"its time {value} is out of range")
    return time
