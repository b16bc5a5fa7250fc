"""The engine room of the JVM extension as Python calls it: one thin method a call, plain data in and out."""

from __future__ import annotations

import json
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from sparkext.bridge.handover import Handover
from static_data.jvm import extension, java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from static_data.storage.row_edits import CellEdits

# Answers pass through files that are mapped, not read: where memory is a file system, use it.
_SHARED_MEMORY = Path("/dev/shm")


class EngineRoom:
    """Streams, windows, relations and prepared queries of one engine, in the JVM.

    Calls that move windows or evaluate must not overlap; the engine holds one lock around them. `threads` of the driver
    may work on one evaluation; `copies_chains` says whether indexes of windows copy what is looked up again and again.
    Relations of more than `broadcast_rows` stay in parts where executors join them in processes of their own.
    """

    def __init__(
        self,
        spark: SparkSession,
        dictionary: Any,
        threads: int = 1,
        copies_chains: bool = True,
        broadcast_rows: int = 2**63 - 1,
    ) -> None:
        self.spark = spark
        base = str(_SHARED_MEMORY) if _SHARED_MEMORY.is_dir() else None
        self.scratch = tempfile.mkdtemp(prefix="cqels-answers-", dir=base)
        self._cleanup = weakref.finalize(self, rmtree, self.scratch, ignore_errors=True)
        self.dictionary = dictionary
        package = extension(spark)
        self._open_replay = package.streams.ReplayedStreams.open
        self.jvm = package.queries.EngineRoom.apply(
            spark._jsparkSession, dictionary, self.scratch, threads
        )
        getattr(self.jvm, "copiesChains_$eq")(copies_chains)
        getattr(self.jvm, "broadcastRows_$eq")(broadcast_rows)
        self.number = int(self.jvm.number())
        self.executors_apart = bool(self.jvm.executorsApart())
        self._constants: dict[str, int] = {}
        self.handover = Handover(Path(self.scratch) / "handover", self.jvm.handover())

    def close(self) -> None:
        """Give back what the JVM holds for this engine."""
        self.jvm.close()
        self.handover.close()
        self._cleanup()

    def constant(self, text: str) -> int:
        """The id of a term that a query names, as N-Triples writes it; it stays known as long as the engine."""
        known = self._constants.get(text)
        if known is None:
            known = self._constants[text] = int(self.dictionary.encodeRetained(text))
        return known

    def forget_constants(self) -> None:
        """Ask the dictionary anew: static data have changed."""
        self._constants.clear()

    def stream(self, iri: str) -> Any:
        """The log of a stream, made when first asked for."""
        return self.jvm.stream(iri)

    def replayed(self, logs: Sequence[Any], *options: Any) -> Any:
        """Recorded files that are read into logs of streams; `options` as ReplayedStreams.scala has them."""
        return self._open_replay(self.dictionary, list(logs), *options)

    def read_batch(self, batch: DataFrame, rdf12: bool, accepts: bool) -> Any:
        """The columns of terms of a batch, read by tasks; see BatchRows.scala."""
        return self.jvm.readBatch(batch._jdf, rdf12, accepts)

    def read_documents(
        self, batch: DataFrame, times: Sequence[str], no_trig: bool, rdf12: bool, accepts: bool
    ) -> Any:
        """The documents of a batch, read by tasks; with `no_trig` None where one is TriG; see DocumentBatch.scala."""
        return self.jvm.readDocuments(batch._jdf, "\n".join(times), no_trig, rdf12, accepts)

    def live_rows(self, named: Sequence[str]) -> Any:
        """Rows that tasks of this process hand over one by one, with these columns and a time; see LiveRows.scala."""
        return self.jvm.liveRows(",".join(named))

    def window_pattern(self, window: Any, name: str, spec: str) -> Any:
        """The content of a triple pattern in a window; `spec` as `pattern_places.pattern_text` writes it."""
        return self.jvm.windowPattern(window, name, spec)

    def timed_pattern(self, window: Any, name: str, spec: str) -> Any:
        """The content of a triple pattern in a window, each row with the time of its last occurrence."""
        return self.jvm.timedPattern(window, name, spec)

    def arrived_pattern(self, window: Any, name: str, spec: str) -> Any:
        """What a triple pattern finds in the elements that entered a window last, each row with its time."""
        return self.jvm.arrivedPattern(window, name, spec)

    def arrived_elements(self, stream: str, window: Any) -> Any:
        """The elements that entered a window last, each by itself; see ArrivedElements.scala."""
        return self.jvm.arrivedElements(self.jvm.stream(stream), window)

    def event_match(
        self, name: str, variables: int, visible: Sequence[int], events: int, bag: bool
    ) -> Any:
        """The state of a MATCH whose pattern is to be told; see EventMatch.scala."""
        return self.jvm.eventMatch(name, variables, self.ints(visible), events, bag)

    def arrived_matches(self, state: Any) -> Any:
        """What a MATCH found last, each with the instant until which it holds."""
        return self.jvm.arrivedMatches(state)

    def ints(self, values: Sequence[int]) -> Any:
        """Numbers as an array of the JVM's."""
        gateway: Any = self.spark.sparkContext._gateway
        made = gateway.new_array(gateway.jvm.int, len(values))
        for place, value in enumerate(values):
            made[place] = value
        return made

    def instances(self, constants: int) -> Any:
        """The instances of a template of so many constants, none yet; see Instances.scala."""
        return self.jvm.instances(constants)

    def match_plans(self, state: Any) -> Any:
        """No plans of a MATCH's events yet; see MatchPlans.scala."""
        return self.jvm.matchPlans(state)

    def drop_window_pattern(self, window: Any, spec: str) -> None:
        """Stop keeping a pattern's content."""
        self.jvm.dropWindowPattern(window, spec)

    def window_star(self, window: Any, name: str, spec: str) -> Any:
        """What triple patterns with one subject find in a window together; `spec` as StarPattern.scala reads it."""
        return self.jvm.windowStar(window, name, spec)

    def drop_window_star(self, window: Any, spec: str) -> None:
        """Stop keeping what patterns with one subject find."""
        self.jvm.dropWindowStar(window, spec)

    def match_quads(self, quads: DataFrame, spec: str, names: Sequence[str]) -> DataFrame:
        """The quads (s, p, o, g) that match a pattern with quoted triples, by its columns."""
        return DataFrame(self.jvm.matchQuads(quads._jdf, spec, list(names)), self.spark)

    def merged_content(self, name: str, static: Any, bag: bool) -> Any:
        """The content of a pattern over static data, to which windows can be merged."""
        return self.jvm.mergedContent(name, static, bag)

    def memory_bytes(self) -> int:
        """The bytes that the JVM may use."""
        assert self.spark._jvm is not None
        return int(java_class(self.spark._jvm, "java.lang.Runtime").getRuntime().maxMemory())

    def static_content(self, name: str, frame: DataFrame) -> Any:
        """A static relation from the rows of a DataFrame of ids."""
        return self.jvm.staticContent(name, frame._jdf)

    def counted_content(self, name: str, frame: DataFrame) -> Any:
        """The same with each row once, and how often it counts."""
        return self.jvm.countedContent(name, frame._jdf)

    def pattern_content(self, name: str, tables: Sequence[Any], spec: str, merged: bool) -> Any:
        """What a pattern finds in tables in the JVM's memory; `merged`: they are read as those of one graph."""
        return self.jvm.patternContent(name, list(tables), spec, merged)

    def mapped_content(self, name: str, table: Any, constants: tuple[int, int, int]) -> Any:
        """The rows of a table in index files: (subject, object), or the other one where one of them is a constant."""
        return self.jvm.mappedContent(name, table, constants[0], constants[2])

    def edited(self, content: Any, edits: CellEdits) -> Any:
        """A static relation without multiplicities after an edit of some rows."""
        return content.edited(edits.added, edits.removed) if edits else content

    def stage_content(self, name: str, arity: int) -> Any:
        """An empty relation for the rows of a stage."""
        return self.jvm.stageContent(name, arity)

    def frame(self, content: Any, names: Sequence[str], rows: float) -> DataFrame:
        """A relation as a DataFrame; `rows` is what Spark is told to expect."""
        estimate = int(min(max(rows, 1.0), 2.0**62))
        return DataFrame(self.jvm.frame(content, list(names), estimate), self.spark)

    def cluster(self, columns: Sequence[str], names: Sequence[str]) -> Any:
        """A join cluster over variables, by their columns and names, to be put together; see ClusterBuilder.scala."""
        return self.jvm.cluster(list(columns), list(names))

    def built_frame(self, frame: DataFrame) -> DataFrame:
        """A relation's DataFrame that joins build, whatever index of it there is; another DataFrame as it is."""
        return DataFrame(self.jvm.built(frame._jdf), self.spark)

    def stock_frame(self, content: Any, names: Sequence[str]) -> DataFrame:
        """A copy of a relation's rows of now as an ordinary DataFrame."""
        return DataFrame(self.jvm.stockFrame(content, list(names)), self.spark)

    def inline_frame(self, names: Sequence[str], rows: Sequence[Sequence[int | None]]) -> DataFrame:
        """A few rows given by value."""
        schema = ", ".join(f"`{name}` BIGINT" for name in names)
        return self.spark.createDataFrame([tuple(row) for row in rows], schema)

    def constant_frame(self, names: Sequence[str], rows: Sequence[Sequence[int]]) -> DataFrame:
        """A few rows of ids given by value, as a relation of ours."""
        content = self.jvm.smallContent(
            "constants", len(names), _numbers([c for r in rows for c in r])
        )
        return self.frame(content, names, len(rows))

    def path_search(
        self,
        left: DataFrame,
        steps: DataFrame,
        starts: Sequence[str],
        froms: Sequence[str],
        to: str,
        reached: str,
        zero: bool,
        many: bool,
    ) -> DataFrame:
        """Each row of `left` with each end of a property path from it; see PathSearch.scala."""
        found = self.jvm.pathSearch(
            left._jdf, steps._jdf, list(starts), list(froms), to, reached, zero, many
        )
        return DataFrame(found, self.spark)

    def path_pairs(self, steps: DataFrame, most: int) -> int:
        """How many pairs any number of steps connects, `most` + 1 when there are more."""
        return int(self.jvm.pathPairs(steps._jdf, most))

    def slice(
        self,
        frame: DataFrame,
        order: Sequence[str],
        ties: Sequence[str],
        offset: int,
        limit: int | None,
    ) -> DataFrame:
        """Rows cut in SPARQL's order of columns, "-" before those that descend."""
        most = -1 if limit is None else limit
        found = self.jvm.slice(frame._jdf, list(order), list(ties), offset, most)
        return DataFrame(found, self.spark)

    def marked(self, semi: DataFrame, column: str) -> DataFrame:
        """All left rows of a semi join, with a column that says which have a partner."""
        return DataFrame(self.jvm.marked(semi._jdf, column), self.spark)

    def draws_lots(self, frame: DataFrame) -> bool:
        """Whether a plan has other rows each time that it runs over the same data."""
        return bool(self.jvm.drawsLots(frame._jdf))

    def prepare(self, frame: DataFrame, label: str, interpreted: bool = False) -> Any:
        """A plan that is made once and executed again and again.

        With `interpreted` no code is generated for it: sooner ready, slower over many rows.
        """
        return self.jvm.prepare(frame._jdf, label, interpreted)

    def stock(self, frame: DataFrame, label: str) -> Any:
        """A plan that stock Spark makes anew at each run."""
        return self.jvm.stock(frame._jdf, label)

    def delta_plans(self) -> Any:
        """No plans of delta evaluation yet; see DeltaEvaluation.scala."""
        return self.jvm.deltaPlans()

    def plans(self, main: Any) -> Any:
        """The plans of a query: the main one, to which stages are added in the order in which they run."""
        return self.jvm.plans(main)

    def query(
        self, name: str, plans: Any, columns: Sequence[str], visible: int, operator: str
    ) -> Any:
        """A continuous query over its plans; `visible` of its columns are answered, the others only sort."""
        return self.jvm.query(name, plans, list(columns), visible, operator)

    def evaluate_together(self, asked: Sequence[str]) -> list[str]:
        """Evaluate queries at one instant side by side: what each tells, or "" where it failed.

        `asked` are "number;bounds" of each, as `ContinuousQuery` has them.
        """
        return str(self.jvm.evaluateTogether("\n".join(asked))).split("\n")

    def template(self, pattern: str) -> Any:
        """CONSTRUCT's template; see AnswerForms.scala for the notation."""
        return self.jvm.template(pattern)

    def description(self, triples: Any, resources: Sequence[int]) -> Any:
        """DESCRIBE of `resources` and of all solutions, from a relation of all triples."""
        return self.jvm.description(triples, _numbers(resources))

    def configure_calls(
        self, size: int, across_evaluations: bool, extra_nanos: int, all_calls: bool
    ) -> None:
        """How uncertainty functions are called: how many results are kept, for how long, what a call costs more.

        With `all_calls` also those are looked up that it would be cheaper to make.
        """
        calls = self.jvm.uncertainCalls()
        calls.configure(size, across_evaluations, extra_nanos, all_calls)

    def add_function(
        self, function: object, gives_number: bool, name: str, nanoseconds: float
    ) -> int:
        """The number by which a function in Python is called; see UserFunctions.scala."""
        calls = self.jvm.uncertainCalls()
        return int(calls.addFunction(function, gives_number, name, nanoseconds))

    def call_costs(self, site: int | None = None) -> list[list[Any]]:
        """What calls were measured to cost, of the whole engine or at one call site; see CallCosts.scala."""
        calls = self.jvm.uncertainCalls()
        told = calls.costsJson() if site is None else calls.site(site).costs()
        found: list[list[Any]] = json.loads(told)
        return found

    def row_nanoseconds(self) -> float:
        """What a row was measured to cost for which no call has to be made: reading values, asking the cache."""
        return float(self.jvm.uncertainCalls().rowNanos())

    def call_site(self) -> int:
        """The number of a new place where uncertainty functions are called."""
        return int(self.jvm.uncertainCalls().newSite())


def operators_of(plans: Any) -> list[dict[str, Any]]:
    """The operators of the last run, plan by plan."""
    found: list[dict[str, Any]] = json.loads(plans.operators())
    return found


def _numbers(values: Sequence[int]) -> str:
    return ",".join(map(str, values))
