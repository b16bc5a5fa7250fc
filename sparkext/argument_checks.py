"""The checks of arguments, as this package raises them."""

from __future__ import annotations

from sparkext.errors import ArgumentError
from static_data.argument_checks import ArgumentChecks, described, lone_surrogate

check = ArgumentChecks(ArgumentError)

__all__ = ["check", "described", "lone_surrogate"]
