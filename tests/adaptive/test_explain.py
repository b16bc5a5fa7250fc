import json

from adaptive.explain import explain, explain_choice, format_plan, node_id
from adaptive.graph.plan import walk
from adaptive.search.optimizer import optimize
from adaptive.search.prejoin import PrejoinPolicy
from tests.adaptive.query_graphs import Q2, dblp

CHOICE = optimize(Q2, dblp())


def nodes(tree):
    yield tree
    for child in tree["children"]:
        yield from nodes(child)


def test_the_tree_is_plain_json_with_one_node_a_plan_node():
    tree = explain(CHOICE.plan)
    assert json.loads(json.dumps(tree)) == tree
    ids = [node["node_id"] for node in nodes(tree)]
    assert len(set(ids)) == len(ids) == len(list(walk(CHOICE.plan)))


def test_own_costs_add_up_to_the_whole():
    tree = explain(CHOICE.plan)
    assert abs(sum(node["own_cost"] for node in nodes(tree)) - tree["cost"]) < 1e-6


def test_a_part_keeps_its_id_in_another_plan():
    other = optimize(Q2, dblp(), prejoin=PrejoinPolicy(enabled=False))
    part = node_id({"now", "creator1", "creator2"})
    assert part in {node["node_id"] for node in nodes(explain(CHOICE.plan))}
    assert part in {node["node_id"] for node in nodes(explain(other.plan))}


def test_measurements_are_merged_by_id_and_shown():
    part = node_id({"now", "creator1", "creator2"})
    tree = explain_choice(CHOICE, {part: {"actual_rows": 11_234, "seconds": 0.0004}})
    merged = next(node for node in nodes(tree["plan"]) if node["node_id"] == part)
    assert merged["actual_rows"] == 11_234
    text = format_plan(tree)
    assert "11,234 counted" in text
    assert "0.400 ms measured" in text


def test_the_text_says_what_is_probed_and_what_is_kept():
    text = format_plan(explain_choice(CHOICE))
    assert "scan now: ~1,000 rows" in text
    assert "index w30" in text
    assert "pre-joined creator1+creator2 (person1, person2), filter different" in text
    assert "- now is streamed: 1,000 rows" in text
    assert "(without pre-joined parts)" in text
