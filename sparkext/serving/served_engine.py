"""What a server has: the engine, the queries with their rings, the way in for pushes, and threads that wait for it."""

from __future__ import annotations

import asyncio
import functools
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sparkext.errors import CheckpointError, CqelsError, EvaluationError, LimitError, first_line
from sparkext.serving.answer_ring import AnswerRing
from sparkext.serving.intake import Intake
from sparkext.serving.metrics import Observed
from sparkext.serving.problems import ProblemError
from sparkext.serving.query_limits import check_query_text

if TYPE_CHECKING:
    from sparkext.engine import Engine
    from sparkext.language.query import QueryForm
    from sparkext.runtime.explaining.explanation import Explanation
    from sparkext.runtime.query_registration import Registered
    from sparkext.runtime.streams.stream import Stream
    from sparkext.serving.options import ServeOptions

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Threads that may wait for the engine at a time, and that read and write bodies beside it.
_WAITING_THREADS = 4
_WORKING_THREADS = 8


@dataclass
class ServedQuery:
    """A registered query, its text as it was given, and its answers."""

    registered: Registered
    text: str
    ring: AnswerRing
    explaining: asyncio.Future[Explanation] | None = None  # while that is under way

    @functools.cached_property
    def form(self) -> QueryForm:
        """SELECT, ASK, CONSTRUCT or DESCRIBE."""
        return self.registered.query.form


class ServedEngine:
    """An engine that is served: what the routes do with it."""

    def __init__(
        self, engine: Engine, options: ServeOptions, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.engine = engine
        self._restarts = engine.parts.keeper is not None
        self.options = options
        self.observed = Observed()
        self.queries: dict[str, ServedQuery] = {}
        self.started = time.time()
        self.ready = False
        self.stopping = False
        self.intake = Intake(options.overload, self._tell_overload)
        self._loop = loop
        self._waiting = ThreadPoolExecutor(_WAITING_THREADS, "cqels-waiting")
        self._working = ThreadPoolExecutor(_WORKING_THREADS, "cqels-working")

    # -- threads ------------------------------------------------------------------------------------------

    async def waiting(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call what takes the engine's lock, on a thread that may wait for it."""
        return await self._loop.run_in_executor(self._waiting, partial(function, *arguments))

    async def working(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call what takes a while and waits for nobody."""
        return await self._loop.run_in_executor(self._working, partial(function, *arguments))

    async def in_turn(self, work: Callable[[], T], elements: int = 0, size: int = 0) -> T:
        """Have what changes streams done after all that came before it."""
        # Whoever waits may be cancelled, the work is not: it has its turn, and its outcome is set.
        turn = asyncio.wrap_future(self.intake.submit(work, elements, size))
        done: T = await asyncio.shield(turn)
        return done

    async def keep(self) -> None:
        """Return when all that came in is in the checkpoint, if there is one; ProblemError 503 where it cannot be."""
        if not self._restarts:
            return
        try:
            await self.waiting(self.engine.commit)
        except CheckpointError as error:
            said = f"taken in, but not in the checkpoint yet: {error}"
            raise ProblemError(503, said) from None

    # -- queries ------------------------------------------------------------------------------------------

    def register(
        self,
        text: str,
        name: str | None = None,
        report: Any = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> ServedQuery:
        """Register a query and keep its answers; raises what the engine does, and ProblemError for too much."""
        limits = self.options.limits
        check_query_text(text, limits)
        full = ProblemError(429, f"{limits.queries} queries are registered; no more are let in")
        with self.engine.lock:  # no answers come before they are kept
            is_full = len(self.queries) >= limits.queries
            keeper = self.engine.parts.keeper
            if is_full and not (keeper is not None and keeper.taken_up):
                raise full
            try:
                registered = self.engine.register_query(text, name, report, parameters)
            except RecursionError:
                raise ProblemError(422, "the query is nested too deeply") from None
            known = self.queries.get(registered.name)
            if known is not None and known.registered is registered:  # of the checkpoint
                return known
            if is_full:
                registered.stop()
                raise full
            served = self._keep(registered, text)
        logger.info("query %s is registered", registered.name)
        return served

    def adopt(self) -> None:
        """Keep the answers of queries that the engine has already, such as those of a checkpoint."""
        for name, registered in self.engine.queries.items():
            if name not in self.queries:
                self._keep(registered, registered.query.text)

    def _keep(self, registered: Registered, text: str) -> ServedQuery:
        before = registered.progress.evaluations
        mark = "" if self._restarts and before else secrets.token_hex(4)
        ring = AnswerRing(self.options.kept, self._loop, before, self.observed.cut_off.inc, mark)
        served = ServedQuery(registered, text, ring)

        def failed(instant: int, error: Exception) -> None:
            self._failed(served, instant, error)

        def answered(answers: Any) -> None:
            self.observed.answered(registered.name, answers)
            ring.offer(answers)

        registered.on_failure = failed
        registered.subscribe(answered)
        self.queries[registered.name] = served
        return served

    def query(self, name: str) -> ServedQuery:
        """A registered query; ProblemError 404 for none."""
        found = self.queries.get(name)
        if found is None:
            raise ProblemError(404, f"no query named {name} is registered")
        return found

    async def explained(self, query: ServedQuery) -> Explanation:
        """The plan of a query with its reasons; who asks while it is being found gets the same."""
        # Each takes a thread that waits for the engine's lock: those of one client could keep them all.
        finding = query.explaining
        if finding is None:
            finding = query.explaining = asyncio.ensure_future(
                self.waiting(query.registered.explain)
            )

            def found(_: object) -> None:
                query.explaining = None

            finding.add_done_callback(found)
        return await asyncio.shield(finding)

    def drop(self, name: str) -> None:
        """End a query and tell those who follow it."""
        served = self.query(name)
        served.registered.stop()
        self._ended(served, "the query was dropped")
        logger.info("query %s is dropped", name)

    def _failed(self, served: ServedQuery, instant: int, error: Exception) -> None:
        """Called by the engine, from within an evaluation."""
        said = str(error) if isinstance(error, CqelsError) else first_line(error)
        served.ring.notice("failure", time=instant, detail=said or type(error).__name__)
        if isinstance(error, LimitError):
            self.observed.limited.inc()
            logger.warning("query %s is stopped: %s", served.registered.name, said)
            self._ended(served, f"stopped: {said}")

    def _ended(self, served: ServedQuery, reason: str) -> None:
        served.ring.end(reason)
        if self.queries.get(served.registered.name) is served:
            del self.queries[served.registered.name]
        self.observed.forget(served.registered.name)

    @property
    def subscribers(self) -> int:
        """How many clients follow queries now."""
        return sum(query.ring.subscribers for query in list(self.queries.values()))

    # -- streams ------------------------------------------------------------------------------------------

    def stream(self, iri: str) -> Stream:
        """A registered stream; ProblemError 404 for none."""
        found = self.engine.streams.get(iri)
        if found is None:
            raise ProblemError(404, f"unknown stream <{iri}>")
        return found

    def evaluated(self, work: Callable[[], object]) -> str | None:
        """Do what may make evaluations due; what failed of these: not the fault of whoever asked."""
        try:
            work()
        except EvaluationError as error:
            return str(error)
        return None

    def _tell_overload(self, begins: bool) -> None:
        overload = self.options.overload
        for query in list(self.queries.values()):
            query.ring.notice(
                "overload",
                state="begins" if begins else "ends",
                policy=overload.policy,
                fraction=overload.fraction if overload.policy == "sample" else None,
                sampled_out=self.intake.sampled_out,
                refused=self.intake.refused,
            )

    # -- files --------------------------------------------------------------------------------------------

    def file(self, name: str) -> Path:
        """A file in the folder that requests may read of; ProblemError 403 for any other."""
        folder = self.options.data_dir
        if folder is None:
            raise ProblemError(
                403, "this server reads no files for requests: it was started without --data-dir"
            )
        try:
            root = folder.resolve()
            path = (root / name).resolve()
        except (OSError, ValueError, RuntimeError):
            raise ProblemError(403, f"{name!r:.100} is not in the folder of data") from None
        if not path.is_relative_to(root) or "://" in name:
            raise ProblemError(403, f"{name!r:.100} is not in the folder of data")
        if not path.is_file():
            raise ProblemError(404, f"{name!r:.100}: no such file in the folder of data")
        return path

    # -- the end ------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let what was taken in be evaluated and those who follow know, then close the engine."""
        self.stopping, self.ready = True, False
        if not self.intake.close(self.options.shutdown_seconds):
            logger.warning(
                "closed with an evaluation under way: it ends first, what waits is refused"
            )
        for query in list(self.queries.values()):
            query.ring.end("the server is shutting down")
        self.engine.close()
        for threads in (self._waiting, self._working):
            threads.shutdown(wait=False, cancel_futures=True)
