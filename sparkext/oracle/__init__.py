"""An independent evaluation of continuous queries over recorded streams, to check answers with.

It shares the parser and the reader of recorded streams with the engine and nothing of its evaluation: windows and
report policies are written out from their definitions, SPARQL is evaluated by Oxigraph.
"""

from __future__ import annotations

from sparkext.oracle.allowed_starts import judge
from sparkext.oracle.answer_files import read_answers
from sparkext.oracle.evaluation import Answer, ContinuousEvaluation
from sparkext.oracle.profiles import PROFILES, profile_of
from sparkext.oracle.streams import (
    GraphReplacement,
    StaticGraphs,
    read_static_graphs,
    static_graphs,
)

__all__ = [
    "PROFILES",
    "Answer",
    "ContinuousEvaluation",
    "GraphReplacement",
    "StaticGraphs",
    "judge",
    "profile_of",
    "read_answers",
    "read_static_graphs",
    "static_graphs",
]
