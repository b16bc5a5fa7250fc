"""A continuous query as it is registered: its text or algebra, its parameters, and when it is to be reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

from sparkext.language.query import Query
from sparkext.r2r.answer_forms import TRIPLE_COLUMNS
from sparkext.r2r.templates.filled_patterns import Terms
from sparkext.r2r.templates.parameters import ParameterisedQuery, with_terms
from sparkext.r2r.templates.skeletons import Skeleton, skeleton_of
from sparkext.runtime.queries.report_choice import ReportWish
from sparkext.s2r.report import ReportPolicy

IN_THE_TEXT = "constantInTheText"
"""How names of parameters begin that stand for constants of a text, not for what a caller gives."""


@dataclass(frozen=True)
class Said:
    """What a caller said when registering a query.

    `text` is None for algebra; `digest` tells algebra, and a report policy that is an object, from others.
    """

    text: str | None
    parameters: Terms = field(default_factory=dict)
    report: str | Mapping[str, str] | None = None
    digest: str | None = None

    @classmethod
    def of(cls, text: str | Query, report: ReportWish | None) -> Said:
        """The text and report policy of a query without parameters."""
        objects = [part for part in (text, report) if isinstance(part, Query | ReportPolicy)]
        known = text if isinstance(text, str) else None
        wish = None if isinstance(report, ReportPolicy) else report
        digest = sha256(repr(objects).encode()).hexdigest() if objects else None
        return cls(known, report=wish, digest=digest)

    def described(self) -> dict[str, Any]:
        """As plain data."""
        parameters = {variable.name: term.n3() for variable, term in self.parameters.items()}
        report = dict(self.report) if isinstance(self.report, Mapping) else self.report
        digest = {} if self.digest is None else {"digest": self.digest}
        return {"text": self.text, "parameters": parameters, "report": report, **digest}


class GivenQuery:
    """One query to be registered; `read` gives it, without its parameters' terms, and `query` is what it gave.

    `general` is the query with parameters that `terms` are given for. One that `is_again` registered with other
    parameters may have a name that is taken: it gets another.
    """

    def __init__(
        self,
        read: Callable[[], Query],
        report: ReportWish | None = None,
        query: Query | None = None,
        general: ParameterisedQuery | None = None,
        terms: Terms | None = None,
        is_again: bool = False,
        said: Said | None = None,
    ) -> None:
        self.said = said
        self._read = read
        self._query = query
        self.report = report
        self.general = general
        self.terms: Terms = terms or {}
        self.is_again = is_again

    def with_parameters(self, terms: Terms) -> GivenQuery:
        """The same with these terms for its parameters, and for no others; raises ParameterError."""
        general = self.general
        if general is None or set(general.names) != terms.keys():
            general = ParameterisedQuery(self.base, terms)
        mine = {v: term for v, term in terms.items() if not v.name.startswith(IN_THE_TEXT)}
        said = None if self.said is None else replace(self.said, parameters=mine)
        return GivenQuery(self._read, self.report, None, general, terms, is_again=True, said=said)

    @property
    def base(self) -> Query:
        """The query, with parameters where it has some."""
        if self.general is not None:
            return self.general.query
        if self._query is None:
            self._query = self._read()
        return self._query

    @property
    def query(self) -> Query:
        """The query, terms in place of its parameters."""
        return with_terms(self.base, self.terms) if self.terms else self.base

    @cached_property
    def skeleton(self) -> Skeleton | None:
        """Its skeleton; None where it is evaluated by itself."""
        if self.general is not None:
            return self.general.skeleton(self.terms)
        return skeleton_of(self.base)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its answers."""
        if self.base.form == "CONSTRUCT":
            return TRIPLE_COLUMNS
        return tuple(v.name for v in self.base.answered)

    def kept(self) -> GivenQuery:
        """The same without what can be made again."""
        given = (self._read, self.report, None, self.general, self.terms, self.is_again)
        return GivenQuery(*given, said=self.said)
