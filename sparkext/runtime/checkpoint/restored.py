"""A checkpoint that was read: what streams, queries and changes were, for those that are made like them again."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

from py4j.protocol import Py4JJavaError

from sparkext.errors import CheckpointError
from sparkext.runtime.checkpoint import stream_state
from sparkext.runtime.checkpoint.change_log import ChangeLog
from sparkext.runtime.checkpoint.commits import CommitFolder, said
from sparkext.runtime.checkpoint.segment_files import SegmentFiles
from sparkext.runtime.queries.given_query import Said

if TYPE_CHECKING:
    from sparkext.bridge.engine_room import EngineRoom
    from sparkext.runtime.checkpoint.stream_state import StreamTimesKept
    from sparkext.runtime.streams.stream import Stream

logger = logging.getLogger(__name__)


class MappedLike(Protocol):
    """What tells whether a stream's rows are mapped as they were."""

    record_layout: str | None


class Restored:
    """The last commit of a folder; raises CheckpointError where its files are not whole, or settings are others."""

    def __init__(self, folder: CommitFolder, content: Mapping[str, Any], room: EngineRoom) -> None:
        self._folder = folder
        self.content = content
        self.streams: dict[str, dict[str, Any]] = dict(content["streams"])
        parts = content["parts"]
        self.queries: dict[str, dict[str, Any]] = (
            folder.read_part(parts["queries"]) if "queries" in parts else {}
        )
        self.evaluated: dict[str, dict[str, Any]] = content["evaluated"]
        self.changes = ChangeLog(folder.read_part(parts["changes"]) if "changes" in parts else ())
        self.changes.changed = False
        self.segments = SegmentFiles(content["segments"])
        self._elements = self._read(room)

    def _read(self, room: EngineRoom) -> Any:
        began = time.perf_counter()
        elements = room.jvm.restoredElements()
        for iri, state in self.streams.items():
            elements.expect(iri, state["oldest"], state["oldest_time"] - 1)
        jvm = self._folder.jvm
        for file in self.segments.files:
            try:
                elements.read(jvm, file.name)
            except Py4JJavaError as error:
                raise CheckpointError(self._folder.path, said(error)) from None
        room.dictionary.skipElementScopes(self.content["scopes"])
        path, files = self._folder.path, len(self.segments.files)

        def unpack() -> None:
            elements.unpack()
            seconds = time.perf_counter() - began
            logger.info("checkpoint %s read in %.1f s: %d files", path, seconds, files)

        # Beside the loading of static data.
        reader = ThreadPoolExecutor(1, "checkpoint reader")
        self._unpacked = reader.submit(unpack)
        reader.shutdown(wait=False)
        return elements

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise CheckpointError where settings decide on answers and are not what they were."""
        for name, was in self.content["settings"].items():
            if name in settings and settings[name] != was:
                raise CheckpointError(
                    self._folder.path,
                    f"{name} was {was!r} when it was written and is {settings[name]!r} now",
                )

    def restore_stream(self, stream: Stream, evaluations: StreamTimesKept) -> bool:
        """Make a new stream what the one of its IRI was, if there was one."""
        state = self.streams.get(stream.iri)
        if state is None:
            return False
        if state["mapped"] != stream.record_layout:
            now = "with another mapping" if stream.record_layout else "without its mapping"
            raise CheckpointError(
                self._folder.path, f"the stream <{stream.iri}> is registered {now}"
            )
        del self.streams[stream.iri]
        self._unpacked.result()
        stream_state.restore(stream, state, self._elements, evaluations)
        return True

    def take_query(self, name: str, wanted: Said | None) -> dict[str, Any] | None:
        """What is known of the query of a name that is registered again; None for a new one.

        Raises CheckpointError where it was another one.
        """
        known = self.queries.get(name)
        if known is None:
            return None
        if wanted is None or known["said"] != wanted.described():
            raise CheckpointError(
                self._folder.path,
                f"{name} was registered with another text, parameters or report policy; give the"
                " query another name, or have `Engine.forget_query` forget the one of before",
            )
        del self.queries[name]
        return {**known, "state": self.evaluated[known["evaluated_as"]]}

    def give_back(self, name: str, taken: Mapping[str, Any]) -> None:
        """Have a query be still to be registered of which `take_query` told this."""
        self.queries[name] = {key: value for key, value in taken.items() if key != "state"}
