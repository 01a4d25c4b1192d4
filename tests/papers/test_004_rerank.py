"""Paper 004: equation 1 by hand, equation 3 as scikit-learn has it, and what its own numbers say."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.svm import LinearSVC

from adjudge.errors import AdjudgeWarning
from adjudge.learn.folds import fold_of
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.topic_scores import score_groups
from adjudge.learn.weights import weights
from studies.rerank.cells import Job, make_cell
from studies.rerank.crowds import REGIMES, draw_crowd, full_agreement
from studies.rerank.methods import METHODS, Task, scores
from studies.rerank.sets import read_rows

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "papers" / "paper-004.md"
TEXT = ("xquad_sentences", "qa_wikiqa", "trecqa_letor")


def gains(page):
    """Return the gains over CA that the page shows, by set, crowd and method: points, and whether they are starred."""
    result = {}
    for part in page.split("\n## Gains on ")[1:]:
        name, lines = part.split("\n", 1)[0], [line for line in part.split("\n## ")[0].splitlines() if line[:1] == "|"]
        head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
        for method, *cells in rows:
            for crowd, cell in zip(head[1:], cells, strict=True):
                if cell != "-":
                    result[name, crowd, method] = float(cell.split("\\")[0].split()[0]), "*" in cell
    return result


def listed(text):
    """Return the crowds of a sentence such as: `a` (x, y), `b` (z)."""
    return {(name, crowd) for name, crowds in re.findall(r"`(\w+)` \(([^)]*)\)", text) for crowd in crowds.split(", ")}


def test_the_page_says_in_words_what_its_tables_star():
    """Crowd by crowd, for every method, the shipped crowd among them; and how far gains go."""
    page = PAGE.read_text(encoding="utf8")
    displayed = {at: cell for at, cell in gains(page).items() if at[0] in TEXT}
    crowds = {at[:2] for at in displayed}
    assert ("xquad_sentences", "shipped") in crowds
    message = page.split("- Significantly above or below CA, of ")[1].split("- Significantly above or below LPTC")[0]
    assert message.startswith(f"{len(crowds)} simulated crowds ({len(crowds) - 1} of ours and the included one):")
    pattern = r"  - `(.+?)`: above on (\d+)(.*?); below on (\d+)(.*?); mean (\S+), from (\S+) to (\S+)\."
    sentences = re.findall(pattern, message)
    assert len(sentences) > 12
    for method, up, above, down, below, mean, least, most in sentences:
        own = {at[:2]: cell for at, cell in displayed.items() if at[2] == method}
        assert own.keys() == crowds
        assert listed(above) == {at for at, (points, star) in own.items() if star and points > 0}, method
        assert listed(below) == {at for at, (points, star) in own.items() if star and points < 0}, method
        assert (int(up), int(down)) == (len(listed(above)), len(listed(below)))
        points = [points for points, _ in own.values()]
        assert (float(least), float(most)) == pytest.approx((min(points), max(points)), abs=0.011)
        assert float(mean) == pytest.approx(np.mean(points), abs=0.011)


def test_equation_1_weighs_a_passage_by_its_judges():
    """|sum of j W| with W = P T C: three judges, of whom one did two passages only."""
    rows = [
        ("a", "x", 1),
        ("a", "y", 1),
        ("a", "z", 0),
        ("b", "x", 0),
        ("b", "y", 0),
        ("b", "z", 0),
        ("c", "x", 1),
        ("c", "y", 1),
    ]
    table = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    with pytest.warns(AdjudgeWarning, match="numbers of judgments are close, from 2 to 3"):
        result = weights(table, "LPTC", trust={"x": 0.9, "y": 0.5, "z": 1.0}, mean_one=False)
    T = {"x": 2 / 3, "y": 2 / 3, "z": 1 / 3}  # 3, 3 and 2 judgments: (n - 2 + 1) / (3 - 2 + 2)
    C = {"x": 3 / 4, "y": 3 / 4, "z": 1 / 4}  # 3, 3 and 1 agreements
    W = {judge: {"x": 0.9, "y": 0.5, "z": 1.0}[judge] * T[judge] * C[judge] for judge in "xyz"}
    assert result.weight == pytest.approx([W["x"] + W["y"] - W["z"], sum(W.values()), W["x"] + W["y"]])


def test_equation_3_is_a_linear_svm_on_differences():
    """Min |w|^2 / 2 + c sum f xi^2, on one question by hand."""
    X, y, f = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, -1.0]]), np.array([1, 0, 0]), np.array([2.0, 1.0, 0.5])
    vectors, weight = np.array([X[0] - X[1], X[0] - X[2]]), np.array([1.5, 1.25])
    peer = LinearSVC(loss="squared_hinge", fit_intercept=False, dual=False, C=0.3, tol=1e-12)
    peer.fit(np.vstack([vectors, -vectors]), [1, 1, -1, -1], sample_weight=np.r_[weight, weight] / 2)
    fitted = RankSVM(0.3, standardise=False).fit(X, y, [0, 0, 0], f)
    assert fitted.coef_ == pytest.approx(peer.coef_[0], abs=1e-6)


def test_five_judges_who_err_alone_are_nearly_always_right():
    """At the paper's 51.8 % full agreement the vote is right on 98 %: there is little noise to take away."""
    truth = np.random.default_rng(0).random(10_540) < 1_005 / 10_540
    crowd = draw_crowd(truth, REGIMES["paper"], np.random.default_rng(1)).judgments
    vote = np.bincount(crowd.item(), crowd.label, truth.size) > 2
    assert full_agreement(crowd) == pytest.approx(0.518, abs=0.015)
    assert (vote == truth).mean() > 0.97


def test_learning_beats_bm25_as_in_the_paper(shared):
    """On TREC-QA, by far; RE, CA and the schemes lie close together."""
    rows = read_rows(shared("data"), "trecqa_letor", lambda _: None)
    task = Task(rows, draw_crowd(rows.truth, REGIMES["paper"], np.random.default_rng(0), rows.bm25), rows.truth, 1.0)
    fold = fold_of(rows.question)
    reached = {
        name: score_groups(scores(task, METHODS[name], fold), rows.truth, rows.question, rows.document).means()["MRR"]
        for name in ("BM25", "RE", "CA", "L", "LPTC", "gold")
    }
    assert reached["BM25"] < min(reached[name] for name in ("RE", "CA", "L", "LPTC")) - 0.05
    assert max(reached.values()) - reached["CA"] < 0.02


def test_posteriors_beat_lptc_where_noise_is_large(shared, tmp_path):
    """On TREC-QA with one judge in five a spammer, in the mean over four crowds."""
    above = []
    for run in range(4):
        cell = make_cell(Job(str(shared("data")), str(tmp_path), "trecqa_letor", "noisy spam", run, 0))
        above.append(cell.values["DS pairs"]["MRR"].mean() - cell.values["LPTC"]["MRR"].mean())
    assert np.mean(above) > 0.005
