"""What judges read first."""

from adjudge.collect.files.instructions import INSTRUCTIONS


def test_they_are_plain_paragraphs():
    """Without markup, each on one line, with a word on relevance, ranks and gold."""
    paragraphs = INSTRUCTIONS.split("\n\n")
    assert len(paragraphs) == 4
    assert not any("\n" in paragraph or "*" in paragraph or "<" in paragraph for paragraph in paragraphs)
    assert all(word in INSTRUCTIONS for word in ("relevant", "rank", "known answers", "contest"))
