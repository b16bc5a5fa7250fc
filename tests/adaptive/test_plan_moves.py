from adaptive.plan import Join, Prejoined, Scan
from adaptive.plan_moves import moves

KINDS = {"f": "filter", "p": "bind"}


def plan(top=(), lower=(), left=(), right=(), method="hash"):
    first = Join(Scan("a", left), Scan("b", right), ("x",), method, lower)
    return Join(first, Scan("c"), ("y",), "index", top)


def test_a_move_names_both_places_of_filters_and_binds():
    assert moves(plan(top=("p", "f")), plan(lower=("p",), left=("f",)), KINDS) == (
        "filter f from after join 2 to scan a",
        "bind p from after join 2 to after join 1",
    )


def test_a_filter_may_be_at_several_places():
    found = moves(plan(left=("f",), right=("f",)), plan(top=("f",)), KINDS)
    assert found == ("filter f from scan a and scan b to after join 2",)


def test_only_the_items_asked_for_and_those_that_moved_are_told():
    assert moves(plan(top=("f", "other")), plan(top=("f",), left=("other",)), KINDS) == ()
    same = plan(top=("f",), method="index")
    assert moves(plan(top=("f",)), same, KINDS) == ()  # the joins are another matter


def test_places_are_told_across_orders_of_joins():
    kept = Prejoined("b+c", frozenset({"b", "c"}), ("x",), ("f",))
    other = Join(Scan("a"), kept, ("x",), "index", ("p",))
    assert moves(plan(top=("p", "f")), other, KINDS) == (
        "filter f from after join 2 to pre-joined b+c",
    )


def test_another_order_at_one_place_is_told():
    assert moves(plan(top=("p", "f")), plan(top=("f", "p")), KINDS) == (
        "f, p after join 2, not p, f",
    )
