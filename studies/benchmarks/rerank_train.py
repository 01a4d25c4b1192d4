"""Compare ``adjudge rerank train`` with its defaults, and with --joint, with every fixed setting.

It writes docs/explanation/measured/rerank-train.md.
Arguments: the folder of the sets, and a folder in which finished runs and features are stored.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import AdjudgeWarning
from adjudge.inference.fit import fit
from adjudge.learn.choice import EXPONENTS, Candidate, Topics, rank_candidates, ranked_without
from adjudge.learn.first_stage import FirstStage
from adjudge.learn.folds import FOLDS, assign_folds
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.pairs import group_codes
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.rerank import Lessons, train_ranker
from adjudge.learn.scikit import threadpool_limits
from adjudge.learn.topic_scores import name_order, score_groups
from adjudge.learn.training_set import Features, TrainingSet
from studies.benchmarks.claim import Claim, say
from studies.datasets import data_folder
from studies.parallel import parallel_map
from studies.rerank.crowds import REGIMES, draw_crowd
from studies.rerank.methods import TREES
from studies.rerank.sets import Rows, read_rows

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "measured" / "rerank-train.md"
RUNS = {  # of each set and crowd; the set with few questions has more
    **{(name, crowd): 1 for name in ("wikiqa_hard", "cranfield", "trecqa_letor") for crowd in ("paper", "noisy")},
    ("nyt_passages", "real"): 3,
}
GOAL = 0.5  # points below the best fixed setting
HALVES = 200  # random halves of the questions
PLAIN = ("pairs", "margin")  # what the plain trees learn from

OPENING = """# The defaults of rerank train

`adjudge rerank train` chooses inside folds by topic how to learn, and which linear rankers and trees to average
(`src/adjudge/learn/choice.py`). This page compares the outcome with every fixed setting, on the sets of
[paper 004](../papers/paper-004.md) that leave room for a ranker, on TREC-QA, and on a set with real judges. The truth
measures the outcome, and has no part in the choice. Labels are probabilities of `dawid-skene`; each run has new folds
and a new crowd.

The settings of the trees and the rule of one standard error were picked on samples of 30 to 250 questions of
`xquad_sentences`, `qa_wikiqa` and `cast_snippets`, which are not on this page. Two choices are not independent of its
sets: the idea to average both kinds of rankers was first seen to help on a run of `cranfield`, `trecqa_letor` and
`nyt_passages` (not of `wikiqa_hard`) with other trees; and the criterion, expected average precision, was picked
earlier from seven on ten runs of `cranfield`, `trecqa_letor`, `wikiqa_hard` and `xquad_sentences`.

Written by `python -m studies.benchmarks.rerank_train`.
"""


class Run(NamedTuple):
    """One run of ``rerank train`` on a set; reciprocal ranks of the questions by the truth."""

    first: list[float] | None
    default: list[float]
    single: list[float]  # the candidate with the best rankings of the other folds, without an average
    joint: list[float]
    fixed: dict[str, list[float]]  # by setting
    loss: tuple[float, float]  # log loss of the labels, by the consensus and by Raykar's loop
    beats: bool | None  # what the command said
    seconds: tuple[float, float]  # CPU time of the default and of --joint


def train_once(job: tuple[str, str, str, str, int]) -> Run:
    """Train with the defaults, with --joint, and with every fixed setting; kept in a file."""
    data, keep, name, crowd, run = job
    path = Path(keep) / f"train-{name}-{crowd}-{run}.json"
    if path.is_file():
        stored = json.loads(path.read_text(encoding="utf8"))
        return Run(**{**stored, "loss": tuple(stored["loss"]), "seconds": tuple(stored["seconds"])})
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        outcome = _train_once(read_rows(Path(data), name, lambda _: None, Path(keep)), crowd, run)
    path.write_text(json.dumps(outcome._asdict()), encoding="utf8")
    best = max(np.mean(values) for values in outcome.fixed.values())
    say(f"{name}, {crowd}, run {run}: {100 * np.mean(outcome.default):.2f}, best fixed {100 * best:.2f}")
    return outcome


def _train_once(rows: Rows, name: str, run: int) -> Run:
    """Return the reciprocal ranks of the defaults and of every fixed setting, by the truth."""
    rng = np.random.default_rng([run, 4])
    if rows.crowd is not None and name == rows.crowd_name:
        crowd, truth = rows.crowd(rng)
    else:
        assert rows.truth is not None
        crowd, truth = draw_crowd(rows.truth, REGIMES[name], rng, rows.bm25), rows.truth
    p = fit(crowd.judgments, "dawid-skene").posterior[:, 1]
    every, label = np.arange(p.size), (p > 0.5).astype(float)
    sets = {
        "pairs": TrainingSet(every, p, None, True),
        "margin": TrainingSet(every, label, np.abs(2 * p - 1), False),
        "label": TrainingSet(every, label, None, False),
    }
    table = Features(tuple(rows.question.tolist()), tuple(rows.document.tolist()), rows.features, rows.X)
    stage = None if rows.bm25 is None else FirstStage("bm25", rows.bm25)
    began = time.process_time()
    trained = train_ranker(table, Lessons(sets, p > 0.5, p), None, first=stage, seed=run)
    middle = time.process_time()
    pairs = Lessons({"pairs": sets["pairs"]}, p > 0.5, p)
    joint = train_ranker(table, pairs, None, joint=True, first=stage, seed=run)
    seconds = middle - began, time.process_time() - middle
    assert trained.choice is not None
    assert joint.joint is not None
    fold = assign_folds(rows.question, {*rows.question.tolist()}, FOLDS, run)
    code = group_codes(rows.question, p.size)[0]
    topics = Topics(rows.X, code, name_order(rows.document, p.size), fold, p)
    candidates = trained.choice.candidates
    plain = [Candidate(learn, LambdaMART(**TREES)) for learn in PLAIN]
    scores = np.array([_held_out(candidate, sets, topics) for candidate in (*candidates, *plain)])
    single = scores[_best_by_fold(candidates, sets, topics)[fold], every]
    fixed = {
        f"{n}: {_named(candidate)}": _ranks(score, rows, truth)
        for n, (candidate, score) in enumerate(zip((*candidates, *plain), scores, strict=True))
    }
    return Run(
        None if rows.bm25 is None else _ranks(rows.bm25, rows, truth),
        _ranks(trained.score, rows, truth),
        _ranks(single, rows, truth),
        _ranks(joint.score, rows, truth),
        fixed,
        (_log_loss(p, truth), _log_loss(joint.joint.relevance, truth)),
        None if trained.comparison is None else trained.comparison.better,
        seconds,
    )


def _named(candidate: Candidate) -> str:
    """Return how a candidate learns, and its kind; of a linear one also its place in the grid of c."""
    ranker = candidate.ranker
    if isinstance(ranker, RankSVM):
        return f"{candidate.learn}, linear"
    return f"{candidate.learn}, {'random' if ranker.random else 'plain'} trees"


def _held_out(candidate: Candidate, sets: dict[str, TrainingSet], topics: Topics) -> Floats:
    """Return the scores of rows (N) by rankers that were trained without their fold."""
    score = np.zeros(topics.code.size)
    for k in range(FOLDS):
        score[topics.fold == k] = ranked_without(candidate, sets[candidate.learn], topics, (k,))[topics.fold == k]
    return score


def _best_by_fold(candidates: Sequence[Candidate], sets: dict[str, TrainingSet], topics: Topics) -> Codes:
    """Return the number of the candidate with the best rankings of the other folds, for each fold (K)."""
    rankings = rank_candidates(candidates, sets, topics)
    best = []
    for k in range(FOLDS):
        values = [
            np.average(worth, weights=weight) for worth, weight in (rankings.worth(s, [k]) for s in rankings.score)
        ]
        best.append(int(np.argmax(np.round(values, 9))))
    return np.array(best)


def _ranks(score: Floats, rows: Rows, truth: Flags) -> list[float]:
    """Return the reciprocal rank of every question, by the truth."""
    ranks: list[float] = score_groups(score, truth, rows.question, rows.document).values["MRR"].tolist()
    return ranks


def _log_loss(p: Floats, truth: Flags) -> float:
    """Return the mean log loss of probabilities, bounded by .001."""
    chance = np.clip(np.where(truth, p, 1 - p), 0.001, 0.999)
    return float(-np.log(chance).mean())


class Row(NamedTuple):
    """What the runs on a set and crowd say, in points; ranks are means over runs by question (Q)."""

    first: float | None
    default: float
    best: float
    which: str
    gap: float
    error: float  # standard error of the gap over questions, for the setting that is best in hindsight
    honest: float  # gap to the setting that is best on the other half of the questions
    single: float  # gap of one candidate per fold
    median: float
    edge: str  # where the best c is in the grid


def compare(runs: Sequence[Run]) -> Row:
    """Return the comparison of the default with every fixed setting."""
    keys = [key for key in runs[0].fixed if all(key in run.fixed for run in runs)]
    same = len({len(run.default) for run in runs}) == 1  # a real crowd may leave a question without a relevant document

    def join(values: list[list[float]]) -> Floats:
        """Return the mean over runs in points (Q), or all values if the questions differ."""
        return 100 * (np.mean(values, axis=0) if same else np.concatenate(values))

    fixed = np.array([join([run.fixed[key] for run in runs]) for key in keys])  # (S, Q)
    default, single = join([run.default for run in runs]), join([run.single for run in runs])
    best = int(np.argmax(fixed.mean(axis=1)))
    difference = default - fixed[best]
    rng, honest = np.random.default_rng(0), []
    for _ in range(HALVES):
        half = rng.permutation(default.size) < default.size // 2
        for one, other in ((half, ~half), (~half, half)):
            honest.append(float((default - fixed[int(np.argmax(fixed[:, one].mean(axis=1)))])[other].mean()))
    return Row(
        None if runs[0].first is None else 100 * float(np.mean(runs[0].first)),
        float(default.mean()),
        float(fixed[best].mean()),
        keys[best].split(": ")[1],
        float(difference.mean()),
        float(difference.std(ddof=1) / difference.size**0.5),
        float(np.mean(honest)),
        float(single.mean() - fixed[best].mean()),
        float(default.mean() - np.median(fixed.mean(axis=1))),
        _edge(keys, fixed.mean(axis=1)),
    )


def _edge(keys: Sequence[str], means: Floats) -> str:
    """Return the exponent of the best c of the linear rankers that learn from pairs, and whether it is at an edge."""
    default, *grid = [n for n, key in enumerate(keys) if key.endswith("pairs, linear")]
    names = [*(f"{e:+d}" for e in EXPONENTS), "c = 1"]
    at = int(np.argmax(means[[*grid, default]]))
    return names[at] + (" (edge)" if at in (0, len(names) - 1) else "")


def page(outcomes: dict[tuple[str, str], list[Run]]) -> str:
    """Return the page."""
    rows = {key: compare(runs) for key, runs in outcomes.items()}
    settings = len(next(iter(outcomes.values()))[0].fixed)
    reached = sum(row.gap >= -GOAL for row in rows.values())
    before = sum(row.single >= -GOAL for row in rows.values())
    within = [f"`{' '.join(key)}`" for key, row in rows.items() if -row.error <= row.gap < -GOAL]
    beyond = [f"`{' '.join(key)}`" for key, row in rows.items() if row.gap < -max(GOAL, row.error)]
    edges = sum("edge" in row.edge for row in rows.values())
    how = f"""MRR in percent by the truth. "Best fixed" is the best of {settings} settings, found with the truth on the
same questions: the candidates, and the plain trees that were candidates before. The goal is a gap of at most {GOAL}
points. It is reached on {reached} of {len(rows)} rows; with one candidate per fold instead of an average
("gap of one") on {before}. The best of {settings} on the same questions is too high by chance. ± is the standard error
of the gap over questions. Rows below the goal by no more than this error: {", ".join(within) or "none"}; by more:
{", ".join(beyond) or "none"}. "Gap on other halves" shows how much is chance: the setting is picked with the truth on
a random half of the questions, and compared on the other half (mean of {2 * HALVES} halves). "Above the median" is
against the median of the settings."""
    head = ["set, crowd", "runs", "questions", "first stage", "default", "best fixed", "which", "gap", "gap of one"]
    head += ["gap on other halves", "above the median"]
    lines = [
        (
            *(", ".join(key), str(len(runs)), str(len(runs[0].default))),
            *("-" if row.first is None else f"{row.first:.2f}", f"{row.default:.2f}", f"{row.best:.2f}", row.which),
            *(f"{row.gap:+.2f} ± {row.error:.2f}", f"{row.single:+.2f}", f"{row.honest:+.2f}", f"{row.median:+.2f}"),
        )
        for (key, runs), row in zip(outcomes.items(), rows.values(), strict=True)
    ]
    main = Claim("Against every fixed setting", " ".join(how.split()), head, lines).markdown()
    more = f"""The best c of linear rankers that learn from pairs, as the exponent e of c = 2^e / W in the grid from
{EXPONENTS[0]} to {EXPONENTS[-1]}, by the truth; the candidate c = 1 is above this grid. The best is at an edge
on {edges} of {len(rows)} rows. Below the lowest e, a ranking hardly changes with c. "Said to beat" counts runs
in which the command says that the ranker beats the first stage. "Log loss" is of the labels, by the consensus
and after `--joint`. CPU seconds are the mean of runs, with features read already."""
    head = ["set, crowd", "best e", "said to beat", "--joint", "log loss", "CPU seconds", "of --joint"]
    lines = []
    for (key, runs), row in zip(outcomes.items(), rows.values(), strict=True):
        said = "-" if runs[0].beats is None else f"{sum(run.beats is True for run in runs)} of {len(runs)}"
        loss = " to ".join(f"{np.mean([run.loss[n] for run in runs]):.3f}" for n in (0, 1))
        joint = 100 * float(np.mean([np.mean(run.joint) for run in runs]))
        cost = [f"{np.mean([run.seconds[n] for run in runs]):.0f}" for n in (0, 1)]
        lines.append((", ".join(key), row.edge, said, f"{joint:.2f}", loss, *cost))
    return "\n".join([OPENING, main, Claim("Grid, --joint and cost", " ".join(more.split()), head, lines).markdown()])


def main() -> None:
    """Run the benches, and write the page."""
    data = data_folder(sys.argv[1] if len(sys.argv) > 1 else None)
    keep = Path(sys.argv[2]) if len(sys.argv) > 2 else Path("train-runs")
    keep.mkdir(parents=True, exist_ok=True)
    jobs = [
        (str(data), str(keep), *key, run)
        for run in range(max(RUNS.values()))
        for key, number in RUNS.items()
        if run < number
    ]
    with parallel_map(2) as each:
        results = list(each(train_once, jobs))
    outcomes: dict[tuple[str, str], list[Run]] = {key: [] for key in RUNS}
    for job, outcome in zip(jobs, results, strict=True):
        outcomes[job[2], job[3]].append(outcome)
    PAGE.write_text(page(outcomes), encoding="utf8")
    print("wrote docs/explanation/measured/rerank-train.md")


if __name__ == "__main__":
    main()
