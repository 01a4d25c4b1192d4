"""Answers with embeddings."""

import numpy as np
import pandas as pd
import pytest
from nltk.translate.gleu_score import sentence_gleu
from scipy.stats import chi2

from adjudge.compat.crowdkit import HRRASA, RASA, ClosestToAverage
from adjudge.compat.crowdkit.embeddings import cosine_distance, gleu


def table(seed=0, tasks=12, workers=5):
    """Return answers of workers who are ever less precise; worker 0 answers one more task alone."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"t{task}", worker, " ".join(f"w{word}" for word in rng.integers(3, size=6)), center + rng.normal(size=3) * s)
        for task in range(tasks)
        for center in [rng.normal(size=3) * 3]
        for worker, s in enumerate(np.linspace(0.1, 2, workers))
    ]
    rows.append(("alone", 0, "just this", np.ones(3)))
    return pd.DataFrame(rows, columns=["task", "worker", "output", "embedding"])


def test_the_closest_answer_is_chosen():
    """Of each task the answer nearest to the mean, by the distance that was given."""
    data = table()
    ours = ClosestToAverage(lambda a, b: float(np.abs(a - b).sum())).fit(data)
    for task, rows in data.groupby("task"):
        stacked = np.stack(rows["embedding"])
        best = np.abs(stacked - stacked.mean(axis=0)).sum(axis=1).argmin()
        assert ours.embeddings_and_outputs_.loc[task, "output"] == rows["output"].iloc[best]
    assert list(ours.scores_) == ["output", "score", "embedding"]


def test_given_means_are_used():
    """Aggregated embeddings stand for the mean."""
    data = pd.DataFrame({"task": [1, 1], "worker": [1, 2], "output": ["a", "b"], "embedding": [[0.0], [1.0]]})
    closest = ClosestToAverage(lambda a, b: float(abs(a - b)[0]))
    assert closest.fit_predict(data, pd.Series({1: np.array([0.9])}))["output"].to_dict() == {1: "b"}


def test_reliabilities_are_a_fixed_point_of_the_paper():
    """After convergence means and betas satisfy the two equations; true embeddings stay."""
    data, truth = table(), pd.Series({"t3": np.zeros(3)})
    ours = RASA(n_iter=1_000, tol=1e-28).fit(data, truth)
    far = pd.Series(0.0, ours.skills_.index)
    for task, rows in data.groupby("task"):
        weight = ours.skills_[rows["worker"]].to_numpy()[:, None]
        vectors = np.stack(rows["embedding"])
        mean = (weight * vectors).sum(axis=0) / weight.sum() if task != "t3" else np.zeros(3)
        np.testing.assert_allclose(ours.aggregated_embeddings_[task], mean, atol=1e-6)
        far[rows["worker"]] += np.square(vectors - mean).sum(axis=1)
    quantile = chi2.isf(0.025, data["worker"].value_counts().sort_index())
    np.testing.assert_allclose(ours.skills_, quantile / np.maximum(far, 1e-5), rtol=1e-5)
    assert ours.skills_.idxmax() == 0


def test_local_reliabilities_are_those_of_the_paper():
    """The local one is a mean similarity; weights are its product with the global one, and ranks follow."""
    data = table()
    ours = HRRASA(n_iter=3, lambda_emb=0.3, lambda_out=0.7, calculate_ranks=True).fit(data)
    rows = data[data["task"] == "t4"].reset_index(drop=True)
    vectors, n = np.stack(rows["embedding"]), len(rows)
    norm = np.square(vectors).sum(axis=1)
    words = [output.split() for output in rows["output"]]
    mean = ours.aggregated_embeddings_["t4"]
    for k in range(n):
        emb = np.mean(
            [np.exp(-np.square(vectors[k] - vectors[m]).sum() / norm[k] / norm[m]) for m in range(n) if m != k]
        )
        out = np.mean([sentence_gleu([words[k]], words[m]) for m in range(n) if m != k])
        gamma, beta = 0.3 * emb + 0.7 * out, ours.skills_[rows.loc[k, "worker"]]
        assert ours.weights_.loc[("t4", rows.loc[k, "worker"]), "weight"] == pytest.approx(gamma * beta)
        near = np.exp(-np.square(vectors[k] - mean).sum() / norm[k] / np.square(mean).sum())
        rank = ours.ranks_[(ours.ranks_["task"] == "t4") & (ours.ranks_["output"] == rows.loc[k, "output"])]["rank"]
        assert rank.iloc[0] == pytest.approx(beta * near + gamma)


def test_a_task_with_one_answer_has_it():
    """It is the consensus, and its weight is unknown."""
    ours = HRRASA()
    assert ours.fit_predict(table()).loc["alone", "output"] == "just this"
    assert np.isnan(ours.weights_.loc[("alone", 0), "weight"])
    assert HRRASA().fit_predict(table().tail(1))["output"].to_dict() == {"alone": "just this"}


def test_a_similarity_of_ones_own_is_used():
    """It is called with two outputs."""
    calls = []
    HRRASA(n_iter=1, output_similarity=lambda a, b: calls.append((a, b)) or 1.0).fit(table(tasks=1))
    assert all(isinstance(part, str) for pair in calls for part in pair)


def test_gleu_is_that_of_nltk():
    """On random texts, some of them short."""
    rng = np.random.default_rng(3)
    texts = [" ".join(f"w{word}" for word in rng.integers(4, size=size)) for size in (1, 2, 5, 9, 12)]
    theirs = [[sentence_gleu([a.split()], b.split()) for b in texts] for a in texts]
    np.testing.assert_allclose(gleu(texts), theirs)


def test_zero_vectors_are_infinitely_far():
    """A cosine with zero does not exist."""
    assert cosine_distance(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 0.0], [2.0, 2.0]])).round(
        9
    ).tolist() == [
        np.inf,
        0.0,
    ]


def test_embeddings_of_different_lengths_are_refused():
    """The row is named."""
    data = pd.DataFrame({"task": [1, 1], "worker": [1, 2], "output": "ab", "embedding": [[1.0], [1.0, 2.0]]})
    with pytest.raises(ValueError, match=r"^row 2: an embedding of 2 numbers, and the first has 1$"):
        RASA().fit(data)


def test_two_true_embeddings_of_a_task_are_refused():
    """The task is named."""
    truth = pd.Series([np.ones(3), np.zeros(3)], index=["t1", "t1"])
    with pytest.raises(ValueError, match=r"^true_embeddings: task 't1' has several true embeddings$"):
        RASA().fit(table(), truth)


def test_a_distance_that_is_no_number_is_refused():
    """The row is named."""
    with pytest.raises(ValueError, match=r"^the distance of row 1 is not a number$"):
        ClosestToAverage(lambda a, b: float("nan")).fit(table())
