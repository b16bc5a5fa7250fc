"""One line of N-Quads(-star) as canonical term texts.

Nearly all lines of a recorded stream need one regular expression (no escapes, no language tags, no
quoted triples); the others go through a strict reader of the grammar of RDF 1.1 N-Quads with
RDF-star's `<< s p o >>` and RDF 1.2's `<<( s p o )>>`, or the latter alone, as objects only.
"""

from __future__ import annotations

import re

from static_data.blank_node_labels import LABEL
from static_data.files.rdf_version import RdfVersion

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
RDF_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"

# Subject, predicate, object and graph (None in the default graph) as canonical N-Triples texts.
Statement = tuple[str, str, str, str | None]

# Lone surrogates stand for bytes that are not UTF-8.
_IRI = r"<[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\\ud800-\udfff]*>"
_LABEL = rf"_:{LABEL}"
_UNWRITTEN = rf"<(?:{re.escape(XSD_STRING)}|{re.escape(RDF_LANG_STRING)})>"
_PLAIN = rf"\"[^\"\\\n\r\ud800-\udfff]*\"(?:\^\^(?!{_UNWRITTEN}){_IRI})?"
_NODE = rf"(?:{_IRI}|{_LABEL})"
_FAST_LINE = re.compile(
    rf"({_NODE})[ \t]*({_IRI})[ \t]*({_IRI}|{_PLAIN}|{_LABEL})[ \t]*(?:({_NODE})[ \t]*)?\.[ \t]*"
)
_SPACE = re.compile(r"[ \t]*")
_END = re.compile(r"\.[ \t]*(?:#.*)?")
_NOTHING = re.compile(r"[ \t]*(?:#.*)?")
_IRI_TOKEN = re.compile(r"<((?:[^\x00-\x20<>\"{}|^`\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*)>")
_WHOLE_IRI = re.compile(_IRI)
_LABEL_TOKEN = re.compile(_LABEL)
_STRING_TOKEN = re.compile(
    r"\"((?:[^\"\\\n\r]|\\[tbnrf\"'\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*)\""
)
_LANGUAGE_TOKEN = re.compile(r"@([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*(?:--(?:ltr|rtl))?)")
# IRIs that are taken as they stand.
_ANY_IRI_TOKEN = re.compile(r"<([^\x00-\x1f<>]+)>")
_NUMERIC = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))")
_PAIR = re.compile(r"\\u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_ESCAPED_BACKSLASH_OR_PAIR = re.compile(rf"\\\\|{_PAIR.pattern}")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_CHARACTERS = {
    "t": "\t",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "f": "\f",
    '"': '"',
    "'": "'",
    "\\": "\\",
}
_CANONICAL = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_SURROGATE = re.compile("[\ud800-\udfff]")


class MalformedLineError(ValueError):
    """A line that is no N-Quads statement; `column` is 1-based."""

    def __init__(self, message: str, column: int) -> None:
        self.message = message
        self.column = column
        super().__init__(f"column {column}: {message}")


def parse_line(
    line: str, version: RdfVersion = RdfVersion.STAR, accepts: bool = False
) -> Statement | None:
    r"""The statement of a line without its line end; None for a blank line or a comment.

    RDF 1.2 has quoted triples as `<<( s p o )>>` and as objects only. With `accepts`, IRIs are taken as they
    stand, and two escapes that are a surrogate pair are one character. Raises MalformedLineError.

    >>> parse_line('<http://e/s> <http://e/p> "a\\u0062"@EN <http://e/g> . # why')
    ('<http://e/s>', '<http://e/p>', '"ab"@en', '<http://e/g>')
    >>> parse_line("# nothing here")
    """
    match = _FAST_LINE.fullmatch(line)
    if match is not None:
        return match.groups()  # type: ignore[return-value]
    if _NOTHING.fullmatch(line):
        return None
    reader = _Reader(line, version, accepts)
    try:
        return reader.statement()
    except RecursionError:
        raise MalformedLineError(_TOO_DEEP, reader.at + 1) from None


def canonical_term(text: str, version: RdfVersion = RdfVersion.STAR, accepts: bool = False) -> str:
    r"""The canonical text of one term in N-Triples syntax, as in the place of an object.

    Raises MalformedLineError, also for text beside the term.

    >>> canonical_term('"a\\u0062"@EN')
    '"ab"@en'
    """
    reader = _Reader(text, version, accepts)
    try:
        return reader.term()
    except RecursionError:
        raise MalformedLineError(_TOO_DEEP, reader.at + 1) from None


_TOO_DEEP = "quoted triples are nested too deeply"


class _Reader:
    """A cursor over one line."""

    def __init__(self, line: str, version: RdfVersion, accepts: bool = False) -> None:
        self.line = line
        self.at = 0
        self.strict = version is RdfVersion.RDF_1_2
        self.accepts = accepts

    def term(self) -> str:
        self._begin()
        term = self._quoted() or self._literal() or self._node("an RDF term")
        if self.at != len(self.line):
            raise self._expected("the end of the term")
        return term

    def statement(self) -> Statement:
        self._begin()
        subject, predicate, object_ = self._triple()
        graph = None
        if not self.line.startswith(".", self.at):
            graph = self._node("a graph name or '.'")
        if _END.fullmatch(self.line, self.at) is None:
            raise self._expected("'.' and the end of the line")
        return subject, predicate, object_, graph

    def _begin(self) -> None:
        broken = _SURROGATE.search(self.line)
        if broken is not None:
            raise MalformedLineError("not UTF-8", broken.start() + 1)
        self._skip_space()

    def _triple(self) -> tuple[str, str, str]:
        subject = self._subject()
        predicate = self._iri()
        object_ = self._quoted() or self._literal() or self._node("an RDF term")
        return subject, predicate, object_

    def _subject(self) -> str:
        if self.strict:
            return self._node("an IRI or a blank node")
        return self._quoted() or self._node("an IRI, a blank node or a quoted triple")

    def _quoted(self) -> str | None:
        if not self.line.startswith("<<", self.at):
            return None
        if self.strict and not self.line.startswith("<<(", self.at):
            self.at += 2
            raise self._expected("'(' after '<<'")
        closing = ")>>" if self.line.startswith("<<(", self.at) else ">>"
        self.at += len(closing)
        self._skip_space()
        text = f"<< {' '.join(self._triple())} >>"
        if not self.line.startswith(closing, self.at):
            raise self._expected(repr(closing))
        self.at += len(closing)
        self._skip_space()
        return text

    def _node(self, wanted: str) -> str:
        if self.line.startswith("<", self.at):
            return self._iri()
        match = _LABEL_TOKEN.match(self.line, self.at)
        if match is None:
            raise self._expected(wanted)
        return self._past(match)

    def _iri(self) -> str:
        if self.accepts:
            return self._any_iri()
        match = _IRI_TOKEN.match(self.line, self.at)
        if match is None:
            raise self._expected("an IRI")
        iri = f"<{self._unescaped(match.group(1))}>"
        if _WHOLE_IRI.fullmatch(iri) is None:
            raise MalformedLineError(f"{iri} is not an absolute IRI", self.at + 1)
        self._past(match)
        return iri

    def _any_iri(self) -> str:
        match = _ANY_IRI_TOKEN.match(self.line, self.at)
        if match is None:
            raise self._expected("an IRI")
        iri = _NUMERIC.sub(self._character, _PAIR.sub(_joined, match.group(1)))
        if re.search(r"[\x00-\x1f<>]", iri):
            raise MalformedLineError("an escape for a character that ends an IRI", self.at + 1)
        self._past(match)
        return f"<{iri}>"

    def _character(self, match: re.Match[str]) -> str:
        code = int(match.group(1) or match.group(2), 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise MalformedLineError(f"{match.group()} is not a character", self.at + 1)
        return chr(code)

    def _literal(self) -> str | None:
        match = _STRING_TOKEN.match(self.line, self.at)
        if match is None:
            return None
        lexical = self._unescaped(match.group(1))
        start = self.at
        self._past(match)
        text = f'"{lexical.translate(_CANONICAL)}"'
        language = _LANGUAGE_TOKEN.match(self.line, self.at)
        if language is not None:
            self._past(language)
            return f"{text}@{language.group(1).lower()}"
        if not self.line.startswith("^^", self.at):
            return text
        self.at += 2
        self._skip_space()
        datatype = self._iri()
        if datatype == f"<{RDF_LANG_STRING}>":
            raise MalformedLineError("a literal of rdf:langString without a language", start + 1)
        return text if datatype == f"<{XSD_STRING}>" else f"{text}^^{datatype}"

    def _unescaped(self, text: str) -> str:
        if "\\" not in text:
            return text
        if self.accepts:
            text = _ESCAPED_BACKSLASH_OR_PAIR.sub(_joined, text)

        def character(match: re.Match[str]) -> str:
            plain = match.group(3)
            return self._character(match) if plain is None else _CHARACTERS[plain]

        return _ESCAPE.sub(character, text)

    def _past(self, match: re.Match[str]) -> str:
        self.at = match.end()
        self._skip_space()
        return match.group()

    def _skip_space(self) -> None:
        match = _SPACE.match(self.line, self.at)
        assert match is not None
        self.at = match.end()

    def _expected(self, wanted: str) -> MalformedLineError:
        return MalformedLineError(f"expected {wanted}", self.at + 1)


def _joined(match: re.Match[str]) -> str:
    """The character of two escapes; an escaped backslash stays."""
    if match.group(1) is None:
        return match.group()
    high, low = int(match.group(1), 16), int(match.group(2), 16)
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
