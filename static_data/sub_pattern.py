"""Static sub-patterns in a canonical form: equal objects exactly when equal up to renaming of
variables.

A sub-pattern is a bag union of branches; a branch is a conjunction of triple patterns with filters.
In the canonical form the projected variables are v0, v1, ... and the others of each branch are
numbered after them, so that the form does not depend on names, on the order of patterns, filters,
branches or projected variables. It is found by colour refinement of the variables and, where that
leaves a choice, by trying all choices and keeping the smallest result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from static_data.errors import StaticDataError

Term = int | str
"""A constant by its id, or a variable by its name (without `?`)."""

_MOST_CHOICES = 50_000


@dataclass(frozen=True, order=True)
class TriplePattern:
    """A triple pattern over one graph, given by its id (0: the default graph)."""

    subject: Term
    predicate: Term
    object: Term
    graph: int = 0

    @property
    def terms(self) -> tuple[Term, Term, Term]:
        """Subject, predicate and object."""
        return (self.subject, self.predicate, self.object)

    @property
    def variables(self) -> frozenset[str]:
        """Names of its variables."""
        return frozenset(term for term in self.terms if isinstance(term, str))


@dataclass(frozen=True)
class TermComparison:
    """A filter that two terms are the same (`=`) or not (`!=`), decided by their ids.

    Literals may be equal as values with different ids: see `prejoin.decidable_by_ids`.
    """

    operator: str
    left: Term
    right: Term

    def __post_init__(self) -> None:
        if self.operator not in ("=", "!="):
            raise StaticDataError(f"a static filter compares by = or !=, not by {self.operator}")

    @property
    def variables(self) -> frozenset[str]:
        """Names of its variables."""
        return frozenset(term for term in (self.left, self.right) if isinstance(term, str))


@dataclass(frozen=True)
class Branch:
    """A conjunction of triple patterns and filters."""

    patterns: tuple[TriplePattern, ...]
    filters: tuple[TermComparison, ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        """Names of the variables that its patterns bind."""
        return frozenset(v for pattern in self.patterns for v in pattern.variables)


@dataclass(frozen=True)
class StaticSubPattern:
    """A sub-pattern in canonical form, to be made with `canonical`.

    Its solutions are bindings of v0 ... v(width-1), each with a multiplicity.
    """

    width: int
    branches: tuple[Branch, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the projected variables: v0, v1, ..."""
        return tuple(f"v{i}" for i in range(self.width))

    @property
    def tables(self) -> frozenset[tuple[int, int | None]]:
        """Graph and predicate (None: any) of all patterns, to know which changes of data concern
        it.
        """
        return frozenset(
            (p.graph, p.predicate if isinstance(p.predicate, int) else None)
            for branch in self.branches
            for p in branch.patterns
        )


def canonical(
    branches: Iterable[Branch], projection: Sequence[str]
) -> tuple[StaticSubPattern, dict[str, str]]:
    """The canonical form, and the canonical column of each projected variable.

    Variables that are not projected are local to their branch, whatever their names. A pattern
    repeated in a branch counts once, since a graph is a set; a repeated branch counts twice. Raises
    StaticDataError when a branch does not bind a projected variable or a filter's variable. Exact
    up to some dozens of like variables; beyond, equal sub-patterns may get different forms, which
    costs sharing but not correctness.

    >>> a = Branch((TriplePattern("paper", 7, "x"), TriplePattern("paper", 7, "y")))
    >>> b = Branch((TriplePattern("p", 7, "friend"), TriplePattern("p", 7, "me")))
    >>> canonical([a], ["x", "y"])[0] == canonical([b], ["friend", "me"])[0]
    True
    >>> canonical([a], ["x"])[0] == canonical([a], ["paper"])[0]
    False
    """
    given = list(branches)
    projected = tuple(dict.fromkeys(projection))
    for branch in given:
        _check(branch, projected)
    search = _ProjectedSearch([_Structure(branch) for branch in given], projected)
    order, encoded = search.best()
    names = {name: f"v{i}" for i, name in enumerate(order)}
    return StaticSubPattern(len(order), tuple(_decoded(code) for code in encoded)), names


def _check(branch: Branch, projected: Iterable[str]) -> None:
    bound = branch.variables
    if not branch.patterns:
        raise StaticDataError("a branch of a static sub-pattern needs a triple pattern")
    for name in projected:
        if name not in bound:
            raise StaticDataError(f"the projected variable ?{name} is not bound in every branch")
    for comparison in branch.filters:
        for name in comparison.variables - bound:
            raise StaticDataError(f"the filter's variable ?{name} is not bound in its branch")


# A branch as plain tuples: facts (tag, graph or operator, terms), where a term is (0, id) or (1,
# number).
Fact = tuple[int, int, tuple[tuple[int, int], ...]]
Code = tuple[Fact, ...]
Colours = dict[str, int]

_PATTERN, _EQUAL, _UNEQUAL = 0, 1, 2


class _Structure:
    """The facts of a branch, with variables by name."""

    def __init__(self, branch: Branch) -> None:
        facts: set[tuple[int, int, tuple[Term, ...]]] = set()
        for pattern in branch.patterns:
            facts.add((_PATTERN, pattern.graph, pattern.terms))
        for comparison in branch.filters:
            tag = _EQUAL if comparison.operator == "=" else _UNEQUAL
            sides = tuple(sorted((comparison.left, comparison.right), key=str))
            facts.add((tag, 0, sides))
        self.facts = list(facts)
        self.variables = sorted(branch.variables)
        self._uses: dict[str, list[tuple[int, int, tuple[Term, ...]]]] = {}
        for fact in self.facts:
            for name in {term for term in fact[2] if isinstance(term, str)}:
                self._uses.setdefault(name, []).append(fact)

    def signature(self, name: str, colours: Mapping[str, int]) -> tuple[Any, ...]:
        """What a variable's facts look like from it, given the colours of the others."""
        seen = []
        for tag, graph, terms in self._uses.get(name, ()):
            view = [
                (0, term)
                if isinstance(term, int)
                else (2, 0)
                if term == name
                else (1, colours[term])
                for term in terms
            ]
            seen.append((tag, graph, tuple(sorted(view) if tag != _PATTERN else view)))
        return tuple(sorted(seen))

    def code(self, numbers: Mapping[str, int]) -> Code:
        """The facts with numbers for variables, sorted."""
        coded = []
        for tag, graph, terms in self.facts:
            view = [(0, t) if isinstance(t, int) else (1, numbers[t]) for t in terms]
            coded.append((tag, graph, tuple(sorted(view) if tag != _PATTERN else view)))
        return tuple(sorted(coded))


def _ranks(signatures: Mapping[str, tuple[Any, ...]]) -> Colours:
    """Colours as ranks of signatures, the number of smaller ones: a finer colouring keeps the
    order.
    """
    ordered = sorted(signatures.values())
    first: dict[tuple[Any, ...], int] = {}
    for i, signature in enumerate(ordered):
        first.setdefault(signature, i)
    return {name: first[signature] for name, signature in signatures.items()}


def _first_tie(colours: Mapping[str, int], names: Iterable[str]) -> list[str]:
    """The variables of the smallest colour that several share."""
    cells: dict[int, list[str]] = {}
    for name in names:
        cells.setdefault(colours[name], []).append(name)
    return next((cells[c] for c in sorted(cells) if len(cells[c]) > 1), [])


class _Budget:
    """How many choices may still be tried before the first one found has to do."""

    def __init__(self) -> None:
        self.left = _MOST_CHOICES

    def choices(self, tied: list[str]) -> Iterator[str]:
        for i, name in enumerate(sorted(tied)):
            if i > 0 and self.left <= 0:
                return
            self.left -= 1
            yield name


class _LocalSearch:
    """The smallest code of one branch when the projected variables have their numbers."""

    def __init__(self, structure: _Structure, numbers: Mapping[str, int], budget: _Budget) -> None:
        self._structure = structure
        self._fixed = numbers
        self._local = [name for name in structure.variables if name not in numbers]
        self._budget = budget
        self._best: Code | None = None

    def best(self) -> Code:
        start = dict(self._fixed) | dict.fromkeys(self._local, len(self._fixed))
        self._try(self._refined(start))
        assert self._best is not None
        return self._best

    def _refined(self, colours: Colours) -> Colours:
        while True:
            finer = _ranks(
                {n: (colours[n], self._structure.signature(n, colours)) for n in self._local}
            )
            finer = {n: c + len(self._fixed) for n, c in finer.items()}
            if len(set(finer.values())) == len({colours[n] for n in self._local}):
                return colours
            colours = {**self._fixed, **finer}

    def _try(self, colours: Colours) -> None:
        tied = _first_tie(colours, self._local)
        if not tied:
            order = sorted(self._local, key=lambda n: colours[n])
            numbers = {**self._fixed, **{n: len(self._fixed) + i for i, n in enumerate(order)}}
            code = self._structure.code(numbers)
            if self._best is None or code < self._best:
                self._best = code
            return
        for chosen in self._budget.choices(tied):
            # The chosen one comes before those it was tied with.
            split = {n: 2 * c + (1 if n in tied and n != chosen else 0) for n, c in colours.items()}
            split |= self._fixed
            local = {n: (split[n],) for n in self._local}
            ranked = {n: c + len(self._fixed) for n, c in _ranks(local).items()}
            self._try(self._refined({**self._fixed, **ranked}))


class _ProjectedSearch:
    """The order of the projected variables, and the codes of all branches, that make the smallest
    whole.
    """

    def __init__(self, structures: list[_Structure], projected: tuple[str, ...]) -> None:
        self._structures = structures
        self._projected = projected
        self._budget = _Budget()
        self._best: tuple[list[Code], tuple[str, ...]] | None = None

    def best(self) -> tuple[tuple[str, ...], list[Code]]:
        self._try(self._refined(self._uniform(dict.fromkeys(self._projected, 0))))
        assert self._best is not None
        codes, order = self._best
        return order, codes

    def _uniform(self, projected: Colours) -> list[Colours]:
        """Colours per branch: projected variables as given, all local ones alike and apart from
        them.
        """
        local = len(self._projected)
        return [
            {n: projected.get(n, local) for n in structure.variables}
            for structure in self._structures
        ]

    def _refined(self, colours: list[Colours]) -> list[Colours]:
        """Refine all branches together: a projected variable has one colour in all."""
        while True:
            shapes = [
                (structure.code(of), tuple(sorted(of.values())))
                for structure, of in zip(self._structures, colours, strict=True)
            ]
            signatures: dict[str, tuple[Any, ...]] = {}
            local: dict[tuple[int, str], tuple[Any, ...]] = {}
            for i, (structure, of) in enumerate(zip(self._structures, colours, strict=True)):
                for name in structure.variables:
                    seen = (shapes[i], structure.signature(name, of))
                    if name in self._projected:
                        old = signatures.get(name, (of[name], ()))
                        signatures[name] = (old[0], tuple(sorted((*old[1], seen))))
                    else:
                        local[i, name] = (of[name], seen)
            finer = _ranks(signatures)
            local_ranks = _ranks({f"{i} {n}": s for (i, n), s in local.items()})
            base = len(self._projected)
            next_colours = [
                {
                    n: finer[n] if n in finer else base + local_ranks[f"{i} {n}"]
                    for n in structure.variables
                }
                for i, structure in enumerate(self._structures)
            ]
            if _cells(next_colours) == _cells(colours):
                return colours
            colours = next_colours

    def _try(self, colours: list[Colours]) -> None:
        merged: Colours = {}
        for of in colours:
            merged |= {n: of[n] for n in self._projected}
        tied = _first_tie(merged, self._projected)
        if not tied:
            order = tuple(sorted(self._projected, key=lambda n: merged[n]))
            numbers = {name: i for i, name in enumerate(order)}
            codes = sorted(
                _LocalSearch(structure, numbers, self._budget).best()
                for structure in self._structures
            )
            if self._best is None or codes < self._best[0]:
                self._best = (codes, order)
            return
        for chosen in self._budget.choices(tied):
            marks = {n: (merged[n], n in tied and n != chosen) for n in self._projected}
            self._try(self._refined(self._uniform(_ranks(marks))))


def _cells(colours: list[Colours]) -> int:
    """How many colours there are: refinement stops when no further one comes."""
    return len({c for of in colours for c in of.values()})


def _decoded(code: Code) -> Branch:
    def term(coded: tuple[int, int]) -> Term:
        return coded[1] if coded[0] == 0 else f"v{coded[1]}"

    patterns = []
    filters = []
    for tag, graph, terms in code:
        decoded = [term(t) for t in terms]
        if tag == _PATTERN:
            subject, predicate, object_ = decoded
            patterns.append(TriplePattern(subject, predicate, object_, graph))
        else:
            left, right = decoded
            filters.append(TermComparison("=" if tag == _EQUAL else "!=", left, right))
    return Branch(tuple(patterns), tuple(filters))
