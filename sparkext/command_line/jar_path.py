"""`cqels jar`: the path of the JVM extension for the Spark that is installed here, on one line."""

from __future__ import annotations

import sys
from argparse import Namespace

from sparkext import jar


def execute(arguments: Namespace) -> None:
    """Prints the path, for ``spark-submit --jars $(cqels jar)``; compiles the jar first where none fits.

    Raises JarError when there is none and it cannot be made.
    """
    sys.stdout.write(f"{jar.locate()}\n")
