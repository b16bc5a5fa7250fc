"""Parse tree of a whole query to `Query`: prologue, query form, dataset, registration, warnings."""

from __future__ import annotations

from collections.abc import Mapping

from lark import Token, Tree

from sparkext.errors import UnknownWindowError
from sparkext.language.algebra import Bgp
from sparkext.language.filter_scope import filter_scope_warnings
from sparkext.language.nodes import Node, Position, TriplePattern, Variable
from sparkext.language.query import DatasetClause, Query, QueryForm, Registration
from sparkext.language.translation.iris import Prologue
from sparkext.language.translation.translate_dialects import (
    WINDOW_CLAUSES,
    check_window_variables,
    windows_as_graphs,
    with_operator,
)
from sparkext.language.translation.translate_patterns import simplify
from sparkext.language.translation.translate_select import SelectTranslation, visible
from sparkext.language.translation.translate_streams import (
    translate_registration,
    translate_windows,
)
from sparkext.language.translation.translate_terms import kind_of, position_of, trees, variable
from static_data.files.rdf_version import RdfVersion
from static_data.terms import Iri

_FORMS: dict[str, QueryForm] = {
    "select_query": "SELECT",
    "construct_query": "CONSTRUCT",
    "construct_where_query": "CONSTRUCT",
    "describe_query": "DESCRIBE",
    "ask_query": "ASK",
}


class QueryTranslation(SelectTranslation):
    """The top layer of the translation; one instance translates one text."""

    def query(self, tree: Tree[Token], text: str) -> Query:
        """Translate the parse tree of a text."""
        registration = None
        for child in trees(tree):
            kind = kind_of(child)
            if kind == "registration":
                registration = translate_registration(self, child)
            elif kind in _FORMS:
                body = child
            else:
                self._declaration(child)
        window_clauses = [c for c in trees(body) if kind_of(c) in WINDOW_CLAUSES]
        windows = translate_windows(self, window_clauses)
        self.window_names = tuple(window.name for window in windows if window.name is not None)
        self.windows_as_graphs = windows_as_graphs(window_clauses, windows)
        check_window_variables(body, self.windows_as_graphs)
        self.declare_events([c for c in trees(body) if kind_of(c) == "event_declaration"])
        registration = with_operator(registration, body)
        if registration is not None:
            self._check_report(registration)
        dataset = self._dataset(body)
        clauses = {kind_of(clause): clause for clause in trees(body)}
        template, short_form = self._template(clauses.get("construct_template"), kind_of(body))
        pattern = simplify(self.solutions(clauses, short_form))
        for name, place in self.unmatched_events:
            self.warn(f"event {name} is not used: no MATCH names it", position_of(place))
        warnings = [*self.warnings, *filter_scope_warnings(pattern)]
        return Query(
            form=_FORMS[kind_of(body)],
            pattern=pattern,
            variables=visible(pattern.variables),
            windows=(*windows, *self.stream_windows),
            dataset=dataset,
            registration=registration,
            template=template,
            described=self._described(body, pattern),
            text=text,
            prefixes=dict(self.prologue.prefixes),
            base_iri=self.prologue.base_iri,
            warnings=tuple(sorted(warnings, key=lambda warning: (warning.line, warning.column))),
            position=position_of(body),
        )

    def _check_report(self, registration: Registration) -> None:
        known = [name.value for name in self.window_names]
        for rule in registration.report:
            for _, window in rule.conditions:
                if window not in self.window_names:
                    place = registration.position or Position(1, 1)
                    raise UnknownWindowError(window.value, *place, known)

    def _declaration(self, tree: Tree[Token]) -> None:
        tokens = tree.children
        if kind_of(tree) == "base_declaration":
            assert isinstance(tokens[0], Token)
            self.prologue.declare_base(self.iri_reference(tokens[0]))
        elif kind_of(tree) == "prefix_declaration":
            assert isinstance(tokens[0], Token) and isinstance(tokens[1], Token)
            self.prologue.declare_prefix(tokens[0][:-1], self.iri_reference(tokens[1]))

    def _dataset(self, body: Tree[Token]) -> DatasetClause:
        clauses = [
            clause for clause in trees(body) if kind_of(clause) in ("from_default", "from_named")
        ]
        if not clauses:
            return DatasetClause()
        graphs = [(kind_of(clause), self.iri(clause.children[0])) for clause in clauses]
        return DatasetClause(
            tuple(iri for kind, iri in graphs if kind == "from_default"),
            tuple(iri for kind, iri in graphs if kind == "from_named"),
            position=position_of(clauses[0]),
        )

    def _template(
        self, tree: Tree[Token] | None, form: str
    ) -> tuple[tuple[TriplePattern, ...], Bgp | None]:
        """Return CONSTRUCT's template and, for CONSTRUCT WHERE, the same text read as a pattern."""
        if tree is None:
            return (), None
        self.in_template = True
        template = self._template_triples(tree)
        self.in_template = False
        if form == "construct_query":
            return template, None
        self.start_basic_graph_pattern()
        return template, Bgp(self._template_triples(tree), position=position_of(tree))

    def _template_triples(self, tree: Tree[Token]) -> tuple[TriplePattern, ...]:
        # `triples` has refused property paths here, so there are only triple patterns.
        return tuple(
            t for block in trees(tree) for t in self.triples(block) if isinstance(t, TriplePattern)
        )

    def _described(self, body: Tree[Token], pattern: Node) -> tuple[Iri | Variable, ...]:
        if kind_of(body) != "describe_query":
            return ()
        described: list[Iri | Variable] = []
        for child in body.children:
            if isinstance(child, Token):
                if child.type == "STAR":
                    return visible(pattern.variables)
                described.append(variable(child))
            elif kind_of(child) == "iri":
                described.append(self.iri(child))
        return tuple(described)


def translate_query(
    tree: Tree[Token],
    text: str,
    base_iri: str | None,
    prefixes: Mapping[str, str] | None,
    rdf: RdfVersion,
) -> Query:
    """Translate a parse tree; errors are `QuerySyntaxError` and `UnknownWindowError` with their
    place.
    """
    return QueryTranslation(Prologue(base_iri, prefixes), rdf).query(tree, text)
