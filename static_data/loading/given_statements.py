"""Statements that are in no file, such as those of a graph in memory: encoded block by block as they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol, cast

from pyspark.sql import SparkSession

from static_data.argument_checks import lone_surrogate
from static_data.errors import MalformedRdfError
from static_data.files.on_error import OnError, Skipped
from static_data.jvm import extension
from static_data.loading.statements import skipped_problems

_BLOCK = 16_384


@dataclass(frozen=True)
class Unwritable:
    """A statement that no line can say: its parts as they read, and why."""

    shown: str
    reason: str


class GivenData(Protocol):
    """Data that are in no RDF file: `bytes` and `skipped` are known once they are encoded, see `GivenStatements`."""

    @property
    def bytes(self) -> int: ...
    @property
    def skipped(self) -> Iterable[Skipped]: ...
    def encode(
        self, spark: SparkSession, dictionary: Any, scope: str, graph: str | None, on_error: OnError
    ) -> Any:
        """Encode them; their terms are in `dictionary` afterwards. Returns the extension's StaticLoad."""
        ...


@dataclass
class GivenStatements:
    """N-Quads-star lines, and what is wrong with others, as `make` gives them each time that it is called.

    `name` is what errors call them, which count statements as lines, from 1. `bytes` and `skipped` are known once they
    are encoded.
    """

    name: str
    make: Callable[[], Iterable[str | Unwritable]]
    bytes: int = 0
    skipped: list[Skipped] = field(default_factory=list)

    def encode(
        self, spark: SparkSession, dictionary: Any, scope: str, graph: str | None, on_error: OnError
    ) -> Any:
        """Encode them; their terms are in `dictionary` afterwards.

        `scope` is the prefix of blank nodes, `graph` the canonical text of the graph for statements that name none.
        Returns the extension's StaticLoad. Raises MalformedRdfError for the first that is malformed, with nothing
        changed.
        """
        blocks = extension(spark).loading.LineBlocks(
            spark._jsparkSession, dictionary, scope, graph, on_error.value
        )
        try:
            load = None
            while load is None:  # else terms had the same id; now they have others
                blocks.begin()
                left_out = self._hand_over(blocks, on_error)
                load = blocks.end()
        finally:
            blocks.release()
        left_out += [self._told(problem) for problem in skipped_problems(load)]
        self.skipped = sorted(left_out, key=lambda skipped: skipped.line or 0)
        return load

    def _hand_over(self, blocks: Any, on_error: OnError) -> list[Skipped]:
        left_out: list[Skipped] = []
        self.bytes = 0
        statements = enumerate(self.make(), 1)
        while block := list(islice(statements, _BLOCK)):
            lines: list[str] = []
            flaw = None
            for number, statement in block:
                flaw = self._flaw(statement, number)
                if flaw is None:
                    lines.append(cast("str", statement))
                elif on_error is OnError.SKIP:
                    left_out.append(flaw)
                    lines.append("")  # lines keep their numbers
                else:
                    break
            content = "\n".join(lines).encode()
            self.bytes += len(content) + 1
            problem = blocks.take(content)
            if problem is not None:
                raise _error(self._told(problem))
            if flaw is not None and on_error is not OnError.SKIP:
                raise _error(flaw)
        return left_out

    def _flaw(self, statement: str | Unwritable, number: int) -> Skipped | None:
        if isinstance(statement, Unwritable):
            return Skipped(self.name, number, None, statement.reason, _escaped(statement.shown))
        place = lone_surrogate(statement)
        if place is None:
            return None
        return Skipped(self.name, number, place + 1, "a lone surrogate", _escaped(statement))

    def _told(self, problem: Any) -> Skipped:
        where = (problem.line(), problem.column())
        return Skipped(self.name, *where, problem.message(), problem.text())


def _error(flaw: Skipped) -> MalformedRdfError:
    return MalformedRdfError(flaw.file, flaw.line, flaw.column, f"{flaw.reason} in: {flaw.text}")


def _escaped(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
