"""Runs of a bench in processes of their own, each with a JVM that has run nothing before."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def alone(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a function of a module returns in a new process, which ends with it; raises what it raises there.

    Arguments and results are pickled.

    >>> import os
    >>> alone(os.getpid) != os.getpid()
    True
    """
    # Not forked: a JVM that the caller has started must not be shared.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *args, **kwargs).result()
