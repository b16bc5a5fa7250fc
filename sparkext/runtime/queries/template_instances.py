"""The instances of a template in the JVM: their constants as a relation, and whose each answer is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkext.language.nodes import Variable
from static_data.terms import Term

if TYPE_CHECKING:
    from sparkext.bridge.engine_room import EngineRoom

NUMBER = Variable("number of the instance")
"""The variable of an instance's number; no query can write it."""

Shares = Mapping[int, tuple[int, int]]
"""Where the answers of each instance that has some begin among those of its template, and how many they are."""


class TemplateInstances:
    """The relation of a template's instances, each with a number and as many constants as others have.

    Used under the engine's lock. What comes and goes reaches the JVM in one call, before an evaluation.
    """

    def __init__(self, room: EngineRoom, constants: int) -> None:
        self.jvm = room.instances(constants)
        self.content = self.jvm.content()
        self.number = NUMBER
        self._to_add: dict[int, str] = {}
        self._to_remove: list[int] = []

    def add(self, number: int, constants: Sequence[Term], offset: int, limit: int | None) -> None:
        """Take in an instance before the next evaluation; its constants stay in the dictionary as long as it."""
        cut = f"{offset},{-1 if limit is None else limit}"
        self._to_add[number] = "\n".join((str(number), cut, *(term.n3() for term in constants)))

    def remove(self, number: int) -> None:
        """Forget an instance before the next evaluation."""
        if self._to_add.pop(number, None) is None:
            self._to_remove.append(number)

    def settle(self) -> bool:
        """Have the JVM's relation be as it was told; whether anything changed."""
        if not (self._to_add or self._to_remove):
            return False
        self.jvm.change("\n\n".join(self._to_add.values()), ",".join(map(str, self._to_remove)))
        self._to_add.clear()
        self._to_remove.clear()
        return True


def take_shares(outcome: Mapping[str, Any]) -> Shares:
    """Whose the answers of an evaluation are, as ContinuousQuery.evaluate reports it; the file is gone afterwards."""
    path = outcome.get("instances")
    if path is None:
        return {}
    pairs = np.fromfile(path, dtype=np.int32)
    Path(path).unlink()
    numbers, counts = pairs[::2], pairs[1::2]
    starts = np.cumsum(counts) - counts
    return dict(
        zip(numbers.tolist(), zip(starts.tolist(), counts.tolist(), strict=True), strict=True)
    )
