"""``adjudge score``: labels, probabilities or runs of search systems against the truth."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.metrics.score import RunScores


BOUND = 1e-3  # as in adjudge.metrics.probabilities; a test compares them
MEASURES = "MAP,nDCG@10,P@10"  # as in adjudge.metrics.ranking
NOTE = 100  # characters of a note
TABLES = ("systems", "pairs", "leaderboard")  # of runs
MANY = 8  # as in adjudge.metrics.leaderboard; a test compares them
TOGETHER = "all marks together hold with 90 % probability"
SIGNIFICANT = 0.05  # p-values below this are marked in LaTeX


@dataclass(frozen=True)
class LabelOptions:
    """How labels are scored."""

    positive: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="With two labels: the label of which precision and recall are computed; default: the last.",
        ),
    ] = None
    bound: Annotated[
        float, typer.Option(metavar="NUMBER", help="Log loss: probabilities are kept between this and 1 minus this.")
    ] = BOUND


@dataclass(frozen=True)
class RunOptions:
    """How runs of search systems are scored."""

    measures: Annotated[str | None, typer.Option(metavar="A,B,C", help=f"{o.MEASURES_HELP} Default: {MEASURES}.")] = (
        None
    )
    per_topic: Annotated[bool, typer.Option("--per-topic", help="Show every topic.")] = False
    complete: Annotated[
        bool, typer.Option("--complete", help="Topics that are not in a run count as 0 (trec_eval -c).")
    ] = False
    judged: Annotated[
        bool, typer.Option("--judged", help="Documents without a grade are left out of the runs (trec_eval -J).")
    ] = False
    ties: Annotated[
        str,
        typer.Option(
            metavar="HOW", help="Order of equal scores: name (by document, as trec_eval), or expected over all orders."
        ),
    ] = "name"
    draws: Annotated[
        int, typer.Option(min=20, metavar="NUMBER", help="Number of bootstrap samples for intervals and tests.")
    ] = 1_000
    baseline: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Compare all other runs with this one, instead of every two with each other."),
    ] = None
    table: Annotated[
        str,
        typer.Option(
            "--table", metavar="NAME", help="With --format: the table to print: systems, pairs or leaderboard."
        ),
    ] = "systems"
    seed: o.Seed = 0


@dataclass(frozen=True)
class BothOptions:
    """Options for labels and for runs."""

    level: Annotated[
        float, typer.Option(metavar="GRADE", help="Lowest grade of a relevant document, or value of such a label.")
    ] = 1.0
    format: o.LatexFormat = None


LABELS, RUNS, BOTH = LabelOptions(), RunOptions(), BothOptions()


@o.takes("options", LabelOptions, section="Labels")
@o.takes("run_options", RunOptions, section="Runs")
@o.takes("both", BothOptions)
def score(
    answers: Annotated[
        list[str],
        typer.Argument(
            metavar="ANSWERS",
            help="A saved fit, a table of item, label and optionally p_<label>, expected and topic, or a task 2 run of "
            "TREC; or runs of search systems.",
        ),
    ],
    gold: Annotated[
        str, typer.Argument(metavar="TRUTH", help="Table of (item, label) with the truth; for runs, a qrels file.")
    ],
    item: o.ItemColumn = None,
    label: o.LabelColumn = None,
    labels: o.Labels = None,
    ordinal: o.Ordinal = False,
    values: o.Values = None,
    options: LabelOptions = LABELS,
    run_options: RunOptions = RUNS,
    both: BothOptions = BOTH,
) -> None:
    """Score labels, probabilities, expected values and ranks against the truth, or runs against grades.

    Ordered labels are also scored by their distance from the truth, and expected values by theirs and by their rank
    correlation with it: a fit knows whether its labels are ordered and what they are worth, for a table --ordinal or
    --values says so. A table with expected values needs no labels: the nearest ones are scored.

    If the answers have topics and something to rank by (probabilities, expected values, or the ranks of a task 2 run),
    MAP and nDCG of the items with a truth are those of trec_eval -J.

    A file with lines "topic Q0 document rank score tag" is a run. Its scores are those of trec_eval, with 90 %
    bootstrap intervals over topics; for several runs, p of every difference is given (randomisation test with Holm's
    correction). More than 8 runs are shown as a leaderboard. Runs and grades may also be tables with the columns of
    ir_measures (query_id, doc_id, score or relevance) or PyTerrier (qid, docno, score or label), or JSON files of ranx.

    \b
    $ adjudge simulate liu-wang --out crowd/
    $ adjudge fit crowd/labels.csv --out fit/
    $ adjudge score fit/ crowd/gold.csv
    $ adjudge evaluate --example search/
    $ adjudge score search/bm25.run search/dense.run search/truth.qrels
    """
    from adjudge.cli.output import LATEX_FORMATS, check_output, print_bytes, print_table, show_scores, warn
    from adjudge.data.runs import is_run
    from adjudge.errors import UsageError
    from adjudge.metrics.labels import scores

    if run_options.measures is not None or any(is_run(path) for path in answers):
        _score_runs(answers, gold, run_options, both)
        return
    if run_options != RUNS:
        raise UsageError(f"{answers[0]} is not a run, but an option for runs is given (--measures makes it a run)")
    if len(answers) > 1:
        raise UsageError(f"score takes one set of labels or several runs, but got {len(answers)} sets of labels")
    check_output(both.format, (*answers, gold), LATEX_FORMATS)
    columns: dict[str, Any] = {"item": item, "label": label, "labels": o.label_list(labels), "ordinal": ordinal}
    columns |= {"values": o.label_values(values), "level": both.level}
    result = scores(answers[0], gold, **vars(options), **columns)
    if both.format is None:
        show_scores(result)
        return
    if both.format == "latex":
        from adjudge.reports.latex import latex_table

        caption = f"Scores on {result.items:,} items."
        print_bytes(latex_table(result.rows[0]._fields, result.rows, caption).encode())
    else:
        print_table({name: [getattr(row, name) for row in result.rows] for name in result.rows[0]._fields}, both.format)
    if result.warning:
        warn(result.warning)


def _score_runs(runs: list[str], grades: str, options: RunOptions, both: BothOptions) -> None:
    """Score runs, and print the scores for people or for programs."""
    from adjudge.cli.output import LATEX_FORMATS, check_output, print_bytes, print_table, warn
    from adjudge.errors import UsageError, not_one_of
    from adjudge.metrics.leaderboard import Place
    from adjudge.metrics.score import RunPair, score_runs
    from adjudge.reports.latex import latex_table

    check_output(both.format, (*runs, grades), LATEX_FORMATS)
    if options.table not in TABLES:
        raise UsageError(not_one_of("table", options.table, TABLES))
    if options.baseline is not None and os.path.isfile(options.baseline) and options.baseline not in runs:
        runs = [*runs, options.baseline]
    result = score_runs(
        runs,
        grades,
        options.measures or MEASURES,
        level=both.level,
        complete=options.complete,
        judged=options.judged,
        ties=options.ties,
        draws=options.draws,
        seed=options.seed,
        baseline=options.baseline,
    )
    if both.format is None:
        _show(result, options.per_topic)
        return
    if both.format == "latex" and options.table == "systems" and not options.per_topic:
        print_bytes(_latex(result).encode())
    else:
        rows: Any = {"systems": result.scores, "pairs": result.pairs, "leaderboard": result.leaderboard}[options.table]
        rows = result.by_topic() if options.per_topic else rows
        fields = rows[0]._fields if rows else (RunPair if options.table == "pairs" else Place)._fields
        if both.format == "latex":
            print_bytes(latex_table(fields, rows, f"{options.table.capitalize()}. {_caption(result)}.").encode())
        else:
            print_table({name: [getattr(row, name) for row in rows] for name in fields}, both.format)
    for note in result.notes:
        warn(note)


def _caption(result: RunScores) -> str:
    """Return what the values are."""
    return f"Runs on {len(result.topics):,} topics; 90 % intervals over topics"


def _latex(result: RunScores) -> str:
    """Return the means of every run for LaTeX."""
    from adjudge.reports.latex import Cell, latex_results

    cells = {(row.run, row.measure): Cell(row.value, row.low, row.high) for row in result.scores}
    named = (result.runs, result.measures, cells)
    if len(result.runs) > MANY and result.baseline is None and result.leaderboard:
        apart = {measure: result.distinguished(measure) for measure in result.measures}
        return latex_results(*named, apart, f"{_caption(result)}.", TOGETHER)
    better: dict[str, set[tuple[str, str]]] = {measure: set() for measure in result.measures}
    for pair in result.pairs:
        if pair.adjusted < SIGNIFICANT:
            names = (pair.first, pair.second)
            better[pair.measure].add(names if pair.difference > 0 else names[::-1])
    doubt = f"p < {SIGNIFICANT}, randomisation test with Holm's correction"
    return latex_results(*named, better, f"{_caption(result)}.", doubt, result.baseline)


def _show(result: RunScores, per_topic: bool) -> None:
    """Print the means of every run and, for several, their differences."""
    from adjudge.cli.output import console, show_leaderboard, table

    screen = console()
    if per_topic:
        head = ("run", "topic", "measure", "value", "note")
        screen.print(table("Every topic", head, result.by_topic(), NOTE))
        screen.print()
    many = len(result.runs) > MANY and result.baseline is None and bool(result.leaderboard)
    if many:
        show_leaderboard(result.leaderboard, _caption(result))
    else:
        rows = [
            (mean.run, mean.measure, mean.value, mean.note or f"{mean.low:.3f} to {mean.high:.3f}", mean.topics)
            for mean in result.scores
        ]
        title = f"Runs on {len(result.topics):,} topics"
        screen.print(table(title, ("run", "measure", "value", "90 % over topics", "topics"), rows, NOTE))
    if result.pairs and not many:
        columns = ("measure", "first", "second", "difference", "p", "topics")
        pairs = [
            (pair.measure, pair.first, pair.second, pair.difference, pair.adjusted, pair.topics)
            for pair in result.pairs
        ]
        screen.print()
        screen.print(table("Differences; p of a randomisation test with Holm's correction", columns, pairs))
    for run, share in zip(result.runs, result.unjudged.tolist(), strict=True):
        if share:
            print(f"note: {share:.1%} of the documents in {run} are not judged and have grade 0")
    for note in result.notes:
        print(f"note: {note}")
