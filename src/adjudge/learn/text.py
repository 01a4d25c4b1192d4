"""Words of English text: how they are told apart, their stems, and those that say nothing of what a text is about."""

from __future__ import annotations

import re
import unicodedata
from threading import Lock

from adjudge.errors import MissingExtra

VERSION = 1  # rises where the same text would give other words, so that nothing cached before is used
WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+(?:['\u2019][^\W_]+)*")
_STOP = """
a about above after again against all also am an and any are aren't as at be because been before being below between
both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from further
had hadn't has hasn't have haven't having he he's her here hers herself him himself his how i i'm if in into is isn't it
it's its itself just me more most my myself no nor not of off on once only or other our ours ourselves out over own same
she she's should shouldn't so some such than that that's the their theirs them themselves then there there's these they
they're this those through to too under until up upon us very was wasn't we we're were weren't what what's when where
which while who who's whom whose why will with won't would wouldn't you you're your yours yourself yourselves
"""
STOP = frozenset(_STOP.split())


def words(text: str) -> list[str]:
    """Return the words and numbers of a text in small letters: ``1,050 isn't 6-fold`` has 1050, isn't, 6 and fold."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    return [word.replace(",", "") if "," in word else word for word in WORD.findall(plain.lower())]


class Stems(dict[str, str]):
    """The stem of every word asked for, by Snowball's English rules; each is worked out once."""

    def __init__(self) -> None:
        super().__init__()
        try:
            from snowballstemmer import stemmer  # type: ignore[import-untyped]
        except ImportError as error:
            raise MissingExtra("'adjudge[learn]'", "stemming") from error
        self._stemmer, self._lock = stemmer("english"), Lock()

    def __missing__(self, word: str) -> str:
        with self._lock:  # the stemmer holds the word while it works
            stem: str = self._stemmer.stemWord(word)
        self[word] = stem
        return stem


def terms(text: str, stems: Stems | None, stop: bool = True) -> list[str]:
    """Return what a text is searched by: its words without stop words, stemmed where stems are given."""
    kept = [word for word in words(text) if not (stop and word in STOP)]
    return kept if stems is None else [stems[word] for word in kept]
