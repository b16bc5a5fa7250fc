"""Parse tree of a query level to algebra: grouping, SELECT, modifiers (sections 18.2.4, 18.2.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lark import Token, Tree

from sparkext.language.algebra import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Join,
    OrderBy,
    OrderKey,
    Project,
    Reduced,
    Slice,
)
from sparkext.language.expressions import Expression, VariableReference, conjunction
from sparkext.language.nodes import Node, Position, Variable
from sparkext.language.query import QueryWarning
from sparkext.language.translation.grouping import Grouping, has_aggregate
from sparkext.language.translation.iris import Prologue
from sparkext.language.translation.translate_patterns import PatternTranslation
from sparkext.language.translation.translate_terms import (
    ParseNode,
    fail,
    kind_of,
    position_of,
    trees,
    variable,
)
from static_data.files.rdf_version import RdfVersion

# The engine numbers rows in 32 bits, so that no answer has more.
_MOST_ROWS = (1 << 31) - 1


@dataclass(frozen=True)
class SelectItem:
    """One entry of a SELECT clause; without an expression the variable is just shown."""

    variable: Variable
    expression: Expression | None
    tree: ParseNode


def visible(variables: Sequence[Variable]) -> tuple[Variable, ...]:
    """Return the variables that a user has written."""
    return tuple(variable for variable in variables if not variable.hidden)


class SelectTranslation(PatternTranslation):
    """One SELECT level, or the same modifiers on ASK, CONSTRUCT and DESCRIBE."""

    def __init__(self, prologue: Prologue, rdf: RdfVersion) -> None:
        super().__init__(prologue, rdf)
        self.warnings: list[QueryWarning] = []

    def warn(self, message: str, position: Position | None) -> None:
        """Note something legal that is probably not meant."""
        line, column = position or Position(1, 1)
        self.warnings.append(QueryWarning(message, line, column))

    def sub_select(self, tree: Tree[Token]) -> Node:
        """Translate a SELECT with its clauses."""
        clauses = {kind_of(child): child for child in trees(tree)}
        return self.solutions(clauses)

    def solutions(self, clauses: dict[str, Tree[Token]], where: Node | None = None) -> Node:
        """Translate the clauses of a query level, by rule name; `where` stands in for a missing
        where clause.
        """
        select = clauses.get("select_clause")
        pattern = Bgp() if where is None else where
        if "where_clause" in clauses:
            pattern = self.group(clauses["where_clause"].children[0])
        items, distinct, star = self._select_clause(select)
        keys = self._group_keys(clauses.get("group_clause"), pattern)
        with self.aggregates_allowed():
            having = self._expressions(clauses.get("having_clause"))
            order = self._order_keys(clauses.get("order_clause"))
        written = (
            [i.expression for i in items if i.expression]
            + having
            + [key.expression for key in order]
        )
        grouping: Grouping | None = None
        if keys is not None or any(map(has_aggregate, written)):
            if star is not None:
                fail(star, "SELECT * cannot be used with GROUP BY or aggregates")
            grouping = Grouping(keys or (), self.fresh_variable)
            items = self._items_over_groups(items, grouping)
            # The spec samples before SELECT's names exist, but ORDER BY runs after them and may use
            # them.
            order = [
                OrderKey(grouping.over_groups(k.expression, sample=True), k.descending)
                for k in order
            ]
            aliases, grouping.aliases = grouping.aliases, set()
            self._warn_having_aliases(having, aliases, pattern)
            having = [grouping.over_groups(condition, sample=True) for condition in having]
            place = clauses.get("group_clause", select)
            pattern = grouping.group(pattern, None if place is None else position_of(place))
        if having:
            pattern = Filter(conjunction(having), pattern, position=having[0].position)
        if "values_clause" in clauses:
            pattern = Join(pattern, self.values(clauses["values_clause"]))
        pattern = self._extend(pattern, items)
        if order:
            pattern = OrderBy(pattern, tuple(order), position=position_of(clauses["order_clause"]))
        if select is not None:
            names = (
                visible(pattern.variables)
                if star is not None
                else tuple(item.variable for item in items)
            )
            pattern = Project(pattern, tuple(dict.fromkeys(names)), position=position_of(select))
        if distinct is not None:
            kind = Distinct if distinct.upper() == "DISTINCT" else Reduced
            pattern = kind(pattern, position=position_of(distinct))
        return self._slice(pattern, clauses)

    def _select_clause(
        self, select: Tree[Token] | None
    ) -> tuple[list[SelectItem], Token | None, Token | None]:
        """Return the items, the DISTINCT or REDUCED token, and the `*` token."""
        items: list[SelectItem] = []
        distinct = star = None
        for child in () if select is None else select.children:
            if isinstance(child, Token):
                if child.type == "STAR":
                    star = child
                elif child.type == "SELECT_MODIFIER":
                    distinct = child
                continue
            *expression, name = child.children
            with self.aggregates_allowed():
                value = self.expression(expression[0]) if expression else None
            items.append(SelectItem(variable(name), value, name))
        return items, distinct, star

    def _group_keys(
        self, tree: Tree[Token] | None, pattern: Node
    ) -> tuple[tuple[Variable, Expression], ...] | None:
        if tree is None:
            return None
        keys: list[tuple[Variable, Expression]] = []
        for condition in trees(tree):
            value, *name = condition.children
            expression = self.expression(value)
            if name:
                key = variable(name[0])
                if key in pattern.variables or any(key == known for known, _ in keys):
                    fail(name[0], f"{key} is already in use and cannot be named again by AS")
            elif isinstance(expression, VariableReference):
                key = expression.variable
            else:
                key = self.fresh_variable("key")
            if all(key != known for known, _ in keys):
                keys.append((key, expression))
        return tuple(keys)

    def _expressions(self, tree: Tree[Token] | None) -> list[Expression]:
        return [] if tree is None else [self.expression(child) for child in tree.children]

    def _order_keys(self, tree: Tree[Token] | None) -> list[OrderKey]:
        keys = []
        for condition in () if tree is None else trees(tree):
            *direction, value = condition.children
            descending = bool(direction) and str(direction[0]).upper() == "DESC"
            keys.append(OrderKey(self.expression(value), descending))
        return keys

    def _items_over_groups(self, items: list[SelectItem], grouping: Grouping) -> list[SelectItem]:
        rewritten = []
        for item in items:
            if item.expression is None:
                grouping.require_key(item.variable, position_of(item.tree))
                rewritten.append(item)
                continue
            expression = grouping.over_groups(item.expression, sample=False)
            rewritten.append(SelectItem(item.variable, expression, item.tree))
            grouping.aliases.add(item.variable)
        return rewritten

    def _warn_having_aliases(
        self, having: list[Expression], aliases: set[Variable], pattern: Node
    ) -> None:
        for condition in having:
            for part in condition.walk():
                if (
                    isinstance(part, VariableReference)
                    and part.variable in aliases
                    and part.variable not in pattern.variables
                ):
                    self.warn(
                        f"{part.variable} is named by SELECT, after HAVING, and is unbound here; "
                        "repeat its expression",
                        part.position,
                    )

    def _extend(self, pattern: Node, items: list[SelectItem]) -> Node:
        shown: set[Variable] = set()
        for item in items:
            if item.expression is not None:
                if item.variable in pattern.variables or item.variable in shown:
                    fail(
                        item.tree,
                        f"{item.variable} is already in use and cannot be named again by AS",
                    )
                pattern = Extend(
                    pattern, item.variable, item.expression, position=item.expression.position
                )
            shown.add(item.variable)
        return pattern

    def _slice(self, pattern: Node, clauses: dict[str, Tree[Token]]) -> Node:
        limit, offset = clauses.get("limit_clause"), clauses.get("offset_clause")
        if limit is None and offset is None:
            return pattern
        first = min(position_of(clause) for clause in (limit, offset) if clause is not None)
        return Slice(
            pattern,
            0 if offset is None else _row_count(offset.children[0]),
            None if limit is None else _row_count(limit.children[0]),
            position=first,
        )


def _row_count(token: ParseNode) -> int:
    """The number after LIMIT or OFFSET; beyond what an answer can have, all such numbers mean the same."""
    digits = str(token).lstrip("0") or "0"
    return _MOST_ROWS if len(digits) > len(str(_MOST_ROWS)) else min(int(digits), _MOST_ROWS)
