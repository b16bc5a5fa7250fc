"""Literals of `rspu:distribution` to and from frozen distributions of `scipy.stats`, imported only when asked for.

Which family is which: docs/uncertainty.md. There and back again, a frozen distribution has the same parameters, bit for
bit, and a literal the same text: what was made of a literal remembers it, in its attribute `literal`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, pairwise, zip_longest
from typing import Any, Final

import numpy as np

from sparkext.answers.scipy_families import (
    FAMILIES,
    by_name,
    histogram,
    number_text,
    numbers_of,
    single_value,
    weighted_values,
)
from sparkext.argument_checks import described
from sparkext.errors import DistributionError, MissingLibraryError
from sparkext.language.uncertainty import RSPU
from static_data.terms import Iri, Literal, Term, TermSyntaxError, parse_term

DATATYPE: Final = Iri(RSPU + "distribution")
_ENDING: Final = f"^^{DATATYPE.n3()}"
_CALL: Final = re.compile(r"[\x00-\x20]*([A-Za-z]+)[\x00-\x20]*\((.*)\)[\x00-\x20]*", re.DOTALL)
_SUMS: Final = ("Sum", "Difference")
_KNOWN: Final = f"{', '.join(FAMILIES)}, rv_histogram and rv_discrete(values=...)"


def is_scipy(thing: object) -> bool:
    """Whether something is of one of scipy's classes, told without importing it."""
    return any(kind.__module__.partition(".")[0] == "scipy" for kind in type(thing).__mro__)


def from_scipy(distribution: Any) -> Literal:
    """The literal of a frozen distribution of `scipy.stats`; raises DistributionError where there is none.

    `rv_histogram` and `rv_discrete(values=...)` need not be frozen.

    >>> from scipy import stats
    >>> from_scipy(stats.norm(19.7, 0.5)).lexical, from_scipy(stats.expon(scale=4)).lexical
    ('N(19.7, 0.25)', 'Exp(0.25)')
    >>> from_scipy(stats.weibull_min(2))
    Traceback (most recent call last):
    sparkext.errors.DistributionError: weibull_min(c=2, loc=0, scale=1) has no literal; those that have are norm, ...
    """
    stats = _stats()
    frozen: Any = distribution
    if isinstance(frozen, stats.rv_histogram | _sample_class(stats)):
        frozen = frozen()
    if not hasattr(frozen, "dist") or not isinstance(
        frozen.dist, stats.rv_continuous | stats.rv_discrete
    ):
        raise DistributionError(
            f"a frozen distribution of scipy.stats is asked for, such as norm(0, 1), not {_named(distribution)}"
        )
    kept = getattr(distribution, "literal", None)
    if isinstance(kept, Literal):
        return kept
    family, parameters = _parameters(frozen)
    if isinstance(frozen.dist, stats.rv_histogram):
        text = _histogram_text(frozen.dist, parameters)
    elif isinstance(frozen.dist, _sample_class(stats)):
        _refuse_moved("rv_discrete(values=...)", parameters)
        text = _call_text(
            "P", chain.from_iterable(zip(frozen.dist.xk, frozen.dist.pk, strict=True))
        )
    elif family in FAMILIES and type(frozen.dist) is type(getattr(stats, family)):
        text = _family_text(family, parameters)
    else:
        raise DistributionError(
            f"{_shown(family, parameters)} has no literal; those that have are {_KNOWN}. A table of what is probable"
            " can stand for others: H(edge, weight, edge, ...), rv_histogram here"
        )
    return Literal(text, DATATYPE)


def to_scipy(literal: Term | str) -> Any:
    """The frozen distribution of a literal, or of its canonical N-Triples text.

    Raises DistributionError where no family of scipy fits, as none does for `Sum(...)` and `Difference(...)`, and for
    what is no distribution.

    >>> frozen = to_scipy('"N(19.7, 0.25)"^^<http://w3id.org/rsp/rspu#distribution>')
    >>> frozen.dist.name, frozen.kwds, frozen.literal.lexical
    ('norm', {'loc': 19.7, 'scale': 0.5}, 'N(19.7, 0.25)')
    """
    if isinstance(literal, str):
        try:
            literal = parse_term(literal)
        except TermSyntaxError as error:
            raise DistributionError(f"literal: not a distribution: {error}") from None
    if not isinstance(literal, Literal) or literal.datatype != DATATYPE:
        shown = literal.n3() if isinstance(literal, Iri | Literal) else described(literal)
        raise DistributionError(f"a literal of {DATATYPE.n3()} is asked for, not {shown}")
    frozen = _frozen(literal.lexical)
    frozen.literal = literal
    return frozen


def is_distribution(text: str | None) -> bool:
    """Whether the canonical text of a term is a literal of the datatype, well-formed or not."""
    return text is not None and text.endswith(_ENDING)


def with_distributions(
    rows: Iterable[Sequence[str | None]], names: Sequence[str]
) -> list[tuple[Any, ...]]:
    """Rows in which distributions are frozen ones of scipy; an error names the row and the variable."""
    found = []
    for number, row in enumerate(rows):
        cells: list[Any] = list(row)
        for place, text in enumerate(row):
            if text is not None and is_distribution(text):
                try:
                    cells[place] = to_scipy(text)
                except DistributionError as error:
                    raise DistributionError(f"row {number}, ?{names[place]}: {error}") from None
        found.append(tuple(cells))
    return found


def _stats() -> Any:
    try:
        from scipy import stats
    except ImportError:
        raise MissingLibraryError("a frozen distribution", "scipy", "scipy") from None
    return stats


@lru_cache(maxsize=1)
def _sample_class(stats: Any) -> Any:
    """The class of what rv_discrete makes of values; it has no public name."""
    return type(stats.rv_discrete(values=([0], [1])))


def _named(thing: Any) -> str:
    name = getattr(thing, "name", None)
    return f"scipy.stats.{name}, which is not frozen" if isinstance(name, str) else described(thing)


def _parameters(frozen: Any) -> tuple[str, dict[str, Any]]:
    """The name of its family, and all its parameters by name, those too that are left out."""
    shapes = frozen.dist.shapes.split(", ") if frozen.dist.shapes else []
    names = [*shapes, "loc", "scale"]
    given = {"loc": 0, "scale": 1, **dict(zip(names, frozen.args, strict=False)), **frozen.kwds}
    return str(frozen.dist.name), {name: given[name] for name in names}


def _shown(family: str, parameters: dict[str, Any]) -> str:
    return f"{family}({', '.join(f'{name}={value}' for name, value in parameters.items())})"


def _family_text(family: str, parameters: dict[str, Any]) -> str:
    try:
        doubles = {name: float(value) for name, value in parameters.items()}
    except (TypeError, ValueError):
        raise DistributionError(
            f"{_shown(family, parameters)}: a literal is one distribution, of numbers"
        ) from None
    numbers = FAMILIES[family].numbers(doubles)
    if numbers is None:
        raise DistributionError(
            f"{_shown(family, parameters)} has no literal: its parameters, or what follows from them, such as a"
            " variance or an end, are none that doubles can hold"
        )
    return f"{FAMILIES[family].names[0]}({', '.join(numbers)})"


def _refuse_moved(what: str, parameters: dict[str, Any]) -> None:
    if parameters["loc"] != 0 or parameters["scale"] != 1:
        raise DistributionError(
            f"{what} with loc={parameters['loc']}, scale={parameters['scale']} has no literal: move its values"
        )


def _histogram_text(made: Any, parameters: dict[str, Any]) -> str:
    _refuse_moved("rv_histogram", parameters)
    heights, edges = made._histogram
    widths = [high - low for low, high in pairwise(edges)]
    density = made._density
    if density is None:  # unsaid: scipy then goes by the widths
        density = not np.allclose(widths, widths[0])
    if density:
        heights = [height * width for height, width in zip(heights, widths, strict=True)]
    numbers = chain.from_iterable(zip_longest(edges, heights))
    return _call_text("H", (number for number in numbers if number is not None))


def _call_text(name: str, numbers: Iterable[Any]) -> str:
    text = f"{name}({', '.join(number_text(float(number)) for number in numbers)})"
    if _made(text) is None:
        raise DistributionError(f"{text} is no distribution")
    return text


def _frozen(text: str) -> Any:
    if (made := _made(text)) is not None:
        return made
    call = _CALL.fullmatch(text)
    if call and call[1] in _SUMS:
        reason = f"scipy has no family for {call[1]}(...), and nothing is approximated; rspu:mean and others ask it"
    else:
        reason = (
            f"no distribution, or one with parameters beyond doubles; of those, scipy has {_KNOWN}"
        )
    raise DistributionError(f'"{text[:200]}" has no frozen distribution: {reason}')


def _made(text: str) -> Any:
    """The frozen distribution, None where there is none."""
    call = _CALL.fullmatch(text)
    numbers = numbers_of(call[2]) if call else None
    if call is None or numbers is None:
        return None
    stats, name = _stats(), call[1]
    if (value := single_value(name, numbers)) is not None:
        return stats.rv_discrete(values=([value], [1.0]))()
    if (values := weighted_values(name, numbers)) is not None:
        return stats.rv_discrete(values=values)()
    if (table := histogram(name, numbers)) is not None:
        return stats.rv_histogram(table, density=False)()
    family = by_name(name, len(numbers))
    parameters = family[1].parameters(numbers) if family else None
    return getattr(stats, family[0])(**parameters) if family and parameters else None
