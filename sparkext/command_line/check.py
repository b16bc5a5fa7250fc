"""`cqels check`: are these answers to a continuous query right, and if not, where. Needs no Spark."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sparkext.command_line.inputs import (
    check_named_streams,
    grouped,
    on_error_of_streams,
    reading_options,
    tell_skipped,
)
from sparkext.command_line.messages import in_query_file
from sparkext.command_line.query_file import check_graphs, check_windows, locate_graph, read_query
from sparkext.command_line.replay import skipped_entry
from sparkext.command_line.row_streams import mapping_options, read_row_stream
from sparkext.command_line.spark_start import checked_settings
from sparkext.config import Settings
from sparkext.errors import CheckError, InputFileError, UnknownGraphError
from sparkext.oracle import (
    ContinuousEvaluation,
    GraphReplacement,
    judge,
    read_answers,
    read_static_graphs,
)
from sparkext.oracle.verdict import InstantDifference, Verdict
from sparkext.recorded_streams import (
    TIME_PROPERTIES,
    RecordedStream,
    SetAside,
    StreamElement,
    read_recorded_stream,
)
from sparkext.s2r.event_time import format_date_time
from sparkext.s2r.time_horizon import TimeHorizon
from static_data.files.on_error import OnError, Skipped, write_skipped
from static_data.files.rdf_version import RdfVersion

if TYPE_CHECKING:
    from sparkext.language.query import Query
    from sparkext.oracle.evaluation import Answer, Row
    from sparkext.runtime.streams.stream_mapping import MappingOptions

CORRECT, WRONG = 0, 1
_SHOWN_ROWS = 5


def execute(arguments: Namespace) -> int:
    """Run the command; gives the exit status: 0 for right answers, 1 for wrong ones."""
    profile, settings = _settings(arguments)
    query = read_query(arguments.query, settings, supported_only=False)
    files = grouped(arguments.stream)
    check_windows(arguments.query, query, list(files))
    check_named_streams(arguments, files)
    given = read_answers(arguments.answers, query)
    named = grouped(arguments.static_graph)
    version = RdfVersion(settings.rdf)
    reading = reading_options(arguments).reading(version, settings.load_max_expansion)
    skipped: list[Skipped] = []
    static = read_static_graphs(arguments.static, named, reading=reading, skipped=skipped)
    changes = [
        GraphReplacement(
            change.time,
            change.graph,
            read_static_graphs(
                [change.file], scope=f"c{place}", reading=reading, skipped=skipped
            ).default,
        )
        for place, change in enumerate(arguments.static_change)
    ]
    if skipped:
        tell_skipped(len(skipped), write_skipped(skipped, arguments.skipped))
    changed = [change.graph for change in changes if change.graph is not None]
    check_graphs(arguments.query, query, [*(name[1:-1] for name in static.named), *changed])
    recordings = _recordings(files, query, arguments, settings)
    streams = {iri: recording.elements for iri, recording in recordings.items()}
    _leave_out_what_is_ahead(streams, settings.max_ahead)
    bags = getattr(settings, "duplicates", "set") == "bag"
    try:
        evaluation = ContinuousEvaluation(
            query,
            streams,
            static,
            profile,
            bags=bags,
            starting_at=settings.starting_at,
            closed_open=settings.window_bounds == "closed-open",
            changes=changes,
        )
        verdict = judge(evaluation, given, arguments.skip_empty or None, arguments.registered_at)
    except UnknownGraphError as error:
        raise locate_graph(arguments.query, query, error) from error
    except CheckError as error:
        raise in_query_file(arguments.query, error, None) from error
    for line in report(verdict, query, given, arguments.show):
        sys.stdout.write(f"{line}\n")
    return CORRECT if verdict.correct else WRONG


def _settings(arguments: Namespace) -> tuple[str, Settings]:
    """The profile, and all settings."""
    settings = Settings.from_mapping(checked_settings(arguments.settings, arguments.semantics))
    return settings.semantics, settings


def _recordings(
    files: Mapping[str, Sequence[str]], query: Query, arguments: Namespace, settings: Settings
) -> dict[str, RecordedStream]:
    used = dict.fromkeys(window.stream.value for window in query.windows)
    properties = (*TIME_PROPERTIES, *arguments.time_property)
    mappings = mapping_options(arguments, used)
    recordings = {
        iri: _mapped(iri, files[iri], mappings[iri], arguments)
        if iri in mappings
        else read_recorded_stream(
            files[iri],
            properties,
            scope=f"r{place}",
            version=RdfVersion(settings.rdf),
            on_error=on_error_of_streams(arguments),
            most_expansion=settings.load_max_expansion,
        )
        for place, iri in enumerate(used)
    }
    for iri, recording in recordings.items():
        if recording.set_aside:
            count = len(recording.set_aside)
            sys.stderr.write(f"cqels: stream <{iri}>: {count} malformed, set aside\n")
            if arguments.skipped is not None:
                write_skipped(map(skipped_entry, recording.set_aside), arguments.skipped)
    return recordings


def _mapped(
    iri: str, files: Sequence[str], options: MappingOptions, arguments: Namespace
) -> RecordedStream:
    """The elements that a mapping makes of rows."""
    lenient = on_error_of_streams(arguments) is OnError.SKIP
    elements, flaws = read_row_stream(iri, files, options, lenient).elements(options)
    if flaws and not lenient:
        raise InputFileError(files[0], None, None, flaws[0])
    return RecordedStream(elements, [SetAside(files[0], None, None, flaw) for flaw in flaws])


def _leave_out_what_is_ahead(streams: dict[str, list[StreamElement]], max_ahead: int) -> None:
    """Take out the elements that `cqels run` sets aside because their time cannot be right."""
    times = sorted(element.time_ms for elements in streams.values() for element in elements)
    horizon = TimeHorizon(max_ahead)
    horizon.begin_replay(times)
    count = horizon.believed(times)
    if count == len(times):
        return
    for iri, elements in streams.items():
        kept = [element for element in elements if element.time_ms < times[count]]
        if len(kept) < len(elements):
            ahead = len(elements) - len(kept)
            sys.stderr.write(f"cqels: stream <{iri}>: {ahead} ahead of time, set aside\n")
            streams[iri] = kept


def report(
    verdict: Verdict, query: Query, given: Mapping[int, Answer], shown: int
) -> Iterator[str]:
    """The lines that tell a user what was found."""
    total = f"{verdict.compared} {_plural('instant', verdict.compared)}"
    if verdict.correct:
        rows = sum(len(answer.rows) for answer in given.values())
        yield f"correct: {total}, {rows} {_plural('row', rows)}"
    else:
        count = len(verdict.differences)
        yield f"wrong: {count} of {total} {'differs' if count == 1 else 'differ'}"
    if verdict.starts is not None:
        starts = ", ".join(
            f"{'unnamed window' if window.name is None else window.name.n3()} {format_date_time(t0)}"
            for window, t0 in zip(query.windows, verdict.starts, strict=True)
            if t0 is not None
        )
        what = "it is right with" if verdict.correct else "nearest with"
        candidates = f"{verdict.candidates} {_plural('candidate', verdict.candidates)}"
        yield f"t0 is hidden: {what} t0 of {starts}, of {candidates}"
        if verdict.since is not None:
            yield f"compared from {format_date_time(verdict.since)} on"
    for difference in verdict.differences[:shown]:
        yield from _difference_lines(difference)
    if len(verdict.differences) > shown:
        left = len(verdict.differences) - shown
        yield f"... and {left} more {_plural('instant', left)}"


def _difference_lines(difference: InstantDifference) -> Iterator[str]:
    time, kind = format_date_time(difference.time), difference.kind.value
    right, theirs = difference.expected, difference.given
    if right is None:
        assert theirs is not None
        yield f"{time} {kind}: the query is not evaluated here"
        yield from _row_lines("+", theirs, theirs.rows)
        return
    if right.form == "ASK":
        found = "nothing" if theirs is None else theirs.boolean
        yield f"{time} {kind}: expected {_word(right.boolean)}, found {_word(found)}"
        return
    if theirs is None:
        yield f"{time} {kind}: {len(right.rows)} {_plural('row', len(right.rows))} expected"
        yield from _row_lines("-", right, right.rows)
        return
    missing, extra = difference.rows.missing, difference.rows.extra
    yield f"{time} {kind}: {len(missing)} missing, {len(extra)} extra"
    yield from _row_lines("-", right, missing)
    yield from _row_lines("+", right, extra)


def _row_lines(sign: str, answer: Answer, rows: tuple[Row, ...]) -> Iterator[str]:
    for row in sorted(rows, key=lambda row: tuple(text or "" for text in row))[:_SHOWN_ROWS]:
        if answer.form == "CONSTRUCT":
            yield f"  {sign} {' '.join(text or '' for text in row)} ."
        else:
            cells = (
                f"?{v}={t}" for v, t in zip(answer.variables, row, strict=True) if t is not None
            )
            yield f"  {sign} {' '.join(cells) or '(nothing bound)'}"
    if len(rows) > _SHOWN_ROWS:
        yield f"  {sign} ... and {len(rows) - _SHOWN_ROWS} more"


def _word(value: object) -> str:
    return str(value).lower()


def _plural(word: str, number: int) -> str:
    return word if number == 1 else f"{word}s"
