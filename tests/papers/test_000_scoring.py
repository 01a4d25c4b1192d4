"""The numbers that Carpenter (2011) prints on scoring with probabilities, sections 9.2 and 9.3."""

import numpy as np
import polars as pl
import pytest

from adjudge.arrays import Floats
from adjudge.metrics.labels import fractional, indicator, precision, recall, scores
from adjudge.metrics.probabilities import mean_squared_error

CHANCE = np.array([[0.28, 0.72]])  # of being irrelevant and relevant


def of_relevance(p: Floats) -> Floats:
    """Return chances of relevance (I) as probabilities of both labels (I, 2)."""
    return np.column_stack([1 - p, p])


def test_answering_the_chance_itself_counts_mistakes_twice() -> None:
    """A .72 answered to a .72 chance: TP .5184, FP .2016, FN .2016, TN .0784."""
    (tn, fp), (fn, tp) = fractional(CHANCE, CHANCE)
    assert (tp, fp, fn, tn) == pytest.approx((0.5184, 0.2016, 0.2016, 0.0784))


def test_answering_one_is_expected_to_do_better() -> None:
    """A 1 answered to a .72 chance: TP .72, FP .28, and nothing else."""
    (tn, fp), (fn, tp) = fractional(CHANCE, np.array([[0.0, 1.0]]))
    assert (tp, fp, fn, tn) == pytest.approx((0.72, 0.28, 0, 0))


def test_a_fractional_answer_is_partly_one_response_and_partly_another() -> None:
    """A .72 answered to a relevant item: .72 of a TP and .28 of an FN."""
    assert fractional(indicator(np.array([1]), 2), CHANCE).tolist() == [[0, 0], [0.28, 0.72]]


@pytest.mark.parametrize(("rounded", "expected"), [(True, 3 / 4), (False, 2 / 3)])
def test_uniform_chances_have_closed_forms(rounded: bool, expected: float) -> None:
    """Expected precision and recall over an even grid of chances are 3/4 quantised and 2/3 fractional."""
    p = (np.arange(10_000) + 0.5) / 10_000
    matrix = fractional(of_relevance(p), of_relevance(np.round(p) if rounded else p))
    assert precision(matrix, 1) == pytest.approx(expected, abs=1e-7)
    assert recall(matrix, 1) == pytest.approx(expected, abs=1e-7)


def test_the_simulation_gives_the_printed_numbers() -> None:
    """Uniform chances with truths drawn from them: .75 quantised, .66 (2/3 cut to two digits) in fractions."""
    rng = np.random.default_rng(9)
    p = rng.random(400_000)
    truth = (rng.random(p.size) < p).astype(int)
    items = np.arange(p.size)
    answers = pl.DataFrame({"item": items, "label": (p > 0.5).astype(int), "p_0": 1 - p, "p_1": p})
    values = scores(answers, pl.DataFrame({"item": items, "label": truth})).values
    assert [values["precision"], values["recall"]] == pytest.approx([0.75, 0.75], abs=0.005)
    expected = pytest.approx([0.6667, 0.6667], abs=0.005)
    assert [values["fractional_precision"], values["fractional_recall"]] == expected


def test_the_chance_itself_has_the_least_expected_squared_error() -> None:
    """Section 9.2: of all responses to a .72 chance the posterior mean, .72, does best under squared error."""
    responses = np.linspace(0, 1, 101)
    outcome = np.repeat([1, 0], [72, 28])
    errors = [mean_squared_error(outcome, np.full(100, response)) or 0 for response in responses]
    assert responses[np.argmin(errors)] == pytest.approx(0.72)
