"""``adjudge check``: whether a sampled fit can be trusted."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from adjudge.cli import options as o

SHOWN = ("parameter", "mean", "low", "high", "r_hat", "bulk_ess", "tail_ess")


@o.reads_judgments("time", "labels", "ordinal", "repeats")
def check(
    fit: Annotated[str, typer.Argument(metavar="FIT", help="The folder that `adjudge fit --out` wrote.")],
    judgments: o.Table,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="FIT", help="Another sampled fit of the same judgments, to compare with."),
    ] = None,
    reading: o.Reading = o.USUAL,
    seed: o.Seed = 0,
    rows: o.Rows = 10,
) -> None:
    """Say whether chains have converged, whether the model explains the crowd, and how well it foretells items.

    \b
    Chains: R-hat (1.01 at most is good), effective sample sizes (400 at least), and the worst parameters.
    Crowd:  judgments drawn anew from the fit, beside those that were given: do judges agree as often?
    Items:  expected log likelihood of an item left out (PSIS-LOO, WAIC), to compare models with --against.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv --model hybrid-confusion --out fit/
    $ adjudge check fit/ labels.csv
    """
    from adjudge.cli.show import console, table
    from adjudge.inference.fitted import as_fitted, gold_informed, refuse_other_gold
    from adjudge.inference.result import draws_of
    from adjudge.inference.save import load
    from adjudge.metrics.checks import predictive_check
    from adjudge.metrics.predictive import difference, loo, waic

    found, other = load(fit), None if against is None else load(against)
    given = reading.read(judgments, labels=found.scale.labels, ordinal=found.scale.ordinal)
    block, screen = as_fitted(found, given), console()
    if other is not None:
        refuse_other_gold(found, other)
        than = loo(draws_of(other), as_fitted(other, given), gold_informs=gold_informed(other))
    diagnosed = found.diagnostics.sort("r_hat", descending=True, nulls_last=True)
    shown = [tuple(row[name] for name in SHOWN) for row in diagnosed.head(rows).iter_rows(named=True)]
    screen.print(table(f"Chains: the worst {len(shown):,} of {diagnosed.height:,} parameters", SHOWN, shown))
    screen.print(f"\n{found.stopped}\n")
    checked = predictive_check(draws_of(found), block, seed=seed)
    screen.print(f"Crowd: {checked.sentence}\n")
    informs = gold_informed(found)
    left, criterion = (measure(draws_of(found), block, gold_informs=informs) for measure in (loo, waic))
    cells = [
        ("PSIS-LOO", left.elpd, left.error, left.p, left.bad),
        ("WAIC", criterion.elpd, criterion.error, criterion.p, criterion.bad),
    ]
    screen.print(table("Items left out", ("measure", "elpd", "error", "parameters", "doubtful items"), cells))
    if left.note:
        print(f"adjudge: warning: {left.note}", file=sys.stderr)
    if other is not None:
        gain = difference(left, than)
        told = f"elpd {gain.elpd:+,.1f}, error {gain.error:,.1f}"
        screen.print(f"\n{found.model} against {other.model}: {told}{f' ({gain.note})' if gain.note else ''}")
