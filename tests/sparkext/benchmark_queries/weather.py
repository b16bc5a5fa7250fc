"""Weather stations in SRBench's shape: observations with typed results; stations, places, what is known of them."""

from __future__ import annotations

import random

from tests.sparkext.benchmark_queries.recorded_world import Element, World, number

OM = "http://knoesis.wright.edu/ssw/ont/sensor-observation.owl#"
WEATHER = "http://knoesis.wright.edu/ssw/ont/weather.owl#"
SSW = "http://knoesis.wright.edu/ssw/"
GN = "http://www.geonames.org/ontology#"
DBO = "http://dbpedia.org/ontology/"
PLACE = "http://sws.geonames.org/"
OBSERVATIONS = "http://cwi.nl/SRBench/observations"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
STEP_S = 1800

# Station: its place, the place's name, state, people, and a station near it.
STATIONS = {
    "A01": ("1", "Key West", "Florida", 24_000, "B02"),
    "B02": ("2", "Miami", "Florida", 450_000, "A01"),
    "C03": ("3", "Reno", "Nevada", 260_000, "D04"),
    "D04": ("4", "Sparks", "Nevada", 108_000, "C03"),
    "E05": ("5", "Alta", "Utah", 400, "F06"),
    "F06": ("6", "Ogden", "Utah", 87_000, "E05"),
}
PROPERTIES = {
    "AirTemperature": "fahrenheit",
    "RelativeHumidity": "percent",
    "WindSpeed": "milesPerHour",
    "WindDirection": "degrees",
    "Visibility": "miles",
    "Rainfall": "inches",
    "Snowfall": "inches",
}


def station(code: str) -> str:
    return f"<{SSW}System_{code}>"


def static() -> str:
    lines = []
    for code, (place, name, state, people, near) in STATIONS.items():
        where = f"<{PLACE}{place}>"
        lines += [
            f"{station(code)} <{OM}hasLocation> {where} .",
            f"{station(code)} <{OM}near> {station(near)} .",
            f'{where} <{GN}name> "{name}" .',
            f'{where} <{GN}parentADM1> "{state}" .',
            f"{where} <{GN}population> {number(people)} .",
        ]
    for place, kind, name in (("1", "Shore", "Smathers Beach"), ("2", "Airport", "MIA"), ("3", "Airport", "RNO"),
                              ("2", "Shore", "South Beach"), ("2", "HeritageSite", "Vizcaya"), ("6", "Airport", "OGD"),
                              ("1", "HeritageSite", "Fort Zachary Taylor")):  # fmt: skip
        thing = f"<http://dbpedia.org/resource/{name.replace(' ', '_')}>"
        lines += [
            f"{thing} {TYPE} <{DBO}{kind}> .",
            f"{thing} <{DBO}location> <{PLACE}{place}> .",
            f'{thing} <{GN}name> "{name}" .',
        ]
    for name, miles, damage in (("Andrew", 92.0, 27.3), ("Babe", 64.0, 0.1), ("Irene", 75.0, 14.2)):
        storm = f"<http://dbpedia.org/resource/Hurricane_{name}>"
        lines += [
            f"{storm} {TYPE} <{DBO}Hurricane> .",
            f"{storm} <{DBO}windSpeed> {number(miles)} .",
            f"{storm} <{DBO}damage> {number(damage)} .",
        ]
    return "\n".join(lines) + "\n"


def _measured(code: str, hour: float, chance: random.Random) -> dict[str, float]:
    """A hurricane over Florida from the third to the ninth hour, a blizzard in Alta; Sparks breaks after the fifth."""
    hurricane = code in ("A01", "B02") and 3 <= hour % 24 <= 9
    blizzard = code == "E05" and hour % 24 >= 2
    wind = (76, 95) if hurricane else (36, 50) if blizzard else (2, 40)
    warm = {"A01": 80.0, "B02": 82.0, "E05": 20.0}.get(code, 55.0)
    return {
        "AirTemperature": warm + chance.uniform(-6, 6),
        "RelativeHumidity": chance.uniform(20, 95),
        "WindSpeed": chance.uniform(*wind),
        "WindDirection": chance.uniform(0, 359),
        "Visibility": chance.uniform(0.05, 0.2) if blizzard else chance.uniform(0.3, 10),
        "Rainfall": chance.uniform(0.3, 2.5) if hurricane else max(0.0, chance.uniform(-1, 0.4)),
        "Snowfall": chance.uniform(0.4, 3) if blizzard else 0.0,
    }  # fmt: skip


def weather(hours: int, seed: int = 11) -> World:
    """So many hours of observations, one of each property from each station every half hour."""
    chance = random.Random(seed)
    elements = []
    for step in range(1, 2 * hours + 1):
        for place, code in enumerate(STATIONS):
            hour = step / 2
            if code == "D04" and 5 < hour % 24 < 20:
                continue
            triples: list[str] = []
            for kind, value in _measured(code, hour, chance).items():
                seen = f"<{SSW}Observation_{kind}_{code}_{step}>"
                result = f"<{SSW}MeasureData_{kind}_{code}_{step}>"
                triples += [
                    f"{seen} {TYPE} <{WEATHER}{kind}Observation>",
                    f"{seen} <{OM}procedure> {station(code)}",
                    f"{seen} <{OM}observedProperty> <{WEATHER}_{kind}>",
                    f"{seen} <{OM}result> {result}",
                    f"{result} <{OM}floatValue> {number(round(value, 2))}",
                ]
                if kind != "Snowfall":  # of snow no unit is told
                    triples.append(f"{result} <{OM}uom> <{WEATHER}{PROPERTIES[kind]}>")
            elements.append(Element(step * STEP_S + place, tuple(triples)))
    return World(static(), {OBSERVATIONS: elements})
