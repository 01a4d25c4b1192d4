"""The value of judges: by hand, by leaving them out for real, and on simulated panels."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.marginal_value import (
    FEWEST_ITEMS,
    MOST_JUDGES,
    NO_CHOICE,
    Consensus,
    Correlations,
    _losses,
    consensus_of,
    marginal_values,
)
from adjudge.errors import UsageError

INDEPENDENT = Correlations(0.0, 0.0)


def by_hand(truth, correlations=INDEPENDENT):
    """Return one item that two judges of one family gave the label 1; they are right with probability .8 and .6."""
    logs = np.log(np.array([[[0.8, 0.2], [0.2, 0.8], [0.6, 0.4], [0.4, 0.6]]]))
    return Consensus(
        np.array([0, 2]),
        np.array([0, 1]),
        np.array([1, 1]),
        np.array([0, 0]),
        np.array([0]),
        np.log(np.full((1, 2), 0.5)),
        logs,
        np.array([truth]),
        correlations,
    )


def test_log_loss_by_hand():
    """Bayes' rule: 6 to 1 with both judges, 3 to 2 and 4 to 1 with one of them."""
    losses = _losses(by_hand(1), np.ones(2, bool), np.ones(1))
    assert losses.loss == pytest.approx(np.log(7 / 6))
    np.testing.assert_allclose(losses.change, [np.log(5 / 3) - np.log(7 / 6), np.log(5 / 4) - np.log(7 / 6)])
    np.testing.assert_allclose(losses.squares, losses.change**2)
    assert losses.accuracy.tolist() == [0, 0]


def test_entropy_by_hand():
    """Without gold, the loss is the entropy of the consensus."""
    losses = _losses(by_hand(-1), np.ones(2, bool), np.ones(1))
    p = np.array([1, 6]) / 7
    assert losses.loss == pytest.approx(-(p * np.log(p)).sum())


def test_two_judges_with_the_correlation_one_count_as_one():
    """Each of n judgments has the power 1 / (1 + (n - 1) r): with r = 1 the judges share one vote."""
    losses = _losses(by_hand(1, Correlations(1.0, 0.0)), np.ones(2, bool), np.ones(1))
    odds = np.sqrt(4 * 1.5)
    assert losses.loss == pytest.approx(np.log(1 + 1 / odds))
    np.testing.assert_allclose(losses.change, [np.log(5 / 3) - losses.loss, np.log(5 / 4) - losses.loss])


@pytest.mark.parametrize("with_gold", [True, False])
def test_leaving_out_is_leaving_out(with_gold):
    """The change without a judge is the loss of the panel in which they are not active, for any families."""
    panel = adjudge.simulate("panel", 2, items=80, labels=3)
    family, _ = panel.judgments.panel.family_codes()
    sparse = panel.judgments.take(np.flatnonzero(np.random.default_rng(1).random(len(panel.judgments)) < 0.6))
    consensus = consensus_of(sparse, family, Correlations(0.4, 0.1), panel.truth if with_gold else None)
    everyone = np.ones(family.size, bool)
    losses = _losses(consensus, everyone, np.ones(consensus.truth.size))
    for judge in range(family.size):
        others = everyone.copy()
        others[judge] = False
        assert losses.loss + losses.change[judge] == pytest.approx(
            _losses(consensus, others, np.ones(consensus.truth.size)).loss
        )


def test_copies_can_be_left_out_and_independent_people_cannot():
    """Of a family of near copies most can be left out; people who err independently stay."""
    panel = adjudge.simulate("panel", 1, items=600, people=3, families=1, machines=8, within=0.9, between=0.5)
    family, _ = panel.judgments.panel.family_codes()
    values = marginal_values(consensus_of(panel.judgments, family, Correlations(0.9, 0.0), panel.truth))
    assert values.by_gold
    assert values.items == 600
    assert {*values.dropped.tolist()} <= set(range(3, 11))
    assert len(values.dropped) >= 4
    assert values.loss_without <= values.loss_before * 1.01
    assert (values.value[:3] > values.value[3:].max()).all()
    assert (values.low <= values.value).all()
    assert (values.value <= values.high).all()


def test_nobody_is_chosen_without_gold():
    """Entropy does not know who is right, so that nobody is named."""
    panel = adjudge.simulate("panel", 1, items=100)
    family, _ = panel.judgments.panel.family_codes()
    values = marginal_values(consensus_of(panel.judgments, family, Correlations(0.5, 0.2)))
    assert not values.by_gold
    assert (values.dropped.size, values.loss_without, values.note) == (0, None, NO_CHOICE)


def test_few_gold_items_and_many_judges_choose_nobody():
    """Halves of a few items are too small to choose, and crowds are valued judge by judge."""
    panel = adjudge.simulate("panel", 1, items=100)
    family, _ = panel.judgments.panel.family_codes()
    gold = np.where(np.arange(100) < FEWEST_ITEMS - 1, panel.truth, -1)
    values = marginal_values(consensus_of(panel.judgments, family, Correlations(0.5, 0.2), gold))
    assert values.note == "39 gold items are too few to choose judges (40 are needed)"
    crowd = adjudge.simulate("panel", 1, items=50, people=MOST_JUDGES, families=1, machines=1)
    family, _ = crowd.judgments.panel.family_codes()
    values = marginal_values(consensus_of(crowd.judgments, family, Correlations(0.0, 0.0), crowd.truth))
    assert values.note == "panels of more than 300 judges are valued judge by judge only"


def test_progress_and_no_judged_gold():
    """Long work reports its steps; gold of items that nobody judged is refused."""
    panel = adjudge.simulate("panel", 1, items=60)
    family, _ = panel.judgments.panel.family_codes()
    steps = []
    marginal_values(consensus_of(panel.judgments, family, Correlations(0.5, 0.2), panel.truth), steps.append)
    assert steps[0] == "leaving out judges, 1 of 15"
    with pytest.raises(UsageError, match="no gold item was judged"):
        consensus_of(panel.judgments, family, Correlations(0.0, 0.0), np.full(60, -1))


def test_a_judge_with_one_label_is_worth_nothing():
    """A judge who always gives the same label adds nothing."""
    panel = adjudge.simulate("panel", 4, items=300, people=3, families=1, machines=1)
    rows = panel.judgments.table
    spam = rows.filter(pl.col("judge") == "j4").with_columns(judge=pl.lit("spam"), label=pl.lit("1"))
    table = pl.concat([rows, spam]).select("item", "judge", "label")
    judgments = adjudge.read(table, labels=["0", "1"])
    truth = panel.truth[[int(name[1:]) - 1 for name in judgments.items]]
    values = marginal_values(consensus_of(judgments, np.arange(5), Correlations(0.0, 0.0), truth))
    spammer = judgments.judges.to_list().index("spam")
    assert abs(values.value[spammer]) < 0.01
    assert values.value[spammer] < values.value[[j for j in range(5) if j != spammer]].max() / 5
