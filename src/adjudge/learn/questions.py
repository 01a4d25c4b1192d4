"""What kind of answer a question asks for, and whether a passage has something of this kind that the question has not.

Rules of our own: question words and the noun after them on one side; years, numbers, names, places, reasons and means
on the other. They are rough, fast, and the same everywhere.
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
KINDS = {  # the first that is found in a question
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
    """Return what a question asks for: person, number, time, place, reason, means, or other.

    >>> kind("How many points did they score?"), kind("In what year was it?"), kind("What is it?")
    ('number', 'time', 'other')
    """
    text = question.lower()
    return next((name for name, rule in RULES.items() if rule.search(text)), OTHER)


def names(text: str) -> set[str]:
    """Return the capitalised words of a text, in small letters; a sentence's first only where another follows."""
    found = set()
    for sentence in SENTENCE.split(text):
        listed = NAME.findall(sentence)
        large = [word[0].isupper() for word in listed]
        for n, word in enumerate(listed):
            follows = n + 1 < len(listed) and large[n + 1]
            if large[n] and (n > 0 or follows) and word.lower() not in STOP | NOT_NAMES:
                found.add(_plain(word))
    return found


def numbers(text: str) -> set[str]:
    """Return the numbers of a text that are no years, in digits or in words."""
    without = YEAR.sub(" ", text)
    return {number.replace(",", "") for number in NUMBER.findall(without)} | COUNTS.intersection(words(text))


def times(text: str) -> set[str]:
    """Return years, months, days of the week and other signs of time."""
    return {*YEAR.findall(text), *(sign.lower() for sign in TIME.findall(text))}


def places(text: str) -> set[str]:
    """Return names after a word such as ``in``."""
    return {_plain(name) for name in WHERE.findall(text) if name.lower() not in STOP | NOT_NAMES}


def reasons(text: str) -> set[str]:
    """Return signs of a reason."""
    return {sign.lower() for sign in CAUSE.findall(text)}


def means(text: str) -> set[str]:
    """Return signs of a means."""
    return {sign.lower() for sign in WAY.findall(text)}


def evidence(pairs: Encoded, asked: str) -> Floats:
    """Return how many signs of a kind of answer the passage has and the question has not."""
    finder = EVIDENCE[asked]
    told = [finder(passage) for passage in pairs.passages]
    known = [{_plain(word) for word in (*NAME.findall(text), *words(text))} for text in pairs.questions]
    both = zip(pairs.question.tolist(), pairs.passage.tolist(), strict=True)
    return np.fromiter((len(told[p] - known[q]) for q, p in both), float, len(pairs))


def match(pairs: Encoded, asked: str) -> Floats:
    """Return 1 where the question asks for this kind of answer and the passage has something new of it."""
    asks = np.array([kind(question) == asked for question in pairs.questions], bool)
    return (asks[pairs.question] & (evidence(pairs, asked) > 0)).astype(float)


def answer_match(pairs: Encoded) -> Floats:
    """Return 1 where the passage has something new of the kind asked for, 0 where not, 1/2 where the kind is other."""
    kinds = [kind(question) for question in pairs.questions]
    other = np.array([one == OTHER for one in kinds], bool)
    return sum((match(pairs, asked) for asked in KINDS), 0.5 * other[pairs.question])


def new(pairs: Encoded, asked: str) -> Floats:
    """Return log(1 + signs of this kind that the passage has and the question has not)."""
    return np.log1p(evidence(pairs, asked))


def kept(pairs: Encoded, asked: str) -> Floats:
    """Return the share of the question's signs of this kind that the passage has too; 0 where there are none."""
    asks = [EVIDENCE[asked](question) for question in pairs.questions]
    told = [{_plain(word) for word in (*NAME.findall(text), *words(text))} for text in pairs.passages]
    both = list(zip(pairs.question.tolist(), pairs.passage.tolist(), strict=True))
    found = np.fromiter((len(asks[q] & told[p]) for q, p in both), float, len(both))
    return share(found, np.fromiter((len(asks[q]) for q, _ in both), float, len(both)))


def _plain(word: str) -> str:
    """Return a word in small letters without the genitive."""
    return word.lower().replace("\u2019", "'").removesuffix("'s")


RULES = {name: re.compile(rule) for name, rule in KINDS.items()}
EVIDENCE = {"person": names, "number": numbers, "time": times, "place": places, "reason": reasons, "means": means}


def _said(asked: str) -> str:
    """Return what the feature of a kind of answer is."""
    article = "an" if asked[0] in "aeiou" else "a"
    return f"1 where {article} {asked} is asked for and the passage has a sign of one that the question has not"


def _counted(kinds: Sequence[tuple[str, str]]) -> list[Feature]:
    """Return the features that count names and numbers, whatever is asked for."""
    return [
        feature
        for asked, plural in kinds
        for feature in (
            Feature(
                f"new_{plural}",
                "answer",
                f"log(1 + {plural} of the passage that the question has not)",
                partial(new, asked=asked),
            ),
            Feature(
                f"{plural}_kept",
                "answer",
                f"share of the question's {plural} that the passage has",
                partial(kept, asked=asked),
            ),
        )
    ]


ANSWER_TYPE_FEATURES = (
    Feature(
        "answer_match",
        "answer",
        "1 where the passage has something new of the kind asked for, 1/2 where no kind is",
        answer_match,
    ),
    *(Feature(f"{asked}_match", "answer", _said(asked), partial(match, asked=asked)) for asked in KINDS),
    *_counted((("person", "names"), ("number", "numbers"), ("time", "times"))),
)


# What the words of a question ask: what it is after, and whether it, or the passage, denies something.

NEGATION = re.compile(r"\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|\w+n't|lack(?:s|ed)?)\b")
ASKING = ("what", "which", "whose")
COPULA = frozenset(("is", "are", "was", "were", "does", "do", "did", "has", "have", "had"))


def focus(question: str) -> str | None:
    """Return the first word that says what a question is after: ``river`` of ``Which long river ...`` is ``long``.

    >>> focus("In what city did it end?"), focus("Who came?")
    ('city', None)
    """
    listed = words(question)
    after = next((n + 1 for n, word in enumerate(listed) if word in ASKING), len(listed))
    return next((word for word in listed[after:] if word not in STOP | COPULA), None)


def focus_found(pairs: Encoded) -> Floats:
    """Return 1 where the passage has the word that says what the question is after, or its stem."""
    stems = Stems()
    wanted = [focus(question) for question in pairs.questions]
    held = [{stems[word] for word in words(passage)} for passage in pairs.passages]
    both = zip(pairs.question.tolist(), pairs.passage.tolist(), strict=True)
    sought = [None if word is None else stems[word] for word in wanted]
    return np.fromiter((sought[q] in held[p] for q, p in both), float, len(pairs))


def _denies(texts: tuple[str, ...]) -> Flags:
    """Return which texts deny something."""
    return np.array([bool(NEGATION.search(text.lower().replace("\u2019", "'"))) for text in texts], bool)


def passage_negated(pairs: Encoded) -> Floats:
    """Return 1 where the passage denies something."""
    return _denies(pairs.passages)[pairs.passage].astype(float)


def negation_agrees(pairs: Encoded) -> Floats:
    """Return 1 where both deny something or neither does."""
    question, passage = _denies(pairs.questions)[pairs.question], _denies(pairs.passages)[pairs.passage]
    return np.equal(question, passage).astype(float)


ASKING_FEATURES = (
    Feature("focus_found", "question", "1 where the passage has the word after what or which", focus_found),
    Feature("passage_negated", "question", "1 where the passage denies something", passage_negated),
    Feature("negation_agrees", "question", "1 where both deny something, or neither", negation_agrees),
)
