"""Dawid and Skene (1979): the anaesthetists, whose incidences the paper prints as .40, .42, .11, .07."""

import numpy as np

import adjudge


def test_incidences_are_the_printed_ones():
    """The estimated prevalence of the four classes, to two digits."""
    fit = adjudge.fit(adjudge.dataset("anesthesia"), "dawid-skene")
    np.testing.assert_array_equal(np.round(fit.params.prevalence[0], 2), [0.40, 0.42, 0.11, 0.07])


def test_embedded_table_is_the_shared_one(shared):
    """The table in the package has the counts of the published one, cell by cell."""
    ours, theirs = adjudge.dataset("anesthesia"), adjudge.read(str(shared("data/anesthesia/labels.csv")))
    rows = [
        sorted(zip(j.items.gather(j.item()), j.judges.gather(j.judge), j.label.tolist(), strict=True))
        for j in (ours, theirs)
    ]
    assert [(str(i), str(j), k) for i, j, k in rows[0]] == [(str(i), str(j), k) for i, j, k in rows[1]]
