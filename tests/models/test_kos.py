"""Messages against the paper's recursion, written out with one message an edge."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import UsageError
from adjudge.kernels.block import Block, split
from adjudge.models.kos import ROUNDS, in_units, pass_messages

SMALL = 1e-9


def random_crowd(seed, items=12, judges=7):
    """Return (item, judge, label, weight) rows: some judges answer the reverse, some judge an item twice."""
    rng = np.random.default_rng(seed)
    truth, skill = rng.integers(2, size=items), rng.uniform(0.3, 0.95, judges)
    rows = []
    for item, judge in zip(*np.nonzero(rng.random((items, judges)) < 0.6), strict=True):
        for _ in range(1 + (rng.random() < 0.15)):
            label = truth[item] if rng.random() < skill[judge] else 1 - truth[item]
            rows.append((int(item), int(judge), int(label), float(rng.integers(1, 4))))
    return rows


def frame(rows):
    """Return the rows as a table."""
    columns = {"item": pl.Int64, "judge": pl.Int64, "label": pl.Int64, "weight": pl.Float64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def votes(rows):
    """Return A (I, J): the sum of a judge's weights on an item, +1 for the second label and -1 for the first."""
    A = np.zeros((1 + max(row[0] for row in rows), 1 + max(row[1] for row in rows)))
    for item, judge, label, weight in rows:
        A[item, judge] += weight * (2 * label - 1)
    return A


def answers(A, rounds, gold):
    """Return (sum_j A_ij y_{j->i}) / sum_j |A_ij y_{j->i}| after so many rounds, message by message."""
    items, J = A.shape
    x, y = np.zeros((items, J)), np.ones((items, J))
    complete = np.ones((items, J))  # Y_j, with nothing taken off: what an item with gold hears
    for _ in range(rounds):
        for i in range(items):
            for j in range(J):
                others = [k for k in range(J) if k != j]
                x[i, j] = sum(A[i, k] * y[i, k] for k in others)
                if i in gold:
                    x[i, j] = gold[i] * sum(abs(A[i, k] * complete[i, k]) for k in range(J))
        for i in range(items):
            for j in range(J):
                y[i, j] = sum(A[k, j] * x[k, j] for k in range(items) if k != i)
                complete[i, j] = sum(A[k, j] * x[k, j] for k in range(items))
        scale = np.abs(y).max()  # the answer does not depend on it
        y, complete = y / scale, complete / scale
    return (A * y).sum(axis=1) / np.abs(A * y).sum(axis=1)


@pytest.mark.parametrize("known", [{}, {0: 1, 3: -1}])
@pytest.mark.parametrize("seed", range(12))
def test_the_model_is_the_papers_recursion(seed, known):
    """Same share of the weight on every item, with repeats, weights and gold, which goes into the messages."""
    rows = random_crowd(seed)
    gold = {item: (sign + 1) // 2 for item, sign in known.items()}
    fit = adjudge.fit(frame(rows), "kos", gold=gold)
    expected = dict(enumerate(answers(votes(rows), ROUNDS, known))) | known
    result = dict(zip(fit.items.to_list(), fit.posterior[:, 1], strict=True))
    assert result == pytest.approx({item: (1 + expected[item]) / 2 for item in result}, abs=SMALL)


def test_the_label_is_the_sign_of_the_score():
    """The score column has the sign that the paper answers with."""
    labels = adjudge.fit(frame(random_crowd(3)), "kos").labels
    assert labels["label"].to_list() == [int(score > 0) for score in labels["score"]]
    assert (labels["score"] != 0).all()


def test_who_answers_the_reverse_counts_for_the_other_side():
    """Her reliability is below zero, the best judge's is one, and together they are right."""
    result = [(i, j, i % 2 if j < 3 else 1 - i % 2, 1.0) for i in range(20) for j in range(4)]
    fit = adjudge.fit(frame(result), "kos")
    assert fit.judges["reliability"].to_list() == pytest.approx([1, 1, 1, -1], abs=1e-3)
    assert fit.labels["label"].to_list() == [i % 2 for i in range(20)]
    np.testing.assert_array_equal(fit.posterior.max(axis=1), 1.0)
    np.testing.assert_array_equal(fit.params.confusion[3], [[0, 1], [1, 0]])


def test_gold_teaches_who_is_reliable():
    """Of two judges who always disagree, gold tells the right one, on items without gold as well."""
    result = [(i, j, (i + j) % 2, 1.0) for i in range(20) for j in range(2)]
    assert adjudge.fit(frame(result), "kos").labels["probability"].to_list() == [0.5] * 20
    fit = adjudge.fit(frame(result), "kos", gold={0: 0, 1: 1, 2: 0})
    assert fit.labels["label"].to_list() == [i % 2 for i in range(20)]


def test_a_weak_component_is_answered_as_if_alone():
    """Two judges with two items of their own are not drowned by a crowd whose messages grow much faster."""
    crowd = [(i, j, i % 2, 1.0) for i in range(40) for j in range(30)]
    apart = [(40 + i, 30 + j, i, 1.0) for i in range(2) for j in range(2)]
    fit = adjudge.fit(frame(crowd + apart), "kos")
    result = dict(zip(fit.items.to_list(), fit.posterior[:, 1], strict=True))
    assert (result[40], result[41]) == (0.0, 1.0)


def test_weights_of_any_size_change_nothing():
    """Messages are kept in units, so that tiny and huge weights neither vanish nor overflow."""
    rows = random_crowd(5)
    plain = adjudge.fit(frame(rows), "kos").posterior
    for size in (1e-30, 1e30):
        weighed = adjudge.fit(frame([(*row[:3], row[3] * size) for row in rows]), "kos").posterior
        np.testing.assert_allclose(weighed, plain, atol=SMALL)


def test_more_than_two_labels_are_refused():
    """The message says which models take them."""
    with pytest.raises(
        UsageError, match="model 'kos' takes two labels, and there are 3: '0', '1', '2'; models for more"
    ):
        adjudge.fit(frame([(0, 0, k, 1.0) for k in range(3)]), "kos")


def block(start, judge, label, judges, weight=(), gold=None):
    """Return a block of judgments with two labels."""
    judge, label, items = np.array(judge), np.array(label), len(start) - 1
    reference = np.full(items, -1) if gold is None else np.array(gold)
    topic, value = np.zeros(items, np.int32), np.arange(2.0)
    return Block(np.array(start), judge * 2 + label, label, topic, reference, np.array(weight, float), judges, 2, value)


def test_the_first_round_is_the_vote():
    """Every judge gets the vote of the others, times their own."""
    result = block([0, 3], [0, 1, 2], [1, 1, 0], judges=3)
    sums, score = pass_messages(result, np.empty((3, 0, 2)), 1)
    np.testing.assert_array_equal(score, [[1, 3]])
    np.testing.assert_array_equal(sums[:, 0], [[0, 0], [0, 0], [-2, 2]])  # 1 - 1, 1 - 1, and -(1 + 1)


def test_repeats_are_one_vote():
    """A judgment twice is a judgment of weight two, and one of each label is none."""
    twice = block([0, 5], [0, 0, 1, 2, 2], [1, 1, 0, 0, 1], judges=3)
    weighed = block([0, 3], [0, 1, 2], [1, 0, 0], judges=3, weight=[2, 1, 0])
    for ours, theirs in zip(*(pass_messages(b, np.empty((3, 0, 2)), 1) for b in (twice, weighed)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_gold_speaks_with_all_its_judges_voices():
    """Three votes of one each: the message has size three, whatever they said."""
    reference = block([0, 3], [0, 1, 2], [1, 1, 0], judges=3, gold=[0])
    sums, score = pass_messages(reference, np.empty((3, 0, 2)), 1)
    np.testing.assert_array_equal(score, [[-3, 3]])
    np.testing.assert_array_equal(sums[:, 0, 0], [-3, -3, 3])


def test_sums_of_blocks_add_up():
    """Two halves give the sums of the whole."""
    rng = np.random.default_rng(0)
    complete = block(np.arange(0, 61, 3), rng.integers(5, size=60), rng.integers(2, size=60), judges=5)
    history = in_units(pass_messages(complete, np.empty((5, 0, 2)), 1)[0])
    parts = [pass_messages(part, history, 2)[0] for part in split(complete, 2)]
    assert len(parts) == 2
    np.testing.assert_allclose(sum(parts), pass_messages(complete, history, 2)[0])


def test_units():
    """The largest sum is one, rounding errors become zero, and without judgments the unit is one."""
    sums = np.array([[[4.0, 4.0], [0.0, 0.0]], [[-8.0, 9.0], [0.0, 0.0]], [[1e-15, 3.0], [0.0, 0.0]]])
    history = in_units(sums)
    np.testing.assert_array_equal(history[:, 0], [[0.5, 8], [-1, 8], [0, 8]])
    np.testing.assert_array_equal(history[:, 1], [[0, 1]] * 3)
