"""``judge_again``: which documents, judged once more, would change the ranking most.

A ranker that learns from soft pairs depends smoothly on how likely each document is relevant. With the objective J of
the ranking SVM at its minimum w, and p_i the probability of document i,

    dw/dp_i = - H^-1 d2J/dw dp_i,     d2J/dw dp_i = - 2 c sum_j slack_ij (x_i - x_j)

over the other documents of the topic (influence functions; Cook and Weisberg 1982). One more judgment by a typical
judge moves p_i by E|p_i' - p_i| on average, whatever she says. Together they tell how far scores within topics are
expected to turn away from what they are, as a share of their spread: a change that only stretches all scores leaves the
order as it is, and is left out.

What nobody judged stands at the prevalence. Where a whole topic does, or documents tie for another reason, a judgment
sets one above the others or below them: the ranking turns to either side, and the mean of both is told, since p_i is
moved up and down by as much on average.
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
from adjudge.learn.feature_file import Features, read_features
from adjudge.learn.pairs import curve, group_codes, paired
from adjudge.learn.ranksvm import solve
from adjudge.learn.training import known_rows

BUDGET = 20
ROUNDING = 1e-12


class Again(NamedTuple):
    """A document to be judged once more."""

    topic: str
    document: str
    judgments: int
    relevant: float  # its probability
    moves: float  # the probability, on average
    turns: float  # the ranking, on average: a share of the spread of scores


@dataclass(frozen=True, eq=False)
class JudgeAgain:
    """Documents to be judged once more, those that turn the ranking most first."""

    documents: tuple[Again, ...]
    unjudged: tuple[str, ...] = ()  # topics of which nobody judged a document, whether or not theirs are named

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def table(self) -> pl.DataFrame:
        """A row for each document."""
        kinds = (pl.String, pl.String, pl.Int64, pl.Float64, pl.Float64, pl.Float64)
        schema = dict(zip(Again._fields, kinds, strict=True))
        return pl.DataFrame([one._asdict() for one in self.documents], schema=schema)

    def pool(self) -> str:
        """Return the pairs as a table for ``adjudge campaign new --pool``."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("topic", "document"))
        rows.writerows((one.topic, one.document) for one in self.documents)
        return text.getvalue()


def judge_again(features: Any, fit: Fit, judgments: Any, *, budget: int = BUDGET, c: float = 1.0) -> JudgeAgain:
    """Return the documents whose next judgment would turn the ranking most.

    ``features`` are rows with a topic, a document and numbers; ``judgments`` those that the fit was made from; ``c``
    is the ranker's.
    """
    if budget < 1:
        raise UsageError(f"budget {budget} is not a number of at least 1")
    if not 0 < c < np.inf:
        raise UsageError(f"c {c} is not a number above 0")
    if len(fit.scale) != 2:
        raise UsageError(f"the fit has {len(fit.scale)} labels: which documents to judge again is known for two")
    table = read_features(features)
    _, evidence = gather_evidence(fit, judgments)
    p, judged = _chances(table, fit, evidence)
    move = expected_move(p, typical_confusion(evidence))
    turn = turns(table.X, p, table.topics, c) * move
    best = np.argsort(-turn, kind="stable")[:budget]
    found = [
        Again(table.topics[i], table.documents[i], int(judged[i]), float(p[i]), float(move[i]), float(turn[i]))
        for i in best.tolist()
        if turn[i] > 0
    ]
    known = {table.topics[i] for i in np.flatnonzero(judged).tolist()}
    return JudgeAgain(tuple(found), tuple(topic for topic in dict.fromkeys(table.topics) if topic not in known))


def expected_move(p: Floats, matrix: Floats) -> Floats:
    """Return by how much one more judgment by this matrix (2, 2) moves each probability on average (N)."""
    said = np.column_stack([1 - p, p]) @ matrix  # (N, 2) chances of what she says
    joint = p[:, None] * matrix[1]
    moved: Floats = np.abs(joint - p[:, None] * said).sum(axis=1)
    return moved


def turns(X: Floats, p: Floats, topics: Any, c: float = 1.0) -> Floats:
    """Return how far the ranking turns for a unit of each row's probability (N), to first order."""
    spread = np.where(np.ptp(X, axis=0) > ROUNDING * np.abs(X).max(axis=0), X.std(axis=0), np.inf)
    plain = (X - X.mean(axis=0)) / spread
    found = paired(p, topics, soft=True)
    own = np.ascontiguousarray(plain[found.order])
    w = solve(own, found.rows, c).w
    code, count = group_codes(topics, p.size)
    bend = np.eye(w.size) + 2 * c * (own.T @ curve(found.rows, own @ w, own))
    centred = plain - _means(plain, code, count)[code]
    metric = centred.T @ centred / p.size
    size = float(w @ metric @ w)
    if size <= 0:
        return np.zeros(p.size)
    turned = np.zeros(p.size)
    for tie in (1.0, -1.0):  # the document is moved up, or down
        change = 2 * c * np.linalg.solve(bend, _pulls(plain, plain @ w, p, code, count, tie).T)  # (F, N) of w by p
        along = w @ metric @ change
        across = np.einsum("fn,fg,gn->n", change, metric, change) - along**2 / size
        turned += np.sqrt(np.maximum(across, 0.0) / size) / 2
    return turned


def _pulls(X: Floats, score: Floats, p: Floats, code: Codes, groups: int, tie: float) -> Floats:
    """Return sum_j slack_ij (x_i - x_j) of every row (N, F), over its group; ``tie`` is the side of an equal row."""
    found = np.zeros(X.shape)
    order = np.argsort(code, kind="stable")
    edges = np.searchsorted(code[order], np.arange(groups + 1))
    for g in range(groups):
        own = order[edges[g] : edges[g + 1]]
        sign = np.sign(p[own][:, None] - p[own][None])  # +1 where the row is to be above the column
        sign[sign == 0] = tie
        slack = np.maximum(0.0, 1 - sign * (score[own][:, None] - score[own][None]))
        found[own] = slack.sum(axis=1)[:, None] * X[own] - slack @ X[own]
    return found


def _means(X: Floats, code: Codes, groups: int) -> Floats:
    """Return the means of every group (G, F)."""
    count = np.maximum(np.bincount(code, minlength=groups), 1)
    columns = [np.bincount(code, X[:, f], groups) / count for f in range(X.shape[1])]
    return np.column_stack(columns)


def _chances(table: Features, fit: Fit, evidence: Any) -> tuple[Floats, Codes]:
    """Return how likely each row is relevant (N), and how often it was judged (N)."""
    rows, item = known_rows(table, fit)
    p = np.full(len(table), float(fit.posterior[:, 1].mean()))
    p[rows] = fit.posterior[item, 1]
    count = np.zeros(len(fit.items), np.int64)
    count[evidence.item_index] = np.diff(evidence.block.start)
    judged = np.zeros(len(table), np.int64)
    judged[rows] = count[item]
    return p, judged
