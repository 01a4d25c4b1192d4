"""Run the study of paper 004 on the shared data, and write docs/explanation/papers/paper-004.md with its figure.

Every number of the page comes from here. Arguments: the folder of the sets, and a folder in which finished cells are
stored, so that an interrupted study can continue.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments, from_codes
from adjudge.diagnostics.second_looks import information
from adjudge.inference.fit import fit
from adjudge.learn.folds import fold_of
from adjudge.learn.judge_again import expected_move, turns
from adjudge.learn.pairs import group_codes
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.topic_scores import MEASURES, score_groups
from adjudge.learn.weights import SCHEMES
from studies.benchmarks.claim import Claim, cpu_seconds
from studies.benchmarks.rerank_sentences import POSTERIOR, REAL, SURE, TEXT, Again, Results, against, conclusion
from studies.datasets import data_folder
from studies.markdown import implementation_section
from studies.parallel import parallel_map
from studies.rerank.choice import CHOICE
from studies.rerank.crowds import REGIMES, draw_crowd
from studies.rerank.methods import BOOSTED, METHODS, TREES, Task, scores
from studies.rerank.sets import Rows, read_rows
from studies.rerank.study import RUNS, RerankStudy, Result, figure, p_text, power, rerank

DOCS = Path(__file__).parents[2] / "docs" / "explanation" / "papers"
DRAWS = 5_000
SETS = (*TEXT, *REAL)  # of this page
STAR = "\\*"
SEEDS, BUDGET = 20, 200  # simulated crowds for judging again, and passages that are judged again
AGAIN_C = 2.0**-12  # for all rules; near the best on trecqa_letor
NOISY = ("noisy", "noisy spam", "hard", "lured")  # crowds whose vote is wrong on more than one passage in twenty


OPENING = """# Paper 004: learning to rank from a crowd

Abad and Moschitti, *Taking the best from the Crowd: Learning Question Passage Classification from Noisy Data* (2016).

[Every claim of the paper](paper-004-claims.md) has a row on a page of its own, with sets whose first stage leaves as
much room as that of the paper. The sets of this page leave less. The defaults of `adjudge rerank train` have
[a page](../measured/rerank-train.md), too.

## What the paper does
Judges decide whether passages answer a question. A ranker is trained with their majority labels, and the weight of
each passage is |sum of j W|, where j is +1 or -1 and W is the product of the judge's prior trust (P), activity (T)
and agreement with the majority (C). There are six schemes: L, P, LP, TC, LTC and LPTC. A pairwise linear SVM with
squared hinge loss uses these weights. With five folds by question it is compared with BM25, with labels by matching
the answer key (RE), and with the unweighted majority (CA). The paper reports +1.47 MRR and +1.85 P@1 for LPTC over
CA, and calls all schemes better than the baselines; in its own table, MAP of P (52.07) and P@1 of TC (42.83) are
below those of CA (52.09, 42.94).

## Our choices
- The weight of a pair of passages is the mean of their weights; pairs of weight 0 are left out. The ranker is
  scikit-learn's `LinearSVC(loss="squared_hinge", fit_intercept=False, dual=False)` on difference vectors, to 1e-6, by
  a Newton method that does not form pairs. Features are standardised, and weights have mean 1 on the training rows.
- The paper does not give c. Here every method has its own, chosen for each held-out fold from 2^-20, 2^-16, ..., 1:
  folds are arranged in a ring, rankers are trained without the fold and without one of its neighbours, and the c with
  the best rankings of both neighbours is chosen, by MAP on the labels that the method is trained with. The truth is
  not used, except for `gold`. `Raykar` has the c of `DS pairs`. The settings of LambdaMART are the same for all
  labels and weights.
- T and C are scaled by (x - min + 1) / (max - min + 2). `LPTC rate` uses C as a rate, (a + 1) / (n + 2).
- Beyond the paper: labels and weights |2p - 1| or 1 - entropy from a posterior (`DS` is `dawid-skene`, `VW`
  `vote-weight`); *soft pairs*, in which all passages of a question are compared and the weight of a pair is |p_i -
  p_j| (`DS pairs`; `vote pairs` with vote shares); and Raykar's loop, in which the scores of the ranker for passages
  that it was not trained with replace the prevalence, once. `gold` is trained with expert labels: the upper bound of
  what labels can do for this ranker. `LM` are the same labels and weights in LightGBM's LambdaMART, on six crowds.
- A difference is called significant if two tests over questions and runs agree after Holm's correction (p < .05):
  Student's t with the variance of the means of questions plus that of runs, and a bootstrap over questions and runs
  together. A run is a new crowd and new folds; for `shipped` and `cast_snippets`, whose crowds are fixed, it is new
  folds only. Both tests are conservative.
- Factors of judges and posteriors use the whole crowd, as in the paper, and so do word statistics of features (idf,
  topics), which need no labels. Rankers and calibration use the training questions only.

## How crowds were made
The judgments of the paper are not public. Texts are real, judges are simulated, and two sets have real judges.

The features of the rankers differ by set:

- `xquad_sentences`, `qa_wikiqa`: 55 features of question and sentence by `adjudge features`.
- `trecqa_letor`: the 24 features of the set (BM25, overlaps, two sentence encoders, types of answers); its text is
  under licence.
- `cast_snippets`, `nyt_passages`: the text may not be copied, so there are eight features: the position of a sentence
  in its passage (5), the length of the passage, and the NIST grade of the passage or document (2). The grade is an
  expert's judgment on the whole passage: a strong feature that a first stage does not have. With so few features,
  many rows tie.
- Prior trust P: in `nyt_passages` all judges have the same trust, so P equals CA and LP equals L exactly; in
  `cast_snippets` 13 of 15 judges have an approval of 100 % and two of 99.6 and 99.7, so this is almost true. P cannot
  have an effect on real judges here.
- The truth of `cast_snippets` is the vote itself: the measure shows how well the ranker reproduces the vote, which is
  the training goal of CA, and `gold` equals CA. `nyt_passages` keeps the first judgment of a judge on a paragraph
  (5,027 of 15,900 are repeats); five judges are drawn for training, and the others vote on the paragraph.
"""


def crowds_part(study: RerankStudy) -> str:
    """Return the section on the crowds and their statistics."""
    rows = []
    for name, crowd in study.crowd_keys():
        facts = study.facts(name, crowd)
        description = REGIMES[crowd].summary if crowd in REGIMES else f"the {crowd} crowd"
        if name in TEXT[1:] and crowd != "paper":
            continue
        rows.append(
            (
                f"`{name}`",
                crowd,
                description,
                *(f"{facts['rows']:,.0f}", f"{facts['judges']:,.0f}", f"{facts['least']:,.0f} to {facts['most']:,.0f}"),
                *(f"{facts['full']:.1%}", f"{facts['relation']:+.2f}", f"{facts['vote_accuracy']:.1%}"),
            )
        )
    how = """Matched to the paper: 108 judges with 21 to 1,050 passages (log-uniform, scaled to the sum), five judgments
per passage by different judges, trust as the share of 40 earlier tasks that a judge had right, and 51.8 % of the
passages with full agreement, which determines the average skill by bisection. Kappa is not matched: the .769 of the
paper (from pilots) is inconsistent with 51.8 % full agreement. Sensitivity and specificity are logistic in one skill
with standard deviation .9. Crowds differ in noise, in the correlation of activity and skill, and in whether errors are
independent or correlated; each run simulates a new crowd. `lured` ties difficulty to BM25. The means over runs of the
crowds of the other sets are similar and are left out."""
    head = ("set", "crowd", "description", "rows", "judges", "passages per judge", "full agreement", "activity ~ skill")
    return Claim("The crowds", " ".join(how.split()), (*head, "accuracy of the vote"), rows).markdown()


def simulators_part(folder: Path) -> str:
    """Return the section that compares the crowd of a set with ours; both follow the paper."""
    rows = read_rows(folder, "xquad_sentences", lambda _: None)
    truth, matched, bm25 = rows.truth, rows.matched, rows.bm25
    if truth is None or matched is None or bm25 is None or rows.crowd is None:
        raise ValueError("xquad_sentences has all of these")
    rng = np.random.default_rng(0)
    crowds = rows.crowd(rng)[0], draw_crowd(truth, REGIMES["paper"], rng, bm25)
    other = ~truth & ~matched
    low, high = np.quantile(bm25[other], [0.5, 0.9])
    where = {
        "yes to relevant passages (sensitivity)": truth,
        "yes to irrelevant ones (1 - specificity)": ~truth,
        "yes to irrelevant ones that contain the answer's string": ~truth & matched,
        "yes to other irrelevant ones, highest tenth by BM25": other & (bm25 > high),
        "yes to other irrelevant ones, lower half by BM25": other & (bm25 < low),
    }
    columns = []
    for crowd in crowds:
        table = crowd.judgments
        share = np.bincount(table.item(), table.label, truth.size) / np.diff(table.start)
        count = np.bincount(table.judge)
        right = np.bincount(table.judge, table.label == truth[table.item()]) / count
        trust = [crowd.trust[judge] for judge in table.judges.to_list()]
        column = [f"{share[which].mean():.1%}" for which in where.values()]
        column.append(f"{truth[share > 0.5].mean():.1%}")
        column += [f"{np.corrcoef(values, right)[0, 1]:+.2f}" for values in (np.log(count), trust)]
        columns.append(column)
    names = [*where, "precision of the vote's yes", "log activity ~ accuracy, over judges", "trust ~ accuracy"]
    how = f"""Two simulators follow the paper: the crowd that is included in `xquad_sentences`, one fixed draw by a
program that is not available, and our `paper`. Ours correlates activity with skill (.6 on the normal scale), has a
specificity above the sensitivity (by 1 on the logistic scale), and independent errors. The included judges say yes
too often, in particular to passages that look relevant, so their errors are correlated and depend on the features.
Their activity is not related to their skill, and trust is less related. The paper has no information that could
decide between the two. RE is a strong baseline on this set: {matched[truth].mean():.1%} of the relevant sentences
contain the answer string, and only {matched[~truth].mean():.1%} of the others do, so its label is right on
{(matched == truth).mean():.1%} of the passages, more than the vote of either crowd."""
    head = ("xquad_sentences", "shipped", "paper")
    return Claim("Two simulators", " ".join(how.split()), head, list(zip(names, *columns, strict=True))).markdown()


def gains_part(study: RerankStudy) -> str:
    """Return the sections on the gains of every method over CA."""
    parts = []
    for name in dict.fromkeys(set_name for set_name, _ in study.crowd_keys()):
        crowds = [crowd for set_name, crowd in study.crowd_keys() if set_name == name]
        by = {crowd: {r.method: r for r in study.at(name, crowd)} for crowd in crowds}
        methods = [m for m in METHODS if m != "CA" and any(m in of for of in by.values())]
        rows = [(m, *(gain_cell(by[crowd].get(m)) for crowd in crowds)) for m in methods]
        first = next(iter(by[crowds[0]].values()))
        how = f"""MRR above CA in points, mean of {first.runs} runs on {first.questions:,} questions, with its
standard error over questions and runs in brackets. A star marks significance by both tests, corrected for the
methods of the column."""
        parts.append(Claim(f"Gains on {name}", " ".join(how.split()), ["method", *crowds], rows).markdown())
    return "\n".join(parts)


def gain_cell(result: Result | None) -> str:
    """Return a gain with its standard error, and a star if it is significant."""
    if result is None:
        return "-"
    test = result.tests["CA"]["MRR"]
    return f"{100 * test.difference:+.2f}{STAR if test.p < SURE else ''} ({100 * test.error:.2f})"


def table_part(study: RerankStudy, name: str, crowd: str) -> str:
    """Return table 1 for one crowd."""
    results = study.at(name, crowd)
    rows = []
    for r in results:
        mean, spread, test = r.mean["truth"], r.spread["truth"], r.tests.get("CA", {}).get("MRR")
        p = ("-", "-", "-") if test is None else (p_text(test.t), p_text(test.drawn), p_text(test.p))
        values = (f"{100 * mean[k]:.2f} ± {100 * spread[k]:.2f}" for k in MEASURES)
        c = "-" if r.chosen is None else power(r.chosen)
        rows.append((r.method, *values, *(f"{100 * r.mean['vote'][k]:.2f}" for k in MEASURES), c, *p))
    head = ("method", *MEASURES, *(f"{k} by vote" for k in MEASURES), "c", "p by t", "p by draws", "p")
    how = f"""In percent; values are means over questions, ± is the standard deviation over the five folds, as in the
paper, averaged over {results[0].runs} runs. "By vote" evaluates rankings with the majority labels, as in the paper.
c is the median of the chosen values. p is for MRR compared with CA, over questions and runs; the last is the larger of
both, corrected."""
    return Claim(f"Table 1: {name}, crowd {crowd}", " ".join(how.split()), head, rows).markdown()


def numbers_part(study: RerankStudy) -> str:
    """Return the section of numbers behind the results, by crowd."""
    results = Results(study)
    every, lines = results.every, []
    texts = list(dict.fromkeys(name for name, _ in every))
    for title, chosen in (("noisy crowds (`noisy`, `noisy spam`, `hard`, `lured`)", True), ("the other crowds", False)):
        gains_by_method = []
        for method in ("L", "LP", "TC", "LPTC", "DS margin", "DS pairs", "GLAD margin", "Raykar", "gold"):
            groups = [[at for at in every if at[0] == name and (at[1] in NOISY) is chosen] for name in texts]
            gains_by_method.append(
                f"`{method}` " + ", ".join(f"{fmean(results.gains(method, group)):+.2f}" for group in groups)
            )
        set_names = ", ".join(f"`{n}`" for n in texts)
        lines.append(f"- Mean MRR above CA in points in {title}, on {set_names}: {'; '.join(gains_by_method)}.")
    crowds = f"{len(every)} simulated crowds ({len(every) - 1} of ours and the included one)"
    lines += [f"- Significantly above or below CA, of {crowds}:"]
    lines += [
        f"  - {against(results, m, 'CA')}" for m in (*SCHEMES, "LPTC rate", "vote pairs", "DS", *POSTERIOR, "gold")
    ]
    lines += [f"- Significantly above or below LPTC, of the same {len(every)}:"]
    lines += [f"  - {against(results, m, 'LPTC')}" for m in ("DS", *POSTERIOR)]
    return "\n".join(["## Numbers behind the results\n", *lines, ""])


def trees_part(study: RerankStudy) -> str:
    """Return the section on LambdaMART: compared with the linear ranker, and with weights."""
    rows = []
    for key in study.crowd_keys():
        by = {r.method: r for r in study.at(*key)}
        if "LM CA" not in by:
            continue
        cells = [f"{100 * by[m].mean['truth']['MRR']:.2f}" for m in ("CA", "LM CA")]
        for m in ("LM LPTC", "LM DS margin", "LM gold"):
            test = by[m].tests["LM CA"]["MRR"]
            cells.append(f"{100 * test.difference:+.2f}{STAR if test.p < SURE else ''} ({100 * test.error:.2f})")
        test = by["LM CA"].tests["CA"]["MRR"]
        cells.append(f"{100 * test.difference:+.2f}{STAR if test.p < SURE else ''} ({100 * test.error:.2f})")
        rows.append((f"{key[0]}, {key[1]}", *cells))
    settings = ", ".join(f"{key} {value}" for key, value in TREES.items())
    how = f"""The same labels and weights, MRR in percent, and the difference from `LM CA` in points with the
standard error over questions and runs; a star marks significance. The settings are {settings} for all labels and
weights. In a first test on one fold of three sets, the default of 15 leaves of 20 rows was far worse; smaller trees
were tested on two sets in the folds of the first run with the truth, and chosen before the study. No other settings
were searched."""
    head = ("crowd", "CA", "LM CA", "LM LPTC", "LM DS margin", "LM gold", "LM CA minus CA")
    return Claim("LambdaMART with the same weights", " ".join(how.split()), head, rows).markdown()


def c_part(study: RerankStudy) -> str:
    """Return the section on the effect of c."""
    rows, by = [], Results(study).curve
    for (panel, method), at in by.items():
        rows.append((panel, method, *(f"{at[c]:.2f}" for c in sorted(at))))
    grid = sorted({c for at in by.values() for c in at})
    how = "MRR in percent with the true labels and one c for all methods; five runs. The figure shows MAP and P@1 too."
    return Claim("Figure 1: the effect of c", how, ("crowd", "method", *(power(c) for c in grid)), rows).markdown()


def solver_part() -> str:
    """Return the section that compares our solver with liblinear, at the size of the paper."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_540, 55)) @ rng.normal(size=(55, 55)) / 7
    group = np.repeat(np.arange(527), 20)
    y, f = (X[:, 0] + 2 * rng.normal(size=10_540) > 3).astype(float), rng.random(10_540)
    rows = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for soft, target in ((False, y), (True, 1 / (1 + np.exp(-X[:, 0])))):
            fits = {
                s: RankSVM(solver=s, soft=soft, tolerance=1e-10).fit(X, target, group, f)
                for s in ("newton", "liblinear")
            }
            spent = {
                s: cpu_seconds(lambda s=s, t=target, soft=soft: RankSVM(solver=s, soft=soft).fit(X, t, group, f), 3)
                for s in fits
            }
            apart = float(np.abs(fits["newton"].coef_ - fits["liblinear"].coef_).max())
            rows.append(
                (
                    "soft" if soft else "relevant against irrelevant",
                    f"{fits['newton'].pairs_:,}",
                    f"{spent['newton']:.3f} s",
                    f"{spent['liblinear']:.3f} s",
                    f"{spent['liblinear'] / spent['newton']:.0f}x",
                    f"{apart:.0e}",
                )
            )
    head = ("pairs", "number", "Newton, CPU", "liblinear, CPU", "ratio", "difference of weights")
    how = """10,540 rows of 527 questions with 55 features and random weights; both with a tolerance of 1e-8 and one
thread, in the same run."""
    return Claim("The ranker compared with liblinear", " ".join(how.split()), head, rows).markdown()


def judged_again(folder: Path) -> Again:
    """Return, by crowd and rule, the mean distance and MRR, with their changes and standard errors."""
    rows = read_rows(folder, "trecqa_letor", lambda _: None)
    changes: Again = {}
    for crowd in ("noisy", "hard"):
        outcomes = [again_once(rows, crowd, seed) for seed in range(SEEDS)]
        for rule in outcomes[0]:
            value = np.array([outcome[rule] for outcome in outcomes])  # (S, 2)
            change = 100 * (value - np.array([outcome["no new judgments"] for outcome in outcomes]))
            error = change.std(axis=0, ddof=1) / SEEDS**0.5
            summary = [(100 * value[:, m].mean(), change[:, m].mean(), error[m]) for m in (0, 1)]
            changes.setdefault(crowd, {})[rule] = tuple(float(v) for values in summary for v in values)
    return changes


def again_part(again: Again) -> str:
    """Return the section on judging again: how close the ranking comes to that of a ranker trained on gold."""
    lines = [
        (crowd, rule, f"{a:.2f}", f"{m:.2f}", f"{moved:+.2f} ({error:.2f})", f"{gained:+.2f} ({spread:.2f})")
        for crowd, rules in again.items()
        for rule, (a, moved, error, m, gained, spread) in rules.items()
    ]
    how = f"""`trecqa_letor`, {SEEDS} crowds, c = {power(AGAIN_C)}. {BUDGET} of 2,746 passages get three
more judgments each, by random judges of the crowd. They are chosen by how much their next judgment changes the ranking
(`judge_again`), by how much it changes their probability, by its information in bits, or at random. "Distance" is the
sine of the angle, in percent, between the scores within questions and those of a ranker trained on gold, both for
held-out questions: lower is better. Standard errors over crowds are in brackets."""
    head = ("crowd", "chosen by", "distance", "MRR", "distance, change", "MRR, change")
    return Claim("Judging again", " ".join(how.split()), head, lines).markdown()


def again_once(rows: Rows, name: str, seed: int) -> dict[str, tuple[float, float]]:
    """Return, for every rule of what is judged again, the distance to the ranking by gold, and the MRR."""
    assert rows.truth is not None
    rng, truth = np.random.default_rng(seed), rows.truth
    crowd = draw_crowd(truth, REGIMES[name], rng, rows.bm25)
    table, judges = crowd.judgments, len(crowd.judgments.judges)
    yes = np.column_stack([_said_yes(table, truth, z, judges) for z in (False, True)])  # (J, 2) by truth
    consensus = fit(table, "dawid-skene")
    p, common = consensus.posterior[:, 1], yes.mean(axis=0)
    matrix = np.column_stack([1 - common, common])
    move = expected_move(p, matrix)
    priority = {
        "change of the ranking": turns(rows.X, p, rows.question) * move,
        "change of probabilities": move,
        "information": information(consensus.posterior, matrix),
        "random": rng.random(p.size),
        "no new judgments": None,
    }
    fold = fold_of(rows.question, seed=seed)
    gold = _centred(scores(Task(rows, crowd, truth, AGAIN_C), METHODS["gold"], fold), rows)
    outcome = {}
    for rule, value in priority.items():
        more = table if value is None else _judged_again(table, np.argsort(-value)[:BUDGET], yes, truth, rng)
        score = scores(Task(rows, crowd._replace(judgments=more), truth, AGAIN_C), METHODS["DS pairs"], fold)
        centred = _centred(score, rows)
        apart = float(np.sqrt(max(0.0, 1 - (centred @ gold) ** 2 / ((centred @ centred) * (gold @ gold)))))
        outcome[rule] = (apart, score_groups(score, truth, rows.question, rows.document).means()["MRR"])
    return outcome


def _said_yes(table: Judgments, truth: Flags, z: bool, judges: int) -> Floats:
    """Return how often every judge says yes (J), for rows whose truth is ``z``."""
    of = truth[table.item()] == z
    yes: Floats = np.bincount(table.judge[of], table.label[of], judges) + 0.3
    return yes / (np.bincount(table.judge[of], minlength=judges) + 1)


def _judged_again(table: Judgments, rows: Codes, yes: Floats, truth: Flags, rng: np.random.Generator) -> Judgments:
    """Return the judgments with three more on some rows."""
    item = np.repeat(rows, 3)
    judge = rng.integers(len(table.judges), size=item.size)
    label = (rng.random(item.size) < yes[judge, truth[item].astype(int)]).astype(np.uint8)
    both = np.r_[table.item(), item].astype(np.int32), np.r_[table.judge, judge], np.r_[table.label, label]
    return from_codes(*both, items=table.items, judges=table.judges, scale=table.scale)


def _centred(score: Floats, rows: Rows) -> Floats:
    """Return scores without the mean of their question."""
    code, count = group_codes(rows.question, score.size)
    return score - (np.bincount(code, score, count) / np.bincount(code, minlength=count))[code]


IMPLEMENTATION = (
    ("the six schemes", "learn/weights.py", "tests/learn/test_weights.py"),
    ("posterior weights, soft labels", "learn/posterior_weights.py", "tests/learn/test_posterior_weights.py"),
    ("equation 3, the ranker", "learn/ranksvm.py", "tests/papers/test_004_rerank.py"),
    ("features", "learn/features.py", "tests/learn/test_features.py"),
    ("simulated crowds", "studies/rerank/crowds.py", "tests/studies/rerank/test_crowds.py"),
    ("c, chosen inside folds", "studies/rerank/choice.py", "tests/studies/rerank/test_choice.py"),
    ("tests over questions and runs", "metrics/significance.py", "tests/metrics/test_significance.py"),
    ("contents of cached cells", "studies/rerank/cells.py", "tests/studies/rerank/test_cells.py"),
    ("passages to judge again", "learn/judge_again.py", "tests/learn/test_judge_again.py"),
    ("the study", "studies/rerank/study.py", "tests/studies/rerank/test_study.py"),
)


class Spent(NamedTuple):
    """Times of a run, in seconds."""

    wall: float
    cpu: float


def times_part(study: RerankStudy, script_time: Spent, features: Spent) -> str:
    """Return the section on run time, at the size of the paper and in total."""
    size = study.facts("xquad_sentences", "paper")
    plain = study.facts("xquad_sentences", "clean")
    cells = Spent(*(sum(cell.facts[key] for cell in study.cells) for key in ("wall", "cpu")))
    methods = len(study.at("xquad_sentences", "paper"))
    questions = study.at("xquad_sentences", "paper")[0].questions
    size_text = f"{questions:,} questions, {size['rows']:,.0f} passages, {size['judgments']:,.0f} judgments"
    rows = [
        ("features of the text, once", *_times(features)),
        (
            f"one run at the paper's size ({size_text}), all {methods} methods",
            *_times(Spent(size["wall"], size["cpu"])),
        ),
        (f"the same without trees (crowd clean), {methods - len(BOOSTED)} methods", *_times(_mean(plain))),
        (f"all {len(study.cells):,} cells of the study, added up", *_times(cells)),
        ("this script, in total", *_times(script_time)),
    ]
    how = """Seconds on two cores that were shared with other programs, so CPU times are more reliable than wall
times. Two cells ran at a time, with one thread each. Cells that were kept from an interrupted run have their own
row, and are not part of the last."""
    return Claim("Run time", " ".join(how.split()), ("part", "wall", "CPU"), rows).markdown()


def _mean(facts: dict[str, float]) -> Spent:
    """Return the mean times of a cell."""
    return Spent(facts["wall"], facts["cpu"])


def _times(spent: Spent) -> tuple[str, str]:
    """Return times for a table."""
    wall, cpu = (f"{t / 60:.1f} min" if t >= 90 else f"{t:.1f} s" for t in spent)
    return wall, cpu


def page(study: RerankStudy, script_time: Callable[[], Spent], features: Spent, folder: Path) -> str:
    """Return the page; ``script_time`` is called last, so that it includes everything."""
    note = (
        "Written by `python -m studies.benchmarks.rerank`, which runs `python -m studies rerank`; "
        "all numbers are from its run. "
        f"{len(study.cells):,} cells; a method is one of {len(METHODS)}; c is one of {len(CHOICE)}.\n"
    )
    picture = "![MRR, MAP and P@1 by c](paper-004.svg)\n"
    tables = [
        ("xquad_sentences", "paper"),
        ("xquad_sentences", "shipped"),
        ("qa_wikiqa", "paper"),
        ("qa_wikiqa", "noisy"),
        ("trecqa_letor", "paper"),
    ]
    tables += [("cast_snippets", "real"), ("nyt_passages", "real")]
    crowd_tables = [table_part(study, *at) for at in tables if at in study.crowd_keys()]
    parts = [
        OPENING,
        crowds_part(study),
        simulators_part(folder),
        implementation_section(IMPLEMENTATION),
        "## The study\n",
        note,
    ]
    again = judged_again(folder)
    parts += [conclusion(study, again), numbers_part(study), gains_part(study)]
    parts += [trees_part(study), c_part(study), picture, *crowd_tables, again_part(again), solver_part()]
    return "\n".join([*parts, times_part(study, script_time(), features)])


def spent_since(began: Spent) -> Spent:
    """Return the times of this process and its children since ``began``."""
    now = os.times()
    return Spent(now.elapsed - began.wall, now.user + now.system + now.children_user + now.children_system - began.cpu)


def main() -> None:
    """Run the study, and write the page and its figure."""
    folder = data_folder(sys.argv[1] if len(sys.argv) > 1 else None)
    keep = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    began = spent_since(Spent(0.0, 0.0))
    read_rows(folder, "xquad_sentences", lambda _: None)
    features = spent_since(began)
    with parallel_map(2) as each:
        study = rerank(
            folder,
            SETS,
            runs=RUNS,
            draws=DRAWS,
            keep=keep,
            workers=2,
            say=lambda s: print(s, file=sys.stderr),
            each=each,
        )
    text = page(study, lambda: spent_since(began), features, folder)
    (DOCS / "paper-004.svg").write_text(figure(study), encoding="utf8")
    (DOCS / "paper-004.md").write_text(text, encoding="utf8")
    print("wrote docs/explanation/papers/paper-004.md and .svg")


if __name__ == "__main__":
    main()
