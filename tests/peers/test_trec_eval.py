"""Ranking measures against trec_eval itself, through pytrec_eval."""

import numpy as np
import pytest
import pytrec_eval

from adjudge.metrics.score import score_runs

THEIRS = {
    "MAP": "map",
    "MRR": "recip_rank",
    "nDCG": "ndcg",
    "nDCG@3": "ndcg_cut_3",
    "nDCG@10": "ndcg_cut_10",
    "P@1": "P_1",
    "P@5": "P_5",
    "R@5": "recall_5",
    "MAP@5": "map_cut_5",
}
ASKED = {"map", "recip_rank", "ndcg", "ndcg_cut.3,10", "P.1,5", "recall.5", "map_cut.5"}
NAMES = ["9", "10", "D1", "d1", "d-1", "d_1", "é", "z\u0142", "\U0001f600", "~", "A.b", "clueweb09-en0000-66-24091"]


def judged_and_run(rng):
    """Return the grades of a few topics and a run: few different scores, odd names, documents nobody judged.

    No grade is below 0: from some of those trec_eval does not come back.
    """
    names = [*NAMES, *(f"{prefix}{n}" for prefix in ("doc", "DOC-", "0") for n in range(10))]
    grades, run = {}, {}
    for topic in map(str, range(rng.integers(1, 4))):
        judged = rng.choice(names, rng.integers(1, 30), replace=False)
        returned = rng.choice(names, rng.integers(1, 35), replace=False)
        grades[topic] = {str(d): int(g) for d, g in zip(judged, rng.integers(0, 4, judged.size), strict=True)}
        scores = rng.choice([0, -0.0, 1, 0.5, -3, 1e300, 1 - 1e-9, 1 - 1e-8, 1e-50, rng.normal()], returned.size)
        run[topic] = {str(d): float(s) for d, s in zip(returned, scores, strict=True)}
    return grades, run


@pytest.mark.parametrize("seed", range(10))
def test_every_topic_is_as_trec_eval_has_it(seed):
    """A hundred runs each, all measures to 1e-9, with ties, odd names and topics without a relevant document."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        grades, run = judged_and_run(rng)
        theirs = pytrec_eval.RelevanceEvaluator(grades, ASKED).evaluate(run)
        for row in score_runs({"a": run}, grades, list(THEIRS), draws=1).by_topic():
            assert row.value == pytest.approx(theirs[row.topic][THEIRS[row.measure]], abs=1e-9), (row, grades, run)


def test_another_level_of_relevance():
    """Measures that know only relevant or not take the grade from which a document is."""
    rng = np.random.default_rng(99)
    for _ in range(100):
        grades, run = judged_and_run(rng)
        theirs = pytrec_eval.RelevanceEvaluator(grades, ASKED, relevance_level=2).evaluate(run)
        for row in score_runs({"a": run}, grades, list(THEIRS), level=2, draws=1).by_topic():
            assert row.value == pytest.approx(theirs[row.topic][THEIRS[row.measure]], abs=1e-9), row
