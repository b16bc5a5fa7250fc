"""Posts whose authors are then followed by somebody popular: happenings in an order, found as they come.

`MATCH` looks for one event after another: a post, and then, within ten minutes, a new follower of its author,
with no removal of the post in between. Who is popular is told by static data and by a window with a count.

    python examples/posts_and_followers.py
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

import sparkext

NET = "http://example.org/net#"
START = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)

PREFIXES = "PREFIX : <http://example.org/net#>\n"

# The text of the query is close to the sentence: a Post, then no Removal, then a Follow. An event reads one
# element at a time; variables with one name have one value in all events.
DISCOVERED = """
REGISTER ISTREAM :discovered AS
SELECT ?author ?post ?popular ?since ?at
FROM NAMED WINDOW :posts    ON :postings   [RANGE PT1H]
FROM NAMED WINDOW :follows  ON :followings [RANGE PT1H]
FROM NAMED WINDOW :mentions ON :mentionings [RANGE PT1H]
EVENT ON :posts   { ?author :posted ?post } AS Post
EVENT ON :posts   { ?author :removed ?post } AS Removal
EVENT ON :follows { ?popular :follows ?author } AS Follow
WHERE {
  MATCH { Post SEQ NOT Removal SEQ Follow WITHIN PT10M FROM ?since TO ?at }
  ?popular :followers ?many .
  FILTER(?many > 1000)
  { SELECT ?popular (COUNT(*) AS ?times)
    WHERE { WINDOW :mentions { ?text :mentions ?popular } }
    GROUP BY ?popular HAVING(COUNT(*) > 1) }
}"""

# Repetitions: three posts or more within five minutes, counted by author.
BUSY = """
REGISTER ISTREAM :busy AS
SELECT ?author ?count
FROM NAMED WINDOW :posts ON :postings [RANGE PT5M]
EVENT ON :posts { ?author :posted ?post } AS Post
WHERE {
  MATCH { Post+ BY ?author (COUNT(*) AS ?count) }
  FILTER(?count >= 3)
}"""

FOLLOWERS = {"nova": 52_000, "otto": 3_100, "pim": 12}

# Minute, stream, subject, predicate, object.
HAPPENINGS = [
    (0, "mentionings", "text1", "mentions", "nova"),
    (1, "mentionings", "text2", "mentions", "nova"),
    (2, "postings", "ann", "posted", "post1"),
    (3, "postings", "bob", "posted", "post2"),
    (4, "followings", "pim", "follows", "ann"),  # not popular
    (5, "postings", "bob", "removed", "post2"),
    (6, "followings", "nova", "follows", "bob"),  # too late: the post is gone
    (7, "followings", "nova", "follows", "ann"),  # this is one
    (8, "mentionings", "text3", "mentions", "otto"),
    (9, "followings", "otto", "follows", "ann"),  # popular, but mentioned only once so far
    (10, "postings", "cem", "posted", "post3"),
    (11, "postings", "cem", "posted", "post4"),
    (12, "postings", "cem", "posted", "post5"),
    (13, "mentionings", "text4", "mentions", "otto"),  # now otto counts, with what he did before
    (15, "followings", "otto", "follows", "cem"),  # and these are three
    (30, "followings", "nova", "follows", "cem"),  # more than ten minutes after the posts
]


def main(spark: SparkSession) -> None:
    """Register both queries and tell them half an hour of happenings."""
    engine = sparkext.Engine(spark)
    number = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    engine.insert(
        "\n".join(
            f'<{NET}{person}> <{NET}followers> "{count}"{number} .'
            for person, count in FOLLOWERS.items()
        )
    )
    for stream in ("postings", "followings", "mentionings"):
        engine.register_stream(NET + stream)

    def discovered(answers: sparkext.Answers) -> None:
        for author, post, popular, since, at in sorted(answers.rows()):
            print(
                f"{clock(answers.time)}  {plain(popular)} follows {plain(author)} since {plain(at)},"
                f" who wrote {plain(post)} at {plain(since)}"
            )

    def busy(answers: sparkext.Answers) -> None:
        for author, count in answers.rows():
            print(f"{clock(answers.time)}  {plain(author)} has posted {plain(count)} times")

    query = engine.register_query(PREFIXES + DISCOVERED)
    query.subscribe(discovered)
    engine.register_query(PREFIXES + BUSY).subscribe(busy)

    for minute, stream, *triple in HAPPENINGS:
        subject, predicate, object_ = (NET + name for name in triple)
        now = START + timedelta(minutes=minute)
        engine.push(NET + stream, (subject, predicate, object_), time=now)
        engine.advance_to(now)  # nothing older comes, on any of the streams
    engine.close()


def plain(term: str) -> str:
    """A term for people: the end of an IRI, a number, the time of day of a dateTime."""
    text = term.split("^^")[0].strip('"<>').rsplit("#", 1)[-1]
    return text.split("T")[1][:5] if "T" in text and text[0].isdigit() else text


def clock(time_ms: int) -> str:
    """The time of day of an instant."""
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%H:%M}"


if __name__ == "__main__":
    quiet = {"spark.log.level": "ERROR", "spark.ui.enabled": "false"}
    builder = SparkSession.builder.master("local[2]").appName("posts").config(map=quiet)
    main(sparkext.configure(builder).getOrCreate())
