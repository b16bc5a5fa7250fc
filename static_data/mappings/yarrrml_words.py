"""The words of YARRRML: keys and their short forms, prefixes that need no declaration, and how values are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from static_data.mappings.vocabulary import QL
from static_data.terms import RDF, XSD

PREFIXES: Final = {
    "rdf": RDF,
    "xsd": XSD,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "prov": "http://www.w3.org/ns/prov#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "time": "http://www.w3.org/2006/time#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "schema": "http://schema.org/",
    "dcterms": "http://purl.org/dc/terms/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "owl": "http://www.w3.org/2002/07/owl#",
}
KEYS: Final = {
    "source": "sources",
    "s": "subjects",
    "subject": "subjects",
    "po": "predicateobjects",
    "predicateobject": "predicateobjects",
    "g": "graphs",
    "graph": "graphs",
    "p": "predicates",
    "predicate": "predicates",
    "o": "objects",
    "object": "objects",
    "v": "value",
    "f": "function",
    "fn": "function",
    "m": "mapping",
    "mappings": "mapping",
}
FORMS: Final = {"csv": QL + "CSV", "jsonpath": QL + "JSONPath", "xpath": QL + "XPath"}
REFERENCE: Final = re.compile(r"\$\(((?:[^)\\]|\\.)*)\)")
SUFFIX: Final = re.compile(
    r"~(iri|literal|blanknode|blank|lang|[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*~lang)$"
)
IRI_START: Final = re.compile(r"(?:https?://|urn:|ftp://)\S*\Z")
TYPES: Final = {"iri": "IRI", "literal": "Literal", "blanknode": "BlankNode", "blank": "BlankNode"}
REFUSED: Final = {
    "function": "functions are not supported",
    "condition": "conditions are not supported, but for joins",
    "targets": "targets are not supported: triples go to the stream or graph that is named in the call",
    "target": "targets are not supported",
    "inversepredicates": "inverse predicates are not supported",
    "i": "inverse predicates are not supported",
}
_OTHER: Final = {"child": "parent", "parent": "child"}
_SIDES: Final = {"s": "child", "subject": "child", "o": "parent", "object": "parent"}
_PARAMETERS: Final = {
    "str1": "child",
    "str2": "parent",
    "valueParameter": "child",
    "valueParameter2": "parent",
}


def join_sides(parameters: Sequence[Sequence[str]]) -> list[str]:
    """Of which side each of two parameters of a join is: its own row, the child, or the parent that is joined.

    Each is a name, a value and perhaps the side, s or o. Names count where no side is said, the order where they tell
    none. Raises ValueError for two of one side.

    >>> join_sides([["str2", "$(id)"], ["str1", "$(boss)"]]), join_sides([["a", "$(id)", "o"], ["b", "$(boss)"]])
    (['parent', 'child'], ['parent', 'child'])
    """
    for one in parameters:
        if one[2:] and (len(one) > 3 or one[2] not in _SIDES):
            raise ValueError(f"a parameter is of s, the subject, or o, the object, not {one[2]!r}")
    said = [_SIDES[one[2]] if one[2:] else None for one in parameters]
    named = [_PARAMETERS.get(re.split(r"[:/#]", one[0])[-1]) for one in parameters]
    for first, second in (said, named):
        if first is not None and first == second:
            raise ValueError("both parameters of a join are of the same side")
        if first is not None:
            return [first, _OTHER[first]]
        if second is not None:
            return [_OTHER[second], second]
    return ["child", "parent"]


def plain_reference(reference: str) -> str:
    """A reference without the backslashes that YARRRML asks for."""
    return re.sub(r"\\(.)", r"\1", reference)


def rml_template(text: str) -> str:
    """A text with references as a template of RML.

    >>> rml_template("http://e/{$(room)}")
    'http://e/\\\\{{room}\\\\}'
    """
    parts = []
    at = 0
    for found in REFERENCE.finditer(text):
        parts.append(re.sub(r"([\\{}])", r"\\\1", text[at : found.start()]))
        parts.append("{" + re.sub(r"([\\{}])", r"\\\1", plain_reference(found[1])) + "}")
        at = found.end()
    return "".join(parts) + re.sub(r"([\\{}])", r"\\\1", text[at:])
