"""``rerank``: ``train`` a ranker on what a crowd judged, ``apply`` it, and choose what to judge ``again``.

Rankers are cross-validated by topic, with the MRR, MAP and P@1 of trec_eval.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.run_judges import judges_text
from adjudge.data.runs import System, read_run, run_text
from adjudge.data.show import html_view
from adjudge.data.simulate import simulate
from adjudge.data.write import table_text, write_file
from adjudge.errors import AdjudgeError, AdjudgeWarning, InputError, UsageError, not_one_of, quote, quoted
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fit, read_fitted
from adjudge.learn.average import AverageRanker
from adjudge.learn.choice import (
    TREES,
    Blend,
    Candidate,
    Choice,
    Progress,
    Topics,
    choose,
    subset,
    svm_candidates,
    unit_weights,
)
from adjudge.learn.features import RunFeatures
from adjudge.learn.first_stage import VERDICT, Comparison, FirstStage, compare, read_first_stage
from adjudge.learn.folds import FOLDS, assign_folds
from adjudge.learn.joint import Joint, joint_relevance
from adjudge.learn.judge_again import BUDGET, JudgeAgain, judge_again
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.pairs import NothingToLearn, constant_features, group_codes, make_pairs
from adjudge.learn.ranker import load_ranker
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.scikit import clone
from adjudge.learn.topic_scores import name_order, score_groups
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

TOPICS, DOCUMENTS, JUDGES = 30, 12, 15  # of the example files
EXAMPLE_FEATURES = {"bm25": 1.0, "overlap": 0.8, "match": 0.6, "length": 0.0}  # how much each depends on the truth
LEARN = ("pairs", "margin", "label")  # ways to learn from a fit that are candidates
RANKERS = ("svm", "lambdamart")
JUDGES_FILE = "judges.csv"  # the judges that a saved ranker has learned from, in its folder


class NotBetter(AdjudgeError):  # noqa: N818
    """A ranker that does not beat the first stage was not saved."""


class Trained(NamedTuple):
    """A trained ranker, and its cross-validated measures on topics that it was not trained on."""

    ranker: Any
    score: Floats  # (N) of every row, by a ranker that was not trained on its topic; NaN if there is none
    measures: Mapping[str, float]  # of these scores on the training set; empty if ``unmeasured`` says why
    topics: int  # in the training set
    folds: int  # 1 if only one topic has pairs, so that cross-validation is impossible
    unmeasured: str | None = None
    unchanging: tuple[str, ...] = ()  # features that are constant within every topic
    choice: Choice | None = None  # None if nothing was chosen
    comparison: Comparison | None = None  # with the first stage; None without one, or without measures
    joint: Joint | None = None  # the probabilities of the training set after Raykar's loop
    judges: tuple[str, ...] = ()  # of the fit that it was trained on

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

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Save the ranker to a folder; one that does not beat the first stage is refused, unless ``force`` is True."""
        if self.comparison is not None and not self.comparison.better and not force:
            first, gain = quote(self.comparison.first), self.comparison.gains[VERDICT]
            raise NotBetter(
                f"the ranker was not saved, because it does not beat the first stage {first} ({VERDICT} "
                f"{gain.ranker:.3f} against {gain.first:.3f}): save it anyway with --force"
            )
        self.ranker.save(folder)
        if self.judges:
            write_file(judges_text(self.judges), os.path.join(folder, JUDGES_FILE))


def train(
    features: Any,
    fit: Fit | str | Path | None = None,
    *,
    weights: Any = None,
    grades: Any = None,
    learn: str | None = None,
    ranker: Any = None,
    joint: bool = False,
    first: Any = None,
    folds: int = FOLDS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Trained:
    """Train a ranker on features of documents, from what a crowd judged.

    What is not given is chosen inside folds by topic: how to learn, and linear rankers with their c, trees, or both.
    All that are about as good as the best are averaged (see ``adjudge.learn.choice``). The ranker is then compared with
    the first stage on topics that neither it nor the choice has learned from.

    Parameters
    ----------
    features
        Rows with a topic, a document and numbers: a file, a frame, or what ``adjudge.features`` returns.
    fit, weights, grades
        What to learn from, exactly one of them: a fit (or its folder) of judgments with topics; labels and weights as
        ``adjudge.weights`` returns them; or grades, as qrels or a table of (topic, item, label).
    learn
        How to learn from a fit: "pairs", "margin", "entropy" or "label" (see ``adjudge.learn.training_set``). By
        default "pairs", "margin" and "label" are candidates; for weights, using them or not.
    ranker
        "svm" (c is chosen), "lambdamart", or a ranker such as ``RankSVM(c=10)``. By default both are candidates.
    joint
        Whether the ranker and the consensus of a fit with two labels learn from each other (Raykar's loop, see
        ``adjudge.learn.joint``); it learns by "pairs".
    first
        The first stage: the name of a feature, or a run. By default the feature "bm25", if there is one.
    folds
        Number of folds by topic, in which the ranker is cross-validated.
    seed
        Seed of the folds.
    progress
        Called with the number of rankers trained for the choice, the number of all, and the candidate.

    Returns
    -------
    Trained
        The ranker, how it ranks topics that it did not learn from, and its ``comparison`` with the first stage.
        ``save`` refuses a ranker that does not beat the first stage.

    Examples
    --------
    >>> import adjudge, polars as pl
    >>> features = {"topic": list("aabb"), "document": list("wxyz"), "bm25": [2.0, 1.0, 1.5, 0.5]}
    >>> grades = {"a": {"w": 1, "x": 0}, "b": {"y": 1, "z": 0}}
    >>> trained = adjudge.rerank.train(pl.DataFrame(features), grades=grades)
    >>> trained
    Trained(RankSVM: 2 topics; MRR 1.000, MAP 1.000, P@1 1.000)
    >>> trained.comparison.better
    False

    """
    sources = {"fit": fit, "weights": weights, "grades": grades}
    named = [name for name, source in sources.items() if source is not None]
    if len(named) != 1:
        raise UsageError(
            f"give exactly one of fit, weights and grades to learn from: got {' and '.join(named) or 'none'}"
        )
    if fit is None and (learn is not None or joint):
        raise UsageError(f"{'joint' if joint else f'learn {quote(learn)}'} needs a fit to learn from")
    check_ranker(ranker)
    table = _features(features)
    judges: tuple[str, ...] = ()
    if fit is not None:
        record = read_fit(fit)
        lessons = _lessons_of_fit(table, record, learn, joint)
        names = record.judge_names.cast(str).to_list()
        judges = tuple(name for name, judged in zip(names, record.judged.tolist(), strict=True) if judged)
    elif weights is not None:
        weighted = from_weights(table, weights)
        lessons = Lessons({"weights": weighted, "label": weighted._replace(weight=None)}, relevant(weighted))
    else:
        graded = from_grades(table, grades)
        lessons = Lessons({"grades": graded}, relevant(graded))
    stage = read_first_stage(first, table)
    trained = train_ranker(table, lessons, ranker, joint=joint, first=stage, folds=folds, seed=seed, progress=progress)
    return trained._replace(judges=judges)


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
    source = str(features) if isinstance(features, str | os.PathLike) else "features"
    return table.run(_scores(trained, table, source), name or (Path(ranker).resolve().name if saved else "rerank"))


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


class Lessons(NamedTuple):
    """Training sets of the same rows, by how they learn, and which of the rows are relevant."""

    sets: Mapping[str, TrainingSet]
    relevant: Flags  # (M)
    degree: Floats | None = None  # (M) probabilities of relevance, if they are known


def relevant(training: TrainingSet) -> Flags:
    """Return which rows (M) are relevant: those above one half, or above half of the highest grade."""
    above: Flags = training.target > (0.5 if training.soft else float(training.target.max()) / 2)
    return above


def _lessons_of_fit(table: Features, fit: Fit, learn: str | None, joint: bool) -> Lessons:
    """Return the training sets of a fit: the named one, or the candidates."""
    if joint and learn not in (None, "pairs"):
        raise UsageError(f"joint learns by 'pairs', not by {quote(learn)}")
    if joint and len(fit.scale) != 2:
        raise UsageError(f"joint needs a fit with two labels, this one has {len(fit.scale)}: {quoted(fit.scale.names)}")
    names = (learn,) if learn is not None else ("pairs",) if joint else LEARN
    sets = {name: from_fit(table, fit, name) for name in names}
    soft = from_fit(table, fit, "pairs")
    return Lessons(sets, relevant(soft), soft.target)


def check_ranker(ranker: Any) -> None:
    """Refuse an unknown name, and a ranker with invalid parameters."""
    if isinstance(ranker, str) and ranker not in RANKERS:
        raise UsageError(not_one_of("ranker", ranker, RANKERS))
    if isinstance(ranker, LambdaMART) or (isinstance(ranker, RankSVM) and ranker.c is not None):
        ranker.check_parameters()


def candidates_for(ranker: Any, sets: Mapping[str, TrainingSet], topics: Any) -> list[Candidate]:
    """Return the candidates, the default first: a given ranker, or rankers with the settings to choose from.

    ``ranker`` is None for all rankers, "svm", "lambdamart", a ranker, or a ``RankSVM`` whose c is None, to be chosen.
    """
    check_ranker(ranker)
    template = RankSVM(None) if ranker in (None, "svm") else ranker
    rankers: list[Candidate] = []
    for name, training in sets.items():
        if isinstance(template, RankSVM) and template.c is None:
            default = clone(template).set_params(c=1.0)
            rankers += [Candidate(name, each) for each in (default, *svm_candidates(training, topics, template))]
        elif ranker == "lambdamart":
            rankers += [Candidate(name, each) for each in (LambdaMART(), LambdaMART(**TREES))]
        else:
            rankers.append(Candidate(name, template))
    if ranker is None and find_spec("lightgbm") is not None:
        rankers += [Candidate(name, LambdaMART(**TREES)) for name in sets if name != "label" or len(sets) == 1]
    return rankers


def train_ranker(
    table: Features,
    lessons: Lessons,
    ranker: Any = None,
    *,
    joint: bool = False,
    first: FirstStage | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Trained:
    """Choose and train a ranker, and measure it by cross-validation over topics."""
    if folds < 2:
        raise UsageError(f"folds {folds} is not a number of at least 2")
    topics, frame = np.array(table.topics), table.frame
    sets, rows = _with_pairs_only(lessons.sets, topics), next(iter(lessons.sets.values())).rows
    candidates = candidates_for(ranker, sets, topics[rows])
    with_pairs = set.union(*(_topics_with_pairs(each, topics, _pair_weight(candidates[0])) for each in sets.values()))
    folds = min(folds, len(with_pairs))
    fold = assign_folds(topics, with_pairs, folds, seed)
    view = Topics(
        table.X[rows],
        group_codes(topics[rows], rows.size)[0],
        name_order(np.array(table.documents)[rows], rows.size),
        fold[rows],
        lessons.relevant.astype(float) if lessons.degree is None else lessons.degree,
    )
    choice = choose(candidates, sets, view, seed, progress)

    def trained(blend: Blend, selected: Any) -> tuple[Any, Joint | None]:
        """Return the average that is trained on some rows of the training set, and the result of Raykar's loop."""
        parts, loop = {name: subset(training, selected) for name, training in sets.items()}, None
        rankers = [clone(member.ranker).set_params(soft=parts[member.learn].soft) for member in blend.members]
        if joint:
            part = parts["pairs"]
            average = AverageRanker(rankers, blend.weights) if len(rankers) > 1 else rankers[0]
            loop = joint_relevance(part.target, table.X[part.rows], topics[part.rows], average)
            parts["pairs"] = part._replace(target=loop.relevance)
        usable, error = [], None
        for member, ranker, share in zip(blend.members, rankers, blend.weights, strict=True):
            part = parts[member.learn]
            try:
                ranker.fit(frame[part.rows], part.target, topics[part.rows], unit_weights(part))
                usable.append((ranker, share))
            except NothingToLearn as caught:  # these rows have no pairs for this way to learn
                error = caught
        if not usable and error is not None:
            raise error
        if len(usable) == 1:
            return usable[0][0], loop
        rankers = [ranker for ranker, _ in usable]
        average = AverageRanker(rankers, [share for _, share in usable])
        return average.combine(rankers, frame[part.rows], topics[part.rows]), loop

    with warnings.catch_warnings():
        if len({candidate.learn for candidate in candidates}) > 1:  # chosen in spite of topics without pairs
            warnings.filterwarnings("ignore", ".* groups have no pair", AdjudgeWarning)
        final, loop = trained(choice.final, np.arange(rows.size))
    score = np.full(len(table), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # the fit of all rows has given them
        for k in range(folds) if folds > 1 else ():
            fitted, _ = trained(choice.by_fold[k], fold[rows] != k)
            score[fold == k] = fitted.decision_function(frame.filter(fold == k))
    measures, why = _measure(score, rows, lessons.relevant, sets[choice.final.members[0].learn].soft, topics, table)
    comparison = None if first is None or not measures else compare(first, score, rows, lessons.relevant, table, seed)
    return Trained(
        final,
        score,
        measures,
        np.unique(topics[rows]).size,
        folds,
        why,
        _constant_features(table, sets[choice.final.members[0].learn], topics),
        choice if choice.topics else None,
        comparison,
        loop,
    )


def _pair_weight(candidate: Candidate) -> str:
    """Return how a candidate weighs pairs."""
    return str(getattr(candidate.ranker, "pair_weight", "mean"))


def _with_pairs_only(sets: Mapping[str, TrainingSet], topics: Any) -> dict[str, TrainingSet]:
    """Return the training sets that have pairs; if none has, the error of the first."""
    usable, first = {}, None
    for name, training in sets.items():
        try:
            make_pairs(training.target, topics[training.rows], unit_weights(training), soft=training.soft)
            usable[name] = training
        except NothingToLearn as error:
            first = first or error
    if not usable and first is not None:
        raise first
    return usable


def _constant_features(table: Features, training: TrainingSet, topics: Any) -> tuple[str, ...]:
    """Return the features that are constant within every topic of the training set."""
    pairs = make_pairs(training.target, topics[training.rows], soft=training.soft)
    same = constant_features(pairs, table.X[training.rows])
    return tuple(name for name, constant in zip(table.names, same.tolist(), strict=True) if constant)


def _topics_with_pairs(training: TrainingSet, topics: Any, pair_weight: str) -> set[str]:
    """Return the topics with at least one pair."""
    code, count = group_codes(topics[training.rows], training.rows.size)
    weight = unit_weights(training)
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


def _measure(
    score: Floats, rows: Codes, relevant: Flags, soft: bool, topics: Any, table: Features
) -> tuple[dict[str, float], str | None]:
    """Return MRR, MAP and P@1 on the training set; if they are not defined, the second value says why."""
    if np.isnan(score[rows]).any():
        return {}, "only one topic has pairs, so that cross-validation over topics is impossible"
    if not relevant.any():
        relevance = "more likely relevant than not" if soft else "above half of the highest grade"
        return {}, f"no document of the training set is {relevance}"
    return score_groups(score[rows], relevant, topics[rows], np.array(table.documents)[rows]).means(), None


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


def _scores(ranker: Any, table: Features, source: str) -> Floats:
    """Return the score of every row (N)."""
    scores: Floats
    if hasattr(ranker, "feature_names_in_"):
        scores = ranker.decision_function(select_features(table, ranker.feature_names_in_.tolist(), source).frame)
        return scores
    if len(table.names) != ranker.n_features_in_:
        raise InputError(
            f"has {len(table.names):,} features, {quoted(table.names)}, but the ranker was trained on "
            f"{ranker.n_features_in_:,} features without names: give the same features in the same order",
            source,
        )
    message = f"the ranker has no feature names; it takes the features in the order of {source}: {quoted(table.names)}"
    warnings.warn(message, AdjudgeWarning, stacklevel=3)
    scores = ranker.decision_function(table.X)
    return scores
