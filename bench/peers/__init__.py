"""What benches of peers share: their processes, the lines that pass between, and SQL for the relational ones.

A peer is a module that is started as `python -m MODULE`, reads one JSON object a line and answers each with one
(`bench.arrivals` has the requests). A failure is answered with {"error": message, "kind": class}. The end of its input
ends a peer.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class PeerModule:
    """Where a peer is, and what must be installed for it; or the command of one that is no part of this."""

    module: str
    requires: tuple[str, ...]
    command: tuple[str, ...] = ()

    def installed(self) -> bool:
        """Whether all packages the peer needs can be imported."""
        return all(find_spec(name) is not None for name in self.requires)


OURS = "cqels"
