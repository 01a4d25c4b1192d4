"""The experiment of paper 003 with and without memory."""

import numpy as np
import pytest

from adjudge.data.simulate import simulate
from adjudge.errors import UsageError
from adjudge.inference.chains import Run
from adjudge.inference.fit import fit
from adjudge.inference.predict import predict
from studies.datasets import read_crowd
from studies.memory import FEWEST, KEPT, SHOWN, matrix_summary, memory, once, part, sample_labels, scored_only, split
from studies.outcome import StudyOptions


@pytest.fixture(scope="module")
def crowd(crowds):
    """Return the 40 items of a crowd that have gold, with five labels each."""
    return scored_only(read_crowd(crowds, "c", ("label",), ordinal=True))


def test_only_items_with_gold_take_part(crowd, crowds):
    """With all their labels, and their truths in the same order."""
    complete = read_crowd(crowds, "c", ("label",), ordinal=True)
    assert len(crowd.judgments.items) == crowd.truth.size == 40
    assert len(crowd.judgments) == 200
    assert crowd.judgments.items.to_list() == complete.judgments.items.gather(complete.item).to_list()


def test_so_many_labels_of_every_item_are_drawn(crowd):
    """Different ones each time; where an item has fewer, all."""
    rng = np.random.default_rng(0)
    item = crowd.judgments.item()
    first, second = sample_labels(crowd.judgments, 2, rng), sample_labels(crowd.judgments, 2, rng)
    assert np.bincount(item[first]).tolist() == [2] * 40
    assert first.tolist() != second.tolist()
    assert sample_labels(crowd.judgments, 9, rng).tolist() == list(range(200))


def test_a_third_is_answered():
    """At random."""
    third = split(40, np.random.default_rng(0))
    assert third.sum() == 13
    assert split(40, np.random.default_rng(1)).tolist() != third.tolist()


def test_a_part_has_its_own_items_and_judges_alone(crowd):
    """And the same labels by the same judges as before."""
    table = crowd.judgments
    rows = np.array([3, 4, 5, 190])
    result = part(table, rows)
    answer = [
        (result.items[int(i)], result.judges[int(j)], int(k))
        for i, j, k in zip(result.item(), result.judge, result.label, strict=True)
    ]
    item = table.item()
    assert answer == [(table.items[int(item[n])], table.judges[int(table.judge[n])], int(table.label[n])) for n in rows]
    assert len(result.judges) == len(set(table.judge[rows].tolist()))


def test_modes_are_fits_and_predictions(crowd):
    """Memoryless: a fit of the third. With memory: a fit of the rest, and Bayes' rule with its params."""
    result = once(crowd, 3, Run(2, 20, 20), 7)
    rng = np.random.default_rng(7)
    rows, third = sample_labels(crowd.judgments, 3, rng), split(40, rng)
    item = crowd.judgments.item()[rows]
    before, new = part(crowd.judgments, rows[~third[item]]), part(crowd.judgments, rows[third[item]])
    alone, reference = (fit(table, "dawid-skene", start="accurate", seed=7) for table in (new, before))
    assert result["dawid-skene"] == {
        "memoryless": np.mean(alone.label == crowd.truth[third]),
        "memory": np.mean(predict(reference, new).label == crowd.truth[third]),
    }
    counted = predict(fit(before, "majority", seed=7), new)
    assert result["majority"]["memory"] == np.mean(counted.label == crowd.truth[third])
    assert result["majority"]["memoryless"] == np.mean(fit(new, "majority", seed=7).label == crowd.truth[third])


def test_a_panel_for_each_set(memory_curves):
    """With its numbers of labels, and what the sets are."""
    assert memory_curves.positions() == [("c", 1), ("c", 3), ("d", 1), ("d", 3)]
    assert memory_curves.methods == KEPT
    assert memory_curves.tables()[0].rows[0] == ("c", "real", 40, 9, 4, 200)
    assert [table.title for table in memory_curves.tables()[1:3]] == [
        "c: accuracy, memoryless, mean of 3 runs",
        "c: accuracy, with memory, mean of 3 runs",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"sets": []}, "there is no set to study"), ({"sets": ["c"], "sizes": [0]}, "an item cannot have 0 labels")],
)
def test_what_cannot_be_meant(crowds, options, message):
    """Is refused."""
    with pytest.raises(UsageError, match=message):
        memory(StudyOptions(str(crowds), **options))


def test_monitoring_sets_are_simulated_without_data(monitoring_curves):
    """A set of the paper's design in each run; matrices are recorded at five ratings only."""
    assert monitoring_curves.positions() == [("monitoring", 5), ("monitoring", 8)]
    assert monitoring_curves.tables()[0].rows == [("monitoring", "simulated in each run", 48, 148, 5, 6_000)]
    for method in KEPT:
        assert ("cell_00" in monitoring_curves.at(FEWEST, method).values) == (method in SHOWN)
        assert "cell_00" not in monitoring_curves.at(8, method).values


def test_cells_are_summarised_over_judges():
    """Means, mean squares and errors, with the true matrices of the judges that the fit has."""
    crowd = simulate("monitoring", seed=5, gold=0, items=20, judges=12, per_item=6)
    rows = np.flatnonzero(crowd.judgments.judge >= 4)  # without the first four judges
    result = fit(part(crowd.judgments, rows), "dawid-skene")
    summary = matrix_summary(result, crowd.confusion)
    assert summary["cell_31"] == pytest.approx(result.params.confusion[:, 3, 1].mean())
    assert summary["square_31"] == pytest.approx((result.params.confusion[:, 3, 1] ** 2).mean())
    assert summary["true_31"] == pytest.approx(crowd.confusion[4:, 3, 1].mean())
    assert summary["mae"] == pytest.approx(np.abs(result.params.confusion - crowd.confusion[4:]).sum() / 8)
