"""IRIs that N-Triples allows and RFC 3987 does not, got past a parser that holds to the latter.

N-Triples and Turtle let most characters stand in an IRI: a second `#`, brackets in a path, `%` before
anything. Dumps have them, and the same IRI should be read or refused in every format. So such a
character is changed for one of a plane that Unicode leaves empty before the parser sees it, and
changed back afterwards. An IRI that did hold such a character itself is refused.
"""

from __future__ import annotations

import re

_PAIRS = [
    *((ord(c), 0xD0000 + ord(c)) for c in "#[]%:@"),
    *((c, c + 0xC0000) for c in range(0xE000, 0xF900)),  # for private use, which only queries allow
]
_REFUSED = 0xFFFE
_HIDDEN = dict(_PAIRS) | {b: _REFUSED for _, b in _PAIRS}
_REVEALED = {b: a for a, b in _PAIRS}
_STAND_IN = re.compile(f"[\U000ce000-\U000cf8ff{''.join(chr(b) for _, b in _PAIRS[:6])}]")
_AWAY = r"\ue000-\uf8ff\U000ce000-\U000cf8ff\U000d0023\U000d0025\U000d003a\U000d0040\U000d005b\U000d005d"
_SUSPICIOUS = re.compile(rf"[\[\]%{_AWAY}]|#.*#|//[^/?#]*[:@]")
_IN_PATH = re.compile(rf"[\[\]{_AWAY}]|%(?![0-9A-Fa-f]{{2}})")
_IN_FRAGMENT = re.compile(rf"[#\[\]{_AWAY}]|%(?![0-9A-Fa-f]{{2}})")
_IN_AUTHORITY = re.compile(rf"[{_AWAY}]")
_IN_BROKEN_AUTHORITY = re.compile(rf"[\[\]%:@{_AWAY}]")
_PARTS = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.\-]*:)?)((?://[^/?#]*)?)([^#]*)(#?)(.*)", re.DOTALL)
_NAME = r"(?:[^\[\]%:@/]|%[0-9A-Fa-f]{2})*+"
_AUTHORITY = re.compile(rf"//(?:(?:{_NAME}:)*{_NAME}@)?(?:\[[0-9A-Fa-f:.]+\]|{_NAME})(?::[0-9]*)?")


def hide(iri: str) -> str:
    """The IRI (or reference) with what RFC 3987 does not allow changed, as far as N-Triples allows it.

    >>> reveal(hide("https://m/w#Crew?oldid=2#C")), hide("http://e/a#b")
    ('https://m/w#Crew?oldid=2#C', 'http://e/a#b')
    """
    if _SUSPICIOUS.search(iri) is None:
        return iri
    parts = _PARTS.fullmatch(iri)
    assert parts is not None
    scheme, authority, path, mark, fragment = parts.groups()
    sound = not authority or _AUTHORITY.fullmatch(authority)
    authority = (_IN_AUTHORITY if sound else _IN_BROKEN_AUTHORITY).sub(_hide, authority)
    path = _IN_PATH.sub(_hide, path)
    return scheme + authority + path + mark + _IN_FRAGMENT.sub(_hide, fragment)


def reveal(iri: str) -> str:
    """The inverse of `hide`."""
    return _STAND_IN.sub(lambda found: chr(_REVEALED[ord(found.group())]), iri)


def _hide(match: re.Match[str]) -> str:
    return chr(_HIDDEN[ord(match.group())])
