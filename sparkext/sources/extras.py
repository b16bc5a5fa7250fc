"""Libraries that only some users need: imported when they are used, named with their extra where they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sparkext.errors import MissingLibraryError


def library(module: str, extra: str, what: str) -> Any:
    """A module of an optional library; `what` is what needs it.

    Raises MissingLibraryError, which names the extra that brings it.

    >>> library("json", "none", "a test").__name__
    'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # What the library itself lacks is another matter.
        if error.name is None or module.split(".")[0] != error.name.split(".")[0]:
            raise
        raise MissingLibraryError(what, module.split(".")[0], extra) from None
