"""Keys of static parts that are computed once: equal for equal parts, whatever their variables are called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkext.language.expressions import Comparison, Expression
from sparkext.language.nodes import Variable
from sparkext.r2r.leaves.flattening import Cluster
from sparkext.r2r.leaves.leaf import DerivedLeaf, StaticLeaf
from sparkext.r2r.leaves.scopes import NamedGraph
from sparkext.r2r.patterns.local_names import rename, variables_of
from sparkext.r2r.relations.datasets import Dataset
from static_data.sub_pattern import Branch, TriplePattern, canonical

if TYPE_CHECKING:
    from static_data.sub_pattern import Term

PartKey = tuple[object, ...]


def join_key(
    cluster: Cluster, shown: Iterable[Variable], dataset: Dataset
) -> tuple[PartKey, tuple[Variable, ...]]:
    """The key of a static join projected to some variables, and the order of its columns.

    Where the patterns read one graph each, equal joins of different queries get equal keys and orders. Others, with
    GRAPH ?g, merged graphs or quoted triples, are told apart by their text.
    """
    wanted = set(shown)
    read = {v for condition in cluster.conditions for v in condition.variables}
    patterns = _patterns(cluster, dataset)
    if patterns is None:
        order = tuple(v for v in cluster.variables if v in wanted)
        return ("join as written", cluster, order, dataset.identity), order
    names = sorted(v.name for v in wanted | read)
    sub_pattern, columns = canonical([Branch(patterns)], names)
    numbered = {Variable(name): Variable(column) for name, column in columns.items()}
    order = tuple(sorted(wanted, key=lambda v: int(numbered[v].name[1:])))
    conditions = frozenset(_oriented(rename(c, numbered)) for c in cluster.conditions)
    return ("join", sub_pattern, tuple(numbered[v] for v in order), conditions), order


def _patterns(cluster: Cluster, dataset: Dataset) -> tuple[TriplePattern, ...] | None:
    patterns = []
    for leaf in cluster.leaves:
        assert isinstance(leaf, StaticLeaf)
        key = dataset.key(leaf)
        binds_graph = isinstance(leaf.graph, NamedGraph) and isinstance(leaf.graph.name, Variable)
        if binds_graph or key.quoted or key.graphs is None or len(key.graphs) != 1:
            return None
        terms: list[Term] = [
            term.name if isinstance(term, Variable) else constant
            for term, constant in zip(leaf.pattern, key.constants, strict=True)
        ]
        patterns.append(TriplePattern(terms[0], terms[1], terms[2], key.graphs[0]))
    return tuple(patterns) if len(set(patterns)) == len(patterns) else None


def _oriented(condition: Expression) -> Expression:
    """The same comparison with its sides in one order, where they may change places."""
    if isinstance(condition, Comparison) and condition.operator in ("=", "!="):
        left, right = sorted((condition.left, condition.right), key=repr)
        return replace(condition, left=left, right=right)
    return condition


def leaf_key(leaf: DerivedLeaf, dataset: Dataset) -> tuple[PartKey, tuple[Variable, ...]]:
    """The key of a static union, group or the like, and the order of its columns.

    Variables are numbered as they appear, so that the same text under other names is the same part. Hidden ones stay
    hidden: COUNT(DISTINCT *) does not look at them.
    """
    names = {
        v: Variable(f"{'_:' if v.hidden else ''}v{place}")
        for place, v in enumerate(variables_of(leaf))
    }
    return ("leaf", rename(leaf, names), dataset.identity), leaf.variables
