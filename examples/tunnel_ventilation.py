"""A road tunnel whose fans start when the air is bad, and whose sensors are not exact.

A sensor that says 19.6 % oxygen means "about 19.6 %". How far off it may be is known: of the cheap kind of
sensor from its data sheet (static data), of the good kind from the sensor itself, which states its error with
each reading. The query asks how probable it is that there is too little oxygen, and not whether a number is
below another.

    python examples/tunnel_ventilation.py
"""

from __future__ import annotations

import random

from pyspark.sql import SparkSession

import sparkext

TUNNEL = "http://example.org/tunnel#"
RSPU, XSD = "http://w3id.org/rsp/rspu#", "http://www.w3.org/2001/XMLSchema#"
SECTORS, MINUTES = 6, 4
LEAST = 0.195

PREFIXES = """
PREFIX : <http://example.org/tunnel#>
PREFIX rspu: <http://w3id.org/rsp/rspu#>
"""

# Cheap sensors: their error is a distribution that static data tell of the kind. `rspu:add` moves it to the
# reading, and `rspu:lessThan` is the probability that the true value lies below the limit.
CHEAP = """
REGISTER RSTREAM :cheap AS
SELECT ?sector ?level ?risk
FROM NAMED WINDOW :now ON :cheapReadings [RANGE PT1M STEP PT1M]
WHERE {
  WINDOW :now { ?sensor :oxygen ?level }
  ?sensor :kind ?kind ; :sector ?sector .
  ?kind :error ?error .
  BIND(rspu:lessThan(rspu:add(?error, ?level), 0.195) AS ?risk)
  FILTER(?risk > 0.9)
}"""

# Good sensors: each reading is a triple, and its error is said of the triple itself, in << >>.
GOOD = """
REGISTER RSTREAM :good AS
SELECT ?sector ?level ?risk
FROM NAMED WINDOW :now ON :goodReadings [RANGE PT1M STEP PT1M]
WHERE {
  WINDOW :now { << ?sensor :oxygen ?level >> rspu:uncertainty ?error }
  ?sensor :sector ?sector .
  BIND(rspu:lessThan(rspu:add(?error, ?level), 0.195) AS ?risk)
  FILTER(?risk > 0.9)
}"""

# What a query would answer that takes the cheap readings for exact.
NAIVE = """
REGISTER RSTREAM :naive AS
SELECT ?sector ?level
FROM NAMED WINDOW :now ON :cheapReadings [RANGE PT1M STEP PT1M]
WHERE { WINDOW :now { ?sensor :oxygen ?level } ?sensor :sector ?sector FILTER(?level < 0.195) }"""


def tunnel() -> str:
    """Sectors with a sensor of each kind, as N-Triples; the data sheet's error is uniform, two points either way."""
    lines = [f'<{TUNNEL}cheapKind> <{TUNNEL}error> "U(-0.02, 0.02)"^^<{RSPU}distribution> .']
    for sector in range(1, SECTORS + 1):
        for kind in ("cheap", "good"):
            sensor = f"<{TUNNEL}{kind}{sector}>"
            lines.append(f'{sensor} <{TUNNEL}sector> "{sector}"^^<{XSD}integer> .')
            lines.append(f"{sensor} <{TUNNEL}kind> <{TUNNEL}{kind}Kind> .")
    return "\n".join(lines)


def main(spark: SparkSession) -> None:
    """Register three queries; in sector 4 the air gets worse from minute to minute."""
    chance = random.Random(2021)
    engine = sparkext.Engine(spark)
    engine.insert(tunnel())
    cheap = engine.register_stream(TUNNEL + "cheapReadings")
    good = engine.register_stream(TUNNEL + "goodReadings")

    def tell(answers: sparkext.Answers, kind: str) -> None:
        for solution in answers:
            level, sector = float(plain(solution["level"])), plain(solution["sector"])
            said = f"{kind} sensor says {level:.1%} oxygen in sector {sector}"
            risk = solution.get("risk")
            sure = "" if risk is None else f", too little with probability {float(plain(risk)):.3f}"
            print(f"minute {answers.time // 60_000}: {said}{sure}")

    engine.register_query(PREFIXES + NAIVE).subscribe(lambda a: tell(a, "taken as exact:"))
    asked = engine.register_query(PREFIXES + CHEAP)
    asked.subscribe(lambda a: tell(a, "cheap"))
    engine.register_query(PREFIXES + GOOD).subscribe(lambda a: tell(a, "good"))

    for minute in range(1, MINUTES + 1):
        for sector in range(1, SECTORS + 1):
            true = 0.206 if sector != 4 else 0.200 - 0.006 * minute
            level = f'"{true + chance.uniform(-0.015, 0.015):.4f}"^^<{XSD}decimal>'
            cheap.push(f"<{TUNNEL}cheap{sector}> <{TUNNEL}oxygen> {level} .", time=minute * 60_000)
            level = f'"{true + chance.gauss(0, 0.001):.4f}"^^<{XSD}decimal>'
            reading = f"<{TUNNEL}good{sector}> <{TUNNEL}oxygen> {level}"
            error = f'"N(0, 0.000001)"^^<{RSPU}distribution>'  # mean and variance
            good.push(
                f"{reading} .\n<< {reading} >> <{RSPU}uncertainty> {error} .", time=minute * 60_000
            )
    engine.finish()
    print("calls of the functions:", asked.progress.calls, "for", MINUTES * SECTORS, "readings")
    engine.close()


def plain(term: str) -> str:
    """A term for people: `0.2` for `"0.2"^^<http://www.w3.org/2001/XMLSchema#decimal>`."""
    return term.split("^^")[0].strip('"')


if __name__ == "__main__":
    quiet = {"spark.log.level": "ERROR", "spark.ui.enabled": "false"}
    builder = SparkSession.builder.master("local[2]").appName("tunnel").config(map=quiet)
    main(sparkext.configure(builder).getOrCreate())
