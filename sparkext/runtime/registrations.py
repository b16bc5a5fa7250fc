"""The streams and continuous queries of an engine: how they come to be, by name, and end."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sparkext.errors import (
    CqelsError,
    DuplicateNameError,
    UnknownQueryError,
)
from sparkext.language.query import Query
from sparkext.runtime.derived_streams import DerivedStreams, stream_made_by
from sparkext.runtime.evaluation_loop import EvaluationLoop
from sparkext.runtime.graph_versions import GraphVersions
from sparkext.runtime.lateness.idle_timer import IdleTimer
from sparkext.runtime.lateness.recollection import Recollection
from sparkext.runtime.lateness.stream_lateness import LatenessWish, StreamLateness
from sparkext.runtime.parts.engine_parts import EngineParts
from sparkext.runtime.queries.given_query import GivenQuery, Said
from sparkext.runtime.queries.report_choice import ReportWish
from sparkext.runtime.queries.template_instances import TemplateInstances
from sparkext.runtime.queries.window_registry import WindowRegistry
from sparkext.runtime.queries.window_specs import WindowRules
from sparkext.runtime.query_instance import QueryInstance
from sparkext.runtime.registered_query import RegisteredQuery
from sparkext.runtime.streams.given_rows import finder_of
from sparkext.runtime.streams.mapped_stream import MappedStream
from sparkext.runtime.streams.stream import Stream
from sparkext.runtime.streams.stream_mapping import ElementMapping, MappingOptions, element_mapping
from sparkext.runtime.template_query import TemplateQuery
from sparkext.runtime.templates import Templates
from sparkext.s2r.watermark import LateWatermark, StreamWatermark
from static_data.files.on_error import OnError

logger = logging.getLogger(__name__)


class Registrations:
    """What is registered; `evaluations` runs the queries. Called under the engine's lock."""

    def __init__(self, parts: EngineParts) -> None:
        settings = parts.settings
        self._parts = parts
        self.streams: dict[str, Stream] = {}
        self.queries: dict[str, RegisteredQuery | QueryInstance] = {}
        self.evaluated: dict[
            str, RegisteredQuery
        ] = {}  # those that are no instances, and templates
        self._templates = Templates(parts.room)
        self._shares = settings.sharing_enabled and settings.enabled
        self.derived = DerivedStreams(self.streams, self._is_read)
        rules = WindowRules(
            parts.profile, settings.starting_at, settings.window_bounds == "closed-open"
        )
        self.windows = WindowRegistry(settings.sharing_enabled, rules)
        self.graph_versions = GraphVersions(
            parts,
            self.streams,
            self.evaluated,
            lambda: self.evaluations.passed(),
            lambda: self.evaluations.turns,
        )
        self.evaluations = EvaluationLoop(
            self.streams,
            self.derived,
            self.graph_versions,
            parts.lock,
            parts.hand_over,
            parts.room.evaluate_together if parts.threads > 1 else None,
            parts.keeper is not None,
        )
        self._said: dict[str, Said] = {}  # of queries, where there is a checkpoint
        self.idle_timer = IdleTimer(self._look_for_idle)
        self._numbers = itertools.count()
        self._instance_numbers = itertools.count(1)
        self._template_numbers = itertools.count(1)
        self._registered_count = 0

    def element_mapping(
        self, given: str | Path | MappingOptions | None, time: str | None
    ) -> ElementMapping | None:
        """What is read of a stream's mapping and of the rows that it joins with; see there for errors."""
        if given is None:
            return None
        options = MappingOptions.of(given, time=time)
        return element_mapping(options, finder_of(options.tables, self._parts.spark))

    def stream(
        self,
        iri: str,
        on_error: OnError,
        mapping: ElementMapping | None = None,
        wish: LatenessWish | None = None,
    ) -> Stream:
        """The stream of an IRI, made when it is first asked for.

        DuplicateNameError for one that is, with a mapping or with other wishes about lateness.
        """
        wish = wish or LatenessWish()
        if iri not in self.streams:
            lateness = wish.over(StreamLateness.of(self._parts.settings))
            if lateness.late_stream is not None and (
                lateness.late_stream in self.streams or lateness.late_stream == iri
            ):
                raise DuplicateNameError(f"late_stream: <{lateness.late_stream}> is in use already")
            watermark = lateness.watermark(self.evaluations.clock)
            made = self.streams[iri] = self._made(iri, watermark, on_error, mapping, lateness)
            if lateness.late_stream is not None:
                self._make_late_stream(lateness.late_stream, made)
            if lateness.idle_timeout is not None:
                self.idle_timer.start(lateness.idle_timeout)
            return made
        wish.check_same(iri, self.streams[iri].lateness)
        if mapping is not None:
            raise DuplicateNameError(
                f"the stream <{iri}> is registered already: its mapping is given the first time"
            )
        return self.streams[iri]

    def _made(
        self,
        iri: str,
        watermark: StreamWatermark,
        on_error: OnError = OnError.SKIP,
        mapping: ElementMapping | None = None,
        lateness: StreamLateness | None = None,
    ) -> Stream:
        watermark.on_move = self.evaluations.watch(iri)
        given = (self._parts, iri, watermark, self.evaluations, self.derived, on_error)
        made = (
            Stream(*given, lateness) if mapping is None else MappedStream(*given, mapping, lateness)
        )
        if self._parts.keeper is not None:
            self._parts.keeper.new_stream(made)
        return made

    def _make_late_stream(self, iri: str, source: Stream) -> None:
        """A stream of the elements that come too late on another."""
        made = self.streams[iri] = self._made(iri, LateWatermark(source.watermark), source.on_error)
        made.take_late_of(source)
        watch = self.evaluations.watch(source.iri)

        def moved() -> None:
            watch()
            made.follow()

        source.watermark.on_move = moved

    def _look_for_idle(self) -> None:
        with self._parts.lock:
            if not self._parts.closed and self.evaluations.idle_changed():
                self.evaluations.evaluate_due()

    def query(self, given: GivenQuery, name: str | None) -> RegisteredQuery | QueryInstance:
        """Register a query that has been checked; see `Engine.register_query` for errors."""
        base = given.base
        self._registered_count += 1
        chosen = name or self._own_name(given) or self._free_name(self._registered_count)
        keeper = self._parts.keeper
        if chosen in self.queries:
            same = given.said == self._said.get(chosen)
            if keeper is not None and same and chosen in keeper.taken_up:
                keeper.taken_up.remove(chosen)
                return self.queries[chosen]
            raise DuplicateNameError(f"a query named {chosen} is already registered")
        makes = stream_made_by(base)
        if makes is not None:
            self._check_output(makes, base)
        known = None if keeper is None else keeper.take_query(chosen, given.said)
        try:
            if makes is None and self._shares:
                instance = self._instance(chosen, given, known)
                if instance is not None:
                    return self._named(chosen, instance, given, known)
            registered = self._evaluated(chosen, given.query, given.report)
        except BaseException:
            self._templates.ended(chosen, None)
            if known is not None and keeper is not None:
                keeper.give_back(chosen, known)
            raise
        if known is not None:
            registered.restore(known["state"])
            if "began" in known:  # it was an instance, whose evaluations its template had counted
                registered.progress.evaluations -= known["began"][0]
        self._named(chosen, registered, given, known)
        if makes is not None:
            self.streams[makes] = self._made(makes, StreamWatermark())
            self.derived.add(makes, registered)
            registered.makes_stream = True
        self.evaluations.add(registered)
        return registered

    def _named(
        self,
        name: str,
        query: RegisteredQuery | QueryInstance,
        given: GivenQuery,
        known: Mapping[str, Any] | None,
    ) -> RegisteredQuery | QueryInstance:
        self.queries[name] = query
        if self._parts.keeper is not None:
            if given.said is not None:
                self._said[name] = given.said
            if known is not None:
                self._parts.keeper.went_on()
        return query

    def _own_name(self, given: GivenQuery) -> str | None:
        """The name after REGISTER; with parameters only the first has it."""
        registration = given.base.registration
        name = None if registration is None or registration.name is None else registration.name
        return (
            None if name is None or (given.is_again and name.value in self.queries) else name.value
        )

    def _instance(
        self, name: str, given: GivenQuery, known: Mapping[str, Any] | None
    ) -> QueryInstance | None:
        """The query as an instance of a template; None where it is to be evaluated by itself.

        `known` is what it was in another process.
        """
        report = given.report

        def make(whole: Query, instances: TemplateInstances) -> TemplateQuery:
            called = f"template-{next(self._template_numbers)}"
            made = self._evaluated(called, whole, report, instances)
            assert isinstance(made, TemplateQuery)
            if known is not None:
                made.restore(known["state"])
            self.evaluations.add(made)
            return made

        found = self._templates.find(name, given, report, make)
        if found is None:
            return None
        template, skeleton = found
        number = next(self._instance_numbers)
        constants = [skeleton.constants[place] for place in template.places]
        cut = (skeleton.offset, skeleton.limit)
        instance = QueryInstance(self._parts, name, given, number, template.query, self.stop)
        put = partial(template.instances.add, number, constants, *cut)
        if known is None:
            template.query.add(instance, put)
            return instance
        if not template.query.to_recall:
            template.query.restore(known["state"])
            self.evaluations.restored(template.query)
        template.query.add_again(instance, put, known)
        return instance

    # -- for another process --------------------------------------------------------------------------

    def stream_again(self, iri: str, on_error: str, lateness: Mapping[str, Any]) -> object:
        """The stream of an IRI, which is registered again as it was."""
        wish = LatenessWish(**{**lateness, "idle_timeout": lateness["idle_timeout"] or 0})
        return self.stream(iri, OnError.named(on_error), wish=wish)

    def is_made(self, iri: str) -> bool:
        """Whether there is a stream of an IRI."""
        return iri in self.streams

    def start_commits(self, at_rest: Callable[[], object]) -> None:
        """Have this be called whenever nothing is due any more."""
        self.evaluations.at_rest = at_rest

    def query_states(self) -> dict[str, dict[str, Any]]:
        """The state of all that is evaluated, by name; to be asked before that of streams."""
        self.evaluations.corrected.settle(query.number for query in self.evaluated.values())
        return {name: query.state() for name, query in self.evaluated.items()}

    def query_parts(self) -> dict[str, dict[str, Any]]:
        """What was registered, in order, and as what it is evaluated."""
        return {
            name: {
                "said": self._said.get(name, Said(None)).described(),
                "streams": list(query.policy_streams),
                **query.evaluated_as(),
            }
            for name, query in self.queries.items()
        }

    def barriers(self) -> list[Callable[[], object]]:
        """What returns when all subscribers have been told what they are to be told by now."""
        return [ready for query in self.queries.values() for ready in query.barriers()]

    def to_recall(self) -> list[Recollection]:
        """What queries have told and are to find again."""
        return [one for query in self.evaluated.values() for one in query.recollections()]

    def remembered_since(self) -> int:
        """How many evaluations there had been before the oldest one whose answers are to be found again."""
        turns = [query.remembers_since for query in self.evaluated.values()]
        return min((turn for turn in turns if turn is not None), default=self.evaluations.turns)

    def _evaluated(
        self,
        name: str,
        query: Query,
        report: ReportWish | None,
        instances: TemplateInstances | None = None,
    ) -> RegisteredQuery:
        """A query that is to be evaluated, not yet added to `evaluations`."""
        corrected = any(
            w.stream.value in self.streams and self.streams[w.stream.value].watermark.corrects
            for w in query.windows
        )
        windows = self.windows.open(query, self.streams, own_policy=report is not None)
        try:
            given = (
                self._parts,
                self.windows,
                name,
                query,
                windows,
                self.streams,
                self.stop,
                self.evaluations.times,
                report,
                instances,
                self.evaluations.corrected.note_crowded if corrected else None,
            )
            kind = RegisteredQuery if instances is None else TemplateQuery
            registered = kind(*given)
        except Exception:
            for window in windows.values():
                self.windows.close(window, self.streams)
            raise
        registered.number = next(self._numbers)
        self.evaluated[name] = registered
        return registered

    def stop(self, name: str) -> None:
        """End a query; raises UnknownQueryError."""
        if name not in self.queries:
            raise UnknownQueryError(name, list(self.queries))
        query = self.queries.pop(name)
        self._said.pop(name, None)
        if self._parts.keeper is not None:
            self._parts.keeper.query_ended()
        if isinstance(query, QueryInstance):
            query.ended()
            query.template.remove(query)
            gone = self._templates.ended(name, query)
            if gone is not None:
                self._end(gone)
            return
        self._templates.ended(name, None)
        self._end(query)

    def _end(self, query: RegisteredQuery) -> None:
        query.active = False
        query.end_subscribers()
        del self.evaluated[query.name]
        self.derived.remove(query)
        self.evaluations.remove(query)
        query.close()
        for window in query.windows.values():
            self.windows.close(window, self.streams)

    def _free_name(self, number: int) -> str:
        names = (f"query-{n}" for n in itertools.count(number))
        return next(name for name in names if name not in self.queries)

    def _check_output(self, iri: str, query: Query) -> None:
        self.derived.check(iri, query)
        known = self.streams.get(iri)
        if known is None or (known.watermark.finished and not self._is_read(iri)):
            return
        if iri in self.derived or known.accepted_count or self._is_read(iri):
            raise DuplicateNameError(f"a stream <{iri}> is already in use")

    def _is_read(self, iri: str) -> bool:
        """Whether a registered query has a window on the stream."""
        return self.evaluations.is_read(iri)


def check_continuous(query: Query) -> None:
    """Raise CqelsError for a query without a window; what the parser warns of is logged."""
    if not query.windows:
        raise CqelsError(
            "a continuous query needs a window: FROM NAMED WINDOW <w> ON <s> [RANGE PT30S]"
        )
    for warning in query.warnings:
        logger.warning("%s", warning)
