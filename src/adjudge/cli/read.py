"""``adjudge read``: how a table of judgments is read."""

from __future__ import annotations

from adjudge.cli import options as o


@o.reads_judgments()
def read(
    judgments: o.Table,
    judges: o.Judges = None,
    reading: o.Reading = o.READING,
    format: o.TableFormat = None,  # noqa: A002
    rows: o.Rows = 10,
) -> None:
    """Show how a table of judgments is read: its format, shape, columns and scale, the counts, and the first rows.

    Use it before `adjudge fit` to check that columns and labels are what they should be. Notes say what is left out,
    what is read as one label, and what may be wrong. All commands that read judgments have the same options and read
    them in the same way.

    Tables have one judgment per row, or one column per judge. Exports of Label Studio, Argilla, Prodigy, doccano,
    Potato, Mechanical Turk, Turkle, Appen, Toloka, Prolific, MLflow and LangSmith are recognised by their content. If
    a file has several questions, --label chooses one. Labels such as unsure,skip are declared with --abstain. --format
    prints the judgments as they were read, one per row.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge read labels.csv
    $ adjudge read labels.csv --labels 1,2,3,4 --ordinal --rows 3
    $ adjudge read labels.csv --missing "-,?" --keep-case --format csv
    """
    from adjudge.cli.output import NOTES, check_output, console, first_rows, print_table, table
    from adjudge.data.judgments import judgment_table

    check_output(format, (judgments, judges))
    result = reading.read(judgments, judges=judges)
    content = judgment_table(result)
    if format is not None:
        print_table(content, format)
        return
    screen, summary = console(), result.summary
    screen.print(table(f"How {judgments} is read", summary.columns, summary.rows(), NOTES))
    screen.print()
    screen.print(first_rows("Judgments", content, rows, ", sorted by item"))
