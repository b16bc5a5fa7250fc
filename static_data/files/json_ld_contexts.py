"""Contexts that a JSON-LD document refers to by IRI, put in their place from files; nothing is fetched."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_COLON = re.compile(r"\s*:\s*")
_DECODER = json.JSONDecoder()


class ContextError(Exception):
    """A context that cannot be put in place; line and column are where it is referred to."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        self.message = message
        self.line = line
        self.column = column
        super().__init__(f"line {line}, column {column}: {message}")


def with_contexts(document: str, base_iri: str, contexts: Mapping[str, str]) -> str:
    """The document with each context that is an IRI replaced by what `contexts`, IRI to JSON text, has.

    Lines stay where they are. What is no JSON stays as it is. Raises ContextError.

    >>> with_contexts('{"@context": "c", "a": 1}', "http://e/", {"http://e/c": '{"@context": {"a": "http://e/a"}}'})
    '{"@context": {"a":"http://e/a"}, "a": 1}'
    """
    inliner = _Inliner(contexts)
    parts: list[str] = []
    done = at = 0
    while (token := _TOKEN.search(document, at)) is not None:
        at = token.end()
        colon = _COLON.match(document, at)
        if colon is None or token.group() != '"@context"':
            continue
        try:
            value, end = _DECODER.raw_decode(document, colon.end())
        except (ValueError, RecursionError):
            continue
        try:
            inlined = inliner.inlined(value, base_iri, ())
        except (ContextError, RecursionError) as problem:
            before = document[: colon.end()]
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            too_deep = "the context is nested too deeply"
            message = problem.message if isinstance(problem, ContextError) else too_deep
            raise ContextError(message, line, column) from None
        at = end
        if inlined != value:
            text = json.dumps(
                inlined, separators=(",", ":")
            )  # in ASCII: there may be lone surrogates
            breaks = "\n" * document.count("\n", colon.end(), end)
            parts += document[done : colon.end()], text, breaks
            done = end
    return "".join((*parts, document[done:]))


class _Inliner:
    def __init__(self, contexts: Mapping[str, str]) -> None:
        self._texts = contexts
        self._read: dict[str, Any] = {}

    def inlined(self, context: Any, base: str, within: tuple[str, ...]) -> Any:
        """The context without references; `within` are the IRIs of those it comes from."""
        if isinstance(context, str):
            return self._referred(context, base, within)
        if isinstance(context, list):
            parts: list[Any] = []
            for part in (self.inlined(part, base, within) for part in context):
                parts += part if isinstance(part, list) else [part]
            return parts
        if not isinstance(context, dict):
            return context
        made = {key: self._scoped(value, base, within) for key, value in context.items()}
        if within:
            # A context from elsewhere says nothing about the base of the document.
            made.pop("@base", None)
        if isinstance(made.get("@import"), str):
            imported = self._referred(made.pop("@import"), base, within)
            if not isinstance(imported, dict):
                raise ContextError("an imported context is one object")
            made = imported | made
        return made

    def _scoped(self, definition: Any, base: str, within: tuple[str, ...]) -> Any:
        if not isinstance(definition, dict) or "@context" not in definition:
            return definition
        return definition | {"@context": self.inlined(definition["@context"], base, within)}

    def _referred(self, reference: str, base: str, within: tuple[str, ...]) -> Any:
        try:
            iri = urljoin(base, reference)
        except ValueError as error:
            raise ContextError(f"the context {reference!r} is no IRI: {error}") from None
        if iri in within:
            raise ContextError(f"the context <{iri}> refers to itself")
        if iri not in self._texts:
            raise ContextError(
                f"the context <{iri}> is not fetched; say which file has it: contexts={{{iri!r}: FILE}},"
                f" or --context {iri}=FILE"
            )
        if iri not in self._read:
            try:
                content = json.loads(self._texts[iri])
            except (ValueError, RecursionError) as error:
                raise ContextError(f"the file of context <{iri}> is no JSON: {error}") from None
            if not isinstance(content, dict) or "@context" not in content:
                raise ContextError(f"the file of context <{iri}> has no @context")
            self._read[iri] = content["@context"]
        return self.inlined(self._read[iri], iri, (*within, iri))
