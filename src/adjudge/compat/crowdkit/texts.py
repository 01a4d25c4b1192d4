"""Texts: voting on aligned words (ROVER), and the closest text by embeddings (TextRASA, TextHRRASA)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd

from adjudge.compat.crowdkit.base import codes
from adjudge.compat.crowdkit.embeddings import HRRASA, RASA, Similarity

Slot = dict[str, int]  # how many texts have each word here; "" is no word


class ROVER:
    """ROVER: texts are aligned word by word, and every place votes (Fiscus 1997, IEEE ASRU, 347-354).

    Each text is aligned to the network of the texts before it with the fewest insertions, deletions and substitutions.
    A place has the word of most texts; of tied words, the longest and then the last in alphabetical order. ``texts_``
    has the consensus of every task.
    """

    texts_: pd.Series

    def __init__(
        self, tokenizer: Callable[[str], list[str]], detokenizer: Callable[[list[str]], str], silent: bool = True
    ) -> None:
        self.tokenizer, self.detokenizer, self.silent = tokenizer, detokenizer, silent

    def fit(self, data: pd.DataFrame) -> Self:
        """Align the texts of every task and vote; the table has the columns task, worker and text."""
        code, tasks = codes(data["task"])
        texts: list[list[str]] = [[] for _ in tasks]
        for task, text in zip(code, data["text"], strict=True):
            texts[task].append(text)
        results = [self.detokenizer(vote([self.tokenizer(text) for text in group])) for group in texts]
        self.texts_ = pd.Series(results, tasks.rename("task"), name="agg_text")
        return self

    def fit_predict(self, data: pd.DataFrame) -> pd.Series:
        """Return the consensus text of every task."""
        return self.fit(data).texts_


def vote(texts: Sequence[list[str]]) -> list[str]:
    """Return the words that most texts have at each place of their alignment.

    >>> vote([["a", "b", "c"], ["b", "c"], ["b", "c", "d"]])
    ['b', 'c']
    """
    network: list[Slot] = [{word: 1} for word in texts[0]]
    for before, words in enumerate(texts[1:], 1):
        network = align(network, words, before)
    chosen = (max((times, len(word), word) for word, times in slot.items())[2] for slot in network)
    return [word for word in chosen if word]


def align(network: list[Slot], words: list[str], before: int) -> list[Slot]:
    """Return the network with one more text, where ``before`` texts are in it already.

    The least cost is found by dynamic programming. A word costs 1 unless the slot has it, and so does no word in a slot
    where all texts have one; a word between two slots costs 1. Of equal costs, a word in a slot comes before an empty
    slot, and that before a word in between.
    """
    skip = ["" not in slot for slot in network]
    costs = [[0, *np.cumsum(np.ones(len(network), int)).tolist()]]  # row by word, column by slot
    moves = [[2] * (len(network) + 1)]  # 1: the word is in the slot, 2: the slot has no word, 3: a new slot
    for word in words:
        above, row, move = costs[-1], [costs[-1][0] + 1], [3]
        left = row[0]
        for j, slot in enumerate(network):
            best, kind = above[j] + (word not in slot), 1
            empty, between = left + skip[j], above[j + 1] + 1
            if empty < best:
                best, kind = empty, 2
            if between < best:
                best, kind = between, 3
            row.append(best)
            move.append(kind)
            left = best
        costs.append(row)
        moves.append(move)
    aligned: list[Slot] = []
    i, j = len(words), len(network)
    while i or j:
        kind = moves[i][j]
        slot, word = ({"": before} if kind == 3 else dict(network[j - 1])), ("" if kind == 2 else words[i - 1])
        slot[word] = slot.get(word, 0) + 1
        aligned.append(slot)
        i, j = i - (kind != 2), j - (kind != 3)
    return aligned[::-1]


class _Encoded:
    """Texts whose embeddings are compared."""

    model: RASA
    encoder: Callable[[str], Any]
    texts_: pd.DataFrame

    def __getattr__(self, name: str) -> Any:
        if name == "model":
            raise AttributeError(name)
        return getattr(self.model, name)

    def fit(self, data: pd.DataFrame, true_objects: pd.Series | None = None) -> Self:
        """Fit the model; the table has the columns task, worker and text, and true texts are indexed by task."""
        self.model.fit(self._encode(data), self._encode_true(true_objects))
        return self

    def fit_predict_scores(self, data: pd.DataFrame, true_objects: pd.Series | None = None) -> pd.DataFrame:
        """Return the distance of every text from the mean of its task."""
        return self.model.fit_predict_scores(self._encode(data), self._encode_true(true_objects))

    def fit_predict(self, data: pd.DataFrame, true_objects: pd.Series | None = None) -> pd.DataFrame:
        """Return the consensus text of every task."""
        chosen = self.model.fit_predict(self._encode(data), self._encode_true(true_objects))
        self.texts_ = chosen[["output"]].rename(columns={"output": "text"})
        return self.texts_

    def _encode(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return the table with the embedding of every text; equal texts are encoded once."""
        table = data[["task", "worker", "text"]].rename(columns={"text": "output"})
        code, texts = pd.factorize(table["output"])
        vectors = [self.encoder(text) for text in texts]
        return table.assign(embedding=pd.Series([vectors[n] for n in code], table.index, dtype=object))

    def _encode_true(self, true_objects: pd.Series | None) -> pd.Series | None:
        """Return the embeddings of true texts."""
        if true_objects is None:
            return None
        return pd.Series([self.encoder(text) for text in true_objects], true_objects.index, dtype=object)


class TextRASA(_Encoded):
    """RASA on the embeddings that ``encoder`` gives to texts: ``texts_``, and the attributes of ``RASA``."""

    def __init__(
        self, encoder: Callable[[str], Any], n_iter: int = 100, tol: float = 1e-5, alpha: float = 0.05
    ) -> None:
        self.encoder, self.model = encoder, RASA(n_iter, tol, alpha)


class TextHRRASA(_Encoded):
    """HRRASA on the embeddings that ``encoder`` gives to texts: ``texts_``, and the attributes of ``HRRASA``."""

    def __init__(
        self,
        encoder: Callable[[str], Any],
        n_iter: int = 100,
        tol: float = 1e-5,
        lambda_emb: float = 0.5,
        lambda_out: float = 0.5,
        alpha: float = 0.05,
        calculate_ranks: bool = False,
        output_similarity: Similarity | None = None,
    ) -> None:
        self.encoder = encoder
        self.model = HRRASA(n_iter, tol, lambda_emb, lambda_out, alpha, calculate_ranks, output_similarity)
