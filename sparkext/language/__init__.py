"""The query language RSP-QL*: text to algebra.

text --parser--> parse tree --translate_*--> Query (algebra) --support--> refused, or ready to
compile

`parse_query` reads the whole language; `check_supported` refuses what the engine does not run. The
algebra, its expressions and the query around them are here; `translation` makes them of text. Both
may use `static_data` and the errors only.
"""

from sparkext.language.algebra_text import format_algebra
from sparkext.language.query import Query, QueryWarning, Registration, WindowDeclaration
from sparkext.language.support import check_supported
from sparkext.language.translation.parser import parse_query

__all__ = [
    "Query",
    "QueryWarning",
    "Registration",
    "WindowDeclaration",
    "check_supported",
    "format_algebra",
    "parse_query",
]
