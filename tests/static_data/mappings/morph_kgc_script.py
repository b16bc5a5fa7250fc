"""Runs morph-kgc, in a Python of its own: on standard input a JSON list of [folder, configuration], on standard output
a list of the triples of each, or of what went wrong."""

from __future__ import annotations

import contextlib
import json
import os
import sys


def _run(folder: str, configuration: str) -> list[str] | str:
    import morph_kgc

    os.chdir(folder)
    try:
        return sorted(morph_kgc.materialize_set(configuration))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    given = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        answers = [_run(*one) for one in given]
    json.dump(answers, sys.stdout)
