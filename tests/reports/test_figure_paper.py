"""Figures 1 to 4 of paper 000."""

from xml.etree import ElementTree

import numpy as np
import pytest

from adjudge.reports.figure_paper import SIXTEEN, populations, sixteen, trend
from studies.trec2011 import paper_figures


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, {"share of votes for relevant", "estimated relevance, E[z]"}),
        (2, {"specificity", "sensitivity", "judgments"}),
        (3, {"Horizontal: specificity. Vertical: sensitivity. Line: chance. N: judgments."}),
        (4, {"specificity", "sensitivity", "prevalence", "phi (mean)"}),
    ],
)
def test_figures_say_what_they_show(relevance, number, said):
    """And are small enough for a page."""
    text = paper_figures(relevance)[number]()
    assert said <= {element.text for element in ElementTree.fromstring(text).iter() if element.text}
    assert len(text) < 300_000


def test_the_trend_is_the_mean_nearby():
    """Of one value it is that value, and it rises where estimates do."""
    share = np.repeat([0.0, 0.5, 1.0], 10)
    assert trend(share, np.full(30, 0.3)).estimate.tolist() == pytest.approx([0.3] * 41)
    rising = trend(share, share**2)
    assert (np.diff(rising.estimate) >= -1e-12).all()
    assert rising.estimate[[0, 20, 40]].tolist() == pytest.approx([0, 0.25, 1], abs=1e-6)


def test_sixteen_judges_from_the_least_to_the_most_busy():
    """The two busiest among them, none twice; of few judges all."""
    judged = np.random.default_rng(0).permutation(np.r_[np.arange(1, 100), 500, 7_000, 9_000])
    counts = judged[sixteen(judged)]
    assert len(set(sixteen(judged))) == SIXTEEN
    assert counts.tolist() == sorted(counts)
    assert counts[[0, -3, -2, -1]].tolist() == [1, 500, 7_000, 9_000]
    assert judged[sixteen(judged[:5])].tolist() == sorted(judged[:5])
    assert len(set(sixteen(np.ones(50, int)))) == SIXTEEN


def test_populations_are_of_the_right_label(relevance):
    """Draws of phi and kappa: of saying 0 to 0, 1 to 1, and of 1 being true."""
    reference = relevance.fits["unsupervised"]
    drawn = populations(reference, 10**6)
    assert drawn["sensitivity"][0].tolist() == reference.draws.phi[..., 1, 1].ravel().tolist()
    assert drawn["specificity"][0].tolist() == reference.draws.phi[..., 0, 0].ravel().tolist()
    assert drawn["prevalence"][1].tolist() == reference.draws.kappa[..., 2].ravel().tolist()
    assert len(populations(reference, 7)["prevalence"][0]) == 7
