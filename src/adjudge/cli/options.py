"""Options that several commands share, declared once so that they are spelled the same everywhere."""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import typer

if TYPE_CHECKING:
    from adjudge.data.judgments import Judgments
    from adjudge.inference.chains import Run
    from adjudge.inference.params import Prior
    from adjudge.inference.result import Fit


Decorator: TypeAlias = Callable[[Callable[..., None]], Callable[..., None]]
INPUT, OUTPUT = "Input", "Output"  # sections of help


def example_option(metavar: str, write: Callable[[str], None]) -> Any:
    """Return the option that writes small files to try with ``write``, and stops."""

    def callback(path: str | None) -> None:
        if path is not None:
            write(path)
            raise typer.Exit

    return typer.Option(
        "--example",
        metavar=metavar,
        callback=callback,
        is_eager=True,
        rich_help_panel=OUTPUT,
        help="Write small example input here, and exit.",
    )


def input_option(name: str, metavar: str | None, text: str) -> Any:
    """Return an option of the section Input, with its help text; a flag has no ``metavar``."""
    return typer.Option(name, metavar=metavar, rich_help_panel=INPUT, help=text)


def output_option(name: str, metavar: str | None, text: str) -> Any:
    """Return an option of the section Output, with its help text; a flag has no ``metavar``."""
    return typer.Option(name, metavar=metavar, rich_help_panel=OUTPUT, help=text)


def out_option(metavar: str, text: str) -> Any:
    """Return the option --out, with its help text."""
    return typer.Option("--out", "-o", metavar=metavar, rich_help_panel=OUTPUT, help=text)


def column_option(role: str, content: str) -> Any:
    """Return the option that names a column of the input."""
    return input_option(f"--{role}", "COLUMN", f"Name of the column of {content}.")


Table: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="JUDGMENTS",
        help="Table with the columns item, judge and label, a wide table, or an export of an annotation tool: CSV, "
        "TSV, JSON, JSONL, Parquet, Arrow or Excel; - reads standard input.",
    ),
]
FitFolder: TypeAlias = Annotated[str, typer.Argument(metavar="FIT", help="Folder that `adjudge fit --out` wrote.")]
KeptTable: TypeAlias = Annotated[
    str | None,
    input_option("--judgments", "TABLE", "The judgments of the fit; needed if its folder does not hold them."),
]
TruthTable: TypeAlias = Annotated[
    str | None,
    input_option("--truth", "TABLE", "Table of (item, label) that the fit did not use, to compare its labels with."),
]
Queries: TypeAlias = Annotated[
    str, typer.Argument(metavar="QUERIES", help="Table of (query_id, text), or lines of name, tab and text.")
]
Grades: TypeAlias = Annotated[
    str | None, input_option("--grades", "QRELS", "Labels of the documents: qrels, or a table of (topic, item, label).")
]
ItemColumn: TypeAlias = Annotated[str | None, column_option("item", "items")]
JudgeColumn: TypeAlias = Annotated[str | None, column_option("judge", "judges")]
LabelColumn: TypeAlias = Annotated[str | None, column_option("label", "labels")]
TopicColumn: TypeAlias = Annotated[str | None, column_option("topic", "topics")]
WeightColumn: TypeAlias = Annotated[str | None, column_option("weight", "weights: how often each judgment counts")]
TimeColumn: TypeAlias = Annotated[str | None, column_option("time", "times")]
InputFormat: TypeAlias = Annotated[
    str | None,
    input_option(
        "--input-format",
        "FORMAT",
        "csv, tsv, json, jsonl, parquet, arrow, excel, qrels, trec-task1, trec-task2 or trec-task2-run; or a shape "
        "such as wide, mturk or label-studio. Needed only if it is not recognised.",
    ),
]
Labels: TypeAlias = Annotated[
    str | None, input_option("--labels", "A,B,C", "All labels, in order; any other label is an error.")
]
Ordinal: TypeAlias = Annotated[
    bool, typer.Option("--ordinal", rich_help_panel=INPUT, help="The labels are ordered, lowest first.")
]
Values: TypeAlias = Annotated[
    str | None,
    input_option(
        "--values",
        "A=0,B=1",
        "The value of every label: labels are ordered by it, and expected values are on its scale.",
    ),
]
Missing: TypeAlias = Annotated[
    str | None,
    input_option(
        "--missing",
        "A,B",
        "Texts that mean that there is no label, instead of NaN, None, NA, n/a, null and the like. An empty cell is "
        'always missing; --missing "" counts nothing else as missing.',
    ),
]
Abstain: TypeAlias = Annotated[
    str | None,
    input_option(
        "--abstain",
        "A,B",
        "Labels that mean that the judge could not tell, such as unsure,skip. They are no evidence about the label, "
        "and are counted by judge.",
    ),
]
KeepCase: TypeAlias = Annotated[
    bool, input_option("--keep-case", None, "Yes and yes are different labels. By default they are one, with a note.")
]
Repeats: TypeAlias = Annotated[
    str,
    input_option(
        "--repeats",
        "HOW",
        "If a judge labels an item more than once: keep all, merge equal labels, or drop all but the first.",
    ),
]
Gold: TypeAlias = Annotated[
    str | None, input_option("--gold", "TABLE", "Table of (item, label): items whose truth is known.")
]
GoldFormat: TypeAlias = Annotated[
    str | None,
    input_option("--gold-format", "FORMAT", "Format of the gold table; needed if its file name does not show it."),
]
Judges: TypeAlias = Annotated[
    str | None,
    input_option(
        "--judges",
        "TABLE",
        "Table of (judge, kind, family, model, prompt), of which judge and one more are enough: what the judges are. "
        "Kinds are person, expert and machine.",
    ),
]
Out: TypeAlias = Annotated[
    str | None, out_option("FOLDER", "Write labels.csv, judges.csv and the saved fit to this folder.")
]
Format: TypeAlias = Annotated[
    str | None,
    output_option(
        "--format",
        "FORMAT",
        "Print only the labels, as csv, jsonl or parquet; or a TREC file: qrels, run (items ranked in their topics), "
        "trec-task2-run (ranks and probabilities) or trec-task2-run-quantised (ranks and labels 0 or 1).",
    ),
]
TableFormat: TypeAlias = Annotated[
    str | None, output_option("--format", "FORMAT", "Print only the table, as csv, jsonl or parquet.")
]
LatexFormat: TypeAlias = Annotated[
    str | None, output_option("--format", "FORMAT", "Print only the table, as csv, jsonl, parquet or latex.")
]
TableFile: TypeAlias = Annotated[
    str | None, out_option("FILE", "Write the full table to this .csv, .jsonl or .parquet file.")
]
Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", min=0, metavar="NUMBER", help="Random seed; the same seed gives the same result.")
]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option("--threads", min=1, metavar="NUMBER", help="Number of threads; the result does not depend on it."),
]
Rows: TypeAlias = Annotated[
    int,
    typer.Option(
        "--rows", min=1, metavar="NUMBER", rich_help_panel=OUTPUT, help="Number of rows to show of each table."
    ),
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
    values: Values = None
    missing: Missing = None
    abstain: Abstain = None
    keep_case: KeepCase = False
    repeats: Repeats = "keep"

    def read(self, path: str, **instead: Any) -> Judgments:
        """Read the table; ``instead`` replaces options."""
        from adjudge.data.read import read

        return read(path, **{**self.arguments(), **instead})

    def read_like(self, fit: Fit, path: str, **instead: Any) -> Judgments:
        """Read the table on the scale of a fit; ``instead`` replaces options."""
        return self.read(path, labels=fit.scale, **instead)

    def arguments(self) -> dict[str, Any]:
        """Return the options as the arguments of ``adjudge.read``."""
        lists = {name: label_list(getattr(self, name)) for name in ("labels", "missing", "abstain")}
        arguments = {**vars(self), **lists, "values": label_values(self.values)}
        return {"format": arguments.pop("input_format"), **arguments}

    def changed(self) -> list[str]:
        """Return the options that are not at their defaults, as one types them."""
        return [f"--{name.replace('_', '-')}" for name, value in vars(self).items() if value != vars(READING)[name]]


@dataclass(frozen=True)
class Sampling:
    """How long the chains of a sampled model are."""

    chains: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Number of Markov chains.")] = 3
    warmup: Annotated[
        int, typer.Option(min=0, metavar="SWEEPS", help="Sweeps of each chain that are discarded first.")
    ] = 1_000
    draws: Annotated[int, typer.Option(min=4, metavar="NUMBER", help="Draws of each chain that are kept.")] = 1_000
    thin: Annotated[int, typer.Option(min=1, metavar="SWEEPS", help="Sweeps per draw that is kept.")] = 1
    until_converged: Annotated[
        bool,
        typer.Option("--until-converged", help="Double the chains' length until R-hat and effective sizes are good."),
    ] = False
    truths: Annotated[
        bool, typer.Option("--keep-truths", help="Also store the drawn truth of every item (for `adjudge evaluate`).")
    ] = False

    def run(self) -> Run | None:
        """Return the run, or None if every option is at its default."""
        from adjudge.inference.chains import Run

        return Run(**vars(self)) if self != SAMPLING else None


@dataclass(frozen=True)
class PriorOptions:
    """The prior of models that have one."""

    trust: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="LAMBDA",
            help="hybrid-confusion: how many times likelier the true label is than any one wrong label [3].",
        ),
    ] = None
    decay: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SHARE",
            help="hybrid-confusion with --ordinal: the share of trust that remains per step away from the truth.",
        ),
    ] = None
    prior_rows: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="hybrid-confusion: CSV of Dirichlet pseudo-counts without a header, one row per true label.",
        ),
    ] = None
    least_kappa: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="hierarchical: lower bound of the prior on kappa [0.1].")
    ] = None
    difficulty: Annotated[
        bool,
        typer.Option(
            "--difficulty",
            help="hybrid-confusion and hierarchical: some items are harder than others for all judges.",
        ),
    ] = False
    families: Annotated[
        bool,
        typer.Option(
            "--families",
            help="hybrid-confusion and hierarchical, sampled with --difficulty: families of judges (--judges) may find "
            "different items hard. On most real panels this makes probabilities worse.",
        ),
    ] = False
    gold_informs: Annotated[
        bool,
        typer.Option(
            "--gold-informs/--gold-informs-not",
            help="All models: whether gold items count in the prevalence. Use --gold-informs-not if gold items were "
            "selected by their truth.",
        ),
    ] = True

    def prior(self) -> Prior | None:
        """Return the prior, or None if every option is at its default."""
        from adjudge.inference.params import Prior, read_rows

        values = {"trust": self.trust, "decay": self.decay, "least": self.least_kappa}
        chosen: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        if self.prior_rows is not None:
            chosen["rows"] = read_rows(self.prior_rows)
        chosen |= {name: True for name in ("difficulty", "families") if getattr(self, name)}
        if not self.gold_informs:
            chosen["gold_informs"] = False
        return Prior(**chosen) if chosen else None


MEASURE_NAMES = (  # as in adjudge.metrics.ranking; a test compares them
    "MAP, MRR, nDCG, ERR, RBP, Judged (also with @k), P@k, R@k, Success@k, Rprec, Bpref, infAP, SetP, SetR, SetF, SetAP"
)
MEASURES_HELP = f"{MEASURE_NAMES}; parameters as in ir_measures, such as AP(rel=2) or nDCG(dcg='exp-log2')@10."

READING, SAMPLING, PRIOR = Reading(), Sampling(), PriorOptions()  # the defaults


def takes(group: str, record: type, *, section: str | None = None, without: tuple[str, ...] = ()) -> Decorator:
    """Return a decorator that replaces a command's parameter ``group`` by the fields of a record.

    The fields become options, in the ``section`` of the help unless they have their own, except those in ``without``,
    which keep their defaults. The command itself still gets one record.
    """
    fields = inspect.signature(record, eval_str=True).parameters
    options = [in_section(field, section) for name, field in fields.items() if name not in without]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters = inspect.signature(command, eval_str=True).parameters
        expanded = [each for name, each in parameters.items() for each in (options if name == group else [each])]

        @functools.wraps(command)
        def call(**arguments: Any) -> None:
            values = {option.name: arguments.pop(option.name) for option in options}
            command(**arguments, **{group: record(**values)})

        call.__signature__ = inspect.Signature(expanded)  # type: ignore[attr-defined]
        call.__annotations__ = {each.name: each.annotation for each in expanded}  # typer reads both
        return call

    return decorate


def in_section(field: inspect.Parameter, section: str | None) -> inspect.Parameter:
    """Return an option as one of a section of the help; one that has a section stays there."""
    kind, option = get_args(field.annotation)
    if section is None or option.rich_help_panel is not None:
        return field
    option = copy.copy(option)
    option.rich_help_panel = section
    return field.replace(annotation=Annotated[kind, option])


def reads_judgments(*without: str) -> Decorator:
    """Return a decorator that replaces a command's ``reading`` by the options of ``Reading``, except some."""
    return takes("reading", Reading, without=without)


def label_list(text: str | None) -> list[str] | None:
    """Return a list of names that are separated by commas."""
    return None if text is None else [name for name in (part.strip() for part in text.split(",")) if name]


def label_values(text: str | None) -> dict[str, float] | None:
    """Return the values of labels that are written as ``bad=0,good=3``, by label."""
    if text is None:
        return None
    values = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(.*\S)\s*=\s*([-+]?\d*\.?\d+)\s*", part)
        if match is None:
            raise typer.BadParameter(f"{part!r} is not of the form label=number, such as good=3", param_hint="--values")
        if match[1] in values:
            raise typer.BadParameter(f"label {match[1]!r} has two values", param_hint="--values")
        values[match[1]] = float(match[2])
    return values


def sizes(settings: list[str]) -> dict[str, float]:
    """Return settings such as ``items=100`` by name."""
    values = {}
    for setting in settings:
        match = re.fullmatch(r"([a-z_]+)=([-+.\deE]+)", setting)
        if match is None:
            raise typer.BadParameter(f"{setting!r} is not of the form name=number, such as items=100")
        number = float(match[2])
        values[match[1]] = int(number) if number.is_integer() else number
    return values
