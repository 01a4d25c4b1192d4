"""Features of lemmas, parts of speech and names: what a question and a passage share, apart from their stems.

TextBlob's tagger (a lexicon and rules, from the library pattern) gives every word a tag of the Penn Treebank, simplemma
its lemma. Both packages carry their data, so nothing is downloaded. A name is a run of proper nouns. The features are
computed only if they are asked for, because they need the extra ``grammar`` and about a millisecond per passage.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from itertools import groupby
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import MissingExtra
from adjudge.learn.text import Encoded, Feature, Unit, grams, share, unit_of

GROUP = "grammar"
PACKAGES = ("textblob", "simplemma")
LONGEST = 3  # words in a run of lemmas or of tags
NOUN, VERB, NAME = "NN", "VB", "NNP"  # how their tags begin


class Word(NamedTuple):
    """A word of a text."""

    lemma: str
    tag: str  # of the Penn Treebank


class Units(NamedTuple):
    """Questions and passages as sequences of lemmas, of tags, of lemmas of nouns and of verbs, and of names."""

    lemmas: Unit
    tags: Unit
    nouns: Unit
    verbs: Unit
    names: Unit


_units: WeakKeyDictionary[Encoded, Units] = WeakKeyDictionary()
_lock = Lock()  # texts are tagged once for all features, and the tagger is not thread-safe


def units(pairs: Encoded) -> Units:
    """Return questions and passages in the terms of these features; each text is tagged once."""
    with _lock:
        if pairs not in _units:
            tag = word_tagger()
            sides = [[tag(text) for text in texts] for texts in (pairs.questions, pairs.passages)]
            derived = (_lemmas, _tags, partial(_lemmas, tag=NOUN), partial(_lemmas, tag=VERB), _names)
            _units[pairs] = Units(*(_unit(sides, terms) for terms in derived))
        return _units[pairs]


def word_tagger() -> Callable[[str], list[Word]]:
    """Return a function that gives the words of a text with their lemmas and tags, without punctuation."""
    try:
        from simplemma import lemmatize
        from textblob.taggers import PatternTagger
    except ImportError as error:
        raise MissingExtra("'adjudge[grammar]'", "tagging words") from error
    tagger = PatternTagger()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # TextBlob does not close the files that it reads at first use
        tagger.tag("word", tokenize=True)

    def tagged(text: str) -> list[Word]:
        pairs = tagger.tag(text, tokenize=True)
        return [Word(lemmatize(word, "en").lower(), tag) for word, tag in pairs if any(map(str.isalnum, word))]

    return tagged


def _unit(sides: Iterable[list[list[Word]]], terms: Callable[[list[Word]], list[str]]) -> Unit:
    """Return the terms of questions and passages; there is no corpus."""
    return unit_of([*([terms(text) for text in side] for side in sides), []])


def _lemmas(text: list[Word], tag: str = "") -> list[str]:
    """Return the lemmas of a text, or those of words whose tags begin with one."""
    return [word.lemma for word in text if word.tag.startswith(tag)]


def _tags(text: list[Word]) -> list[str]:
    """Return the tags of a text."""
    return [word.tag for word in text]


def _names(text: list[Word]) -> list[str]:
    """Return the names of a text: runs of proper nouns."""
    runs = groupby(text, lambda word: word.tag.startswith(NAME))
    return [" ".join(word.lemma for word in run) for is_name, run in runs if is_name]


def covered(pairs: Encoded, unit: str, n: int = 1) -> Floats:
    """Return the share of the question's distinct terms, or runs of n terms, that the passage has."""
    question, passage = grams(getattr(units(pairs), unit), n)
    return share(pairs.shared(question, passage), question.size[pairs.question])


def jaccard(pairs: Encoded, unit: str, n: int = 1) -> Floats:
    """Return the Jaccard index of the distinct terms, or runs of n terms."""
    question, passage = grams(getattr(units(pairs), unit), n)
    both = pairs.shared(question, passage)
    return share(both, question.size[pairs.question] + passage.size[pairs.passage] - both)


def tagged_names_new(pairs: Encoded) -> Floats:
    """Return log(1 + names of the passage that the question does not have)."""
    question, passage = grams(units(pairs).names, 1)
    new: Floats = np.log1p(passage.size[pairs.passage] - pairs.shared(question, passage))
    return new


def _features(unit: str, term: str, n: int = 1) -> tuple[Feature, Feature]:
    """Return the two features of what question and passage share."""
    name = f"{unit}_{n}" if unit in ("lemmas", "tags") else f"tagged_{unit}"
    terms = f"runs of {n} {term}" if n > 1 else term
    summaries = (
        f"share of the question's distinct {terms} that the passage has",
        f"distinct {terms} of both, as a share",
    )
    return (
        Feature(f"{name}_covered", GROUP, summaries[0], partial(covered, unit=unit, n=n), 1, PACKAGES),
        Feature(
            f"{name}_jaccard",
            GROUP,
            f"{summaries[1]} of those of either",
            partial(jaccard, unit=unit, n=n),
            1,
            PACKAGES,
        ),
    )


GRAMMAR_FEATURES = (
    *(feature for n in range(1, LONGEST + 1) for feature in _features("lemmas", "lemmas", n)),
    *(feature for n in range(1, LONGEST + 1) for feature in _features("tags", "parts of speech", n)),
    *_features("nouns", "lemmas of nouns"),
    *_features("verbs", "lemmas of verbs"),
    *_features("names", "names (runs of proper nouns)"),
    Feature(
        "tagged_names_new",
        GROUP,
        "log(1 + names of the passage, by the tagger, that are not in the question)",
        tagged_names_new,
        1,
        PACKAGES,
    ),
)
