"""``adjudge score``: how right the answers are, where the truth is known."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.metrics.run_scores import RunScores


BOUND = 1e-3  # as adjudge.metrics.probabilities has it; a test holds them together
MEASURES = "MAP,nDCG@10,P@10"  # as adjudge.metrics.ranking has it
NOTE = 100  # characters of what is said with a value


@dataclass(frozen=True)
class Ranking:
    """How runs of search systems are scored: the options that only runs have."""

    measures: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help=f"Of runs: MAP, MRR, nDCG, nDCG@k, P@k, R@k for any k [{MEASURES}]."),
    ] = None
    per_topic: Annotated[bool, typer.Option("--per-topic", help="Of runs: show every topic.")] = False
    complete: Annotated[
        bool, typer.Option("--complete", help="Of runs: topics that a run leaves out count as 0 (trec_eval -c).")
    ] = False
    level: Annotated[
        float, typer.Option(metavar="GRADE", help="Of runs: the grade from which a document is relevant.")
    ] = 1.0
    ties: Annotated[
        str,
        typer.Option(
            metavar="HOW", help="Of runs: equal scores by document name (trec_eval's way), or expected over all orders."
        ),
    ] = "name"
    draws: Annotated[
        int, typer.Option(min=20, metavar="NUMBER", help="Of runs: draws of topics, for intervals and tests.")
    ] = 1_000
    seed: o.Seed = 0
    format: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="Of runs: print for machines: csv, jsonl, parquet.")
    ] = None


@o.takes("ranking", Ranking)
def score(
    answers: Annotated[
        list[str],
        typer.Argument(
            metavar="ANSWERS",
            help="A saved fit, or a table of item, label and, where known, p_<label>; or runs of search systems.",
        ),
    ],
    gold: Annotated[
        str, typer.Argument(metavar="GOLD", help="A table of item and label: the truth; for runs, a qrels file.")
    ],
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL", help="Of two labels, the one that precision and recall speak of; the last by default."
        ),
    ] = None,
    bound: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="Log loss takes probabilities no nearer to 0 or 1 than this."),
    ] = BOUND,
    item: o.ItemColumn = None,
    label: o.LabelColumn = None,
    labels: o.Labels = None,
    ordinal: o.Ordinal = False,
    ranking: Ranking = Ranking(),  # noqa: B008
) -> None:
    """Score labels, and probabilities where there are any, against gold; or runs of search systems against grades.

    Labels in an order are also scored by how far off they are: a fit knows that there is one, of a table
    --ordinal says so.

    A file whose lines are "topic Q0 document rank score tag" is a run. Numbers are trec_eval's, with 90 % intervals
    (bootstrap over topics, widened where they are few), and of several runs p of every difference (sign flips,
    Holm's correction).

    \b
    $ adjudge simulate liu-wang --out crowd/
    $ adjudge fit crowd/labels.csv --out fit/
    $ adjudge score fit/ crowd/gold.csv
    $ adjudge evaluate --example search/
    $ adjudge score search/bm25.run search/dense.run search/truth.qrels
    """
    from adjudge.cli.show import show_scores
    from adjudge.data.runs import is_run
    from adjudge.errors import UsageError
    from adjudge.metrics.labels import scores

    if ranking.measures is not None or any(is_run(path) for path in answers):
        _score_runs(answers, gold, ranking)
        return
    if ranking != Ranking():
        raise UsageError(f"{answers[0]} is not a run, and options of runs are for runs (--measures takes it for one)")
    if len(answers) > 1:
        raise UsageError("several answers are for adjudge compare: here is room for one, or for several runs")
    found = scores(
        answers[0],
        gold,
        positive=positive,
        bound=bound,
        item=item,
        label=label,
        labels=o.label_list(labels),
        ordinal=ordinal,
    )
    show_scores(found)


def _score_runs(runs: list[str], grades: str, ranking: Ranking) -> None:
    """Score runs, and print what is found for people or for machines."""
    from adjudge.cli.output import refuse_late_surprises
    from adjudge.data.write import FORMATS, frame, table_text
    from adjudge.errors import UsageError, quoted
    from adjudge.metrics.run_scores import score_runs

    if ranking.format is not None and ranking.format not in FORMATS:
        raise UsageError(f"format {ranking.format!r} is not one of {quoted(FORMATS)}")
    refuse_late_surprises(None, ranking.format, (*runs, grades))
    found = score_runs(
        runs,
        grades,
        ranking.measures or MEASURES,
        level=ranking.level,
        complete=ranking.complete,
        ties=ranking.ties,
        draws=ranking.draws,
        seed=ranking.seed,
    )
    if ranking.format is None:
        _show(found, ranking.per_topic)
        return
    rows = found.by_topic() if ranking.per_topic else found.scores
    columns = {name: [getattr(row, name) for row in rows] for name in rows[0]._fields}
    sys.stdout.buffer.write(table_text(frame(columns), ranking.format))
    sys.stdout.buffer.flush()
    for note in found.notes:
        print(f"adjudge: warning: {note}", file=sys.stderr)


def _show(found: RunScores, per_topic: bool) -> None:
    """Print every run's means and, of several, what tells them apart."""
    from adjudge.cli.show import console, table

    screen = console()
    if per_topic:
        head = ("run", "topic", "measure", "value", "note")
        screen.print(table("Every topic", head, found.by_topic(), NOTE))
        screen.print()
    rows = [
        (one.run, one.measure, one.value, one.note or f"{one.low:.3f} to {one.high:.3f}", one.topics)
        for one in found.scores
    ]
    title = f"Runs on {len(found.topics):,} topics"
    screen.print(table(title, ("run", "measure", "value", "90 % over topics", "topics"), rows, NOTE))
    if found.pairs:
        columns = ("measure", "first", "second", "difference", "p", "topics")
        pairs = [(one.measure, one.first, one.second, one.difference, one.adjusted, one.topics) for one in found.pairs]
        screen.print()
        screen.print(table("Differences, p by sign flips with Holm's correction", columns, pairs))
    for run, share in zip(found.runs, found.unjudged.tolist(), strict=True):
        if share:
            print(f"note: nobody judged {share:.1%} of what {run} returns, which has grade 0")
    for note in found.notes:
        print(f"note: {note}")
