"""The queries of the tunnel-ventilation workload over a few elements, against plain Python with SciPy.

Several of them read, inside a window, what only the outside binds: they run with `filterScope=lift`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from scipy import integrate, stats

from sparkext.recorded_streams import StreamElement
from tests.sparkext.uncertainty.readings import RSPU, XSD, engine_with, local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THRESHOLD = 0.3
SECONDS = 12
PLACES = range(3)
DATA = "http://example.org/data/"
ONTOLOGY = "http://example.org/ontology/"
SOSA = "http://www.w3.org/ns/sosa/"
# Stream: type of sensor, what it observes, least and greatest value, the error that readings are annotated with.
STREAMS = {
    "ox1": ("OxygenSensorType1", "oxygen", 0.165, 0.205, None),
    "ox2": ("OxygenSensorType2", "oxygen", 0.165, 0.205, "N(0,0.005)"),
    "temp1": ("TemperatureSensorType1", "temperature", 27.5, 33.0, None),
    "temp2": ("TemperatureSensorType2", "temperature", 27.5, 33.0, "N(0,0.5)"),
}


@dataclass(frozen=True)
class Reading:
    stream: str
    place: int
    second: int
    value: float


def readings() -> list[Reading]:
    random = Random(3)
    return [
        Reading(stream, place, second, round(random.uniform(low, high), 4))
        for second in range(1, SECONDS + 1)
        for stream, (_, _, low, high, _) in STREAMS.items()
        for place in PLACES
        if stream.startswith("ox") or place % 2 == 0
    ]


def element(reading: Reading) -> StreamElement:
    sensor, observed, _, _, error = STREAMS[reading.stream]
    name = f"<{DATA}observation/{sensor}/{reading.place}#{reading.second}>"
    stated = f'{name} <{SOSA}hasSimpleResult> "{reading.value}"^^<{XSD}decimal>'
    triples = [
        f"{name} <{SOSA}observedProperty> <{DATA}{observed}/{reading.place}> .",
        f"{name} <{SOSA}hasFeatureOfInterest> <{DATA}location/{reading.place}> .",
        f"{name} <{SOSA}madeBySensor> <{DATA}sensor/{sensor}#{reading.place}> .",
        f"{stated} .",
    ]
    if error is not None:
        triples.append(f'<< {stated} >> <{RSPU}uncertainty> "{error}"^^<{RSPU}distribution> .')
    graph = f"<{DATA}graph/{sensor}_{reading.place}#{reading.second}>"
    return StreamElement(reading.second * 1000, graph, tuple(triples), None, ())


def static_data(folder: Path) -> Path:
    rdf_type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    lines = [
        f'<{ONTOLOGY}{sensor}> <{RSPU}uncertainty> "{error}"^^<{RSPU}distribution> .'
        for sensor, error in {
            "OxygenSensor1": "U(-0.01,0.01)",
            "TemperatureSensor1": "U(-2,2)",
        }.items()
    ]
    for place, (sensor, *_) in product(PLACES, STREAMS.values()):
        name = f"<{DATA}sensor/{sensor}#{place}>"
        lines.append(f"{name} {rdf_type} <{ONTOLOGY}{sensor.replace('Type', '')}> .")
        lines.append(f"{name} <{ONTOLOGY}location> <{DATA}location/{place}> .")
    path = folder / "sensors.nt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


# -- what is right ------------------------------------------------------------------------------------


def deviation(variance: float) -> float:
    return float(variance**0.5)


def oxygen_1_low(value: float) -> float:
    return float(stats.uniform(value - 0.01, 0.02).cdf(0.18))


def oxygen_2_low(value: float) -> float:
    return float(stats.norm(value, deviation(0.005)).cdf(0.18))


def temperature_1_high(value: float) -> float:
    return float(stats.uniform(value - 2, 4).sf(30))


def temperature_2_high(value: float) -> float:
    return float(stats.norm(value, deviation(0.5)).sf(30))


@cache
def first_is_less(value1: float, value2: float) -> float:
    """P(value1 + U(-0.01, 0.01) < value2 + N(0, 0.005))."""
    other = stats.norm(value2, deviation(0.005))
    low, high = value1 - 0.01, value1 + 0.01
    return float(integrate.quad(other.sf, low, high, epsabs=1e-12)[0] / (high - low))


Solution = tuple[tuple[float, ...], tuple[float, ...]] | None
"""Values and probabilities of a combination of readings that is an answer."""


def q1(values: tuple[float, ...]) -> Solution:
    oxygen, heat = values
    return (values, ()) if oxygen_2_low(oxygen) >= THRESHOLD and heat > 30 else None


def q2(values: tuple[float, ...]) -> Solution:
    found = q5(values)
    return (values, ()) if found and all(p >= THRESHOLD for p in found[1]) else None


def q3(values: tuple[float, ...]) -> Solution:
    found = q6(values)
    return (values, ()) if found and max(found[1]) >= THRESHOLD else None


def q4(values: tuple[float, ...]) -> Solution:
    oxygen, heat = values
    return (values, (oxygen_2_low(oxygen),)) if oxygen < 0.2 and heat > 30 else None


def q5(values: tuple[float, ...]) -> Solution:
    first, second, third, fourth = values
    if max(first, second) >= 0.21 or min(third, fourth) <= 27:
        return None
    return values, (
        oxygen_1_low(first),
        oxygen_2_low(second),
        temperature_1_high(third),
        temperature_2_high(fourth),
    )


def q6(values: tuple[float, ...]) -> Solution:
    less = first_is_less(values[0], values[1])
    return (values, (less, 1 - less)) if values[2] > 30 else None


# Query: its streams, the width of its windows in seconds, its answers.
QUERIES: dict[str, tuple[tuple[str, ...], int, Callable[[tuple[float, ...]], Solution]]] = {
    "Q1": (("ox2", "temp2"), 10, q1),
    "Q2": (("ox1", "ox2", "temp1", "temp2"), 5, q2),
    "Q3": (("ox1", "ox2", "temp1"), 1, q3),
    "Q4": (("ox2", "temp2"), 10, q4),
    "Q5": (("ox1", "ox2", "temp1", "temp2"), 5, q5),
    "Q6": (("ox1", "ox2", "temp1"), 1, q6),
}


Row = tuple[tuple[str, ...], tuple[float, ...]]
"""The place and the values of an answer, without needless digits, and its probabilities."""


def row(terms: tuple[str, ...]) -> Row:
    numbers = tuple(term.rstrip("0") for term in terms if "E" not in term)
    return numbers, tuple(float(term) for term in terms if "E" in term)


def expected(query: str, second: int) -> list[Row]:
    """The answers at an instant."""
    streams, width, answer = QUERIES[query]
    content: dict[tuple[str, int], list[float]] = defaultdict(list)
    for reading in readings():
        if second - width < reading.second <= second:
            content[reading.stream, reading.place].append(reading.value)
    rows = []
    for place in PLACES:
        for values in product(*(content[stream, place] for stream in streams)):
            if (found := answer(values)) is not None:
                rows.append((row((str(place), *map(str, found[0])))[0], found[1]))
    return sorted(rows)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(
            {"predicatePlacement": "early", "lazyVariables__enabled": "false"},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"predicatePlacement": "late", "functionCache__acrossEvaluations": "true"},
            marks=pytest.mark.slow,
        ),
        {},
    ],
    ids=["early", "late", "default"],
)
def test_answers_of_all_queries(
    spark: SparkSession, shared: Path, tmp_path: Path, settings: dict[str, str]
) -> None:
    folder = shared / "workloads" / "tvs"
    texts = {
        path.stem: path.read_text(encoding="utf-8")
        .replace("$QUERY_NAME", path.stem)
        .replace("$P", str(THRESHOLD))
        for path in sorted(folder.glob("Q[1-6][ab].rspqlstar"))
    }
    assert len(texts) == 12
    told: dict[str, dict[int, list[Row]]] = {name: {} for name in texts}
    with engine_with(spark, filterScope="lift", **settings) as engine:
        engine.load_static([static_data(tmp_path)], progress=False)
        for stream in STREAMS:
            engine.register_stream(f"http://example.org/{stream}")
        for name, text in texts.items():
            query = engine.register_query(text, name=name)
            assert query.query.warnings == ()
            query.subscribe(
                lambda answers, name=name: told[name].__setitem__(
                    answers.time // 1000,
                    sorted(row(tuple(map(local, terms))) for terms in answers.rows()),
                )
            )
        for stream in STREAMS:
            engine.stream(f"http://example.org/{stream}").push_elements(
                [element(reading) for reading in readings() if reading.stream == stream]
            )
        engine.finish()
        assert not any(query.progress.failures for query in engine.queries.values())
    for name, answers in told.items():
        assert answers
        some = 0
        for second, rows in answers.items():
            right = expected(name[:2], second)
            assert [numbers for numbers, _ in rows] == [n for n, _ in right], (name, second)
            for (_, found), (numbers, wanted) in zip(rows, right, strict=True):
                assert found == pytest.approx(wanted, abs=1e-6), (name, second, numbers)
            some += len(rows)
        assert some, name
