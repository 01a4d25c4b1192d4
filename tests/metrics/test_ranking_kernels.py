"""Ranking measures of many draws: each draw as if it were alone, by formulas written out, and the mean of all ties."""

from itertools import permutations, product

import numpy as np
import pytest

from adjudge.metrics import ranking_kernels
from adjudge.metrics.ranking import KINDS, parse_measure, values

WORTH = np.array([0.0, 1.0, 2.0, -1.0, 0.0])  # the last is that of documents that nobody judged
UNJUDGED = 4


def discounted(gains):
    """Return discounted cumulative gain."""
    return sum(gain / np.log2(n + 2) for n, gain in enumerate(gains))


def normalised(gain, labels, ranked, cut):
    """Return nDCG with gains of grades."""
    best = sorted((gain(max(WORTH[k], 0)) for k in labels), reverse=True)[:cut]
    return discounted([gain(max(WORTH[k], 0)) for k in ranked[:cut]]) / discounted(best) if any(best) else 0


def err(labels, ranked, cut):
    """Return expected reciprocal rank by the definition of Chapelle et al. (2009)."""
    stops = [(2 ** max(WORTH[k], 0) - 1) / 16 for k in ranked[:cut]]
    return sum(stop / (n + 1) * np.prod([1 - each for each in stops[:n]]) for n, stop in enumerate(stops))


def bpref(labels, ranked, cut):
    """Return Bpref: for each relevant document, the irrelevant ones above it."""
    total, irrelevant = sum(WORTH[k] >= 1 for k in labels), sum(k == 0 for k in labels)
    value = 0
    for n, label in enumerate(ranked):
        above = min(sum(k == 0 for k in ranked[:n]), total)
        if WORTH[label] >= 1:
            value += 1 - (above / min(irrelevant, total) if above else 0)
    return value / total if total else 0


def inferred(labels, ranked, cut):
    """Return infAP by the expectation of Yilmaz & Aslam (2006), with the constants of trec_eval."""
    value = 0
    for n, label in enumerate(ranked):
        if WORTH[label] >= 1:
            above = ranked[:n]
            relevant, judged = sum(WORTH[k] >= 1 for k in above), sum(k in (0, 1, 2) for k in above)
            pooled = sum(k != UNJUDGED for k in above)
            share = (relevant + 1e-5) / (judged + 2e-5)
            value += 1 / (n + 1) + (n / (n + 1) * pooled / n * share if n else 0)
    return value / max(sum(WORTH[k] >= 1 for k in labels), 1)


def hits(labels, cut=None):
    """Return how many of the first labels are relevant."""
    return sum(WORTH[k] >= 1 for k in labels[:cut])


FORMULAS = {
    "MAP": lambda labels, ranked, cut: (
        sum(hits(ranked, n + 1) / (n + 1) for n, k in enumerate(ranked[:cut]) if WORTH[k] >= 1) / max(hits(labels), 1)
    ),
    "MRR": lambda labels, ranked, cut: next((1 / (n + 1) for n, k in enumerate(ranked[:cut]) if WORTH[k] >= 1), 0),
    "nDCG": lambda labels, ranked, cut: normalised(lambda grade: grade, labels, ranked, cut),
    "nDCG(dcg='exp-log2')": lambda labels, ranked, cut: normalised(lambda grade: 2**grade - 1, labels, ranked, cut),
    "P": lambda labels, ranked, cut: hits(ranked, cut) / cut,
    "R": lambda labels, ranked, cut: hits(ranked, cut) / max(hits(labels), 1),
    "Rprec": lambda labels, ranked, cut: hits(ranked, hits(labels)) / max(hits(labels), 1),
    "Success": lambda labels, ranked, cut: float(hits(ranked, cut) > 0),
    "ERR": err,
    "RBP(p=0.6)": lambda labels, ranked, cut: 0.4 * sum(0.6**n for n, k in enumerate(ranked[:cut]) if WORTH[k] >= 1),
    "Bpref": bpref,
    "infAP": inferred,
    "Judged": lambda labels, ranked, cut: np.mean([k != UNJUDGED for k in ranked[:cut]]),
    "SetP": lambda labels, ranked, cut: hits(ranked) / len(ranked),
    "SetR": lambda labels, ranked, cut: hits(ranked) / max(hits(labels), 1),
    "SetF": lambda labels, ranked, cut: 2 * hits(ranked) / (len(ranked) + hits(labels)) if hits(labels) else 0,
    "SetAP": lambda labels, ranked, cut: hits(ranked) ** 2 / len(ranked) / max(hits(labels), 1),
}


def named(name, cut):
    """Return a measure, with the cutoff if it takes one."""
    kind = KINDS[name.split("(")[0].lower()]
    return parse_measure(f"{name}@{cut}" if kind.cutoff else name)


def test_every_kind_has_a_formula():
    """No measure is without a check."""
    assert {name.split("(")[0].lower() for name in FORMULAS} == set(KINDS)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("cut", [1, 3, 20, 1000])
def test_every_draw_is_as_if_alone(name, cut):
    """Random labels of 30 documents, 20 of which are ranked."""
    rng = np.random.default_rng(cut)
    code = rng.choice(5, (30, 40), p=[0.5, 0.15, 0.05, 0.1, 0.2]).astype(np.uint16)
    code[:, 0] = 0  # a draw without a relevant document
    order = rng.permutation(30)[:20]
    result = values([order], code, WORTH, [named(name, cut)], 1.0, unjudged=True)[0, 0]
    expected = [FORMULAS[name](code[:, s].tolist(), code[order, s].tolist(), cut) for s in range(40)]
    np.testing.assert_allclose(result, expected, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in FORMULAS if KINDS[name.split("(")[0].lower()].tied])
@pytest.mark.parametrize("cut", [1, 3, 5, 1000])
@pytest.mark.parametrize("ends", [[6], [2, 3, 6], [1, 5, 6], [1, 2, 3, 4, 5, 6]])
def test_the_mean_of_all_orders(name, cut, ends):
    """Six documents of which some are tied, in ten draws of labels, one of them without a relevant document."""
    rng, measure = np.random.default_rng(cut), [named(name, cut)]
    code = rng.integers(0, 5, (8, 10)).astype(np.uint16)
    code[:, 0] = 0
    order, begins = rng.permutation(8)[:6], [0, *ends[:-1]]
    groups = [list(permutations(order[b:e])) for b, e in zip(begins, ends, strict=True)]
    orders = [np.array([d for group in chosen for d in group]) for chosen in product(*groups)]
    exact = values(orders, code, WORTH, measure, unjudged=True)[:, 0].mean(axis=0)
    result = values([order], code, WORTH, measure, ends=[np.array(ends)], unjudged=True)[0, 0]
    np.testing.assert_allclose(result, exact, atol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
def test_nothing_ranked_is_zero(name):
    """A run that returns nothing has 0 everywhere, with ties and without."""
    code, nothing = np.ones((3, 2), np.uint16), np.empty(0, np.int64)
    for ends in (None, [nothing]):
        assert values([nothing], code, WORTH, [named(name, 5)], ends=ends)[0, 0].tolist() == [0, 0]


def test_labels_are_counted():
    """By label and draw."""
    code = np.array([[0, 2], [1, 2], [2, 2]], np.uint16)
    assert ranking_kernels.label_counts(code, 3).tolist() == [[1, 0], [1, 0], [1, 3]]


def test_grades_below_zero_gain_nothing_and_may_be_in_any_order():
    """The best order is by grade, whatever the order of the labels."""
    worth, code = np.array([2.0, -1.0, 1.0]), np.array([[0], [1], [2]], np.uint16)
    best, worse = values([np.array([0, 2, 1]), np.array([1, 2, 0])], code, worth, [parse_measure("nDCG")])[:, 0, 0]
    assert best == pytest.approx(1)
    assert worse == pytest.approx((1 / np.log2(3) + 1) / (2 + 1 / np.log2(3)))
