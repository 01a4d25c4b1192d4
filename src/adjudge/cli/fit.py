"""``adjudge fit``: judgments in, consensus out."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o
from adjudge.cli.fit_blocks import Large, fit_on_disk
from adjudge.errors import UsageError

if TYPE_CHECKING:
    from adjudge.cli.show import ClimbProgress
    from adjudge.inference.options import Options


USUAL_SIZE = Large()


@o.reads_judgments()
@o.takes("sampling", o.Sampling)
@o.takes("prior", o.Believing)
@o.takes("large", Large)
def fit(
    judgments: Annotated[
        list[str],
        typer.Argument(
            metavar="JUDGMENTS",
            help="A table of (item, judge, label): CSV, TSV, JSONL, Parquet; - is standard input. With --blocks, many.",
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="A model's name (`adjudge models` lists them), or auto: the one that foretells judgments best. "
            "Without it, dawid-skene, calibrated.",
        ),
    ] = None,
    gold: o.Gold = None,
    gold_format: o.GoldFormat = None,
    out: o.Out = None,
    format: o.Format = None,  # noqa: A002
    reading: o.Reading = o.USUAL,
    ties: Annotated[
        str, typer.Option(metavar="HOW", help="Which of equally likely labels to give: random, first or all.")
    ] = "random",
    start: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE", help="Where the fit begins: vote or accurate; of ordinal: mean, median, ...-trimmed."
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="RISE",
            help="Stop when a step raises the log likelihood by less than this a judgment; "
            "when leaping, when a whole cycle does by a tenth.",
        ),
    ] = 1e-8,
    iterations: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Passes over the judgments at most.")
    ] = 5_000,
    accelerate: Annotated[bool, typer.Option(help="Leap along the climb; --no-accelerate is plain EM.")] = True,
    inference: Annotated[
        str | None,
        typer.Option(metavar="HOW", help="Of models that are sampled: gibbs (usual) or, of hybrid-confusion, map."),
    ] = None,
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Calibrate probabilities by: judgments (hedged where judges err together; usual of auto, and where no "
            "model is named), gold, none (usual of a model that is named, and of --blocks).",
        ),
    ] = None,
    prevalence: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="One prevalence of truths for all items (global), or one per topic (topic); for models that learn it.",
        ),
    ] = "global",
    sampling: o.Sampling = o.USUAL_RUN,
    prior: o.Believing = o.USUAL_PRIOR,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Threads; the result is the same with any number.")
    ] = None,
    large: Large = USUAL_SIZE,
    seed: o.Seed = 0,
    rows: o.Rows = 10,
) -> None:
    """Infer the truth of every item, and how every judge errs.

    Prints tables for people; --out writes labels.csv (item, label, probability, one p_<label> column a
    label, entropy in bits, topic), judges.csv (judge, judgments, accuracy, what the model says of each)
    and the fit itself, for `adjudge predict` and `adjudge score`. A model that is sampled also leaves
    matrices.csv, prevalence.csv and ranks.csv, all with 90 % intervals, and draws for `adjudge check`.

    Judgments that memory does not hold are fitted with --blocks, to the same answer as with --calibrate none: labels
    are then Parquet files in labels/, and a run that was stopped or killed goes on where it was when the same is
    asked again.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv --model dawid-skene --out fit/
    $ adjudge fit labels.csv --model majority --format csv
    $ adjudge fit labels.csv --model auto
    $ adjudge fit labels.csv --model glad --calibrate judgments
    $ adjudge fit labels.csv --model hybrid-confusion --until-converged --out sampled/
    $ adjudge fit labels.csv --blocks blocks/ --out large/
    """
    from adjudge.cli.output import deliver, refuse_late_surprises
    from adjudge.cli.show import ChainProgress, ClimbProgress
    from adjudge.data.gold import read_gold
    from adjudge.inference.fit import AUTO, default_model, fit_auto
    from adjudge.inference.fit import fit as infer
    from adjudge.inference.options import Options
    from adjudge.inference.registry import model_named

    model, by = default_model(model, calibrate or ("none" if large.blocks is not None else None))
    if model != AUTO:
        model_named(model)
    run = sampling.run()
    options = Options(
        seed, ties, start, tolerance, iterations, accelerate, inference, run, prior.prior(), by, prevalence
    )
    refuse_late_surprises(out, format, (*judgments, gold))
    sampled = model != AUTO and (inference or model_named(model).inferences[0]) == "gibbs"
    progress = ChainProgress(sampling.warmup + sampling.draws * sampling.thin) if sampled else ClimbProgress()
    if large.blocks is not None:
        _out_of_memory(judgments, model, gold, gold_format, out, format, reading, options, large, threads, progress)
        return
    large.refuse_without_blocks()
    if len(judgments) > 1:
        raise UsageError(f"{len(judgments)} files are read together with --blocks FOLDER only; this is for one table")
    table = reading.read(judgments[0])
    known = None
    if gold is not None:
        table, known = read_gold(gold, table, item=reading.item, label=reading.label, format=gold_format)
    try:
        if model == AUTO:
            found = fit_auto(table, known, options, trying=progress.trying, workers=threads, progress=progress)
        else:
            found = infer(table, model, known, **vars(options), workers=threads, progress=progress)
    finally:
        progress.close()
    if found.stopped == "interrupted" and out is not None and os.path.exists(out):
        out = f"{out.rstrip('/')}-interrupted"  # what was there is whole: it stays
    deliver(found, table, out, format, rows)
    if found.calibration is not None:
        print(f"adjudge: {found.calibration.words}", file=sys.stderr)
    if not found.converged and found.draws is None:
        print(f"adjudge: warning: the fit has not converged: {found.stopped}", file=sys.stderr)
    if found.stopped == "interrupted":
        raise typer.Exit(130)


def _out_of_memory(
    files: list[str],
    model: str,
    gold: str | None,
    gold_format: str | None,
    out: str | None,
    format: str | None,  # noqa: A002
    reading: o.Reading,
    options: Options,
    large: Large,
    threads: int | None,
    progress: ClimbProgress,
) -> None:
    """Fit judgments in blocks, and say what was found of them."""
    if model == "auto":
        raise UsageError("--model auto tries models in memory: name one to fit blocks")
    if out is None or format is not None:
        raise UsageError("judgments in blocks are fitted into a folder: give --out FOLDER, and no --format")
    try:
        found = fit_on_disk(files, model, gold, gold_format, out, reading, options, large, threads, progress)
    finally:
        progress.close()
    shares = found.label_counts / found.label_counts.sum()
    print(f"{found.fit.model}: {found.items:,} items, {len(found.fit.judge_names):,} judges; {found.fit.stopped}")
    for name, share in zip(found.fit.scale.names, shares, strict=True):
        print(f"  {name}: {share:.1%} of items")
    print(f"wrote labels/, judges.csv and the fit to {out}")
    print("adjudge: probabilities are the model's own: they are calibrated in memory only", file=sys.stderr)
    if not found.fit.converged and found.fit.draws is None:
        print(f"adjudge: warning: the fit has not converged: {found.fit.stopped}", file=sys.stderr)
    if found.fit.stopped == "interrupted":
        print(f"adjudge: the same command goes on from here ({found.fit.passes:,} passes)", file=sys.stderr)
        raise typer.Exit(130)
