"""``adjudge tutor``: the items that show a judge their own confusions."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli import options as o


@o.reads_judgments("judge", "labels", "ordinal", "repeats")
def tutor(
    fit: o.FitFolder,
    judgments: o.KeptTable = None,
    truth: o.TruthTable = None,
    reading: o.Reading = o.READING,
    judge: Annotated[str | None, typer.Option(metavar="NAME", help="The judge; default: all judges.")] = None,
    confusions: Annotated[int, typer.Option(metavar="NUMBER", help="Confusions that are shown of a judge.")] = 2,
    items: Annotated[int, typer.Option(metavar="NUMBER", help="Items for each side of a confusion.")] = 3,
    sure: Annotated[
        float, typer.Option(metavar="PROBABILITY", help="Probability from which an inferred truth is shown.")
    ] = 0.9,
    studio: Annotated[
        str | None,
        o.output_option("--studio", "FOLDER", "Write gold.csv and sets.csv of a training campaign to this folder."),
    ] = None,
    out: Annotated[str | None, o.output_option("--out", "FILE", "Write the items to this CSV file.")] = None,
    format: o.TableFormat = None,  # noqa: A002
    rows: o.Rows = 10,
) -> None:
    """Choose for each judge the items that show their own confusions, for targeted training.

    The typical mistakes of a judge are the pairs of labels with most of their wrong labels. Each is shown from both
    sides: items that they mixed up, and items of the other label. The truth of all items is known (gold, --truth) or
    sure. With --studio, the items become gold with a reason, and qualification sets of five documents of a topic.

    \b
    $ adjudge simulate monitoring --out crowd/
    $ adjudge fit crowd/labels.csv --out fit/
    $ adjudge tutor fit/ --truth crowd/truth.csv --judge j1
    $ adjudge tutor fit/ --truth crowd/truth.csv --out tutor.csv
    """
    from adjudge.cli.campaign import require_studio
    from adjudge.cli.output import (
        check_file,
        check_output,
        console,
        first_rows,
        kept_judgments,
        print_table,
        write_table,
    )
    from adjudge.data.write import write_whole
    from adjudge.diagnostics.tutor import tutor as choose
    from adjudge.inference.save import load

    check_output(format, (judgments, truth))
    check_file(out, (fit, judgments, truth))
    if studio is not None:
        require_studio()
    saved = load(fit)
    table = kept_judgments(fit, saved, judgments, reading)
    result = choose(saved, table, truth, judge=judge, confusions=confusions, items=items, sure=sure)
    if out is not None:
        write_table(result.table, out, "csv")
    if studio is not None:
        from adjudge.studio.tutoring import tutoring_files

        write_whole(tutoring_files(result), studio)
    if format is not None:
        print_table(result.table, format)
        return
    screen = console()
    screen.print(first_rows("Tutoring sets", result.table.drop("topic", "probability"), rows))
    screen.print(f"\n{result.sentence}", markup=False)
    for path in filter(None, (out, studio)):
        print(f"wrote {path}")
