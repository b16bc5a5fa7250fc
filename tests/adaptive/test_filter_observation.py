import itertools
import random

import pytest

from adaptive.errors import StatisticsError
from adaptive.filter_observation import FilterCounts, FilterEstimator


def counts(rows, share, chance=None, call_us=50.0):
    passed = round(rows * share)
    if chance is not None:
        passed = sum(chance.random() < share for _ in range(rows))
        call_us *= chance.lognormvariate(0.0, 0.1)
    return FilterCounts(rows, passed, rows, 0, round(rows * call_us * 1e3))


def test_nothing_seen_is_nothing_said():
    estimator = FilterEstimator()
    assert estimator.statistics.selectivity is None
    assert estimator.statistics.call_us is None
    estimator.observe(FilterCounts(0, 0, 0))
    assert estimator.statistics.selectivity is None


@pytest.mark.parametrize("rows", [30, 300, 3_000])
@pytest.mark.parametrize(("before", "after"), [(0.1, 0.9), (0.9, 0.1), (0.5, 0.05), (0.02, 0.5)])
def test_a_drift_is_followed_within_three_evaluations(rows, before, after):
    chance = random.Random(rows)
    estimator = FilterEstimator()
    for _ in range(40):
        estimator.observe(counts(rows, before, chance))
    for _ in range(3):
        estimator.observe(counts(rows, after, chance))
    deviation = 4 * (after * (1 - after) / rows) ** 0.5
    assert estimator.statistics.selectivity == pytest.approx(after, abs=0.06 + deviation)


def seen_lately(rows, share, chance):
    """What is taken to be so after each of 250 evaluations, when 50 have been."""
    estimator = FilterEstimator()
    seen = []
    for _ in range(300):
        estimator.observe(counts(rows, share, chance))
        seen.append(estimator.statistics)
    return seen[50:]


def changes(seen):
    return sum(one != other for one, other in itertools.pairwise(seen))


@pytest.mark.parametrize("share", [0.02, 0.3, 0.95])
def test_noise_does_not_flap(share):
    seen = seen_lately(200, share, random.Random(7))
    assert changes(seen) <= 25
    assert all(abs(s.selectivity - share) < 0.06 for s in seen)
    assert all(40.0 < s.call_us < 62.0 for s in seen)


@pytest.mark.parametrize(("low", "high"), [(0.0005, 0.019), (0.0, 0.01), (0.002, 0.02)])
@pytest.mark.parametrize("rows", [2_000, 20_000])
def test_small_shares_are_followed_up_as_they_are_down(rows, low, high):
    estimator = FilterEstimator()
    for share in (high, low, high):
        for _ in range(30):
            estimator.observe(counts(rows, share))
        noise = (max(share, 1 / rows) / rows) ** 0.5
        found = estimator.statistics.selectivity
        assert found == pytest.approx(share, abs=0.2 * share + 2 * noise)


@pytest.mark.parametrize("share", [0.0005, 0.002, 0.01])
def test_a_few_rows_more_are_no_other_share(share):
    seen = [s.selectivity for s in seen_lately(2_000, share, random.Random(3))]
    assert changes(seen) <= 10
    assert all(share / 4 < one < share * 3 for one in seen)


def test_what_alternates_settles_between():
    estimator = FilterEstimator()
    for turn in range(200):
        estimator.observe(counts(500, 0.1 if turn % 2 else 0.9))
    late = []
    for turn in range(50):
        estimator.observe(counts(500, 0.1 if turn % 2 else 0.9))
        late.append(estimator.statistics.selectivity)
    assert min(late) > 0.3
    assert max(late) < 0.7


def test_one_slow_evaluation_is_not_a_new_price():
    estimator = FilterEstimator()
    for _ in range(20):
        estimator.observe(counts(500, 0.5))
    estimator.observe(counts(500, 0.5, call_us=5_000.0))
    assert estimator.statistics.call_us < 100.0
    for _ in range(2):
        estimator.observe(counts(500, 0.5, call_us=500.0))
    assert estimator.statistics.call_us == pytest.approx(500.0, rel=0.2)


def test_a_first_look_at_few_rows_is_careful():
    estimator = FilterEstimator()
    estimator.observe(FilterCounts(2, 2, 2))
    assert 0.6 < estimator.statistics.selectivity < 0.95


def test_repeated_inputs_are_counted():
    estimator = FilterEstimator()
    for _ in range(20):
        estimator.observe(FilterCounts(1_000, 500, 100, 900, 5_000_000), distinct=1_000.0)
    assert estimator.statistics.distinct_factor == pytest.approx(0.1, rel=0.15)
    for _ in range(20):  # all differ: at least as many as there were rows
        estimator.observe(FilterCounts(1_000, 500, 1_000, 0, 50_000_000), distinct=1_000.0)
    assert estimator.statistics.distinct_factor == pytest.approx(1.0, rel=0.15)


def test_impossible_counts_are_errors():
    for wrong in ((-1, 0, 0), (1, 2, 0), (1, 1, -1)):
        with pytest.raises(StatisticsError):
            FilterCounts(*wrong)
