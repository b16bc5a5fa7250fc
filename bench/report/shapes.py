"""What is drawn of the rows of each bench."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bench.report.drawings import Rows, Series, bars, instants, lines, series

Drawings = Callable[[Rows, Mapping[str, Any]], Iterator[str | None]]


def _queries(rows: Rows, key: str = "query") -> list[Any]:
    return list(dict.fromkeys(row[key] for row in rows))


def _of(rows: Rows, **wanted: Any) -> Rows:
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def figure_5(rows: Rows, _: Mapping[str, Any]) -> Iterator[str | None]:
    """Figure 5 of the CQELS report."""
    for rate in _queries(rows, "rate"):
        part = _of(rows, rate=rate)
        yield bars(
            f"From arrival to answer, {rate:,} sightings a second (median)",
            [
                series(part, "query", "p50_ms", "both"),
                series(part, "query", "preprocessing_p50_ms", "pre-processing"),
                series(part, "query", "systemx_p50_ms", "System X"),
            ],
            "query",
            "ms",
        )


def instances_of(query: str, table: Mapping[str, Mapping[int, float]]) -> Drawings:
    """Its Tables 2 and 3, of one query."""

    def draw(rows: Rows, _: Mapping[str, Any]) -> Iterator[str | None]:
        reported = [Series(f"{name} (paper)", values, paper=True) for name, values in table.items()]
        yield lines(
            f"Instances of {query.upper()}', all answered (median)",
            [
                series(_of(rows, query=query, sharing="on"), "instances", "p50_ms", "ours"),
                *reported,
            ],
            "instances",
            "ms",
            log_x=True,
        )

    return draw


def figure_7(rows: Rows, _: Mapping[str, Any]) -> Iterator[str | None]:
    """Its Figure 7."""
    shared = _of(rows, sharing="on")
    yield lines(
        "Instances, all answered (median)",
        [
            series(_of(shared, query=query), "instances", "p50_ms", f"{query.upper()}'")
            for query in _queries(shared)
        ],
        "instances",
        "ms",
        log_x=True,
    )


def adapt(rows: Rows, _: Mapping[str, Any]) -> Iterator[str | None]:
    """Streams whose best order changes."""
    yield bars(
        "All batches of a stream whose best order changes (total)",
        [
            series(rows, "stream", "engine_ms", "ours, from the first"),
            series(rows, "stream", "hindsight_ms", "best order of each batch"),
            series(rows, "stream", "duckdb_ms", "DuckDB"),
        ],
        "",
        "ms",
    )


def bytes_of_elements(rows: Rows, _: Mapping[str, Any]) -> Iterator[str | None]:
    """Figure 1 of RSP-QL*."""
    for form in _queries(rows, "serialisation"):
        part = _of(rows, serialisation=form)
        yield lines(
            f"Bytes of an element, {form} (gzip below)",
            [
                series(part, "annotated", "bytes_star", "RDF-star"),
                series(part, "annotated", "bytes_reification", "reified"),
                series(part, "annotated", "gzip_star", "RDF-star, gzip"),
                series(part, "annotated", "gzip_reification", "reified, gzip"),
            ],
            "annotated triples",
            "bytes",
            log_y=False,
        )


def star_times(rows: Rows, _: Mapping[str, Any]) -> Iterator[str | None]:
    """Its Figure 2."""
    for form in _queries(rows, "serialisation"):
        part = _of(rows, serialisation=form)
        yield lines(
            f"Evaluation, {form} (median)",
            [
                series(part, "annotated", "star_ms", "RDF-star"),
                series(part, "annotated", "reification_ms", "reification"),
                series(part, "annotated", "optimised_ms", "reification, optimised"),
            ],
            "annotated triples",
            "ms",
            log_y=False,
        )


def thresholds(rows: Rows, _: Mapping[str, Any]) -> Iterator[str | None]:
    """Figure 1 of the uncertainty paper."""
    for functions in _queries(rows, "functions"):
        part = [r for r in _of(rows, functions=functions) if r.get("placement")]
        for query in _queries(part):
            yield lines(
                f"{query.upper()}, {functions} functions (median)",
                [
                    series(_of(part, query=query, placement=place), "threshold", "p50_ms", place)
                    for place in ("cost", "early", "late")
                ],
                "probability threshold",
                "ms",
            )


def lazy(rows: Rows, _: Mapping[str, Any]) -> Iterator[str | None]:
    """Its Figure 2."""
    kinds = {(True, True): "lazy, cache", (True, False): "lazy", (False, True): "cache",
             (False, False): "neither"}  # fmt: skip
    for functions in _queries(rows, "functions"):
        part = [r for r in _of(rows, functions=functions) if r.get("lazy") is not None]
        yield bars(
            f"Q4 to Q6, {functions} functions (median)",
            [
                series([r for r in part if (_on(r["lazy"]), _on(r["cache"])) == kind], "query", "p50_ms", name)
                for kind, name in kinds.items()
            ],
            "query",
            "ms",
        )  # fmt: skip


def _on(value: object) -> bool:
    return value in (True, "on", "true")


def cardinalities(rows: Rows, _: Mapping[str, Any]) -> Iterator[str | None]:
    """Its Figure 3."""
    for functions in _queries(rows, "functions"):
        for cardinality in _queries(_of(rows, functions=functions), "cardinality"):
            part = _of(rows, functions=functions, cardinality=cardinality)
            yield lines(
                f"1 to {cardinality:g}, {functions} functions (median)",
                [series(part, "selectivity", f"{n}_ms", n) for n in ("cost", "early", "late")],
                "share that passes the filter",
                "ms",
                log_y=False,
            )


def answered(rows: Rows, _: Mapping[str, Any]) -> Iterator[str | None]:
    """When something is answered, ours and as printed."""
    yield instants("Instants with answers: ours in the rings of the paper", rows, "time")


def arrival(rows: Rows, _: Mapping[str, Any]) -> Iterator[str | None]:
    """All peers, by query."""
    suffix = "_p50_ms"
    peers = [key.removesuffix(suffix) for key in (rows[0] if rows else {}) if key.endswith(suffix)]
    for rate in _queries(rows, "rate"):
        part = _of(rows, rate=rate)
        yield bars(
            f"From arrival to answer, {rate:,} sightings a second (median)",
            [
                series(part, "query", "p50_ms", "ours"),
                *(series(part, "query", f"{peer}{suffix}", peer) for peer in peers),
            ],
            "query",
            "ms",
        )


def pairs(
    name: str, title: str, y: str, others: Mapping[str, str], apart: Sequence[str] = ()
) -> Drawings:
    """Ours beside other columns, by name; a drawing for each that the columns `apart` have."""

    def draw(rows: Rows, _: Mapping[str, Any]) -> Iterator[str | None]:
        for values in dict.fromkeys(tuple(row[column] for column in apart) for row in rows):
            part = _of(rows, **dict(zip(apart, values, strict=True)))
            told = [f"{column} {value}" for column, value in zip(apart, values, strict=True)]
            yield bars(
                ", ".join([title, *told]),
                [
                    series(part, name, y, "ours"),
                    *(series(part, name, column, peer) for column, peer in others.items()),
                ],
                "",
                "ms",
            )

    return draw
