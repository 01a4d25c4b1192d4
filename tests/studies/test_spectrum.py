"""The synthetic experiment of paper 003."""

import numpy as np
import pytest

from adjudge.data.simulate import simulate
from adjudge.errors import UsageError
from adjudge.inference.chains import Run
from adjudge.inference.fit import fit
from studies.curves import seeds
from studies.outcome import StudyOptions
from studies.spectrum import CEILING, METHODS, PAPERS_RUN, once, spectrum

SHORT = Run(chains=2, warmup=20, draws=20)  # as the fixtures have it


def test_the_run_is_the_papers():
    """3 chains, 1000 burn-in, 100 draws, thinning 10; lambda 3 and 10."""
    assert (PAPERS_RUN.chains, PAPERS_RUN.warmup, PAPERS_RUN.draws, PAPERS_RUN.thin) == (3, 1000, 100, 10)
    assert [METHODS[f"hybrid, lambda {trust}"].options["prior"].trust for trust in (3, 10)] == [3, 10]


def test_sizes_are_in_order_and_methods_are_the_papers(spectrum_curves):
    """And last the ceiling."""
    assert spectrum_curves.positions() == [("", 5), ("", 40)]
    assert spectrum_curves.methods == (*METHODS, CEILING)


@pytest.mark.parametrize(
    ("name", "model", "start"), [("dawid-skene", "dawid-skene", "accurate"), ("majority",) * 2 + (None,)]
)
def test_numbers_are_those_of_a_fit(spectrum_curves, name, model, start):
    """Accuracy, the sum of errors of prevalence, and the mean over judges of the sum of errors of their cells."""
    for run, seed in enumerate(seeds(0, 40, 3)):
        crowd = simulate("liu-wang", seed, items=40, gold=0)
        fitted = fit(crowd.judgments, model, start=start, seed=seed)
        values = {measure: value[run] for measure, value in spectrum_curves.at(40, name).values.items()}
        errors = [np.abs(fitted.params.confusion[j] - crowd.confusion[j]).sum() for j in range(3)]
        assert values["accuracy"] == np.mean(fitted.label == crowd.truth)
        assert values["prevalence_error"] == pytest.approx(
            np.abs(fitted.params.prevalence[0] - [0.05, 0.15, 0.8]).sum()
        )
        assert values["mae"] == pytest.approx(np.mean(errors))
        assert [values[f"mae_judge{j}"] for j in (1, 2, 3)] == pytest.approx(errors)
        assert [values[f"p_{label}"] for label in "ABC"] == pytest.approx(fitted.params.prevalence[0].tolist())


def test_processes_do_not_change_the_result(spectrum_curves):
    """Two give what one gives."""
    again = spectrum(StudyOptions(runs=3, sizes=(5, 40), workers=2), SHORT)
    assert again.columns() == spectrum_curves.columns()


def test_the_true_matrices_are_stated(spectrum_curves):
    """Nine rows of probabilities, and one cell is 0."""
    matrices = spectrum_curves.tables()[0]
    assert matrices.head == ["judge", "truth", "prevalence", "says A", "says B", "says C"]
    assert [sum(row[3:]) for row in matrices.rows] == pytest.approx([1] * 9)
    assert sum(cell == 0 for row in matrices.rows for cell in row[3:]) == 1


def test_nobody_beats_the_true_parameters():
    """And with many items the hybrid is near them."""
    result = once(500, PAPERS_RUN, 1)
    accuracy = {name: values["accuracy"] for name, values in result.items()}
    assert accuracy["hybrid, lambda 3"] > accuracy["majority"]
    assert accuracy[CEILING] > accuracy["hybrid, lambda 3"] - 0.01


def test_a_crowd_of_nothing():
    """Is refused."""
    with pytest.raises(UsageError, match="there is no crowd of 0 items: --sizes are whole numbers of at least 1"):
        spectrum(StudyOptions(sizes=(0, 5)))
