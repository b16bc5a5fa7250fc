"""Join clusters, how what they hold changes between evaluations, and what a naive join answers each time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

Row = tuple[int, ...]
Bag = Counter[Row]
Binding = Mapping[int, int | None]

MOST_ROWS = 6_000
"""Answers at most; at any point of the naive join there may be twice as many rows."""

KINDS = ("static", "counted", "stage", "set", "bag", "merged", "mergedbag")
WINDOWS = ("set", "bag", "merged", "mergedbag")


class TooLargeError(Exception):
    """A cluster has more rows than are worth joining by hand."""


@dataclass
class Content:
    """What a relation reads: static rows, and sightings in a window or the rows of a stage, as often as each counts."""

    kind: str
    arity: int
    static: Bag = field(default_factory=Counter)
    moving: Bag = field(default_factory=Counter)

    def rows(self) -> Bag:
        """Rows as often as they count."""
        moving = self.moving
        if self.kind in ("set", "merged"):
            moving = Counter(dict.fromkeys(moving, 1))
        return self.static + moving

    def move(self, verb: str, rows: Sequence[Row]) -> None:
        """Have rows come or go as a window's do, or be those of a stage from now on."""
        if verb in ("rows", "clear"):
            self.moving = Counter(rows)
        elif verb == "in":
            self.moving.update(rows)
        else:
            self.moving.subtract(rows)
            assert all(count >= 0 for count in self.moving.values())
            self.moving += Counter()  # drops what is there no more


@dataclass(frozen=True)
class Relation:
    """Columns of a content as variables; `derived`: what a plan makes of the content first."""

    content: int
    variables: tuple[int, ...]
    derived: str = ""

    def rows(self, held: Bag) -> Bag:
        """What it gives of the rows of its content."""
        if self.derived == "union":
            return held + held
        if self.derived == "distinct":
            return Counter(dict.fromkeys(held, 1))
        if self.derived == "cut":
            cut: Bag = Counter()
            for row, count in held.items():
                cut[row[:-1]] += count
            return cut
        return held


@dataclass(frozen=True)
class Item:
    """A filter, or the BIND of a variable, as SQL and in Python, where None is null."""

    text: str
    reads: tuple[int, ...]
    value: Callable[[Binding], int | bool | None]
    binds: int = -1
    expensive: bool = False


@dataclass(frozen=True)
class Move:
    """Rows that come (`in`), leave (`out`), are the only ones from now on (`rows`), or all leave at once (`clear`)."""

    content: int
    verb: str
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Order:
    """What is told of the order: a sequence of relations or none, where to begin or -1, what items wait for."""

    sequence: tuple[int, ...]
    driver: int
    after: tuple[int, ...]


@dataclass(frozen=True)
class Evaluation:
    """What changes before it, the order in which it joins, in how many slices of a job (0: here), its answers."""

    moves: tuple[Move, ...]
    order: Order
    slices: int
    expected: Bag


@dataclass
class Cluster:
    """A join cluster, its contents as they are before the first evaluation, and its evaluations."""

    seed: int
    threads: int
    variables: int
    contents: list[Content]
    relations: list[Relation]
    items: list[Item]
    output: tuple[int, ...]
    warm: bool
    evaluations: list[Evaluation] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The columns of the variables, a "?" behind those that may be unbound."""
        bound = {item.binds for item in self.items}
        return [f"v{v}?" if v in bound else f"v{v}" for v in range(self.variables)]

    def script(self) -> str:
        """All of it, as JoinTrial.scala reads it; no line of it is about answers."""
        lines = [f"join|{self.threads}|{','.join(self.names)}"]
        for content in self.contents:
            rows = list(content.static)
            counts = content.static.values() if content.kind == "counted" else ()
            lines.append(f"content|{content.kind}|{content.arity}|{cells(rows)}|{numbers(counts)}")
        lines += [
            f"relation|{r.content}|{numbers(r.variables)}|{r.derived}" for r in self.relations
        ]
        for item in self.items:
            kind = "filter" if item.binds < 0 else f"bind|{item.binds}"
            lines.append(f"{kind}|{int(item.expensive)}|{item.text}")
        lines.append(f"output|{numbers(self.output)}")
        for number, evaluation in enumerate(self.evaluations):
            lines += [f"{m.verb}|{m.content}|{cells(m.rows)}" for m in evaluation.moves]
            order = evaluation.order
            lines.append(f"order|{numbers(order.sequence)}|{order.driver}|{numbers(order.after)}")
            if self.warm and number == 0:
                lines.append("warm")
            lines.append(f"slices|{evaluation.slices}" if evaluation.slices else "run")
        return "\n".join(lines)


def numbers(values: Iterable[int]) -> str:
    """Numbers as the JVM's side of tests reads them."""
    return ",".join(map(str, values))


def cells(rows: Iterable[Row]) -> str:
    """The cells of rows side by side."""
    return numbers(cell for row in rows for cell in row)


def naive_join(cluster: Cluster) -> Bag:
    """The answers now: relation by relation, then BINDs by their number, filters, then the output."""
    open_relations = list(cluster.relations)
    known: list[int] = []
    joined: Bag = Counter({(): 1})
    while open_relations:
        relation = max(open_relations, key=lambda r: len({*r.variables} & {*known}))
        open_relations.remove(relation)
        shared = [v for v in relation.variables if v in known]
        fresh = [v for v in relation.variables if v not in known]
        by_key: dict[Row, list[tuple[Row, int]]] = defaultdict(list)
        for row, count in relation.rows(cluster.contents[relation.content].rows()).items():
            values = dict(zip(relation.variables, row, strict=True))
            by_key[tuple(values[v] for v in shared)].append(
                (tuple(values[v] for v in fresh), count)
            )
        places = [known.index(v) for v in shared]
        found: Bag = Counter()
        for row, count in joined.items():
            for more, times in by_key[tuple(row[p] for p in places)]:
                found[row + more] += count * times
            if len(found) > 2 * MOST_ROWS:
                raise TooLargeError
        joined, known = found, known + fresh
    in_order = sorted(cluster.items, key=lambda item: (item.binds < 0, item.binds))
    answers: Bag = Counter()
    for row, count in joined.items():
        binding: dict[int, int | None] = dict(zip(known, row, strict=True))
        if all(passes(item, binding) for item in in_order):
            answers[tuple(binding[v] or 0 for v in cluster.output)] += count
    if sum(answers.values()) > MOST_ROWS:
        raise TooLargeError
    return answers


def passes(item: Item, binding: dict[int, int | None]) -> bool:
    """Whether a row passes a filter; it passes each BIND, which gives it a value or none."""
    value = item.value(binding)
    if item.binds < 0:
        return value is True
    binding[item.binds] = value
    return True


def of(
    use: Callable[..., int | bool | None], *variables: int
) -> Callable[[Binding], int | bool | None]:
    """A function of variables that is null where one of them is unbound."""

    def value(row: Binding) -> int | bool | None:
        values = [row[v] for v in variables]
        return None if None in values else use(*values)

    return value


def random_bind(random: Random, readable: Sequence[int], binds: int) -> Item:
    """The BIND of a variable, from some of these; it may stay unbound."""
    a, b = random.choice(readable), random.choice(readable)
    m = random.choice((2, 3, 7))
    k = random.randrange(m)
    whether = of(lambda x: x % m == k, a)
    text, reads, value = random.choice(
        [
            (f"v{a} + v{b}", (a, b), of(lambda x, y: x + y, a, b)),
            (
                f"CASE WHEN v{a} % {m}L = {k}L THEN v{b} END",
                (a, b),
                lambda row: row[b] if whether(row) else None,
            ),
            (f"v{a} + CAST(NULL AS BIGINT)", (a,), lambda row: None),
            ("5L", (), lambda row: 5),
        ]
    )
    return Item(text, reads, value, binds, random.random() < 0.25)


def random_filter(random: Random, readable: Sequence[int]) -> Item:
    """A filter over some of these variables, which holds for some rows, for all, for none, or is null."""
    a, b = random.choice(readable), random.choice(readable)
    m = random.choice((2, 3, 7))
    k = random.randrange(m)
    more = of(lambda x: x > 2, a)
    ((text, reads, value),) = random.choices(
        [
            (f"v{a} <= v{b}", (a, b), of(lambda x, y: x <= y, a, b)),
            (f"v{a} % {m}L <> {k}L", (a,), of(lambda x: x % m != k, a)),
            (f"v{a} IS NULL OR v{a} > 2L", (a,), lambda row: row[a] is None or more(row)),
            (f"v{a} IS NOT NULL", (a,), lambda row: row[a] is not None),
            ("2L > 1L", (), lambda row: True),
            (f"v{a} > CAST(NULL AS BIGINT)", (a,), lambda row: None),
            (f"v{a} < 0L", (a,), of(lambda x: x < 0, a)),
        ],
        weights=(8, 8, 4, 3, 1, 0.5, 0.5),
    )
    return Item(text, reads, value, -1, random.random() < 0.25)
