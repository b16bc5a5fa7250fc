"""Logical sources: a node of a mapping in, where rows come from and how they are read out."""

from __future__ import annotations

from collections.abc import Mapping

from static_data.mappings.mapping_graph import Node
from static_data.mappings.row_mapping import RowForm, Source, Step
from static_data.mappings.templates import json_steps, sql_column
from static_data.mappings.term_maps import TermMapReader
from static_data.mappings.vocabulary import (
    CSVW,
    CSVW_DIALECT,
    CSVW_TABLE,
    FILE_SOURCE,
    LOGICAL_SOURCE,
    NEW_RML,
    OLD_RML,
    QL,
    RR,
    shown,
)
from static_data.terms import BlankNode, Iri, Literal

_FORMS = {
    "CSV": RowForm.COLUMNS,
    "JSONPath": RowForm.JSON,
    "SQL2008Table": RowForm.COLUMNS,
}
_JSON_ENDINGS = (".json", ".jsonl", ".ndjson", ".geojson")


def read_source(reader: TermMapReader, node: Node) -> Source:
    """The source of a logical source; raises MappingError, also for queries."""
    reader.check(node, LOGICAL_SOURCE, "a logical source")
    place = reader.place(node)
    table = reader.text(node, "tableName")
    given = reader.one(node, "source")
    if table is not None and given is None:
        return Source(sql_column(table), is_table=True, place=place)
    if given is None:
        raise place.error("a logical source has an rml:source, or an rr:tableName")
    nulls = _texts(reader, node, "null")
    iterator = reader.text(node, "iterator")
    name, unreadable, delimiter, here = _named(reader, given)
    if isinstance(given, Iri | BlankNode) and not nulls:
        nulls = _texts(reader, given, "null", CSVW + "null")
    form = _form(reader, node, name)
    steps: tuple[Step, ...] = ()
    if form is RowForm.JSON and iterator is not None:
        try:
            steps = json_steps(iterator)
        except ValueError as error:
            raise place.error(str(error), reader.graph.shown(node, "iterator")) from None
    if table is not None:
        # A database's table: its rows have to be given, or the table is one of Spark's.
        return Source(sql_column(table), is_table=True, nulls=nulls, place=place)
    return Source(name, form, False, steps, nulls, delimiter, here, unreadable, place)


def _form(reader: TermMapReader, node: Node, name: str) -> RowForm:
    value = reader.one(node, "referenceFormulation")
    if value is None:
        by_name = name.lower().endswith(_JSON_ENDINGS) or reader.graph.values(node, "iterator")
        return RowForm.JSON if by_name else RowForm.COLUMNS
    iri = value.value if isinstance(value, Iri) else ""
    for namespace in (QL, OLD_RML, NEW_RML, RR):
        if iri.startswith(namespace) and iri[len(namespace) :] in _FORMS:
            return _FORMS[iri[len(namespace) :]]
    raise reader.place(node, "referenceFormulation").error(
        f"{shown(iri) if iri else value.n3()} is not supported: rows are of ql:CSV or ql:JSONPath",
        reader.graph.shown(node, "referenceFormulation"),
    )


def _named(
    reader: TermMapReader, given: Iri | BlankNode | Literal
) -> tuple[str, str | None, str | None, bool]:
    """Name, why it cannot be read (None: it can), delimiter (None: untold), whether the working directory sees it."""
    if isinstance(given, Literal):
        return given.lexical, None, None, False
    graph = reader.graph
    own = given.value if isinstance(given, Iri) else "source without a name"
    path = graph.values(given, "path")
    if path:
        reader.check(given, FILE_SOURCE, "a file source")
        if not isinstance(path[0], Literal):
            raise reader.place(given).error("a path is a text", graph.shown(given, "path"))
        for name, fine in (("encoding", ("UTF-8",)), ("compression", ("none",))):
            value = reader.one(given, name)
            local = (
                value.value.rpartition("/")[2].rpartition("#")[2] if isinstance(value, Iri) else ""
            )
            if value is not None and local not in fine:
                raise reader.place(given, name).error(
                    f"{value.n3()} is not supported", graph.shown(given, name)
                )
        root = reader.one(given, "root")
        here = isinstance(root, Iri) and root.value.endswith("CurrentWorkingDirectory")
        return path[0].lexical, None, None, here
    url = graph.values(given, CSVW + "url")
    if url:
        _check_csvw(reader, given, CSVW_TABLE)
        delimiter = None
        for dialect in graph.values(given, CSVW + "dialect"):
            if not isinstance(dialect, Literal):
                _check_csvw(reader, dialect, CSVW_DIALECT)
                for value in graph.values(dialect, CSVW + "delimiter"):
                    delimiter = value.lexical if isinstance(value, Literal) else value.n3()
                    if len(delimiter) != 1 or not delimiter.isascii():
                        said = f"a delimiter is one ASCII character, not {delimiter!r}"
                        raise reader.place(given).error(said)
        name = url[0].lexical if isinstance(url[0], Literal) else url[0].n3().strip("<>")
        return name, None, delimiter, False
    return own, "only files and tables can be read", None, False


def _check_csvw(
    reader: TermMapReader, node: Node, known: Mapping[str, frozenset[str] | None]
) -> None:
    """Refuse what CSVW says of a table, but for what is known, and for values that say how it is read anyway."""
    for name in reader.graph.properties(node):
        if not name.startswith(CSVW):
            continue
        fine = known.get(name.removeprefix(CSVW), frozenset())
        for value in reader.graph.values(node, name):
            text = value.lexical.lower() if isinstance(value, Literal) else None
            if fine is not None and text not in fine:
                raise reader.place(node, name).error(
                    f"{value.n3()} is not supported", reader.graph.shown(node, name)
                )


def _texts(reader: TermMapReader, node: Node, *names: str) -> tuple[str, ...]:
    return tuple(v.lexical for v in reader.graph.values(node, *names) if isinstance(v, Literal))
