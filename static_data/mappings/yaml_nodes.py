"""YAML documents as plain values that know their lines."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final, TypeAlias

import yaml

from static_data.errors import MalformedRdfError

_MOST_VALUES: Final = 1_000_000


@dataclass(frozen=True)
class Scalar:
    """A text, whatever YAML would take it for."""

    text: str
    line: int


@dataclass(frozen=True)
class Items:
    """A list."""

    values: list[YamlValue]
    line: int


@dataclass(frozen=True)
class Entries:
    """Keys with values, in their order."""

    values: Mapping[str, YamlValue]
    line: int

    def get(self, key: str) -> YamlValue | None:
        """The value of a key."""
        return self.values.get(key)

    def items(self) -> ItemsView[str, YamlValue]:
        """Keys and values."""
        return self.values.items()


YamlValue: TypeAlias = Scalar | Items | Entries


def read_yaml(file: str | Path) -> YamlValue | None:
    """The one document of a YAML file, None for an empty one; raises MalformedRdfError."""
    try:
        return compose(Path(file).read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise MalformedRdfError(str(file), None, None, f"not UTF-8: {error.reason}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (None, None) if mark is None else (mark.line + 1, mark.column + 1)
        raise MalformedRdfError(str(file), line, column, f"no YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise MalformedRdfError(str(file), None, None, f"no YAML: {error}") from None


def compose(text: str) -> YamlValue | None:
    """The one document of a YAML text, None for an empty one; raises yaml.YAMLError.

    >>> compose("a: [1, yes]")
    Entries(values={'a': Items(values=[Scalar(text='1', line=1), Scalar(text='yes', line=1)], line=1)}, line=1)
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return None if node is None else _value(node, (), count(1))
    except RecursionError:
        raise yaml.MarkedYAMLError(problem="nested too deeply") from None


def _value(node: yaml.Node, around: tuple[int, ...], made: Iterator[int]) -> YamlValue:
    line = node.start_mark.line + 1
    # An alias counts again wherever it stands: a few lines of them could stand for endless ones.
    if next(made) > _MOST_VALUES:
        raise yaml.MarkedYAMLError(
            problem=f"more than {_MOST_VALUES:,} values, aliases written out",
            problem_mark=node.start_mark,
        )
    if id(node) in around:
        raise yaml.MarkedYAMLError(
            problem="an alias of what it is in", problem_mark=node.start_mark
        )
    inside = (*around, id(node))
    if isinstance(node, yaml.SequenceNode):
        return Items([_value(item, inside, made) for item in node.value], line)
    if isinstance(node, yaml.MappingNode):
        values: dict[str, YamlValue] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value in values:
                problem = (
                    "a key that is no text"
                    if not isinstance(key, yaml.ScalarNode)
                    else "a key twice"
                )
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            values[key.value] = _value(value, inside, made)
        return Entries(values, line)
    return Scalar("" if node.tag.endswith(":null") else node.value, line)
