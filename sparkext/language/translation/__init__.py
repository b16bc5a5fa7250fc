"""Text in, algebra out: the grammar, what its trees mean, and errors that show the place.

`parse_query` is the door; it may use `language`, whose query, algebra and expressions it makes.
"""
