"""The query of a command, read and checked against the other arguments before Spark is started."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sparkext.command_line.messages import in_query_file
from sparkext.config import Settings
from sparkext.errors import (
    ConfigurationError,
    CqelsError,
    EvaluationError,
    InputFileError,
    QuerySyntaxError,
    SessionError,
    UnknownGraphError,
    UnknownStreamError,
    UnknownWindowError,
    UnsupportedFeatureError,
)
from sparkext.language import check_supported, parse_query
from sparkext.language.algebra import Graph
from sparkext.language.nodes import Node
from sparkext.rewriting.lift_filters import apply_filter_scope
from sparkext.runtime.parts.profile_rules import under_profile
from sparkext.s2r.profiles import profile_named
from static_data.rdf_version import RdfVersion
from static_data.terms import Iri

if TYPE_CHECKING:
    from sparkext.language.query import Query


def read_query(file: str, settings: Settings, *, supported_only: bool = True) -> Query:
    """The query in a file, refused when it is malformed or not supported; warnings go to stderr.

    `settings` are those of the command. Without `supported_only` it may hold what the engine does not run.

    Raises InputFileError with file, line and column.
    """
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputFileError(file, None, None, "no such file") from None
    except UnicodeDecodeError as error:
        raise InputFileError(file, None, None, f"not UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise InputFileError(file, None, None, error.strerror or str(error)) from error
    try:
        parsed = parse_query(text, rdf=RdfVersion(settings.rdf))
        query = apply_filter_scope(parsed, settings.filter_scope)
        if supported_only:
            check_supported(query)
    except (QuerySyntaxError, UnsupportedFeatureError, UnknownWindowError) as error:
        raise in_query_file(file, error, None) from error
    for warning in query.warnings:
        place = f"{file}:{warning.line}:{warning.column}"
        sys.stderr.write(f"cqels: {place}: warning: {warning.message}\n")
    return query


def check_profile(file: str, query: Query, settings: Settings) -> None:
    """Refuse a query with what the profile of the settings does not have."""
    with in_file(file, query):
        under_profile(query, profile_named(settings.semantics))


@contextmanager
def in_file(file: str, query: Query) -> Iterator[None]:
    """Within, errors about the query become InputFileErrors, with their place where they have one."""
    try:
        yield
    except UnknownGraphError as error:
        raise locate_graph(file, query, error) from error
    except (InputFileError, ConfigurationError, SessionError, EvaluationError):
        raise
    except CqelsError as error:
        raise in_query_file(file, error, None) from error


def check_windows(file: str, query: Query, streams: Collection[str]) -> None:
    """Refuse a query without windows, or with one over a stream that is not among `streams`."""
    if not query.windows:
        message = (
            "a continuous query needs a window: FROM NAMED WINDOW <w> ON <s> [RANGE PT30S]"
            " (for an ordinary query there is `cqels sparql`)"
        )
        raise in_query_file(file, CqelsError(message), query.position)
    for window in query.windows:
        if window.stream.value not in streams:
            error = UnknownStreamError(window.stream.value, sorted(streams))
            raise in_query_file(file, error, window.position)


def check_graphs(file: str, query: Query, graphs: Collection[str]) -> None:
    """Refuse a query that names a graph which is not among `graphs`."""
    for graph in _named_graphs(query.pattern):
        assert isinstance(graph.name, Iri)
        if graph.name.value not in graphs:
            error = UnknownGraphError(graph.name.value, sorted(graphs))
            raise in_query_file(file, error, graph.position)
    for name in (*query.dataset.default, *query.dataset.named):
        if name.value not in graphs:
            error = UnknownGraphError(name.value, sorted(graphs))
            raise in_query_file(file, error, query.dataset.position)


def locate_graph(file: str, query: Query, error: UnknownGraphError) -> InputFileError:
    """The error with the place where the query names the graph."""
    places = [g.position for g in _named_graphs(query.pattern) if g.name == Iri(error.iri)]
    return in_query_file(file, error, places[0] if places else query.dataset.position)


def _named_graphs(node: Node) -> Iterator[Graph]:
    if isinstance(node, Graph) and isinstance(node.name, Iri):
        yield node
    for child in node.children:
        yield from _named_graphs(child)
