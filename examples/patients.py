"""Patients at home, whose sensors say of each reading how sure they are of it.

A confidence is said of the reading itself: the reading is a triple, quoted in `<< >>`, and the confidence is
a triple about it (RDF-star). Queries ask for it in the same form. What is too fast or too slow depends on
what a patient is doing.

    python examples/patients.py
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from pyspark.sql import SparkSession

import sparkext
from static_data.terms import Iri, Literal, QuotedTriple

E = "http://example.org/ehealth#"
INTEGER = Iri("http://www.w3.org/2001/XMLSchema#integer")
SECONDS = 60

PREFIXES = "PREFIX : <http://example.org/ehealth#>\n"

# The average of the sure readings of half a minute, joined with the patient's activity, and with the limit for it.
FAST_HEARTS = """
REGISTER RSTREAM :fastHearts AS
SELECT ?patient ?rate ?activity ?limit
FROM NAMED WINDOW :hearts ON :heartRates [RANGE PT30S STEP PT10S]
FROM NAMED WINDOW :doing  ON :activities [RANGE PT10S STEP PT10S]
WHERE {
  { SELECT ?patient (AVG(?measured) AS ?rate) WHERE {
      WINDOW :hearts {
        GRAPH ?reading { << ?patient :heartRate ?measured >> :confidence ?sure }
        FILTER(?sure >= 0.8)
      }
    } GROUP BY ?patient }
  WINDOW :doing {
    GRAPH ?seen { << ?patient :does ?activity >> :confidence ?certain }
    FILTER(?certain > 0.7)
  }
  :limits :of ?patient .
  << ?patient :does ?activity >> :heartRateLimit ?limit .
  FILTER(?rate > ?limit)
}"""

# Which readings were sorted out? Any predicate will do: a variable stands for what is quoted, too.
UNSURE = """
REGISTER RSTREAM :unsure AS
SELECT ?patient (COUNT(*) AS ?readings)
FROM NAMED WINDOW :hearts ON :heartRates [RANGE PT30S STEP PT30S]
WHERE {
  WINDOW :hearts { GRAPH ?reading { << ?patient ?said ?value >> :confidence ?sure } FILTER(?sure < 0.8) }
} GROUP BY ?patient ORDER BY ?patient"""

# Static data may quote triples as well: the limit is said of "Rut sits".
LIMITS = f"""
<{E}limits> <{E}of> <{E}rut> .
<{E}limits> <{E}of> <{E}bo> .
<< <{E}rut> <{E}does> <{E}sitting> >> <{E}heartRateLimit> "90"^^<{INTEGER.value}> .
<< <{E}rut> <{E}does> <{E}walking> >> <{E}heartRateLimit> "120"^^<{INTEGER.value}> .
<< <{E}bo> <{E}does> <{E}sitting> >> <{E}heartRateLimit> "85"^^<{INTEGER.value}> .
<< <{E}bo> <{E}does> <{E}walking> >> <{E}heartRateLimit> "110"^^<{INTEGER.value}> .
"""


def heart_rates(chance: random.Random) -> Iterator[tuple[int, str, int, float]]:
    """Second, patient, beats a minute, confidence: Rut's heart is fast all the time, one reading in five is wrong."""
    for second in range(2, SECONDS + 1, 2):
        for patient, usual in (("rut", 104), ("bo", 72)):
            if chance.random() < 0.2:
                yield second, patient, usual + 60, round(chance.uniform(0.1, 0.5), 2)
            else:
                yield (
                    second,
                    patient,
                    usual + chance.randint(-3, 3),
                    round(chance.uniform(0.8, 1), 2),
                )


def main(spark: SparkSession) -> None:
    """A minute of two patients; Rut walks first, and then sits down."""
    engine = sparkext.Engine(spark)
    engine.insert(LIMITS)
    hearts = engine.register_stream(E + "heartRates")
    doings = engine.register_stream(E + "activities")

    def alarm(answers: sparkext.Answers) -> None:
        for patient, rate, activity, limit in answers.rows():
            print(
                f"second {answers.time // 1000}: {plain(patient)} is {plain(activity)} with a heart rate of"
                f" {float(plain(rate)):.0f}, limit {plain(limit)}"
            )

    def sorted_out(answers: sparkext.Answers) -> None:
        shown = ", ".join(
            f"{plain(count)} of {plain(patient)}" for patient, count in answers.rows()
        )
        print(f"second {answers.time // 1000}: not sure enough: {shown}")

    engine.register_query(PREFIXES + FAST_HEARTS).subscribe(alarm)
    engine.register_query(PREFIXES + UNSURE).subscribe(sorted_out)

    for second, patient, rate, confidence in heart_rates(random.Random(2019)):
        said = QuotedTriple(Iri(E + patient), Iri(E + "heartRate"), Literal(str(rate), INTEGER))
        # An element is a graph: the reading, and the confidence that is said of it.
        hearts.push(
            [
                (said.subject, said.predicate, said.object),
                (said, Iri(E + "confidence"), confidence),
            ],
            time=second * 1000,
            graph=f"{E}reading/{patient}/{second}",
        )
    for second in range(10, SECONDS + 1, 10):
        for patient in ("rut", "bo"):
            walks = patient == "rut" and second <= 30
            does = QuotedTriple(
                Iri(E + patient), Iri(E + "does"), Iri(E + ("walking" if walks else "sitting"))
            )
            doings.push(
                (does, Iri(E + "confidence"), 0.9),
                time=second * 1000,
                graph=f"{E}seen/{patient}/{second}",
            )
    engine.finish()
    engine.close()


def plain(term: str) -> str:
    """A term for people: `rut` for an IRI that ends so, `90` for a number."""
    return term.split("^^")[0].strip('"<>').rsplit("#", 1)[-1]


if __name__ == "__main__":
    quiet = {"spark.log.level": "ERROR", "spark.ui.enabled": "false"}
    builder = SparkSession.builder.master("local[2]").appName("patients").config(map=quiet)
    main(sparkext.configure(builder).getOrCreate())
