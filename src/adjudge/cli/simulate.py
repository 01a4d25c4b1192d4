"""``adjudge simulate``: crowds whose truth is known."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from adjudge.cli import options as o


def simulate(
    design: Annotated[
        str | None, typer.Argument(metavar="[DESIGN]", help="Design of the crowd; without it, all are listed.")
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            "--size", "-s", metavar="NAME=NUMBER", help="A size of the design, such as items=500; repeatable."
        ),
    ] = None,
    seed: o.Seed = 0,
    out: Annotated[str, o.out_option("FOLDER", "Write labels.csv, gold.csv and truth.csv to this folder.")] = "crowd",
) -> None:
    """Draw judgments from a model of judges, together with the truth.

    \b
    $ adjudge simulate
    $ adjudge simulate liu-wang --size items=200 --size gold=50 --out crowd/
    """
    from adjudge.cli.output import console, table
    from adjudge.data.simulate import DESIGNS
    from adjudge.data.simulate import simulate as draw
    from adjudge.data.write import frame, table_text, write_whole
    from adjudge.errors import UsageError

    if design is None:
        rows = [(each.name, each.summary, ", ".join(each.sizes)) for each in DESIGNS.values()]
        console().print(table("Designs", ("name", "judges", "sizes"), rows, longest=999))
        return
    if os.path.exists(os.path.join(out, "fit.json")):
        raise UsageError(f"--out {out} holds a saved fit, whose labels.csv would be lost: name another folder")
    crowd = draw(design, seed, **o.sizes(size or []))
    gold = frame({"item": list(crowd.gold), "label": list(crowd.gold.values())})
    tables = {"labels.csv": crowd.table, "gold.csv": gold, "truth.csv": crowd.truths}
    panel = crowd.judgments.panel
    if panel is not None:
        tables["judges.csv"] = frame({"judge": crowd.judgments.judges, **panel.columns()})
    write_whole({name: table_text(content, "csv") for name, content in tables.items()}, out)
    print(f"wrote {crowd.judgments} to {out}/labels.csv, with {', '.join(list(tables)[1:-1])} and {list(tables)[-1]}")
