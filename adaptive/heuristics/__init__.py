"""Heuristics of the uncertainty paper (2021, section 4): H1 and H2 where no statistics exist, H3, H4.

H1 and H2 stand in for statistics of patterns that were never counted; the search then works as
always. H3 and H4 place filters without looking at costs. Each can be left out, and no answer
changes by that.
"""

from adaptive.heuristics.h1_bound_positions import (
    bound_positions_order,
    bound_positions_rank,
    guessed_statistics,
)
from adaptive.heuristics.h2_specific_graph_first import (
    specific_graph_first_order,
    within_graph,
)
from adaptive.heuristics.h3_early_filters import apply_filters_early, apply_filters_last
from adaptive.heuristics.h4_late_uncertain_filters import apply_uncertain_filters_last

__all__ = [
    "apply_filters_early",
    "apply_filters_last",
    "apply_uncertain_filters_last",
    "bound_positions_order",
    "bound_positions_rank",
    "guessed_statistics",
    "specific_graph_first_order",
    "within_graph",
]
