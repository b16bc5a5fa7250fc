"""The order of the rooms, from the lowest to the highest, and what a walk over the imports finds against it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

MOST_LINES = 400
MOST_FILES = 15

ORDER: tuple[tuple[str, ...], ...] = (
    (
        "static_data.errors",
        "static_data.blank_node_labels",
        "static_data.graph_names",
        "static_data.limits",
        "adaptive.errors",
        "adaptive.recent",
    ),
    ("static_data.argument_checks", "static_data.jvm", "static_data.terms", "static_data.files"),
    ("static_data.loading", "static_data.storage", "static_data.mappings"),
    ("static_data",),
    ("adaptive.graph", "adaptive.cost_model", "adaptive.execution_place"),
    ("adaptive.statistics", "adaptive.heuristics"),
    ("adaptive.search",),
    ("adaptive.explain",),
    ("adaptive",),
    ("sparkext.errors", "sparkext.toolchain", "sparkext.bridge", "sparkext.class_archive"),
    ("sparkext.argument_checks",),
    ("sparkext.language", "sparkext.s2r", "sparkext.jar"),
    (
        "sparkext.language.translation",
        "sparkext.rewriting",
        "sparkext.recorded_streams",
        "sparkext.answers",
        "sparkext.setting_types",
    ),
    ("sparkext.setting_keys",),
    ("sparkext.settings",),
    ("sparkext.config", "sparkext.oracle"),
    ("sparkext.r2r.patterns", "sparkext.runtime.answering", "sparkext.session"),
    ("sparkext.r2r.functions", "sparkext.r2r.templates"),
    ("sparkext.r2r.leaves",),
    ("sparkext.r2r.relations",),
    ("sparkext.r2r.operators",),
    ("sparkext.r2r.clusters",),
    ("sparkext.r2r",),
    ("sparkext.runtime.parts", "sparkext.runtime.lateness"),
    ("sparkext.runtime.streams",),
    ("sparkext.runtime.explaining", "sparkext.runtime.static_tables"),
    ("sparkext.runtime.queries",),
    ("sparkext.runtime.checkpoint",),
    ("sparkext.runtime",),
    ("sparkext.sources", "sparkext.sql", "sparkext.rdflib_view"),
    ("sparkext.sinks", "sparkext.notebook"),
    ("sparkext.engine",),
    ("sparkext.page",),
    ("sparkext.serving",),
    ("sparkext.command_line",),
    ("sparkext.cli",),
)
"""Layers of rooms: a room imports from the layers before its own and from itself, not from its neighbours.

A room is a folder with all that is in it, but for rooms inside that have a place of their own; or a module that stands
by itself. The `__init__` of a folder is a door: it may open onto whatever lies inside, and then stands as high as that.
"""


@dataclass(frozen=True)
class Exceptions:
    """What is known to break the rules; the wish is that each becomes empty.

    `circles` are modules that may import each other in a circle, `upward` pairs (who, whom); `lines` and `files` are
    modules and folders that are too large, by their paths.
    """

    circles: frozenset[str] = frozenset()
    upward: frozenset[tuple[str, str]] = frozenset()
    lines: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()


KNOWN = Exceptions()


@dataclass(frozen=True)
class Modules:
    """The modules of some packages below a folder, and which of them import which, wherever the import stands.

    Imports for types and imports inside functions count; a package stands for its `__init__`. What importing a module
    inside a package does to the package's `__init__` does not count.
    """

    root: Path
    paths: Mapping[str, Path]
    imports: Mapping[str, frozenset[str]] = field(repr=False)

    @classmethod
    def below(cls, root: Path, packages: Iterable[str]) -> Modules:
        """Read all modules of the packages."""
        files = sorted(path for package in packages for path in (root / package).rglob("*.py"))
        paths = {_name(path.relative_to(root)): path for path in files}
        imports = {
            name: frozenset(_imported(name, path, paths)) - {name} for name, path in paths.items()
        }
        return cls(root, paths, imports)

    def is_door(self, name: str) -> bool:
        """Whether the module is the `__init__` of a folder."""
        return self.paths[name].name == "__init__.py"

    def circles(self) -> list[list[str]]:
        """The sets of modules that import each other, directly or in a circle."""
        return [sorted(group) for group in _components(self.imports) if len(group) > 1]

    def upward(self, order: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
        """The imports that do not go down the order: (who, whom)."""
        places = {room: place for place, layer in enumerate(order) for room in layer}
        rooms = {name: _room(name, places) for name in self.paths}

        def height(name: str) -> int:
            own = places[rooms[name]]
            if not self.is_door(name):
                return own
            inside = (n for n in self.imports[name] if n.startswith(f"{name}."))
            return max([own, *(places[rooms[n]] for n in inside)])

        return sorted(
            (name, other)
            for name, others in self.imports.items()
            for other in others
            if not (self.is_door(name) and other.startswith(f"{name}."))
            and rooms[name] != rooms[other]
            and height(other) >= height(name)
        )

    def too_long(self) -> list[str]:
        """The paths of modules of more than 400 lines."""
        return sorted(
            path.relative_to(self.root).as_posix()
            for path in self.paths.values()
            if len(path.read_text(encoding="utf-8").splitlines()) > MOST_LINES
        )


def crowded_folders(root: Path, packages: Iterable[str]) -> list[str]:
    """The folders that have more than fifteen source files, an `__init__` not counted."""
    numbers: dict[str, int] = {}
    for package in packages:
        for path in (root / package).rglob("*"):
            if path.suffix in (".py", ".scala", ".lark") and path.name != "__init__.py":
                folder = path.parent.relative_to(root).as_posix()
                numbers[folder] = numbers.get(folder, 0) + 1
    return sorted(folder for folder, number in numbers.items() if number > MOST_FILES)


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                module = ".".join([*above, *([module] if module else [])])
            for alias in node.names:
                whole = f"{module}.{alias.name}"
                if whole in known:
                    yield whole
                elif module in known:
                    yield module


def _room(name: str, places: Mapping[str, int]) -> str:
    """The innermost room that a module is in; the package above all rooms is in the lowest of them."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        if (room := ".".join(parts[:length])) in places:
            return room
    inside = [room for room in places if room.startswith(f"{name}.")]
    if not inside:
        raise ValueError(f"{name} is in no room: give it a place in ORDER of tests/layering.py")
    return min(inside, key=places.__getitem__)


def _components(graph: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """Strongly connected components (Tarjan 1972)."""
    numbers = count()
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> Iterator[list[str]]:
        index[node] = low[node] = next(numbers)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                yield from visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            place = stack.index(node)
            yield stack[place:]
            del stack[place:]

    for node in sorted(graph):
        if node not in index:
            yield from visit(node)
