"""Which peers of a bench run, and whether the memory suffices for all of them at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bench.peers import PeerModule

# The share of the free memory that peers started together may want.
MEMORY_SHARE = 0.8
ORDERS = ("auto", "interleaved", "sequential")


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


def _free_gib() -> float:
    try:
        text = Path("/proc/meminfo").read_text(encoding="utf-8")
    except OSError:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return int(text.split("MemAvailable:")[1].split()[0]) / 2**20


def all_at_once(
    order: str, names: list[str], peers: Mapping[str, PeerModule], scale: float
) -> bool:
    """Whether all of these peers are to be up and take turns, by one of ORDERS and the free memory."""
    if order != "auto":
        return order == "interleaved"
    return sum(peers[name].memory_gib(scale) for name in names) < MEMORY_SHARE * _free_gib()
