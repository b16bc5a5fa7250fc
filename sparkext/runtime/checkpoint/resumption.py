"""Taking up what a checkpoint has once a program has registered what it registers: the rest of the queries, the changes
of static graphs, and what queries remember of their last instant."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sparkext.errors import CheckpointError
from sparkext.runtime.checkpoint.change_log import LoggedChange
from sparkext.runtime.checkpoint.restored import Restored
from sparkext.runtime.lateness.recollection import Recollection

logger = logging.getLogger(__name__)


class Resumption:
    """Takes up the rest of a checkpoint, once, before the first element comes in; called under the engine's lock.

    `register` registers a query by text, name, report policy and parameters, `register_stream` a stream with what is
    done about errors and late elements; `remembering` gives what the restored queries are to find again of what they
    told.
    """

    def __init__(
        self,
        path: str,
        restored: Restored,
        register: Callable[[str, str, Any, Mapping[str, str] | None], object],
        register_stream: Callable[[str, str, Mapping[str, Any]], object],
        is_stream: Callable[[str], bool],
        remembering: Callable[[], Iterable[Recollection]],
        redo: Callable[[LoggedChange], None],
        wait: Callable[[int, LoggedChange], None],
    ) -> None:
        self._path = path
        self._restored = restored
        self._register = register
        self._register_stream = register_stream
        self._is_stream = is_stream
        self._remembering = remembering
        self._redo = redo
        self._wait = wait
        self._to_redo = list(restored.changes.made)
        self._to_wait = list(restored.changes.waiting.items())
        self.names: list[str] = []
        """The queries that were registered here, as nobody else had."""

    def run(self) -> None:
        """Take up what is left; where that fails, what was not taken up is by the next call."""
        for name, known in list(self._restored.queries.items()):
            self._take_up(name, known)
        for one in sorted(self._remembering(), key=lambda one: one.turn):
            self._redo_until(one.turn)
            one.find()
        self._redo_until(None)
        while self._to_wait:
            self._wait(*self._to_wait[0])
            del self._to_wait[0]

    def _redo_until(self, turn: int | None) -> None:
        """Make the changes again that were made before so many evaluations."""
        while self._to_redo and (turn is None or (self._to_redo[0].turn or 0) < turn):
            self._redo(self._to_redo[0])
            del self._to_redo[0]

    def _take_up(self, name: str, known: Mapping[str, Any]) -> None:
        said = known["said"]
        if said["text"] is None or "digest" in said:
            raise CheckpointError(
                self._path,
                f"{name} was registered as algebra, or with a report policy that is no text: register"
                " it again before the first element comes in",
            )
        for iri in known["streams"]:
            if not self._is_stream(iri):
                self._take_up_stream(name, iri)
        logger.info("%s is registered again as it was", name)
        self._register(said["text"], name, said["report"], said["parameters"] or None)
        self.names.append(name)

    def _take_up_stream(self, name: str, iri: str) -> None:
        state = self._restored.streams.get(iri)
        if state is None:
            return
        if state["late_of"] is not None:  # it comes with the other
            self._take_up_stream(name, state["late_of"])
            return
        if state["mapped"] is not None:
            raise CheckpointError(
                self._path,
                f"{name} reads the stream <{iri}>, which had a mapping: register the stream with it"
                " before the first element comes in",
            )
        self._register_stream(iri, state["on_error"], state["lateness"])
