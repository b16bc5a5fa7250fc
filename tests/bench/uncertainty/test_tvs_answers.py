"""The tunnel's queries beside a plain-Python evaluation with SciPy: every answer, under every setting."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import pytest

from bench.data.tunnel import KINDS, Tunnel
from bench.data.tunnel_files import (
    START_MS,
    STREAM,
    elements,
    query_names,
    query_text,
    write_static,
)
from bench.uncertainty.uncertain_engine import Contender, Setting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

stats = pytest.importorskip("scipy.stats")
integrate = pytest.importorskip("scipy.integrate")

SECONDS = 16
TUNNEL = Tunnel(sectors=20, seed=3)
THRESHOLDS = {"q1": 0.2, "q2": 0.1, "q3": 0.55, "q4": 0.0, "q5": 0.0, "q6": 0.0}
EVERY = {"q1": 4, "q2": 8, "q3": 4, "q4": 4, "q5": 8, "q6": 4}
WIDTHS = {"q1": 10, "q2": 5, "q3": 1, "q4": 10, "q5": 5, "q6": 1}
SETTINGS = (
    Setting(placement="cost"),
    Setting(placement="early", lazy=False, cache=False),
    Setting("dear", "late"),
)
TOLERANCE = 1e-6


class Row(NamedTuple):
    """The sector, the readings as written, and probabilities."""

    sector: str
    values: tuple[str, ...]
    probabilities: tuple[float, ...] = ()


class Window:
    """Readings of one kind by sector, from second 1 on, and the error that they have."""

    def __init__(self, stream: str, instant: int, width: int) -> None:
        kind = KINDS[stream]
        self.values: dict[str, list[str]] = defaultdict(list)
        for second in range(max(1, instant - width + 1), instant + 1):
            for element in elements(TUNNEL, stream, second):
                text = " ".join(element.triples)
                sector = re.findall(r"location/(\d+)>", text)
                value = re.findall(r'"([0-9.]+)"\^\^<\S+decimal> \.', text)
                assert len(sector) == len(value) == 1
                self.values[sector[0]].append(value[0])
        name, first, second_ = re.fullmatch(
            r"([NU])\((.*),(.*)\)", kind.kind_error or kind.reading_error or ""
        ).groups()  # type: ignore[union-attr]
        low, high = float(first), float(second_)
        self.error = stats.norm(low, high**0.5) if name == "N" else stats.uniform(low, high - low)

    def below(self, value: str, limit: float) -> float:
        """P(value + error < limit)."""
        return float(self.error.cdf(limit - float(value)))

    def above(self, value: str, limit: float) -> float:
        """P(value + error > limit)."""
        return float(self.error.sf(limit - float(value)))


@cache
def less(first: str, second: str) -> float:
    """P(first + U(-0.01, 0.01) < second + N(0, 0.005)), integrated over the uniform error."""
    normal = stats.norm(0, 0.005**0.5)
    gap = float(first) - float(second)
    mass, _ = integrate.quad(lambda u: normal.sf(u + gap) / 0.02, -0.01, 0.01, epsabs=1e-12)
    return float(mass)


def evaluate(query: str, instant: int) -> Iterator[Row]:
    """What a query answers at an instant, as its description says."""
    windows = {stream: Window(stream, instant, WIDTHS[query]) for stream in KINDS}
    ox1, ox2, temp1, temp2 = windows.values()
    least = THRESHOLDS[query]
    for sector in map(str, range(TUNNEL.sectors)):
        if query in ("q1", "q4"):
            for oxygen, degrees in product(ox2.values[sector], temp2.values[sector]):
                short = ox2.below(oxygen, 0.18)
                if float(degrees) > 30 and query == "q1" and short >= least:
                    yield Row(sector, (oxygen, degrees))
                if float(degrees) > 30 and query == "q4" and float(oxygen) < 0.2:
                    yield Row(sector, (oxygen, degrees), (short,))
        elif query in ("q2", "q5"):
            for values in product(*(w.values[sector] for w in windows.values())):
                numbers = [float(value) for value in values]
                if max(numbers[:2]) >= 0.21 or min(numbers[2:]) <= 27:
                    continue
                probabilities = (
                    ox1.below(values[0], 0.18),
                    ox2.below(values[1], 0.18),
                    temp1.above(values[2], 30),
                    temp2.above(values[3], 30),
                )
                if query == "q5":
                    yield Row(sector, values, probabilities)
                elif min(probabilities) >= least:
                    yield Row(sector, values)
        else:
            for values in product(ox1.values[sector], ox2.values[sector], temp1.values[sector]):
                if float(values[2]) > 30:
                    below = less(values[0], values[1])
                    if query == "q6":
                        yield Row(sector, values, (below, 1 - below))
                    elif max(below, 1 - below) >= least:
                        yield Row(sector, values)


def read(row: tuple[str | None, ...]) -> Row:
    """An answer of the engine: a sector, decimals, doubles."""
    values, probabilities = [], []
    sector = ""
    for term in row:
        assert term is not None
        if found := re.fullmatch(r"<http://example.org/data/location/(\d+)>", term):
            sector = found[1]
        elif found := re.fullmatch(r'"(.*)"\^\^<\S+decimal>', term):
            values.append(found[1])
        else:
            found = re.fullmatch(r'"(.*)"\^\^<\S+double>', term)
            assert found, term
            probabilities.append(float(found[1]))
    return Row(sector, tuple(values), tuple(probabilities))


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tvs") / "tunnel.nt"
    write_static(TUNNEL, path)
    return path


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_answer_is_what_scipy_says(
    spark: SparkSession, static: Path, setting: Setting
) -> None:
    contender = Contender(spark, setting, static)
    try:
        for stream in KINDS:
            contender.engine.register_stream(STREAM + stream)
        answered: dict[str, dict[int, list[Row]]] = {name: {} for name in query_names()}
        # Settings other than the first take each query in one order of windows, in turn.
        names = [n for n in query_names() if setting is SETTINGS[0] or n[2] == "ab"[int(n[1]) % 2]]
        for name in names:
            query = contender.engine.register_query(query_text(name, THRESHOLDS[name[:2]]), name)
            query.subscribe(
                lambda answers, to=answered[name]: to.setdefault(  # type: ignore[misc]
                    (answers.time - START_MS) // 1000, [read(row) for row in answers.rows()]
                )
            )
        for second in range(1, SECONDS + 1):
            for stream in KINDS:
                contender.push(STREAM + stream, elements(TUNNEL, stream, second))
            contender.engine.advance_to(START_MS + second * 1000)
    finally:
        contender.close()
    for name in names:
        instants = list(range(EVERY[name[:2]], SECONDS + 1, EVERY[name[:2]]))
        assert list(answered[name]) == instants
        assert sum(map(len, answered[name].values())) > 0, name
        for instant in instants:
            expected = sorted(evaluate(name[:2], instant))
            found = sorted(answered[name][instant])
            assert [row[:2] for row in found] == [row[:2] for row in expected], (name, instant)
            for row, wanted in zip(found, expected, strict=True):
                assert row.probabilities == pytest.approx(wanted.probabilities, abs=TOLERANCE)


def test_no_probability_lies_at_a_threshold() -> None:
    """Else rounding would decide, and SciPy and the engine might differ."""
    for binding, filtering in (("q4", "q1"), ("q5", "q2"), ("q6", "q3")):
        for instant in range(EVERY[binding], SECONDS + 1, EVERY[binding]):
            for row in evaluate(binding, instant):
                for p in row.probabilities:
                    assert abs(p - THRESHOLDS[filtering]) > TOLERANCE
