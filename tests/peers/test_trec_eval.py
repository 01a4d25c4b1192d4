"""Ranking measures against trec_eval itself, through pytrec_eval."""

import numpy as np
import polars as pl
import pytest
import pytrec_eval

import adjudge
from adjudge.inference.export import run as run_file
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
    "Rprec": "Rprec",
    "Success@5": "success_5",
    "Bpref": "bpref",
    "infAP": "infAP",
    "SetP": "set_P",
    "SetR": "set_recall",
    "SetF(beta=2.0)": "set_F",
    "SetAP": "set_map",
}
ASKED = {
    *("map", "recip_rank", "ndcg", "ndcg_cut.3,10", "P.1,5", "recall.5", "map_cut.5", "Rprec", "success.5"),
    *("bpref", "infAP", "set_P", "set_recall", "set_F.2.0", "set_map"),
}
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


def test_only_judged_documents():
    """As with its option -J, with ties and with topics of which no returned document was judged."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        grades, run = judged_and_run(rng)
        theirs = pytrec_eval.RelevanceEvaluator(grades, ASKED, judged_docs_only_flag=True).evaluate(run)
        for row in score_runs({"a": run}, grades, list(THEIRS), judged=True, draws=1).by_topic():
            assert row.value == pytest.approx(theirs[row.topic][THEIRS[row.measure]], abs=1e-9), (row, grades, run)


@pytest.mark.parametrize("model", ["majority", "dawid-skene", "gaussian"])
def test_a_consensus_has_the_scores_of_its_run(shared, tmp_path, model):
    """MAP and nDCG of a fit, and of the run and qrels that are written from it and its gold, ties included."""
    folder = shared("data/trec2011_task2_mini/labels.csv").parent
    fit = adjudge.fit(str(folder / "labels.csv"), model)
    values = adjudge.score(fit, str(folder / "gold.csv"), label="label").values
    (tmp_path / "x.run").write_text(run_file(fit))
    gold = pl.read_csv(folder / "gold.csv", schema_overrides={"item": str})
    parts = [(*item.split("_", 1), grade) for item, grade in gold.select("item", "label").iter_rows()]
    (tmp_path / "x.qrels").write_text("".join(f"{topic} 0 {document} {grade}\n" for topic, document, grade in parts))
    with (tmp_path / "x.run").open() as lines, (tmp_path / "x.qrels").open() as grades:
        run, qrels = pytrec_eval.parse_run(lines), pytrec_eval.parse_qrel(grades)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg"}, judged_docs_only_flag=True).evaluate(run)
    for measure in ("map", "ndcg"):
        mean = np.mean([row[measure] for row in theirs.values()])
        assert values[measure] == pytest.approx(mean, abs=1e-12)
    ours = score_runs([str(tmp_path / "x.run")], str(tmp_path / "x.qrels"), "MAP,nDCG", judged=True)
    assert [row.value for row in ours.scores] == pytest.approx([values["map"], values["ndcg"]], abs=1e-12)
