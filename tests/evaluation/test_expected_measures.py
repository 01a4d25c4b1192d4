"""Expected measures and influences against the sum over all assignments of labels."""

from itertools import product

import numpy as np
import pytest

from adjudge.errors import UsageError
from adjudge.evaluation.expected_measures import expected_measure, expected_runs, is_linear
from adjudge.metrics.ranking import KINDS, parse_measure, values

MEASURES = (
    *("MAP", "MAP@3", "MAP(rel=2)", "MRR", "MRR@2", "nDCG", "nDCG@3", "P@3", "P@10", "P(rel=2)@3", "R@2", "Success@2"),
    *("ERR", "ERR@3", "ERR(max_rel=3)@4", "RBP", "RBP(p=0.5)@3", "nDCG(dcg='exp-log2')@3", "nDCG(gains={1:4})@2"),
    *("SetP", "SetR", "SetF", "SetF(beta=2)"),
)
SCALES = ((0.0, 1.0), (0.0, 1.0, 3.0), (2.0, 0.0, 1.0, 0.0))
DOCUMENTS, RANKED = 6, 5


def every_assignment(chance, order, worth, measure):
    """Return all assignments of labels (D, S), their chances (S) and the measure of each (S)."""
    D, K = chance.shape
    labels = np.array(list(product(range(K), repeat=D))).T
    p = np.prod(chance[np.arange(D)[:, None], labels], axis=0)
    return labels, p, values([order], labels.astype(np.uint16), worth, [measure], 1.0)[0, 0]


@pytest.fixture(params=SCALES, ids=str)
def case(request):
    """Return random chances of labels, a run that leaves a document out, and the grades."""
    rng, worth = np.random.default_rng(0), np.array(request.param)
    return rng.dirichlet(np.ones(worth.size), DOCUMENTS), rng.permutation(DOCUMENTS)[:RANKED], worth


@pytest.mark.parametrize("name", MEASURES)
def test_the_value_is_the_mean_over_all_assignments(case, name):
    """The closed form is the sum over all labels of all documents."""
    chance, order, worth = case
    _, p, value = every_assignment(chance, order, worth, parse_measure(name))
    assert expected_measure(order, chance, worth, parse_measure(name), 1.0).value == pytest.approx(p @ value, abs=1e-12)


@pytest.mark.parametrize("name", MEASURES)
def test_an_influence_is_the_mean_given_the_label(case, name):
    """Influences are those of enumeration, up to a constant per document."""
    chance, order, worth = case
    labels, p, value = every_assignment(chance, order, worth, parse_measure(name))
    given = np.array(
        [[(p * value)[labels[d] == k].sum() / chance[d, k] for k in range(worth.size)] for d in range(DOCUMENTS)]
    )
    influence = expected_measure(order, chance, worth, parse_measure(name), 1.0).influence
    centred = [each - (chance * each).sum(axis=1, keepdims=True) for each in (influence, given)]
    assert centred[0] == pytest.approx(centred[1], abs=1e-12)


@pytest.mark.parametrize("name", MEASURES)
def test_the_value_is_multilinear_beyond_chances(case, name):
    """For numbers that are no chances too, the value changes by the influence times the change of one document."""
    chance, order, worth = case
    measure, moved = parse_measure(name), chance.copy()
    moved[2] += np.linspace(-1.5, 1.5, worth.size)
    before, after = (expected_measure(order, each, worth, measure, 1.0) for each in (chance, moved))
    assert after.value - before.value == pytest.approx(before.influence[2] @ (moved[2] - chance[2]), abs=1e-10)


@pytest.mark.parametrize("name", ["MAP", "nDCG@10", "nDCG(dcg='exp-log2')@10", "MRR", "P@10", "R@10", "ERR@20", "RBP"])
def test_certain_labels_give_the_measure_itself(name):
    """With 60 documents and known labels, the expected measure is that of trec_eval."""
    rng, worth = np.random.default_rng(1), np.array([0.0, 1.0, 2.0])
    label, order = rng.integers(0, 3, 60), rng.permutation(60)[:50]
    plain = values([order], label[:, None].astype(np.uint16), worth, [parse_measure(name)], 1.0)[0, 0, 0]
    assert expected_measure(order, np.eye(3)[label], worth, parse_measure(name), 1.0).value == pytest.approx(plain)


def test_a_run_that_returns_nothing_has_zero():
    """An empty ranking has the value 0."""
    chance, worth = np.full((3, 2), 0.5), np.array([0.0, 1.0])
    empty = np.empty(0, np.int64)
    found = [expected_measure(empty, chance, worth, parse_measure(name), 1.0).value for name in MEASURES]
    assert found == [0.0] * len(MEASURES)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("rows", [[], [3], [0, 5]], ids=str)
def test_many_runs_together_are_as_each_alone(case, name, rows):
    """Values of twenty runs of any length, and influences of the documents asked for, up to a constant per document."""
    chance, _, worth = case
    rng, measure = np.random.default_rng(2), parse_measure(name)
    orders = [rng.permutation(DOCUMENTS)[: rng.integers(0, DOCUMENTS + 1)] for _ in range(20)]
    result = expected_runs(orders, chance, worth, measure, 1.0, np.array(rows, int))
    alone = [expected_measure(order, chance, worth, measure, 1.0) for order in orders]
    assert result.value == pytest.approx([each.value for each in alone], abs=1e-12)
    influences = result.influence, np.array([each.influence[rows] for each in alone])
    centred = [each - each.mean(axis=2, keepdims=True) for each in influences]
    assert centred[0] == pytest.approx(centred[1], abs=1e-12)


@pytest.mark.parametrize("name", MEASURES)
def test_pairs_of_documents_do_not_matter_for_linear_measures(name):
    """Influences of a linear measure do not depend on the chances, and those of all others do."""
    measure, rng, worth = parse_measure(name), np.random.default_rng(9), np.array([0.0, 1.0, 3.0])
    order, chances = rng.permutation(DOCUMENTS)[:RANKED], rng.dirichlet(np.ones(3), (2, DOCUMENTS))
    before, after = (expected_measure(order, each, worth, measure, 1.0).influence for each in chances)
    assert is_linear(measure) == np.allclose(before, after)


POSSIBLE = "MAP, MRR, nDCG, P@k, R@k, Success@k, ERR, RBP, SetP, SetR, SetF"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *((name, f"it can estimate {POSSIBLE}") for name in ("Bpref", "infAP", "Judged@10", "Rprec", "SetAP")),
        ("P(judged_only=True)@5", "leave out judged_only"),
    ],
)
def test_measures_without_a_closed_form_are_refused(name, said):
    """With those that have one."""
    with pytest.raises(UsageError) as error:
        expected_measure(np.arange(2), np.full((2, 2), 0.5), np.arange(2.0), parse_measure(name), 1.0)
    assert str(error.value) == f"an audit cannot estimate {name}: {said}"


def test_every_measure_with_a_closed_form_is_enumerated():
    """No kind is without a check."""
    checked = {parse_measure(name).kind.name for name in MEASURES}
    assert checked == {kind.name for kind in KINDS.values() if kind.expected}


def test_too_many_grades_and_documents_are_refused():
    """Full nDCG of four grades above 0 and a hundred documents has millions of cases."""
    chance, worth = np.full((100, 5), 0.2), np.arange(5.0)
    message = (
        "nDCG of 4 grades above 0 and 100 documents has too many cases for an audit: use a smaller cutoff, such as "
        "nDCG@10"
    )
    with pytest.raises(UsageError) as error:
        expected_measure(np.arange(100), chance, worth, parse_measure("nDCG"), 1.0)
    assert str(error.value) == message
