"""Which registered queries differ in constants only: the second of a kind makes a template, others join it.

A query that is the first of its kind is planned with its constants. The next one of the kind makes a template, in which
the constants in which the two differ are columns; the others stay constants, for the statistics' sake. A query that
differs from a template in another constant makes one with more columns: there are never more templates than constants,
of the queries that came before anything arrived, or between the same arrivals where elements may come late.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import Distinct, OrderBy, Project, Reduced
from sparkext.language.query import Query
from sparkext.r2r.patterns.stage_rows import InstanceRows
from sparkext.r2r.templates.filled_patterns import filled
from sparkext.r2r.templates.shared_patterns import Instances, NotShareableError, shared
from sparkext.r2r.templates.skeletons import Skeleton, hole
from sparkext.runtime.queries.given_query import GivenQuery
from sparkext.runtime.queries.template_instances import NUMBER, TemplateInstances
from static_data.terms import Term

if TYPE_CHECKING:
    from sparkext.bridge.engine_room import EngineRoom
    from sparkext.runtime.query_instance import QueryInstance
    from sparkext.runtime.template_query import TemplateQuery

Made = Callable[[Query, TemplateInstances], "TemplateQuery"]
"""Makes the query of a template and has it evaluated."""


@dataclass
class Template:
    """One template: the places of the constants that differ, and the terms of the others."""

    places: tuple[int, ...]
    fixed: Mapping[int, Term]
    query: TemplateQuery
    instances: TemplateInstances

    def covers(self, constants: tuple[Term, ...]) -> bool:
        """Whether a query with these constants can be one of its instances."""
        return self.query.takes_newcomers and all(
            constants[place] == term for place, term in self.fixed.items()
        )


@dataclass
class _Kind:
    """Queries of one skeleton: those that are evaluated by themselves, and templates."""

    alone: dict[str, tuple[Term, ...]] = field(default_factory=dict)
    templates: list[Template] = field(default_factory=list)
    shareable: bool = True


class Templates:
    """The templates of an engine; used under its lock."""

    def __init__(self, room: EngineRoom) -> None:
        self._room = room
        self._kinds: dict[Hashable, _Kind] = {}
        self._kind_of: dict[str, Hashable] = {}

    def find(
        self, name: str, given: GivenQuery, report: object, make: Made
    ) -> tuple[Template, Skeleton] | None:
        """The template that a query to be registered is an instance of; None where it is evaluated by itself."""
        skeleton = given.skeleton
        if skeleton is None or _is_cut_as_it_comes(skeleton):
            return None
        key = (skeleton.query, given.base.base_iri, repr(report))
        kind = self._kinds.setdefault(key, _Kind())
        self._kind_of[name] = key
        if not (kind.alone or kind.templates) or not kind.shareable:
            kind.alone[name] = skeleton.constants
            return None
        covering = [t for t in kind.templates if t.covers(skeleton.constants)]
        if covering:
            return min(covering, key=lambda template: len(template.places)), skeleton
        try:
            return self._made(kind, skeleton, make), skeleton
        except (NotShareableError, UnsupportedFeatureError, RecursionError):
            kind.shareable = False
            kind.alone[name] = skeleton.constants
            return None

    def _made(self, kind: _Kind, skeleton: Skeleton, make: Made) -> Template:
        constants = skeleton.constants
        known = [_differing(other, constants) for other in kind.alone.values()]
        known += [
            tuple(sorted({*t.places, *(p for p, term in t.fixed.items() if constants[p] != term)}))
            for t in kind.templates
        ]
        places = min(known, key=len)
        fixed = {p: term for p, term in enumerate(constants) if p not in places}
        holes = tuple(map(hole, places))
        rows = InstanceRows((NUMBER, *holes), frozenset((NUMBER, *holes)))
        pattern = filled(skeleton.query.pattern, {hole(p): term for p, term in fixed.items()})
        together = shared(pattern, Instances(rows, NUMBER, frozenset(holes)))
        query = dataclasses.replace(skeleton.query, pattern=together)
        instances = TemplateInstances(self._room, len(places))
        made = Template(places, fixed, make(query, instances), instances)
        kind.templates.append(made)
        return made

    def ended(self, name: str, instance: QueryInstance | None) -> TemplateQuery | None:
        """Note that a query has ended; the template that no query needs any more."""
        key = self._kind_of.pop(name, None)
        if key is None:
            return None
        kind = self._kinds[key]
        kind.alone.pop(name, None)
        gone = None
        if instance is not None and not len(instance.template):
            gone = instance.template
            kind.templates = [t for t in kind.templates if t.query is not gone]
        if not (kind.alone or kind.templates):
            del self._kinds[key]
        return gone


def _is_cut_as_it_comes(skeleton: Skeleton) -> bool:
    """Whether a query that asks for what is new has an OFFSET or LIMIT, but no order.

    What is new is found from what arrived: that says nothing of which solutions a limit leaves.
    """
    cut = skeleton.offset > 0 or skeleton.limit is not None
    if not cut or skeleton.query.stream_operator != "ISTREAM":
        return False
    pattern = skeleton.query.pattern
    while isinstance(pattern, Project | Distinct | Reduced):
        pattern = pattern.input
    return not isinstance(pattern, OrderBy)


def _differing(one: tuple[Term, ...], other: tuple[Term, ...]) -> tuple[int, ...]:
    return tuple(p for p, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
