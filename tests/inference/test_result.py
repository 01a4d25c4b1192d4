"""A fit as tables."""

import numpy as np
import polars as pl
import pytest

import adjudge


@pytest.fixture
def fit():
    """Return a fit with topics."""
    table = {
        "item": ["a", "a", "b", "b", "c"],
        "judge": ["x", "y"] * 2 + ["x"],
        "label": ["no", "yes", "yes", "yes", "no"],
        "topic": ["t1", "t1", "t2", "t2", "t2"],
    }
    return adjudge.fit(pl.DataFrame(table), "majority", ties="first")


def test_labels_table(fit):
    """Item, label, its probability, every label's, entropy in bits, topic."""
    assert fit.labels.columns == ["item", "label", "probability", "p_no", "p_yes", "entropy", "topic"]
    assert fit.labels.row(0) == ("a", "no", 0.5, 0.5, 0.5, 1.0, "t1")
    assert fit.labels.row(1) == ("b", "yes", 1.0, 0.0, 1.0, 0.0, "t2")


def test_judges_table(fit):
    """Judge, judgments, accuracy."""
    assert fit.judges.columns == ["judge", "judgments", "accuracy"]
    assert fit.judges["judgments"].to_list() == [3, 2]


def test_prevalence_and_confusion_tables(fit):
    """Probabilities of truths, and of labels given truths, in long form."""
    assert fit.prevalence["prevalence"].sum() == pytest.approx(1)
    assert fit.confusion.columns == ["judge", "truth", "label", "probability"]
    assert fit.confusion.height == 2 * 2 * 2
    cell = fit.confusion.filter((pl.col("judge") == "y") & (pl.col("truth") == "yes") & (pl.col("label") == "yes"))
    assert cell["probability"].item() == pytest.approx(fit.params.confusion[1, 1, 1])


def test_a_fit_is_immutable(fit):
    """Neither fields nor arrays can be changed."""
    with pytest.raises(AttributeError):
        fit.model = "other"
    for array in (fit.posterior, fit.label, fit.judged, fit.accuracy, fit.topic, *fit.params):
        with pytest.raises(ValueError, match="read-only"):
            array[(0,) * array.ndim] = 1
    with pytest.raises(TypeError):
        fit.options["seed"] = 9


def test_it_says_what_it_is(fit):
    """The representation names the model, sizes and how it ended."""
    assert repr(fit) == "Fit(majority: 3 items, 2 judges; counted once)"
    assert "converged, log evidence -" in repr(adjudge.fit(adjudge.dataset("anesthesia")))


def test_a_judge_whose_judgments_count_for_nothing_is_expected_to_be_average():
    """Weights of 0 leave nothing to count; the accuracy is what the model expects of the judge."""
    table = {"item": ["a", "a", "b"], "judge": ["x", "y", "x"], "label": ["0", "1", "1"], "weight": [1, 0, 1]}
    fit = adjudge.fit(pl.DataFrame(table))
    assert fit.accuracy[1] > 0.5


def test_entropy_is_between_zero_and_log_k(fit):
    """Certain is 0, no idea is log2 K."""
    assert (fit.entropy >= 0).all()
    assert (fit.entropy <= np.log2(2)).all()
