"""``adjudge models`` and ``adjudge datasets``: the models, and judgments that ship with the package."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli import options as o


def models() -> None:
    """List the models, with what each assumes and its paper.

    \b
    $ adjudge models
    """
    from adjudge.cli.output import console, table
    from adjudge.inference.model import MODELS

    rows = [(model.name, model.labels.needs, model.summary, model.paper) for model in MODELS.values()]
    console().print(table("Models", ("name", "labels", "what it assumes", "paper"), rows, longest=999))


def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Data set to print; without it, all are listed.")
    ] = None,
    out: Annotated[str | None, o.out_option("FILE", "Write it to this file instead.")] = None,
) -> None:
    """List the data sets that ship with the package, or write one as CSV.

    \b
    $ adjudge datasets
    $ adjudge datasets anesthesia --out labels.csv
    """
    from adjudge.cli.output import console, table
    from adjudge.data.datasets import DATASETS, dataset
    from adjudge.data.judgments import judgment_table
    from adjudge.data.write import table_text, write_file

    if name is None:
        rows = [(data.name, data.title, data.citation) for data in DATASETS.values()]
        console().print(table("Data sets", ("name", "what it is", "source"), rows, longest=999))
        return
    content = table_text(judgment_table(dataset(name)), "csv")
    if out is None:
        print(content.decode(), end="")
    else:
        write_file(content, out)
        print(f"wrote {out}")
