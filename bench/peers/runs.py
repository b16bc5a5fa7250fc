"""What a bench of peers in processes of their own keeps: what they loaded, whose answers agree, who is missing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.peers import OURS
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

    def load(
        self, peers: list[PeerProcess], folder: Path, scale: float, at_once: int
    ) -> dict[str, PeerProcess]:
        """The peers that took in the static data, so many at a time; the others get a note, as if not installed."""
        loaded = {}
        with ThreadPoolExecutor(at_once) as loading:
            answers = list(loading.map(lambda peer: _load(peer, folder, scale), peers))
        for peer, answer in zip(peers, answers, strict=True):
            if isinstance(answer, PeerError):
                if peer.name == OURS and answer.kind != "NotImplementedError":
                    raise answer
                self.notes[peer.name] = str(answer)
                peer.close()
            else:
                self.versions[peer.name] = answer["version"]
                self.load_s[peer.name] = answer["load_s"]
                loaded[peer.name] = peer
        return loaded

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


def _load(peer: PeerProcess, folder: Path, scale: float) -> dict[str, Any] | PeerError:
    """Have a peer take in the static data: its answer, or why it cannot."""
    progress(f"loading {peer.name}")
    request = {"folder": str(folder), "world": str(folder / "world.npz"), "scale": scale}
    try:
        return peer.ask({"load": request}, LOAD_TIMEOUT)
    except PeerError as error:
        return error
