"""What was learned in a state of the streams is right when it comes back, and is not taken for another state's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive.corrections import Corrections
from adaptive.plan_cache import PlanCache
from adaptive.query_graph import ColumnStatistics, RelationStatistics
from adaptive.statistics import Catalogue, OperatorCounts
from adaptive.stream_states import SAME_STATE, StreamStates
from tests.adaptive.test_plan_follower import GRAPH, WITHOUT, content
from tests.adaptive.test_plan_follower import catalogue as all_relations

BOTH = frozenset({"now", "range"})
MANY = st.dictionaries(st.sampled_from("abc"), st.floats(0.0, 1e9), min_size=1)


def known(rows):
    return RelationStatistics(rows, {"room": ColumnStatistics(10.0)})


def factor(catalogue):
    return round(math.exp(catalogue.corrections.factor(BOTH)), 3)


def test_each_state_has_corrections_of_its_own():
    catalogue = Catalogue({"now": known(1e3), "range": known(1e4)})
    catalogue.recognise()
    catalogue.fold([OperatorCounts(BOTH, 99.0, 799.0)])
    assert factor(catalogue) == 8.0
    quiet, crowded = {"range": known(1e4)}, {"range": known(1e6)}
    assert catalogue.recognise(crowded) == 1
    assert factor(catalogue) == 8.0, "a new state begins with what is known"
    catalogue.fold([OperatorCounts(BOTH, 799.0, 9.0)])
    assert factor(catalogue) < 1.0
    changes = catalogue.corrections_version
    assert catalogue.recognise(quiet) == 0
    assert factor(catalogue) == 8.0
    assert catalogue.corrections_version != changes
    assert (catalogue.recognise(crowded), catalogue.state) == (1, 1)
    assert factor(catalogue) < 1.0


def test_a_new_state_begins_with_what_is_known_in_the_nearest_one():
    states = StreamStates(Corrections())
    states.recognise({"now": 1e2})
    states.corrections.learn(BOTH, math.log(2.0))
    states.recognise({"now": 1e6})
    states.corrections.learn(BOTH, math.log(100.0))
    assert states.recognise({"now": 3e2}) == 2
    assert states.corrections.factor(BOTH) == pytest.approx(math.log(2.0))


def test_measured_pairs_tell_states_apart_too():
    catalogue = Catalogue({"now": known(1e3), "range": known(1e4)})
    numbers = [
        catalogue.recognise({}, {pair: rows})
        for pair, rows in (
            (("now", "range"), 1e3),
            (("range", "now"), 1.3e3),
            (("now", "range"), 1e5),
            (("now", "range"), 1e3),
        )
    ]
    assert numbers == [0, 0, 1, 0]


def test_between_two_states_the_one_that_is_clearly_nearer_is_present():
    states = StreamStates(Corrections())
    rows = (100.0, 190.0, 140.0, 112.0, 140.0, 175.0)
    assert [states.recognise({"now": count}) for count in rows] == [0, 1, 1, 0, 0, 1]


def test_what_cannot_be_measured_at_first_is_taken_up_later():
    states = StreamStates(Corrections())
    rows = ({"now": 1e3}, {"now": 1e3, "pair": 10.0}, {"now": 1e3, "pair": 1e5})
    assert [states.recognise(count) for count in rows] == [0, 0, 1]


def test_what_a_first_sample_is_off_by_does_not_make_another_state():
    """Phases as those of the adapt bench's three windows: the first sample of a join said a third of its rows."""
    states = StreamStates(Corrections())
    other = {"now": 1e3, "join": 30e6}, {"join": 2e6}
    first = {"now": 1e4, "join": 13e6}, {"join": 5e6}
    later = [({"now": 1e4, "join": rows}, {"join": 2e6}) for rows in (31e6, 27e6, 20e6)]
    numbers = [states.recognise(*told) for told in (other, first, other, later[0], other)]
    assert numbers == [0, 1, 0, 1, 0]
    assert [states.recognise(*told) for told in later] == [1, 1, 1]


def test_a_sampled_number_that_moves_beyond_chance_makes_another_state():
    states = StreamStates(Corrections())
    told = [({"join": rows}, {"join": 0.2 * rows}) for rows in (1e6, 2e6, 3e6, 1e6)]
    assert [states.recognise(*each) for each in told] == [0, 0, 1, 0]
    states = StreamStates(Corrections())
    precise = [({"join": rows}, {"join": 0.05 * rows}) for rows in (1e6, 1.7e6, 2e6)]
    assert [states.recognise(*each) for each in precise] == [0, 0, 1], "as where it is counted"


def test_a_state_does_not_drift_with_samples_that_are_as_good():
    states = StreamStates(Corrections())
    numbers = []
    for step in range(12):
        rows = 1e6 * 1.2**step
        numbers.append(states.recognise({"join": rows}, {"join": 0.1 * rows * 0.99**step}))
    assert numbers[0] == 0 and len(set(numbers)) >= 2


def test_errors_of_pairs_are_those_told_last():
    catalogue = Catalogue({"now": known(1e3), "range": known(1e4)})
    pair = ("range", "now")
    assert catalogue.recognise({}, {pair: 1e4}, {pair: 5e3}) == 0
    catalogue.set_match(*pair, 1e4)
    assert catalogue.recognise({"now": known(1.2e3)}) == 0, "no news of the pair"
    assert catalogue.recognise({}, {pair: 4e4}, {pair: 1e3}) == 0
    assert catalogue.recognise({}, {pair: 9e4}) == 1, "counted now"
    catalogue.set_match(*pair, 9e4)
    assert catalogue.recognise({}, {}, {("now", "other"): 1.0}) == 1, (
        "an error of what is not known"
    )


def test_states_that_were_left_for_longest_are_forgotten():
    states = StreamStates(Corrections())
    numbers = [states.recognise({"now": 10.0**power}) for power in range(1, 40)]
    assert numbers == list(range(39))
    assert states.recognise({"now": 1e38}) == 37
    assert states.recognise({"now": 10.0}) == 39, "a new one"


@given(st.lists(MANY, min_size=1, max_size=30))
def test_the_same_numbers_are_the_same_state_at_once(counts):
    states, made = StreamStates(Corrections()), set()
    for rows in counts:
        number = states.recognise(rows)
        version = states.version
        assert states.recognise(rows) == number == states.number
        if number not in made:
            near = {key: count * math.exp(SAME_STATE / 2) for key, count in rows.items()}
            assert states.recognise(near) == number
        made.add(number)
        assert states.version == version


def test_the_plan_cache_sees_a_state_come_back():
    """The count says that a join of two is far larger than it seems; in the other state it is not."""
    both = frozenset({"window", "left"})
    catalogue = all_relations(1e3, 1e3)
    cache = PlanCache(GRAPH, catalogue, prejoin=WITHOUT)
    one, other = content(1e3, 1e3), content(1e3, 1e2)
    catalogue.recognise(one)
    cache.apply(one, observed=[OperatorCounts(both, 1e2, 1e5)])
    there = cache.cost
    catalogue.recognise(other)
    cache.apply(other, observed=[OperatorCounts(both, 1e5, 1e2)])
    for statistics in (one, other, one):
        catalogue.recognise(statistics)
        cache.apply(statistics)
        assert cache.cost == pytest.approx(PlanCache(GRAPH, catalogue, prejoin=WITHOUT).cost), (
            "as a search from scratch"
        )
    assert cache.cost == pytest.approx(there)
