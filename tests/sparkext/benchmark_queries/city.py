"""A city in CityBench's shape: sensors of traffic, weather, pollution and parking, a walker, events, roads."""

from __future__ import annotations

import random

from tests.sparkext.benchmark_queries.recorded_world import Element, World, number

CITY = "http://example.org/city#"
SSN = "http://purl.oclc.org/NET/ssnx/ssn#"
SAO = "http://purl.oclc.org/NET/sao/"
CT = "http://www.insight-centre.org/citytraffic#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
STEP_S = 300  # the traffic sensors of Aarhus tell something every five minutes

ROADS = {"r1": (56.15, 10.20, 2.5), "r2": (56.16, 10.21, 1.2), "r3": (56.20, 10.10, 4.0)}
GARAGES = {
    "norreport": (56.161, 10.212, 80),
    "bruuns": (56.149, 10.204, 95),
    "magasin": (56.30, 10.0, 40),
}
EVENTS = {
    "concert": ("CulturalEvent", "Concert", 56.1605, 10.211),
    "ballet": ("CulturalEvent", "Ballet", 56.25, 10.05),
    "reading": ("LibraryEvent", "Reading", 56.1495, 10.2045),
}
AREAS = ("north", "centre", "harbour")


def iri(name: str) -> str:
    return f"<{CITY}{name}>"


def _place(name: str, lat: float, long: float) -> list[str]:
    return [
        f"{iri(name)} <{CT}hasLatitude> {number(lat)} .",
        f"{iri(name)} <{CT}hasLongitude> {number(long)} .",
    ]


def static() -> str:
    lines = []
    for road, (lat, long, km) in ROADS.items():
        lines += _place(road, lat, long)
        lines.append(f"{iri(road)} <{CITY}km> {number(km)} .")
        lines.append(f"{iri(f'{road}-congestion')} {TYPE} <{CT}CongestionLevel> .")
        lines.append(f"{iri(f'{road}-congestion')} <{SSN}isPropertyOf> {iri(road)} .")
        lines.append(f"{iri(f'{road}-travel')} {TYPE} <{CT}EstimatedTime> .")
        lines.append(f"{iri(f'{road}-travel')} <{SSN}isPropertyOf> {iri(road)} .")
    for garage, (lat, long, places) in GARAGES.items():
        lines += _place(garage, lat, long)
        lines.append(f"{iri(f'{garage}-free')} {TYPE} <{CT}ParkingVacancy> .")
        lines.append(f"{iri(f'{garage}-free')} <{SSN}isPropertyOf> {iri(garage)} .")
        lines.append(f"{iri(garage)} <{CITY}places> {number(places)} .")
    for event, (kind, title, lat, long) in EVENTS.items():
        lines += _place(event, lat, long)
        lines.append(f'{iri(event)} {TYPE} {iri(kind)} .\n{iri(event)} <{CITY}title> "{title}" .')
    for area in AREAS:
        lines.append(f"{iri(f'{area}-air')} {TYPE} <{CT}AirQuality> .")
        lines.append(f"{iri(f'{area}-air')} <{SSN}isPropertyOf> {iri(area)} .")
    for kind in ("Temperature", "WindSpeed"):
        lines.append(f"{iri(f'weather-{kind}')} {TYPE} <{CT}{kind}> .")
    return "\n".join(lines) + "\n"


def _observation(name: str, thing: str, value: float) -> tuple[str, ...]:
    return (
        f"{iri(name)} {TYPE} <{SSN}Observation>",
        f"{iri(name)} <{SSN}observedProperty> {iri(thing)}",
        f"{iri(name)} <{SAO}hasValue> {number(value)}",
    )


def city(steps: int, seed: int = 7) -> World:
    """So many steps of five minutes: the roads fill up and empty again, garages fill up, somebody walks north."""
    chance = random.Random(seed)
    names = [*(f"traffic-{road}" for road in ROADS), "weather", "pollution", "parking", "user"]
    streams: dict[str, list[Element]] = {CITY + name: [] for name in names}

    def tell(stream: str, second: int, *triples: str) -> None:
        streams[CITY + stream].append(Element(second, triples))

    for step in range(1, steps + 1):
        now = step * STEP_S
        for road in ROADS:
            level = round(chance.uniform(20, 60) + (40 if 3 <= step % 10 <= 7 else 0), 1)
            minutes = round(ROADS[road][2] * (1 + level / 50), 2)
            tell(
                f"traffic-{road}",
                now,
                *_observation(f"{road}/{step}", f"{road}-congestion", level),
                *_observation(f"{road}/{step}/t", f"{road}-travel", minutes),
            )
        for kind, value in (
            ("Temperature", chance.uniform(5, 15)),
            ("WindSpeed", chance.uniform(0, 12)),
        ):
            tell(
                "weather",
                now + 1,
                *_observation(f"w/{kind}/{step}", f"weather-{kind}", round(value, 1)),
            )
        for place, area in enumerate(AREAS):
            quality = round(chance.uniform(20, 120), 2)
            tell(
                "pollution",
                now + 2 + place,
                *_observation(f"p/{area}/{step}", f"{area}-air", quality),
            )
        for place, (garage, (_, _, places)) in enumerate(GARAGES.items()):
            free = max(0, round(places * (1 - step / 8) + chance.randint(-3, 3)))
            tell(
                "parking",
                now + 10 + place,
                *_observation(f"g/{garage}/{step}", f"{garage}-free", free),
            )
        where = (56.14 + 0.002 * step, 10.20 + 0.001 * step)
        tell(
            "user",
            now + 20,
            f"{iri('me')} <{CT}hasLatitude> {number(round(where[0], 4))}",
            f"{iri('me')} <{CT}hasLongitude> {number(round(where[1], 4))}",
        )
    return World(static(), streams)
