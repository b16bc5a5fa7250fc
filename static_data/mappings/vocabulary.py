"""The vocabularies of R2RML and RML, the old namespace of RML and the new one, as one set of short names."""

from __future__ import annotations

from typing import Final

RR: Final = "http://www.w3.org/ns/r2rml#"
OLD_RML: Final = "http://semweb.mmlab.be/ns/rml#"
NEW_RML: Final = "http://w3id.org/rml/"
QL: Final = "http://semweb.mmlab.be/ns/ql#"
FNML: Final = "http://semweb.mmlab.be/ns/fnml#"
FNO: Final = "https://w3id.org/function/ontology#"
CSVW: Final = "http://www.w3.org/ns/csvw#"

PREFIXES: Final = {
    RR: "rr:",
    OLD_RML: "rml:",
    NEW_RML: "rml:",
    QL: "ql:",
    FNML: "fnml:",
    FNO: "fno:",
    CSVW: "csvw:",
}
_SAME: Final = {"logicalTable": "logicalSource", "column": "reference"}

TRIPLES_MAP: Final = frozenset(
    ("logicalSource", "subjectMap", "subject", "predicateObjectMap", "baseIRI")
)
LOGICAL_SOURCE: Final = frozenset(
    ("source", "iterator", "referenceFormulation", "tableName", "null")
)
TERM_MAP: Final = frozenset(
    (
        "constant",
        "template",
        "reference",
        "termType",
        "datatype",
        "datatypeMap",
        "language",
        "languageMap",
        "inverseExpression",  # says how a database finds rows faster; it changes no triple
    )
)
SUBJECT_MAP: Final = TERM_MAP | {"class", "graph", "graphMap", "quotedTriplesMap", "joinCondition"}
OBJECT_MAP: Final = TERM_MAP | {"parentTriplesMap", "quotedTriplesMap", "joinCondition"}
PREDICATE_OBJECT_MAP: Final = frozenset(
    ("predicate", "predicateMap", "object", "objectMap", "graph", "graphMap")
)
JOIN: Final = frozenset(("child", "parent"))
FILE_SOURCE: Final = frozenset(("path", "root", "null", "encoding", "compression"))
# Values of CSVW that may be said, as what is read is read so; None: any.
CSVW_TABLE: Final[dict[str, frozenset[str] | None]] = {"url": None, "dialect": None, "null": None}
CSVW_DIALECT: Final[dict[str, frozenset[str] | None]] = {
    "delimiter": None,
    "doubleQuote": frozenset(("true", "1")),
    "encoding": frozenset(("utf-8", "utf8")),
    "header": frozenset(("true", "1")),
    "headerRowCount": frozenset("1"),
    "lineTerminators": frozenset(("\n", "\r\n", "\r")),
    "quoteChar": frozenset('"'),
    "skipColumns": frozenset("0"),
    "skipInitialSpace": frozenset(("false", "0")),
    "skipRows": frozenset("0"),
    "trim": frozenset(("false", "0")),
}

REASONS: Final = {
    "sqlQuery": "SQL queries are not supported: give the rows that the query would find",
    "query": "queries are not supported: give the rows that the query would find",
    "sqlVersion": "SQL queries are not supported",
    "functionExecution": "functions are not supported",
    "functionValue": "functions are not supported",
    "function": "functions are not supported",
    "functionMap": "functions are not supported",
    "input": "functions are not supported",
    "condition": "conditions are not supported",
    "gather": "collections and containers are not supported",
    "gatherAs": "collections and containers are not supported",
    "logicalTarget": "targets are not supported: triples go to the stream or graph that is named in the call",
    "strategy": "collections and containers are not supported",
    "childMap": "a join condition is made of references: rml:child and rml:parent",
    "parentMap": "a join condition is made of references: rml:child and rml:parent",
    "viewOn": "logical views are not supported",
    "field": "logical views are not supported",
}
"""Why a property is refused, where more can be said than that it is not known."""


def short_name(iri: str) -> str | None:
    """The name of a property or class of R2RML or RML without its namespace; None for those of others.

    >>> short_name("http://www.w3.org/ns/r2rml#column"), short_name("http://w3id.org/rml/reference")
    ('reference', 'reference')
    """
    for namespace in (RR, OLD_RML, NEW_RML):
        if iri.startswith(namespace):
            name = iri[len(namespace) :]
            return _SAME.get(name, name)
    return None


def shown(iri: str) -> str:
    """An IRI as messages show it.

    >>> shown("http://www.w3.org/ns/r2rml#column"), shown("http://example.org/p")
    ('rr:column', '<http://example.org/p>')
    """
    for namespace, prefix in PREFIXES.items():
        if iri.startswith(namespace):
            return prefix + iri[len(namespace) :]
    return f"<{iri}>"


def is_function(iri: str) -> bool:
    """Whether a property belongs to the function ontologies."""
    return iri.startswith((FNML, FNO))
