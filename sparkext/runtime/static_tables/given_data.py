"""Static data as callers give them: files of RDF, graphs of rdflib, rows with a mapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sparkext.answers.rdflib_bridge import given_graph, is_rdflib
from sparkext.argument_checks import check
from sparkext.runtime.static_tables.mapped_rows import load_rows
from sparkext.runtime.streams.stream_mapping import MappingOptions

if TYPE_CHECKING:
    from sparkext.runtime.parts.engine_parts import EngineParts
    from static_data.loading.load import LoadReport


def load_given(
    parts: EngineParts,
    given: object,
    mapping: str | Path | MappingOptions | None,
    graph: str | None,
    format: str | None,
    progress: bool | None,
    base_iri: str | None,
    on_error: str,
    skipped_file: str | Path | None,
    contexts: Mapping[str, str | Path] | None,
    resume: str | Path | None,
) -> LoadReport:
    """Load into the engine's store; see `Engine.load_static`."""
    if resume is not None and (mapping is not None or is_rdflib(given)):
        raise check.wrong("resume", "None: only loads of RDF files can be resumed", resume)
    if mapping is not None:
        rows = MappingOptions.of(mapping, base_iri=base_iri)
        return load_rows(parts, given, rows, graph, progress, on_error, skipped_file)
    if is_rdflib(given):
        found = given_graph("files", given, format=format, base_iri=base_iri, contexts=contexts)
        return parts.store.load_statements(found, graph, progress, on_error, skipped_file)
    return parts.store.load(
        cast("str | Path | Sequence[str | Path]", given),
        graph=graph,
        format=format,
        progress=progress,
        base_iri=base_iri,
        on_error=on_error,
        skipped_file=skipped_file,
        contexts=contexts,
        resume=resume,
    )
