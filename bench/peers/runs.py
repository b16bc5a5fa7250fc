"""What a bench of peers in processes of their own keeps: what they loaded, whose answers agree, who is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.peers import OURS, PeerModule
from bench.peers.process import PeerError, PeerProcess, PeerTimeoutError
from bench.report import BenchError, progress

LOAD_TIMEOUT = 3600.0


class AnswersDifferError(BenchError):
    """Two peers answered the same query over the same content differently."""


@dataclass
class PeerRuns:
    """The fingerprints of answers that all peers must agree on, and what there is to say of each peer."""

    fingerprints: dict[str, tuple[str, str]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    load_s: dict[str, float] = field(default_factory=dict)

    def load(self, peer: PeerProcess, folder: Path, scale: float) -> bool:
        """Have a peer take in the static data; one that cannot is ended and gets a note, as if not installed."""
        progress(f"loading {peer.name}")
        request = {"folder": str(folder), "world": str(folder / "world.npz"), "scale": scale}
        try:
            answer = peer.ask({"load": request}, LOAD_TIMEOUT)
        except PeerError as error:
            if peer.name == OURS and error.kind != "NotImplementedError":
                raise
            self.notes[peer.name] = str(error)
            peer.close()
            return False
        self.versions[peer.name] = answer["version"]
        self.load_s[peer.name] = answer["load_s"]
        return True

    def left_out(self, name: str, error: PeerError) -> None:
        """Note that a peer failed, and that the others go on without it; what is wrong with this engine is raised."""
        if name == OURS and not isinstance(error, PeerTimeoutError):
            raise error
        self.notes[name] = f"ended: {error}"

    def compare(self, name: str, asked: str, fingerprint: str) -> None:
        """Raise AnswersDifferError where another peer answered the same with another fingerprint."""
        first, expected = self.fingerprints.setdefault(asked, (name, fingerprint))
        if fingerprint != expected:
            raise AnswersDifferError(
                f"{asked}: {first} answers {expected}, {name} answers {fingerprint} (rows and a hash)"
            )


def chosen_peers(names: str, peers: Mapping[str, PeerModule], notes: dict[str, str]) -> list[str]:
    """The peers named, separated by commas; those that are not installed get a note instead."""
    wanted = names.split(",")
    unknown = sorted(set(wanted) - set(peers))
    if unknown:
        raise SystemExit(f"unknown peer {', '.join(unknown)}; there are {', '.join(peers)}")
    for name in wanted:
        if not peers[name].installed():
            notes[name] = f"not installed ({', '.join(peers[name].requires)})"
    return [name for name in wanted if name not in notes]
