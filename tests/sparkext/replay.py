"""Recorded streams pushed through an engine, answers collected in the oracle's form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sparkext.language import parse_query
from tests.oracle.evaluation import Bag, answers_by_instant, bag, stream_element
from tests.oracle.recorded import Element, Streams

if TYPE_CHECKING:
    from sparkext import Engine
    from sparkext.oracle import StaticGraphs
    from sparkext.runtime.answering.answers import Answers
    from sparkext.runtime.registered_query import RegisteredQuery

Answered = dict[int, Bag]


def in_batches(streams: Streams, size: int) -> Iterator[tuple[str, list[Element]]]:
    """Elements in order of time, cut into batches of at most `size` that each go to one stream."""
    merged = sorted(
        ((e, iri) for iri, elements in streams.items() for e in elements),
        key=lambda pair: pair[0].time,
    )
    batch: list[Element] = []
    target = ""
    for element, iri in merged:
        if batch and (iri != target or len(batch) == size):
            yield target, batch
            batch = []
        target = iri
        batch.append(element)
    if batch:
        yield target, batch


def replay(
    engine: Engine,
    texts: Sequence[str],
    streams: Streams,
    batch: int = 1,
    ended: Callable[[Sequence[RegisteredQuery]], object] = lambda queries: None,
) -> list[tuple[tuple[str, ...], Answered]]:
    """Register the queries, push everything, end the streams, stop: variables and answers of each query.

    `ended` is shown the queries before they stop.
    """
    collected: list[list[Answers]] = [[] for _ in texts]
    for iri in streams:
        engine.register_stream(iri)
    queries = [engine.register_query(text, name=f"replayed-{n}") for n, text in enumerate(texts)]
    for query, answers in zip(queries, collected, strict=True):
        query.subscribe(answers.append)
    try:
        for iri, elements in in_batches(streams, batch):
            engine.stream(iri).push_elements([stream_element(e) for e in elements])
        engine.finish()
        assert [query.progress.failures for query in queries] == [0] * len(queries)
        ended(queries)
        return [
            (query.variables, by_instant(answers))
            for query, answers in zip(queries, collected, strict=True)
        ]
    finally:
        for query in queries:
            query.stop()


def by_instant(answers: Sequence[Answers]) -> Answered:
    """Bags of answers by instant; instants come in order and once."""
    times = [a.time for a in answers]
    assert times == sorted(set(times))
    return {a.time: bag(a.rows()) for a in answers}


def check(
    engine: Engine, texts: Sequence[str], streams: Streams, static: StaticGraphs, batch: int = 1
) -> list[Answered]:
    """Assert that the engine answers as the oracle, at every instant; gives back the answers."""
    results = replay(engine, texts, streams, batch)
    for text, (variables, answered) in zip(texts, results, strict=True):
        names, expected = answers_by_instant(parse_query(text), streams, static)
        assert_same(text, variables, answered, names or variables, expected)
    return [answered for _, answered in results]


def assert_same(
    text: str,
    variables: Sequence[str],
    answered: Mapping[int, Bag],
    names: Sequence[str],
    expected: Mapping[int, Bag],
) -> None:
    """Assert that two histories of answers agree; the order of columns means nothing."""
    assert sorted(variables) == sorted(names), text
    assert list(answered) == list(expected), f"instants of {text}"
    order = [list(variables).index(name) for name in names]
    for t, rows in answered.items():
        arranged = bag(tuple(row[place] for place in order) for row in rows.elements())
        assert arranged == expected[t], f"at {t}: {text}"


def write_graphs(folder: Path, default: str, named: Mapping[str, str]) -> Path:
    """One N-Quads file of N-Triples texts in their graphs, so that one load brings them all."""
    path = folder / "static.nq"
    lines = [line for line in default.splitlines() if line.strip()]
    for graph, text in named.items():
        lines += [f"{line.strip()[:-1]} <{graph}> ." for line in text.splitlines() if line.strip()]
    path.write_text("\n".join(lines) + "\n")
    return path
