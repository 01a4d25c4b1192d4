"""A fit as tables."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.inference.chains import Draws
from adjudge.inference.result import ADVERSARIAL, cell_ends, judge_answers, judged, ranks, topic_answers


@pytest.fixture
def fit():
    """Return a fit with topics."""
    table = {
        "item": ["a", "a", "b", "b", "c"],
        "judge": ["x", "y"] * 2 + ["x"],
        "label": ["no", "yes", "yes", "yes", "no"],
        "topic": ["t1", "t1", "t2", "t2", "t2"],
    }
    return adjudge.fit(pl.DataFrame(table), "majority", ties="first")


def test_labels_table(fit):
    """Item, label, its probability, every label's, entropy in bits, topic."""
    assert fit.labels.columns == ["item", "label", "probability", "p_no", "p_yes", "entropy", "topic"]
    assert fit.labels.row(0) == ("a", "no", 0.5, 0.5, 0.5, 1.0, "t1")
    assert fit.labels.row(1) == ("b", "yes", 1.0, 0.0, 1.0, 0.0, "t2")


def test_judges_table(fit):
    """Judge, judgments, accuracy."""
    assert fit.judges.columns == ["judge", "judgments", "accuracy"]
    assert fit.judges["judgments"].to_list() == [3, 2]


def test_prevalence_and_confusion_tables(fit):
    """Probabilities of truths, and of labels given truths, in long form."""
    assert fit.prevalence["prevalence"].sum() == pytest.approx(1)
    assert fit.confusion.columns == ["judge", "truth", "label", "probability"]
    assert fit.confusion.height == 2 * 2 * 2
    cell = fit.confusion.filter((pl.col("judge") == "y") & (pl.col("truth") == "yes") & (pl.col("label") == "yes"))
    assert cell["probability"].item() == pytest.approx(fit.params.confusion[1, 1, 1])


def test_a_fit_is_immutable(fit):
    """Neither fields nor arrays can be changed."""
    with pytest.raises(AttributeError):
        fit.model = "other"
    for array in (fit.posterior, fit.label, fit.judged, fit.accuracy, fit.topic, *fit.params):
        with pytest.raises(ValueError, match="read-only"):
            array[(0,) * array.ndim] = 1
    with pytest.raises(TypeError):
        fit.options["seed"] = 9


def test_it_says_what_it_is(fit):
    """The representation names the model, sizes and how it ended."""
    assert repr(fit) == "Fit(majority: 3 items, 2 judges; counted once)"
    assert "converged, log evidence -" in repr(adjudge.fit(adjudge.dataset("anesthesia"), "dawid-skene"))


def test_a_judge_whose_judgments_count_for_nothing_is_expected_to_be_average():
    """Weights of 0 leave nothing to count; the accuracy is what the model expects of the judge."""
    table = {"item": ["a", "a", "b"], "judge": ["x", "y", "x"], "label": ["0", "1", "1"], "weight": [1, 0, 1]}
    fit = adjudge.fit(pl.DataFrame(table))
    assert fit.accuracy[1] > 0.5


def test_entropy_is_between_zero_and_log_k(fit):
    """Certain is 0, no idea is log2 K."""
    assert (fit.entropy >= 0).all()
    assert (fit.entropy <= np.log2(2)).all()


RNG = np.random.default_rng(0)


def entropy(p):
    """Return the entropy of a row in bits."""
    p = np.asarray(p)[np.asarray(p) > 0]
    return -(p * np.log2(p)).sum()


def draws(confusion, prevalence):
    """Return draws of these matrices (C, D, J, K, K) and prevalences (C, D, T, K)."""
    confusion, prevalence = np.asarray(confusion, float), np.asarray(prevalence, float)
    C, D, K = *confusion.shape[:2], confusion.shape[-1]
    return Draws(prevalence, confusion, np.empty((C, D, 0, K)), np.empty((C, D, 0)), np.empty((C, 0, K)), True)


def one(matrix, prevalence):
    """Return draws that always say the same of one judge and one topic."""
    return draws(
        np.broadcast_to(matrix, (2, 3, 1, *np.shape(matrix))), np.broadcast_to(prevalence, (2, 3, 1, len(prevalence)))
    )


def random_draws(K=3, J=4, T=2):
    """Return draws of noise."""
    return draws(RNG.dirichlet(np.ones(K), (2, 50, J, K)), RNG.dirichlet(np.ones(K), (2, 50, T)))


@pytest.mark.parametrize("prevalence", [[0.5, 0.5], [0.9, 0.1], [0.2, 0.3, 0.5], [1.0, 0.0]])
def test_a_perfect_judge_tells_all_there_is(prevalence):
    """The judgment has the entropy of the prevalence, in bits; the judge is right, and fully informed."""
    result = judged(one(np.eye(len(prevalence)), prevalence), np.ones(1))
    np.testing.assert_allclose(result.bits, entropy(prevalence), atol=1e-12)
    np.testing.assert_allclose(result.informedness, 1)
    np.testing.assert_allclose(result.p_right, 1)


@pytest.mark.parametrize("row", [[0.5, 0.5], [0.9, 0.1], [1.0, 0.0], [0.2, 0.3, 0.5]])
def test_a_judge_who_does_not_look_tells_nothing(row):
    """Whatever label the judge gives most often."""
    prevalence = RNG.dirichlet(np.ones(len(row)))
    result = judged(one([row] * len(row), prevalence), np.ones(1))
    np.testing.assert_allclose(result.bits, 0, atol=1e-12)
    np.testing.assert_allclose(result.informedness, 0, atol=1e-12)
    np.testing.assert_allclose(result.p_right, np.dot(row, prevalence))


def test_an_adversary_tells_as_much_as_a_friend():
    """One bit, though informedness is -1."""
    result = judged(one([[0, 1], [1, 0]], [0.5, 0.5]), np.ones(1))
    np.testing.assert_allclose(result.bits, 1)
    np.testing.assert_allclose(result.informedness, -1)
    np.testing.assert_allclose(result.p_right, 0)


def test_a_noisy_judge_is_a_symmetric_channel():
    """One minus the entropy of the judge's errors; informedness is sensitivity + specificity - 1."""
    result = judged(one([[0.8, 0.2], [0.2, 0.8]], [0.5, 0.5]), np.ones(1))
    np.testing.assert_allclose(result.bits, 1 - entropy([0.8, 0.2]))
    np.testing.assert_allclose(judged(one([[0.7, 0.3], [0.1, 0.9]], [0.5, 0.5]), np.ones(1)).informedness, 0.6)


def test_information_is_that_of_the_joint_table():
    """H(truth) + H(label) - H(both), of every draw and judge, with prevalence that of all items."""
    some = random_draws()
    items = np.array([30.0, 10.0])
    result = judged(some, items)
    theta = some.confusion.reshape(100, 4, 3, 3)
    pi = some.prevalence.reshape(100, 2, 3)
    for s in (0, 57, 99):
        common = (30 * pi[s, 0] + 10 * pi[s, 1]) / 40
        for j in range(4):
            both = common[:, None] * theta[s, j]
            bits = entropy(common) + entropy(both.sum(axis=0)) - entropy(both.ravel())
            assert result.bits[s, j] == pytest.approx(bits, abs=1e-12)
            assert result.p_right[s, j] == pytest.approx(np.trace(both))


def test_columns_are_means_quantiles_and_shares_of_draws():
    """Of the draws of all chains together."""
    some, items = random_draws(K=2), np.array([1.0, 3.0])
    result, columns = judged(some, items), judge_answers(some, items, ("no", "yes"))
    theta = some.confusion.reshape(100, 4, 2, 2)
    drawn = {**result._asdict(), "sensitivity": theta[:, :, 1, 1], "specificity": theta[:, :, 0, 0]}
    for name, values in drawn.items():
        np.testing.assert_allclose(columns[name], values.mean(axis=0))
        np.testing.assert_allclose(columns[f"{name}_low"], np.quantile(values, 0.05, axis=0))
        np.testing.assert_allclose(columns[f"{name}_high"], np.quantile(values, 0.95, axis=0))
    youden = theta[:, :, 1, 1] + theta[:, :, 0, 0] - 1
    np.testing.assert_allclose(columns["no_better_than_chance"], (youden <= 0).mean(axis=0))
    np.testing.assert_allclose(columns["adversarial"], (youden < ADVERSARIAL).mean(axis=0))
    assert (columns["adversarial"] <= columns["no_better_than_chance"]).all()


def test_chances_are_shares_of_draws():
    """Better in three draws of four, an adversary in one."""
    good, bad = [[0.9, 0.1], [0.1, 0.9]], [[0.2, 0.8], [0.8, 0.2]]
    columns = judge_answers(
        draws([[[good], [good], [good], [bad]]], np.full((1, 4, 1, 2), 0.5)), np.ones(1), ("no", "yes")
    )
    assert columns["no_better_than_chance"].tolist() == [0.25]
    assert columns["adversarial"].tolist() == [0.25]


def test_sensitivity_is_for_two_labels():
    """With three there is none."""
    assert not any(name.startswith("s") for name in judge_answers(random_draws(), np.ones(2), ("a", "b", "c")))


def test_cells_and_topics_have_the_quantiles_of_their_draws():
    """In the order of long tables: judge by judge and row by row, topic by topic."""
    some = random_draws()
    cells, topics = cell_ends(some), topic_answers(some)
    theta, pi = some.confusion.reshape(100, -1), some.prevalence.reshape(100, -1)
    np.testing.assert_allclose(cells["probability_low"], np.quantile(theta, 0.05, axis=0))
    np.testing.assert_allclose(cells["probability_high"], np.quantile(theta, 0.95, axis=0))
    np.testing.assert_allclose(topics["prevalence"], pi.mean(axis=0))
    np.testing.assert_allclose(topics["prevalence_low"], np.quantile(pi, 0.05, axis=0))
    np.testing.assert_allclose(topics["prevalence_high"], np.quantile(pi, 0.95, axis=0))
    assert cells["probability_low"][1 * 9 + 2 * 3 + 0] == np.quantile(some.confusion[:, :, 1, 2, 0], 0.05)


def test_ranks_of_certain_items_are_exact():
    """The highest label first, and ties share their mean rank."""
    truth = np.array([0, 2, 1, 1, 0, 2])
    result = ranks(np.eye(3)[truth], np.array([0, 0, 0, 0, 1, 1]))
    for column in result:
        assert column.tolist() == [4, 1, 2.5, 2.5, 2, 1]


def test_the_only_item_of_a_topic_is_first():
    """However uncertain."""
    result = ranks(np.array([[0.5, 0.5], [0.1, 0.9], [0.4, 0.6]]), np.array([0, 1, 2]))
    for column in result:
        assert column.tolist() == [1, 1, 1]


def test_expected_ranks_of_a_topic_add_up():
    """To n (n + 1) / 2, in every topic; intervals are around them."""
    posterior, topic = RNG.dirichlet(np.ones(4), 50), RNG.integers(0, 5, 50)
    result = ranks(posterior, topic, seed=3)
    for t, n in enumerate(np.bincount(topic)):
        assert result.expected[topic == t].sum() == pytest.approx(n * (n + 1) / 2)
    assert (result.low <= result.expected).all()
    assert (result.expected <= result.high).all()
    assert result.low.min() >= 1


def test_expected_ranks_are_those_of_chance():
    """Of two items, p and q: the first is ahead with p (1 - q), behind with q (1 - p), else they share 1.5."""
    p, q = 0.8, 0.3
    result = ranks(np.array([[1 - p, p], [1 - q, q]]), np.zeros(2, int), draws=20_000)
    expected = 1.5 - (p * (1 - q) - q * (1 - p)) / 2
    assert result.expected[0] == pytest.approx(expected, abs=0.01)
    assert result.expected.sum() == pytest.approx(3)


def test_ranks_depend_on_the_seed_alone():
    """And on no item of another topic's being certain."""
    posterior = RNG.dirichlet(np.ones(2), 20)
    first, again, other = (ranks(posterior, np.zeros(20, int), seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.expected, again.expected)
    assert not np.array_equal(first.expected, other.expected)
