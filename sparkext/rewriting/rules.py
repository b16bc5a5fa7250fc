"""All equivalences as data: name, function, and the semantics of solutions under which each holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from sparkext.language.nodes import Node
from sparkext.rewriting.binds import b_g_push, b_j_pull, b_j_push, b_l_pull, b_l_push, b_w_push
from sparkext.rewriting.filters import (
    f_b_push,
    f_decomp_i,
    f_decomp_ii,
    f_g_push,
    f_j_push,
    f_l_push,
    f_m_push,
    f_o_push,
    f_reord_i,
    f_reord_ii,
    f_s_push,
    f_u_push,
    f_w_push,
)
from sparkext.rewriting.unions_and_joins import (
    j_ass,
    j_comm,
    j_u_dist_r,
    l_u_dist_r,
    u_ass,
    u_comm,
)

Semantics = Literal["set", "bag"]
_BOTH: Final[frozenset[Semantics]] = frozenset({"set", "bag"})
_SET: Final[frozenset[Semantics]] = frozenset({"set"})


@dataclass(frozen=True)
class Rule:
    """One equivalence; `rewrite` goes from its left side to its right one, or gives None.

    `printed` says whether Table 1 of the uncertainty paper has it.
    """

    name: str
    rewrite: Callable[[Node], Node | None]
    holds_for: frozenset[Semantics] = _BOTH
    printed: bool = True


RULES: Final = (
    Rule("UAss", u_ass),
    Rule("JAss", j_ass),
    Rule("UComm", u_comm),
    Rule("JComm", j_comm),
    Rule("JUDistR", j_u_dist_r),
    Rule("LUDistR", l_u_dist_r),
    Rule("FDecompI", f_decomp_i),
    Rule("FDecompII", f_decomp_ii, _SET),
    Rule("FReordI", f_reord_i),
    Rule("FReordII", f_reord_ii),
    Rule("FUPush", f_u_push),
    Rule("FJPush", f_j_push),
    Rule("FLPush", f_l_push),
    Rule("FWPush", f_w_push),
    Rule("FGPush", f_g_push, printed=False),
    Rule("FBPush", f_b_push, printed=False),
    Rule("FSPush", f_s_push, printed=False),
    Rule("FMPush", f_m_push, printed=False),
    Rule("FOPush", f_o_push, printed=False),
    Rule("BGPush", b_g_push),
    Rule("BWPush", b_w_push),
    Rule("BJPush", b_j_push),
    Rule("BLPush", b_l_push),
    Rule("BJPush from right to left", b_j_pull),
    Rule("BLPush from right to left", b_l_pull),
)
