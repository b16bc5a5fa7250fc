"""Expressions over columns a and b of terms, by what they need beside ids: nothing, texts of some terms, or of all."""

from __future__ import annotations

from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.windows.stream_blocks import iri

INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
NUMBERS = [(f'"{n}"^^<{INTEGER}>', f'"{n + 1}"^^<{INTEGER}>') for n in (1, 2)]
TYPED = [('"x"^^<http://e/t>', '"y"^^<http://e/t>'), ('"y"^^<http://e/t>', '"z"^^<http://e/t>')]
TEXTS = [('"x"', '"y"'), TYPED[0]]

OF_IDS = {
    "isIri": "cqels_boolean(cqels_isiri(a))",
    "sameTerm": "cqels_boolean(a = b)",
    "equal to an IRI": "cqels_boolean(cqels_equal({room}, a, {iri}))",
    "an IRI equal": "cqels_boolean(cqels_equal({room}, {iri}, a))",
    "in IRIs": "cqels_boolean(cqels_in({room}, a, array({iri}, {resource})))",
    "choose": "cqels_choose(a = b, a, b)",
    "count": "cqels_integer(count(a))",
}
OF_VALUES = {
    "equal": "cqels_boolean(cqels_equal({room}, a, b))",
    "less": "cqels_boolean(cqels_less({room}, a, b))",
    "less than a number": "cqels_boolean(cqels_less({room}, a, {number}))",
    "in": "cqels_boolean(cqels_in({room}, a, array(b)))",
    "truth value": "cqels_boolean(cqels_effective_boolean({room}, a))",
    "isNumeric": "cqels_boolean(cqels_isnumeric({room}, a))",
    "add": "cqels_add({room}, a, b)",
    "sum": "cqels_sum({room}, collect_list(a))",
    "cast": "cqels_cast_integer({room}, a)",
    "min": "cqels_min({room}, a)",
}
OF_TEXTS = {
    "str": "cqels_str({room}, a)",
    "lang": "cqels_lang({room}, a)",
    "contains": "cqels_boolean(cqels_contains({room}, a, b))",
    "regex": "cqels_boolean(cqels_regex({room}, a, b, {string}))",
    "equal to a string": "cqels_boolean(cqels_equal({room}, a, {string}))",
    "less than a typed literal": "cqels_boolean(cqels_less({room}, a, {typed}))",
    "concat": "cqels_concat({room}, array(a, b))",
    "now": "cqels_now({room}, a)",
    "uuid": "cqels_uuid({room})",
    "rspu": "cqels_rspu_doubleterm({site}, cqels_rspu_mean({site}, cqels_rspu_distribution({site}, a)))",
    "iri": "cqels_boolean(cqels_isiri(coalesce(cqels_iri({room}, a, {string}), a)))",
}


def written(live: LiveRoom, expression: str) -> str:
    """The expression for an engine room."""

    def constant(text: str) -> str:
        return f"cqels_term({live.id(text)}L)"

    return expression.format(
        room=f"{live.number}L",
        site=f"cqels_site({live.number}L, 1)",
        iri=constant(iri("i")),
        resource=f"{live.id(iri('i'))}L",
        number=constant(f'"5"^^<{INTEGER}>'),
        string=constant('"s"'),
        typed=constant('"s"^^<http://e/t>'),
    )
