"""Query graphs in the shape of the tunnel's queries: four windows, what is known of their sensors, one sector."""

from __future__ import annotations

from adaptive.expensive_calls import CallPrice
from adaptive.query_graph import Extend, FilterKind, JoinFilter, QueryGraph, Relation
from adaptive.statistics import Catalogue
from tests.adaptive.query_graphs import STATIC, WINDOW, statistics

SENSORS = ("air1", "air2", "heat1", "heat2")


def tunnel(binds=False, call_us=100.0, sensors=SENSORS):
    """A filter (or a bind) for each sensor; the error of every other one is in a relation of one row."""
    relations, filters, extends = [], [], []
    for number, name in enumerate(sensors):
        sensor, reading, value, error = (f"{name}_{part}" for part in ("s", "r", "v", "e"))
        relations += [
            Relation(f"{name}.type", (sensor,), STATIC),
            Relation(f"{name}.location", (sensor, "sector"), STATIC),
            Relation(f"{name}.made", (reading, sensor), WINDOW),
        ]
        if number % 2:
            relations.append(Relation(f"{name}.result", (reading, value, error), WINDOW))
        else:
            relations.append(Relation(f"{name}.result", (reading, value), WINDOW))
            relations.append(Relation(f"{name}.error", (error,), STATIC))
        filters.append(JoinFilter(f"{name}.range", frozenset({value}), kind=FilterKind.RANGE))
        price, inputs = CallPrice(call_us), frozenset({value, error})
        if binds:
            extends.append(Extend(f"{name}.p", f"{name}.p", inputs, price, True))
        else:
            filters.append(JoinFilter(f"{name}.low", inputs, 0.2, price=price, uncertain=True))
    return QueryGraph(tuple(relations), tuple(filters), None, tuple(extends))


def readings(graph, rows=1_000.0, sectors=100.0, **others):
    """What is known of its relations: each sensor of a sector says something ten times a window.

    `others` are the rows of the windows of some sensors, by name.
    """
    known = {}
    for relation in graph.relations:
        name, part = relation.name.split(".")
        count = {
            "type": sectors,
            "location": 4 * sectors,
            "error": 1.0,
            "made": others.get(name, rows),
            "result": others.get(name, rows),
        }[part]
        distinct = {
            variable: min(count, sectors)
            if variable == "sector" or (part == "made" and variable.endswith("_s"))
            else count
            for variable in relation.variables
        }
        known[relation.name] = statistics(count, **distinct)
    return known


def tunnel_catalogue(graph, **options):
    """A catalogue of them."""
    return Catalogue(readings(graph, **options))
