"""Semantics profiles: what each engine of the papers fixes that RSP-QL leaves to the query.

The table is that of the RSP-QL paper (section 5), with RSP-QL* (its Definition 15) and EP-SPARQL (RSEP-QL, Table 1)
beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from sparkext.errors import ConfigurationError

Operator = Literal["RSTREAM", "ISTREAM", "DSTREAM"]
Selection = Literal["unrestricted", "naive", "chronological", "recent"]


@dataclass(frozen=True, slots=True)
class Profile:
    """What a profile fixes.

    `merged`: windows have no names, all are part of the default graph; False: all have names; None:
    the query says. `operators` are the streaming operators it has, the first the one meant when
    none is written. `start_hidden`: t0 is the engine's affair, not the query's. `policy_fixed`: the
    query cannot choose a report policy. `reports_change`: it is evaluated where an element enters a
    window, whatever the kind of the window. `last_closed`: a window with STEP shows the one that
    closed last, `[open, close)`. `bare_patterns_see_times`: inside WINDOW, a pattern outside GRAPH
    sees the elements' time triples only. `selection`: what a MATCH that names none selects, with the
    consumption that goes with it.
    """

    name: str
    merged: bool | None = None
    operators: tuple[Operator, ...] = ("RSTREAM", "ISTREAM", "DSTREAM")
    start_hidden: bool = False
    policy_fixed: bool = False
    reports_change: bool = False
    last_closed: bool = False
    bare_patterns_see_times: bool = False
    selection: Selection = "unrestricted"


def _ep_sparql(selection: Selection) -> Profile:
    return Profile(
        f"epsparql-{selection}",
        operators=("ISTREAM", "RSTREAM", "DSTREAM"),
        reports_change=True,
        selection=selection,
    )


PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile("rspql"),
        Profile("rspqlstar", last_closed=True, bare_patterns_see_times=True),
        Profile(
            "csparql",
            merged=True,
            operators=("RSTREAM",),
            start_hidden=True,
            policy_fixed=True,
            selection="naive",
        ),
        Profile(
            "cqels",
            merged=False,
            operators=("ISTREAM",),
            start_hidden=True,
            policy_fixed=True,
            reports_change=True,
        ),
        Profile("sparqlstream", merged=True, start_hidden=True, policy_fixed=True),
        _ep_sparql("unrestricted"),
        _ep_sparql("chronological"),
        _ep_sparql("recent"),
    )
}


def profile_named(name: str) -> Profile:
    """The profile of a name; ConfigurationError for the key `spark.cqels.semantics` if there is none.

    >>> profile_named("csparql").operators
    ('RSTREAM',)
    """
    try:
        return PROFILES[name]
    except KeyError:
        known = ", ".join(PROFILES)
        raise ConfigurationError(
            "spark.cqels.semantics", f"must be one of {known}, not {name!r}"
        ) from None
