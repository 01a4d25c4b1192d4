"""How long a question and a passage are."""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.learn.encoded import Encoded, share
from adjudge.learn.feature import Feature


def question_length(pairs: Encoded) -> Floats:
    """Return log(1 + words of the question)."""
    found: Floats = np.log1p(pairs.words.question.length[pairs.question].astype(float))
    return found


def passage_length(pairs: Encoded) -> Floats:
    """Return log(1 + words of the passage)."""
    found: Floats = np.log1p(pairs.words.passage.length[pairs.passage].astype(float))
    return found


def length_ratio(pairs: Encoded) -> Floats:
    """Return the question's words as a share of the words of both."""
    question, passage = pairs.words.question.length[pairs.question], pairs.words.passage.length[pairs.passage]
    return share(question.astype(float), (question + passage).astype(float))


def content_share(pairs: Encoded) -> Floats:
    """Return the share of the passage's words that are not stop words."""
    content, every = (unit.passage.length[pairs.passage] for unit in (pairs.content, pairs.words))
    return share(content.astype(float), every.astype(float))


FEATURES = (
    Feature("question_length", "length", "log(1 + words of the question)", question_length),
    Feature("passage_length", "length", "log(1 + words of the passage)", passage_length),
    Feature("length_ratio", "length", "the question's words as a share of the words of both", length_ratio),
    Feature("content_share", "length", "share of the passage's words that are not stop words", content_share),
)
