"""The part of an engine with which continuous queries are registered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from sparkext.answers.html_tables import texts_table
from sparkext.argument_checks import check
from sparkext.errors import failures_told
from sparkext.language import check_supported, parse_query
from sparkext.language.query import Query
from sparkext.rewriting.lift_filters import apply_filter_scope
from sparkext.runtime.parts.engine_parts import EngineParts
from sparkext.runtime.parts.parameter_terms import Parameters, terms_of
from sparkext.runtime.parts.profile_rules import under_profile
from sparkext.runtime.queries.given_query import GivenQuery, Said
from sparkext.runtime.queries.report_choice import ReportWish
from sparkext.runtime.query_instance import QueryInstance
from sparkext.runtime.registered_query import RegisteredQuery
from sparkext.runtime.registrations import Registrations, check_continuous
from sparkext.runtime.text_shapes import TextShapes

Registered = RegisteredQuery | QueryInstance


class QueryRegistration:
    """Registers continuous queries, one or thousands, and ends them."""

    parts: EngineParts
    _registered: Registrations

    def register_query(
        self,
        text: str | Query,
        name: str | None = None,
        report: ReportWish | None = None,
        parameters: Parameters | None = None,
    ) -> Registered:
        """Register a continuous query in RSP-QL; it is evaluated from the next element on.

        `name` defaults to the IRI after REGISTER; a CONSTRUCT query with one makes the stream of that IRI, see
        `sparkext.runtime.derived_streams`. `report` comes before REPORT in the text: strategies that decide for
        each window ("WINDOW CLOSE AND NON-EMPTY CONTENT"), such texts by window IRI, or a ReportPolicy. `parameters`
        are terms for variables of the text, by name, such as `{"room": "http://e/r1"}`. Queries that differ in
        constants or parameters only are evaluated together, see `docs/many_queries.md`. Raises
        QuerySyntaxError, UnsupportedFeatureError (ProfileError for what the profile does not have),
        UnknownStreamError, UnknownGraphError, DuplicateNameError, RecursiveQueryError, or ReportPolicyError.
        """
        self.parts.check_open()
        if name is not None:
            check.text("name", name)
        given = self._given(text, report)
        if parameters is not None:
            given = given.with_parameters(terms_of(parameters, self.parts.rdf))
        return self._register(given, name)

    def _register_again(
        self, text: str, name: str, report: ReportWish | None, parameters: Parameters | None
    ) -> Registered:
        return self.register_query(text, name, report, parameters)

    def _register(self, given: GivenQuery, name: str | None) -> Registered:
        with self.parts.in_use(), failures_told():
            return self._with_siblings(given, self._registered.query(given, name))

    def _with_siblings(self, given: GivenQuery, query: Registered) -> Registered:
        kept = given.kept()

        def again(parameters: Parameters, name: str | None) -> Registered:
            self.parts.check_open()
            if name is not None:
                check.text("name", name)
            terms = {**kept.terms, **terms_of(parameters, self.parts.rdf)}
            return self._register(kept.with_parameters(terms), name)

        query.register_again = again
        return query

    def register_queries(
        self,
        queries: str | Query | Iterable[str | Query],
        parameters: Iterable[Parameters] | None = None,
        names: Sequence[str] | None = None,
        report: ReportWish | None = None,
    ) -> list[Registered]:
        """Register many queries, all or none: several texts, or one with the `parameters` of each.

        `names` are theirs, as many as there are queries; arguments and errors otherwise as for `register_query`.
        """
        self.parts.check_open()
        if isinstance(queries, str | Query) and parameters is not None:
            wanted = self._parameterised(queries, parameters, report)
        else:
            if parameters is not None:
                raise check.wrong("parameters", "None where there are several texts", parameters)
            texts = _several("queries", "several texts, or one with parameters", queries)
            if not all(isinstance(text, str | Query) for text in texts):
                raise check.wrong("queries", "several texts, or one with parameters", queries)
            wanted = [self._given(text, report) for text in texts]
        if names is not None:
            names = [check.text("names", name) for name in _several("names", "texts", names)]
            if len(names) != len(wanted):
                raise check.wrong("names", f"as many as there are queries, {len(wanted)}", names)
        made: list[Registered] = []
        with self.parts.in_use(), failures_told():
            try:
                for place, given in enumerate(wanted):
                    name = None if names is None else names[place]
                    registered = self._registered.query(given, name)
                    made.append(self._with_siblings(given, registered))
            except Exception:
                for query in made:
                    self._registered.stop(query.name)
                raise
        return made

    def _parameterised(
        self, text: str | Query, parameters: Iterable[Parameters], report: ReportWish | None
    ) -> list[GivenQuery]:
        given = self._given(text, report)
        wanted = []
        for one in _several("parameters", "several mappings", parameters):
            given = given.with_parameters(terms_of(one, self.parts.rdf))
            wanted.append(given)
        return wanted

    def _given(self, text: str | Query, report: ReportWish | None) -> GivenQuery:
        read = partial(self._read_continuous, text)
        said = Said.of(text, report)
        if isinstance(text, str) and self.parts.settings.sharing_enabled:
            shaped = self._shapes.parameterised(text)
            if shaped is not None:
                return GivenQuery(read, report, None, *shaped, said=said)
        return GivenQuery(read, report, read(), said=said)

    @cached_property
    def _shapes(self) -> TextShapes:
        return TextShapes(self._read_continuous)

    def _read_continuous(self, text: str | Query) -> Query:
        with failures_told():
            query = under_profile(self._read(text), self.parts.profile)
            check_supported(query, self.parts.functions.names)
            check_continuous(query)
            return query

    def _read(self, text: str | Query) -> Query:
        settings: Any = self.parts.settings
        query = text if isinstance(text, Query) else parse_query(text, rdf=self.parts.rdf)
        return apply_filter_scope(query, settings.filter_scope)

    @property
    def queries(self) -> dict[str, Registered]:
        """The registered queries by name."""
        return dict(self._registered.queries)

    def _repr_html_(self) -> str:
        """What a notebook shows: queries and streams, and what they have done."""
        queries = [(name, str(query.progress)) for name, query in self.queries.items()]
        streams = [
            (iri, stream.accepted_count, stream.late_count, stream.malformed_count)
            for iri, stream in self._registered.streams.items()
        ]
        return texts_table(["query", "progress"], queries, "queries") + texts_table(
            ["stream", "elements", "late", "set aside"], streams, "streams"
        )

    def stop_query(self, name: str) -> None:
        """End a query; raises UnknownQueryError."""
        check.text("name", name)
        with self.parts.lock.urgently():
            self._registered.stop(name)


def _several(name: str, wanted: str, given: object) -> list[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise check.wrong(name, wanted, given)
    return list(given)
