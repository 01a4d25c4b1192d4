"""The page of paper 000."""

import numpy as np
import pytest

from studies.paper_000 import against_chance, claims, page


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
