"""``adjudge check`` and ``adjudge draws``: whether a sampled fit can be trusted, and its draws for other tools."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli import options as o

COLUMNS = ("parameter", "mean", "low", "high", "r_hat", "bulk_ess", "tail_ess")


@o.reads_judgments("time", "labels", "ordinal", "values", "repeats")
def check(
    fit: o.FitFolder,
    judgments: o.Table,
    reading: o.Reading = o.READING,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="FIT", help="Another sampled fit of the same judgments, to compare with."),
    ] = None,
    seed: o.Seed = 0,
    rows: o.Rows = 10,
) -> None:
    """Check a sampled fit: convergence of its chains, whether it explains the crowd, and how well it predicts.

    \b
    Chains  R-hat (good: at most 1.01) and effective sizes (good: at least 400)
    Crowd   do judges agree as often as in crowds that the fit simulates?
    Items   log predictive density of items left out (PSIS-LOO and WAIC)

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv --model hybrid-confusion --out fit/
    $ adjudge check fit/ labels.csv
    """
    from adjudge.cli.output import console, table, warn
    from adjudge.inference.save import load
    from adjudge.metrics.checks import check as run

    saved = load(fit)
    data = reading.read_like(saved, judgments)
    result, screen = run(saved, data, against, seed=seed), console()
    worst = [tuple(row[name] for name in COLUMNS) for row in result.parameters.head(rows).iter_rows(named=True)]
    title = f"Chains: the worst {len(worst):,} of {result.parameters.height:,} parameters"
    screen.print(table(title, COLUMNS, worst))
    screen.print(f"\n{result.convergence}\n")
    screen.print(f"Crowd: {result.crowd.sentence}\n")
    screen.print(
        table("Checks of the crowd (failed: p below .05)", result.crowd.table.columns, result.crowd.table.rows())
    )
    screen.print()
    names = [name.replace("_", " ") for name in result.table.columns]
    screen.print(table("Items left out", names, result.table.rows()))
    if result.loo.note:
        warn(result.loo.note)
    if result.difference is not None:
        gain = result.difference
        note = f" ({gain.note})" if gain.note else ""
        text = f"elpd {gain.elpd:+,.1f}, standard error {gain.error:,.1f}{note}"
        screen.print(f"\n{result.model} against {result.other}: {text}")


def draws(
    fit: o.FitFolder,
    out: Annotated[str, o.out_option("FILE", "File to write: .nc (NetCDF), .csv or .parquet.")] = "posterior.nc",
) -> None:
    """Write the posterior draws of a sampled fit as NetCDF, for ArviZ and other tools, or as a table.

    The NetCDF file also has the log-likelihood of every item and the judgments, if the fit keeps its judgments. The
    table has one row per parameter, chain and draw.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv --model hybrid-confusion --out fit/
    $ adjudge draws fit/ --out posterior.nc
    $ adjudge draws fit/ --out draws.csv
    """
    from adjudge.inference.result import draws_of
    from adjudge.inference.save import load
    from adjudge.metrics.draws import write_draws

    write_draws(fit, out)
    saved = load(fit)
    C, D = draws_of(saved).prevalence.shape[:2]
    print(f"wrote {C} x {D:,} draws to {out}")
