"""Paper 001: the hard-assignment EM, written out as its steps say, against the model; and on real relevance grades."""

from collections import Counter, defaultdict
from math import floor, log

import polars as pl
import pytest

import adjudge
from adjudge.data.judgments import judgment_table


def by_steps(rows, K):
    """Return labels and posteriors of the paper's algorithm from the mean start, one judgment at a time."""
    result = defaultdict(list)
    for item, judge, label in rows:
        result[item].append((judge, label))
    truth = {item: floor(sum(k for _, k in inputs) / len(inputs) + 0.5 + 1e-9) for item, inputs in result.items()}
    while True:
        tally = Counter((judge, truth[item], label) for item, judge, label in rows)
        met = Counter((judge, truth[item]) for item, judge, _ in rows)
        posterior = {}
        for item, inputs in result.items():
            votes = Counter(k for _, k in inputs)
            score = [
                log((votes[k] + 1) / (len(inputs) + K))
                + sum(log((tally[judge, k, label] + 1) / (met[judge, k] + K)) for judge, label in inputs)
                for k in range(K)
            ]
            weights = [2.718281828459045 ** (s - max(score)) for s in score]
            posterior[item] = [w / sum(weights) for w in weights]
        again = {item: p.index(max(p)) for item, p in posterior.items()}
        if again == truth:
            return truth, posterior
        truth = again


@pytest.mark.parametrize("seed", range(4))
def test_the_model_is_the_papers_algorithm(seed):
    """Same labels and same probabilities on every item."""
    crowd = adjudge.simulate("ordinal", seed=seed, items=120, judges=8, labels=4, per_item=5).judgments
    rows = [
        (item, judge, int(label))
        for item, judge, label in judgment_table(crowd).select("item", "judge", "label").rows()
    ]
    K = len(crowd.scale)
    low = min(label for _, _, label in rows)
    truth, posterior = by_steps([(item, judge, label - low) for item, judge, label in rows], K)
    fit = adjudge.fit(crowd, "ordinal")
    assert fit.converged
    for i, item in enumerate(fit.items):
        assert fit.posterior[i].tolist() == pytest.approx(posterior[item], abs=1e-9)
    assert fit.label.tolist() == [truth[item] for item in fit.items]


def test_grades_of_web_search(shared):
    """On real five-level relevance the model beats the vote, as the paper finds on its own data."""
    folder = shared("data/web_search")
    judgments = adjudge.read(str(folder / "labels.csv"), ordinal=True)
    vote, model = (
        adjudge.score(adjudge.fit(judgments, name), str(folder / "gold.csv")).values["accuracy"]
        for name in ("majority", "ordinal")
    )
    assert model > vote + 0.05


def test_expectations_stay_on_the_scale():
    """Normalised over k, no expectation leaves the scale (unnormalised, as printed, most do)."""
    fit = adjudge.fit(adjudge.simulate("ordinal", items=100, judges=6).judgments, "ordinal")
    expected = fit.labels["expected"]
    assert expected.min() >= 0
    assert expected.max() <= len(fit.scale)
    assert isinstance(fit.labels, pl.DataFrame)
