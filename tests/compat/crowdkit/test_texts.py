"""Texts: aligned words, and embeddings of an encoder."""

import numpy as np
import pandas as pd
import pytest

from adjudge.compat.crowdkit import RASA, ROVER, TextHRRASA, TextRASA
from adjudge.compat.crowdkit.texts import align, vote

TABLE = pd.DataFrame(
    {
        "task": ["t1", "t1", "t1", "t2"],
        "worker": ["x", "y", "z", "x"],
        "text": ["the cat sat", "a cat sat down", "the cat sat down", "alone"],
    }
)


def encoder(text):
    """Return a small embedding: the counts of some letters."""
    return np.array([text.count(letter) for letter in "aehst"], float)


def test_every_place_votes():
    """The word of most texts wins, and no word may win too."""
    rover = ROVER(str.split, " ".join)
    assert rover.fit_predict(TABLE).to_dict() == {"t1": "the cat sat down", "t2": "alone"}
    assert (rover.texts_.name, rover.texts_.index.name) == ("agg_text", "task")


def test_of_tied_words_the_longest_and_then_the_last_wins():
    """Two texts never agree where they differ."""
    assert vote([["a"], ["bb"]]) == ["bb"]
    assert vote([["b"], ["a"]]) == ["b"]


def test_an_alignment_has_the_least_cost():
    """A missing word is an empty place, an additional one a new place with no word of the texts before."""
    network = [{"a": 1}, {"b": 1}, {"c": 1}]
    assert align(network, ["a", "c"], 1) == [{"a": 2}, {"b": 1, "": 1}, {"c": 2}]
    assert align(network, ["a", "b", "x", "c"], 1) == [{"a": 2}, {"b": 2}, {"": 1, "x": 1}, {"c": 2}]
    assert network == [{"a": 1}, {"b": 1}, {"c": 1}]


@pytest.mark.parametrize("model", [TextRASA, TextHRRASA])
def test_texts_are_encoded(model):
    """The consensus is one of the texts, and true texts may be given."""
    ours = model(encoder=encoder)
    texts = ours.fit_predict(TABLE)["text"]
    assert texts["t1"] in TABLE["text"].tolist()
    assert texts["t2"] == "alone"
    assert set(ours.skills_.index) == {"x", "y", "z"}
    assert model(encoder).fit_predict(TABLE, pd.Series({"t1": "a cat sat down"}))["text"]["t1"] == "a cat sat down"


def test_text_rasa_is_rasa_on_embeddings():
    """Scores are those of RASA with the embeddings of the encoder."""
    data = TABLE.rename(columns={"text": "output"}).assign(embedding=[encoder(text) for text in TABLE["text"]])
    ours, other = TextRASA(encoder).fit_predict_scores(TABLE), RASA(tol=1e-5).fit_predict_scores(data)
    np.testing.assert_allclose(ours["score"], other["score"])


def test_an_unknown_attribute_is_an_attribute_error():
    """Attributes of the model are found, and others are not."""
    with pytest.raises(AttributeError, match=r"nothing_"):
        _ = TextRASA(encoder).fit(TABLE).nothing_
