"""``adjudge rerank``: learn an order from a crowd, apply it, and ask which documents to judge again."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl
import typer

from adjudge.cli import options as o
from adjudge.cli.search import refuse_target
from adjudge.data.runs import read_run, run_text
from adjudge.data.simulate import simulate
from adjudge.data.write import table_text

if TYPE_CHECKING:
    from adjudge.learn.judge_again import JudgeAgain
    from adjudge.learn.training import Trained


rerank = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Learn a ranking from what a crowd judged: train a ranker, apply it, and ask what to judge again.

    \b
    $ adjudge rerank train --example rerank/
    $ adjudge fit rerank/labels.csv --out rerank/fit
    $ adjudge rerank train rerank/features.csv --fit rerank/fit --out rerank/svm --run rerank/svm.run
    $ adjudge evaluate --fit rerank/fit rerank/bm25.run rerank/svm.run
    $ adjudge rerank again rerank/features.csv --fit rerank/fit --out rerank/pool.csv
    """,
)
FeatureTable = Annotated[
    str,
    typer.Argument(
        metavar="FEATURES",
        help="A table of (topic, document) and numbers: CSV, TSV, JSONL, Parquet, or .svm, as `adjudge features` "
        "writes it.",
    ),
]
SHOWN = 10  # features of a ranker that people see


def _example(folder: str | None) -> None:
    """Write judgments, features, a run and the truth, and stop."""
    if folder is not None:
        from adjudge.data.write import write_whole

        files = example()
        write_whole(files, folder)
        print(f"wrote {', '.join(files)} to {folder}")
        raise typer.Exit


@rerank.command(no_args_is_help=True)
def train(
    features: FeatureTable,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FOLDER", help="Where the ranker goes.")],
    fit: Annotated[
        str | None, typer.Option("--fit", metavar="FOLDER", help="Learn from a saved fit of judgments with topics.")
    ] = None,
    learn: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Of --fit: pairs [usual], all pairs by how much their probabilities differ; margin or entropy, labels "
            "by how sure they are; label, labels alone.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Learn from labels and weights instead, as `adjudge weights` writes them."),
    ] = None,
    grades: Annotated[
        str | None,
        typer.Option(metavar="QRELS", help="Learn from grades instead: qrels, or a table of (topic, item, label)."),
    ] = None,
    ranker: Annotated[str, typer.Option(metavar="NAME", help="svm, or lambdamart (needs LightGBM).")] = "svm",
    c: Annotated[
        str | None, typer.Option("-c", "--cost", metavar="NUMBER", help="Of svm: what slack costs [1], or svmlight.")
    ] = None,
    pair_weight: Annotated[
        str | None, typer.Option(metavar="HOW", help="Of svm: mean [usual], product, min, or positive.")
    ] = None,
    trees: Annotated[int | None, typer.Option(min=1, metavar="NUMBER", help="Of lambdamart: how many [200].")] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="FILE",
            help="Write a run in which every topic is ranked by a ranker that did not learn from it.",
        ),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, metavar="NUMBER", help="Folds by topic, for what it is worth.")] = 5,
    seed: o.Seed = 0,
    example: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", callback=_example, is_eager=True, help="Write small files to try, and stop."),
    ] = None,
) -> None:
    """Train a ranker on features of documents, from what a crowd judged.

    Only pairs of documents of one topic teach; a topic whose documents are all the same teaches nothing. MRR, MAP and
    P@1 are of rankers that did not learn from the topic, held against what is learned from: one topic alone trains a
    ranker, and has no such measure.

    \b
    $ adjudge rerank train --example rerank/
    $ adjudge fit rerank/labels.csv --out rerank/fit
    $ adjudge rerank train rerank/features.csv --fit rerank/fit --out rerank/svm --run rerank/svm.run
    $ adjudge evaluate --fit rerank/fit rerank/bm25.run rerank/svm.run
    """
    from adjudge.data.runs import run_text
    from adjudge.data.write import write_file
    from adjudge.errors import UsageError
    from adjudge.learn.feature_file import read_features
    from adjudge.learn.training import ranker_named
    from adjudge.learn.training import train as learned

    _refuse_mixed(fit, learn, weights, grades, ranker, c, pair_weight, trees)
    if Path(out).is_file():
        raise UsageError(f"--out {out} is a file: name a folder")
    refuse_target(run, _read(features, weights, grades), "--run", made=out)
    own: dict[str, Any] = {"c": _cost(c), "pair_weight": pair_weight} if ranker == "svm" else {"trees": trees}
    chosen = ranker_named(ranker, **own)
    table = read_features(features)
    found = learned(table, _lesson(table, fit, learn or "pairs", weights, grades), chosen, folds=folds, seed=seed)
    ranking = None if run is None else run_text(found.run(table, Path(run).stem)).encode()
    found.ranker.save(out)
    if run is not None and ranking is not None:
        write_file(ranking, run)
    _show(found)
    print(f"wrote the ranker to {out}" + (f", and the run to {run}" if run is not None else ""))


@rerank.command(no_args_is_help=True)
def apply(
    ranker: Annotated[str, typer.Argument(metavar="RANKER", help="The folder that `adjudge rerank train` wrote.")],
    features: FeatureTable,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Write the run here; else it is printed.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="What the run is called; by default RANKER.")] = None,
) -> None:
    """Rank documents by a ranker: features in, a TREC run out.

    Features are found by their names. A ranker that learned from arrays, in Python, knows none: it takes features in
    the order of the table, and there must be as many as it learned from.

    \b
    $ adjudge rerank apply rerank/svm rerank/features.csv --out rerank/again.run
    """
    from adjudge.data.runs import run_text
    from adjudge.data.write import write_file
    from adjudge.learn.feature_file import read_features
    from adjudge.learn.ranker import load_ranker

    refuse_target(out, _read(features))
    known, table = load_ranker(ranker), read_features(features)
    run = table.run(_scores(known, table, features), name or Path(ranker).resolve().name)
    if out is None:
        sys.stdout.write(run_text(run))
        return
    write_file(run_text(run).encode(), out)
    print(f"wrote {len(table):,} documents of {len(set(table.topics)):,} topics to {out}")


@rerank.command(no_args_is_help=True)
@o.reads_judgments("labels", "ordinal", "repeats")
def again(
    features: FeatureTable,
    fit: Annotated[str, typer.Option("--fit", metavar="FOLDER", help="The fit that the ranker learns from.")],
    judgments: o.KeptTable = None,
    budget: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="How many documents to name.")] = 20,
    cost: Annotated[float, typer.Option("-c", "--cost", metavar="NUMBER", help="What slack costs.")] = 1.0,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the pool here, for `adjudge campaign new --pool`."),
    ] = None,
    reading: o.Reading = o.USUAL,
) -> None:
    """Name the documents whose next judgment would turn the ranking most: a pool for `adjudge campaign new`.

    Documents and topics that nobody judged are among them, where they matter most.

    \b
    $ adjudge rerank again rerank/features.csv --fit rerank/fit --budget 50 --out rerank/pool.csv
    """
    from adjudge.cli.output import kept_judgments
    from adjudge.data.write import write_file
    from adjudge.inference.save import load
    from adjudge.learn.judge_again import judge_again

    refuse_target(out, _read(features, judgments))
    known = load(fit)
    found = judge_again(features, known, kept_judgments(fit, known, judgments, reading), budget=budget, c=cost)
    _show_again(found)
    if out is not None:
        write_file(found.pool().encode(), out)
        print(f"wrote {len(found):,} pairs to {out}")


def _read(*tables: str | None) -> tuple[str, ...]:
    """Return the tables that are given, none of which may be written over."""
    return tuple(table for table in tables if table is not None)


def _refuse_mixed(
    fit: str | None,
    learn: str | None,
    weights: str | None,
    grades: str | None,
    ranker: str,
    c: str | None,
    pair_weight: str | None,
    trees: int | None,
) -> None:
    """Refuse options that do not go together."""
    from adjudge.errors import UsageError

    given = [option for option, value in (("--fit", fit), ("--weights", weights), ("--grades", grades)) if value]
    if len(given) != 1:
        told = " and ".join(given) or "none"
        raise UsageError(f"say what to learn from, by one of --fit, --weights and --grades: given is {told}")
    if learn is not None and fit is None:
        raise UsageError(f"--learn {learn} is for a fit: give its folder with --fit")
    if ranker == "svm" and trees is not None:
        raise UsageError("--trees is for --ranker lambdamart")
    if ranker == "lambdamart" and (c is not None or pair_weight is not None):
        raise UsageError(f"--{'cost' if c is not None else 'pair-weight'} is for --ranker svm")


def _cost(text: str | None) -> float | str | None:
    """Return --cost as a number, or by its name."""
    from adjudge.errors import UsageError

    if text is None or text == "svmlight":
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--cost {text} is not a number, nor svmlight") from None


def _lesson(table: Any, fit: str | None, learn: str, weights: str | None, grades: str | None) -> Any:
    """Return what is learned from."""
    from adjudge.inference.save import load
    from adjudge.learn.training import from_fit, from_grades, from_weights

    if fit is not None:
        return from_fit(table, load(fit), learn)
    return from_weights(table, weights) if weights is not None else from_grades(table, grades)


def _scores(ranker: Any, table: Any, where: str) -> Any:
    """Return the score of every row: features by name or, where the ranker knows no names, in their order."""
    from adjudge.errors import AdjudgeWarning, InputError, quoted
    from adjudge.learn.feature_file import select_features

    if hasattr(ranker, "feature_names_in_"):
        return ranker.decision_function(select_features(table, ranker.feature_names_in_.tolist(), where).frame)
    if len(table.names) != ranker.n_features_in_:
        raise InputError(
            f"has {len(table.names):,} features, {quoted(table.names)}, and the ranker learned from "
            f"{ranker.n_features_in_:,} without names: give these, in the same order",
            where,
        )
    told = f"the ranker knows no names of features, and takes them in the order of {where}: {quoted(table.names)}"
    warnings.warn(told, AdjudgeWarning, stacklevel=2)
    return ranker.decision_function(table.X)


def _show(found: Trained) -> None:
    """Print what was learned, and what it is worth."""
    from adjudge.cli.show import console, table

    ranker, without = found.ranker, found.ranker.groups_without_pairs_
    print(f"learned from {ranker.pairs_:,} pairs of {found.topics - without:,} topics")
    if hasattr(ranker, "coef_"):
        order = abs(ranker.coef_).argsort()[::-1][:SHOWN]
        rows = [(str(ranker.feature_names_in_[f]), float(ranker.coef_[f])) for f in order]
        console().print(table("Features that count most, in their own units", ("feature", "weight"), rows))
        if found.unchanging:
            some, of = len(found.unchanging), ranker.n_features_in_
            print(f"{some:,} of {of:,} features never differ within a topic, and count for nothing: {_listed(found)}")
    if found.measures:
        title = f"On topics that were not learned from ({found.folds} folds), by what is learned from"
        console().print(table(title, ("measure", "mean"), list(found.measures.items())))
    if found.unmeasured is not None:
        print(f"no MRR, MAP or P@1 can be given: {found.unmeasured}")


def _listed(found: Trained) -> str:
    """Return the features that count for nothing."""
    from adjudge.errors import quoted

    return quoted(found.unchanging)


def _show_again(found: JudgeAgain) -> None:
    """Print the documents to be judged again."""
    from adjudge.cli.show import console, table
    from adjudge.errors import quoted

    if not len(found):
        print("no judgment would turn the ranking")
        return
    named = sum(one.topic in set(found.unjudged) for one in found.documents)
    head = ("topic", "document", "judgments", "relevant", "moves by", "turns by")
    rows = [
        (one.topic, one.document, one.judgments, one.relevant, f"{one.moves:.3f}", f"{one.turns:.2g}")
        for one in found.documents
    ]
    console().print(table("Documents whose next judgment would turn the ranking most", head, rows))
    if found.unjudged:
        topics, these = len(found.unjudged), quoted(found.unjudged)
        print(f"topics of which nobody judged a document: {topics:,} ({these}), with {named:,} of these documents")


# Small files to try: a crowd on documents of topics, features of these, a first run, and the truth.

TOPICS, DOCUMENTS, JUDGES = 30, 12, 15
FEATURES = {"bm25": 1.0, "overlap": 0.8, "match": 0.6, "length": 0.0}  # by how much each tells the truth


def example(seed: int = 0) -> dict[str, bytes]:
    """Return judgments, features, the run by the first feature, and the truth as qrels."""
    crowd = simulate("rerank", seed, topics=TOPICS, items=TOPICS * DOCUMENTS, judges=JUDGES, noise=0.2, gold=0)
    judgments, rng = crowd.judgments, np.random.default_rng(seed)
    assert judgments.topics is not None  # the design has them
    assert judgments.topic is not None
    topic, document = judgments.topics.gather(judgments.topic).cast(str), judgments.items.cast(str)
    head = {"topic": topic, "document": document}
    told = {name: (good * crowd.truth + rng.normal(size=topic.len())).round(4) for name, good in FEATURES.items()}
    said = {
        "item": document.gather(judgments.item()),
        "topic": topic.gather(judgments.item()),
        "judge": judgments.judges.gather(judgments.judge),
        "label": judgments.label.astype(np.int64),
    }
    first = read_run(pl.DataFrame({**head, "score": told["bm25"]}), "bm25")
    qrels = zip(topic.to_list(), document.to_list(), crowd.truth.tolist(), strict=True)
    return {
        "labels.csv": table_text(pl.DataFrame(said), "csv"),
        "features.csv": table_text(pl.DataFrame({**head, **told}), "csv"),
        "bm25.run": run_text(first).encode(),
        "truth.qrels": "".join(f"{t} 0 {d} {grade}\n" for t, d, grade in qrels).encode(),
    }
