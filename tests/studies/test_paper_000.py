"""The page of paper 000."""

import numpy as np
import pytest

from studies.paper_000 import against_chance, claims, page, rows


def test_the_page_has_its_parts(relevance):
    """The command, what holds, the author's run, scores and figures."""
    files = page(relevance)
    text = files["paper-000.md"]
    assert next(iter(files)) == "paper-000.md"
    assert all(f"({name})" in text for name in list(files)[1:])
    for part in ("python -m studies trec2011 --out results", "## The author's own run", "hierarchical, gold apart"):
        assert part in text
    assert "120 pairs in 4 topics, 20 judges, 600 judgments, gold for 40 pairs" in text


def test_judges_are_held_against_chance(relevance):
    """By sensitivity + specificity - 1 in every draw."""
    reference = relevance.fits["unsupervised"]
    chance = against_chance(reference)
    rate = reference.params.confusion
    assert chance.informed.tolist() == pytest.approx((rate[:, 0, 0] + rate[:, 1, 1] - 1).tolist())
    assert ((chance.worse >= 0) & (chance.worse <= 1)).all()
    assert np.argmax(chance.worse) == np.argmin(chance.informed) or chance.worse.max() > 0


def test_chains_that_did_not_mix_are_not_said_to(relevance):
    """Forty sweeps are too few."""
    assert claims(relevance)[0].holds == "no"


def test_every_claim_has_a_row(relevance):
    """With a verdict, and the data behind it; the printed numbers of section 9.3 are computed again."""
    by = {row.says: row for row in rows(relevance)}
    assert {row.reproduced for row in by.values()} <= {"yes", "in shape", "no", "not tested"}
    chance = by["at a chance of .72, answering .72 expects .5184 TP, .2016 FP, .2016 FN, .0784 TN"]
    assert (chance.reproduced, chance.ours) == ("yes", "0.5184, 0.2016, 0.2016, 0.0784")
    assert by["simulated: precision and recall are .75 quantised and .66 fractional"].reproduced == "yes"
    sizes = next(row for row in by.values() if row.place == "section 1")
    assert (sizes.reproduced, sizes.ours.split(", ")[:3]) == ("no", ["120", "20", "40"])


def test_the_page_has_the_scores_of_the_track(relevance):
    """For every method, and for the author's run."""
    text = page(relevance)["paper-000.md"].split("## Scores of the track")[1]
    assert "| method | accuracy | recall | precision | specificity | MAP | nDCG | log loss | RMSE |" in text
    assert all(f"| {result.method} | " in text for result in relevance.comparison.results)
    assert "| *the author's run, unsupervised* | " in text
