"""``adjudge simulate``: crowds whose truth is known."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from adjudge.cli import options as o


def simulate(
    design: Annotated[
        str | None, typer.Argument(metavar="[DESIGN]", help="Which crowd; without it, all are listed.")
    ] = None,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FOLDER", help="Where labels.csv, gold.csv and truth.csv go.")
    ] = "crowd",
    size: Annotated[
        list[str] | None,
        typer.Option(
            "--size", "-s", metavar="NAME=NUMBER", help="A size of the design, such as items=500; repeatable."
        ),
    ] = None,
    seed: o.Seed = 0,
) -> None:
    """Draw judgments from a model of judges, with the truth beside them.

    \b
    $ adjudge simulate
    $ adjudge simulate liu-wang --size items=200 --size gold=50 --out crowd/
    """
    from adjudge.cli.show import console, table
    from adjudge.data.simulate import DESIGNS
    from adjudge.data.simulate import simulate as draw
    from adjudge.data.write import frame, table_text, write_whole
    from adjudge.errors import UsageError

    if design is None:
        rows = [(known.name, known.summary, ", ".join(known.sizes)) for known in DESIGNS.values()]
        console().print(table("Designs", ("name", "who judges", "sizes"), rows, longest=999))
        return
    if os.path.exists(os.path.join(out, "fit.json")):
        raise UsageError(f"--out {out} holds a saved fit, whose labels.csv would be lost: name another folder")
    drawn = draw(design, seed, **o.sizes(size or []))
    gold = frame({"item": list(drawn.gold), "label": list(drawn.gold.values())})
    tables = {"labels.csv": drawn.table, "gold.csv": gold, "truth.csv": drawn.truths}
    write_whole({name: table_text(content, "csv") for name, content in tables.items()}, out)
    print(f"wrote {drawn.judgments} to {out}/labels.csv, with gold.csv and truth.csv")
