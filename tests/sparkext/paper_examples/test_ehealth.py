"""The e-health scenario of the RSP-QL* paper: annotated readings of five streams, as RDF-star and reified."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import pytest

from bench.data.ehealth import (
    EHEALTH,
    HOME,
    PATIENTS,
    STREAMS,
    XSD,
    Observation,
    background,
    decimal,
    elements,
    limits,
    observations,
)
from bench.data.rdf_files import QUERIES
from bench.data.reification import reified_element, reified_pattern
from sparkext.language import parse_query
from sparkext.oracle import ContinuousEvaluation, static_graphs
from sparkext.oracle.comparison import compare_rows
from tests.oracle.evaluation import Bag, bag

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.recorded_streams import StreamElement
    from sparkext.runtime.answering.answers import Answers

SECONDS = 300
STEP, MINUTE = 10_000, 60_000
STAR = {
    name: (QUERIES / "ehealth" / f"{name}.rspql").read_text()
    for name in ("heart_rate", "low_emergency")
}
REIFIED = {
    name: reified_pattern(text).replace(" ON <", " ON <reified/") for name, text in STAR.items()
}
TEXTS = STAR | {f"reified {name}": text for name, text in REIFIED.items()}
OBSERVED = observations(SECONDS)
RECORDED = elements(OBSERVED)
RECORDED |= {
    iri.replace(HOME, HOME + "reified/"): [reified_element(e) for e in told]
    for iri, told in RECORDED.items()
}


# -- the answers by plain arithmetic over the observations ----------------------------------------------


def integer(value: int) -> str:
    return f'"{value}"^^<{XSD}integer>'


def within(kind: str, instant: int, width: int) -> list[Observation]:
    """The observations of (instant - width, instant]: what a window that has not closed yet holds so far, too."""
    return [o for o in OBSERVED if o.kind == kind and instant - width < o.time_ms <= instant]


def instants(least: int) -> list[int]:
    """Where windows close from the first that is `least` wide to the last that shows anything."""
    return list(range(least, OBSERVED[-1].time_ms + MINUTE, STEP))


def fast_hearts(instant: int) -> Bag:
    return bag(
        (
            f"<{HOME}{o.subject}>",
            integer(int(o.value)),
            decimal(o.confidence),
            f'"1970-01-01T00:{o.time_ms // 60_000:02}:{o.time_ms // 1000 % 60:02}Z"^^<{XSD}dateTime>',
        )
        for o in within("heartRate", instant, MINUTE)
        if o.confidence > 80 and int(o.value) > 90
    )


def readings(kind: str, instant: int, patient: str, sure: int) -> list[int]:
    found = within(kind, instant, MINUTE)
    return [int(o.value) for o in found if o.subject == patient and o.confidence >= sure]


def emergencies(instant: int, sure: int = 80) -> list[tuple[str, str, Fraction, Fraction, int]]:
    """Patient, activity, mean heart and breathing rate, least oxygen saturation."""
    now = {
        (o.kind, o.subject, o.value)
        for kind in ("location", "activity")
        for o in within(kind, instant, STEP)
        if o.confidence > 70
    }
    found = []
    for limit in limits():
        patient, activity = limit.patient, limit.activity
        needed = {
            ("activity", patient, activity),
            ("location", patient, "livingRoom"),
            ("location", PATIENTS[patient], "away"),
        }
        rates = readings("heartRate", instant, patient, sure)
        breaths = readings("breathingRate", instant, patient, sure)
        shares = readings("oxygenSaturation", instant, patient, sure)
        if not (needed <= now and rates and breaths and shares):
            continue
        rate, breath = Fraction(sum(rates), len(rates)), Fraction(sum(breaths), len(breaths))
        if (
            rate > limit.heart_rate_above
            and breath < limit.breathing_rate_below
            and min(shares) >= limit.oxygen_saturation_from
        ):
            found.append((patient, activity, rate, breath, min(shares)))
    return found


# -- the engine -----------------------------------------------------------------------------------------


@dataclass
class Told:
    """The answers of each query by instant; what its result stream said to a query that reads it."""

    rows: dict[str, dict[int, list[tuple[str | None, ...]]]]
    alerts: dict[int, list[tuple[str | None, ...]]]


ALERTS = f"""PREFIX : <{EHEALTH}> SELECT ?partner ?patient ?rate
FROM NAMED WINDOW :alerts ON <{HOME}alerts> [RANGE PT30S STEP PT30S]
{{ WINDOW :alerts {{ ?patient :tell ?partner ; :meanHeartRate ?rate FILTER(?rate > 80) }} }}"""


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """Everything pushed once, all queries registered together, the emergencies pushed on as a stream."""
    from sparkext import Engine

    engine = Engine(spark)
    load_background(engine, tmp_path_factory.mktemp("ehealth"))
    for iri in RECORDED:
        engine.register_stream(iri)
    found = Told({}, {})
    alerts = engine.register_stream(f"{HOME}alerts")
    reader = engine.register_query(ALERTS)
    reader.subscribe(lambda answers: found.alerts.update({answers.time: answers.rows()}))
    for number, (name, text) in enumerate(TEXTS.items()):
        query = engine.register_query(text.replace("RSTREAM <", f"RSTREAM <{number}/"))
        found.rows[name] = {}
        query.subscribe(partial(_keep, found.rows[name]))
        if name == "low_emergency":
            query.subscribe(lambda a: alerts.push(a.triples(), time=a.time) if len(a) else None)
    for iri, recorded in RECORDED.items():
        engine.stream(iri).push_elements(recorded)
    engine.finish()
    yield found
    engine.close()


def _keep(into: dict[int, list[tuple[str | None, ...]]], answers: Answers) -> None:
    into[answers.time] = answers.rows()


def load_background(engine: Engine, folder: Path) -> None:
    path = folder / "background.nt"
    path.write_text(background())
    engine.load_static(path, progress=False)


def by_oracle(text: str) -> dict[int, list[tuple[str | None, ...]]]:
    query = parse_query(text)
    streams = {w.stream.value: RECORDED[w.stream.value] for w in query.windows}
    answers = ContinuousEvaluation(query, streams, static_graphs(background())).answers()
    return {t: list(answer.rows) for t, answer in answers.items()}


def test_sure_readings_of_a_fast_heart(told: Told) -> None:
    expected = {t: fast_hearts(t) for t in instants(MINUTE)}
    assert {t: bag(rows) for t, rows in told.rows["heart_rate"].items()} == expected
    assert sum(rows.total() for rows in expected.values()) > 100


def test_low_emergencies(told: Told) -> None:
    answered = told.rows["low_emergency"]
    assert list(answered) == instants(STEP)
    for instant, rows in answered.items():
        by_patient: dict[str, dict[str, str]] = defaultdict(dict)
        for s, p, o in rows:
            assert s and p and o
            by_patient[s[len(HOME) + 1 : -1]][p[len(EHEALTH) + 1 : -1]] = o
        expected = emergencies(instant)
        assert set(by_patient) == {e[0] for e in expected}, instant
        for patient, activity, rate, breath, share in expected:
            event = by_patient[patient]
            assert event["lowEmergencyDuring"] == f"<{EHEALTH}{activity}>"
            assert event["tell"] == f"<{HOME}{PATIENTS[patient]}>"
            assert event["leastOxygenSaturation"] == integer(share)
            for name, mean in (("meanHeartRate", rate), ("meanBreathingRate", breath)):
                assert float(event[name].split('"')[1]) == pytest.approx(float(mean), rel=1e-12)


def test_the_scenario_tells_something() -> None:
    """Emergencies of more than one patient and activity, that begin and end, and that confidence decides about."""
    all_instants = instants(STEP)
    found = {t: {e[:2] for e in emergencies(t)} for t in all_instants}
    assert len({patient for events in found.values() for patient, _ in events}) > 1
    assert 5 < sum(bool(events) for events in found.values()) < len(all_instants) - 5
    assert {t: {e[:2] for e in emergencies(t, sure=0)} for t in all_instants} != found


@pytest.mark.parametrize("name", STAR)
def test_reified_data_give_the_same_answers(told: Told, name: str) -> None:
    reified = {t: bag(rows) for t, rows in told.rows[f"reified {name}"].items()}
    assert reified == {t: bag(rows) for t, rows in told.rows[name].items()}


@pytest.mark.parametrize("name", TEXTS)
def test_the_oracle_agrees(told: Told, name: str) -> None:
    answered, expected = told.rows[name], by_oracle(TEXTS[name])
    assert list(answered) == list(expected)
    for instant, rows in expected.items():
        assert not compare_rows(rows, answered[instant]), instant


def test_the_result_stream_is_read_by_another_query(told: Told) -> None:
    expected = defaultdict(set)
    for instant in instants(STEP):
        for patient, _, rate, _, _ in emergencies(instant):
            if rate > 80:
                close = -(-instant // 30_000) * 30_000
                expected[close].add((patient, float(rate)))
    heard = {
        t: {(str(row[1])[len(HOME) + 1 : -1], float(str(row[2]).split('"')[1])) for row in rows}
        for t, rows in told.alerts.items()
    }
    assert set(heard) == set(expected) and expected
    for instant, alerts in expected.items():
        assert {p for p, _ in heard[instant]} == {p for p, _ in alerts}
        assert sorted(r for _, r in heard[instant]) == pytest.approx(sorted(r for _, r in alerts))


def test_reification_takes_four_more_triples_for_each_annotation() -> None:
    def size(told: list[StreamElement]) -> int:
        return sum(len(element.triples) for element in told)

    for iri in STREAMS.values():
        reified = RECORDED[iri.replace(HOME, HOME + "reified/")]
        assert size(reified) == size(RECORDED[iri]) + 4 * len(reified)
