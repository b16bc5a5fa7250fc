"""Every figure and table of the papers with what re-makes it here, and the comparisons with peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.report import papers, shapes
from bench.report.shapes import Drawings


@dataclass(frozen=True)
class Remade:
    """A figure or table of a paper: its label, what it shows, the step that re-makes it, what the paper says of it.

    `columns` of the step's rows are shown as a table; `only` keeps some rows. Of a figure that measures nothing and
    has no step, `elsewhere` says where it is held to.
    """

    paper: str
    label: str
    title: str
    step: str = ""
    reported: str = ""
    draw: Drawings | None = None
    columns: tuple[str, ...] = ()
    only: Callable[[Mapping[str, Any]], bool] = lambda row: True
    elsewhere: str = ""


TABLE_COLUMNS = (
    "query",
    "instances",
    "sharing",
    "p50_ms",
    "p95_ms",
    "evaluation_ms",
    "answers",
    "reported_ms",
)
FIGURES = (
    Remade(
        "cqels",
        "Figure 3",
        "Plans that change with what the windows hold",
        "adapt",
        "An example: at 1001 another join order is best than at 1002.",
        shapes.adapt,
        (
            "stream",
            "batches",
            "first_ms",
            "engine_ms",
            "hindsight_ms",
            "duckdb_ms",
            "regret",
            "share",
        ),
    ),
    Remade(
        "cqels",
        "Figure 5",
        "Q1 to Q4 by System X, with pre-processing, and with the optimizer",
        "cqels",
        "Pre-processing is over 8 times as fast on Q2 to Q4 (3 times on Q1), the optimizer halves that, and Q3 takes"
        " 6 % of System X's time. The figure's own numbers are not printed.",
        shapes.figure_5,
        (
            "query",
            "rate",
            "p50_ms",
            "preprocessing_p50_ms",
            "systemx_p50_ms",
            "first_answer_ms",
            "optimizer_share",
        ),
    ),
    Remade(
        "cqels",
        "Table 2",
        "Instances of Q1'",
        "many",
        "From 10 to 5,000 instances: CQELS 1.2 to 70.1 ms, System X 4.8 to 3,567 ms.",
        shapes.instances_of("q1", papers.TABLE_2),
        TABLE_COLUMNS,
        lambda row: row["query"] == "q1",
    ),
    Remade(
        "cqels",
        "Table 3",
        "Instances of Q2'",
        "many",
        "From 10 to 5,000 instances: CQELS 64 to 1,551 ms; System X"
        " has no memory left beyond 1,200.",
        shapes.instances_of("q2", papers.TABLE_3),
        TABLE_COLUMNS,
        lambda row: row["query"] == "q2",
    ),
    Remade(
        "cqels",
        "Figure 7",
        "Instances of Q1' to Q4'",
        "many",
        "As the tables; Q3' and Q4' are said to be like Q2'.",
        shapes.figure_7,
        TABLE_COLUMNS,
    ),
    Remade(
        "cqels",
        "Figures 1, 2, 4 and 6, Table 1",
        "Processing model, queries, algorithm, operators",
        elsewhere="Nothing is measured. The queries are bench/queries/*.rspql and bench/queries/many; the algorithm is"
        " adaptive/search; tests: tests/adaptive/search, tests/sparkext/paper_examples.",
    ),
    Remade(
        "rspql-star",
        "Figure 1",
        "Bytes of an element with annotated triples",
        "star",
        "RDF-star takes around half of the bytes of reification.",
        shapes.bytes_of_elements,
        (
            "serialisation",
            "annotated",
            "bytes_star",
            "bytes_reification",
            "gzip_star",
            "gzip_reification",
        ),
    ),
    Remade(
        "rspql-star",
        "Figure 2",
        "Query time with RDF-star, reification, and reification optimised",
        "star",
        "The gain grows with the number of annotated triples; optimising reification closes a part of it.",
        shapes.star_times,
        (
            "serialisation",
            "annotated",
            "star_ms",
            "reification_ms",
            "optimised_ms",
            "star_arrival_ms",
            "star_first_ms",
        ),
    ),
    Remade(
        "uncertainty",
        "Figure 1",
        "Q1 to Q3 of the tunnel over thresholds, filters early or late",
        "tvs",
        "H4 (late) is up to ten times as fast in Q1a and Q3a, and slower in Q2b at all thresholds.",
        shapes.thresholds,
        ("query", "threshold", "functions", "placement", "p50_ms", "first_ms", "calls", "answers"),
        lambda row: bool(row.get("placement")),
    ),
    Remade(
        "uncertainty",
        "Figure 2",
        "Q4 to Q6 of the tunnel, lazy variables and cache",
        "tvs",
        "Lazy variables win from a few per cent to ten times (Q6a); the cache costs in Q4a.",
        shapes.lazy,
        (
            "query",
            "functions",
            "lazy",
            "cache",
            "p50_ms",
            "first_ms",
            "calls",
            "cache_hits",
            "answers",
        ),
        lambda row: row.get("lazy") is not None,
    ),
    Remade(
        "uncertainty",
        "Figure 3",
        "Join cardinality by filter selectivity",
        "placement",
        "At high cardinality early wins whatever the selectivity, at low cardinality late does.",
        shapes.cardinalities,
        (
            "cardinality",
            "selectivity",
            "functions",
            "events",
            "cost_ms",
            "early_ms",
            "late_ms",
            "ratio",
        ),
    ),
    Remade(
        "uncertainty",
        "Table 1",
        "Equivalences of patterns",
        elsewhere="Nothing is measured. Each rule is tested:"
        " tests/sparkext/paper_examples/test_paper_examples_table_1.py,"
        " tests/sparkext/rewriting.",
    ),
    Remade(
        "rspql",
        "Figure 4",
        "First windows by t0",
        "semantics",
        "As Definition 12 has it; the print has other contents for two of the three.",
        shapes.answered,
        ("setting", "printed", "ours", "same"),
        lambda row: row["figure"] == "RSP-QL Figure 4",
    ),
    Remade(
        "rspql",
        "Figure 5",
        "When systems report",
        "semantics",
        "C-SPARQL and SPARQLstream at 6, 8, 10, 12, 14 and 16, CQELS at 2, 5, 7 and 12.",
        shapes.answered,
        ("setting", "printed", "ours", "same"),
        lambda row: row["figure"] == "RSP-QL Figure 5",
    ),
    Remade(
        "rspql",
        "Figures 1, 2, 3 and 6",
        "Graphs that vary in time, windows, the oracle",
        elsewhere="Nothing is measured. The oracle is `cqels check` (docs/checking.md); tests: tests/oracle,"
        " tests/sparkext/paper_examples/test_paper_examples_rspql.py.",
    ),
    Remade(
        "rsep-ql",
        "Figure 1",
        "Which events each policy finds",
        "semantics",
        "Unrestricted e1 e2 e3, then e4; chronological e1 e2; recent e2 e3; C-SPARQL e3.",
        shapes.answered,
        ("setting", "printed", "ours", "same"),
        lambda row: row["figure"] == "RSEP-QL Figure 1",
    ),
    Remade(
        "rsep-ql",
        "Table 1",
        "Features of EP-SPARQL and C-SPARQL",
        elsewhere="Nothing is measured. Tests: tests/sparkext/events,"
        " tests/sparkext/paper_examples/test_paper_examples_rsep_ql.py.",
    ),
)


@dataclass(frozen=True)
class Beside:
    """A comparison with other systems that no paper has: a step, its drawing, and its columns."""

    step: str
    title: str
    draw: Drawings | None
    columns: tuple[str, ...] = ()


BESIDE = (
    Beside(
        "arrival",
        "From arrival to answer: DuckDB, Oxigraph, stock Spark, look-ups by hand",
        shapes.arrival,
    ),
    Beside(
        "arrival-small",
        "The same in a smaller world, with those that do not come to more",
        shapes.arrival,
    ),
    Beside(
        "unchanged",
        "Unchanged jobs of stock Spark, in micro-batches and in real-time mode",
        shapes.pairs(
            "job", "Trigger (median)", "trigger_p50_ms", {"stock_trigger_p50_ms": "stock Spark"}
        ),
    ),
    Beside(
        "sql",
        "Spark SQL over live views: stock Spark in both modes",
        shapes.pairs(
            "query",
            "A batch (median)",
            "p50_ms",
            {"spark_p50_ms": "stock Spark", "real_time_p50_ms": "stock Spark, real time"},
            ("rate",),
        ),
    ),
    Beside(
        "events",
        "Event patterns: DuckDB and Esper",
        shapes.pairs(
            "open",
            "A batch of events, by open matches (median)",
            "p50_ms",
            {"duckdb_p50_ms": "DuckDB", "esper_p50_ms": "Esper"},
            ("query", "together"),
        ),
    ),
    Beside("ways", "Ways into a stream", None),
    Beside("intake", "Memory by every way into a stream", None),
    Beside("scale", "Large static data", None),
    Beside("throughput", "Throughput, with and without a checkpoint", None),
    Beside("restart", "Restarts", None),
    Beside("soak", "Long runs", None),
)
