"""``rerank``: ``train`` a ranker on what a crowd judged, ``apply`` it, and choose what to judge ``again``.

Rankers are cross-validated by topic, with the MRR, MAP and P@1 of trec_eval: scores are compared as 32-bit floats, and
ties are broken by document name in descending order. All groups are sorted at once, because a study ranks the same rows
many thousand times.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.runs import System, read_run, run_text
from adjudge.data.show import html_view
from adjudge.data.simulate import simulate
from adjudge.data.write import table_text
from adjudge.errors import AdjudgeWarning, InputError, UsageError, quote, quoted
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fit, read_fitted
from adjudge.learn.features import RunFeatures
from adjudge.learn.judge_again import BUDGET, JudgeAgain, judge_again
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.pairs import NothingToLearn, constant_features, group_codes, make_pairs
from adjudge.learn.ranker import load_ranker
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.scikit import clone, make_scorer
from adjudge.learn.training_set import (
    Features,
    TrainingSet,
    from_fit,
    from_grades,
    from_weights,
    read_features,
    select_features,
)

__all__ = ["again", "apply", "train"]  # the commands of ``adjudge rerank``

MEASURES = ("MRR", "MAP", "P@1")
FOLDS = 5
TOPICS, DOCUMENTS, JUDGES = 30, 12, 15  # of the example files
EXAMPLE_FEATURES = {"bm25": 1.0, "overlap": 0.8, "match": 0.6, "length": 0.0}  # how much each depends on the truth
RANKERS: Mapping[str, Callable[..., Any]] = {"svm": RankSVM, "lambdamart": LambdaMART}


class Fold(NamedTuple):
    """One fold: the rows of the training set and of the test set."""

    train: Codes
    test: Codes


class GroupScores(NamedTuple):
    """The measures of a ranking, group by group."""

    group: Codes  # (G) numbers of the groups with a relevant row, in order of first appearance
    values: Mapping[str, Floats]  # (G) by measure

    def means(self) -> dict[str, float]:
        """Return the mean of every measure over groups, NaN without any group."""
        return {name: float(value.mean()) if value.size else float("nan") for name, value in self.values.items()}


def fold_of(groups: Any, folds: int = FOLDS, seed: int = 0) -> Codes:
    """Return the fold of every row (N); groups are assigned at random, and no group is in two folds.

    >>> fold_of(["a", "a", "b", "b"], folds=2).tolist()
    [0, 0, 1, 1]
    """
    values = np.asarray(groups)
    count = group_codes(values, values.size)[1]
    if not 2 <= folds <= count:
        raise UsageError(f"folds {folds} is not a number from 2 to the number of groups, {count:,}")
    return _assign_folds(values, None, folds, seed)


def split(fold: Codes) -> Iterator[Fold]:
    """Yield every fold."""
    for k in range(int(fold.max()) + 1):
        yield Fold(np.flatnonzero(fold != k), np.flatnonzero(fold == k))


def score_groups(score: Floats, relevant: Any, groups: Any, names: Any = None) -> GroupScores:
    """Return the measures of the ranking by ``score`` (N) in every group with a relevant row.

    ``names`` (N) are document names that break ties; without them the later row ranks first.

    >>> score_groups(np.array([0.9, 0.8]), [False, True], ["a", "a"]).means()
    {'MRR': 0.5, 'MAP': 0.5, 'P@1': 0.0}
    """
    is_relevant = np.asarray(relevant, dtype=bool)
    code, count = group_codes(groups, is_relevant.size)
    return measure_groups(np.asarray(score, dtype=float), is_relevant, code, count, name_order(names, is_relevant.size))


def name_order(names: Any, rows: int) -> Codes:
    """Return a number for each row (N) that breaks ties, highest first."""
    if names is None:
        return np.arange(rows)
    _, order = np.unique(np.asarray(names, dtype=str), return_inverse=True)
    return order


def measure_groups(score: Floats, relevant: Flags, code: Codes, groups: int, tie: Codes) -> GroupScores:
    """Return the measures of every group with a relevant row, for group numbers; ``tie`` breaks ties."""
    with np.errstate(over="ignore"):
        single = score.astype(np.float32)
    order = np.lexsort((-tie, -single, code))
    group, hit = code[order], relevant[order].astype(float)
    start = np.searchsorted(group, np.arange(groups))
    rank = np.arange(group.size) - start[group] + 1.0
    before = np.r_[0.0, np.cumsum(hit)]
    hits = before[1:] - before[start[group]]  # relevant rows up to this one
    total, precision = _sums(group, hit, groups), _sums(group, hit * hits / rank, groups)
    first, top = (_sums(group, np.where(at, hit / rank, 0.0), groups) for at in (hits == 1, rank == 1))
    scored = np.flatnonzero(total > 0)
    values = {"MRR": first[scored], "MAP": precision[scored] / total[scored], "P@1": top[scored]}
    return GroupScores(scored, values)


def _sums(group: Codes, value: Floats, groups: int) -> Floats:
    """Return the sum of values in every group (G)."""
    return np.asarray(np.bincount(group, value, groups), dtype=np.float64)


def scorer(measure: str = "MAP") -> Any:
    """Return a measure for ``scoring`` in scikit-learn's searches; rows with a target above one half are relevant.

    It needs metadata routing for the groups: ``sklearn.set_config(enable_metadata_routing=True)``.
    """
    if measure not in MEASURES:
        raise UsageError(f"measure {quote(measure)} is not one of {quoted(MEASURES)}")

    def mean(y_true: Any, y_pred: Any, groups: Any = None) -> float:
        """Return the mean over groups."""
        return score_groups(y_pred, np.asarray(y_true) > 0.5, groups).means()[measure]

    return make_scorer(mean, response_method="decision_function").set_score_request(groups=True)


class Trained(NamedTuple):
    """A trained ranker, and its cross-validated measures on topics that it was not trained on."""

    ranker: Any
    score: Floats  # (N) of every row, by a ranker that was not trained on its topic; NaN if there is none
    measures: Mapping[str, float]  # of these scores on the training set; empty if ``unmeasured`` says why
    topics: int  # in the training set
    folds: int  # 1 if only one topic has pairs, so that cross-validation is impossible
    unmeasured: str | None = None
    unchanging: tuple[str, ...] = ()  # features that are constant within every topic

    def __repr__(self) -> str:
        means = ", ".join(f"{measure} {mean:.3f}" for measure, mean in self.measures.items()) or self.unmeasured
        return f"Trained({type(self.ranker).__name__}: {self.topics:,} topics; {means})"

    def _repr_html_(self) -> str:
        return html_view(repr(self), self.table)

    @property
    def table(self) -> pl.DataFrame:
        """The cross-validated measures."""
        return pl.DataFrame({"measure": list(self.measures), "mean": list(self.measures.values())})

    def run(self, features: Any, name: str = "rerank") -> System:
        """Return the run of the cross-validated scores, which can be evaluated on the training topics."""
        if self.folds < 2:
            raise UsageError(
                "there is no cross-validated run, because only one topic has pairs: save the ranker without a run, and "
                "rank new topics with `adjudge rerank apply`"
            )
        return _features(features).run(self.score, name)


def train(
    features: Any,
    fit: Fit | str | Path | None = None,
    *,
    weights: Any = None,
    grades: Any = None,
    learn: str = "pairs",
    ranker: Any = "svm",
    folds: int = FOLDS,
    seed: int = 0,
) -> Trained:
    """Train a ranker on features of documents, from what a crowd judged.

    Parameters
    ----------
    features
        Rows with a topic, a document and numbers: a file, a frame, or what ``adjudge.features`` returns.
    fit, weights, grades
        What to learn from, exactly one of them: a fit (or its folder) of judgments with topics; labels and weights as
        ``adjudge.weights`` returns them; or grades, as qrels or a table of (topic, item, label).
    learn
        How to learn from a fit: "pairs", "margin", "entropy" or "label" (see ``adjudge.learn.training_set``).
    ranker
        "svm", "lambdamart", or a ranker such as ``RankSVM(c=10)``.
    folds
        Number of folds by topic, in which the ranker is cross-validated.
    seed
        Seed of the folds.

    Returns
    -------
    Trained
        The ranker, and how it ranks topics that it did not learn from.

    Examples
    --------
    >>> import adjudge, polars as pl
    >>> features = {"topic": list("aabb"), "document": list("wxyz"), "bm25": [2.0, 1.0, 1.5, 0.5]}
    >>> grades = {"a": {"w": 1, "x": 0}, "b": {"y": 1, "z": 0}}
    >>> trained = adjudge.rerank.train(pl.DataFrame(features), grades=grades)
    >>> trained
    Trained(RankSVM: 2 topics; MRR 1.000, MAP 1.000, P@1 1.000)

    """
    sources = {"fit": fit, "weights": weights, "grades": grades}
    named = [name for name, source in sources.items() if source is not None]
    if len(named) != 1:
        raise UsageError(
            f"give exactly one of fit, weights and grades to learn from: got {' and '.join(named) or 'none'}"
        )
    table = _features(features)
    if fit is not None:
        training = from_fit(table, read_fit(fit), learn)
    else:
        training = from_weights(table, weights) if weights is not None else from_grades(table, grades)
    return train_ranker(
        table, training, ranker_named(ranker) if isinstance(ranker, str) else ranker, folds=folds, seed=seed
    )


def apply(ranker: Any, features: Any, name: str | None = None) -> System:
    """Rank the documents of every topic with a trained ranker.

    Parameters
    ----------
    ranker
        A ranker, what ``train`` returns, or the folder of a saved ranker.
    features
        Rows with a topic, a document and numbers, as for ``train``. They are matched by name; a ranker that was fitted
        to arrays has no names, and takes features in the order of the table.
    name
        Name of the run; by default that of the ranker's folder, or "rerank".

    Returns
    -------
    System
        The run; ``table`` has topic, document and score.

    Examples
    --------
    >>> import adjudge, polars as pl
    >>> features = pl.DataFrame({"topic": ["a", "a"], "document": ["w", "x"], "bm25": [2.0, 1.0]})
    >>> ranker = adjudge.rerank.train(features, grades={"a": {"w": 1, "x": 0}}).ranker
    >>> adjudge.rerank.apply(ranker, features).ranked
    {'a': ['w', 'x']}

    """
    saved = isinstance(ranker, str | os.PathLike)
    trained = load_ranker(ranker) if saved else ranker.ranker if isinstance(ranker, Trained) else ranker
    table = _features(features)
    place = str(features) if isinstance(features, str | os.PathLike) else "features"
    return table.run(_scores(trained, table, place), name or (Path(ranker).resolve().name if saved else "rerank"))


def again(
    fit: Fit | str | Path, features: Any, judgments: Any = None, *, budget: int = BUDGET, c: float = 1.0
) -> JudgeAgain:
    """Choose the documents whose next judgment would change the ranking most.

    Parameters
    ----------
    fit
        A fit with two labels of judgments with topics, or its folder.
    features
        Rows with a topic, a document and numbers, as for ``train``. Documents that nobody judged may be among them.
    judgments
        The judgments of the fit: ``Judgments``, a frame, or a path. Default: those kept with the fit.
    budget
        Number of documents to choose.
    c
        Cost of slack of the ranking SVM.

    Returns
    -------
    JudgeAgain
        The documents, most influential first; ``pool()`` is the file for ``adjudge campaign new --pool``.

    Examples
    --------
    >>> import adjudge, polars as pl
    >>> files = example()
    >>> judgments = adjudge.read(pl.read_csv(files["labels.csv"]))
    >>> fit = adjudge.fit(judgments, "dawid-skene")
    >>> chosen = adjudge.rerank.again(fit, pl.read_csv(files["features.csv"]), judgments, budget=2)
    >>> [document.topic for document in chosen.documents]
    ['t13', 't23']

    """
    return judge_again(_features(features), *read_fitted(fit, judgments), budget=budget, c=c)


def ranker_named(name: str, **options: Any) -> Any:
    """Return a ranker by its name; options that are None keep their defaults."""
    if name not in RANKERS:
        raise UsageError(f"ranker {quote(name)} is not one of {quoted(RANKERS)}")
    return RANKERS[name](**{option: value for option, value in options.items() if value is not None})


def train_ranker(table: Features, training: TrainingSet, ranker: Any, *, folds: int = FOLDS, seed: int = 0) -> Trained:
    """Train a ranker on a training set, and measure it by cross-validation over topics."""
    if folds < 2:
        raise UsageError(f"folds {folds} is not a number of at least 2")
    topics, frame = np.array(table.topics), table.frame
    configured = clone(ranker).set_params(soft=training.soft)
    final = _fit(configured, frame, topics, training)
    with_pairs = _topics_with_pairs(training, topics, getattr(configured, "pair_weight", "mean"))
    folds = min(folds, len(with_pairs))
    score = np.full(len(table), np.nan)
    fold = _assign_folds(topics, with_pairs, folds, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # the fit of all rows has given them
        for k in range(folds) if folds > 1 else ():
            part = _subset(training, fold[training.rows] != k)
            score[fold == k] = _fit(configured, frame, topics, part).decision_function(frame.filter(fold == k))
    measures, why = _measure(score, training, topics, np.array(table.documents))
    same = _constant_features(table, training, topics)
    return Trained(final, score, measures, np.unique(topics[training.rows]).size, folds, why, same)


def _constant_features(table: Features, training: TrainingSet, topics: Any) -> tuple[str, ...]:
    """Return the features that are constant within every topic of the training set."""
    pairs = make_pairs(training.target, topics[training.rows], soft=training.soft)
    same = constant_features(pairs, table.X[training.rows])
    return tuple(name for name, constant in zip(table.names, same.tolist(), strict=True) if constant)


def _topics_with_pairs(training: TrainingSet, topics: Any, pair_weight: str) -> set[str]:
    """Return the topics with at least one pair."""
    code, count = group_codes(topics[training.rows], training.rows.size)
    weight = _weights(training)
    order = np.argsort(code, kind="stable")
    with_pairs = set()
    for rows in np.split(order, np.searchsorted(code[order], np.arange(1, count))):
        try:
            make_pairs(
                training.target[rows],
                None,
                None if weight is None else weight[rows],
                pair_weight=pair_weight,
                soft=training.soft,
            )
        except NothingToLearn:
            continue
        with_pairs.add(str(topics[training.rows[rows[0]]]))
    return with_pairs


def _assign_folds(topics: Any, with_pairs: set[str] | None, folds: int, seed: int) -> Codes:
    """Return the fold of every row (N), by topic; topics with pairs are assigned first, so that every fold has one."""
    code, count = group_codes(topics, topics.size)
    order = np.random.default_rng(seed).permutation(count).tolist()
    if with_pairs is not None:
        name = topics[np.unique(code, return_index=True)[1]].tolist()
        order.sort(key=lambda t: name[t] not in with_pairs)
    fold = np.empty(count, np.int64)
    fold[order] = np.arange(count) % folds
    return fold[code]


def _fit(ranker: Any, frame: Any, topics: Any, training: TrainingSet) -> Any:
    """Return the ranker trained on a training set."""
    return clone(ranker).fit(frame[training.rows], training.target, topics[training.rows], _weights(training))


def _weights(training: TrainingSet) -> Floats | None:
    """Return the weights of a training set (M), scaled to a mean of 1."""
    return None if training.weight is None else training.weight / max(float(training.weight.mean()), 1e-300)


def _subset(training: TrainingSet, selected: Any) -> TrainingSet:
    """Return some rows of a training set."""
    weight = None if training.weight is None else training.weight[selected]
    return TrainingSet(training.rows[selected], training.target[selected], weight, training.soft)


def _measure(score: Floats, training: TrainingSet, topics: Any, documents: Any) -> tuple[dict[str, float], str | None]:
    """Return MRR, MAP and P@1 on the training set, where rows above half of the highest target are relevant.

    If they are not defined, the second value says why.
    """
    rows = training.rows
    relevant = training.target > (0.5 if training.soft else float(training.target.max()) / 2)
    if np.isnan(score[rows]).any():
        return {}, "only one topic has pairs, so that cross-validation over topics is impossible"
    if not relevant.any():
        relevance = "more likely relevant than not" if training.soft else "above half of the highest grade"
        return {}, f"no document of the training set is {relevance}"
    return score_groups(score[rows], relevant, topics[rows], documents[rows]).means(), None


def example(seed: int = 0) -> dict[str, bytes]:
    """Return small files to try: judgments, features, the run by the first feature, and the truth as qrels."""
    crowd = simulate("rerank", seed, topics=TOPICS, items=TOPICS * DOCUMENTS, judges=JUDGES, noise=0.2, gold=0)
    judgments, rng = crowd.judgments, np.random.default_rng(seed)
    assert judgments.topics is not None  # the design has them
    assert judgments.topic is not None
    topic, document = judgments.topics.gather(judgments.topic).cast(str), judgments.items.cast(str)
    head = {"topic": topic, "document": document}
    values = {
        name: (effect * crowd.truth + rng.normal(size=topic.len())).round(4)
        for name, effect in EXAMPLE_FEATURES.items()
    }
    table = {
        "item": document.gather(judgments.item()),
        "topic": topic.gather(judgments.item()),
        "judge": judgments.judges.gather(judgments.judge),
        "label": judgments.label.astype(np.int64),
    }
    first = read_run(pl.DataFrame({**head, "score": values["bm25"]}), "bm25")
    qrels = zip(topic.to_list(), document.to_list(), crowd.truth.tolist(), strict=True)
    return {
        "labels.csv": table_text(pl.DataFrame(table), "csv"),
        "features.csv": table_text(pl.DataFrame({**head, **values}), "csv"),
        "bm25.run": run_text(first).encode(),
        "truth.qrels": "".join(f"{t} 0 {d} {grade}\n" for t, d, grade in qrels).encode(),
    }


def _features(features: Any) -> Features:
    """Return features from a file, a frame, or what ``adjudge.features`` returns."""
    return read_features(features.table if isinstance(features, RunFeatures) else features)


def _scores(ranker: Any, table: Features, place: str) -> Floats:
    """Return the score of every row (N)."""
    scores: Floats
    if hasattr(ranker, "feature_names_in_"):
        scores = ranker.decision_function(select_features(table, ranker.feature_names_in_.tolist(), place).frame)
        return scores
    if len(table.names) != ranker.n_features_in_:
        raise InputError(
            f"has {len(table.names):,} features, {quoted(table.names)}, but the ranker was trained on "
            f"{ranker.n_features_in_:,} features without names: give the same features in the same order",
            place,
        )
    message = f"the ranker has no feature names; it takes the features in the order of {place}: {quoted(table.names)}"
    warnings.warn(message, AdjudgeWarning, stacklevel=3)
    scores = ranker.decision_function(table.X)
    return scores
