"""How far a question and a passage say the same in the same order."""

from __future__ import annotations

from functools import partial

from adjudge.arrays import Floats
from adjudge.kernels import overlap as kernels
from adjudge.learn.encoded import Encoded, bag, share
from adjudge.learn.feature import Feature


def subsequence(pairs: Encoded, unit: str) -> Floats:
    """Return the longest common subsequence, as a share of the question's length."""
    terms = pairs.unit(unit)
    length = kernels.subsequence(*terms.question[:2], *terms.passage[:2], pairs.question, pairs.passage)
    return share(length.astype(float), terms.question.length[pairs.question].astype(float))


def rouge(pairs: Encoded, unit: str) -> Floats:
    """Return ROUGE-L: the harmonic mean of the longest common subsequence as a share of either length."""
    terms = pairs.unit(unit)
    length = kernels.subsequence(*terms.question[:2], *terms.passage[:2], pairs.question, pairs.passage)
    both = terms.question.length[pairs.question] + terms.passage.length[pairs.passage]
    return share(2.0 * length.astype(float), both.astype(float))


def substring(pairs: Encoded, unit: str) -> Floats:
    """Return the longest run of terms that both have, as a share of the question's length."""
    terms = pairs.unit(unit)
    length = kernels.substring(*terms.question[:2], *terms.passage[:2], pairs.question, pairs.passage)
    return share(length.astype(float), terms.question.length[pairs.question].astype(float))


def closeness(pairs: Encoded) -> Floats:
    """Return the share of the question's content stems found, times their share of the least stretch with them all."""
    question = bag(pairs.content.question, pairs.content.size)
    held, least = kernels.window(*question[:2], *pairs.content.passage[:2], pairs.question, pairs.passage)
    found = held.astype(float)
    return share(found, question.size[pairs.question]) * share(found, least.astype(float))


def first_match(pairs: Encoded) -> Floats:
    """Return how early the passage first has a content stem of the question: 1 at once, towards 0 late, 0 never."""
    question, passage = bag(pairs.content.question, pairs.content.size), pairs.content.passage
    first = kernels.first(*question[:2], *passage[:2], pairs.question, pairs.passage)
    length = passage.length[pairs.passage]
    return share((length - first).astype(float), length.astype(float))


FEATURES = (
    *(
        Feature(f"{kind}_{unit}", "sequence", f"{said} of {unit}, {of}", partial(function, unit=unit))
        for kind, said, of, function in (
            ("subsequence", "longest common subsequence", "as a share of the question", subsequence),
            ("substring", "longest common run", "as a share of the question", substring),
            ("rouge", "longest common subsequence", "as a share of both lengths (ROUGE-L)", rouge),
        )
        for unit in ("words", "stems")
    ),
    Feature(
        "closeness",
        "sequence",
        "content stems of the question found, more if close together",
        closeness,
    ),
    Feature("first_match", "sequence", "how early the passage has a content stem of the question", first_match),
)
