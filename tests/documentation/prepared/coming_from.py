"""A graph that a query names must be known."""

queries.insert(
    '<http://example.org/r1> <http://example.org/name> "Room 1" .', graph="http://example.org/rooms"
)
