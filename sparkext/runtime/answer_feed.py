"""What a user holds of a continuous query: its answers as they come, for whoever subscribes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from sparkext.answers.html_tables import folded, text_block
from sparkext.argument_checks import check
from sparkext.errors import CqelsError
from sparkext.runtime.answering.answers import Answers
from sparkext.runtime.answering.apart import ApartSubscriber
from sparkext.runtime.answering.sinks import ParquetSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sparkext.language.query import Query
    from sparkext.runtime.parts.engine_parts import EngineParts
    from sparkext.runtime.parts.parameter_terms import Parameters
    from sparkext.runtime.progress import QueryProgress

logger = logging.getLogger(__name__)

Subscriber = Callable[[Answers], object]


class AnswerFeed:
    """The subscribers of a query, and its answers of the last evaluation."""

    name: str
    progress: QueryProgress
    register_again: Callable[[Parameters, str | None], AnswerFeed]
    """Registers the query with other parameters; whoever registers it sets this."""
    on_failure: Callable[[int, Exception], object] | None = None
    """Told of each evaluation that fails, by its instant, from within the engine."""

    def __init__(self, parts: EngineParts) -> None:
        self._spark = parts.spark
        self._parts = parts
        self._subscribers: tuple[Subscriber, ...] = ()
        self._subscribing = RLock()  # whoever comes or goes, not whoever is told
        self._last: Answers | None = None

    @property
    def last_answers(self) -> Answers | None:
        """The answers of the last evaluation; None before the first."""
        return self._last

    def tell(self, answers: Answers) -> None:
        """Keep the answers of an evaluation, and call the subscribers with them."""
        if self._last is None or answers.time >= self._last.time:  # else late elements correct it
            self._last = answers
        for subscriber in self._subscribers:
            try:
                subscriber(answers)
            except Exception:  # One subscriber's failure is not the others'.
                self._note_failure(answers)

    def tell_failure(self, instant: int, error: Exception) -> None:
        """Have whoever asked for it know that an evaluation failed."""
        if self.on_failure is not None:
            self.on_failure(instant, error)

    def _note_failure(self, answers: Answers) -> None:
        self.progress.subscriber_failures += 1
        logger.exception("a subscriber of %s failed at %d ms", self.name, answers.time)

    def subscribe(self, subscriber: Subscriber, apart: bool = False) -> Callable[[], None]:
        """Have `subscriber` called with the Answers of each evaluation; returns a function that ends this.

        It is called before the evaluation returns. One that is slow is better `apart`, on a thread of its own, in
        order: nothing waits for it, unless 10,000 evaluations do. It may use the engine, but for `commit`, and wait for
        no other thread that does.
        """
        check.callable("subscriber", subscriber)
        check.flag("apart", apart)
        called = self._apart(subscriber) if apart else subscriber
        # Another tuple each time: it may be gone through meanwhile, at every evaluation of thousands of queries.
        with self._subscribing:
            self._subscribers = (*self._subscribers, called)
        there = [called]

        def leave() -> None:
            with self._subscribing:
                if there:
                    self._leave(there.pop())

        return leave

    def _apart(self, subscriber: Subscriber) -> ApartSubscriber:
        def guarded(answers: Answers) -> None:
            try:
                subscriber(answers)
            except BaseException:  # its exit, too: the thread goes on, as others wait for it
                self._note_failure(answers)

        flush = getattr(subscriber, "flush", None)
        return ApartSubscriber(f"subscriber of {self.name}", guarded, self._is_needed_by, flush)

    def _is_needed_by(self, thread: int | None) -> bool:
        """Whether a subscriber's thread waits for the evaluation under way, to push say, or to close the engine."""
        return self._parts.closed or self._parts.lock.is_asked_for_by(thread)

    def barriers(self) -> list[Callable[[], object]]:
        """What returns when subscribers that are called apart have been told all so far, and sinks have let it out."""
        ready: list[Callable[[], object]] = []
        for subscriber in self._subscribers:
            if isinstance(subscriber, ApartSubscriber):
                ready.append(subscriber.barrier())
            flush = getattr(subscriber, "flush", None)
            if callable(flush):
                ready.append(flush)
        return ready

    def end_subscribers(self) -> None:
        """Let the threads of subscribers end: there will be no more answers."""
        for subscriber in self._subscribers:
            if isinstance(subscriber, ApartSubscriber):
                subscriber.end()

    def _leave(self, subscriber: Subscriber) -> None:
        place = self._subscribers.index(subscriber)
        self._subscribers = (*self._subscribers[:place], *self._subscribers[place + 1 :])
        if isinstance(subscriber, ApartSubscriber):
            subscriber.end()

    def write_stream(self, folder: str | Path) -> Callable[[], None]:
        """Have each evaluation's answers written into a folder of Parquet files; returns a function that ends this.

        `spark.readStream` can follow the folder: see `sparkext.sinks.ParquetSink`.
        """
        return self.subscribe(ParquetSink(folder))

    def with_parameters(self, parameters: Parameters, name: str | None = None) -> AnswerFeed:
        """Register the query once more, with other terms for its parameters; those that are not named keep theirs.

        See `Engine.register_query` for `parameters` and errors.
        """
        return self.register_again(parameters, name)

    def _repr_html_(self) -> str:
        """What a notebook shows: text, what has been done, and the last answers."""
        query: Query = self.query  # type: ignore[attr-defined]
        last = self.last_answers
        return (
            text_block(f"{self.name}\n{self.progress}")
            + folded("the query", text_block(query.text))
            + ("" if last is None else last._repr_html_())
        )

    def to_dataframe(self, typed: bool = False) -> DataFrame:
        """The answers of the last evaluation as a Spark DataFrame, see `Answers.to_dataframe`.

        Raises CqelsError before the first evaluation.
        """
        check.flag("typed", typed)
        answers = self.last_answers
        if answers is None:
            raise CqelsError(f"{self.name} has not been evaluated yet")
        return answers.to_dataframe(self._spark, typed)
