"""Q1-Q4 as SQL over integers and name tables, each in the form that was fastest for relational peers.

Tables: creator(paper, person), reference(paper, cited), people(id, iri, name), rooms(id, name), and the windows
now(person, room), w30(person, room). Pre-joined for Q2: joint(person1, person2), a row for each paper that two people
wrote together.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from bench.data.world import World

JOINT = """
SELECT a.person AS person1, b.person AS person2
FROM creator a JOIN creator b ON a.paper = b.paper WHERE a.person <> b.person"""

_MET = "now n JOIN w30 w ON w.room = n.room"
_NAMES = """
JOIN people x ON x.id = p1 JOIN people y ON y.id = p2 JOIN rooms r ON r.id = room"""
_SELECT_NAMES = "SELECT x.name AS author1Name, y.name AS author2Name, r.name AS locName"

# Joins are written in a good order (few rows in between), as stock Spark keeps the order written.
_CITES = """now n JOIN creator a ON a.person = n.person JOIN reference r ON r.paper = a.paper
JOIN creator b ON b.paper = r.cited JOIN w30 w ON w.person = b.person AND w.room = n.room
WHERE n.person <> w.person"""
_IS_CITED = """now n JOIN creator a ON a.person = n.person JOIN reference r ON r.cited = a.paper
JOIN creator b ON b.paper = r.paper JOIN w30 w ON w.person = b.person AND w.room = n.room
WHERE n.person <> w.person"""
_PAIR = "n.person AS p1, w.person AS p2, n.room AS room"


def _most_cited(counts: str) -> str:
    return f"""SELECT x.iri AS person1, y.iri AS person2, numPub
FROM (SELECT p1, p2, numPub, max(numPub) OVER (PARTITION BY p1) AS m FROM ({counts}) counts) best
JOIN people x ON x.id = p1 JOIN people y ON y.id = p2 WHERE numPub = m"""


SQL = {
    "q1": """SELECT p.name AS name, r.name AS locName
FROM w30 w JOIN people p ON p.id = w.person JOIN rooms r ON r.id = w.room""",
    "q2": f"""{_SELECT_NAMES}
FROM (SELECT {_PAIR}
      FROM {_MET} JOIN joint j ON j.person1 = n.person AND j.person2 = w.person) met {_NAMES}""",
    "q3": f"""{_SELECT_NAMES}
FROM (SELECT {_PAIR} FROM {_CITES} UNION ALL SELECT {_PAIR} FROM {_IS_CITED}) met {_NAMES}""",
    "q4": _most_cited(
        f"""SELECT {_PAIR}, count(*) AS numPub FROM {_CITES}
GROUP BY n.person, w.person, n.room"""
    ),
}


def static_tables(world: World) -> dict[str, pa.Table]:
    """The static tables by name; ids are int32."""
    return {
        "creator": pa.table({"paper": world.creator_paper, "person": world.creator_person}),
        "reference": pa.table({"paper": world.reference_paper, "cited": world.reference_cited}),
        "people": pa.table(
            {
                "id": np.arange(world.people, dtype=np.int32),
                "iri": world.person_iris(),
                "name": world.person_names(),
            }
        ),
        "rooms": pa.table(
            {"id": np.arange(world.rooms, dtype=np.int32), "name": world.room_names()}
        ),
    }
