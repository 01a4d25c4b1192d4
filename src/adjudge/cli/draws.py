"""``adjudge draws``: posterior draws for other tools."""

from __future__ import annotations

from typing import Annotated

import typer


def draws(
    fit: Annotated[str, typer.Argument(metavar="FIT", help="The folder that `adjudge fit --out` wrote.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The NetCDF file to write.")] = "posterior.nc",
) -> None:
    """Write the draws of a sampled fit as NetCDF, for ArviZ and all that reads its files.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv --model hybrid-confusion --out fit/
    $ adjudge draws fit/ --out posterior.nc
    """
    from adjudge.inference.export import write_netcdf
    from adjudge.inference.result import draws_of
    from adjudge.inference.save import load

    found = load(fit)
    write_netcdf(found, out)
    C, D = draws_of(found).prevalence.shape[:2]
    print(f"wrote {C} x {D:,} draws to {out}")
