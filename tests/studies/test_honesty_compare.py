"""The comparison of methods: cells on simulated crowds, left-out weights, and the tables of the page."""

import numpy as np
import pytest

from adjudge.inference.calibration import learned_weights
from adjudge.inference.fit import fit
from studies import honesty_compare
from studies.honesty import Case, Score, sample, simulate
from studies.honesty_compare import (
    Cell,
    Job,
    Method,
    better_methods,
    compare,
    compare_case,
    cost_sets,
    learned_without,
    methods,
    rows_of_costs,
    rows_of_methods,
    rows_of_worst,
    vote_shares,
)

QUIET = lambda text: None  # noqa: E731


@pytest.fixture(scope="module")
def case():
    """Return a simulated crowd as if it were a real one."""
    judgments, truth = simulate(np.random.default_rng(1), 60, 8, 4, 3, 0.75)
    return Case("made", "crowd", "made", 0, judgments, truth)


@pytest.fixture(scope="module")
def cells(case):
    """Return the cells of all methods on this crowd."""
    return compare([sample(case)], {"made": learned_weights()}, QUIET)


def made(method, name, thinned=0, accuracy=0.8, log_loss=0.5, gap=0.0, seconds=1.0):
    """Return a cell with these figures."""
    return Cell(method, name, "crowd", thinned, 100, Score(accuracy, log_loss, gap), seconds)


def test_every_method_has_a_cell(cells):
    """There is one cell per method, with a score or a reason, and Dawid-Skene has both score and CPU time."""
    assert [cell.method for cell in cells] == [method.name for method in methods()]
    assert all((cell.score is None) == bool(cell.reason) for cell in cells)
    by_name = {cell.method: cell for cell in cells}
    assert by_name["dawid-skene"].score.accuracy > 0.5
    assert by_name["dawid-skene"].seconds > 0
    assert by_name["crowd-kit DawidSkene"].score.accuracy == pytest.approx(
        by_name["dawid-skene"].score.accuracy, abs=0.1
    )
    assert by_name["kos"].reason.startswith("refused: ")


def test_the_consensus_is_that_of_the_training(case, cells):
    """With the same weights, a fit of the consensus has the probabilities of the sample that is trained on."""
    weights = learned_weights()
    each = sample(case)
    theta = np.column_stack([weights["by_crowd"], weights["by_size"]]).ravel()
    with learned_without(weights):
        posterior = fit(case.judgments).posterior[each.gold]
    np.testing.assert_allclose(posterior, each.probabilities(theta), atol=1e-9)


def test_weights_without_a_family_are_used_and_taken_back(case):
    """Other weights change the answer inside the context, and only there."""
    before = fit(case.judgments).posterior
    other = {**learned_weights(), "by_size": [5.0, 5.0, 0.0]}
    with learned_without(other):
        assert np.abs(fit(case.judgments).posterior - before).max() > 0.01
    np.testing.assert_array_equal(fit(case.judgments).posterior, before)


def test_a_peer_that_fails_is_told(case, monkeypatch):
    """An exception of a peer becomes the reason of its cell, and one of our own models is raised."""

    def fails(judgments):
        raise ValueError("no")

    job = Job(case, np.arange(5), case.truth[:5], learned_weights())
    compare_case(job)
    monkeypatch.setattr(honesty_compare, "methods", lambda: [Method("peer", fails)])
    assert compare_case(job)[0].reason == "failed: ValueError('no')"
    monkeypatch.setattr(honesty_compare, "methods", lambda: [Method("glad", fails)])
    with pytest.raises(ValueError, match="no"):
        compare_case(job)


def test_large_cases_are_left_to_fast_methods(case, monkeypatch):
    """A method is not tried on more judgments than its limit."""
    monkeypatch.setattr(honesty_compare, "methods", lambda: [Method("peer", vote_shares, most=10)])
    job = Job(case, np.arange(5), case.truth[:5], learned_weights())
    assert compare_case(job)[0].reason == "large"


def test_votes_of_an_item_without_judgments_are_even(case):
    """Shares sum to one, and are equal where nobody voted."""
    few = case.judgments.take(np.flatnonzero(case.judgments.item() > 0))
    shares = vote_shares(few)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares[0], 1 / 3)


def test_tables():
    """Means are by judgments per item, and differences to the consensus and the vote are over the same cases."""
    cells = [
        made("vote", "a", log_loss=1.0, accuracy=0.7),
        made("vote", "b", log_loss=0.2),
        made("consensus", "a", log_loss=0.6, gap=0.1),
        made("consensus", "b", log_loss=0.4, gap=-0.3),
        made("dawid-skene", "b", log_loss=0.1, accuracy=0.9, seconds=0.5),
        made("dawid-skene", "a", log_loss=0.9, seconds=2.0)._replace(score=None, reason="large"),
    ]
    by_method = {row[0]: row for row in rows_of_methods(cells, "crowd")}
    assert by_method["consensus"] == ["consensus", ".800 / .500 / .200", "-", "-", "-", "-", "+0.000"]
    assert by_method["dawid-skene"][1] == ".900 / .100 / .000 (1 of 2)"
    assert by_method["dawid-skene"][-1] == "-0.300"
    worst = {row[0]: row for row in rows_of_worst(cells)}
    assert worst["consensus"] == ["consensus", "2", "1", "0", "`b` 0.400 (+0.200)", "`b` -0.300"]
    assert better_methods(cells, "crowd") == []  # one set does not show it


def test_methods_that_are_clearly_better_are_named():
    """A difference is clear if it is more than twice its standard error, over five sets or more."""
    cells = []
    for n, loss in enumerate((0.5, 0.6, 0.7, 0.4, 0.5)):
        cells += [made("vote", f"s{n}"), made("consensus", f"s{n}", log_loss=loss, accuracy=0.8)]
        cells += [made("dawid-skene", f"s{n}", log_loss=loss - 0.1 - n / 100, accuracy=0.8 + (n % 2) / 10)]
    assert better_methods(cells, "crowd") == ["dawid-skene with all judgments (log loss -0.120 on 5 sets)"]


def test_costs_are_relative_to_dawid_skene():
    """A method that takes twice the time of Dawid-Skene has 2, and sets that it was not run on have none."""
    cells = [
        made("dawid-skene", "a", seconds=0.5),
        made("dawid-skene", "b", seconds=1.0)._replace(judgments=200),
        made("glad", "a", seconds=1.0),
    ]
    assert cost_sets(cells) == ["a", "b"]
    rows = {row[0]: row for row in rows_of_costs(cells, ["a", "b"])}
    assert rows["glad"] == ["glad", "2", "1.00 s", "-"]
    assert rows["dawid-skene"] == ["dawid-skene", "1", "0.50 s", "1.00 s"]
