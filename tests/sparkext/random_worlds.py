"""Small random RDF-star graphs and streams over one narrow vocabulary, so that much of it joins."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from sparkext.oracle.streams import StaticGraphs, static_graphs
from sparkext.recorded_streams import StreamElement

E = "http://e/"
XSD = "http://www.w3.org/2001/XMLSchema#"
TIME = "http://www.w3.org/ns/prov#generatedAtTime"
NODES = ("a", "b", "g1")
PREDICATES = ("p", "p", "q", "q", "r")
NUMBERS = (1, 2, 5)
GRAPHS = ("g1", "g2")
LATEST = 16


def node(name: str) -> str:
    return f"<{E}{name}>"


def number(value: int) -> str:
    return f'"{value}"^^<{XSD}integer>'


def random_object(random: Random, depth: int) -> str:
    """An object's N-Triples text."""
    kind = random.random()
    if kind < 0.2:
        return number(random.choice(NUMBERS))
    if kind < 0.27:
        return random.choice(
            (
                '"a"',
                '"b c"',
                '"a"@en',
                '"1.5"^^<' + XSD + "decimal>",
                '"true"^^<' + XSD + "boolean>",
            )
        )
    if kind < 0.35 and depth:
        return random_quoted(random, depth - 1)
    if kind < 0.38:
        return f"_:n{random.randint(1, 2)}"
    return node(random.choice(NODES))


def random_subject(random: Random, depth: int) -> str:
    kind = random.random()
    if kind < 0.2 and depth:
        return random_quoted(random, depth - 1)
    return f"_:n{random.randint(1, 2)}" if kind < 0.23 else node(random.choice(NODES))


def random_quoted(random: Random, depth: int) -> str:
    return f"<< {random_statement(random, depth)} >>"


def random_statement(random: Random, depth: int = 2) -> str:
    subject, predicate = random_subject(random, depth), node(random.choice(PREDICATES))
    return f"{subject} {predicate} {random_object(random, depth)}"


def random_triples(random: Random, size: int) -> list[str]:
    """So many N-Triples-star statements, some perhaps twice."""
    return [f"{random_statement(random)} ." for _ in range(size)]


@dataclass(frozen=True)
class RandomStatic:
    """Random static graphs, as N-Triples statements by graph (None: default)."""

    default: list[str]
    named: dict[str, list[str]]

    def nquads(self) -> str:
        lines = [*self.default]
        for graph, statements in self.named.items():
            lines += [f"{statement[:-1]}{node(graph)} ." for statement in statements]
        return "\n".join(lines) + "\n"

    def for_oracle(self) -> StaticGraphs:
        named = {f"{E}{graph}": "\n".join(statements) for graph, statements in self.named.items()}
        return static_graphs("\n".join(self.default), named)


def random_static(random: Random) -> RandomStatic:
    return RandomStatic(
        random_triples(random, 14), {graph: random_triples(random, 9) for graph in GRAPHS}
    )


def random_stream(random: Random, name: str, size: int) -> list[StreamElement]:
    """Elements in order of time, some of them at one time, one to three triples each; most are named graphs with a time
    triple, the name being one that patterns may use."""
    times = sorted(random.randint(1, LATEST) for _ in range(size))
    elements = []
    for place, t in enumerate(times):
        triples = tuple(random_triples(random, random.choice((1, 1, 2, 3))))
        if random.random() < 0.25:
            elements.append(StreamElement(t, None, triples))
            continue
        graph = node(f"{name}{place}")
        about = (
            (f"{graph} {node('p')} {node(random.choice(NODES))} .",)
            if random.random() < 0.3
            else ()
        )
        elements.append(StreamElement(t, graph, triples, f"{graph} <{TIME}> {number(t)} .", about))
    return elements
