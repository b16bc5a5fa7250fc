"""The query language RSP-QL*: text to algebra.

text --parser--> parse tree --translate_*--> Query (algebra) --support--> refused, or ready to
compile

`parse_query` reads the whole language; `check_supported` refuses what the engine does not run.
"""

from sparkext.language.algebra_text import format_algebra
from sparkext.language.parser import parse_query
from sparkext.language.query import Query, QueryWarning, Registration, WindowDeclaration
from sparkext.language.support import check_supported

__all__ = [
    "Query",
    "QueryWarning",
    "Registration",
    "WindowDeclaration",
    "check_supported",
    "format_algebra",
    "parse_query",
]
