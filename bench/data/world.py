"""A DBLP-shaped world: people in research groups, their papers, and who cites whom."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.data import sightings, vocabulary

PEOPLE = 200_000
PAPERS = 300_000
HOLDERS = 5_000
DEFAULT_SEED = 7

# Probabilities of 1, 2, ... authors; repeated authors drop out, which leaves 2.67 in the mean.
AUTHORS = (0.21, 0.30, 0.25, 0.13, 0.06, 0.024, 0.012, 0.007, 0.004, 0.003)
MEAN_REFERENCES = 5.05
PRODUCTIVITY_EXPONENT = 1.9
POPULARITY_EXPONENT = 1.6
AUTHOR_FROM_GROUP = 0.85
REFERENCE_TO_GROUP = 0.10
SMALLEST_GROUP = 5
MEAN_GROUP = 14
# What is drawn is drawn for so many papers at a time, which bounds the memory that large worlds take.
PAPERS_AT_ONCE = 500_000


@dataclass(frozen=True)
class World:
    """Integer arrays of the static data and of who wears a badge.

    Paper `creator_paper[i]` was written by `creator_person[i]`; `reference_paper[i]` cites
    `reference_cited[i]`, an earlier number. No pair occurs twice. `holders` are the people with
    badges, `holder_group` the research group of each. All arrays are int32, ids from 0.
    """

    scale: float
    seed: int
    people: int
    papers: int
    creator_paper: np.ndarray
    creator_person: np.ndarray
    reference_paper: np.ndarray
    reference_cited: np.ndarray
    holders: np.ndarray
    holder_group: np.ndarray
    rooms: int = sightings.ROOMS

    def sightings(self, rate: int, seconds: int) -> sightings.Sightings:
        """The recorded stream at `rate` sightings a second, `seconds` long."""
        return sightings.record(self.holders, self.holder_group, self.seed, rate, seconds)

    def person_iris(self) -> pa.Array:
        """IRIs of all people, by id, without angle brackets."""
        return vocabulary.iris(vocabulary.PERSON, np.arange(self.people))

    def person_names(self) -> pa.Array:
        """Names of all people, by id; each occurs once."""
        return vocabulary.person_names(np.arange(self.people))

    def room_iris(self) -> pa.Array:
        """IRIs of all rooms, by id, without angle brackets."""
        return vocabulary.iris(vocabulary.ROOM, np.arange(self.rooms))

    def room_names(self) -> pa.Array:
        """Names of all rooms, by id."""
        return vocabulary.room_names(np.arange(self.rooms))

    def save(self, path: Path) -> None:
        """Writes all fields to one uncompressed .npz file."""
        arrays = {f.name: np.asarray(getattr(self, f.name)) for f in fields(self)}
        np.savez(path, allow_pickle=False, **arrays)

    @staticmethod
    def load(path: Path) -> World:
        """Reads what `save` wrote."""
        with np.load(path) as stored:
            arrays = {f.name: stored[f.name] for f in fields(World)}
        return World(**{k: v.item() if v.ndim == 0 else v for k, v in arrays.items()})


def holder_count(people: int) -> int:
    """How many people wear badges: 5,000, but at most a quarter of all."""
    return min(HOLDERS, people // 4)


def _pareto(rng: np.random.Generator, exponent: float, size: int, most: float) -> np.ndarray:
    return np.asarray(np.minimum(1.0 + rng.pareto(exponent, size), most))


def _draw(cumulative: np.ndarray, low: np.ndarray, high: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Weighted choice in positions [low, high) of a cumulative sum that starts with 0."""
    begin = cumulative[low]
    target = begin + u * (cumulative[high] - begin)
    # In order of the targets, searches of a sum that no cache holds go through it once.
    order = np.argsort(target)
    position = np.empty(len(target), dtype=np.int64)
    position[order] = np.searchsorted(cumulative, target[order], side="right") - 1
    return np.clip(position, low, high - 1, out=position)


def _pieces(count: np.ndarray) -> list[slice]:
    """Slices of rows of which paper i has count[i], one paper after the other; no paper is in two of them."""
    ends = np.cumsum(count)
    last = np.append(ends[PAPERS_AT_ONCE - 1 : -1 : PAPERS_AT_ONCE], ends[-1])
    return [slice(int(a), int(b)) for a, b in pairwise([0, *last])]


def _groups(rng: np.random.Generator, people: int) -> np.ndarray:
    """Borders of the research groups over positions 0..people, first 0, last `people`."""
    most = people // SMALLEST_GROUP + 1
    sizes = SMALLEST_GROUP - 1 + rng.geometric(1 / (MEAN_GROUP - SMALLEST_GROUP + 1), most)
    borders = np.concatenate([[0], np.cumsum(sizes)])
    borders = borders[borders <= people - SMALLEST_GROUP]
    return np.append(borders, people)


def _distinct(
    pieces: list[slice], subject: np.ndarray, obj: np.ndarray, objects: int
) -> tuple[np.ndarray, np.ndarray]:
    """The distinct pairs in order, written over the arrays given; a piece has all pairs of its subjects."""
    kept = 0
    for rows in pieces:
        key = np.sort(subject[rows].astype(np.int64) * objects + obj[rows])
        key = key[np.append(True, np.diff(key) != 0)[: len(key)]]
        after = kept + len(key)
        subject[kept:after], obj[kept:after] = np.divmod(key, objects)
        kept = after
    return subject[:kept], obj[:kept]


def _creators(
    rng: np.random.Generator, borders: np.ndarray, people: int, paper_group: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Papers and author positions; authors come mostly from the paper's group, by productivity."""
    papers = len(paper_group)
    productivity = _pareto(rng, PRODUCTIVITY_EXPONENT, people, most=200.0)
    cumulative = np.concatenate([[0.0], np.cumsum(productivity)])
    count = rng.choice(np.arange(1, len(AUTHORS) + 1), size=papers, p=AUTHORS)
    paper = np.repeat(np.arange(papers, dtype=np.int32), count)
    pieces = _pieces(count)
    inside = np.empty(len(paper), dtype=bool)
    for rows in pieces:
        inside[rows] = rng.random(rows.stop - rows.start) < AUTHOR_FROM_GROUP

    def choice(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        group = paper_group[paper[rows]]
        low = np.where(inside[rows], borders[group], 0)
        return low, np.where(inside[rows], borders[group + 1], people)

    author = np.empty(len(paper), dtype=np.int32)
    again = np.zeros(len(paper), dtype=bool)
    for rows in pieces:
        author[rows] = _draw(cumulative, *choice(rows), rng.random(rows.stop - rows.start))
        order = np.lexsort((author[rows], paper[rows]))
        same = (np.diff(paper[rows][order]) == 0) & (np.diff(author[rows][order]) == 0)
        again[rows][order[1:]] = same
    # A name drawn twice for one paper is drawn once more, evenly; then it drops out.
    for rows in pieces:
        low, high = (bound[again[rows]] for bound in choice(rows))
        author[rows][again[rows]] = low + (rng.random(len(low)) * (high - low)).astype(np.int64)
    return _distinct(pieces, paper, author, people)


def _references(rng: np.random.Generator, paper_group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Citations of earlier papers by popularity, some of them of papers of the same group."""
    papers = len(paper_group)
    popularity = _pareto(rng, POPULARITY_EXPONENT, papers, most=2_000.0)
    count = rng.geometric(1 / (MEAN_REFERENCES + 1), papers) - 1
    count[0] = 0
    paper = np.repeat(np.arange(papers, dtype=np.int32), count)
    pieces = _pieces(count)
    cited = np.empty(len(paper), dtype=np.int32)
    cumulative = np.concatenate([[0.0], np.cumsum(popularity)])
    for rows in pieces:
        chance = rng.random(rows.stop - rows.start)
        cited[rows] = _draw(cumulative, np.zeros_like(paper[rows]), paper[rows], chance)
    by_group = np.argsort(paper_group, kind="stable").astype(np.int32)
    position = np.empty(papers, dtype=np.int32)
    position[by_group] = np.arange(papers, dtype=np.int32)
    start = np.searchsorted(paper_group[by_group], paper_group).astype(np.int32)
    has_earlier = start < position
    own = np.empty(len(paper), dtype=bool)
    for rows in pieces:
        own[rows] = rng.random(rows.stop - rows.start) < REFERENCE_TO_GROUP
        own[rows] &= has_earlier[paper[rows]]
    cumulative = np.concatenate([[0.0], np.cumsum(popularity[by_group])])
    for rows in pieces:
        citing = paper[rows][own[rows]]
        chance = rng.random(len(citing))
        cited[rows][own[rows]] = by_group[
            _draw(cumulative, start[citing], position[citing], chance)
        ]
    return _distinct(pieces, paper, cited, papers)


def _badges(
    rng: np.random.Generator, borders: np.ndarray, authors: np.ndarray, wanted: int
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and groups of badge holders: all authors of randomly chosen groups."""
    group_of = np.repeat(np.arange(len(borders) - 1), np.diff(borders))
    rank = rng.permutation(len(borders) - 1)
    order = authors[np.argsort(rank[group_of[authors]], kind="stable")]
    chosen = np.sort(order[:wanted])
    return chosen, group_of[chosen]


def generate_world(scale: float, seed: int = DEFAULT_SEED) -> World:
    """The world of 200,000 * scale people and 300,000 * scale papers, the same for the same seed.

    Raises ValueError when the scale leaves fewer than 40 people.
    """
    people, papers = round(PEOPLE * scale), round(PAPERS * scale)
    if people < 40:
        raise ValueError(f"scale {scale} leaves {people} people; at least 40 are needed")
    rng = np.random.default_rng([seed, 1])
    borders = _groups(rng, people)
    sizes = np.diff(borders)
    paper_group = rng.choice(len(sizes), size=papers, p=sizes / people)
    creator_paper, author = _creators(rng, borders, people, paper_group)
    reference_paper, reference_cited = _references(rng, paper_group)
    wrote = np.zeros(people, dtype=bool)
    wrote[author] = True
    chosen, group = _badges(rng, borders, np.flatnonzero(wrote), holder_count(people))
    # Groups are neighbours by position; ids are shuffled, so that nearness tells nothing.
    person = rng.permutation(people).astype(np.int32)
    return World(
        scale=scale,
        seed=seed,
        people=people,
        papers=papers,
        creator_paper=creator_paper,
        creator_person=person[author],
        reference_paper=reference_paper,
        reference_cited=reference_cited,
        holders=person[chosen],
        holder_group=group.astype(np.int32),
    )
