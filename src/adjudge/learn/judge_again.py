"""``judge_again``: the documents whose next judgment would change the ranking most.

A ranker that is trained on soft pairs depends smoothly on the probability that each document is relevant. With the
objective J of the ranking SVM at its minimum w, and p_i the probability of document i,

    dw/dp_i = - H^-1 d2J/dw dp_i,     d2J/dw dp_i = - 2 c sum_j slack_ij (x_i - x_j)

over the other documents of the topic (influence functions; Cook and Weisberg 1982). One more judgment by a typical
judge moves p_i by E|p_i' - p_i| on average. The product is the expected change of scores within topics, relative to
their spread; a change that only rescales all scores leaves the order as it is, and is not counted.

A document without judgments has the prevalence as its probability. If all documents of a topic do, or documents tie for
another reason, a judgment moves one above or below the others; the mean of both changes is reported, because p_i moves
up and down by the same amount on average.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats
from adjudge.diagnostics.evidence import gather_evidence, typical_confusion
from adjudge.errors import UsageError
from adjudge.inference.result import Fit
from adjudge.learn.pairs import curve, group_codes, make_pairs
from adjudge.learn.ranksvm import solve
from adjudge.learn.training_set import Features, read_features, rows_in_fit

BUDGET = 20
ROUNDING = 1e-12


class Again(NamedTuple):
    """A document to judge again."""

    topic: str
    document: str
    judgments: int
    relevant: float  # its probability
    moves: float  # expected change of the probability
    turns: float  # expected change of the ranking, relative to the spread of scores


@dataclass(frozen=True, eq=False)
class JudgeAgain:
    """Documents to judge again, those that change the ranking most first."""

    documents: tuple[Again, ...]
    unjudged: tuple[str, ...] = ()  # topics without any judged document

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def table(self) -> pl.DataFrame:
        """A row for each document."""
        kinds = (pl.String, pl.String, pl.Int64, pl.Float64, pl.Float64, pl.Float64)
        schema = dict(zip(Again._fields, kinds, strict=True))
        return pl.DataFrame([document._asdict() for document in self.documents], schema=schema)

    def pool(self) -> str:
        """Return the pairs as a table for ``adjudge campaign new --pool``."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("topic", "document"))
        rows.writerows((row.topic, row.document) for row in self.documents)
        return text.getvalue()


def judge_again(features: Any, fit: Fit, judgments: Any, *, budget: int = BUDGET, c: float = 1.0) -> JudgeAgain:
    """Return the documents whose next judgment would change the ranking most.

    Parameters
    ----------
    features
        Rows with a topic, a document and numbers: a frame or a file of ``adjudge features``.
    fit
        A fit with two labels.
    judgments
        The judgments that the fit was made from.
    budget
        How many documents to return.
    c
        The cost of slack of the ranker.

    Returns
    -------
    JudgeAgain
        With ``table`` and ``pool()``.
    """
    if budget < 1:
        raise UsageError(f"budget {budget} is not a number of at least 1")
    if not 0 < c < np.inf:
        raise UsageError(f"c {c} is not a number above 0")
    if len(fit.scale) != 2:
        raise UsageError(f"the fit has {len(fit.scale)} labels, but judge_again needs two")
    table = read_features(features)
    _, evidence = gather_evidence(fit, judgments)
    p, judged = _chances(table, fit, evidence)
    move = expected_move(p, typical_confusion(evidence))
    turn = turns(table.X, p, table.topics, c) * move
    best = np.argsort(-turn, kind="stable")[:budget]
    documents = [
        Again(table.topics[i], table.documents[i], int(judged[i]), float(p[i]), float(move[i]), float(turn[i]))
        for i in best.tolist()
        if turn[i] > 0
    ]
    judged_topics = {table.topics[i] for i in np.flatnonzero(judged).tolist()}
    return JudgeAgain(
        tuple(documents), tuple(topic for topic in dict.fromkeys(table.topics) if topic not in judged_topics)
    )


def expected_move(p: Floats, matrix: Floats) -> Floats:
    """Return the expected change of each probability (N) by one more judgment of a judge with this matrix (2, 2)."""
    answer = np.column_stack([1 - p, p]) @ matrix  # (N, 2) probability of each answer
    joint = p[:, None] * matrix[1]
    moved: Floats = np.abs(joint - p[:, None] * answer).sum(axis=1)
    return moved


def turns(X: Floats, p: Floats, topics: Any, c: float = 1.0) -> Floats:
    """Return the first-order change of the ranking per unit of each row's probability (N)."""
    spread = np.where(np.ptp(X, axis=0) > ROUNDING * np.abs(X).max(axis=0), X.std(axis=0), np.inf)
    plain = (X - X.mean(axis=0)) / spread
    pairs = make_pairs(p, topics, soft=True)
    rows = np.ascontiguousarray(plain[pairs.order])
    w = solve(rows, pairs.rows, c).w
    code, count = group_codes(topics, p.size)
    hessian = np.eye(w.size) + 2 * c * (rows.T @ curve(pairs.rows, rows @ w, rows))
    centred = plain - _means(plain, code, count)[code]
    metric = centred.T @ centred / p.size
    size = float(w @ metric @ w)
    if size <= 0:
        return np.zeros(p.size)
    turned = np.zeros(p.size)
    for tie in (1.0, -1.0):  # the document is moved up, or down
        change = 2 * c * np.linalg.solve(hessian, _pulls(plain, plain @ w, p, code, count, tie).T)  # (F, N) of w by p
        along = w @ metric @ change
        across = np.einsum("fn,fg,gn->n", change, metric, change) - along**2 / size
        turned += np.sqrt(np.maximum(across, 0.0) / size) / 2
    return turned


def _pulls(X: Floats, score: Floats, p: Floats, code: Codes, groups: int, tie: float) -> Floats:
    """Return sum_j slack_ij (x_i - x_j) of every row (N, F), over its group; ``tie`` is the side of an equal row."""
    pulls = np.zeros(X.shape)
    order = np.argsort(code, kind="stable")
    edges = np.searchsorted(code[order], np.arange(groups + 1))
    for g in range(groups):
        rows = order[edges[g] : edges[g + 1]]
        sign = np.sign(p[rows][:, None] - p[rows][None])  # +1 if the row should rank above the column
        sign[sign == 0] = tie
        slack = np.maximum(0.0, 1 - sign * (score[rows][:, None] - score[rows][None]))
        pulls[rows] = slack.sum(axis=1)[:, None] * X[rows] - slack @ X[rows]
    return pulls


def _means(X: Floats, code: Codes, groups: int) -> Floats:
    """Return the means of every group (G, F)."""
    count = np.maximum(np.bincount(code, minlength=groups), 1)
    columns = [np.bincount(code, X[:, f], groups) / count for f in range(X.shape[1])]
    return np.column_stack(columns)


def _chances(table: Features, fit: Fit, evidence: Any) -> tuple[Floats, Codes]:
    """Return the probability that each row is relevant (N), and its number of judgments (N)."""
    rows, item = rows_in_fit(table, fit)
    p = np.full(len(table), float(fit.posterior[:, 1].mean()))
    p[rows] = fit.posterior[item, 1]
    count = np.zeros(len(fit.items), np.int64)
    count[evidence.item_index] = np.diff(evidence.block.start)
    judged = np.zeros(len(table), np.int64)
    judged[rows] = count[item]
    return p, judged
