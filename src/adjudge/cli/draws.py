"""``adjudge draws``: posterior draws for other tools."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli import options as o


def draws(
    fit: o.FitFolder,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", rich_help_panel=o.OUTPUT, help="NetCDF file to write.")
    ] = "posterior.nc",
) -> None:
    """Write the posterior draws of a sampled fit as NetCDF, for ArviZ and other tools.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv --model hybrid-confusion --out fit/
    $ adjudge draws fit/ --out posterior.nc
    """
    from adjudge.inference.export import write_netcdf
    from adjudge.inference.result import draws_of
    from adjudge.inference.save import load

    saved = load(fit)
    write_netcdf(saved, out)
    C, D = draws_of(saved).prevalence.shape[:2]
    print(f"wrote {C} x {D:,} draws to {out}")
