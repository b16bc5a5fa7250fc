"""`cqels run` over live sources: what feeds which stream, and when the command ends."""

from __future__ import annotations

import hashlib
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from sparkext.command_line.argument_values import is_url
from sparkext.errors import CqelsError, SourceError, first_line
from sparkext.sources.by_url import KafkaTopics, source_of
from sparkext.sources.live_source import LiveSource
from static_data.files.on_error import OnError

if TYPE_CHECKING:
    from sparkext.engine import Engine
    from sparkext.runtime.streams.stream import Stream

_LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class LiveInput:
    """A URL that a stream is fed from; `place` is where Spark keeps how far it has been read, None for nowhere."""

    url: str
    source: LiveSource | KafkaTopics
    place: str | None

    def begin(self, engine: Engine, stream: Stream) -> Any:
        """Begin to feed the stream: a Feed, or a StreamingQuery."""
        if isinstance(self.source, LiveSource):
            return self.source.feed(stream)
        return stream.read(self.source.frame(engine.parts.spark), checkpoint=self.place)


Live = Mapping[str, Sequence[LiveInput]]
"""What feeds streams, by their IRI."""


def live_inputs(arguments: Namespace, files: Mapping[str, Sequence[str]]) -> Live:
    """The live sources among what `--stream` names, all of it or nothing; raises CqelsError for what is none."""
    urls = {iri: [one for one in named if is_url(one)] for iri, named in files.items()}
    urls = {iri: named for iri, named in urls.items() if named}
    options = getattr(arguments, "source_option", [])
    if not urls:
        if options or arguments_of_ends(arguments):
            raise CqelsError("--source-option, --for and --until are for live sources, IRI=URL")
        return {}
    if arguments.command != "run":
        raise CqelsError(
            f"--stream: only `cqels run` reads live sources, such as {next(iter(urls.values()))[0]}"
        )
    recorded = [one for named in files.values() for one in named if not is_url(one)]
    if recorded:
        raise CqelsError(
            f"--stream: {recorded[0]} is a file, and others are live: a run replays or reads, not both"
        )
    others = [iri for iri, _, _ in options if iri is not None and iri not in urls]
    if others:
        raise CqelsError(f"--source-option: no live source feeds <{others[0]}>")
    return {
        iri: [_input(arguments, iri, url, _options_of(iri, options)) for url in named]
        for iri, named in urls.items()
    }


def arguments_of_ends(arguments: Namespace) -> bool:
    """Whether it is said when a live run ends."""
    return any(getattr(arguments, name, None) is not None for name in ("span", "until"))


def _options_of(iri: str, options: Sequence[tuple[str | None, str, str]]) -> dict[str, str]:
    """Those of all sources, then those of the stream's own."""
    chosen = {name: value for whose, name, value in options if whose is None}
    return {**chosen, **{name: value for whose, name, value in options if whose == iri}}


def _input(arguments: Namespace, iri: str, url: str, options: Mapping[str, str]) -> LiveInput:
    folder = None if arguments.checkpoint is None else _folder_beside(arguments.checkpoint)
    session = None
    if folder is not None and url.lower().startswith(("mqtt://", "mqtts://")):
        session = f"cqels-{_digest(_name_kept_in(folder), iri, url)}"
    try:
        source = source_of(
            url,
            options,
            session,
            time_properties=arguments.time_property,
            contexts=dict(arguments.context),
            accept_iris=arguments.on_error == OnError.ACCEPT.value,
        )
    except CqelsError as error:
        raise CqelsError(f"--stream <{iri}>={url}: {error}") from None
    return LiveInput(url, source, None if folder is None else f"{folder}/{_digest(iri, url)}")


def _folder_beside(checkpoint: str) -> str:
    """The folder, or URI, of what is kept of sources, with or without a slash at the end of the checkpoint's."""
    name = checkpoint.rstrip("/") if "://" in checkpoint else str(Path(checkpoint))
    return f"{name}-sources"


def _name_kept_in(folder: str) -> str:
    """What tells a checkpoint from all others, also where a broker has clients of several machines.

    A path does not, and a machine's name changes where it is that of a container.
    """
    local = folder.removeprefix("file:")  # of file:/folder, and of file:///folder
    if "://" in local:
        return folder
    file = Path(local, "name")
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(token_hex(16), "utf-8")
    return file.read_text("utf-8")


def _digest(*texts: str) -> str:
    return hashlib.sha256(" ".join(texts).encode()).hexdigest()[:16]


def run_live(
    engine: Engine,
    live: Live,
    span: int | None,
    until: int | None,
    after_each: Callable[[], object],
) -> None:
    """Feed streams from live sources until so many milliseconds have gone by, or all streams have come to `until`,
    or their other sides have ended; without any of these for ever.

    `after_each` is called now and then. Raises SourceError where a source ends by an error.
    """
    if engine.parts.keeper is not None:
        engine.restore()  # how far sources were read
    end = None if span is None else time.monotonic() + span / 1e3
    running: list[tuple[str, Any]] = []
    try:
        for iri, inputs in live.items():
            stream = engine.stream(iri)
            running += [(one.url, one.begin(engine, stream)) for one in inputs]
        while not _is_over(engine, live, running, end, until):
            after_each()
            time.sleep(_LOOK_SECONDS)
    finally:
        for iri in live:
            engine.stream(iri).stop_sources()
    after_each()


def _is_over(
    engine: Engine,
    live: Live,
    running: Sequence[tuple[str, Any]],
    end: float | None,
    until: int | None,
) -> bool:
    _check(running)
    if end is not None and time.monotonic() >= end:
        return True
    streams = [engine.stream(iri) for iri in live]
    if until is not None and all(s.watermark.complete_up_to >= until for s in streams):
        return True
    return not any(_is_active(source) for _, source in running)


def _is_active(source: Any) -> bool:
    return bool(source.active if hasattr(source, "active") else source.isActive)


def _check(running: Sequence[tuple[str, Any]]) -> None:
    for url, source in running:
        error = source.exception()
        if error is not None:
            raise SourceError(f"{url}: {first_line(error) or type(error).__name__}")
