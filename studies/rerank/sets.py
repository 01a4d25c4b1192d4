"""The sets of the study of paper 004: rows to rank, their features and labels, and real crowds.

- ``xquad_sentences``: questions and sentences. The sentence with the answer is relevant; RE labels all sentences that
  contain its string. The questions are the 527 that its simulated crowd judged, as many as in the paper.
- ``qa_wikiqa``: questions and sentences with labels. There is no answer key, hence no RE.
- ``wikiqa_hard``: 527 questions of ``qa_wikiqa``, as many as in the paper, with room for a ranker. The first stage is
  BM25 on plain words, without stemming and without a list of stop words, over all sentences of the set. Half of the
  questions have a relevant sentence among the first 20, which are their candidates. For the others the first stage
  fails, and the candidates are 20 neighbours in its ranking with the first relevant sentence at a random place. (If
  relevant sentences were added to the first 20, their low score would give them away.) Questions with several relevant
  sentences come first. Sentences of other questions were not labelled for this one and count as irrelevant.
- ``cranfield``: queries and the first 20 abstracts by the same BM25; several abstracts are relevant to a query.
- ``trecqa_letor``: TREC-QA as 24 features per pair, with manual labels and labels by answer patterns.
- ``cast_snippets``: sentences of passages, three judges each, with approval rates. Its text may not be copied, so the
  features are the position of a sentence and the NIST grade of the passage. The truth is the vote.
- ``nyt_passages``: paragraphs, about 40 judges each, with the same kind of features. Of repeated judgments the first
  counts. Five judges are drawn for training, and the truth is the vote of the others.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Flags, Floats
from adjudge.data.judgments import Judgments, from_codes
from adjudge.data.scale import Scale
from adjudge.errors import InputError
from adjudge.learn.search import search
from studies.rerank.crowds import PANEL, Crowd

Say = Callable[[str], None]

QUESTIONS, CANDIDATES = 527, 20  # as in the paper
DEPTH = 1_000  # passages that are searched for a relevant one


class Rows(NamedTuple):
    """Candidates of questions, in the order of the file."""

    name: str
    question: np.ndarray[Any, Any]  # (N) names
    document: np.ndarray[Any, Any]  # (N) names
    features: tuple[str, ...]  # (F)
    X: Floats  # (N, F)
    truth: Flags | None  # (N) by experts, None without expert labels
    matched: Flags | None = None  # (N) by the answer key: RE
    bm25: Floats | None = None  # (N)
    crowd: Callable[[np.random.Generator], tuple[Crowd, Flags]] | None = None  # the real crowd, and the relevant rows
    crowd_name: str = "real"
    pairs: Sequence[tuple[str, str]] = ()  # (N) texts of question and passage, if there are texts


def read_rows(folder: Path, name: str, say: Say, cache: Path | None = None, workers: int = 1) -> Rows:
    """Return a set by its name."""
    set_folder = folder_of(folder, name)
    return SETS[name](set_folder, say, cache, workers)


def folder_of(folder: Path, name: str) -> Path:
    """Return the folder of a set; refuse an unknown set."""
    if name not in SETS:
        raise InputError(f"is no set of this study; its sets are {', '.join(SETS)}: name them with --sets", name)
    set_folder = folder / FOLDERS.get(name, name)
    if not set_folder.is_dir():
        raise InputError("there is no such folder: say with --data where the sets are", str(set_folder))
    return set_folder


def _xquad(folder: Path, say: Say, cache: Path | None, workers: int) -> Rows:
    """Return the questions that the simulated crowd judged, with that crowd."""
    judgments = _table(folder / "simulated_crowd.csv.gz")
    judged_questions = set(judgments["question"].to_list())
    table = _table(folder / "candidates.tsv.gz", "\t").filter(pl.col("question").is_in(list(judged_questions)))
    text = dict(_lines(folder / "passages.tsv.gz"))
    questions = {row[0]: row[1] for row in _lines(folder / "questions.tsv")}
    question, document = table["question"].to_list(), table["passage"].to_list()
    pairs = [(questions[q], text[d]) for q, d in zip(question, document, strict=True)]
    names, X = _features(pairs, question, folder.name, say, cache, workers)
    trust = {
        row["worker"]: float(row["trust"]) for row in _table(folder / "simulated_workers.csv").iter_rows(named=True)
    }
    truth, matched = (table[column].cast(pl.Int64).to_numpy() == 1 for column in ("gold", "re"))
    crowd = Crowd(
        _judged(
            question, document, judgments["question"], judgments["passage"], judgments["worker"], judgments["label"]
        ),
        trust,
    )
    return Rows(
        folder.name,
        np.array(question),
        np.array(document),
        names,
        X,
        truth,
        matched,
        table["bm25"].cast(float).to_numpy(),
        lambda _: (crowd, truth),
        "shipped",
        pairs,
    )


def _wikiqa(folder: Path, say: Say, cache: Path | None, workers: int) -> Rows:
    """Return questions with their sentences."""
    rows = _lines(folder / "passages.tsv")[1:]
    question = [f"{split}{q}" for split, q, *_ in rows]
    document = [f"p{n:05d}" for n in range(len(rows))]
    pairs = [(row[2], row[3]) for row in rows]
    names, X = _features(pairs, question, folder.name, say, cache, workers)
    truth = np.array([row[4] == "1" for row in rows])
    bm25 = X[:, names.index("bm25")] if "bm25" in names else None
    return Rows(folder.name, np.array(question), np.array(document), names, X, truth, None, bm25, pairs=pairs)


def _wikiqa_hard(folder: Path, say: Say, cache: Path | None, workers: int) -> Rows:
    """Return 527 questions with their neighbours in the ranking of all sentences."""
    names, questions, relevant = dict[str, str](), dict[str, str](), defaultdict[str, set[str]](set)
    for split, number, question, passage, label in _lines(folder / "passages.tsv")[1:]:
        names.setdefault(passage, f"p{len(names):05d}")
        questions[f"{split}{number}"] = question
        if label == "1":
            relevant[f"{split}{number}"].add(names[passage])
    rng = np.random.default_rng(0)
    order = sorted(rng.permutation(list(questions)).tolist(), key=lambda q: len(relevant[q]) < 2)  # several first
    ranked = _searched(questions, {d: text for text, d in names.items()}, DEPTH, say)
    first = {q: next((n for n, d in enumerate(ranked[q]) if d in relevant[q]), DEPTH) for q in order}
    missed = [q for q in order if CANDIDATES <= first[q] < DEPTH][: QUESTIONS // 2]
    found = [q for q in order if first[q] < CANDIDATES][: QUESTIONS - len(missed)]
    windows = {q: _window(list(ranked[q]), first[q], rng) for q in (*found, *missed)}
    candidates = {q: {d: ranked[q][d] for d in windows[q]} for q in questions if q in windows}
    return _retrieved("wikiqa_hard", questions, names, candidates, relevant, say, cache, workers)


def _window(ranked: Sequence[str], first: int, rng: np.random.Generator) -> Sequence[str]:
    """Return the first 20 passages, or 20 neighbours with the first relevant one at a random place."""
    start = first - int(rng.integers(CANDIDATES)) if first >= CANDIDATES else 0
    return ranked[start : start + CANDIDATES]


def _cranfield(folder: Path, say: Say, cache: Path | None, workers: int) -> Rows:
    """Return queries with the first 20 abstracts."""
    documents = {row[2]: row[0] for row in _lines(folder / "docs.tsv")[1:] if len(row) > 2 and row[2].strip()}
    queries = {row[0]: row[2] for row in _lines(folder / "queries.tsv")[1:]}
    relevant = defaultdict[str, set[str]](set)
    for query, document, grade in _lines(folder / "qrels.tsv")[1:]:
        if int(grade) > 0:
            relevant[query].add(document)
    ranked = _searched(queries, {d: text for text, d in documents.items()}, CANDIDATES, say)
    found = {q: ranked[q] for q in queries if relevant[q] & ranked[q].keys()}
    return _retrieved("cranfield", queries, documents, found, relevant, say, cache, workers)


def _searched(
    questions: Mapping[str, str], passages: Mapping[str, str], depth: int, say: Say
) -> dict[str, dict[str, float]]:
    """Return the BM25 scores of the first passages of every question, on plain words, highest first."""
    say(f"searching {len(passages):,} passages")
    score = {question: dict[str, float]() for question in questions}
    run = search(passages, questions, depth, stem=False, stop=False)
    for question, document, value in run.table.select("topic", "document", "score").iter_rows():
        score[question][document] = value
    return score


def _retrieved(
    name: str,
    questions: Mapping[str, str],
    texts: Mapping[str, str],  # names of passages by their text
    candidates: Mapping[str, Mapping[str, float]],  # scores by question and passage
    relevant: Mapping[str, set[str]],
    say: Say,
    cache: Path | None,
    workers: int,
) -> Rows:
    """Return retrieved candidates with their features."""
    passages = {document: text for text, document in texts.items()}
    keys = [(question, document) for question, scores in candidates.items() for document in scores]
    pairs = [(questions[q], passages[d]) for q, d in keys]
    question, document = (np.array(names) for names in zip(*keys, strict=True))
    names, X = _features(pairs, question.tolist(), name, say, cache, workers)
    truth = np.array([d in relevant[q] for q, d in keys])
    bm25 = np.array([candidates[q][d] for q, d in keys])
    return Rows(name, question, document, names, X, truth, None, bm25, pairs=pairs)


def _trecqa(folder: Path, say: Say, cache: Path | None, workers: int) -> Rows:
    """Return the features of each pair."""
    import json

    say(f"reading {folder.name}")
    names = tuple(json.loads((folder / "feature_names.json").read_text(encoding="utf8")))
    question, document, truth, matched, values = [], [], [], [], []
    for line in (folder / "features.svm").read_text(encoding="utf8").splitlines():
        content, _, note = line.partition("#")
        label, group, *numbers = content.split()
        about = dict(part.split("=") for part in note.split())
        question.append(group.removeprefix("qid:"))
        document.append(about["doc"])
        truth.append(label == "1")
        matched.append(about["re"] == "1")
        values.append([float(number.split(":")[1]) for number in numbers])
    X = np.array(values)
    at = names.index("bm25")
    return Rows(
        folder.name, np.array(question), np.array(document), names, X, np.array(truth), np.array(matched), X[:, at]
    )


def _cast(folder: Path, say: Say, cache: Path | None, workers: int) -> Rows:
    """Return sentences with the features of their position, and their judges."""
    say(f"reading {folder.name}")
    judgments = _table(folder / "sentence_judgments_large.csv.gz")
    judgments = judgments.with_columns(document=pl.concat_str("passage", "sent", separator="#"))
    rows = judgments.unique(["turn", "document"], maintain_order=True, keep="first").select(
        "turn", "passage", "sent", "document"
    )
    grades = _table(folder / "trec_grades.csv")
    rows = rows.join(grades, on=["turn", "passage"], how="left", maintain_order="left")
    grade = rows["trec_grade"].cast(float).fill_null(0.0).to_numpy()
    question, document = rows["turn"].to_list(), rows["document"].to_list()
    names, X = _standing(rows["turn"] + rows["passage"], rows["sent"].cast(float).to_numpy(), grade)
    trust = judgments.group_by("worker").agg(pl.col("approval").cast(float).mean() / 100)
    crowd = Crowd(
        _judged(question, document, judgments["turn"], judgments["document"], judgments["worker"], judgments["label"]),
        dict(trust.iter_rows()),
    )
    voted = _voted(crowd.judgments)
    return Rows(folder.name, np.array(question), np.array(document), names, X, None, crowd=lambda _: (crowd, voted))


def _nyt(folder: Path, say: Say, cache: Path | None, workers: int) -> Rows:
    """Return paragraphs with the features of their position; each run draws five judges per paragraph for training."""
    say(f"reading {folder.name}")
    judgments = _table(folder / "labels.csv").sort("timestamp", maintain_order=True)
    judgments = judgments.unique(
        ["item", "worker"], maintain_order=True, keep="first"
    )  # otherwise a judge could be in both parts
    grades = {row["item"]: float(row["nist_rel"]) for row in _table(folder / "doc_gold.csv").iter_rows(named=True)}
    rows = judgments.unique("item", maintain_order=True, keep="first").select("item", "topic")
    question, document = rows["topic"].to_list(), rows["item"].to_list()
    inside = [item.rsplit("_s", 1)[0] for item in document]
    at = np.array([float(item.rsplit("_s", 1)[1]) for item in document])
    names, X = _standing(pl.Series(inside), at, np.array([grades.get(name, 0.0) for name in inside]))
    all_judgments = _judged(
        question, document, judgments["topic"], judgments["item"], judgments["worker"], judgments["label"]
    )
    trusts = judgments.group_by("worker").agg(pl.col("trust").cast(float).mean())
    trust = dict(trusts.iter_rows())

    def crowd(rng: np.random.Generator) -> tuple[Crowd, Flags]:
        """Draw five judges of each paragraph; the others vote on the truth."""
        item = all_judgments.item()
        order = np.lexsort((rng.random(len(all_judgments)), item))
        first = np.arange(len(all_judgments)) - all_judgments.start[item] < PANEL
        return Crowd(all_judgments.take(order[first]), trust), _voted(all_judgments.take(order[~first]))

    return Rows(folder.name, np.array(question), np.array(document), names, X, None, crowd=crowd)


SETS: Mapping[str, Callable[[Path, Say, Path | None, int], Rows]] = {
    "xquad_sentences": _xquad,
    "qa_wikiqa": _wikiqa,
    "wikiqa_hard": _wikiqa_hard,
    "cranfield": _cranfield,
    "trecqa_letor": _trecqa,
    "cast_snippets": _cast,
    "nyt_passages": _nyt,
}


FOLDERS = {"wikiqa_hard": "qa_wikiqa"}  # of sets that are not named by their folder


def _features(
    pairs: Sequence[tuple[str, str]], topics: Sequence[str], name: str, say: Say, cache: Path | None, workers: int
) -> tuple[tuple[str, ...], Floats]:
    """Return the features of question-passage pairs, stored in the folder of the study."""
    from adjudge.learn.features import pair_features

    say(f"features of {len(pairs):,} pairs of {name}")
    table = pair_features(pairs, topics=topics, workers=workers, cache=None if cache is None else cache / "features")
    return tuple(table.names), np.asarray(table.X, dtype=float)


def _standing(inside: pl.Series, at: Floats, grade: Floats) -> tuple[tuple[str, ...], Floats]:
    """Return features of sentences without their text: the position, and the grade of the passage."""
    _, code = np.unique(inside.to_numpy(), return_inverse=True)
    first = np.full(code.max() + 1, np.inf)
    np.minimum.at(first, code, at)
    position = at - first[code]
    length = np.bincount(code).astype(float)[code]
    names = ("place", "first", "second", "inverse", "share", "length", "grade", "high grade")
    columns = (
        *(position, position == 0, position == 1, 1 / (1 + position)),
        *(position / np.maximum(length - 1, 1), np.log(length), grade, grade >= max(2.0, grade.max() - 1)),
    )
    return names, np.column_stack(columns).astype(float)


def _judged(
    question: Sequence[str], document: Sequence[str], q: pl.Series, d: pl.Series, worker: pl.Series, label: pl.Series
) -> Judgments:
    """Return judgments from questions and documents; items are named by row number."""
    row = {pair: n for n, pair in enumerate(zip(question, document, strict=True))}
    item = np.array([row[pair] for pair in zip(q.to_list(), d.to_list(), strict=True)], np.int32)
    judges, judge = np.unique(worker.to_numpy(), return_inverse=True)
    return from_codes(
        item,
        judge,
        label.cast(pl.Int64).to_numpy().astype(np.uint8),
        items=pl.Series("item", [str(n) for n in range(len(document))]),
        judges=pl.Series("judge", judges.astype(str).tolist()),
        scale=Scale((0, 1), False),
    )


def _voted(judgments: Judgments) -> Flags:
    """Return whether more than half of the judgments of an item are relevant (N)."""
    ones = np.bincount(judgments.item(), judgments.label, len(judgments.items))
    more: Flags = 2 * ones > np.diff(judgments.start)
    return more


def _table(path: Path, separator: str = ",") -> pl.DataFrame:
    """Return a table of strings from a file, which may be gzipped."""
    return pl.read_csv(
        _content(path), separator=separator, infer_schema=False, quote_char='"' if separator == "," else None
    )


def _lines(path: Path) -> list[list[str]]:
    """Return the tab-separated fields of every line."""
    text = io.StringIO(_content(path).decode("utf8"), newline="\n")
    return [line for line in csv.reader(text, delimiter="\t", quoting=csv.QUOTE_NONE) if line]


def _content(path: Path) -> bytes:
    """Return the content of a file, which may be gzipped."""
    if not path.is_file():
        raise InputError("there is no such file: say with --data where the sets are", str(path))
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content
