"""Options that several commands share: said once, spelt the same everywhere."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from adjudge.data.judgments import Judgments
    from adjudge.inference.chains import Run
    from adjudge.inference.prior import Prior


Decorator: TypeAlias = Callable[[Callable[..., None]], Callable[..., None]]
Table: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="JUDGMENTS", help="A table of (item, judge, label): CSV, TSV, JSONL, Parquet; - is standard input."
    ),
]
KeptTable: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--judgments",
        metavar="TABLE",
        help="The judgments that were fitted, where they do not lie in the fit's folder.",
    ),
]
ItemColumn: TypeAlias = Annotated[str | None, typer.Option("--item", metavar="COLUMN", help="The column of items.")]
JudgeColumn: TypeAlias = Annotated[str | None, typer.Option("--judge", metavar="COLUMN", help="The column of judges.")]
LabelColumn: TypeAlias = Annotated[str | None, typer.Option("--label", metavar="COLUMN", help="The column of labels.")]
TopicColumn: TypeAlias = Annotated[str | None, typer.Option("--topic", metavar="COLUMN", help="The column of topics.")]
WeightColumn: TypeAlias = Annotated[
    str | None, typer.Option("--weight", metavar="COLUMN", help="The column that says how often a judgment counts.")
]
TimeColumn: TypeAlias = Annotated[str | None, typer.Option("--time", metavar="COLUMN", help="The column of times.")]
InputFormat: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        metavar="FORMAT",
        help="csv, tsv, jsonl, parquet, qrels, trec-task1, trec-task2 or trec-task2-run, "
        "where the file's name does not tell.",
    ),
]
Labels: TypeAlias = Annotated[
    str | None, typer.Option("--labels", metavar="A,B,C", help="All labels there are, in order; others are refused.")
]
Ordinal: TypeAlias = Annotated[bool, typer.Option("--ordinal", help="The order of the labels means something.")]
Repeats: TypeAlias = Annotated[
    str,
    typer.Option(
        "--repeats",
        metavar="HOW",
        help="A judge's repeats on an item: keep, merge (same label) or drop (all but the first).",
    ),
]
Gold: TypeAlias = Annotated[
    str | None,
    typer.Option("--gold", metavar="TABLE", help="A table of (item, label): truths that are known."),
]
GoldFormat: TypeAlias = Annotated[
    str | None, typer.Option("--gold-format", metavar="FORMAT", help="Gold's format, where its name does not tell.")
]
Out: TypeAlias = Annotated[
    str | None,
    typer.Option("--out", "-o", metavar="FOLDER", help="Write labels.csv, judges.csv and the fit itself here."),
]
Format: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Print the labels for machines: csv, jsonl, parquet, qrels or trec-task2-run.",
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", min=0, metavar="NUMBER", help="The same seed gives the same result.")
]
Rows: TypeAlias = Annotated[
    int, typer.Option("--rows", min=1, metavar="NUMBER", help="How many rows of each table people see.")
]


@dataclass(frozen=True)
class Reading:
    """How a table of judgments is read: the options of every command that reads one."""

    item: ItemColumn = None
    judge: JudgeColumn = None
    label: LabelColumn = None
    topic: TopicColumn = None
    weight: WeightColumn = None
    time: TimeColumn = None
    input_format: InputFormat = None
    labels: Labels = None
    ordinal: Ordinal = False
    repeats: Repeats = "keep"

    def read(self, path: str, **instead: Any) -> Judgments:
        """Read the table, with what is to hold instead of an option."""
        from adjudge.data.read import read

        given = {**vars(self), "labels": label_list(self.labels), **instead}
        return read(path, format=given.pop("input_format"), **given)


@dataclass(frozen=True)
class Sampling:
    """How long chains are: the options of every command that samples."""

    chains: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Markov chains, side by side.")] = 3
    warmup: Annotated[int, typer.Option(min=0, metavar="SWEEPS", help="Sweeps of each that are not kept.")] = 1_000
    draws: Annotated[int, typer.Option(min=4, metavar="NUMBER", help="Draws of each that are kept.")] = 1_000
    thin: Annotated[int, typer.Option(min=1, metavar="SWEEPS", help="Sweeps for each draw that is kept.")] = 1
    until_converged: Annotated[
        bool, typer.Option("--until-converged", help="Go on, twice as far each time, until R-hat and ESS are good.")
    ] = False

    truths: Annotated[bool, typer.Option("--keep-truths", help="Keep every truth that is drawn, as bits.")] = False

    def run(self) -> Run | None:
        """Return the run, None where nothing was asked for."""
        from adjudge.inference.chains import Run

        return Run(**vars(self)) if self != USUAL_RUN else None


@dataclass(frozen=True)
class Believing:
    """What is believed before any judgment: the options of models that have a prior."""

    trust: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="LAMBDA",
            help="Of hybrid-confusion: how much likelier a judge is taken to be right than to say any wrong label [3].",
        ),
    ] = None
    decay: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SHARE",
            help="Of hybrid-confusion, on an ordinal scale: trust left with each step from the truth.",
        ),
    ] = None
    prior_rows: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE", help="Of hybrid-confusion: a CSV of pseudo-counts without a head, a row a truth."
        ),
    ] = None
    least_kappa: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Of hierarchical: the least kappa that its prior knows [0.1]."),
    ] = None
    gold_informs: Annotated[
        bool,
        typer.Option(
            "--gold-informs/--gold-informs-not",
            help="Whether gold items count for how common truths are: not, where they were picked by their truth.",
        ),
    ] = True

    def prior(self) -> Prior | None:
        """Return the prior, None where nothing was asked for."""
        from adjudge.inference.prior import Prior, read_rows

        given = {"trust": self.trust, "decay": self.decay, "least": self.least_kappa}
        chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if self.prior_rows is not None:
            chosen["rows"] = read_rows(self.prior_rows)
        if not self.gold_informs:
            chosen["gold_informs"] = False
        return Prior(**chosen) if chosen else None


USUAL, USUAL_RUN, USUAL_PRIOR = Reading(), Sampling(), Believing()


def takes(
    group: str, record: type, without: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that puts the options of a record, or all but some, where a command has the group."""
    known = inspect.signature(record, eval_str=True).parameters
    options = [option for name, option in known.items() if name not in without]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        shown = [one for name, each in own.items() for one in (options if name == group else [each])]

        @functools.wraps(command)
        def call(**given: Any) -> None:
            named = {option.name: given.pop(option.name) for option in options}
            command(**given, **{group: record(**named)})

        call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        call.__annotations__ = {one.name: one.annotation for one in shown}  # typer reads both
        return call

    return decorate


def reads_judgments(*without: str) -> Decorator:
    """Return a decorator that puts the options of ``Reading``, or all but some, where a command has ``reading``."""
    return takes("reading", Reading, without)


def label_list(text: str | None) -> list[str] | None:
    """Return --labels as a list."""
    return None if text is None else [part for part in (piece.strip() for piece in text.split(",")) if part]


def sizes(settings: list[str]) -> dict[str, float]:
    """Return settings such as ``items=100`` by name."""
    found = {}
    for setting in settings:
        match = re.fullmatch(r"([a-z_]+)=([-+.\deE]+)", setting)
        if match is None:
            raise typer.BadParameter(f"{setting!r} is not of the form name=number, such as items=100")
        number = float(match[2])
        found[match[1]] = int(number) if number.is_integer() else number
    return found
