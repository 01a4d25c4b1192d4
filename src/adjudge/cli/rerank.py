"""``adjudge rerank``: train a ranker on what a crowd judged, apply it, and choose which documents to judge again."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o
from adjudge.cli.help import add_commands, command_group
from adjudge.errors import UsageError

if TYPE_CHECKING:
    from adjudge.learn.judge_again import JudgeAgain
    from adjudge.learn.rerank import Trained


FeatureTable = Annotated[
    str,
    typer.Argument(
        metavar="FEATURES",
        help="Table of (topic, document) and features as `adjudge features` writes it: CSV, TSV, JSONL, Parquet, .svm.",
    ),
]
FEATURES = 10  # features of a ranker that are shown


def _example(folder: str) -> None:
    """Write judgments, features, a run and the truth."""
    from adjudge.cli.output import write_examples
    from adjudge.learn.rerank import example

    write_examples(example(), folder)


@dataclass(frozen=True)
class Source:
    """What a ranker learns from."""

    fit: Annotated[
        str | None, typer.Option("--fit", metavar="FOLDER", help="Learn from a saved fit of judgments with topics.")
    ] = None
    learn: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="With --fit: pairs (all pairs, weighted by the difference of their probabilities), margin or entropy "
            "(labels, weighted by their certainty), or label (labels only). Default: pairs, margin or label is chosen.",
        ),
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Learn from labels and weights, as `adjudge weights` writes them."),
    ] = None
    grades: Annotated[
        str | None, typer.Option(metavar="QRELS", help="Learn from grades: qrels, or a table of (topic, item, label).")
    ] = None

    joint: Annotated[
        bool,
        typer.Option(
            "--joint",
            help="With --fit: let the ranker and the consensus learn from each other (Raykar's loop); learns by pairs.",
        ),
    ] = False

    def check(self) -> None:
        """Raise an error unless there is exactly one source."""
        sources = (("--fit", self.fit), ("--weights", self.weights), ("--grades", self.grades))
        named = [option for option, value in sources if value]
        if len(named) != 1:
            got = " and ".join(named) or "none"
            raise UsageError(f"give exactly one of --fit, --weights and --grades to learn from: got {got}")
        if self.learn is not None and self.fit is None:
            raise UsageError(f"--learn {self.learn} needs a fit: give its folder with --fit")
        if self.joint and self.fit is None:
            raise UsageError("--joint needs a fit: give its folder with --fit")
        if self.joint and self.learn not in (None, "pairs"):
            raise UsageError(f"--joint learns by pairs: leave out --learn {self.learn}")


@dataclass(frozen=True)
class RankerOptions:
    """Which ranker is trained."""

    ranker: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="svm, or lambdamart (needs LightGBM). Default: chosen by cross-validation."),
    ] = None
    c: Annotated[
        str | None,
        typer.Option("-c", "--cost", metavar="NUMBER", help="svm: cost of slack, or svmlight. Default: chosen."),
    ] = None
    pair_weight: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="svm: weight of a pair from its documents' weights: mean [default], product, min, positive.",
        ),
    ] = None
    trees: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="lambdamart: number of trees. Default: chosen.")
    ] = None
    first: Annotated[
        str | None,
        typer.Option(
            metavar="FEATURE|RUN",
            help="All rankers: the first stage to beat, a feature or a run. Default: the feature bm25, if it is there.",
        ),
    ] = None
    folds: Annotated[
        int, typer.Option(min=2, metavar="NUMBER", help="All rankers: number of cross-validation folds by topic.")
    ] = 5
    seed: o.Seed = 0

    def build(self) -> Any:
        """Return the ranker, not trained yet, or its name; None if it is chosen."""
        from adjudge.learn.lambdamart import LambdaMART
        from adjudge.learn.ranksvm import RankSVM

        if self.trees is not None:
            if self.ranker != "lambdamart":
                raise UsageError("--trees needs --ranker lambdamart")
            return LambdaMART(self.trees)
        if self.c is None and self.pair_weight is None:
            return self.ranker
        if self.ranker == "lambdamart":
            raise UsageError(f"--{'cost' if self.c is not None else 'pair-weight'} needs --ranker svm")
        return RankSVM(_parse_cost(self.c), pair_weight=self.pair_weight or "mean")


SOURCE, RANKER = Source(), RankerOptions()


@o.takes("source", Source, section="Learn from one of")
@o.takes("options", RankerOptions, section="Ranker")
def train(
    features: FeatureTable,
    source: Source = SOURCE,
    options: RankerOptions = RANKER,
    *,
    out: Annotated[str, o.out_option("FOLDER", "Write the ranker to this folder.")],
    run: Annotated[
        str | None,
        o.output_option(
            "--run",
            "FILE",
            "Write a cross-validated run: every topic is ranked by a ranker that did not learn from it.",
        ),
    ] = None,
    force: Annotated[
        bool, o.output_option("--force", None, "Save the ranker even if it does not beat the first stage.")
    ] = False,
    example: Annotated[str | None, o.example_option("FOLDER", _example)] = None,
) -> None:
    """Train a ranker on features of documents, from what a crowd judged.

    The ranker learns from pairs of documents of the same topic. A topic whose documents all have the same label is
    skipped. How it learns, its cost of slack, and whether it is linear or has trees, is chosen inside folds by topic,
    unless options say it: all settings that are about as good as the best are averaged. MRR, MAP and P@1 are of topics
    that neither the ranker nor the choice has learned from, against the labels that are learned from; they need at
    least two topics.

    A ranker whose MAP is not above that of the first stage is not saved, and the exit status is 1; --force saves it.

    \b
    $ adjudge rerank train --example rerank/
    $ adjudge fit rerank/labels.csv --out rerank/fit
    $ adjudge rerank train rerank/features.csv --fit rerank/fit --out rerank/svm --run rerank/svm.run
    $ adjudge evaluate --fit rerank/fit rerank/bm25.run rerank/svm.run
    """
    from adjudge.cli.output import StepProgress, check_file, check_folder
    from adjudge.data.run_judges import judges_path, judges_text
    from adjudge.data.runs import run_text
    from adjudge.data.write import write_file
    from adjudge.learn.rerank import train as learn
    from adjudge.learn.training_set import read_features

    source.check()
    check_folder(out)
    check_file(run, (features, source.weights, source.grades, options.first), "--run", new_folder=out)
    ranker, table = options.build(), read_features(features)
    with StepProgress() as line:
        trained = learn(
            table,
            source.fit,
            weights=source.weights,
            grades=source.grades,
            learn=source.learn,
            ranker=ranker,
            joint=source.joint,
            first=options.first,
            folds=options.folds,
            seed=options.seed,
            progress=lambda done, total, name: line(f"choosing: {done:,} of {total:,} rankers, {name}"),
        )
    content = None if run is None else run_text(trained.run(table, Path(run).stem)).encode()
    _show(trained)
    trained.save(out, force=force)
    if run is not None and content is not None:
        write_file(content, run)
        if trained.judges:
            write_file(judges_text(trained.judges), judges_path(run))
    print(f"wrote the ranker to {out}" + (f", and the run to {run}" if run is not None else ""))


def apply(
    ranker: Annotated[str, typer.Argument(metavar="RANKER", help="Folder that `adjudge rerank train` wrote.")],
    features: FeatureTable,
    name: Annotated[str | None, o.output_option("--name", "TEXT", "Name of the run; default: that of RANKER.")] = None,
    out: Annotated[str | None, o.out_option("FILE", "Write the run here instead of printing it.")] = None,
) -> None:
    """Rank documents with a trained ranker, and write a TREC run.

    Features are matched by name. A ranker that was trained in Python on arrays has no feature names: it takes the
    features in the order of the table, and there must be as many as it was trained on.

    \b
    $ adjudge rerank apply rerank/svm rerank/features.csv --out rerank/again.run
    """
    from adjudge.cli.output import check_file
    from adjudge.data.run_judges import judges_path
    from adjudge.data.runs import run_text
    from adjudge.data.write import write_file
    from adjudge.learn.rerank import JUDGES_FILE
    from adjudge.learn.rerank import apply as rank

    check_file(out, (features,))
    run = rank(ranker, features, name)
    if out is None:
        sys.stdout.write(run_text(run))
        return
    write_file(run_text(run).encode(), out)
    if (Path(ranker) / JUDGES_FILE).is_file():
        write_file((Path(ranker) / JUDGES_FILE).read_bytes(), judges_path(out))
    print(f"wrote {run.table.height:,} documents of {len(run.ranked):,} topics to {out}")


@o.reads_judgments("labels", "ordinal", "values", "repeats")
def again(
    features: FeatureTable,
    fit: Annotated[str, o.input_option("--fit", "FOLDER", "Saved fit that the ranker learns from.")],
    judgments: o.KeptTable = None,
    reading: o.Reading = o.READING,
    budget: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Number of documents to choose.")] = 20,
    cost: Annotated[float, typer.Option("-c", "--cost", metavar="NUMBER", help="svm: cost of slack.")] = 1.0,
    out: Annotated[str | None, o.out_option("FILE", "Write them as a pool for `adjudge campaign new --pool`.")] = None,
) -> None:
    """Choose the documents whose next judgment would change the ranking most.

    Documents and topics that nobody judged can be among them.

    \b
    $ adjudge rerank again rerank/features.csv --fit rerank/fit --budget 50 --out rerank/pool.csv
    """
    from adjudge.cli.output import check_file, kept_judgments
    from adjudge.data.write import write_file
    from adjudge.inference.save import load
    from adjudge.learn.rerank import again as choose

    check_file(out, (features, judgments))
    saved = load(fit)
    chosen = choose(saved, features, kept_judgments(fit, saved, judgments, reading), budget=budget, c=cost)
    _show_again(chosen)
    if out is not None:
        write_file(chosen.pool().encode(), out)
        print(f"wrote {len(chosen):,} pairs to {out}")


rerank = command_group(
    help="""Learn a ranking from what a crowd judged: train a ranker, apply it, choose what to judge again.

    \b
    $ adjudge rerank train --example rerank/
    $ adjudge fit rerank/labels.csv --out rerank/fit
    $ adjudge rerank train rerank/features.csv --fit rerank/fit --out rerank/svm --run rerank/svm.run
    $ adjudge evaluate --fit rerank/fit rerank/bm25.run rerank/svm.run
    $ adjudge rerank again rerank/features.csv --fit rerank/fit --out rerank/pool.csv
    """
)
add_commands(rerank, None, (train, apply, again))


def _parse_cost(text: str | None) -> float | str | None:
    """Return --cost as a number, or as the name svmlight."""
    if text is None or text == "svmlight":
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--cost {text} is neither a number nor svmlight") from None


def _show(trained: Trained) -> None:
    """Print what was learned, and how good it is."""
    from adjudge.cli.output import console, table
    from adjudge.errors import quoted

    ranker, skipped = trained.ranker, trained.ranker.groups_without_pairs_
    print(f"learned from {ranker.pairs_:,} pairs of {trained.topics - skipped:,} topics")
    if hasattr(ranker, "coef_") and ranker.coef_.any():
        title = "Features with the largest weights, in their own units"
        title += " (linear part)" if getattr(ranker, "trees_", ()) else ""
        order = abs(ranker.coef_).argsort()[::-1][:FEATURES]
        rows = [(str(ranker.feature_names_in_[f]), float(ranker.coef_[f])) for f in order]
        console().print(table(title, ("feature", "weight"), rows))
        if trained.unchanging:
            constant, total = len(trained.unchanging), ranker.n_features_in_
            names = quoted(trained.unchanging)
            print(f"{constant:,} of {total:,} features are constant within every topic and have no effect: {names}")
    if trained.choice is not None:
        number, topics = len(trained.choice.candidates), trained.choice.topics
        print(f"chosen from {number:,} candidates by {topics:,} topics: {trained.choice.final}")
    if trained.joint is not None:
        print(f"the ranker and the consensus learned from each other in {trained.joint.rounds} rounds")
    title = f"On topics that were not learned from ({trained.folds} folds), by what is learned from"
    if trained.comparison is not None:
        head = ("measure", trained.comparison.first, "ranker", "difference", "95% interval", "p")
        gains = [
            (g.measure, g.first, g.ranker, f"{g.difference:+.3f}", f"{g.low:+.3f} to {g.high:+.3f}", f"{g.p:.3g}")
            for g in trained.comparison.gains.values()
        ]
        console().print(table(title, head, gains))
        print(trained.comparison.verdict)
    elif trained.measures:
        console().print(table(title, ("measure", "mean"), list(trained.measures.items())))
        print("the ranker was not compared with a first stage: name a feature or a run with --first")
    if trained.unmeasured is not None:
        print(f"MRR, MAP and P@1 are not defined: {trained.unmeasured}")


def _show_again(chosen: JudgeAgain) -> None:
    """Print the documents to judge again."""
    from adjudge.cli.output import console, table
    from adjudge.errors import quoted

    if not len(chosen):
        print("no judgment would change the ranking")
        return
    head = ("topic", "document", "judgments", "relevant", "probability change", "ranking change")
    rows = [
        (each.topic, each.document, each.judgments, each.relevant, f"{each.moves:.3f}", f"{each.turns:.2g}")
        for each in chosen.documents
    ]
    console().print(table("Documents whose next judgment would change the ranking most", head, rows))
    if chosen.unjudged:
        count = sum(each.topic in set(chosen.unjudged) for each in chosen.documents)
        topics, names = len(chosen.unjudged), quoted(chosen.unjudged)
        print(f"{topics:,} topics have no judgments ({names}); {count:,} of these documents are theirs")
