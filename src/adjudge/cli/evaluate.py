"""``adjudge evaluate``: search systems under uncertain labels, and the documents whose labels would decide."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adjudge.evaluation.certify import Certificate, CertifiedPair
    from adjudge.evaluation.evaluate import Evaluation, Parts, Span


MEASURES = "MAP,nDCG@10,P@10"  # as in adjudge.metrics.ranking; a test compares them
VARIANCE = "variance: labels, topics"
TABLES = ("systems", "pairs", "leaderboard", "documents")
CERTIFIED = ("judges say", "audit adds", "labels saved")
MANY = 8  # as in adjudge.metrics.leaderboard; a test compares them
TOGETHER = "all marks together hold with 90 % probability"


def _example(folder: str) -> None:
    """Write judgments, two runs and the truth."""
    from adjudge.cli.output import write_examples
    from adjudge.data.runs import example

    write_examples(example(), folder)


@dataclass(frozen=True)
class Settings:
    """How systems are compared; the names are those of the parameters of ``adjudge.evaluate``."""

    measures: Annotated[str, typer.Option(metavar="A,B,C", help=o.MEASURES_HELP)] = MEASURES
    unjudged: Annotated[
        str,
        typer.Option(
            metavar="HOW", help="Documents that nobody judged: zero (grade 0), or prevalence (drawn as in their topic)."
        ),
    ] = "zero"
    level: Annotated[float, typer.Option(metavar="GRADE", help="Lowest grade of a relevant document.")] = 1.0
    complete: Annotated[
        bool, typer.Option("--complete", help="Use all topics of the fit, not only those of the runs.")
    ] = False
    budget: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="Number of documents to name whose labels would decide most.")
    ] = 10
    pair: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="The two runs that documents should decide between; default, of more than two: the order of all.",
        ),
    ] = None
    baseline: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Compare all other runs with this one, instead of every two with each other."),
    ] = None
    draws: Annotated[int, typer.Option(min=20, metavar="NUMBER", help="Number of draws of the labels.")] = 1_000
    seed: o.Seed = 0

    def arguments(self) -> dict[str, Any]:
        """Return the settings as arguments of ``adjudge.evaluate``."""
        return {**vars(self), "pair": _parse_pair(self.pair)}

    def shared(self) -> dict[str, Any]:
        """Return the settings that audits have too; the baseline is one of the evaluation that follows."""
        return {name: getattr(self, name) for name in ("measures", "unjudged", "level", "complete", "seed")}


SETTINGS = Settings()


@o.takes("settings", Settings)
def evaluate(
    fit: Annotated[str, o.input_option("--fit", "FOLDER", "Saved fit of judgments with topics.")],
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help="Runs with lines: topic Q0 document rank score tag; or tables, or JSON."),
    ] = None,
    runs: Annotated[
        list[str] | None, o.input_option("--runs", "RUN...", "Runs, with this option or without it.")
    ] = None,
    audit: Annotated[
        int | None,
        o.input_option(
            "--audit", "NUMBER", "Draw about so many documents for experts to label, and write audit.csv to --out."
        ),
    ] = None,
    answers: Annotated[
        list[str] | None,
        o.input_option(
            "--answers", "TABLE", "audit.csv with its column label filled in. Repeat the option for every round."
        ),
    ] = None,
    settings: Settings = SETTINGS,
    out: Annotated[
        str | None,
        o.out_option(
            "FOLDER",
            "Write systems.csv, documents.csv, and pairs.csv or, for more than 8 runs, leaderboard.csv to this folder.",
        ),
    ] = None,
    picture: Annotated[
        str | None,
        o.output_option("--picture", "FILE", "Draw the leaderboard with intervals to this .svg, .png or .html file."),
    ] = None,
    format: o.LatexFormat = None,  # noqa: A002
    table: Annotated[
        str,
        o.output_option(
            "--table", "NAME", "With --format: the table to print: systems, pairs, leaderboard or documents."
        ),
    ] = "systems",
    example: Annotated[str | None, o.example_option("FOLDER", _example)] = None,
) -> None:
    """Compare search systems under uncertain labels, and name the documents whose labels would decide between them.

    Labels are drawn from what the judges of a fit and the ranks of the runs say together, with judges who may be too
    lenient or too strict as a whole. A fit of a named model draws from its own posterior: jointly if it kept the drawn
    truths (adjudge fit --keep-truths), else item by item. There are 90 % intervals over the labels with these topics,
    over topics with the expected labels (bootstrap, widened for few topics), and over both. These hold only if no
    system shares a bias with the judges.

    With an audit they hold whatever the judges' errors are: --audit draws documents by how much their labels matter and
    writes audit.csv, experts fill in the labels, and --answers audit.csv evaluates with them. A further round is drawn
    by giving both.

    Runs are TREC files, tables with the columns of adjudge (topic, document, score), ir_measures (query_id, doc_id,
    score) or PyTerrier (qid, docno, score), or JSON files of ranx. More than 8 runs are shown as a leaderboard with the
    probability to be best, 90 % intervals of ranks, and groups of runs that cannot be distinguished.

    \b
    $ adjudge evaluate --example search/
    $ adjudge fit search/labels.csv --out search/fit
    $ adjudge evaluate --runs search/bm25.run search/dense.run --fit search/fit
    $ adjudge evaluate --runs search/bm25.run search/dense.run --fit search/fit --audit 60 --out search
    """
    from adjudge.cli.output import LATEX_FORMATS, check_folder, check_output
    from adjudge.data.write import FORMATS
    from adjudge.errors import UsageError, not_one_of
    from adjudge.evaluation.evaluate import evaluate as run

    files = [*(runs or ()), *(more or ())]
    check_output(format, files, LATEX_FORMATS if audit is None else FORMATS)
    if table not in TABLES:
        raise UsageError(not_one_of("table", table, TABLES))
    check_folder(out)
    _check_picture(picture, files)
    if settings.baseline is not None and os.path.isfile(settings.baseline) and settings.baseline not in files:
        files.append(settings.baseline)
    if audit is not None:
        _draw_audit(fit, files, audit, answers, settings, out, format)
        return
    if answers:
        from adjudge.evaluation.certify import certify

        result: Evaluation | Certificate = certify(fit, files, answers, **settings.shared(), baseline=settings.baseline)
    else:
        result = run(fit, files, **settings.arguments())
    _deliver(result, out, format, table)
    if picture is not None:
        _draw(result, picture)
        if format is None:
            print(f"wrote {picture}")


def _check_picture(picture: str | None, inputs: list[str]) -> None:
    """Check that the picture can be written, in a format that its ending names."""
    from adjudge.cli.output import check_file
    from adjudge.errors import UsageError

    if picture is not None and os.path.splitext(picture)[1].lower() not in (".svg", ".png", ".html"):
        raise UsageError(f"--picture {picture} must end in .svg, .png or .html")
    check_file(picture, inputs, "--picture")


def _draw(result: Evaluation | Certificate, picture: str) -> None:
    """Draw the leaderboard to a file."""
    from adjudge.data.write import write_file
    from adjudge.reports.figure_leaderboard import leaderboard_file

    ending = os.path.splitext(picture)[1].removeprefix(".").lower()
    dashed = "" if result.baseline is None else f"; dashed: {result.baseline}"
    content = leaderboard_file(result.leaderboard, ending, f"{_caption(result)}{dashed}", result.baseline, result.notes)
    write_file(content, picture)


def _caption(result: Evaluation | Certificate) -> str:
    """Return what the values of a result are."""
    from adjudge.evaluation.evaluate import Evaluation

    how = (
        f"{result.draws:,} draws of the labels"
        if isinstance(result, Evaluation)
        else f"{result.labels:,} audited documents"
    )
    return f"Systems on {len(result.topics):,} topics, {how}; 90 % intervals"


def _parse_pair(text: str | None) -> tuple[str, str] | None:
    """Return --pair as two names."""
    from adjudge.errors import UsageError

    names = o.label_list(text)
    if names is None:
        return None
    if len(names) != 2:
        raise UsageError(f"--pair {text} does not name two runs: write A,B")
    return names[0], names[1]


def _deliver(
    result: Evaluation | Certificate,
    out: str | None,
    format: str | None,  # noqa: A002
    table: str,
) -> None:
    """Write the tables to a folder, and print one for programs or show all to people."""
    from adjudge.cli.output import print_bytes, print_table, warn
    from adjudge.data.write import table_text, write_whole
    from adjudge.errors import UsageError
    from adjudge.evaluation.evaluate import Evaluation

    drawn = isinstance(result, Evaluation)
    if table == "documents" and not drawn:
        raise UsageError("table 'documents' is not part of an audited evaluation: systems, pairs and leaderboard are")
    if out is not None:
        written = {name: _frame(result, name) for name in TABLES if _is_shown(result, name)}
        write_whole({f"{name}.csv": table_text(each, "csv") for name, each in written.items()}, out)
    if format is None:
        _show(result) if isinstance(result, Evaluation) else _show_certificate(result)
        for note in result.notes:
            print(f"note: {note}")
        if out is not None:
            print(f"wrote {', '.join(f'{name}.csv' for name in written)} to {out}")
        return
    if format == "latex":
        print_bytes(_latex(result, table).encode())
    else:
        print_table(_frame(result, table), format)
    for note in result.notes:
        warn(note)


def _is_shown(result: Evaluation | Certificate, name: str) -> bool:
    """Whether a table is among those for people: of many runs the leaderboard takes the place of all pairs."""
    from adjudge.evaluation.evaluate import Evaluation

    many = len(result.runs) > MANY
    visible = {"pairs": not many or result.baseline is not None, "leaderboard": many}
    return visible.get(name, name != "documents" or isinstance(result, Evaluation))


def _frame(result: Evaluation | Certificate, name: str) -> Any:
    """Return a table of a result by its name, as a polars frame."""
    names = {
        "systems": "table",
        "pairs": "pair_table",
        "documents": "document_table",
        "leaderboard": "leaderboard_table",
    }
    return getattr(result if result.kind == "polars" else replace(result, kind="polars"), names[name])


def _latex(result: Evaluation | Certificate, name: str) -> str:
    """Return a table of a result for LaTeX."""
    from adjudge.reports.latex import Cell, latex_results, latex_table

    if name != "systems":
        frame = _frame(result, name)
        return latex_table(frame.columns, frame.rows(), f"{name.capitalize()}. {_caption(result)}.")
    cells = {(place.run, place.measure): Cell(place.value, place.low, place.high) for place in result.leaderboard}
    first = [place.run for place in result.leaderboard if place.measure == result.measures[0]]
    better = {measure: _decided(result, measure) for measure in result.measures}
    return latex_results(first, result.measures, cells, better, f"{_caption(result)}.", TOGETHER, result.baseline)


def _decided(result: Evaluation | Certificate, measure: str) -> set[tuple[str, str]]:
    """Return the pairs of runs of which the first is better, all together with 90 % probability."""
    if result.baseline is None:
        return result.distinguished(measure)
    decided = [pair for pair in result.pairs if pair.measure == measure and pair.decided]
    return {(pair.first, pair.second) if pair.difference > 0 else (pair.second, pair.first) for pair in decided}


def _show(result: Evaluation) -> None:
    """Print the systems or the leaderboard, the pairs, and the documents whose labels would decide."""
    from adjudge.cli.output import console, show_leaderboard, table

    screen = console()
    if len(result.runs) > MANY:
        show_leaderboard(result.leaderboard, _caption(result))
    else:
        head = ("run", "measure", "value", "labels", "topics", "both", VARIANCE)
        rows = [
            (
                *(each.run, each.measure, each.value, _span(each.labels), _span(each.topics), _span(each.both)),
                _parts(each.parts),
            )
            for each in result.scores
        ]
        screen.print(table(_caption(result), head, rows))
    if _is_shown(result, "pairs") and result.pairs:
        based = result.baseline is not None
        columns = ("measure", "first", "second", "difference", "both", "better", "by labels", VARIANCE)
        columns = (*columns[:5], "all together", *columns[5:7]) if based else columns
        pairs = [
            (
                *(each.measure, each.first, each.second, each.difference, _span(each.span)),
                *((_span(each.simultaneous),) if based else ()),
                *(_chance(each.better, each.tied), _chance(each.better_labels, each.tied_labels)),
                *(() if based else (_parts(each.parts),)),
            )
            for each in result.pairs
        ]
        screen.print()
        screen.print(table("Probability that the first is better (and of a tie)", columns, pairs))
    if result.decision is not None:
        screen.print()
        _show_deciding(result, result.decision)


def _show_deciding(result: Evaluation, decision: Sequence[str]) -> None:
    """Print the documents whose labels would decide, or that there is none."""
    from adjudge.cli.output import console, table

    measure, *runs = decision
    if not result.deciding:
        between = f"between {runs[0]} and {runs[1]}" if runs else "on the order of the runs"
        print(f"no further label could decide {between} by {measure}")
        return
    ranks = (f"rank in {runs[0]}", f"rank in {runs[1]}") if runs else ("runs", "best rank")
    head = ("topic", "document", "judged", "relevant", *ranks, "effect", "moves")
    rows = [
        (
            *(each.topic, each.document, "yes" if each.judged else "no", each.chance, *each[4:6]),
            *(f"{each.effect:+.2g}", f"{each.moves:.2g}"),
        )
        for each in result.deciding
    ]
    if runs:
        target = f"P({runs[0]} is better than {runs[1]})"
    elif result.baseline is None:
        target = "the probabilities that each run is better than the next (added up)"
    else:
        target = f"the probabilities that each run is better than {result.baseline} (added up)"
    console().print(table(f"Labels that would change {target} by {measure} most", head, rows))


def _span(span: Span | None) -> str | None:
    """Return an interval as text, such as .706 to .744."""
    return None if span is None else _range(*span)


def _parts(parts: Parts) -> str:
    """Return the parts of a variance as text, in percent."""
    shares = parts.shares
    return "nothing varies" if shares is None else ", ".join(f"{share:.0%}" for share in shares)


def _chance(better: float, tied: float) -> str:
    """Return a probability as text, with that of a tie if it is not 0."""
    return f"{better:.3f} ({tied:.3f})" if tied else f"{better:.3f}"


def _draw_audit(
    fit: str,
    runs: list[str],
    size: int,
    answers: list[str] | None,
    settings: Settings,
    out: str | None,
    format: str | None,  # noqa: A002
) -> None:
    """Draw a round of an audit, and write it to a folder or print it."""
    from adjudge.cli.output import print_table
    from adjudge.data.write import table_text, write_whole
    from adjudge.errors import UsageError
    from adjudge.evaluation.certify import audit

    if out is None and format is None:
        raise UsageError("--audit needs a folder for audit.csv (--out), or --format to print it")
    drawn = audit(fit, runs, size, answers=answers, **settings.shared())
    if format is not None:
        print_table(drawn, format)
    if out is not None:
        name = f"audit-{drawn['round'][0]}.csv" if answers else "audit.csv"
        write_whole({name: table_text(drawn, "csv")}, out)
        if format is None:
            print(f"wrote {len(drawn):,} documents to {out}/{name}: experts fill in the label of every row")


def _show_certificate(result: Certificate) -> None:
    """Print the audited values of systems or the leaderboard, and the differences between them."""
    from adjudge.cli.output import console, show_leaderboard, table

    screen = console()
    if len(result.runs) > MANY:
        show_leaderboard(result.leaderboard, _caption(result))
    else:
        head = ("run", "measure", "value", "these topics", "population of topics", *CERTIFIED)
        rows = [
            (
                *(each.run, each.measure, each.value, _range(each.low, each.high)),
                *(_range(each.topics_low, each.topics_high), each.judges, f"{each.correction:+.3f}"),
                None if each.saved is None else f"{each.saved:+,.0f}",
            )
            for each in result.scores
        ]
        screen.print(table(_caption(result), head, rows))
    if _is_shown(result, "pairs") and result.pairs:
        columns = ("measure", "first", "second", "difference", "these topics", "population of topics", "p", "better")
        pairs = [
            (
                *(each.measure, each.first, each.second, each.difference, _range(each.low, each.high)),
                *(_range(each.topics_low, each.topics_high), each.adjusted, each.better or _undecided(each)),
            )
            for each in result.pairs
        ]
        screen.print()
        screen.print(table("Differences; p on these topics, with Holm's correction", columns, pairs))


def _undecided(pair: CertifiedPair) -> str:
    """Return how many labels would probably decide between two runs."""
    return "undecided" if pair.needed is None else f"undecided: about {pair.needed:,} labels"


def _range(low: float | None, high: float | None) -> str | None:
    """Return the ends of an interval as text, such as .706 to .744."""
    if low is None or high is None:
        return None
    return " to ".join(f"{end:.3f}".replace("0.", ".", 1) for end in (low, high))
