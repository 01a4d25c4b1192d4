"""``adjudge multilabel``: which labels every item has, from judgments with several labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.models.multilabel import MultilabelFit


FILES = ("labels.csv", "judges.csv", "prevalence.csv")
QUESTIONS = "questions"  # the folder of the fit of all yes/no questions
EXAMPLE = {  # labels that ann, bob, cy and dee gave to an item
    "photo1": ("cat|dog", "cat|dog", "cat", "cat|dog"),
    "photo2": ("dog", "dog", "dog|tree", ""),
    "photo3": ("tree", "tree|cat", "tree", "tree"),
    "photo4": ("", "", "tree", ""),
    "photo5": ("cat|tree", "cat", "cat|tree", "tree"),
}


def _example(path: str) -> None:
    """Write a small table of judgments with several labels."""
    from adjudge.data.write import write_file

    judges = ("ann", "bob", "cy", "dee")
    rows = [
        f"{item},{judge},{label}" for item, texts in EXAMPLE.items() for judge, label in zip(judges, texts, strict=True)
    ]
    write_file("\n".join(["item,judge,label", *rows, ""]).encode(), path)
    print(f"wrote {path}")


@dataclass(frozen=True)
class Columns:
    """The columns of a table of judgments with several labels."""

    item: o.ItemColumn = None
    judge: o.JudgeColumn = None
    label: o.LabelColumn = None
    topic: o.TopicColumn = None


COLUMNS = Columns()


@o.takes("columns", Columns)
def multilabel(
    judgments: o.Table,
    separator: Annotated[str, o.input_option("--separator", "TEXT", "What stands between two labels.")] = "|",
    none: Annotated[
        str | None,
        o.input_option("--none", "TEXT", "A text that means that no label fits, beside the empty text."),
    ] = None,
    gold: Annotated[
        str | None, o.input_option("--gold", "TABLE", "Table of (item, label): items whose labels are known.")
    ] = None,
    columns: Columns = COLUMNS,
    input_format: o.InputFormat = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="NAME", help="Name of a model; default: consensus.")
    ] = None,
    seed: o.Seed = 0,
    out: Annotated[
        str | None, o.out_option("FOLDER", f"Write {', '.join(FILES)} and the fit of the questions to this folder.")
    ] = None,
    format: o.TableFormat = None,  # noqa: A002
    rows: o.Rows = 10,
    example: Annotated[str | None, o.example_option("FILE", _example)] = None,
) -> None:
    """Infer which labels every item has, from judgments that give several labels, written a|b.

    For every label there is a yes/no question about every item; a judge who did not give the label said no. All
    questions are fitted together, so that they share the judges. The result has the labels of each item that are
    likelier than not, the probability of every label, and how often judges miss a label or give one too many. --out
    also saves the fit of all questions, for cards of the judges.

    \b
    $ adjudge multilabel --example photos.csv
    $ adjudge multilabel photos.csv
    $ adjudge multilabel photos.csv --format csv
    $ adjudge multilabel photos.csv --out photos/
    $ adjudge judges photos/questions
    """
    from adjudge.cli.output import WRITTEN, check_fit_folder, check_output
    from adjudge.models.multilabel import multilabel as infer

    check_output(format, (judgments, gold))
    check_fit_folder(out, (judgments, gold), (*WRITTEN, *FILES))
    result = infer(judgments, separator, model, gold, none=none, seed=seed, format=input_format, **vars(columns))
    _deliver(result, out, format, rows)


def _deliver(result: MultilabelFit, out: str | None, format: str | None, rows: int) -> None:  # noqa: A002
    """Write the tables to a folder, and print the labels for programs or show the tables to people."""
    from adjudge.cli.output import print_table, warn, write_fit
    from adjudge.data.write import frame, table_text, write_whole

    columns = (result.item_columns(), result.judge_columns(), result.label_columns())
    tables = {name: frame(each) for name, each in zip(FILES, columns, strict=True)}
    if out is not None:
        write_whole({name: table_text(table, "csv") for name, table in tables.items()}, out)
        write_fit(result.fit, result.sets.judgments, f"{out}/{QUESTIONS}")
    if format is not None:
        print_table(tables[FILES[0]], format)
    else:
        _show(result, rows)
        if out is not None:
            print(f"wrote {', '.join(FILES)} and {QUESTIONS}/ to {out}")
    if not result.fit.converged:
        warn(f"the fit has not converged: {result.fit.stopped}")


def _show(result: MultilabelFit, rows: int) -> None:
    """Print the labels of items, the judges and the labels."""
    from adjudge.cli.output import console, first_rows, narrowed
    from adjudge.data.write import frame

    screen = console()
    head = frame(result.item_columns()).head(rows)
    screen.print(
        narrowed(f"Items ({head.height:,} of {len(result.sets.items):,})", head.columns, head.rows(), screen.width)
    )
    screen.print()
    screen.print(first_rows("Judges", frame(result.judge_columns()), rows))
    screen.print()
    screen.print(first_rows("Labels", frame(result.label_columns()), rows))
    screen.print()
    screen.print(repr(result), markup=False)
