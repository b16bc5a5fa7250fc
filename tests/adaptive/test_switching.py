import pytest

from adaptive.errors import CostModelError
from adaptive.query_graph import ColumnStatistics, RelationStatistics
from adaptive.statistics import OperatorCounts
from adaptive.switch_cause import cause, snapshot
from adaptive.switching import Regimes, SwitchPolicy
from tests.adaptive.query_graphs import catalogue_of, chain, statistics

POLICY = SwitchPolicy(
    prepare_cost=1_000.0, switch_cost=10.0, margin=0.1, horizon=50.0, background=1.0
)


def test_noise_is_no_reason_whatever_it_would_save():
    assert POLICY.decide(100.0, 91.0, True, 50.0).kind == "stay"
    assert POLICY.decide(100.0, 80.0, True, 50.0).kind == "switch"


def test_a_prepared_plan_needs_to_save_little_and_another_its_preparation():
    assert POLICY.decide(100.0, 50.0, True, 1.0).kind == "switch"
    assert POLICY.decide(11.0, 2.0, True, 1.0).kind == "stay"
    assert POLICY.decide(100.0, 50.0, False, 20.0).kind == "stay"
    verdict = POLICY.decide(100.0, 50.0, False, 21.0)
    assert (verdict.kind, verdict.saving) == ("prepare", 21 * 50.0)
    assert "saves 50 us in each of 21" in verdict.reason


def test_what_preparing_costs_and_how_long_it_takes_count():
    assert POLICY.decide(100.0, 50.0, False, 5.0, prepare_cost=100.0).kind == "prepare"
    assert POLICY.decide(100.0, 50.0, False, 30.0, delay=15.0).kind == "stay"


def test_preparing_counts_as_far_as_evaluations_feel_it():
    aside = SwitchPolicy(prepare_cost=1_000.0, switch_cost=10.0, background=0.1)
    assert aside.decide(100.0, 50.0, False, 3.0).kind == "prepare"
    assert POLICY.decide(100.0, 50.0, False, 3.0).kind == "stay"


def test_a_plan_missed_again_and_again_is_prepared_however_short_its_times():
    assert POLICY.decide(100.0, 50.0, False, 1.0, missed=1_000.0).kind == "stay"
    verdict = POLICY.decide(100.0, 50.0, False, 1.0, missed=1_011.0)
    assert (verdict.kind, verdict.saving) == ("prepare", 1_011.0)
    assert "lately" in verdict.reason


def test_a_saving_lasts_no_longer_than_the_horizon():
    assert POLICY.decide(100.0, 90.0 - 9.9, False, 1e9).kind == "stay"
    assert POLICY.decide(100.0, 70.0, False, 1e9).saving == 50 * 30.0


def test_regimes_are_learned_from_how_long_plans_stayed_best():
    regimes = Regimes(POLICY)
    assert regimes.lasting == POLICY.first_regime
    for _ in range(40):
        regimes.seen(same=False)
    assert regimes.lasting == pytest.approx(1.0, abs=0.01)
    for _ in range(30):
        regimes.seen(same=True)
    assert regimes.lasting == 31.0
    for _ in range(300):
        regimes.seen(same=True)
    assert regimes.lasting == POLICY.horizon
    regimes.seen(same=False)
    assert regimes.lasting == POLICY.horizon  # the mean remembers the long regime
    for _ in range(40):
        regimes.seen(same=False)
    assert regimes.lasting < 2.0


@pytest.mark.parametrize(
    "wrong",
    [{"margin": -0.1}, {"horizon": 0.5}, {"memory": 0.0}, {"prepare_cost": float("nan")}],
)
def test_policies_out_of_range_are_errors(wrong):
    with pytest.raises(CostModelError, match=next(iter(wrong))):
        SwitchPolicy(**wrong)


def changed_by(change):
    graph = chain(3)
    catalogue = catalogue_of(graph)
    catalogue.set_match("r0", "r1", 5.0)
    before = snapshot(graph, catalogue)
    change(catalogue)
    return cause(before, snapshot(graph, catalogue))


def test_the_cause_is_the_statistic_that_changed_most():
    assert changed_by(lambda c: None) == "no statistic changed"
    assert changed_by(lambda c: c.observe("r1", 4_000)) == "rows of r1: 1,000 -> 4,000"

    def both(catalogue):
        catalogue.observe("r1", 4_000)
        catalogue.set_match("r0", "r1", 900.0)

    assert changed_by(both) == "r0 x r1: 5 -> 900 rows"
    assert (
        changed_by(lambda c: c.update("r2", statistics(1_000, v2=2, v3=100)))
        == "values of v2 in r2: 100 -> 2"
    )
    frequent = RelationStatistics(
        1_000, {"v2": ColumnStatistics(100, ((7, 800),)), "v3": ColumnStatistics(100)}
    )
    assert changed_by(lambda c: c.update("r2", frequent)) == "most frequent v2 in r2: 0 -> 800 rows"
    counts = OperatorCounts(frozenset({"r0", "r1"}), 999.0, 49_999.0)
    assert (
        changed_by(lambda c: c.fold([counts])) == "counted over estimated rows of r0 x r1: 1 -> 50"
    )
