"""Recorded streams and rows replayed into an engine, and what became of their elements."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from sparkext.recorded_streams import SetAside
from sparkext.runtime.streams.replay import Replay, ReplayedStream, ReplayFile, ReplayOptions
from sparkext.setting_types import show_duration
from static_data.files.on_error import Skipped, write_skipped

if TYPE_CHECKING:
    from sparkext.engine import Engine

_SHOWN_REASONS = 5


def replay(
    engine: Engine,
    recordings: Mapping[str, Sequence[ReplayFile]],
    options: ReplayOptions,
    after_each: Callable[[], object] = lambda: None,
    skipped_file: str | None = None,
    show: bool | None = None,
) -> dict[str, ReplayedStream]:
    """Replay recordings and rows to the end of their streams, see `Replay.steps`; gives what was found in their files.

    `after_each` is called after each step; what is set aside is added to `skipped_file` as it is found. `show` says
    whether progress is shown (None: when standard error is a terminal).
    """
    replayed = Replay(engine, recordings, options)
    # Closed at once where anything is raised: a thread reads ahead.
    with _progress(replayed, show) as moved, closing(replayed.steps()) as steps:
        for aside in steps:
            if aside and skipped_file is not None:
                write_skipped(map(skipped_entry, aside), skipped_file)
            after_each()
            moved()
    return replayed.found


@contextmanager
def _progress(replayed: Replay, show: bool | None) -> Iterator[Callable[[], None]]:
    """A bar on standard error; gives what is to be called as the replay goes on."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda: None
        return
    from tqdm import tqdm

    with tqdm(
        desc="replay", total=replayed.size, unit="B", unit_scale=True, file=sys.stderr, delay=1
    ) as bar:
        yield lambda: bar.update(min(replayed.position, bar.total) - bar.n) and None


def skipped_entry(one: SetAside) -> Skipped:
    """As it is listed in a file of what is skipped."""
    reason = one.reason if one.graph is None else f"{one.graph}: {one.reason}"
    return Skipped(one.file, one.line, None, reason)


def report_lines(engine: Engine, found: Mapping[str, ReplayedStream]) -> list[str]:
    """What to say at the end: how many elements were not used, and the first reasons."""
    lines = []
    for iri, recording in found.items():
        stream = engine.stream(iri)
        count = recording.set_aside_count + stream.malformed_count
        if count:
            reasons = [*map(str, recording.set_aside), *stream.set_aside]
            lines.append(f"stream <{iri}>: {count} malformed, set aside:")
            lines.extend(f"  {reason}" for reason in reasons[:_SHOWN_REASONS])
            if count > _SHOWN_REASONS:
                lines.append(f"  ... and {count - _SHOWN_REASONS} more")
        if stream.late_count:
            allowed = show_duration(stream.lateness.allowed)
            lines.append(
                f"stream <{iri}>: {stream.late_count} too late (spark.cqels.allowedLateness is"
                f" {allowed}), not answered"
            )
        if recording.ignored_triples:
            lines.append(
                f"stream <{iri}>: {recording.ignored_triples} triple(s) outside any element, ignored"
            )
    return lines
