"""Features of lemmas, parts of speech and names."""

import sys

import numpy as np
import pytest

from adjudge.errors import MissingExtra
from adjudge.learn.features import FEATURES, features_named, pair_features
from adjudge.learn.grammar import GRAMMAR_FEATURES, GROUP, word_tagger
from adjudge.learn.text import encode_pairs

PAIRS = [
    ("Who founded the European Union?", "Konrad Adenauer was a founder of the European Union and of its members."),
    ("Who founded the European Union?", "The cats were sleeping in the sun."),
    ("Which members have better mice?", "The member has a good mouse."),
    ("", "..."),
]


def test_words_have_lemmas_and_tags() -> None:
    """Lemmas are in lower case, tags those of the Penn Treebank, and punctuation is no word."""
    words = word_tagger()("The European Union has 27 members.")
    assert [word.lemma for word in words] == ["the", "european", "union", "have", "27", "member"]
    assert [word.tag for word in words] == ["DT", "JJ", "NNP", "VBZ", "CD", "NNS"]
    assert word_tagger()(" ?! ") == []


def test_shared_terms_are_counted() -> None:
    """Inflected words agree by their lemmas, a name counts as a whole, and texts without words have the value 0."""
    table = pair_features(PAIRS, GROUP)
    assert table.names == tuple(feature.name for feature in GRAMMAR_FEATURES)
    np.testing.assert_allclose(table["lemmas_1_covered"], [3 / 5, 1 / 5, 4 / 5, 0])  # the; member, have, good, mouse
    np.testing.assert_allclose(table["lemmas_1_jaccard"], [3 / 14, 1 / 10, 4 / 7, 0])
    np.testing.assert_allclose(table["lemmas_2_covered"], [2 / 4, 0, 2 / 4, 0])
    np.testing.assert_allclose(table["tagged_names_covered"], [1, 0, 0, 0])
    np.testing.assert_allclose(table["tagged_names_new"], [np.log(2), 0, 0, 0])
    assert (table["tagged_verbs_covered"][1:] == [0, 1, 0]).all()
    assert table["tagged_nouns_covered"].tolist() == [1, 0, 1, 0]


def test_values_do_not_depend_on_other_pairs_or_threads() -> None:
    """A pair alone has the same values as among others, and with one thread as with several."""
    together = pair_features(PAIRS, GROUP, workers=3).X
    alone = np.vstack([pair_features([pair], GROUP, workers=1).X for pair in PAIRS])
    np.testing.assert_array_equal(together, alone)


def test_they_are_computed_only_if_they_are_named() -> None:
    """By default nothing needs the extra; the group and its members have names."""
    assert {feature.group for feature in features_named()} == {each.group for each in FEATURES.values()} - {GROUP}
    assert features_named(GROUP) == list(GRAMMAR_FEATURES)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the line to type."""
    monkeypatch.setitem(sys.modules, "simplemma", None)
    with pytest.raises(MissingExtra, match=r"^tagging words needs 'adjudge\[grammar\]', which is not installed"):
        GRAMMAR_FEATURES[0].function(encode_pairs(PAIRS))
