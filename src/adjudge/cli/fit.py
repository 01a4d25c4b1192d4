"""``adjudge fit``: infer labels and judges' confusions from judgments, in memory or from blocks on disk."""

from __future__ import annotations

import os
import re
import sys
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o
from adjudge.errors import UsageError, not_one_of

if TYPE_CHECKING:
    from adjudge.cli.output import FitProgress
    from adjudge.data.blocks import Blocks
    from adjudge.data.judgments import Judgments
    from adjudge.engines.engine import Engine
    from adjudge.engines.fit_blocks import FitOnDisk
    from adjudge.inference.options import Options
    from adjudge.inference.result import Fit

ENGINES = ("threads", "dask", "spark")
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@dataclass(frozen=True)
class Gold:
    """The tables of known truths and of the judges."""

    gold: o.Gold = None
    gold_format: o.GoldFormat = None
    judges: o.Judges = None
    without_judges: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Leave out the judgments of the judges in this table, such as those that a run has learned from.",
        ),
    ] = None


@dataclass(frozen=True)
class ModelOptions:
    """Which model is fitted, and how."""

    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="Name of a model (`adjudge models` lists them), or auto for the consensus with a share of the model "
            "that predicts held-out judgments best. Default: consensus, whose probabilities are calibrated.",
        ),
    ] = None
    prevalence: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="EM models that estimate a prevalence: global (one for all items) or topic (one per topic).",
        ),
    ] = "global"
    inference: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="hybrid-confusion: gibbs (sampling, the default) or map (EM). hierarchical: gibbs. All others: map.",
        ),
    ] = None
    start: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="EM models: initialisation, vote or accurate. ordinal: mean, median, mean-trimmed or median-trimmed.",
        ),
    ] = None
    tolerance: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="NUMBER",
            help="EM models: stop when a step improves the log-likelihood per judgment by less than this.",
        ),
    ] = 1e-8
    iterations: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="EM models: maximum number of passes over the judgments.")
    ] = 5_000
    accelerate: Annotated[bool, typer.Option(help="EM models: accelerate EM with SQUAREM.")] = True
    ties: Annotated[
        str,
        typer.Option(
            metavar="HOW", help="All models: which of several equally likely labels to give: random, first or all."
        ),
    ] = "random"
    seed: o.Seed = 0

    def settings(self) -> dict[str, Any]:
        """Return the fields of ``adjudge.Options`` that are set here."""
        return {name: value for name, value in vars(self).items() if name != "model"}


@dataclass(frozen=True)
class Calibration:
    """How probabilities are calibrated."""

    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="All models: gold (learn from 5 or more gold items), judgments (soften probabilities where errors are "
            "correlated), or none. consensus: also crowds (weights that were learned on other crowds). The default of "
            "consensus is gold if there is enough of it, else crowds; that of other models is none.",
        ),
    ] = None


@dataclass(frozen=True)
class LargeData:
    """How judgments that do not fit into memory are fitted."""

    threads: o.Threads = None
    blocks: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Fit from disk: store the judgments of all files as blocks in this folder, or reuse its blocks.",
        ),
    ] = None
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="With --blocks: memory that one block may use, such as 500MB.")
    ] = None
    engine: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --blocks: what computes: threads (the default), dask or spark."),
    ] = None
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="With --engine dask: its scheduler, such as tcp://host:8786.")
    ] = None
    master: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="With --engine spark: its master, such as spark://host:7077.")
    ] = None

    def check_without_blocks(self) -> None:
        """Raise an error if an option is given that needs --blocks."""
        for name in ("memory", "engine", "scheduler", "master"):
            if getattr(self, name) is not None:
                raise UsageError(f"--{name} needs --blocks FOLDER")

    def check_engine(self) -> None:
        """Raise an error if there is no such engine, or if an address is for another engine."""
        name = self.engine or "threads"
        if name not in ENGINES:
            raise UsageError(not_one_of("engine", name, ENGINES))
        if self.scheduler is not None and name != "dask":
            raise UsageError(f"--scheduler needs --engine dask, but the engine is {name}")
        if self.master is not None and name != "spark":
            raise UsageError(f"--master needs --engine spark, but the engine is {name}")

    def start_engine(self) -> Engine:
        """Return the engine, which the caller closes."""
        if self.engine == "dask":
            from adjudge.engines.dask import Dask

            return Dask(self.scheduler, self.threads)
        if self.engine == "spark":
            from adjudge.engines.spark import Spark

            return Spark(self.master)
        from adjudge.engines.engine import Threads

        return Threads(self.threads)


@dataclass(frozen=True)
class Output:
    """Where the fit goes."""

    out: o.Out = None
    format: o.Format = None
    rows: o.Rows = 10


GOLD, MODEL, CALIBRATION, LARGE, OUTPUT = Gold(), ModelOptions(), Calibration(), LargeData(), Output()


@o.takes("gold", Gold)
@o.reads_judgments()
@o.takes("model", ModelOptions, section="Model")
@o.takes("prior", o.PriorOptions, section="Prior")
@o.takes("sampling", o.Sampling, section="Sampling (hybrid-confusion and hierarchical)")
@o.takes("calibration", Calibration, section="Calibration")
@o.takes("large", LargeData, section="Large data")
@o.takes("output", Output)
def fit(
    judgments: Annotated[
        list[str],
        typer.Argument(
            metavar="JUDGMENTS",
            help="Table with the columns item, judge and label: CSV, TSV, JSONL or Parquet; - reads standard input. "
            "With --blocks, one or more files.",
        ),
    ],
    gold: Gold = GOLD,
    reading: o.Reading = o.READING,
    model: ModelOptions = MODEL,
    prior: o.PriorOptions = o.PRIOR,
    sampling: o.Sampling = o.SAMPLING,
    calibration: Calibration = CALIBRATION,
    large: LargeData = LARGE,
    output: Output = OUTPUT,
) -> None:
    """Infer the true label of every item and the confusions of every judge.

    The result is printed as tables. --out also writes labels.csv (item, label, probability, one p_<label> column
    per label, entropy in bits, topic), judges.csv (judge, judgments, accuracy, and what the model estimates of each
    judge) and the fit itself, which other commands read. With one prevalence per topic,
    prevalence.csv is written too. A sampled model also writes matrices.csv, prevalence.csv and ranks.csv with 90 %
    intervals, and its draws for `adjudge check`.

    Judgments that do not fit into memory are fitted with --blocks; gold fixes truths there, and teaches nothing more.
    Labels are then written as Parquet files in labels/. If the run is interrupted, the same command continues it.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv --model dawid-skene --out fit/
    $ adjudge fit labels.csv --model majority --format csv
    $ adjudge fit labels.csv --model auto
    $ adjudge fit labels.csv --model glad --calibrate judgments
    $ adjudge fit labels.csv --model hybrid-confusion --until-converged --out fit/
    $ adjudge fit labels.csv --blocks blocks/ --out large/
    """
    from adjudge.cli.output import FIT_FORMATS, ChainProgress, FitProgress, check_fit_folder, check_output
    from adjudge.inference.fit import AUTO, DEFAULT
    from adjudge.inference.model import model_named
    from adjudge.inference.options import Options

    name = model.model or DEFAULT
    sampled = name != AUTO and (model.inference or model_named(name).inferences[0]) == "gibbs"
    options = Options(**model.settings(), run=sampling.run(), prior=prior.prior(), calibrate=calibration.calibrate)
    inputs = (*judgments, gold.gold, gold.judges, gold.without_judges)
    check_output(output.format, inputs, FIT_FORMATS)
    check_fit_folder(output.out, inputs)
    progress = ChainProgress(sampling.warmup + sampling.draws * sampling.thin) if sampled else FitProgress()
    if large.blocks is not None:
        if gold.without_judges is not None:
            raise UsageError("--without-judges cannot be used with --blocks: leave the judgments out of the files")
        _fit_blocks(judgments, name, gold, reading, options, large, output, progress)
        return
    large.check_without_blocks()
    if len(judgments) > 1:
        raise UsageError(f"{len(judgments)} files can only be read together with --blocks FOLDER; name one table")
    table, result = _fit_table(judgments[0], name, gold, reading, options, large.threads, progress)
    _deliver(result, table, output)


def _fit_table(
    path: str, model: str, gold: Gold, reading: o.Reading, options: Options, threads: int | None, progress: FitProgress
) -> tuple[Judgments, Fit]:
    """Return the judgments of a table, and their fit in memory."""
    from adjudge.data.gold import read_gold
    from adjudge.data.run_judges import read_judges
    from adjudge.inference.fit import AUTO, fit_auto
    from adjudge.inference.fit import fit as infer

    table, truth = reading.read(path, judges=gold.judges), None
    if gold.without_judges is not None:
        table = table.without_judges(read_judges(gold.without_judges))
    if gold.gold is not None:
        table, truth = read_gold(gold.gold, table, item=reading.item, label=reading.label, format=gold.gold_format)
    try:
        if model == AUTO:
            result = fit_auto(table, truth, options, trying=progress.trying, workers=threads, progress=progress)
        else:
            result = infer(table, model, truth, **vars(options), workers=threads, progress=progress)
    finally:
        progress.close()
    return table, result


def folder_for(result: Fit, out: str | None) -> str | None:
    """Return the folder to write a fit to: another than the named one if an interrupted fit would replace a fit."""
    if result.stopped == "interrupted" and out is not None and os.path.exists(out):
        return f"{out.rstrip('/')}-interrupted"
    return out


def _deliver(result: Fit, table: Judgments, output: Output) -> None:
    """Write and print a fit; exit with code 130 if it was interrupted."""
    from adjudge.cli.output import deliver

    deliver(result, table, folder_for(result, output.out), output.format, output.rows)
    say_how_certain(result, table)
    warn_unconverged(result)
    if result.stopped == "interrupted":
        raise typer.Exit(130)


def say_how_certain(result: Fit, table: Judgments) -> None:
    """Say whether families were used, how many labels should be right, and when not to believe a model."""
    from adjudge.inference.calibrate import doubt

    calibration = result.calibration
    lines = [doubt(result, table)] if calibration is None else [calibration.words, calibration.more_gold]
    for line in filter(None, [result.family_words, *lines]):
        print(f"adjudge: {line}", file=sys.stderr)


def warn_unconverged(result: Fit) -> None:
    """Warn of an EM fit that has not converged; chains say it in their own words."""
    from adjudge.cli.output import warn

    if not result.converged and result.draws is None:
        warn(f"the fit has not converged: {result.stopped}")


def _fit_blocks(
    files: list[str],
    model: str,
    gold: Gold,
    reading: o.Reading,
    options: Options,
    large: LargeData,
    output: Output,
    progress: FitProgress,
) -> None:
    """Fit judgments in blocks on disk, and print a summary."""
    from adjudge.engines.fit_blocks import fit_blocks, refuse_in_memory, refuse_same_folder

    if model == "auto":
        raise UsageError("--model auto compares models in memory: name a model to use --blocks")
    if output.out is None or output.format is not None:
        raise UsageError("--blocks writes its result to a folder: give --out FOLDER, and leave out --format")
    memory = parse_size(large.memory)
    large.check_engine()
    refuse_in_memory(options)  # before the rows are read, which may take hours
    refuse_same_folder(output.out, str(large.blocks))
    try:
        blocks = _store(files, gold, reading, str(large.blocks), memory)
        with closing(large.start_engine()) as engine:
            result = fit_blocks(blocks, model, out=output.out, engine=engine, options=options, progress=progress)
    finally:
        progress.close()
    _show_blocks(result, output.out)


def _store(files: list[str], gold: Gold, reading: o.Reading, folder: str, memory: int | None) -> Blocks:
    """Return the judgments of files as blocks in a folder, with gold; ``memory`` is the most bytes of a block."""
    from adjudge.cli.output import StepProgress
    from adjudge.data.blocks import with_gold
    from adjudge.data.encode import LabelOptions
    from adjudge.data.make_blocks import Table, make_blocks
    from adjudge.data.read import with_panel

    if reading.time is not None:
        raise UsageError("--blocks does not store times: leave out --time")
    columns = {role: getattr(reading, role) for role in ("item", "judge", "label", "topic", "weight")}
    labels = o.label_list(reading.labels)
    values = o.label_values(reading.values)
    table = Table(
        files,
        columns,
        labels,
        reading.ordinal,
        reading.repeats,
        reading.input_format,
        values,
        LabelOptions(o.label_list(reading.missing), o.label_list(reading.abstain), reading.keep_case),
    )
    with StepProgress() as progress_line:
        blocks = make_blocks(table, folder, memory=memory, say=progress_line)
    number = f"{len(blocks.parts):,} block{'s' if len(blocks.parts) > 1 else ''}"
    print(f"{len(blocks):,} judgments of {blocks.items:,} items in {number}", file=sys.stderr)
    if gold.gold is not None:
        blocks = with_gold(blocks, gold.gold, item=reading.item, label=reading.label, format=gold.gold_format)
    return blocks if gold.judges is None else with_panel(blocks, gold.judges, reading.judge)


def _show_blocks(result: FitOnDisk, out: str) -> None:
    """Print a summary of a fit on disk; exit with code 130 if it was interrupted."""
    fit, shares = result.fit, result.label_counts / result.label_counts.sum()
    print(f"{fit.model}: {result.items:,} items, {len(fit.judge_names):,} judges; {fit.stopped}")
    for name, share in zip(fit.scale.names, shares, strict=True):
        print(f"  {name}: {share:.1%} of items")
    print(f"wrote labels/, judges.csv and the fit to {out}")
    if fit.calibration is None:
        print(
            "adjudge: probabilities are the model's own, which are over-confident: leave out --model", file=sys.stderr
        )
    else:
        print(f"adjudge: {fit.calibration.words}", file=sys.stderr)
    warn_unconverged(fit)
    if fit.stopped == "interrupted":
        print(f"adjudge: the same command continues from here ({fit.passes:,} passes)", file=sys.stderr)
        raise typer.Exit(130)


def parse_size(size: str | None) -> int | None:
    """Return a size such as 500MB in bytes."""
    if size is None:
        return None
    match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)i?b?\s*", size.lower())
    if match is None or not match[1].replace(".", "", 1).isdigit() or not float(match[1]):
        raise UsageError(f"memory {size!r} is not a size such as 500MB or 2GB")
    return max(1, int(float(match[1]) * UNITS[match[2]]))
