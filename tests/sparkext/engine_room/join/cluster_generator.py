"""Makes random join clusters of every shape, each of its seed alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from tests.sparkext.engine_room.join.random_clusters import (
    KINDS,
    WINDOWS,
    Bag,
    Cluster,
    Content,
    Evaluation,
    Item,
    Move,
    Order,
    Relation,
    Row,
    TooLargeError,
    naive_join,
    random_bind,
    random_filter,
)

MOST_PINNED = 40_000
"""Rows that a pinned order is expected to meet at any point, at most."""


class Extent(NamedTuple):
    """How many different values there are, and how many rows come at once."""

    values: int
    least: int
    most: int


def random_cluster(seed: int, plans: bool = False) -> Cluster:
    """The cluster of a seed; for `plans`, some relations are computed by plans, and there are fewer evaluations."""
    for attempt in range(100):
        random = Random(f"{seed}/{attempt}")
        try:
            return _filled(random, seed, plans, 0.7**attempt)
        except TooLargeError:
            continue
    raise AssertionError(f"no cluster of seed {seed} is small enough")


def _filled(random: Random, seed: int, plans: bool, scale: float) -> Cluster:
    # Lists that are long enough for sets of them, read within the reading of others.
    dense = random.random() < 0.06
    shape = random.sample(_clique(4), 6) if dense else _shape(random)
    joined = max(v for variables in shape for v in variables) + 1 if any(shape) else 0
    if dense:
        values = random.randint(25, 40)
        extent = Extent(values, int(scale * 9 * values), int(scale * 12 * values))
    elif len(shape) <= 4 and random.random() < 0.25:
        extent = Extent(random.randint(20, 60), 0, math.ceil(scale * 700))
    else:
        extent = Extent(random.choice((2, 4, 8, 15)), 0, math.ceil(scale * 40))
    contents: list[Content] = []
    relations: list[Relation] = []
    for variables in shape:
        derived = (
            random.choice(("union", "distinct", "cut")) if plans and random.random() < 0.2 else ""
        )
        arity = len(variables) + (derived == "cut")
        known = [n for n, content in enumerate(contents) if content.arity == arity]
        if known and random.random() < 0.2:  # a self join
            place = random.choice(known)
        else:
            place = len(contents)
            kinds = ("static", "stage", "set") if dense else KINDS
            contents.append(_content(random, random.choice(kinds), arity, extent))
        relations.append(Relation(place, variables, derived))
    items, made = _items(random, joined)
    named = joined + made
    output = random.sample(range(named), random.randint(int(plans), named)) if named else []
    if random.random() < 0.3:
        output = list(range(named))
    cluster = Cluster(
        seed,
        random.choice((1, 3)),
        named,
        contents,
        relations,
        items,
        tuple(output),
        random.random() < 0.3,
    )
    _evaluate(random, cluster, extent, 3 if plans else 4)
    return cluster


# -- which relations there are, by their variables ---------------------------------------------------


def _shape(random: Random) -> list[tuple[int, ...]]:
    count = random.choice((2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8))
    kind = random.choice(("chain", "cycle", "star", "clique", "any", "any", "parts"))
    edges: list[tuple[int, ...]]
    if kind == "chain":
        edges = [(i, i + 1) for i in range(count)]
    elif kind == "cycle":
        edges = [(i, (i + 1) % count) for i in range(count)] if count > 2 else [(0, 1), (1, 0)]
    elif kind == "star":
        edges = [(0, i + 1) for i in range(count)]
    elif kind == "clique":
        edges = _clique(3 if count < 6 else 4)
    elif kind == "any":
        pool = range(random.randint(2, count + 1))
        edges = [
            tuple(random.sample(pool, min(len(pool), random.choice((1, 2, 2, 2, 3, 4)))))
            for _ in range(count)
        ]
    else:
        first = random.randint(1, count - 1)
        edges = [(i, i + 1) for i in range(first)]
        edges += [(first + 1, first + 2 + i) for i in range(min(3, count - first))]
    edges = [_varied(random, edge, 1 + max(map(max, edges))) for edge in edges]
    if random.random() < 0.05:
        edges.insert(random.randrange(len(edges)), ())  # a pattern without variables
    used = sorted({v for edge in edges for v in edge})
    random.shuffle(edges)
    return [tuple(used.index(v) for v in edge) for edge in edges]


def _clique(nodes: int) -> list[tuple[int, ...]]:
    return [(i, j) for i in range(nodes) for j in range(i + 1, nodes)]


def _varied(random: Random, edge: tuple[int, ...], variables: int) -> tuple[int, ...]:
    columns = list(edge)
    random.shuffle(columns)
    if random.random() < 0.1 and len(columns) < 4:
        columns += random.sample([v for v in range(variables + 1) if v not in columns], 1)
    elif random.random() < 0.1:
        columns = columns[:1]
    return tuple(columns)


def _items(random: Random, joined: int) -> tuple[list[Item], int]:
    items: list[Item] = []
    if not joined or random.random() < 0.4:
        return items, 0
    made = random.choice((0, 0, 1, 1, 2))
    for number in range(made):
        items.append(random_bind(random, range(joined + number), joined + number))
    for _ in range(random.choice((0, 1, 1, 2, 3)) if made else random.choice((1, 1, 2))):
        items.append(random_filter(random, range(joined + made)))
    random.shuffle(items)
    return items, made


# -- what they hold ----------------------------------------------------------------------------------


def _rows(random: Random, arity: int, extent: Extent) -> list[Row]:
    # Small values are the most frequent ones of some columns: lists of very different lengths.
    skewed = [random.random() < 0.4 for _ in range(arity)]
    count = random.choice((random.randint(1, 5), random.randint(1, extent.most), extent.most))
    if random.random() < 0.04:
        count = 0
    return [
        tuple(1 + int(extent.values * random.random() ** (3 if s else 1)) for s in skewed)
        for _ in range(max(count, extent.least))
    ]


def _content(random: Random, kind: str, arity: int, extent: Extent) -> Content:
    if arity == 0:
        return Content("counted", 0, Counter({(): random.choice((1, 1, 3))}))
    content = Content(kind, arity)
    if kind in ("static", "counted", "merged", "mergedbag"):
        rows = dict.fromkeys(_rows(random, arity, extent))
        content.static = Counter(
            {row: random.choice((1, 1, 2, 3)) if kind == "counted" else 1 for row in rows}
        )
    return content


def _moves(random: Random, number: int, content: Content, extent: Extent) -> list[Move]:
    def some() -> tuple[Row, ...]:
        rows = _rows(random, content.arity, extent)
        if content.kind == "merged":
            rows = [row for row in rows if row not in content.static]
        return tuple(rows)

    held = list(content.moving.elements())
    if content.kind == "stage":
        return [Move(number, "rows", some() + some()[:3] * 2)]
    if content.kind not in WINDOWS:
        return []
    how = random.choice(("slide", "slide", "slide", "turn", "shrink", "clear", "grow"))
    leaving = random.sample(held, len(held) // random.choice((2, 4, 16)))
    if how == "turn":
        leaving = held
    elif how == "shrink":
        leaving = held[random.randint(0, 3) :]
    moves = [Move(number, "in", some())] if how != "shrink" or not held else []
    if leaving and how != "grow":
        # What leaves before others come gives them its places; what leaves after them has made the table grow.
        moves.insert(random.randint(0, len(moves)), Move(number, "out", tuple(leaving)))
    if how == "clear":
        moves = [Move(number, "clear"), *(moves[-1:] if moves and moves[-1].verb == "in" else [])]
    return moves


def _evaluate(random: Random, cluster: Cluster, extent: Extent, most: int) -> None:
    for number in range(random.randint(1, most)):
        moves: list[Move] = []
        for place, content in enumerate(cluster.contents):
            if number == 0 or random.random() < 0.6:
                for move in _moves(random, place, content, extent):
                    content.move(move.verb, move.rows)
                    moves.append(move)
        expected = naive_join(cluster)
        order = cluster.evaluations[-1].order if cluster.evaluations else None
        if (
            order is None
            or random.random() < 0.7
            or not _fits(cluster, order.sequence, extent.values)
        ):
            order = _order(random, cluster, extent.values)
        slices = random.randint(1, 4) if random.random() < 0.2 else 0
        cluster.evaluations.append(Evaluation(tuple(moves), order, slices, expected))


# -- in which order they are joined ------------------------------------------------------------------


def _order(random: Random, cluster: Cluster, values: int) -> Order:
    count = len(cluster.relations)
    everything = (1 << count) - 1
    after = tuple(
        0 if random.random() < 0.6 else random.choice((everything, random.randint(0, everything)))
        for _ in cluster.items
    )
    kind = random.choice(("free", "free", "driven", "pinned", "pinned"))
    if kind == "pinned":
        for _ in range(10):
            sequence = random.sample(range(count), count)
            if _fits(cluster, sequence, values):
                return Order(tuple(sequence), -1, after)
    return Order((), random.randrange(count) if kind != "free" else -1, after)


def _fits(cluster: Cluster, sequence: Sequence[int], values: int) -> bool:
    """Whether joining in this order is expected to stay small, all values being equally frequent."""
    bound: set[int] = set()
    rows = 1.0
    for place in sequence:
        relation = cluster.relations[place]
        size = sum(_held(cluster, relation).values())
        rows *= size / min(max(size, 1), values ** len(bound & {*relation.variables}))
        bound |= {*relation.variables}
        if rows > MOST_PINNED:
            return False
    return True


def _held(cluster: Cluster, relation: Relation) -> Bag:
    return relation.rows(cluster.contents[relation.content].rows())
