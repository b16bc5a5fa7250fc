"""SPARQL 1.1 result files: JSON, CSV, TSV, XML; N-Triples and N-Quads for CONSTRUCT and DESCRIBE.

Rows are canonical N-Triples texts. Every function gives back the whole file as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from enum import Enum
from xml.sax.saxutils import escape, quoteattr

from sparkext.answers.json_lines import select_members, sorted_statements
from sparkext.answers.term_parts import Row, in_order, term
from sparkext.errors import CqelsError
from static_data.terms import XSD_STRING, BlankNode, Iri, Literal, QuotedTriple, Term

_XML_NAMESPACE = "http://www.w3.org/2005/sparql-results#"
_ITS_NAMESPACE = "http://www.w3.org/2005/11/its"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TO_QUOTE = re.compile('[",\r\n]')


class AnswerFormatError(CqelsError):
    """Answers that the asked-for format cannot hold."""


class ResultFormat(Enum):
    """The result formats of `cqels sparql --results`."""

    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    XML = "xml"
    N_TRIPLES = "nt"
    N_QUADS = "nq"

    @property
    def holds_triples(self) -> bool:
        """Whether this is a format for graphs, not for solutions and truth values."""
        return self in (ResultFormat.N_TRIPLES, ResultFormat.N_QUADS)


def write_select(
    format: ResultFormat | str, variables: Sequence[str], rows: Iterable[Row], ordered: bool = False
) -> str:
    """The answers of a SELECT query; rows sorted by their N-Triples text unless `ordered`.

    Raises AnswerFormatError for N-Triples and N-Quads, and for characters that XML cannot hold.
    """
    kind = ResultFormat(format)
    if kind is ResultFormat.JSON:
        return f"{{{select_members(variables, rows, ordered)}}}\n"
    answers = in_order(rows, ordered)
    if kind is ResultFormat.CSV:
        lines = [list(variables), *([_csv(text) for text in row] for row in answers)]
        # A single empty value is written out, or it would be a blank line.
        return "".join((",".join(line) if line != [""] else '""') + "\r\n" for line in lines)
    if kind is ResultFormat.TSV:
        lines = [
            [f"?{name}" for name in variables],
            *([_tsv(text) for text in row] for row in answers),
        ]
        return "".join("\t".join(line) + "\n" for line in lines)
    if kind is ResultFormat.XML:
        return _xml(variables, "".join(_xml_results(variables, answers)))
    raise AnswerFormatError(f"{kind.value} holds the triples of a CONSTRUCT query, not rows")


def write_ask(format: ResultFormat | str, answer: bool) -> str:
    """The answer of an ASK query; CSV and TSV, where no form is defined, hold the bare word."""
    kind = ResultFormat(format)
    word = "true" if answer else "false"
    if kind is ResultFormat.JSON:
        return json.dumps({"head": {}, "boolean": answer}) + "\n"
    if kind is ResultFormat.XML:
        return _xml((), f"  <boolean>{word}</boolean>\n")
    if kind.holds_triples:
        raise AnswerFormatError(
            f"{kind.value} holds the triples of a CONSTRUCT query, not a truth value"
        )
    return f"{word}\r\n" if kind is ResultFormat.CSV else f"{word}\n"


def write_construct(triples: Iterable[tuple[str, str, str]]) -> str:
    """The graph of a CONSTRUCT query as sorted N-Triples, which are N-Quads of the default graph too."""
    return "".join(f"{statement}\n" for statement in sorted_statements(triples))


def _csv(text: str | None) -> str:
    if text is None:
        return ""
    value = term(text)
    plain = value.value if isinstance(value, Iri) else text
    if isinstance(value, Literal):
        plain = value.lexical
    return f'"{plain.replace(chr(34), chr(34) * 2)}"' if _TO_QUOTE.search(plain) else plain


def _tsv(text: str | None) -> str:
    # The canonical text leaves a tab as it is; between quotes it has to be an escape here.
    return "" if text is None else text.replace("\t", "\\t")


def _xml(variables: Sequence[str], body: str) -> str:
    names = "".join(f"    <variable name={quoteattr(name)}/>\n" for name in variables)
    head = f"  <head>\n{names}  </head>\n" if names else "  <head/>\n"
    # Base directions of RDF 1.2 are attributes of another vocabulary, named only where it is used.
    its = f' xmlns:its="{_ITS_NAMESPACE}"' if " its:dir=" in body else ""
    return f'<?xml version="1.0"?>\n<sparql xmlns="{_XML_NAMESPACE}"{its}>\n{head}{body}</sparql>\n'


def _xml_results(variables: Sequence[str], rows: Iterable[Row]) -> Iterable[str]:
    names = [quoteattr(name) for name in variables]
    yield "  <results>\n"
    for row in rows:
        yield "    <result>\n"
        for name, text in zip(names, row, strict=True):
            if text is not None:
                yield f"      <binding name={name}>{_xml_term(term(text))}</binding>\n"
        yield "    </result>\n"
    yield "  </results>\n"


def _xml_term(value: Term) -> str:
    match value:
        case Iri():
            return f"<uri>{_xml_text(value.value)}</uri>"
        case BlankNode():
            return f"<bnode>{_xml_text(value.label)}</bnode>"
        case Literal():
            attribute = ""
            if value.language is not None:
                attribute = f" xml:lang={quoteattr(value.language)}"
                if value.direction is not None:
                    attribute += f' its:dir="{value.direction}" its:version="2.0"'
            elif value.datatype != XSD_STRING:
                attribute = f" datatype={quoteattr(value.datatype.value)}"
            return f"<literal{attribute}>{_xml_text(value.lexical)}</literal>"
        case QuotedTriple():
            parts = (
                ("subject", value.subject),
                ("predicate", value.predicate),
                ("object", value.object),
            )
            inner = "".join(f"<{name}>{_xml_term(part)}</{name}>" for name, part in parts)
            return f"<triple>{inner}</triple>"


def _xml_text(text: str) -> str:
    bad = _NOT_IN_XML.search(text)
    if bad is not None:
        raise AnswerFormatError(f"XML cannot hold the character U+{ord(bad.group()):04X}")
    # A bare carriage return would be read back as a line feed.
    return escape(text, {"\r": "&#13;"})
