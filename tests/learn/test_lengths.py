"""Lengths."""

import math

from adjudge.learn.features import features


def test_lengths():
    """Counted on fingers."""
    found = features([("who came", "the lamb and Mary"), ("", "")], "length")
    assert found.names == ("question_length", "passage_length", "length_ratio", "content_share")
    assert found.X.tolist() == [[math.log(3), math.log(5), 2 / 6, 2 / 4], [0, 0, 0, 0]]
