"""What the five papers report: their figures and tables, and the numbers that they print."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper, and what it was measured on, as it says."""

    title: str
    machine: str


PAPERS = {
    "cqels": Paper(
        "Le-Phuoc, Parreira, Hausenblas, Hauswirth: Continuous Query Optimization and Evaluation over"
        " Unified Linked Stream Data and Linked Open Data. DERI, 2010",
        "machines of 2010, 170 million triples, streams of 30 and 60 minutes",
    ),
    "rspql-star": Paper(
        "Keskisärkkä, Blomqvist, Lind, Hartig: RSP-QL*: Enabling Statement-Level Annotations in RDF"
        " Streams. SEMANTiCS 2019",
        "MacBook Pro, 2.8 GHz Core i7, Java heap of 2 GB, after warm-up",
    ),
    "uncertainty": Paper(
        "Keskisärkkä, Blomqvist, Hartig: Optimizing RDF Stream Processing for Uncertainty Management."
        " SEMANTiCS 2021",
        "quad-core 2.8 GHz Core i7, Java heap of 8 GB, averages of 20 executions",
    ),
    "rspql": Paper(
        "Dell'Aglio, Della Valle, Calbimonte, Corcho: RSP-QL Semantics: a Unifying Query Model to"
        " Explain Heterogeneity of RDF Stream Processing Systems. IJSWIS, 2014",
        "nothing is measured",
    ),
    "rsep-ql": Paper(
        "Dell'Aglio, Dao-Tran, Calbimonte, Le Phuoc, Della Valle: A Query Model to Capture Event Pattern"
        " Matching in RDF Stream Processing Query Languages. EKAW 2016",
        "nothing is measured",
    ),
}

# Tables 2 and 3 of the CQELS report: milliseconds by the number of instances.
TABLE_2 = {
    "System X": {10: 4.8, 100: 12.3, 200: 18.8, 300: 34.6, 500: 51.3, 1000: 90.4,
                 2000: 235.3, 3000: 685.3, 4000: 1356.0, 5000: 3567.0},
    "CQELS": {10: 1.2, 100: 1.9, 200: 3.8, 300: 4.2, 500: 7.4, 1000: 14.5,
              2000: 25.6, 3000: 41.3, 4000: 54.9, 5000: 70.1},
}  # fmt: skip
TABLE_3 = {
    "System X": {10: 302.0, 100: 778.0, 200: 892.0, 300: 956.0, 500: 1105.0, 1000: 3486.0,
                 1200: 5120.0},
    "CQELS w/o opt.": {10: 116.0, 100: 215.0, 200: 274.0, 300: 358.0, 500: 484.0, 1000: 872.0,
                       1200: 961.0, 2000: 1523.0, 3000: 2368.0, 4000: 2974.0, 5000: 3688.0},
    "CQELS": {10: 64.0, 100: 105.0, 200: 129.0, 300: 153.0, 500: 225.0, 1000: 420.0,
              1200: 456.0, 2000: 699.0, 3000: 1070.0, 4000: 1403.0, 5000: 1551.0},
}  # fmt: skip
