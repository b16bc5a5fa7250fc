"""What may come of a case: an answer, or an error of our own that says something."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, Protocol

from sparkext.errors import CqelsError
from static_data.errors import StaticDataError

ANSWER: Final = "answer"
RAW: Final = "raw"
HANG: Final = "hang"
CRASH: Final = "crash"
FAILURES: Final = (RAW, HANG, CRASH)


class Target(Protocol):
    """Something that takes what nobody vouches for; `batch` cases are given to it at a time."""

    name: str
    batch: int

    def case(self, random: Random) -> bytes:
        """A case by chance."""
        ...

    def run(self, cases: Sequence[bytes]) -> list[str]:
        """What comes of each: ANSWER, the name of an error, or RAW with what else was raised."""
        ...


def outcome(call: Callable[[], object]) -> str:
    """What comes of a call."""
    try:
        call()
    except (CqelsError, StaticDataError) as error:
        return type(error).__name__ if str(error).strip() else f"{RAW}: no message"
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = " ".join(str(error).split())[:200]
        return f"{RAW}: {type(error).__name__} in {place.name}: {said}"
    return ANSWER


def is_failure(told: str) -> bool:
    """Whether an outcome is a defect."""
    return told.startswith(FAILURES)


def text_of(case: bytes) -> str:
    """A case as text; what is no UTF-8 becomes lone surrogates."""
    return case.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """A text as a case."""
    return text.encode("utf-8", "surrogatepass")
