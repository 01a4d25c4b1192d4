"""The claims of paper 002 with our results, and the scores of the track for every model beside the paper's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adjudge.metrics.labels import Scored, ranking_rows
from adjudge.studio.gates import ndcg
from studies.comparison import SURE, Comparison, Result
from studies.markdown import Reproduction, section, table
from studies.measures import TRACK, track_scores

TREC, VOTE = "trec2011_task2", "majority"
PRINTED = ("vote-weight", "gaussian")  # the two models of the paper
ORDERS = 100  # random orders of the pairs
TITLES: Mapping[str, str] = {"map": "MAP", "ndcg": "nDCG", "log_loss": "log loss", "rmse": "RMSE"}
TEAM, AVERAGE = "BUPT-WILDCAT", "average"
TASK_1: Mapping[
    str, tuple[float, ...]
] = {  # accuracy, recall, precision, specificity, MAP, NDCG as printed, in percent
    TEAM: (75.7, 83.8, 76.3, 64.2, 78.3, 82.0),
    AVERAGE: (74.0, 75.4, 79.1, 70.4, 79.8, 83.1),
}
TASK_2: Mapping[str, tuple[float, ...]] = {
    TEAM: (94.1, 92.3, 98.3, 97.2, 81.6, 92.8),
    AVERAGE: (76.9, 80.0, 82.5, 71.6, 81.6, 92.1),
}
EXAMPLE = ([1, 2, 3, 4, 5], [1, 2, 2, 0, 1])  # ranks and grades of the printed example of NDCG
STUDIO = "the studio, without data: a process, not a result"
OTHER_LABELS = (
    f"`{TREC}`, the judgments of the paper; its 2,275 released gold labels, not the track's 1,000 evaluation labels, "
    "which are not published"
)


def track_section(results: Sequence[Result]) -> str:
    """Return the scores of the track for every method on the track's data, beside those that the paper prints."""
    rows: list[tuple[object, ...]] = [
        (f"*{name} (the paper, task 2)*", *(value / 100 for value in values), None, None)
        for name, values in TASK_2.items()
    ]
    scored = {result.method: track_scores(result.scored) for result in results if result.scored is not None}
    ranked = sorted(scored, key=lambda method: -(scored[method]["accuracy"] or 0))
    rows += [(method, *(scored[method][measure] for measure in TRACK)) for method in ranked]
    first = next(result.scored for result in results if result.scored is not None)
    rows.append(("*random order*", None, None, None, None, *random_order(first), None, None))
    text = f"""All methods on the data of the track (`{TREC}`), the most accurate first, with the measures of the track
and the two losses of paper 000. The first two rows are printed in the paper: the track scored them on 1,000 labels
that are not published, and the paper does not say which of its two models was submitted. Ours are scored on the
{results[0].items:,} released gold labels, which no model uses. Pairs without gold are not ranked (trec_eval -J). The
last row is the mean of {ORDERS} random orders."""
    head = ("method", *(TITLES.get(measure, measure) for measure in TRACK))
    return section("Scores of the track", " ".join(text.split()), _verdict(scored), table(head, rows))


def _verdict(scored: Mapping[str, Mapping[str, float | None]]) -> str:
    """Return how the two printed models compare with the vote on the data of the track."""
    vote, (first, second) = scored[VOTE], (scored[name] for name in PRINTED)
    worse = all((each["accuracy"] or 0) < (vote["accuracy"] or 0) for each in (first, second))
    verb = "lose to" if worse else "do not both lose to"
    lines = [
        f"**On the track's own data the two printed models {verb} the vote**: `{PRINTED[0]}` has an accuracy of "
        f"{first['accuracy']:.3f} and `{PRINTED[1]}` of {second['accuracy']:.3f}, `{VOTE}` of {vote['accuracy']:.3f}. "
        f"Their specificities are {first['specificity']:.3f} and {second['specificity']:.3f}, that of the vote is "
        f"{vote['specificity']:.3f}: both call nearly every pair relevant."
    ]
    above = [name for name, row in scored.items() if (row["accuracy"] or 0) >= TASK_2[TEAM][0] / 100]
    lines.append(
        f"No method reaches the paper's accuracy of {TASK_2[TEAM][0]:g} % on this gold."
        if not above
        else f"The paper's accuracy of {TASK_2[TEAM][0]:g} % is reached by {', '.join(above)}."
    )
    return " ".join(lines)


def random_order(scored: Scored) -> tuple[float, float]:
    """Return the mean MAP and nDCG of random orders of the scored items."""
    if scored.ranked is None:
        return float("nan"), float("nan")
    rng, values = np.random.default_rng(0), []
    for _ in range(ORDERS):
        drawn = scored.ranked._replace(score=rng.random(scored.ranked.item.size))
        values.append([row.value or 0.0 for row in ranking_rows(scored._replace(ranked=drawn))])
    first, second = np.mean(values, axis=0).tolist()
    return first, second


def above_average() -> tuple[int, int, int]:
    """Return how many of the twelve printed criteria of the team are above the average, equal to it, and below it."""
    pairs = [pair for task in (TASK_1, TASK_2) for pair in zip(task[TEAM], task[AVERAGE], strict=True)]
    return sum(a > b for a, b in pairs), sum(a == b for a, b in pairs), sum(a < b for a, b in pairs)


def implied_prevalence() -> float:
    """Return the share of relevant pairs that the printed accuracy, recall and specificity of task 2 imply."""
    accuracy, recall, _, specificity = TASK_2[TEAM][:4]
    return (specificity - accuracy) / (specificity - recall)


def rows(comparison: Comparison) -> list[Reproduction]:
    """Return a row for every claim, table and figure of the paper."""
    return [*_collection(), *_models(comparison), *_tables(comparison)]


def _collection() -> list[Reproduction]:
    """Return the rows of section 1, on collecting labels."""
    value = ndcg(*EXAMPLE)
    return [
        Reproduction(
            "figures 1 to 3, sections 1.1 to 1.2.4",
            "qualification in jobs with gold pairs, assignments of 6 sets with a gold set, review, submit or return",
            "yes",
            "the studio has these steps, with the paper's numbers as defaults (`tests/studio/test_gates.py`, "
            "`tests/studio/test_settings.py`)",
            STUDIO,
        ),
        Reproduction(
            "figure 4",
            "the page of a judge: a topic, five documents, relevance and rank of each",
            "yes",
            "the page of the studio (`tests/browser/test_judge.py`)",
            STUDIO,
        ),
        Reproduction(
            "section 1.2.5, 1)",
            "ranks are 1 to 5 and irrelevant documents are below relevant ones",
            "yes",
            "`problems` in `studio/gates.py` (`tests/studio/test_gates.py`)",
            STUDIO,
        ),
        Reproduction(
            "section 1.2.5, 2)",
            "points of the binary score, gate at .85",
            "yes",
            "the printed points and gate (`tests/papers/test_gates.py`)",
            "the printed table of points",
        ),
        Reproduction(
            "section 1.2.5, 3)",
            "example of NDCG: 0.6581843208681687, gate at .62",
            "yes" if abs(value - 0.6581843208681687) < 1e-15 else "no",
            f"{value!r}; the gate has traps, see [gates](../../how-to/gates.md)",
            "the printed example",
        ),
        Reproduction(
            "section 1.2.5, 4)",
            "labels given in less than 6 seconds are not trustworthy",
            "not tested",
            "the gate exists; the paper's times and labels are not published",
            STUDIO,
        ),
        Reproduction(
            "sections 1.2.3 and 1.2.4",
            "review trains judges, and refusing bad work improves the quality of labels",
            "not tested",
            "the paper prints no comparison with and without them, and its labels are not published",
            STUDIO,
        ),
    ]


def _models(comparison: Comparison) -> list[Reproduction]:
    """Return the rows of section 2, on consensus."""
    sets = {name: {r.method: r for r in results} for name, results in comparison.by_set().items() if results[0].scored}
    plain, biased = (sets[TREC][name].values["accuracy"] or 0 for name in ("vote-weight", "vote-weight-biased"))
    gain = [
        (by["vote-weight-biased"].values["accuracy"] or 0) - (by["vote-weight"].values["accuracy"] or 0)
        for by in sets.values()
    ]
    settled = [by["vote-weight"].stopped for by in sets.values()]
    unsettled = sorted({text for text in settled if not text.startswith("converged")})
    improved = sum(g > 0 for g in gain)
    return [
        Reproduction(
            "section 2.1",
            "one probability for each true label corrects a tendency to one label and improves the result",
            "in shape" if biased > plain and improved > len(gain) / 2 else "no",
            f"accuracy of `vote-weight-biased` {biased:.3f}, of `vote-weight` {plain:.3f} on `{TREC}`; better on "
            f"{improved} of {len(gain)} sets, by {np.mean(gain):+.3f} on average (the paper prints no numbers)",
            f"{OTHER_LABELS}; and nine other binary sets",
        ),
        Reproduction(
            "sections 2.1.1 and 2.1.2",
            "the weighted vote with V = log(P_c / P_e) is the most likely label",
            "yes",
            "`tests/papers/test_002_vote_weight.py` repeats the algorithm with products of probabilities",
            "simulated crowds; P_c is smoothed, because the printed weight of a judge who is never wrong is infinite",
        ),
        Reproduction(
            "section 2.1",
            "labels converge after enough iterations",
            "yes" if not unsettled else "in shape",
            f"the labels settle on {len(settled) - sum(t in unsettled for t in settled)} of {len(settled)} sets"
            + (f"; otherwise: {', '.join(unsettled)}" if unsettled else ""),
            "ten binary sets",
        ),
        Reproduction(
            "section 2.2",
            "the Gaussian model: integrals from 0 to T and from T to 1",
            "in shape",
            "as printed, the two probabilities of a judge do not sum to 1; both are divided by their sum "
            "(`tests/models/test_gaussian.py` compares them with a truncated normal distribution)",
            "simulated judges, whose noise and thresholds are recovered",
        ),
        Reproduction(
            "figures 5 and 6",
            "diagrams of the authors' two programs",
            "not tested",
            "the programs are not published; ours is described in the architecture",
            "none",
        ),
    ]


def _tables(comparison: Comparison) -> list[Reproduction]:
    """Return the rows of section 3, on results."""
    results = {result.method: result for result in comparison.by_set()[TREC]}
    scored = {name: track_scores(result.scored) for name, result in results.items() if result.scored is not None}
    above, equal, below = above_average()
    behind = [name for name in PRINTED if results[name].p.get("accuracy", 1.0) < SURE]
    return [
        Reproduction(
            "section 3, tables of task 1",
            "accuracy 75.7 %, recall 83.8 %, precision 76.3 %, specificity 64.2 %; MAP 78.3 %, NDCG 82.0 %",
            "not tested",
            "the labels that the team collected in task 1 are not published",
            "none",
        ),
        Reproduction(
            "section 3, task 2, relevance",
            _printed(TASK_2[TEAM][:4], ("accuracy", "recall", "precision", "specificity")),
            "no",
            "; ".join(_printed_scores(name, scored[name], TRACK[:4]) for name in (*PRINTED, VOTE))
            + f". The printed numbers imply that {implied_prevalence():.0%} of the evaluated pairs are relevant; of "
            f"the released gold {float(_truth(results).mean()):.0%} are",
            OTHER_LABELS,
        ),
        Reproduction(
            "section 3, task 2, ranks",
            _printed(TASK_2[TEAM][4:], ("MAP", "NDCG")),
            "no",
            "; ".join(_printed_scores(name, scored[name], ("map", "ndcg")) for name in (*PRINTED, VOTE)),
            OTHER_LABELS,
        ),
        Reproduction(
            "sections 3 and 4",
            "the algorithms are effective",
            "no" if len(behind) == len(PRINTED) else "in shape",
            f"both printed models lose to the vote on the track's data; significantly worse than the best method: "
            f"{', '.join(behind) or 'none'}",
            OTHER_LABELS,
        ),
        Reproduction(
            "section 4",
            "two thirds of the criteria are high above the average level, especially in task 2",
            "no",
            f"of the 12 criteria in the paper's own tables, {above} are above the average, {equal} equals it, {below} "
            "are below it",
            "the printed tables",
        ),
    ]


def _truth(results: Mapping[str, Result]) -> np.ndarray:
    """Return the truths of the scored items."""
    scored = results[VOTE].scored
    return np.empty(0) if scored is None else scored.truth


def _printed(values: Sequence[float], names: Sequence[str]) -> str:
    """Return printed percentages with their names."""
    return ", ".join(f"{name} {value:g} %" for name, value in zip(names, values, strict=True))


def _printed_scores(method: str, values: Mapping[str, float | None], measures: Sequence[str]) -> str:
    """Return our scores of a method with their names, in percent."""
    parts = [f"{TITLES.get(measure, measure)} {100 * (values[measure] or 0):.1f} %" for measure in measures]
    return f"`{method}`: {', '.join(parts)}"
