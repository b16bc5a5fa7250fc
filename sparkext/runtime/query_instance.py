"""A registered query that is evaluated with others that differ from it in constants only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkext.language.query import Query
from sparkext.runtime.answer_feed import AnswerFeed, Subscriber
from sparkext.runtime.answering.answers import Answers
from sparkext.runtime.explaining.explanation import Explanation
from sparkext.runtime.explaining.history_plot import Evaluated
from sparkext.runtime.explaining.order_history import Switch
from sparkext.runtime.progress import QueryProgress
from sparkext.runtime.queries.given_query import GivenQuery

if TYPE_CHECKING:
    from sparkext.runtime.parts.engine_parts import EngineParts
    from sparkext.runtime.queries.window_registry import QueryWindow
    from sparkext.runtime.template_query import TemplateQuery
    from sparkext.s2r.report import ReportPolicy


class QueryInstance(AnswerFeed):
    """A continuous query of an engine that is an instance of a template; made by `Engine.register_query`.

    It answers as it would by itself. What tells of plans, counts and times tells of the template, which all its
    instances share.
    """

    def __init__(
        self,
        parts: EngineParts,
        name: str,
        given: GivenQuery,
        number: int,
        template: TemplateQuery,
        stop: Callable[[str], None],
    ) -> None:
        super().__init__(parts)
        self.name = name
        self._given = given.kept()
        self.number = number
        self.template = template
        self.active = True
        self.makes_stream = False
        self._stop = stop
        self.answered = 0
        self._began: tuple[int, int, int] | None = None
        self._progress = QueryProgress()
        self.variables = given.columns

    @property
    def query(self) -> Query:
        """The parsed query: read from its text again, as thousands of them would take much memory."""
        return self._given.query

    @property
    def has_begun(self) -> bool:
        """Whether its first instant has come."""
        return self._began is not None

    def begin(self) -> None:
        """Note that the template's evaluations from now on are its own, too."""
        whole = self.template.progress
        self._began = (whole.evaluations, whole.repeated, whole.failures)

    # -- answers --------------------------------------------------------------------------------------

    @property
    def last_answers(self) -> Answers | None:
        """The answers of the last evaluation; None before the first."""
        if self.active and not self._subscribers and self.evaluated:
            self._last = self.template.answers_of(self)
        return self._last

    def subscribe(self, subscriber: Subscriber, apart: bool = False) -> Callable[[], None]:
        """Have `subscriber` called with the Answers of each evaluation; see `RegisteredQuery`."""
        # Without the engine's lock: an evaluation may hold it for a long time.
        with self._subscribing:
            self._last = self.last_answers  # from now on what is told is kept
            end = super().subscribe(subscriber, apart)
            self.template.listen(self, True)

        def ended() -> None:
            with self._subscribing:
                end()
                if not self._subscribers:
                    self.template.listen(self, False)

        return ended

    @property
    def evaluated(self) -> int:
        """How many evaluations of the template were its own, too."""
        began = self._began
        return 0 if began is None else self.template.progress.evaluations - began[0]

    @property
    def progress(self) -> QueryProgress:  # type: ignore[override]
        """Counts since registration; times are those of the template."""
        whole, mine = self.template.progress, self._progress
        if self._began is None:
            return mine
        _, repeated, failures = self._began
        mine.evaluations = self.evaluated
        mine.repeated = whole.repeated - repeated
        mine.failures = whole.failures - failures
        mine.answers = self.answered
        for name in ("seconds", "last_seconds", "window_seconds", "run_seconds", "decode_seconds"):
            setattr(mine, name, getattr(whole, name))
        mine.lag = whole.lag
        return mine

    # -- what all instances share -----------------------------------------------------------------------

    @property
    def windows(self) -> Mapping[str, QueryWindow]:
        """The query's windows by name."""
        return self.template.windows

    @property
    def policy(self) -> ReportPolicy:
        """When the query is evaluated."""
        return self.template.policy

    @property
    def ordered(self) -> bool:
        """Whether the answers come in an order that the query asks for."""
        return self.template.ordered

    @property
    def evaluation(self) -> str:
        """Whether instants are evaluated from what arrived ("delta evaluation"), or as a whole, and why."""
        return self.template.evaluation

    @property
    def execution(self) -> str:
        """Where evaluations run, and why."""
        return self.template.execution

    @property
    def orders(self) -> tuple[str, ...]:
        """The order in which each cluster was joined last, in one line."""
        return self.template.orders

    def history(self) -> tuple[Switch, ...]:
        """Every change of a join order; see `RegisteredQuery`."""
        return self.template.history()

    @property
    def timeline(self) -> tuple[Evaluated, ...]:
        """The evaluations of the template so far; see `RegisteredQuery`."""
        return self.template.timeline

    def statistics(self) -> list[dict[str, Any]]:
        """What the windows hold now in the join columns; see `RegisteredQuery`."""
        return self.template.statistics()

    def plot_history(self, path: str | Path) -> None:
        """Draw the evaluations so far; see `RegisteredQuery`."""
        self.template.plot_history(path)

    def pin_order(self, order: Sequence[str] | None, cluster: int = 0) -> None:
        """Have all instances be joined in an order; see `RegisteredQuery`."""
        self.template.pin_order(order, cluster)

    def explain(self) -> Explanation:
        """The plan that answers this query and the others of its template; `instances` says how many they are."""
        made = self.template.explain()
        shared = {"query": self.name, "template": self.template.name}
        return Explanation({**made.data, **shared, "instances": len(self.template)})

    # -- for another process ----------------------------------------------------------------------------

    @property
    def policy_streams(self) -> Collection[str]:
        """The streams that it reads."""
        return self.template.policy_streams

    def evaluated_as(self) -> dict[str, Any]:
        """Which evaluated query's answers are its own, and since when: plain data."""
        known = {"evaluated_as": self.template.name, "answered": self.answered}
        return known if self._began is None else {**known, "began": list(self._began)}

    def restore(self, known: Mapping[str, Any]) -> None:
        """Go on where the query of the same text was, of which `evaluated_as` gave this."""
        self.answered = known["answered"]
        if "began" in known:
            self._began = tuple(known["began"])
        elif known["evaluated_as"] == known["name"]:  # it was evaluated by itself
            self._began = (0, 0, 0)

    # -- the end ------------------------------------------------------------------------------------------

    def ended(self) -> None:
        """Note that the template answers this query no more."""
        self._last, self.active = self.last_answers, False
        self.end_subscribers()

    def stop(self) -> None:
        """End the query; the others of its template go on. A second time it does nothing."""
        with self._parts.lock.urgently():
            if self.active:
                self._stop(self.name)

    def __repr__(self) -> str:
        return f"QueryInstance({self.name!r} of {self.template.name}, {self.progress})"
