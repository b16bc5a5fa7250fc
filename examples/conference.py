"""A conference whose visitors wear badges: who is where, who meets a co-author, whom to talk to?

Papers, authors and citations are Linked Data of the shape of DBLP and change slowly. Every second the readers
in the rooms tell which badges they see: a stream. Three continuous queries join the one with the other.

    python examples/conference.py
"""

from __future__ import annotations

import random
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

import sparkext

PEOPLE, PAPERS, ROOMS, SECONDS = 380, 1200, 25, 40
START = datetime(2026, 9, 14, 10, 0, tzinfo=UTC)

FIRSTS = "Ada Bo Cleo Dan Eva Finn Gerd Hal Ines Jon Kaja Leo Mia Nils Ola Pia Ron Sara Tim Una"
LASTS = "Adler Berg Costa Diaz Engel Falk Gómez Holm Ibsen Jansen Klein Lund Maier Nagy Okafor Perez Rossi Sato Toth"

EX = "http://example.org/"
STREAM = "http://deri.org/locstreams"
PREFIXES = """
PREFIX dc: <http://purl.org/dc/elements/1.1/>
PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX foaf: <http://xmlns.com/foaf/0.1/>
PREFIX loc: <http://deri.org/localization/schema#>
PREFIX : <http://example.org/>
"""

# The last half minute of sightings, joined with the names of people and rooms. `COMPUTED EVERY` says when
# answers are wanted.
WHERE_IS_EVERYBODY = """
REGISTER RSTREAM :where COMPUTED EVERY PT10S AS
SELECT ?name ?room
FROM NAMED WINDOW :recent ON <http://deri.org/locstreams> [RANGE PT30S]
WHERE {
  WINDOW :recent { ?person loc:at ?place }
  ?place loc:name ?room .
  ?person foaf:name ?name .
}"""

# Two windows over one stream: who is seen now, and who was seen within half a minute in the same room. ISTREAM tells
# a meeting when it begins, not again each second.
CO_AUTHORS_MEET = """
REGISTER ISTREAM :meetings AS
SELECT DISTINCT ?name1 ?name2 ?room
FROM NAMED WINDOW :now    ON <http://deri.org/locstreams> [NOW]
FROM NAMED WINDOW :recent ON <http://deri.org/locstreams> [RANGE PT30S]
WHERE {
  WINDOW :now    { ?person1 loc:at ?place }
  WINDOW :recent { ?person2 loc:at ?place }
  ?paper dc:creator ?person1, ?person2 .
  ?person1 foaf:name ?name1 .
  ?person2 foaf:name ?name2 .
  ?place loc:name ?room .
  FILTER(STR(?person1) < STR(?person2))
}"""

# An aggregate over static data joined with a window: of the people around, whose papers does Ada cite most?
WHOM_TO_TALK_TO = """
REGISTER RSTREAM :talk COMPUTED EVERY PT10S AS
SELECT ?name (COUNT(DISTINCT ?cited) AS ?papers)
FROM NAMED WINDOW :recent ON <http://deri.org/locstreams> [RANGE PT30S]
WHERE {
  WINDOW :recent { ?person loc:at ?place }
  ?mine dc:creator :person0 ; dcterms:references ?cited .
  ?cited dc:creator ?person .
  ?person foaf:name ?name .
  FILTER(?person != :person0)
} GROUP BY ?name ORDER BY DESC(?papers) ?name LIMIT 1"""


def linked_data(chance: random.Random) -> str:
    """People, papers, citations and rooms, as N-Triples."""
    names = [f"{first} {last}" for last in LASTS.split() for first in FIRSTS.split()]
    lines = []
    for person, name in enumerate(names[:PEOPLE]):
        lines.append(f'<{EX}person{person}> <http://xmlns.com/foaf/0.1/name> "{name}" .')
    for room in range(ROOMS):
        lines.append(
            f'<{EX}room{room}> <http://deri.org/localization/schema#name> "Room {room + 1}" .'
        )
    for paper in range(PAPERS):
        for author in chance.sample(range(PEOPLE), chance.randint(1, 4)):
            lines.append(
                f"<{EX}paper{paper}> <http://purl.org/dc/elements/1.1/creator> <{EX}person{author}> ."
            )
        for cited in chance.sample(range(paper), min(paper, chance.randint(0, 12))):
            lines.append(
                f"<{EX}paper{paper}> <http://purl.org/dc/terms/references> <{EX}paper{cited}> ."
            )
    return "\n".join(lines) + "\n"


def main(spark: SparkSession) -> None:
    """Load the papers, register the queries, let 40 seconds of badges pass by."""
    chance = random.Random(2010)
    engine = sparkext.Engine(spark)
    with tempfile.TemporaryDirectory() as folder:
        papers = Path(folder, "papers.nt")
        papers.write_text(linked_data(chance), encoding="utf-8")
        print("static data:", engine.load_static(papers, progress=False).quads_added, "triples")

    badges = engine.register_stream(STREAM)

    # A query calls its subscribers with the answers of each evaluation.
    def places(answers: sparkext.Answers) -> None:
        rooms = {solution["room"] for solution in answers}
        print(f"{clock(answers.time)}  {len(answers)} sightings in {len(rooms)} rooms")

    def meetings(answers: sparkext.Answers) -> None:
        for solution in answers:
            one, other, room = (plain(solution[name]) for name in ("name1", "name2", "room"))
            print(f"{clock(answers.time)}  {one} and {other}, who wrote a paper, meet in {room}")

    def advice(answers: sparkext.Answers) -> None:
        for solution in answers:
            print(
                f"{clock(answers.time)}  Ada cites {plain(solution['name'])} most of all who are here:"
                f" {plain(solution['papers'])} papers"
            )

    engine.register_query(PREFIXES + WHERE_IS_EVERYBODY).subscribe(places)
    met = engine.register_query(PREFIXES + CO_AUTHORS_MEET)
    met.subscribe(meetings)
    engine.register_query(PREFIXES + WHOM_TO_TALK_TO).subscribe(advice)

    at = "http://deri.org/localization/schema#at"
    room_of = {person: chance.randrange(ROOMS) for person in range(PEOPLE)}
    for second in range(1, SECONDS + 1):
        now = int(START.timestamp() * 1000) + second * 1000
        for person in chance.sample(range(PEOPLE), 6):
            if chance.random() < 0.1:
                room_of[person] = chance.randrange(ROOMS)  # a walk to another room
            badges.push((f"{EX}person{person}", at, f"{EX}room{room_of[person]}"), time=now)
        badges.advance_to(now)  # nothing of this second or before will come: evaluate
    print(f"{met.progress.evaluations} evaluations for meetings, {met.progress.answers} answers")
    engine.close()


def plain(term: str) -> str:
    """A term for people: `3` for `"3"^^<http://www.w3.org/2001/XMLSchema#integer>`."""
    return term.split("^^")[0].strip('"')


def clock(time_ms: int) -> str:
    """The time of day of an instant."""
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%H:%M:%S}"


if __name__ == "__main__":
    quiet = {"spark.log.level": "ERROR", "spark.ui.enabled": "false"}
    builder = SparkSession.builder.master("local[2]").appName("conference").config(map=quiet)
    main(sparkext.configure(builder).getOrCreate())
