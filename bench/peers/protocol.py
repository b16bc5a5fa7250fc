"""The side of the protocol that runs inside a peer's process."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any


def milliseconds_since(start: float) -> float:
    """Milliseconds since an earlier `time.perf_counter()`."""
    return (time.perf_counter() - start) * 1000


def answer_requests(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answers requests on standard input, one JSON object a line, until it ends; failures are answers too."""
    # Engines print (Spark's launcher does): keep the pipe for answers, send the rest to stderr.
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            answered = answer(json.loads(line))
        except Exception as error:  # the parent decides what a failure means
            traceback.print_exc()
            answered = {"error": str(error), "kind": type(error).__name__}
        pipe.write(json.dumps(answered) + "\n")
        pipe.flush()
