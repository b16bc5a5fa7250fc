"""A continuous query as it is registered: its text or algebra, its parameters, and when it is to be reported."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from sparkext.language.query import Query
from sparkext.r2r.answer_forms import TRIPLE_COLUMNS
from sparkext.r2r.templates.filled_patterns import Terms
from sparkext.r2r.templates.parameters import ParameterisedQuery, with_terms
from sparkext.r2r.templates.skeletons import Skeleton, skeleton_of
from sparkext.runtime.queries.report_choice import ReportWish


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
    ) -> None:
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
        return GivenQuery(self._read, self.report, None, general, terms, is_again=True)

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
        return GivenQuery(self._read, self.report, None, self.general, self.terms, self.is_again)
