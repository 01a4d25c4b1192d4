"""Runs the studies on the shared data and writes paper-001.md and paper-002.md of docs/explanation/papers/.

Every number of these pages comes from here. The folder of the sets may be given as an argument.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from studies.benchmarks.claim import Claim
from studies.crowds import data_folder
from studies.figures import svg
from studies.measures import closest, distances, duel
from studies.studies import MEAN, STUDIES, SURE, Found, Result, run

DOCS = Path(__file__).parents[2] / "docs" / "explanation" / "papers"
ORDINAL, LEAST = "ordinal mean", ("mae", "log_loss", "rmse")  # measures of which less is better
PAIRS = (("vote-weight", "vote-weight-biased"), ("gaussian", "gaussian-biased"), ("vote-weight", "gaussian"))


class Page(NamedTuple):
    """A page of a paper: what is written by hand, and what follows from the study."""

    study: str
    file: str
    opening: str
    place: Sequence[tuple[str, str, str]]

    def text(self, found: Found, parts: Sequence[str]) -> str:
        """Return the page."""
        rows = [tuple(f"`{cell}`" if "/" in cell else cell for cell in row) for row in self.place]
        where = Claim("Where it is", "What of the paper stands in which module, and what holds it.", PLACE, rows)
        picture = f"![{found.study.title}]({self.file}.svg)\n"
        note = (
            f"Written by `make studies`, which runs `python -m studies {self.study}`; our numbers are from that run.\n"
        )
        return "\n".join([self.opening, where.markdown(), "## The study\n", note, *parts[:1], picture, *parts[1:]])


PLACE = ("what", "module", "test")
PAGES = (
    Page(
        "ordinal",
        "paper-001",
        """# Paper 001: truth on an ordered scale

Faridani, Buscher and Xu, *A Ground Truth Inference Model for Ordinal Crowd-Sourced Labels Using Hard Assignment
Expectation Maximization* (2013).

## What the paper does
Every item begins at the mean or the median of its labels, with or without outliers. Judges' confusion matrices are
counted under these labels; every item then gets the label that is most likely given its judges, and both are repeated
until no label changes. What is told in the end is an expected value: not "good" but "0.7 good + 0.3 very good". The
paper holds it against GLAD, whose label it compares with the rounded value, and against the median.

## What was decided
- The printed rule multiplies logarithms over judges; their sum is what a product of probabilities is, and is taken.
- The judge's own rate of labels, by which the paper divides, is the same for every truth and cancels once the
  probabilities of an item sum to one. They do here, so that an expected value stays on its scale.
- Outliers lie more than 1.5 interquartile ranges outside the item's quartiles; halves are rounded up.
- Going round in a circle is noticed, and said.
- The expected value of a model that tells only probabilities is their sum weighted by the labels' values.
- Repeats of a judge on an item are judgments like any other. Gold is used for scoring alone.
""",
        (
            ("the algorithm, from all four starts", "models/ordinal.py", "tests/papers/test_001_ordinal.py"),
            ("mean, median, trimmed mean", "models/average.py", "tests/models/test_average.py"),
            ("GLAD", "models/glad.py", "tests/models/test_glad.py"),
            ("errors of values, who is closest", "studies/measures.py", "tests/studies/test_measures.py"),
            ("the study", "studies/studies.py", "tests/studies/test_studies.py"),
        ),
    ),
    Page(
        "vote",
        "paper-002",
        """# Paper 002: vote weights and the Gaussian model

Xia et al., *BUPT_WILDCAT at TREC Crowdsourcing Track* (2011), section 2.

## What the paper does
Two ways to a consensus on binary relevance. *Vote weights*: begin with the majority; a judge who agrees with the
outcome with probability P_c weighs log(P_c / P_e); vote again with these weights until nothing changes. *The Gaussian
model*: an item has a degree of relevance between 0 and 1, a judge sees it through noise of her own variance and says
"relevant" when what she sees is above one half; EM finds degrees and variances.

## What was decided
- P_c is smoothed by +1 and +2, so that no weight is infinite; with K labels the weight is log((K - 1) P_c / P_e). The
  paper's "improved version" keeps one P_c for every truth (`vote-weight-biased`).
- The printed integrals stop at 0 and 1, so both are divided by the mass between: a judge's chances sum to one.
- Degrees lie on a Gauss-Legendre grid under a flat prior; all judges' variances are fitted at once. The judge's
  threshold is one half, or is fitted too (`gaussian-biased`).
- Beside them stand all other models that need no order, by their usual settings. Gold is used for scoring alone, so
  that `weighted-vote`, which learns its weights from gold, is the majority here.
""",
        (
            ("vote weights", "models/vote_weight.py", "tests/papers/test_002_vote_weight.py"),
            ("the Gaussian model", "models/gaussian.py", "tests/models/test_gaussian.py"),
            ("F1, log loss, area under the ROC curve", "studies/measures.py", "tests/studies/test_measures.py"),
            ("the study", "studies/studies.py", "tests/studies/test_studies.py"),
        ),
    ),
)


def spanned(result: Result, measure: str) -> str:
    """Return a value with its interval."""
    value, span = result.values[measure], result.span(measure)
    return "-" if value is None or span is None else f"{value:.3f} ({span.low:.3f}-{span.high:.3f})"


def told_p(result: Result, measure: str) -> str:
    """Return a corrected p as a reader wants it."""
    p = result.p.get(measure)
    return "the best" if p is None else ("p < .001" if p < 0.0005 else f"p = {p:.3f}".replace("0.", "."))


def best(results: Sequence[Result], measure: str) -> Result:
    """Return the best of some results by a measure."""
    sign = 1 if measure in LEAST else -1
    return min(results, key=lambda result: sign * (result.values[measure] or 0.0))


def named(results: Sequence[Result]) -> dict[str, Result]:
    """Return the results of one set by method."""
    return {result.method: result for result in results}


def alike(results: Sequence[Result], measure: str) -> list[str]:
    """Return the methods that are not told apart from the best of their set, without it."""
    return [result.method for result in results if result.p.get(measure, 0.0) >= SURE]


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them."""
    return ", ".join(f"`{name}`" for name in names) or "none"


def ordinal_parts(found: Found) -> list[str]:
    """Return what the study of paper 001 shows."""
    measures = ("accuracy", "rounded_accuracy", "mae", "rounded_mae", "rmse", "closest")
    head = ("set", "method", *measures, "accuracy against the best", "mae against the best")
    rows = [
        (r.set, r.method, *(spanned(r, measure) for measure in measures), told_p(r, "accuracy"), told_p(r, "mae"))
        for r in found.results
    ]
    how = """`accuracy` is of the most likely label, `mae`, `rmse` and `closest` of the expected value, `rounded_` of
the expected value rounded. `closest` is the share of items where a method is closest to gold, ties shared among
all. Intervals hold 95 % of bootstrap draws of items; p is of the exact McNemar test (accuracy) and of random signs
(errors) against the best method of the set, with Holm's correction."""
    table = Claim("All numbers", " ".join(how.split()), head, rows).markdown()
    return [_ordinal_sets(found), _ordinal_seen(found), _as_the_paper(found), table]


def _ordinal_sets(found: Found) -> str:
    """Return what the sets are."""
    sets = [f"`{name}` ({results[0].items:,} items with gold)" for name, results in found.by_set().items()]
    return (
        f"The sets: {', '.join(sets)}. `trec2011_task2` is read with its three-level labels (`label3`), which its gold "
        "has too; of `adult2`, gold that nobody judged is left out.\n"
    )


def _ordinal_seen(found: Found) -> str:
    """Return sentences about who is best where."""
    lines = ["## What is seen", ""]
    for name, results in found.by_set().items():
        by, right, near = named(results), best(results, "accuracy"), best(results, "mae")
        lines.append(
            f"- `{name}`: most accurate is `{right.method}` with {spanned(right, 'accuracy')}; not told apart from it: "
            f"{listed(alike(results, 'accuracy'))}. The smallest error of expected values has `{near.method}` with "
            f"{spanned(near, 'mae')}; not told apart: {listed(alike(results, 'mae'))}. The vote has "
            f"{by['majority'].values['accuracy']:.3f} and {by['majority'].values['mae']:.3f}."
        )
    return "\n".join([*lines, _starts(found), _rounding(found), ""])


def _starts(found: Found) -> str:
    """Return how much the start of the ordinal model matters."""
    spread = {}
    for name, results in found.by_set().items():
        values = [result.values for result in results if result.method.startswith("ordinal ")]
        spread[name] = {m: max(v[m] or 0 for v in values) - min(v[m] or 0 for v in values) for m in ("accuracy", "mae")}
    most = max(spread, key=lambda name: spread[name]["accuracy"])
    return (
        f"- Where the ordinal model begins matters most on `{most}`: its four starts end "
        f"{spread[most]['accuracy']:.3f} apart in accuracy and {spread[most]['mae']:.3f} in mean absolute error; "
        f"on the other sets at most {max(s['accuracy'] for n, s in spread.items() if n != most):.3f} and "
        f"{max(s['mae'] for n, s in spread.items() if n != most):.3f}."
    )


def _rounding(found: Found) -> str:
    """Return what rounding does."""
    change = {
        method: [
            (r.values["rounded_accuracy"] or 0) - (r.values["accuracy"] or 0)
            for r in found.results
            if r.method == method
        ]
        for method in (ORDINAL, "majority")
    }
    return (
        f"- Rounding the expected value in place of taking the most likely label changes the accuracy of `{ORDINAL}` "
        f"by {min(change[ORDINAL]):+.3f} to {max(change[ORDINAL]):+.3f}, and that of `majority`, whose expected value "
        f"is the mean of the labels, by {min(change['majority']):+.3f} to {max(change['majority']):+.3f}: "
        "probabilities that are only shares of votes pull a value to the middle of the scale."
    )


def _as_the_paper(found: Found) -> str:
    """Return the paper's two experiments on our sets."""
    rows = [("the paper, 30 and 18 items", "18 : 12", "67 %", "55 %", "38 %")]
    for name, results in found.by_set().items():
        by = named(results)
        scored = [by[method].scored for method in (ORDINAL, "median", "glad")]
        far = distances([one for one in scored if one is not None])
        told = [far["rounded"][0], far["rounded"][1], far["label"][2]]
        shares = closest(np.column_stack(told), shared=False).mean(axis=0)
        won, lost = duel(told[0], told[2])
        rows.append((f"`{name}`", f"{won} : {lost}", *(f"{100 * share:.0f} %" for share in shares)))
    how = f"""First, items on which `{ORDINAL}` (rounded) and GLAD (its label) are not as close to gold, by which of the
two is closer. Then the share of items on which `{ORDINAL}`, the median (both rounded) and GLAD are closest of these
three, where each of several that are as close counts whole: so the paper's shares must be meant, which are more than
one together."""
    head = ("set", "ordinal : GLAD", "ordinal closest", "median closest", "GLAD closest")
    return Claim("The paper's own two experiments", " ".join(how.split()), head, rows).markdown()


def vote_parts(found: Found) -> list[str]:
    """Return what the study of paper 002 shows."""
    by_set = found.by_set()
    means = sorted(by_set[MEAN], key=lambda result: -(result.values["accuracy"] or 0))
    order = [result.method for result in means]
    measures = ("accuracy", "f1", "log_loss", "auc")
    over = Claim(
        "Means over the sets",
        "A set counts as much as another; intervals hold 95 % of bootstrap draws of the items of every set.",
        ("method", *measures),
        [(r.method, *(spanned(r, measure) for measure in measures)) for r in means],
    )
    tables = [_pivot(found, order, measure) for measure in measures]
    return [_vote_sets(found), _vote_seen(found), over.markdown(), *tables]


def _pivot(found: Found, order: Sequence[str], measure: str) -> str:
    """Return a measure by method and set; the best of a set is bold, and who is not told apart from it has a star."""
    sets = [(name, named(results), results) for name, results in found.by_set().items() if name != MEAN]
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
    tested = any(measure in result.p for result in found.results)
    how = "The best of a set is bold" + ("; who is not told apart from it has a star." if tested else ".")
    return Claim(title[measure], how, ("method", *(name for name, _, _ in sets)), rows).markdown()


def _vote_sets(found: Found) -> str:
    """Return what the sets are."""
    sets = [f"`{name}` ({results[0].items:,})" for name, results in found.by_set().items() if name != MEAN]
    return (
        f"The sets, with their items that have gold: {', '.join(sets)}. `trec2011_task2_mini` is ten topics of "
        "`trec2011_task2`. The area under the ROC curve is the chance that an item that has the last label is ranked "
        "above one that has not, by its log-odds (those of the degree for the Gaussian model): probabilities that are "
        "both 1 to sixteen digits are still told apart, as in a run file. Log loss takes the degree for a "
        "probability. What the paper's team reached in the track (94.1 % accuracy in task 2) is no yardstick here: the "
        "labels that the track kept for its evaluation are not in the set.\n"
    )


def _vote_seen(found: Found) -> str:
    """Return sentences about who is best, and what the paper's own choices change."""
    by_set = found.by_set()
    means, sets = named(by_set[MEAN]), {name: named(results) for name, results in by_set.items() if name != MEAN}
    lines = ["## What is seen", ""]
    for measure, what in {"accuracy": "accuracy", "log_loss": "log loss", "auc": "area under the ROC curve"}.items():
        top = best(list(means.values()), measure)
        lines.append(f"- The best mean {what} has `{top.method}`: {spanned(top, measure)}.")
    lines += [_pair(first, second, means, sets) for first, second in PAIRS]
    behind = [name for name, by in sets.items() if by["majority"].p.get("accuracy", 1.0) < SURE]
    lines.append(
        f"- The vote is told apart from the most accurate method on {len(behind)} of {len(sets)} sets "
        f"({listed(behind)})."
    )
    return "\n".join([*lines, ""])


def _pair(first: str, second: str, means: dict[str, Result], sets: dict[str, dict[str, Result]]) -> str:
    """Return what one of two methods gains over the other."""
    gain = {
        name: (by[second].values["accuracy"] or 0) - (by[first].values["accuracy"] or 0) for name, by in sets.items()
    }
    better, worse = (sum(sign * g > 0 for g in gain.values()) for sign in (1, -1))
    most, least = max(gain, key=lambda name: gain[name]), min(gain, key=lambda name: gain[name])
    loss = [means[method].values["log_loss"] or 0 for method in (first, second)]
    return (
        f"- `{second}` against `{first}`: more accurate on {better} sets, less on {worse}, by "
        f"{fmean(gain.values()):+.3f} in the mean, from {gain[least]:+.3f} (`{least}`) to {gain[most]:+.3f} "
        f"(`{most}`); mean log loss {loss[1]:.3f} against {loss[0]:.3f}."
    )


PARTS = {"ordinal": ordinal_parts, "vote": vote_parts}


def main() -> None:
    """Run the studies, and write the pages and figures."""
    folder = data_folder(sys.argv[1] if len(sys.argv) > 1 else None)
    for page in PAGES:
        began = time.perf_counter()
        found = run(STUDIES[page.study], folder)
        print(f"study {page.study}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
        (DOCS / f"{page.file}.svg").write_text(svg(found), encoding="utf8")
        (DOCS / f"{page.file}.md").write_text(page.text(found, PARTS[page.study](found)), encoding="utf8")
        print(f"wrote docs/explanation/papers/{page.file}.md and .svg")


if __name__ == "__main__":
    main()
