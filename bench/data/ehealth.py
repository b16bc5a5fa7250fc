"""Five streams about patients at home, after the use case of the RSP-QL* paper (2019), sections 3 and 7.

Heart rate, breathing rate and oxygen saturation, the location of patients and partners, and what a patient is doing,
each said with a confidence. Some readings are wrong and say so: whoever does not look at the confidence answers
otherwise. Limits depend on the activity and are static data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from bench.data.vocabulary import DATE_TIME, GENERATED_AT_TIME
from sparkext.recorded_streams import StreamElement

EHEALTH = "http://example.org/ehealth#"
HOME = "http://example.org/ehealth/"
XSD = "http://www.w3.org/2001/XMLSchema#"

STREAMS = {
    "heartRate": HOME + "heartRate",
    "breathingRate": HOME + "breathingRate",
    "oxygenSaturation": HOME + "oxygenSaturation",
    "location": HOME + "location",
    "activity": HOME + "activity",
}
PATIENTS = {"rut": "rolf", "bo": "berit", "eva": "emil"}
"""Patients and their partners."""

# Limits by patient and activity: heart rate above, breathing rate below, oxygen saturation at least.
RESTING, MOVING = (84, 14, 92), (115, 18, 90)

_SECONDS_BETWEEN = {
    "heartRate": 5,
    "breathingRate": 10,
    "oxygenSaturation": 10,
    "location": 10,
    "activity": 10,
}
_WRONG = {"heartRate": 45, "breathingRate": 12, "oxygenSaturation": -20}
_WRONG_SHARE = 0.2


@dataclass(frozen=True)
class Observation:
    """That `subject` had this `value` of `kind` (a key of STREAMS), with confidence in hundredths.

    A value is a whole number, or the name of a place or an activity.
    """

    time_ms: int
    kind: str
    subject: str
    value: int | str
    confidence: int

    @property
    def triple(self) -> str:
        """Subject, predicate and object in N-Triples syntax."""
        value = (
            f"<{EHEALTH}{self.value}>"
            if isinstance(self.value, str)
            else f'"{self.value}"^^<{XSD}integer>'
        )
        return f"<{HOME}{self.subject}> <{EHEALTH}{self.kind}> {value}"


@dataclass(frozen=True)
class Limits:
    """What is expected of a patient during an activity; static data."""

    patient: str
    activity: str
    heart_rate_above: int
    breathing_rate_below: int
    oxygen_saturation_from: int


def observations(seconds: int, seed: int = 1) -> list[Observation]:
    """What all sensors tell from second 1 to `seconds`, in order of time.

    Patients change what they do every 80 to 160 s. In every other such stretch a patient's heart is fast and the
    breathing slow; partners come and go.
    """
    found: list[Observation] = []
    for number, (patient, partner) in enumerate(PATIENTS.items()):
        rng = np.random.default_rng([seed, number])
        second, stretch = 1, int(rng.integers(2))
        while second <= seconds:
            end = min(seconds + 1, second + int(rng.integers(8, 17)) * 10)
            found += _stretch(rng, patient, partner, second, end, stretch)
            second, stretch = end, stretch + 1
    return sorted(found, key=lambda o: (o.time_ms, list(STREAMS).index(o.kind), o.subject))


def _stretch(
    rng: np.random.Generator, patient: str, partner: str, start: int, end: int, number: int
) -> Iterator[Observation]:
    activity = ("sitting", "sitting", "walking", "sitting")[number % 4]
    abnormal = number % 2 == 1
    away = bool(rng.integers(3))
    above, below, least = MOVING if activity == "walking" else RESTING
    means = {
        "heartRate": above + (10 if abnormal else -10),
        "breathingRate": below + (-2 if abnormal else 2),
        "oxygenSaturation": least + 4,
    }
    for second in range(start, end):
        for kind, every in _SECONDS_BETWEEN.items():
            if second % every:
                continue
            sure = int(rng.integers(80, 100))
            unsure = int(rng.integers(5, 60))
            wrong = rng.random() < _WRONG_SHARE
            confidence = unsure if wrong else sure
            at = second * 1000
            if kind == "activity":
                told = "walking" if wrong != (activity == "walking") else "sitting"
                yield Observation(at, kind, patient, told, confidence)
            elif kind == "location":
                room = "kitchen" if wrong else "livingRoom"
                yield Observation(at, kind, patient, room, confidence)
                yield Observation(at, kind, partner, "away" if away else "livingRoom", sure)
            else:
                value = means[kind] + int(rng.integers(-2, 3)) + wrong * _WRONG[kind]
                yield Observation(at, kind, patient, value, confidence)


def limits() -> list[Limits]:
    """The limits of every patient during every activity."""
    by_activity = {"sitting": RESTING, "walking": MOVING}
    return [Limits(patient, a, *by_activity[a]) for patient in PATIENTS for a in by_activity]


def background() -> str:
    """The static data as N-Triples: who is whose partner, and the limits."""
    lines = [
        f"<{HOME}{patient}> <{EHEALTH}partner> <{HOME}{partner}> ."
        for patient, partner in PATIENTS.items()
    ]
    for limit in limits():
        node = f"<{HOME}limits/{limit.patient}/{limit.activity}>"
        lines += [
            f"{node} <{EHEALTH}of> <{HOME}{limit.patient}> .",
            f"{node} <{EHEALTH}during> <{EHEALTH}{limit.activity}> .",
            f'{node} <{EHEALTH}heartRateAbove> "{limit.heart_rate_above}"^^<{XSD}integer> .',
            f'{node} <{EHEALTH}breathingRateBelow> "{limit.breathing_rate_below}"^^<{XSD}integer> .',
            f'{node} <{EHEALTH}oxygenSaturationFrom> "{limit.oxygen_saturation_from}"^^<{XSD}integer> .',
        ]
    return "\n".join(lines) + "\n"


def decimal(hundredths: int) -> str:
    """A confidence as a literal.

    >>> decimal(85), decimal(5)
    ('"0.85"^^<http://www.w3.org/2001/XMLSchema#decimal>', '"0.05"^^<http://www.w3.org/2001/XMLSchema#decimal>')
    """
    return f'"{hundredths / 100:.2f}"^^<{XSD}decimal>'


def dated(name: str, time_ms: int) -> str:
    """The time triple of an element.

    >>> dated("http://e/g", 1500).split("^^")[0]
    '<http://e/g> <http://www.w3.org/ns/prov#generatedAtTime> "1970-01-01T00:00:01.500Z"'
    """
    precision = "milliseconds" if time_ms % 1000 else "seconds"
    text = datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec=precision)
    return f'<{name}> <{GENERATED_AT_TIME}> "{text.removesuffix("+00:00")}Z"^^<{DATE_TIME}> .'


def elements(observed: list[Observation]) -> dict[str, list[StreamElement]]:
    """The observations as RDF-star elements by the IRI of their stream, each in a graph with its time triple."""
    found: dict[str, list[StreamElement]] = {iri: [] for iri in STREAMS.values()}
    for observation in observed:
        stream = STREAMS[observation.kind]
        name = f"{stream}/{len(found[stream])}"
        told = (
            f"{observation.triple} .",
            f"<< {observation.triple} >> <{EHEALTH}confidence> {decimal(observation.confidence)} .",
        )
        dating = dated(name, observation.time_ms)
        found[stream].append(StreamElement(observation.time_ms, f"<{name}>", told, dating))
    return found
