"""Continuous queries over RDF-star streams and Linked Data on Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparkext.answers.scipy_bridge import from_scipy as from_scipy
    from sparkext.answers.scipy_bridge import to_scipy as to_scipy
    from sparkext.engine import Engine as Engine
    from sparkext.runtime.answering.answers import Answers as Answers
    from sparkext.runtime.streams.stream_mapping import MappingOptions as MappingOptions
    from sparkext.session import configure as configure
    from sparkext.sql.kept_sides import kept_sides as kept_sides

__version__ = "0.2.0"

__all__ = [
    "Answers",
    "Engine",
    "MappingOptions",
    "__version__",
    "configure",
    "from_scipy",
    "kept_sides",
    "to_scipy",
]

# Loaded on first use, so that `cqels --help` and the tests of pure modules need no Spark.
_HOMES = {
    "Answers": "sparkext.runtime.answering.answers",
    "Engine": "sparkext.engine",
    "MappingOptions": "sparkext.runtime.streams.stream_mapping",
    "configure": "sparkext.session",
    "from_scipy": "sparkext.answers.scipy_bridge",
    "kept_sides": "sparkext.sql.kept_sides",
    "to_scipy": "sparkext.answers.scipy_bridge",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
