"""What is wrong with the text of a query, or what it is: found without registering it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkext.errors import failures_told
from sparkext.language import check_supported, parse_query
from sparkext.runtime.parts.profile_rules import under_profile
from sparkext.runtime.registrations import check_continuous

if TYPE_CHECKING:
    from sparkext.engine import Engine


def checked(engine: Engine, text: str) -> dict[str, Any]:
    """What the text asks for, and what is legal but probably not meant; `unknown_streams` are not registered yet.

    Raises QuerySyntaxError, UnknownWindowError or UnsupportedFeatureError, with line and column.
    """
    with failures_told():
        query = parse_query(text, rdf=engine.parts.rdf)
        continuous = bool(query.windows) or query.registration is not None
        if continuous:
            query = under_profile(query, engine.parts.profile)
        check_supported(query, engine.parts.functions.names)
        if continuous:
            check_continuous(query)
    streams = list(dict.fromkeys(window.stream.value for window in query.windows))
    registration = query.registration
    name = None if registration is None or registration.name is None else registration.name.value
    return {
        "continuous": continuous,
        "form": query.form,
        "name": name,
        "variables": [variable.name for variable in query.answered],
        "streams": streams,
        "unknown_streams": [iri for iri in streams if iri not in engine.streams],
        "warnings": [
            {"message": one.message, "line": one.line, "column": one.column}
            for one in query.warnings
        ],
    }
