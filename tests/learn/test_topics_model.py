"""Topic models."""

import sys

import numpy as np
import pytest

from adjudge.errors import MissingExtra
from adjudge.learn import topics_model
from adjudge.learn.features import features

SHEEP = ["the lamb and its fleece", "fleece of a sheep", "sheep and lamb graze", "a lamb follows the sheep"]
ROADS = ["cars on the road", "the road and its traffic", "traffic of cars and lorries", "lorries on a road"]


@pytest.mark.parametrize("name", ["latent_cosine", "topic_overlap"])
def test_what_is_about_the_same_is_close(name, monkeypatch):
    """Lamb and fleece share no word with the question, and their company; the same numbers every time."""
    for size in ("TOPICS", "DIMENSIONS"):
        monkeypatch.setattr(topics_model, size, 2)
    pairs = [("sheep grazing", "fleece of lamb"), ("sheep grazing", "traffic of lorries")]
    corpus = 10 * (SHEEP + ROADS)
    found = features(pairs, [name], corpus)[name]
    assert found[0] > found[1] + 0.1
    assert np.array_equal(features(pairs, [name], corpus)[name], found)


def test_a_text_is_its_own_neighbour():
    """The cosine with itself is 1."""
    assert features([("the lamb", "a lamb")], ["latent_cosine"], SHEEP + ROADS).X[0, 0] == pytest.approx(1)


@pytest.mark.parametrize("corpus", [[], [""], ["lamb"], ["lamb", "lamb"], ["lamb", "snow"]])
def test_a_corpus_too_small_to_learn_from(corpus):
    """Numbers all the same, none missing."""
    found = features([("lamb", "snow"), ("", ""), ("lamb", "lamb")], "topics", corpus)
    assert np.isfinite(found.X).all()


def test_a_large_corpus_is_sampled(monkeypatch):
    """Evenly, so that the same texts are taken every time."""
    monkeypatch.setattr(topics_model, "MOST", 4)
    found = features([("sheep", "fleece"), ("sheep", "road")], "topics", SHEEP * 3)
    assert np.isfinite(found.X).all()


def test_a_missing_library_is_said(monkeypatch):
    """With the line to type."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtra, match=r"a topic model needs 'adjudge\[learn\]'"):
        features([("lamb", "lamb")], ["latent_cosine"], SHEEP)
