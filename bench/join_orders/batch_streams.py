"""The streams of the adapt bench, batch by batch, as whoever replays them needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.join_orders import drifting, flipping_filters
from bench.join_orders.drifting import RANGE_SECONDS, DriftingWorld
from bench.join_orders.flipping_filters import FlippingFilters

NAMES = (*(stream.name for stream in drifting.streams(1)), flipping_filters.NAME)


class StaticWorld(Protocol):
    """Static data."""

    def static_lines(self) -> Iterator[str]:
        """The data as lines of N-Triples."""


@dataclass(frozen=True)
class BatchStream:
    """A query, its static data, and what arrives in each batch; `phases` has the phase of each.

    Any batch finds all of `present` in the windows other than NOW. `keys` are settings of the engine,
    `passing` the share of a variable's values that its filter lets pass in a phase.
    """

    name: str
    query: str
    iri: str
    phases: tuple[int, ...]
    world: StaticWorld
    arriving: Callable[[int, int], list[str]]
    present: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    passing: Callable[[str, int], float] | None = None

    def told_again(self, second: int) -> tuple[str, ...]:
        """What of `present` is told in this second: all of it in the first, each again in time."""
        return (
            self.present if second == 1 else self.present[second % RANGE_SECONDS :: RANGE_SECONDS]
        )

    @property
    def first_of_phases(self) -> dict[int, int]:
        """The first batch of each phase."""
        return {phase: self.phases.index(phase) for phase in dict.fromkeys(self.phases)}


def write_static(world: StaticWorld, path: Path) -> None:
    """Writes static data as N-Triples."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in world.static_lines())


def batch_streams(size: float, cycles: int, most: int | None = None) -> tuple[BatchStream, ...]:
    """All streams, of `most` batches each; those of drifting people share one static world.

    >>> [(stream.name, len(stream.phases)) for stream in batch_streams(0.01, 1, 4)]  # doctest: +ELLIPSIS
    [('figure 3', 4), ('drift', 4), ..., ('filters', 4)]
    """
    world = DriftingWorld.of_size(size)
    present = tuple(world.present())
    sightings = tuple(line for line in present if "/at>" in line)
    made = [
        BatchStream(
            stream.name,
            stream.query,
            stream.iri,
            stream.order[:most],
            world,
            _entering(world, stream),
            present if stream.windows > 2 else sightings,
        )
        for stream in drifting.streams(cycles)
    ]
    return (*made, _filters(FlippingFilters.of_size(size), cycles, most))


def _entering(
    world: DriftingWorld, stream: drifting.DriftingStream
) -> Callable[[int, int], list[str]]:
    return lambda phase, batch: world.entering(stream.phases[phase], batch, stream.entering)


def _filters(made: FlippingFilters, cycles: int, most: int | None) -> BatchStream:
    return BatchStream(
        flipping_filters.NAME,
        flipping_filters.QUERY,
        flipping_filters.IRI,
        tuple(([0] * 2 + [1] * 2) * 2 * cycles)[:most],
        made,
        made.arriving,
        keys={"spark.cqels.functionBurden": str(flipping_filters.BURDEN)},
        passing=made.share,
    )
