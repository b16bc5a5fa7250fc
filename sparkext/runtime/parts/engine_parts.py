"""What the streams and queries of one engine share: the session, static data, the JVM's side, costs, and the lock."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from adaptive import CostModel, PrejoinPolicy
from sparkext.bridge.engine_room import EngineRoom
from sparkext.config import Settings
from sparkext.errors import ClosedEngineError
from sparkext.r2r.functions.uncertain_placement import UncertainPlacement
from sparkext.r2r.relations.static_relations import StaticRelations
from sparkext.runtime.parts.call_costs import CallCosts
from sparkext.runtime.parts.engine_lock import EngineLock
from sparkext.runtime.parts.held_interrupts import whole
from sparkext.runtime.parts.user_functions import UserFunctions
from sparkext.s2r.profiles import profile_named
from sparkext.s2r.time_horizon import TimeHorizon
from static_data.files.rdf_version import RdfVersion
from static_data.store import StaticStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Waiting(Protocol):
    """Something with elements that wait to be taken in together."""

    def hand_over(self) -> None: ...


class EngineKeeper(Protocol):
    """What keeps an engine in a checkpoint; see `sparkext.runtime.checkpoint.keeper`."""

    taken_up: set[str]

    @property
    def resumes(self) -> bool: ...

    @property
    def goes_on(self) -> bool: ...

    def new_stream(self, stream: Any) -> None: ...

    def take_query(self, name: str, said: Any) -> dict[str, Any] | None: ...

    def query_ended(self) -> None: ...

    def at_rest(self) -> None: ...

    def note(self) -> None: ...

    def commit(self) -> Any: ...

    def check_written(self) -> None: ...

    def give_back(self, name: str, known: Any) -> None: ...

    def went_on(self) -> None: ...

    def resume(self) -> list[str]: ...

    def change(self, change: Any) -> int: ...

    def changed(self, number: int, turn: int) -> None: ...


class EngineParts:
    """Made once for an engine, as its session's settings say; given to what is made of it."""

    def __init__(self, spark: SparkSession, work_dir: str | Path | None) -> None:
        self.spark = spark
        settings = self.settings = Settings.from_session(spark)
        self.lock = EngineLock()
        self.waiting: set[Waiting] = set()
        self.closed = False
        self.keeper: EngineKeeper | None = None
        self.takings = 0  # intakes under way, one within the other
        self.taken_in = 0  # elements, by all streams
        self.is_kept = False  # whether there is a checkpoint, also when the engine is closed
        self.rdf = RdfVersion(settings.rdf)
        self.store = StaticStore(
            spark,
            work_dir=work_dir,
            driver_bytes=settings.load_driver_max_bytes,
            version=self.rdf,
            mapped_rows=settings.mapped_indexes_min_rows,
            most_expansion=settings.load_max_expansion,
        )
        self.store.dictionary.setHashBits(settings.dictionary_hash_bits)
        self.parallelism = max(1, spark.sparkContext.defaultParallelism)
        here = 1 if spark.sparkContext.master == "local" else os.cpu_count() or 1
        self.threads = settings.driver_execution_threads or min(self.parallelism, here)
        copies = settings.enabled and settings.window_copies_enabled
        sent = settings.multiway_join_broadcast_rows
        self.room = EngineRoom(spark, self.store.dictionary, self.threads, copies, sent)
        if self.rdf is RdfVersion.RDF_1_2:
            self.room.jvm.readRdf12()
        self.room.configure_calls(
            settings.function_cache_size if settings.function_cache_enabled else 0,
            settings.function_cache_across_evaluations,
            settings.function_burden,
            settings.function_cache_calls == "all",
        )
        self.functions = UserFunctions(spark, self.room)
        self.call_costs = CallCosts(
            self.room, self.functions.said_us, settings.function_burden / 1e3
        )
        self.uncertain = UncertainPlacement(
            "late" if settings.heuristics_h4_enabled else settings.predicate_placement,
            settings.lazy_variables_enabled,
            settings.function_cache_enabled,
            self.call_costs.call_us,
            self.call_costs.row_us,
        )
        made_here = settings.driver_execution_max_rows if settings.driver_execution_enabled else -1
        self.relations = StaticRelations(self.room, settings.sharing_enabled, made_here)
        self.horizon = TimeHorizon(settings.max_ahead)
        self.profile = profile_named(settings.semantics)
        self.prejoin_policy = PrejoinPolicy(
            # What is to be kept must be counted first: a guess may be off by any factor.
            enabled=settings.prejoin_enabled and settings.enabled and settings.statistics_enabled,
            max_rows=float(settings.prejoin_max_rows),
            max_growth=settings.prejoin_max_growth,
        )
        self.costs = CostModel()

    def constant(self, text: str) -> int:
        """The id of a term that a query names; it stays known as long as the engine."""
        return self.room.constant(text)

    def check_open(self) -> None:
        """Raises ClosedEngineError when the engine has been closed."""
        if self.closed:
            raise ClosedEngineError

    def release(self) -> None:
        """Give back what the JVM holds for the engine, and the files of its tables."""
        try:
            with self.lock:
                self.room.close()
        finally:
            self.store.close()

    @contextmanager
    def in_use(self, reads: bool = True) -> Iterator[None]:
        """Hold the engine's lock for a call that an engine which is closed refuses.

        Unless the call `reads` nothing of streams, what waits to be taken in is taken in first.
        """
        self.check_open()
        with self.lock:
            self.check_open()  # it may have been closed meanwhile
            if reads:
                self.hand_over()
            yield

    def ready(self) -> None:
        """Before elements and changes come in: take up what a checkpoint has; raises CheckpointError.

        Called under the engine's lock.
        """
        self.take_up()
        if self.keeper is not None:
            self.keeper.check_written()

    def take_up(self) -> None:
        """Take up what a checkpoint has, so that a commit can be made; raises CheckpointError.

        Called under the engine's lock.
        """
        if self.keeper is not None:
            self.keeper.resume()

    @contextmanager
    def taking_in(self) -> Iterator[None]:
        """Make no commit while elements come in: how far their source was read is noted after them."""
        self.takings += 1
        try:
            yield
        finally:
            self.takings -= 1

    def wait_kept(self) -> None:
        """Where there is a checkpoint, return when all that has come in is in it; called without the engine's lock.

        Raises CheckpointError where it cannot be, and ClosedEngineError where the engine is closed meanwhile.
        """
        while self.is_kept:
            with self.lock:
                self.check_open()
                self.take_up()  # not `ready`: where too much is unwritten, a commit is what helps
                assert self.keeper is not None
                commit = self.keeper.commit()
            if commit is not None:
                commit.wait()
                return
            time.sleep(0.001)

    def hand_over(self) -> None:
        """Have all streams take in what was pushed and waits."""
        if self.waiting:
            with whole:
                while self.waiting:
                    next(iter(self.waiting)).hand_over()
