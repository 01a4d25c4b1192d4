"""``adjudge evaluate``: search systems under uncertain labels, and the documents whose labels would decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.evaluation.certify import Certificate, CertifiedPair
    from adjudge.evaluation.evaluate import Evaluation, Parts, Span


MEASURES = "MAP,nDCG@10,P@10"  # as in adjudge.metrics.ranking; a test compares them
VARIANCE = "variance: labels, topics"
TABLES = ("systems", "pairs", "documents")


def _example(folder: str) -> None:
    """Write judgments, two runs and the truth."""
    from adjudge.cli.output import write_examples
    from adjudge.data.runs import example

    write_examples(example(), folder)


@dataclass(frozen=True)
class Settings:
    """How systems are compared; the names are those of the parameters of ``adjudge.evaluate``."""

    measures: Annotated[str, typer.Option(metavar="A,B,C", help="MAP, MRR, nDCG, nDCG@k, P@k or R@k for any k.")] = (
        MEASURES
    )
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
        typer.Option(metavar="A,B", help="The two runs to decide between; default: the two best by the first measure."),
    ] = None
    draws: Annotated[int, typer.Option(min=20, metavar="NUMBER", help="Number of draws of the labels.")] = 1_000
    seed: o.Seed = 0

    def arguments(self) -> dict[str, Any]:
        """Return the settings as arguments of ``adjudge.evaluate``."""
        return {**vars(self), "pair": _parse_pair(self.pair)}

    def shared(self) -> dict[str, Any]:
        """Return the settings that audits have too."""
        return {name: getattr(self, name) for name in ("measures", "unjudged", "level", "complete", "seed")}


SETTINGS = Settings()


@o.takes("settings", Settings)
def evaluate(
    fit: Annotated[str, o.input_option("--fit", "FOLDER", "Saved fit of judgments with topics.")],
    more: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Runs with lines: topic Q0 document rank score tag.")
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
        str | None, o.out_option("FOLDER", "Write systems.csv, pairs.csv and documents.csv to this folder.")
    ] = None,
    format: o.TableFormat = None,  # noqa: A002
    table: Annotated[
        str, o.output_option("--table", "NAME", "With --format: the table to print: systems, pairs or documents.")
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

    \b
    $ adjudge evaluate --example search/
    $ adjudge fit search/labels.csv --out search/fit
    $ adjudge evaluate --runs search/bm25.run search/dense.run --fit search/fit
    $ adjudge evaluate --runs search/bm25.run search/dense.run --fit search/fit --audit 60 --out search
    """
    from adjudge.cli.output import check_folder, check_output
    from adjudge.errors import UsageError, quoted
    from adjudge.evaluation.evaluate import evaluate as run

    files = [*(runs or ()), *(more or ())]
    check_output(format, files)
    if table not in TABLES:
        raise UsageError(f"table {table!r} is not one of {quoted(TABLES)}")
    check_folder(out)
    if audit is not None:
        _draw_audit(fit, files, audit, answers, settings, out, format)
    elif answers:
        from adjudge.evaluation.certify import certify

        _deliver_certificate(certify(fit, files, answers, **settings.shared()), out, format, table)
    else:
        _deliver(run(fit, files, **settings.arguments()), out, format, table)


def _parse_pair(text: str | None) -> tuple[str, str] | None:
    """Return --pair as two names."""
    from adjudge.errors import UsageError

    names = o.label_list(text)
    if names is None:
        return None
    if len(names) != 2:
        raise UsageError(f"--pair {text} does not name two runs: write A,B")
    return names[0], names[1]


def _deliver(result: Evaluation, out: str | None, format: str | None, table: str) -> None:  # noqa: A002
    """Write the tables to a folder, and print one for programs or show all to people."""
    from adjudge.cli.output import print_table, warn
    from adjudge.data.write import table_text, write_whole

    rows = (result.score_rows(), result.pair_rows(), result.deciding_rows())
    frames = {
        name: _frame(*content) for name, content in zip(TABLES, zip(rows, result.columns(), strict=True), strict=True)
    }
    if out is not None:
        write_whole({f"{name}.csv": table_text(frame, "csv") for name, frame in frames.items()}, out)
    if format is None:
        _show(result)
        if out is not None:
            print(f"wrote {', '.join(f'{name}.csv' for name in frames)} to {out}")
        return
    print_table(frames[table], format)
    for note in result.notes:
        warn(note)


def _frame(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Any:
    """Return rows as a frame, which has its columns even if there is no row."""
    from adjudge.data.write import frame

    return frame({name: [row[name] for row in rows] for name in columns})


def _show(result: Evaluation) -> None:
    """Print the systems, the pairs, and the documents whose labels would decide."""
    from adjudge.cli.output import console, table

    screen = console()
    title = f"Systems on {len(result.topics):,} topics, {result.draws:,} draws of the labels; 90 % intervals"
    head = ("run", "measure", "value", "labels", "topics", "both", VARIANCE)
    rows = [
        (
            each.run,
            each.measure,
            each.value,
            _span(each.labels),
            _span(each.topics),
            _span(each.both),
            _parts(each.parts),
        )
        for each in result.scores
    ]
    screen.print(table(title, head, rows))
    if result.pairs:
        columns = ("measure", "first", "second", "difference", "both", "better", "by labels", VARIANCE)
        pairs = [
            (
                *(each.measure, each.first, each.second, each.difference, _span(each.span)),
                *(_chance(each.better, each.tied), _chance(each.better_labels, each.tied_labels), _parts(each.parts)),
            )
            for each in result.pairs
        ]
        screen.print()
        screen.print(table("Probability that the first is better (and of a tie)", columns, pairs))
    if result.decision is not None:
        screen.print()
        _show_deciding(result, *result.decision)
    for note in result.notes:
        print(f"note: {note}")


def _show_deciding(result: Evaluation, measure: str, first: str, second: str) -> None:
    """Print the documents whose labels would decide, or that there is none."""
    from adjudge.cli.output import console, table

    if not result.deciding:
        print(f"no further label could decide between {first} and {second} by {measure}")
        return
    head = ("topic", "document", "judged", "relevant", f"rank in {first}", f"rank in {second}", "effect", "moves")
    rows = [
        (
            *(each.topic, each.document, "yes" if each.judged else "no", each.chance),
            *(each.first_rank, each.second_rank, f"{each.effect:+.2g}", f"{each.moves:.2g}"),
        )
        for each in result.deciding
    ]
    title = f"Labels that would change P({first} is better than {second}) by {measure} most"
    console().print(table(title, head, rows))


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


def _deliver_certificate(result: Certificate, out: str | None, format: str | None, table: str) -> None:  # noqa: A002
    """Write the tables of an audited evaluation to a folder, and print one for programs or show all to people."""
    from adjudge.cli.output import print_table, warn
    from adjudge.data.write import table_text, write_whole
    from adjudge.errors import UsageError

    frames = {"systems": result.table, "pairs": result.pair_table}
    if table not in frames:
        raise UsageError(f"table {table!r} is not part of an audited evaluation: systems and pairs are")
    if out is not None:
        write_whole({f"{name}.csv": table_text(each, "csv") for name, each in frames.items()}, out)
    if format is not None:
        print_table(frames[table], format)
        for note in result.notes:
            warn(note)
        return
    _show_certificate(result)
    if out is not None:
        print(f"wrote {', '.join(f'{name}.csv' for name in frames)} to {out}")


def _show_certificate(result: Certificate) -> None:
    """Print the audited values of systems, and the differences between them."""
    from adjudge.cli.output import console, table

    screen = console()
    title = f"Systems on {len(result.topics):,} topics, {result.labels:,} audited documents; 90 % intervals"
    head = (
        "run",
        "measure",
        "value",
        "these topics",
        "population of topics",
        "judges say",
        "audit adds",
        "labels saved",
    )
    rows = [
        (
            *(each.run, each.measure, each.value, _range(each.low, each.high)),
            *(_range(each.topics_low, each.topics_high), each.judges, f"{each.correction:+.3f}"),
            None if each.saved is None else f"{each.saved:+,.0f}",
        )
        for each in result.scores
    ]
    screen.print(table(title, head, rows))
    if result.pairs:
        columns = ("measure", "first", "second", "difference", "these topics", "population of topics", "better")
        pairs = [
            (
                *(each.measure, each.first, each.second, each.difference, _range(each.low, each.high)),
                *(_range(each.topics_low, each.topics_high), each.better or _undecided(each)),
            )
            for each in result.pairs
        ]
        screen.print()
        screen.print(table("Differences", columns, pairs))
    for note in result.notes:
        print(f"note: {note}")


def _undecided(pair: CertifiedPair) -> str:
    """Return how many labels would probably decide between two runs."""
    return "undecided" if pair.needed is None else f"undecided: about {pair.needed:,} labels"


def _range(low: float | None, high: float | None) -> str | None:
    """Return the ends of an interval as text, such as .706 to .744."""
    if low is None or high is None:
        return None
    return " to ".join(f"{end:.3f}".replace("0.", ".", 1) for end in (low, high))
