"""Abad and Moschitti 2016: its numbers where they agree with themselves, where they do not, and its weights."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.learn.weights import weights

QUESTIONS, PASSAGES, JUDGMENTS, JUDGES = 527, 10_540, 52_700, 108
FULL = 0.518  # of passages on which all five agree
TABLE = {  # MRR, MAP, P@1
    "BM25": (41.75, 37.25, 25.57),
    "RE": (57.41, 51.75, 41.38),
    "CA": (57.75, 52.09, 42.94),
    "L": (58.73, 52.48, 44.12),
    "P": (58.51, 52.07, 43.15),
    "LP": (58.76, 52.60, 44.22),
    "TC": (58.31, 52.09, 42.83),
    "LTC": (58.85, 52.58, 43.74),
    "LPTC": (59.22, 52.63, 44.79),
}


def panel(yes: list[int]) -> pl.DataFrame:
    """Return items with five judgments each, so many of them 1."""
    rows = [(f"i{i}", f"j{j}", int(j < count)) for i, count in enumerate(yes) for j in range(5)]
    return pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")


def test_sizes_agree() -> None:
    """20 passages a question, 5 judgments a passage, and the share of relevant ones."""
    assert QUESTIONS * 20 == PASSAGES == 9_535 + 1_005
    assert PASSAGES * 5 == JUDGMENTS
    assert round(JUDGMENTS / JUDGES) == 488


def test_passages_in_full_agreement_are_counted_as_judgments() -> None:
    """There are not 27,350 passages; as judgments they are 51.9 % of all."""
    assert PASSAGES < 27_350 < JUDGMENTS
    assert pytest.approx(FULL, abs=0.0011) == 27_350 / JUDGMENTS


def test_full_agreement_bounds_kappa_below_that_of_the_pilots() -> None:
    """At best all others split 4 to 1 and labels are even: Fleiss' kappa is .614 then, and .769 is out of reach."""
    full, split = round(500 * FULL), 500 - round(500 * FULL)
    best = adjudge.agreement(panel([5, 0] * full + [4, 1] * split), draws=1)
    kappa = best.values["fleiss_kappa"]
    assert kappa == pytest.approx(0.614, abs=0.0005)
    for uneven in ([5] * full + [0] * full + [4] * 2 * split, [5, 0] * full + [3, 2] * split):
        worse = adjudge.agreement(panel(uneven), draws=1)
        assert (worse.values["fleiss_kappa"] or 0) < kappa < 0.769


def test_the_caption_of_table_1_holds_but_for_two_cells() -> None:
    """Not all weighting results are better than the baselines: P's MAP and TC's P@1 are not (TC's MAP is equal)."""
    schemes = ("L", "P", "LP", "TC", "LTC", "LPTC")
    names = ("MRR", "MAP", "P@1")
    worse = [(s, names[m]) for s in schemes for m in range(3) if TABLE[s][m] < TABLE["CA"][m]]
    assert worse == [("P", "MAP"), ("TC", "P@1")]
    assert TABLE["TC"][1] == TABLE["CA"][1]


def test_gains_are_those_of_the_table() -> None:
    """+1.47, +.54 and +1.85 of LPTC over CA; the sign always helps."""
    gains = [round(ours - theirs, 2) for ours, theirs in zip(TABLE["LPTC"], TABLE["CA"], strict=True)]
    assert gains == [1.47, 0.54, 1.85]
    for signed, unsigned in (("LP", "P"), ("LTC", "TC")):
        assert all(ours > theirs for ours, theirs in zip(TABLE[signed], TABLE[unsigned], strict=True))


def test_labels_only_is_the_sum_of_the_labels() -> None:
    """Section 5.2: L weighs 5, 3 and 1 by how the five judges split; without signs all weigh alike."""
    split = panel([5, 4, 3, 2, 1, 0])
    assert weights(split, "L", mean_one=False).weight.tolist() == [5, 3, 1, 1, 3, 5]
    trust = {f"j{j}": 0.5 for j in range(5)}
    assert weights(split, "P", trust=trust, mean_one=False).weight.tolist() == [2.5] * 6


def test_consistency_as_a_count_is_nearly_activity_again() -> None:
    """In the simulated crowd of the paper's size C as printed goes along with T, C as a rate does not."""
    crowd = adjudge.simulate("rerank", seed=2).judgments
    count, rate = (weights(crowd, "LTC", agreement=how).judges for how in ("count", "rate"))
    assert np.corrcoef(count["activity"], count["agreement"])[0, 1] > 0.97
    assert abs(np.corrcoef(rate["activity"], rate["agreement"])[0, 1]) < 0.5
