"""Draws of labels; whole evaluations are held to every assignment of labels in test_evaluate."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.data.runs import read_runs
from adjudge.errors import InputError, UsageError
from adjudge.evaluation.uncertain_labels import draw_codes, draw_labels, grades_for, stored_draws
from adjudge.inference.chains import Draws
from adjudge.kernels.sweep import pack

POSTERIOR = np.array([[0.2, 0.3, 0.5], [1, 0, 0], [0, 0, 1], [0.1, 0.8, 0.1], [0.5, 0.5, 0]])
ITEMS, TOPICS = ["1_a", "1_b", "c", "2_a", "d"], [1, 1, 2, 2, 2]


@pytest.fixture
def fit():
    """Return a fit of five items in two topics, with posteriors made up."""
    rows = {"item": ITEMS, "topic": TOPICS, "judge": ["x"] * 5, "label": [0, 1, 2, 0, 1]}
    return replace(adjudge.fit(pl.DataFrame(rows), "majority"), posterior=POSTERIOR)


def with_truths(fit, truth):
    """Return the fit with truths (C, D, I) kept."""
    bits = np.stack([[pack(draw, len(fit.scale)) for draw in chain] for chain in truth])
    nothing = np.empty(0)
    return replace(fit, draws=Draws(nothing, nothing, nothing, nothing, nothing, True, 0, bits))


def topics_of(fit, runs, **named):
    """Return topics with 20,000 draws, by name."""
    result = draw_labels(fit, read_runs(runs), **{"draws": 20_000, "seed": 3, **named})
    return {entry.pool.topic: entry for entry in result}


def test_labels_are_drawn_by_their_chances():
    """Four standard errors, and never what has no chance."""
    code = draw_codes(POSTERIOR, 20_000, np.random.default_rng(0))
    share = np.stack([(code == k).mean(axis=1) for k in range(3)], axis=1)
    np.testing.assert_allclose(share, POSTERIOR, atol=4 * 0.5 / 20_000**0.5)
    assert (share[POSTERIOR == 0] == 0).all()


def test_chances_that_fall_short_of_one_draw_no_label_without_any():
    """Rounding leaves no gap at the end."""
    assert (draw_codes(np.array([[0.5, 0.4999, 0.0]]), 50_000, np.random.default_rng(0)) < 2).all()


def test_a_topic_has_its_items_and_what_runs_return(fit):
    """Runs may name documents as the fit does, or without the topic; nobody's documents have grade 0."""
    first = topics_of(fit, {"r": {"1": {"a": 3, "1_b": 2, "new": 1}}})["1"]
    assert (first.pool.documents, first.pool.judged) == (["a", "b", "new"], 2)
    assert first.pool.orders[0].tolist() == [0, 1, 2]
    assert first.code.shape == (3, 20_000)
    assert (first.code[2] == 3).all()
    assert grades_for(fit, 1.0).tolist() == [0, 1, 2, 0]
    np.testing.assert_allclose(first.chance[2], POSTERIOR[:2].mean(axis=0))


def test_what_nobody_judged_may_be_drawn_by_prevalence(fit):
    """As common as among the topic's judged documents."""
    first = topics_of(fit, {"r": {"1": {"a": 3, "new": 1}}}, unjudged="prevalence")["1"]
    share = [(first.code[2] == k).mean() for k in range(3)]
    np.testing.assert_allclose(share, POSTERIOR[:2].mean(axis=0), atol=0.015)


def test_topics_are_those_of_a_run_or_all(fit):
    """In the order of the fit."""
    run = {"r": {"2": {"c": 1}}}
    assert list(topics_of(fit, run)) == ["2"]
    assert list(topics_of(fit, run, complete=True)) == ["1", "2"]


def test_kept_truths_are_used_as_they_are(fit):
    """Joint draws, in the order of the chains, without others being unpacked."""
    truth = np.random.default_rng(1).integers(0, 3, (2, 10, 5))
    stored = with_truths(fit, truth)
    assert stored_draws(fit, 10) is None
    assert stored_draws(stored, 100).tolist() == list(range(20))
    assert stored_draws(stored, 3).tolist() == [0, 10, 19]
    result = topics_of(stored, {"r": {"1": {"a": 1}, "2": {"c": 1}}}, draws=100)
    codes = np.concatenate([result["1"].code, result["2"].code])
    np.testing.assert_array_equal(codes, truth.reshape(20, 5).T)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (
            {"9": {"a": 1}},
            "r: no topic of this run is in the fit: the run has topics such as '9', the fit such as '1'",
        ),
        ({"1": {"q": 1}}, "r: no document of this run was judged: the run has documents such as 'q', the fit such as"),
    ],
)
def test_strangers_are_refused(fit, run, said):
    """A run of other topics, or of other documents."""
    with pytest.raises(InputError) as refused:
        topics_of(fit, {"r": run})
    assert str(refused.value).startswith(said)


def test_what_cannot_be_asked_is_refused(fit):
    """A fit without topics, and an unknown way to take what nobody judged."""
    with pytest.raises(UsageError, match=r"the fit has no topics: fit judgments with a column of topics"):
        topics_of(replace(fit, topics=None, topic=None), {"r": {"1": {"a": 1}}})
    with pytest.raises(UsageError, match="unjudged 'one' is not one of 'zero', 'prevalence'"):
        topics_of(fit, {"r": {"1": {"a": 1}}}, unjudged="one")
