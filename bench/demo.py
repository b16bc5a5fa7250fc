"""`make demo`: a small world is generated, loaded and streamed through; answers, plans and times are printed."""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.data.rdf_files import QUERIES, write_world
from bench.data.vocabulary import LOCALIZATION_GRAPH, STREAM
from bench.data.world import generate_world
from bench.join_orders.drifting import RANGE_SECONDS, DriftingWorld, streams
from sparkext.runtime.explaining.order_history import in_one_line
from sparkext.runtime.registered_query import RegisteredQuery

if TYPE_CHECKING:
    from sparkext import Engine
    from sparkext.runtime.streams.stream import Stream

NAMES = ("q1", "q2", "q3", "q4")
TITLES = {
    "q1": "where is everybody?",
    "q2": "which co-authors are in the same room?",
    "q3": "who shares a room with someone who cites them?",
    "q4": "whom, of the people met, does everybody cite most?",
}
SAMPLE_EVERY = 10
SHOWN = 3
FOLLOWED_SIZE = 0.1
FOLLOWED_TURNS, FOLLOWED_SECONDS = 5, 5


def main(argv: list[str] | None = None) -> int:
    """Run the demo; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.demo", description=__doc__)
    parser.add_argument("--scale", type=float, default=0.1, help="size of the world (default 0.1)")
    parser.add_argument("--rate", type=int, default=500, help="sightings a second (default 500)")
    parser.add_argument("--seconds", type=int, default=45, help="length of the stream (default 45)")
    parser.add_argument("--out", type=Path, default=Path("demo-data"), help="folder for the files")
    args = parser.parse_args(argv)
    folder: Path = args.out
    _title(f"1. A world of DBLP shape at scale {args.scale:g}, as RDF files in {folder}/")
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    write_world(generate_world(args.scale, seed=7), folder, args.rate, args.seconds)
    for file in sorted(f for f in folder.iterdir() if f.is_file()):
        print(f"   {file.name:20} {file.stat().st_size / 1e6:8.2f} MB")
    return _stream_through(folder)


def _stream_through(folder: Path) -> int:
    # Imported late: the files are there before Spark starts.
    from pyspark.sql import SparkSession

    import sparkext
    from sparkext.recorded_streams import read_recorded_stream
    from sparkext.runtime.answering.answers import Answers

    _title("2. Spark with the extension; static data in parallel into encoded tables")
    builder = SparkSession.builder.master("local[2]").appName("demo")
    builder = builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2")
    spark = sparkext.configure(builder.config("spark.driver.memory", "3g")).getOrCreate()
    engine = sparkext.Engine(spark)
    print("  ", engine.load_static(sorted(folder.glob("dblp-*.nt.gz"))))
    print("  ", engine.load_static(folder / "localization.ttl", graph=LOCALIZATION_GRAPH))

    _title("3. Four continuous queries, their static parts joined once and indexed")
    stream = engine.register_stream(STREAM)
    evaluations: dict[str, list[Answers]] = {name: [] for name in NAMES}
    queries = {}
    for name in NAMES:
        started = time.perf_counter()
        queries[name] = engine.register_query((QUERIES / f"{name}.rspql").read_text(), name=name)
        queries[name].subscribe(evaluations[name].append)
        print(f"   {name}  {TITLES[name]:52} prepared in {time.perf_counter() - started:4.1f} s")

    _title("4. The sightings, one evaluation a second: number of answers and milliseconds")
    recorded = read_recorded_stream(folder / "sightings.nq")
    seconds = itertools.groupby(recorded.elements, key=lambda element: element.time_ms)
    for place, (instant, elements) in enumerate(seconds, 1):
        stream.push_elements(list(elements))
        stream.advance_to(instant)
        now = {name: answers[-1] for name, answers in evaluations.items()}
        cells = (f"{n} {len(a):6,} in {a.seconds * 1e3:6.1f} ms" for n, a in now.items())
        print(f"   {str(now['q1']).split()[0]}   " + "   ".join(cells))
        if place % SAMPLE_EVERY == 0:
            for name, answers in now.items():
                for solution in itertools.islice(answers, SHOWN):
                    print(f"      {name}: " + "  ".join(f"?{v} {t}" for v, t in solution.items()))

    _title("5. The plan of q2, with estimated and counted rows")
    print("\n".join("   " + line for line in str(queries["q2"].explain()).splitlines()))

    _title("6. Milliseconds an evaluation, the second half of the stream")
    for name, all_answers in evaluations.items():
        half = [a.seconds * 1e3 for a in all_answers[len(all_answers) // 2 :]]
        middle, slowest = np.median(half), max(half)
        print(
            f"   {name}  median {middle:7.2f}   slowest {slowest:7.2f}   {queries[name].progress}"
        )
    print(f"   {stream}, {stream.malformed_count} set aside, {stream.late_count} late")
    _title("7. A stream that changes, over three windows: the join order follows it")
    _follow(engine, folder)
    engine.close()
    spark.stop()
    return 0


def _follow(engine: Engine, folder: Path) -> None:
    """In each phase another one of four ways on is the narrow one: rooms, people known, topics, things liked."""
    world = DriftingWorld.of_size(FOLLOWED_SIZE)
    drifting = next(s for s in streams() if s.windows > 2)
    world.write(folder / "people.nt")
    print("  ", engine.load_static(folder / "people.nt"))
    stream = engine.register_stream(drifting.iri)
    query = engine.register_query(drifting.query)
    assert isinstance(query, RegisteredQuery)
    present = world.present()
    for second in range(RANGE_SECONDS):  # until the range is full
        _push(stream, world.sighted(second, True, present), second)
    for turn in range(FOLLOWED_TURNS * FOLLOWED_SECONDS):
        second = RANGE_SECONDS + turn
        phase = drifting.phases[turn // FOLLOWED_SECONDS % len(drifting.phases)]
        known = len(query.history())
        _push(
            stream,
            world.sighted(second, True, present) + world.entering(phase, second, drifting.entering),
            second,
        )
        took = query.progress.last_seconds
        print(f"   second {turn + 1:2}  {took * 1e3:7.1f} ms")
        for switch in query.history()[known:]:
            print(f"      another order: {switch.cause}")
            print(f"      {in_one_line(switch.new)}")
            print(
                f"      the one before, {in_one_line(switch.old)}: {_once(query, switch.old, second):.1f} ms"
            )


def _once(query: RegisteredQuery, order: Sequence[str], second: int) -> float:
    """Milliseconds of an evaluation in an order over what the windows hold."""
    query.pin_order(order)
    try:
        started = time.perf_counter()
        query.run("", second * 1000)
        return (time.perf_counter() - started) * 1e3
    finally:
        query.pin_order(None)


def _push(stream: Stream, triples: list[str], second: int) -> None:
    from sparkext.recorded_streams import StreamElement

    stream.push_elements([StreamElement(second * 1000, None, (triple,)) for triple in triples])
    stream.advance_to(second * 1000)


def _title(text: str) -> None:
    print(f"\n{text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
