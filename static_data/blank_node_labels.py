"""What a blank node may be called: BLANK_NODE_LABEL of RDF 1.1 N-Triples, section 7."""

from __future__ import annotations

from typing import Final

# PN_CHARS_BASE, '_' and digits.
_START: Final = (
    "A-Za-z0-9_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
# What PN_CHARS adds.
_PART: Final = _START + "\u00b7\u0300-\u036f\u203f\u2040\\-"

LABEL: Final = rf"[{_START}](?:[{_PART}.]*[{_PART}])?"
"""A regular expression for the label without its `_:`.

>>> import re
>>> [bool(re.fullmatch(LABEL, text)) for text in ("b0", "0", "a.b", "हिन", "a.", "-a", "a b")]
[True, True, True, True, False, False, False]
"""
