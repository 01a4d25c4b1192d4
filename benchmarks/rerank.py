"""Runs the study of paper 004 on the shared data and writes docs/paper-004.md with its figure.

Every number of the page comes from here. Arguments: the folder of the sets, and a folder in which finished cells are
kept, so that an interrupted study goes on.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from threadpoolctl import threadpool_limits

from adjudge.arrays import Codes, Flags, Floats
from adjudge.cli.study_rerank import figure
from adjudge.judges.items import information
from adjudge.judgments.table import Judgments, encoded
from adjudge.learn.crossval import MEASURES, fold_of, ranked
from adjudge.learn.judge_again import expected_move, turns
from adjudge.learn.pairs import group_codes
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.study_crowds import REGIMES, drawn
from adjudge.learn.study_methods import METHODS, Task, scores
from adjudge.learn.study_rerank import RUNS, Found, rerank
from adjudge.learn.study_sets import Rows, read_rows
from adjudge.learn.weights import SCHEMES
from adjudge.models.fit import fit
from adjudge.report.crowds import data_folder
from adjudge.report.side_by_side import side_by_side
from claim import Claim, cpu_seconds

DOCS = Path(__file__).parents[1] / "docs"
DRAWS = 5_000
SURE = 0.05
SEEDS, BUDGET = 20, 200  # crowds on which judging again is tried, and passages that are
TEXT = ("xquad_sentences", "qa_wikiqa", "trecqa_letor")  # where crowds are simulated
NOISY = ("noisy", "noisy spam", "hard", "lured")  # crowds whose vote is wrong on more than one passage in twenty
POSTERIOR = ("DS margin", "DS entropy", "DS pairs", "VW margin", "GLAD margin", "Raykar")

OPENING = """# Paper 004: learning to rank from a crowd

Abad and Moschitti, *Taking the best from the Crowd: Learning Question Passage Classification from Noisy Data* (2016).

## What the paper does
Judges say of passages whether they answer a question. A ranker learns from their majority, and each passage weighs
|sum of j W|, j being +1 or -1 and W the judge's prior trust (P), activity (T) and agreement with the majority (C)
multiplied: six schemes, L, P, LP, TC, LTC and LPTC. A pairwise linear SVM with squared hinge takes these weights. In
five folds by question it is held against BM25, against labels by matching the answer key (RE), and against the
unweighted majority (CA). The paper finds +1.47 MRR and +1.85 P@1 for LPTC over CA, and calls all schemes better than
the baselines; by its own table P's MAP (52.07) and TC's P@1 (42.83) are below CA's (52.09, 42.94).

## What was decided
- A pair of passages weighs the mean of their weights; pairs of weight 0 are none. The ranker is scikit-learn's
  `LinearSVC(loss="squared_hinge", fit_intercept=False, dual=False)` on difference vectors, to 1e-6, by a Newton method
  that forms no pair. Features are standardised, c is 1, and weights have mean 1 on the rows that are learned from.
- T and C are scaled by (x - min + 1) / (max - min + 2). `LPTC rate` takes C as a rate, (a + 1) / (n + 2).
- Beyond the paper: labels and weights |2p - 1| or 1 - entropy from a posterior (`DS` is `dawid-skene`, `VW`
  `vote-weight`); *soft pairs*, in which all passages of a question are compared and a pair weighs |p_i - p_j| (`DS
  pairs`; `vote pairs` by shares of votes); and Raykar's loop, in which the ranker's scores of passages that it did not
  see take the place of the prevalence, once. `gold` learns from expert labels: the ceiling.
- Judges' factors and posteriors are of the whole crowd, as in the paper, and so are what features know of words (idf,
  topics), which needs no label; rankers and calibration are of the training questions alone.

## How crowds were made
The paper's judgments are not public. Text is real, judges are simulated, and two sets have real judges.
"""


def crowds_part(found: Found) -> str:
    """Return what the crowds are, and how they came out."""
    rows = []
    for name, crowd in found.places():
        facts = found.facts(name, crowd)
        told = REGIMES[crowd].summary if crowd in REGIMES else f"the {crowd} one"
        if name in TEXT[1:] and crowd != "paper":
            continue
        rows.append(
            (
                f"`{name}`",
                crowd,
                told,
                *(f"{facts['rows']:,.0f}", f"{facts['judges']:,.0f}", f"{facts['least']:,.0f} to {facts['most']:,.0f}"),
                *(f"{facts['full']:.1%}", f"{facts['relation']:+.2f}", f"{facts['vote_accuracy']:.1%}"),
            )
        )
    how = """Matched to the paper: 108 judges of 21 to 1,050 passages (log-uniform, brought to the sum), five judgments
a passage by different judges, trust as the share of 40 earlier tasks that a judge had right, and 51.8 % of the passages
with full agreement, to which the average skill is set by bisection. Kappa is not matched: the paper's .769 (of pilots)
cannot hold together with 51.8 % full agreement. Sensitivity and specificity are logistic in one skill with standard
deviation .9. Crowds differ in noise, in how activity goes with skill, and in whether judges err alone or together; each
run draws a new one. `lured` ties difficulty to BM25. Of `cast_snippets` truth is the vote itself, so that what is
measured is agreement with it; of `nyt_passages` five judgments are drawn to learn from, and the others vote on the
truth. The means over runs of the other sets' crowds are alike, and are left out."""
    head = ("set", "crowd", "what it is", "rows", "judges", "passages a judge", "full agreement", "activity ~ skill")
    return Claim("The crowds", " ".join(how.split()), (*head, "vote right"), rows).markdown()


def gains_part(found: Found) -> str:
    """Return how far every method is above CA."""
    parts = []
    for shown in found.gains():
        own = shown.title.split(":")[0]
        rows = []
        for row in shown.rows:
            cells = []
            for crowd, cell in zip(shown.head[1:], row[1:], strict=True):
                held = next((r.held["CA"]["MRR"] for r in found.at(own, crowd) if r.method == row[0]), None)
                cells.append(
                    "-"
                    if cell is None or held is None
                    else f"{cell.replace('*', chr(92) + '*')} ({100 * held.error:.2f})"
                )
            rows.append((str(row[0]), *cells))
        questions = found.at(own, str(shown.head[1]))[0].questions
        how = f"""MRR above CA in points, mean of {found.at(own, str(shown.head[1]))[0].runs} runs on {questions:,}
questions; in brackets its standard error over runs, that is, over crowds and folds. A star: p < .05 by random signs
over questions, corrected for {len(shown.rows)} methods; it says nothing of other crowds."""
        parts.append(Claim(f"Gains on {own}", " ".join(how.split()), [str(h) for h in shown.head], rows).markdown())
    return "\n".join(parts)


def table_part(found: Found, name: str, crowd: str) -> str:
    """Return table 1 for one crowd."""
    results = found.at(name, crowd)
    rows = []
    for r in results:
        mean, spread, held = r.mean["truth"], r.spread["truth"], r.held.get("CA", {}).get("MRR")
        p = ("-", "-") if held is None else (p_text(held.t), p_text(held.random))
        values = (f"{100 * mean[k]:.2f} ± {100 * spread[k]:.2f}" for k in MEASURES)
        rows.append((r.method, *values, *(f"{100 * r.mean['vote'][k]:.2f}" for k in MEASURES), *p))
    head = ("method", *MEASURES, *(f"{k} by vote" for k in MEASURES), "p by t", "p by signs, corrected")
    how = f"""In percent; ± is the standard deviation over the five folds, as in the paper, averaged over
{results[0].runs} runs. "By vote" holds rankings against the majority's labels, as the paper does. p is of MRR against
CA, over questions."""
    return Claim(f"Table 1: {name}, crowd {crowd}", " ".join(how.split()), head, rows).markdown()


def p_text(p: float) -> str:
    """Return a p value in short."""
    return "< .001" if p < 0.0005 else f"{p:.3f}".replace("0.", ".", 1)


def gain(found: Found, name: str, crowd: str, method: str, other: str = "CA") -> float:
    """Return how far one method is above another by MRR, in points."""
    by = {r.method: r.mean["truth"]["MRR"] for r in found.at(name, crowd)}
    return 100 * (by[method] - by[other])


def sure(found: Found, name: str, crowds: Sequence[str], method: str, other: str, sign: int) -> list[str]:
    """Return on which crowds a method is surely above another, or below."""
    held = {
        crowd: r.held[other]["MRR"]
        for crowd in crowds
        for r in found.at(name, crowd)
        if r.method == method and other in r.held
    }
    return [crowd for crowd, test in held.items() if test.random < SURE and sign * test.difference > 0]


def seen_part(found: Found) -> str:
    """Return what is seen, in sentences with their numbers."""
    texts = [name for name in TEXT if any(own == name for own, _ in found.places())]
    crowds = {name: [crowd for own, crowd in found.places() if own == name and crowd in REGIMES] for name in texts}
    lines = ["## What is seen", ""]
    for what, chosen in (("noisy crowds (`noisy`, `noisy spam`, `hard`, `lured`)", True), ("the other crowds", False)):
        means = {
            method: {
                name: fmean(gain(found, name, c, method) for c in crowds[name] if (c in NOISY) is chosen)
                for name in texts
            }
            for method in ("L", "LP", "TC", "LPTC", "DS margin", "DS pairs", "GLAD margin", "Raykar", "gold")
        }
        told = "; ".join(f"`{m}` " + ", ".join(f"{v:+.2f}" for v in by.values()) for m, by in means.items())
        lines.append(f"- Mean MRR above CA in points in {what}, on {', '.join(f'`{n}`' for n in texts)}: {told}.")
    every = [(name, crowd) for name in texts for crowd in crowds[name]]
    for method in (*SCHEMES, "LPTC rate", "vote pairs", "DS", *POSTERIOR):
        up = sum(bool(sure(found, name, [crowd], method, "CA", 1)) for name, crowd in every)
        down = sum(bool(sure(found, name, [crowd], method, "CA", -1)) for name, crowd in every)
        lines.append(
            f"- `{method}` is surely above CA on {up} of {len(every)} simulated crowds, and surely below on {down}; "
            f"its gains lie between {min(gain(found, *e, method) for e in every):+.2f} and "
            f"{max(gain(found, *e, method) for e in every):+.2f}."
        )
    over = []
    for method in POSTERIOR:
        up = [e for e in every if sure(found, e[0], [e[1]], method, "LPTC", 1)]
        down = [e for e in every if sure(found, e[0], [e[1]], method, "LPTC", -1)]
        mean = fmean(gain(found, *e, method, "LPTC") for e in every)
        over.append(f"`{method}` {mean:+.2f} in the mean, surely above on {len(up)}, surely below on {len(down)}")
    lines.append(f"- Against LPTC, on the same {len(every)} crowds: {'; '.join(over)}.")
    for name in ("cast_snippets", "nyt_passages"):
        results = {r.method: r for r in found.at(name, "real")}
        if results:
            told = ", ".join(
                f"`{m}` {gain(found, name, 'real', m):+.2f}" for m in ("L", "LPTC", "DS margin", "DS pairs")
            )
            stars = [m for m, r in results.items() if m != "CA" and r.held["CA"]["MRR"].random < SURE]
            lines.append(
                f"- Real judges, `{name}`: {told} MRR over CA; sure by random signs: "
                f"{', '.join(f'`{m}`' for m in stars) or 'none'} (of {results['CA'].questions:,} questions)."
            )
    return "\n".join([CONCLUSION, "## The numbers behind it\n", *lines[2:], ""])


CONCLUSION = """## What is seen

- Weighting by the paper's signed schemes helps where the vote is often wrong, by a few tenths of a point, and was never
  surely below CA; on the small `trecqa_letor`, though, LTC and LPTC are below it in noisy crowds. P and TC, which do
  not look at what was said, are CA. At the paper's own 52 % full agreement the vote of five judges who err alone is
  right on 98 % of the passages, and no scheme comes near the paper's +1.47.
- Posteriors beat LPTC where noise is large and judges err alone (`noisy`, `noisy spam`) on `qa_wikiqa`, by two to three
  times its gain, mostly by better labels. On `xquad_sentences`, where a question has one relevant passage and every
  wrong yes costs, only soft pairs do, also at 52 % agreement; weights from a posterior do not. On the crowd that ships
  with that set, which the counts below leave out, posteriors are below CA. In clean crowds there is nothing to
  gain on `qa_wikiqa` and `trecqa_letor`, whatever the weights, gold included.
- Where passages are hard for all judges (`hard`), a model of judges alone is hardly better than LPTC, or worse; `glad`,
  which knows difficulty, is as good or better. No weight repairs what judges get wrong together.
- Soft pairs by shares of votes are a risk where errors go along with features (`lured`); by a posterior they were never
  surely below CA.
- c matters as much as weights: with c = .001 all methods gain, CA by more than the schemes do at c = 1, and the lead of
  soft pairs shrinks most. MRR still rises at the end of the grid, so that c = 1, fixed beforehand, favours nobody but
  is not the best c.
- Judged again, what `adjudge rerank again` names brings the ranker nearer to the one that gold would teach: in our
  trials by a third more than what is most uncertain, and three to four times as much as chance. MRR moves too little to
  tell.
- On real judges nothing is settled: no gain is sure over questions, P says nothing there (nearly all have the same
  approval), and in `nyt_passages` some judges of the labels also vote on the truth, since people judged passages twice.
  With 15 vetted and evenly busy judges (`cast_snippets`) LPTC is highest but for LPTC rate, though by factors that
  scaling draws apart, with features that leave many ties, and truth is the vote there.
"""


def c_part(found: Found) -> str:
    """Return what c changes."""
    rows = []
    by: dict[tuple[str, str], dict[float, float]] = {}
    for panel, c, method, values in found.curves():
        by.setdefault((panel, method), {})[c] = float(values["MRR"].mean())
    for (panel, method), at in by.items():
        rows.append((panel, method, *(f"{at[c]:.2f}" for c in sorted(at))))
    grid = sorted({c for at in by.values() for c in at})
    how = "MRR in percent, by c; the figure has MAP and P@1 too."
    return Claim("Figure 1: what c changes", how, ("crowd", "method", *(f"c = {c:g}" for c in grid)), rows).markdown()


def solver_part() -> str:
    """Return our solver beside liblinear, at the paper's size."""
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
    head = ("pairs", "number", "Newton, CPU", "liblinear, CPU", "ratio", "weights apart")
    how = """10,540 rows of 527 questions with 55 features, weights of rows at random; both to a tolerance of 1e-8, one
thread, side by side."""
    return Claim("The ranker beside liblinear", " ".join(how.split()), head, rows).markdown()


def again_part(folder: Path) -> str:
    """Return whether judging again what turns the ranking most brings it nearer to the one that gold would teach."""
    rows = read_rows(folder, "trecqa_letor", lambda _: None)
    if rows.truth is None:
        raise ValueError("trecqa_letor has gold")
    lines = []
    for crowd in ("noisy", "hard"):
        reached = [again_once(rows, crowd, seed) for seed in range(SEEDS)]
        for way in reached[0]:
            value = np.array([one[way] for one in reached])  # (S, 2)
            change = 100 * (value - np.array([one["nothing"] for one in reached]))
            error = change.std(axis=0, ddof=1) / SEEDS**0.5
            lines.append(
                (
                    *(crowd, way, f"{100 * value[:, 0].mean():.2f}", f"{100 * value[:, 1].mean():.2f}"),
                    *(f"{change[:, m].mean():+.2f} ({error[m]:.2f})" for m in (0, 1)),
                )
            )
    how = f"""`trecqa_letor`, {SEEDS} crowds. {BUDGET} of {rows.truth.size:,} passages get three more judgments each, by
judges of the crowd at random, chosen by how far their next judgment turns the ranking (`judge_again`), by how far it
moves their probability, by how many bits it tells, or at random. "Apart" is the sine of the angle, in percent, between
the scores in questions and those of a ranker that learned from gold, both of rankers that did not see the question:
the less the better. In brackets, standard errors over crowds."""
    head = ("crowd", "judged again by", "apart", "MRR", "apart, change", "MRR, change")
    return Claim("Judging again", " ".join(how.split()), head, lines).markdown()


def again_once(rows: Rows, name: str, seed: int) -> dict[str, tuple[float, float]]:
    """Return, for every way to choose what is judged again, how far the ranking is from gold's, and its MRR."""
    assert rows.truth is not None
    rng, truth = np.random.default_rng(seed), rows.truth
    crowd = drawn(truth, REGIMES[name], rng, rows.bm25)
    table, judges = crowd.judgments, len(crowd.judgments.judges)
    yes = np.column_stack([_said_yes(table, truth, z, judges) for z in (False, True)])  # (J, 2) by truth
    known = fit(table, "dawid-skene")
    p, common = known.posterior[:, 1], yes.mean(axis=0)
    matrix = np.column_stack([1 - common, common])
    move = expected_move(p, matrix)
    worth = {
        "what turns the ranking": turns(rows.X, p, rows.question) * move,
        "what moves probabilities": move,
        "what tells most bits": information(known.posterior, matrix),
        "chance": rng.random(p.size),
        "nothing": None,
    }
    fold = fold_of(rows.question, seed=seed)
    gold = _centred(scores(Task(rows, crowd, truth), METHODS["gold"], fold), rows)
    found = {}
    for way, value in worth.items():
        more = table if value is None else _judged_again(table, np.argsort(-value)[:BUDGET], yes, truth, rng)
        score = scores(Task(rows, crowd._replace(judgments=more), truth), METHODS["DS pairs"], fold)
        own = _centred(score, rows)
        apart = float(np.sqrt(max(0.0, 1 - (own @ gold) ** 2 / ((own @ own) * (gold @ gold)))))
        found[way] = (apart, ranked(score, truth, rows.question, rows.document).means()["MRR"])
    return found


def _said_yes(table: Judgments, truth: Flags, z: bool, judges: int) -> Floats:
    """Return how often every judge calls what is so relevant (J)."""
    of = truth[table.item()] == z
    yes: Floats = np.bincount(table.judge[of], table.label[of], judges) + 0.3
    return yes / (np.bincount(table.judge[of], minlength=judges) + 1)


def _judged_again(table: Judgments, rows: Codes, yes: Floats, truth: Flags, rng: np.random.Generator) -> Judgments:
    """Return judgments with three more on some rows."""
    item = np.repeat(rows, 3)
    judge = rng.integers(len(table.judges), size=item.size)
    label = (rng.random(item.size) < yes[judge, truth[item].astype(int)]).astype(np.uint8)
    both = np.r_[table.item(), item].astype(np.int32), np.r_[table.judge, judge], np.r_[table.label, label]
    return encoded(*both, items=table.items, judges=table.judges, scale=table.scale)


def _centred(score: Floats, rows: Rows) -> Floats:
    """Return scores without the mean of their question."""
    code, count = group_codes(rows.question, score.size)
    return score - (np.bincount(code, score, count) / np.bincount(code, minlength=count))[code]


PLACE = (
    ("the six schemes", "learn/weights.py", "tests/learn/test_weights.py"),
    ("posterior weights, soft labels", "learn/posterior.py", "tests/learn/test_posterior.py"),
    ("equation 3, the ranker", "learn/ranksvm.py", "tests/papers/test_004_rerank.py"),
    ("features", "learn/features.py", "tests/learn/test_features.py"),
    ("crowds as the paper tells", "learn/study_crowds.py", "tests/learn/test_study_crowds.py"),
    ("what to judge again", "learn/judge_again.py", "tests/learn/test_judge_again.py"),
    ("the study", "learn/study_rerank.py", "tests/learn/test_study_rerank.py"),
)


def page(found: Found, seconds: float, folder: Path) -> str:
    """Return the page."""
    place = [tuple(f"`{cell}`" if "/" in cell else cell for cell in row) for row in PLACE]
    where = Claim(
        "Where it is", "What of the paper stands in which module, and what holds it.", ("what", "module", "test"), place
    )
    note = (
        "Written by `python benchmarks/rerank.py`, which runs `adjudge study rerank`; all numbers are from that run"
        + (f" of {seconds / 60:.0f} minutes" if seconds > 90 else "")
        + f". {len(found.cells):,} cells; a method is one of {len(METHODS)}.\n"
    )
    picture = "![MRR, MAP and P@1 by c](paper-004.svg)\n"
    tables = [
        ("xquad_sentences", "paper"),
        ("xquad_sentences", "shipped"),
        ("qa_wikiqa", "paper"),
        ("qa_wikiqa", "noisy"),
    ]
    tables += [("cast_snippets", "real"), ("nyt_passages", "real")]
    shown = [table_part(found, *at) for at in tables if at in found.places()]
    parts = [OPENING, crowds_part(found), where.markdown(), "## The study\n", note, seen_part(found), gains_part(found)]
    return "\n".join([*parts, c_part(found), picture, *shown, again_part(folder), solver_part()])


def main() -> None:
    """Run the study, and write the page and its figure."""
    folder = data_folder(sys.argv[1] if len(sys.argv) > 1 else None)
    keep = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    began = time.perf_counter()
    with side_by_side(2) as each:
        found = rerank(
            folder, runs=RUNS, draws=DRAWS, keep=keep, workers=2, say=lambda s: print(s, file=sys.stderr), each=each
        )
    seconds = time.perf_counter() - began
    (DOCS / "paper-004.svg").write_text(figure(found), encoding="utf8")
    (DOCS / "paper-004.md").write_text(page(found, seconds, folder), encoding="utf8")
    print("wrote docs/paper-004.md and .svg")


if __name__ == "__main__":
    main()
