"""Renaming of variables, and names for the hidden ones that depend on their sub-select alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sparkext.language.algebra import Project
from sparkext.language.nodes import Node, Variable

T = TypeVar("T")


def rename(value: T, names: Mapping[Variable, Variable], stop: type | None = None) -> T:
    """The same pattern, condition or leaf with variables renamed; parts of type `stop` are left as they are.

    >>> from sparkext.language.expressions import VariableReference
    >>> rename(VariableReference(Variable("a")), {Variable("a"): Variable("b")}).variable.name
    'b'
    """
    return _map(value, lambda v: names.get(v, v), stop)  # type: ignore[no-any-return]


def _map(value: Any, change: Callable[[Variable], Variable], stop: type | None) -> Any:
    if isinstance(value, Variable):
        return change(value)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_map(part, change, stop) for part in value)
    if isinstance(value, frozenset):
        return frozenset(_map(part, change, stop) for part in value)
    if (stop is not None and isinstance(value, stop)) or not dataclasses.is_dataclass(value):
        return value
    changed = {
        f.name: _map(getattr(value, f.name), change, stop)
        for f in dataclasses.fields(value)
        if f.init
    }
    return dataclasses.replace(value, **changed)  # type: ignore[type-var]


def variables_of(value: object) -> tuple[Variable, ...]:
    """All variables mentioned anywhere in a pattern, in order of first appearance."""
    found: dict[Variable, None] = {}

    def note(variable: Variable) -> Variable:
        found[variable] = None
        return variable

    _map(value, note, None)
    return tuple(found)


def number_hidden(node: Node) -> Node:
    """Number the hidden variables of each sub-select by themselves.

    The parser numbers them through the whole query, so that two equal sub-selects differ in them. They are local to
    their sub-select: nothing outside can read them.
    """
    return node.transform(_number)


def _number(node: Node) -> Node:
    if not isinstance(node, Project):
        return node
    names: dict[Variable, Variable] = {}

    def number(variable: Variable) -> Variable:
        if variable.hidden and variable not in node.names:
            return names.setdefault(variable, Variable(f"_:local{len(names)}"))
        return variable

    return dataclasses.replace(node, input=_map(node.input, number, Project))
