"""Features of the kind of answer that a question asks for, and of negation.

Rules find the expected kind of answer (question words and the noun after them), and evidence of it in a passage that is
not in the question: years, numbers, names, places, reasons and means. They are coarse, fast and deterministic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import numpy as np

from adjudge.arrays import Flags, Floats
from adjudge.learn.text import STOP, Encoded, Feature, Stems, share, words

PEOPLE = "person|people|man|woman|king|queen|president|leader|player|coach|author|actor|singer|scientist|architect"
PLACES = "place|city|town|country|state|nation|river|island|county|province|region|continent|area|location|street"
AMOUNTS = "number|percent|percentage|amount|age|population|size|length|height|distance|speed|cost|price|rate|score"
TIMES = "year|date|day|month|century|decade|time|season|era"
WHICH = r"\b(?:what|which)(?: was| is| were| are)?(?: the)? "
KINDS = {  # the first match in a question decides
    "person": rf"\b(?:who|whom|whose|who's)\b|{WHICH}(?:{PEOPLE})\b",
    "number": rf"\bhow (?:many|much|old|long|far|tall|large|big|high|deep|fast|often|heavy)\b|{WHICH}(?:{AMOUNTS})\b",
    "time": rf"\bwhen\b|{WHICH}(?:{TIMES})\b",
    "place": rf"\bwhere\b|{WHICH}(?:{PLACES})\b",
    "reason": r"\bwhy\b|\bwhat (?:is |was |were |are )?(?:the )?(?:reasons?|causes?|caused)\b",
    "means": r"\bhow\b",
}
OTHER = "other"

NAME = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
SENTENCE = re.compile(r"(?<=[.!?;:])\s+")
YEAR = re.compile(r"(?<![\d.,])(?:1[0-9]{3}|20[0-9]{2})s?(?![\d,]*\d)")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
DAY = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
TIME = re.compile(rf"\b(?:{MONTH}|{DAY})\b|\b(?:century|centuries|decade|BCE?|A\.?D\.?|[ap]\.m\.)(?!\w)")
WHERE = re.compile(
    r"\b(?:in|at|near|from|across|outside|inside|around)\s+(?:the\s+)?((?-i:[A-Z])[\w'-]+)", re.IGNORECASE
)
CAUSE = re.compile(
    r"\b(?:because|due to|owing to|since|as a result|in order to|so that|therefore|thus|caused|leads? to|led to)\b",
    re.I,
)
WAY = re.compile(r"\b(?:by|through|via|using|by means of)\b", re.IGNORECASE)
_COUNTS = """
two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen
"""
COUNTS = frozenset(_COUNTS.split())
NOT_NAMES = frozenset(f"{MONTH}|{DAY}".lower().split("|"))


def kind(question: str) -> str:
    """Return the kind of answer that a question asks for: person, number, time, place, reason, means, or other.

    >>> kind("How many points did they score?"), kind("In what year was it?"), kind("What is it?")
    ('number', 'time', 'other')
    """
    text = question.lower()
    return next((name for name, rule in RULES.items() if rule.search(text)), OTHER)


def names(text: str) -> set[str]:
    """Return the capitalised words of a text in lower case; the first of a sentence only if another follows."""
    capitalised = set()
    for sentence in SENTENCE.split(text):
        listed = NAME.findall(sentence)
        large = [word[0].isupper() for word in listed]
        for n, word in enumerate(listed):
            follows = n + 1 < len(listed) and large[n + 1]
            if large[n] and (n > 0 or follows) and word.lower() not in STOP | NOT_NAMES:
                capitalised.add(_plain(word))
    return capitalised


def numbers(text: str) -> set[str]:
    """Return the numbers of a text, in digits or words, without years."""
    without = YEAR.sub(" ", text)
    return {number.replace(",", "") for number in NUMBER.findall(without)} | COUNTS.intersection(words(text))


def times(text: str) -> set[str]:
    """Return years, months, days of the week and other expressions of time."""
    return {*YEAR.findall(text), *(sign.lower() for sign in TIME.findall(text))}


def places(text: str) -> set[str]:
    """Return names after a word such as ``in``."""
    return {_plain(name) for name in WHERE.findall(text) if name.lower() not in STOP | NOT_NAMES}


def reasons(text: str) -> set[str]:
    """Return expressions of a reason."""
    return {sign.lower() for sign in CAUSE.findall(text)}


def means(text: str) -> set[str]:
    """Return expressions of a means."""
    return {sign.lower() for sign in WAY.findall(text)}


def evidence(pairs: Encoded, answer: str) -> Floats:
    """Return the number of expressions of a kind of answer that are in the passage and not in the question."""
    finder = EVIDENCE[answer]
    in_passage = [finder(passage) for passage in pairs.passages]
    in_question = [{_plain(word) for word in (*NAME.findall(text), *words(text))} for text in pairs.questions]
    both = zip(pairs.question.tolist(), pairs.passage.tolist(), strict=True)
    return np.fromiter((len(in_passage[p] - in_question[q]) for q, p in both), float, len(pairs))


def match(pairs: Encoded, answer: str) -> Floats:
    """Return 1 if the question asks for this kind of answer and the passage has a new expression of it."""
    asks = np.array([kind(question) == answer for question in pairs.questions], bool)
    return (asks[pairs.question] & (evidence(pairs, answer) > 0)).astype(float)


def answer_match(pairs: Encoded) -> Floats:
    """Return 1 if the passage has a new expression of the kind asked for, 0 if not, 1/2 if the kind is other."""
    kinds = [kind(question) for question in pairs.questions]
    other = np.array([name == OTHER for name in kinds], bool)
    return sum((match(pairs, answer) for answer in KINDS), 0.5 * other[pairs.question])


def new_evidence(pairs: Encoded, answer: str) -> Floats:
    """Return log(1 + expressions of this kind that are in the passage and not in the question)."""
    return np.log1p(evidence(pairs, answer))


def shared_evidence(pairs: Encoded, answer: str) -> Floats:
    """Return the share of the question's expressions of this kind that the passage has; 0 if there are none."""
    asks = [EVIDENCE[answer](question) for question in pairs.questions]
    in_passage = [{_plain(word) for word in (*NAME.findall(text), *words(text))} for text in pairs.passages]
    both = list(zip(pairs.question.tolist(), pairs.passage.tolist(), strict=True))
    common = np.fromiter((len(asks[q] & in_passage[p]) for q, p in both), float, len(both))
    return share(common, np.fromiter((len(asks[q]) for q, _ in both), float, len(both)))


def _plain(word: str) -> str:
    """Return a word in lower case without the genitive."""
    return word.lower().replace("\u2019", "'").removesuffix("'s")


RULES = {name: re.compile(rule) for name, rule in KINDS.items()}
EVIDENCE = {"person": names, "number": numbers, "time": times, "place": places, "reason": reasons, "means": means}


def _match_summary(answer: str) -> str:
    """Return the description of the feature of a kind of answer."""
    article = "an" if answer[0] in "aeiou" else "a"
    return f"1 if {article} {answer} is answer for and the passage mentions one that the question does not"


def _count_features(kinds: Sequence[tuple[str, str]]) -> list[Feature]:
    """Return the features that count names and numbers, whatever the question asks for."""
    return [
        feature
        for answer, plural in kinds
        for feature in (
            Feature(
                f"new_{plural}",
                "answer",
                f"log(1 + {plural} of the passage that are not in the question)",
                partial(new_evidence, answer=answer),
            ),
            Feature(
                f"{plural}_kept",
                "answer",
                f"share of the question's {plural} that the passage has",
                partial(shared_evidence, answer=answer),
            ),
        )
    ]


ANSWER_TYPE_FEATURES = (
    Feature(
        "answer_match",
        "answer",
        "1 if the passage has a new expression of the kind asked for, 1/2 if the kind is other",
        answer_match,
    ),
    *(Feature(f"{answer}_match", "answer", _match_summary(answer), partial(match, answer=answer)) for answer in KINDS),
    *_count_features((("person", "names"), ("number", "numbers"), ("time", "times"))),
)


NEGATION = re.compile(r"\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|\w+n't|lack(?:s|ed)?)\b")
ASKING = ("what", "which", "whose")
COPULA = frozenset(("is", "are", "was", "were", "does", "do", "did", "has", "have", "had"))


def focus(question: str) -> str | None:
    """Return the first content word after what, which or whose: ``long`` for ``Which long river ...``.

    >>> focus("In what city did it end?"), focus("Who came?")
    ('city', None)
    """
    listed = words(question)
    after = next((n + 1 for n, word in enumerate(listed) if word in ASKING), len(listed))
    return next((word for word in listed[after:] if word not in STOP | COPULA), None)


def focus_found(pairs: Encoded) -> Floats:
    """Return 1 if the passage has the focus of the question, or a word with the same stem."""
    stems = Stems()
    focuses = [focus(question) for question in pairs.questions]
    passage_stems = [{stems[word] for word in words(passage)} for passage in pairs.passages]
    both = zip(pairs.question.tolist(), pairs.passage.tolist(), strict=True)
    sought = [None if word is None else stems[word] for word in focuses]
    return np.fromiter((sought[q] in passage_stems[p] for q, p in both), float, len(pairs))


def _negated(texts: tuple[str, ...]) -> Flags:
    """Return which texts contain a negation."""
    return np.array([bool(NEGATION.search(text.lower().replace("\u2019", "'"))) for text in texts], bool)


def passage_negated(pairs: Encoded) -> Floats:
    """Return 1 if the passage contains a negation."""
    return _negated(pairs.passages)[pairs.passage].astype(float)


def negation_agrees(pairs: Encoded) -> Floats:
    """Return 1 if both contain a negation, or neither does."""
    question, passage = _negated(pairs.questions)[pairs.question], _negated(pairs.passages)[pairs.passage]
    return np.equal(question, passage).astype(float)


ASKING_FEATURES = (
    Feature("focus_found", "question", "1 if the passage has the word after what or which", focus_found),
    Feature("passage_negated", "question", "1 if the passage contains a negation", passage_negated),
    Feature("negation_agrees", "question", "1 if both contain a negation, or neither does", negation_agrees),
)
