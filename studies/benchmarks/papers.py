"""Run the studies of papers 001 and 002 on the shared data, and write their pages in docs/explanation/papers/.

Every number of these pages comes from here. Arguments are the names of studies, ordinal or vote; by default both run.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from adjudge.data.write import write_whole
from studies import paper_001, paper_002
from studies.benchmarks.claim import Claim
from studies.comparison import MEAN, STUDIES, SURE, Comparison, Result, run, svg, with_interval
from studies.curves import svg as curves_svg
from studies.datasets import data_folder
from studies.markdown import implementation_section, reproductions
from studies.ordinal import Ordinal, ordinal
from studies.outcome import StudyOptions
from studies.paper_001 import ORDINAL, duels

DOCS = Path(__file__).parents[2] / "docs" / "explanation" / "papers"
LEAST = ("mae", "log_loss", "rmse")  # measures of which less is better
PAIRS = (("vote-weight", "vote-weight-biased"), ("gaussian", "gaussian-biased"), ("vote-weight", "gaussian"))


class Page(NamedTuple):
    """A page of a paper: its opening, the table of modules and tests, and the results of the study."""

    study: str
    file: str
    opening: str
    implementation: Sequence[tuple[str, str, str]]

    def text(self, comparison: Comparison, parts: Sequence[str]) -> str:
        """Return the page."""
        picture = f"![{comparison.study.title}]({self.file}.svg)\n"
        note = (
            f"Written by `make studies`, which runs `python -m studies {self.study}`; our numbers are from that run.\n"
        )
        return "\n".join(
            [
                self.opening,
                implementation_section(self.implementation),
                "## The study\n",
                note,
                *parts[:1],
                picture,
                *parts[1:],
            ]
        )


PAGES = (
    Page(
        "ordinal",
        "paper-001",
        """# Paper 001: truth on an ordered scale

Faridani, Buscher and Xu, *A Ground Truth Inference Model for Ordinal Crowd-Sourced Labels Using Hard Assignment
Expectation Maximization* (2013).

## What the paper does
The label of every item is initialised with the mean or the median of its given labels, with or without outliers. The
confusion matrices of the judges are counted with these labels. Then every item gets its most likely label given its
judges, and both steps are repeated until no label changes. The result is an expected value: not "good" but "0.7 good
+ 0.3 very good". The paper compares the rounded value with the label of GLAD and with the median.

## Our choices
- The printed rule multiplies logarithms over judges. We use their sum, which corresponds to a product of
  probabilities.
- The paper divides by the rate at which a judge gives each label. This rate is the same for every true label and
  cancels when the probabilities of an item are normalised. We normalise, so that an expected value stays on its
  scale.
- Outliers are more than 1.5 interquartile ranges outside the quartiles of the item; halves are rounded up.
- A cycle of the iteration is detected and reported.
- For a model that returns only probabilities, the expected value is the mean of the label values under them.
- Repeated judgments of a judge on an item are treated as any other judgments. Gold is used for scoring only.
""",
        (
            ("the algorithm, with all four initialisations", "models/ordinal.py", "tests/papers/test_001_ordinal.py"),
            ("mean, median, trimmed mean", "models/average.py", "tests/models/test_average.py"),
            ("GLAD", "models/glad.py", "tests/models/test_glad.py"),
            ("errors of values, closest method", "studies/measures.py", "tests/studies/test_measures.py"),
            ("the study", "studies/ordinal.py", "tests/studies/test_ordinal.py"),
        ),
    ),
    Page(
        "vote",
        "paper-002",
        """# Paper 002: vote weights and the Gaussian model

Xia et al., *BUPT_WILDCAT at TREC Crowdsourcing Track* (2011), section 2.

## What the paper does
Two methods for a consensus on binary relevance. *Vote weights*: start with the majority; a judge who agrees with the
result with probability P_c gets the weight log(P_c / P_e); vote again with these weights until nothing changes. *The
Gaussian model*: an item has a degree of relevance between 0 and 1, a judge observes it with Gaussian noise of their
own variance and says "relevant" if the observation is above one half; EM estimates degrees and variances.

## Our choices
- P_c is smoothed by +1 and +2, so that no weight is infinite; with K labels the weight is log((K - 1) P_c / P_e). The
  "improved version" of the paper has one P_c for every true label (`vote-weight-biased`).
- The printed integrals end at 0 and 1, so both are divided by the probability mass between them: the probabilities of
  a judge sum to one.
- Degrees are on a Gauss-Legendre grid with a uniform prior; the variances of all judges are estimated together. The
  threshold of a judge is one half, or is estimated too (`gaussian-biased`).
- All other models that need no ordered labels are included with their default settings. Gold is used for scoring
  only, so `weighted-vote`, which learns its weights from gold, equals the majority here.
""",
        (
            ("vote weights", "models/vote_weight.py", "tests/papers/test_002_vote_weight.py"),
            ("the Gaussian model", "models/gaussian.py", "tests/models/test_gaussian.py"),
            ("MAP and nDCG of a consensus", "metrics/labels.py", "tests/metrics/test_labels.py"),
            ("F1, log loss, area under the ROC curve", "studies/measures.py", "tests/studies/test_measures.py"),
            ("the study", "studies/comparison.py", "tests/studies/test_comparison.py"),
        ),
    ),
)


def p_text(result: Result, measure: str) -> str:
    """Return a corrected p value as text."""
    p = result.p.get(measure)
    return "the best" if p is None else ("p < .001" if p < 0.0005 else f"p = {p:.3f}".replace("0.", "."))


def best(results: Sequence[Result], measure: str) -> Result:
    """Return the best result by a measure."""
    sign = 1 if measure in LEAST else -1
    return min(results, key=lambda result: sign * (result.values[measure] or 0.0))


def named(results: Sequence[Result]) -> dict[str, Result]:
    """Return the results of one set by method."""
    return {result.method: result for result in results}


def alike(results: Sequence[Result], measure: str) -> list[str]:
    """Return the methods that do not differ significantly from the best of their set, without the best."""
    return [result.method for result in results if result.p.get(measure, 0.0) >= SURE]


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence."""
    return ", ".join(f"`{name}`" for name in names) or "none"


def ordinal_parts(outcome: Ordinal, folder: Path) -> list[str]:
    """Return the sections of the study of paper 001."""
    comparison = outcome.comparison
    measures = ("accuracy", "rounded_accuracy", "mae", "rounded_mae", "rmse", "closest")
    head = ("set", "method", *measures, "accuracy, compared with the best", "mae, compared with the best")
    rows = [
        (
            r.set,
            r.method,
            *(with_interval(r, measure) for measure in measures),
            p_text(r, "accuracy"),
            p_text(r, "mae"),
        )
        for r in comparison.results
    ]
    how = """`accuracy` is computed from the most likely label, `mae`, `rmse` and `closest` from the expected value,
and `rounded_` from the rounded expected value. `closest` is the share of items for which a method is closest to
gold, with ties shared. Intervals are 95 % bootstrap intervals over items. p-values are of the exact McNemar test
(accuracy) and of a sign-flip test (errors) compared with the best method of the set, with Holm's correction."""
    table = Claim("All results", " ".join(how.split()), head, rows).markdown()
    reached = paper_001.reaches(folder, list(comparison.by_set()))
    claims = reproductions(paper_001.rows(outcome, reached))
    parts = [_ordinal_sets(comparison), claims, _ordinal_results(comparison), _as_the_paper(comparison)]
    return [*parts, *paper_001.curve_sections(outcome), table]


def _ordinal_sets(comparison: Comparison) -> str:
    """Return a paragraph about the sets."""
    sets = [f"`{name}` ({results[0].items:,} items with gold)" for name, results in comparison.by_set().items()]
    return (
        f"The sets: {', '.join(sets)}. `trec2011_task2` is read with its three-level labels (`label3`), which its gold "
        "has too. Gold of `adult2` without judgments is left out.\n"
    )


def _ordinal_results(comparison: Comparison) -> str:
    """Return sentences about the best methods of each set."""
    lines = ["## Results", ""]
    for name, results in comparison.by_set().items():
        by, right, near = named(results), best(results, "accuracy"), best(results, "mae")
        lines.append(
            f"- `{name}`: the highest accuracy has `{right.method}` with {with_interval(right, 'accuracy')}; not "
            f"significantly different: {listed(alike(results, 'accuracy'))}. The smallest error of expected values has "
            f"`{near.method}` with {with_interval(near, 'mae')}; not significantly different: "
            f"{listed(alike(results, 'mae'))}. The vote has {by['majority'].values['accuracy']:.3f} and "
            f"{by['majority'].values['mae']:.3f}."
        )
    return "\n".join([*lines, _starts(comparison), _rounding(comparison), ""])


def _starts(comparison: Comparison) -> str:
    """Return a sentence about the initialisation of the ordinal model."""
    spread = {}
    for name, results in comparison.by_set().items():
        values = [result.values for result in results if result.method.startswith("ordinal ")]
        spread[name] = {m: max(v[m] or 0 for v in values) - min(v[m] or 0 for v in values) for m in ("accuracy", "mae")}
    most = max(spread, key=lambda name: spread[name]["accuracy"])
    return (
        f"- The initialisation of the ordinal model matters most on `{most}`: its four initialisations differ by "
        f"{spread[most]['accuracy']:.3f} in accuracy and {spread[most]['mae']:.3f} in mean absolute error; "
        f"on the other sets by at most {max(s['accuracy'] for n, s in spread.items() if n != most):.3f} and "
        f"{max(s['mae'] for n, s in spread.items() if n != most):.3f}."
    )


def _rounding(comparison: Comparison) -> str:
    """Return a sentence about rounding."""
    change = {
        method: [
            (r.values["rounded_accuracy"] or 0) - (r.values["accuracy"] or 0)
            for r in comparison.results
            if r.method == method
        ]
        for method in (ORDINAL, "majority")
    }
    return (
        f"- Rounding the expected value instead of taking the most likely label changes the accuracy of `{ORDINAL}` "
        f"by {min(change[ORDINAL]):+.3f} to {max(change[ORDINAL]):+.3f}, and that of `majority`, whose expected value "
        f"is the mean of the labels, by {min(change['majority']):+.3f} to {max(change['majority']):+.3f}: "
        "vote shares move the expected value to the middle of the scale."
    )


def _as_the_paper(comparison: Comparison) -> str:
    """Return the two experiments of the paper on our sets."""
    rows = [("the paper, 30 and 18 items", "18 : 12", "67 %", "55 %", "38 %")]
    for name, (won, lost, shares) in duels(comparison).items():
        rows.append((f"`{name}`", f"{won} : {lost}", *(f"{100 * share:.0f} %" for share in shares)))
    how = f"""First, the items for which `{ORDINAL}` (rounded) and GLAD (its label) are not equally close to gold,
counted by which of the two is closer. Then the share of items for which `{ORDINAL}`, the median (both rounded) and
GLAD are closest among these three, where all methods in a tie count fully. This must be the meaning of the paper's
shares, whose sum is more than one."""
    head = ("set", "ordinal : GLAD", "ordinal closest", "median closest", "GLAD closest")
    return Claim("The two experiments of the paper", " ".join(how.split()), head, rows).markdown()


def vote_parts(comparison: Comparison) -> list[str]:
    """Return the sections of the study of paper 002."""
    by_set = comparison.by_set()
    means = sorted(by_set[MEAN], key=lambda result: -(result.values["accuracy"] or 0))
    order = [result.method for result in means]
    measures = ("accuracy", "f1", "log_loss", "auc")
    over = Claim(
        "Means over the sets",
        "All sets have the same weight. Intervals are 95 % bootstrap intervals over the items of every set.",
        ("method", *measures),
        [(r.method, *(with_interval(r, measure) for measure in measures)) for r in means],
    )
    tables = [_pivot(comparison, order, measure) for measure in measures]
    claims = reproductions(paper_002.rows(comparison))
    track = paper_002.track_section(by_set[paper_002.TREC])
    return [_vote_sets(comparison), claims, _vote_results(comparison), track, over.markdown(), *tables]


def _pivot(comparison: Comparison, order: Sequence[str], measure: str) -> str:
    """Return a measure by method and set; the best of a set is bold, methods that do not differ from it have a star."""
    sets = [(name, named(results), results) for name, results in comparison.by_set().items() if name != MEAN]
    rows = []
    for method in order:
        cells = []
        for _, by, results in sets:
            value = by[method].values[measure]
            text = "-" if value is None else f"{value:.3f}"
            top = best(results, measure).method == method
            cells.append(f"**{text}**" if top else text + ("\\*" if method in alike(results, measure) else ""))
        rows.append((method, *cells))
    title = {"accuracy": "Accuracy", "f1": "F1 of the last label", "log_loss": "Log loss", "auc": "Area under ROC"}
    tested = any(measure in result.p for result in comparison.results)
    starred = "; methods that are not significantly different from it have a star."
    how = "The best method of a set is bold" + (starred if tested else ".")
    return Claim(title[measure], how, ("method", *(name for name, _, _ in sets)), rows).markdown()


def _vote_sets(comparison: Comparison) -> str:
    """Return a paragraph about the sets."""
    sets = [f"`{name}` ({results[0].items:,})" for name, results in comparison.by_set().items() if name != MEAN]
    return (
        f"The sets, with the number of items with gold: {', '.join(sets)}. `trec2011_task2_mini` is ten topics of "
        "`trec2011_task2`. The area under the ROC curve is the probability that an item with the last label is ranked "
        "above one without it, by its log-odds (those of the degree for the Gaussian model), so that probabilities "
        "which are both 1 to sixteen digits can be distinguished, as in a run file. Log loss uses the degree as a "
        "probability.\n"
    )


def _vote_results(comparison: Comparison) -> str:
    """Return sentences about the best methods, and about the variants of the paper."""
    by_set = comparison.by_set()
    means, sets = named(by_set[MEAN]), {name: named(results) for name, results in by_set.items() if name != MEAN}
    lines = ["## Results", ""]
    for measure, title in {"accuracy": "accuracy", "log_loss": "log loss", "auc": "area under the ROC curve"}.items():
        top = best(list(means.values()), measure)
        lines.append(f"- The best mean {title} has `{top.method}`: {with_interval(top, measure)}.")
    lines += [_pair(first, second, means, sets) for first, second in PAIRS]
    behind = [name for name, by in sets.items() if by["majority"].p.get("accuracy", 1.0) < SURE]
    lines.append(
        f"- The vote is significantly worse than the most accurate method on {len(behind)} of {len(sets)} sets "
        f"({listed(behind)})."
    )
    return "\n".join([*lines, ""])


def _pair(first: str, second: str, means: dict[str, Result], sets: dict[str, dict[str, Result]]) -> str:
    """Return a sentence that compares two methods."""
    gain = {
        name: (by[second].values["accuracy"] or 0) - (by[first].values["accuracy"] or 0) for name, by in sets.items()
    }
    better, worse = (sum(sign * g > 0 for g in gain.values()) for sign in (1, -1))
    most, least = max(gain, key=lambda name: gain[name]), min(gain, key=lambda name: gain[name])
    loss = [means[method].values["log_loss"] or 0 for method in (first, second)]
    return (
        f"- `{second}` compared with `{first}`: more accurate on {better} sets, less on {worse}, by "
        f"{fmean(gain.values()):+.3f} on average, from {gain[least]:+.3f} (`{least}`) to {gain[most]:+.3f} "
        f"(`{most}`); mean log loss {loss[1]:.3f} compared with {loss[0]:.3f}."
    )


def ordinal_page(page: Page, options: StudyOptions) -> dict[str, str]:
    """Return the page of paper 001 and its figures."""
    outcome = ordinal(options)
    parts = ordinal_parts(outcome, data_folder(options.data))
    figures = {f"{page.file}-{name}.svg": curves_svg(curves) for name, curves in outcome.curves.items()}
    text = page.text(outcome.comparison, parts)
    return {f"{page.file}.svg": svg(outcome.comparison), **figures, f"{page.file}.md": text}


def vote_page(page: Page, options: StudyOptions) -> dict[str, str]:
    """Return the page of paper 002 and its figure."""
    comparison = run(STUDIES[page.study], data_folder(options.data))
    return {f"{page.file}.svg": svg(comparison), f"{page.file}.md": page.text(comparison, vote_parts(comparison))}


MAKERS = {"ordinal": ordinal_page, "vote": vote_page}


def main() -> None:
    """Run the studies, and write the pages and figures; arguments are the names of studies, by default both."""
    options = StudyOptions(workers=os.cpu_count() or 1)
    for page in PAGES:
        if sys.argv[1:] and page.study not in sys.argv[1:]:
            continue
        began = time.perf_counter()
        files = MAKERS[page.study](page, options)
        write_whole({name: text.encode() for name, text in files.items()}, str(DOCS))
        took = time.perf_counter() - began
        print(f"wrote {', '.join(files)} to docs/explanation/papers ({took:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
