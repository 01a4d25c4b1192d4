"""Labels as people and programs write them: clear ones are read, all others are not guessed."""

import pytest

from adjudge.studio.desk.labels import RowError, parse_answer, parse_label


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (1, 1),
        (0, 0),
        (2, 1),
        (True, 1),
        (1.0, 1),
        ("1", 1),
        ("false", 0),
        ("Relevant.", 1),
        ("**Irrelevant**", 0),
        ("not  relevant", 0),
        ("Non-relevant!", 0),
        ("Yes", 1),
        ("no.", 0),
        ({"relevance": 1}, 1),
        ({"answer": "irrelevant"}, 0),
        ('{"relevance": 0}', 0),
        ('```json\n{"label": "relevant"}\n```', 1),
        ("Irrelevant, because it is about elms", 0),
        ("Not relevant. It isn't relevant to oaks, but to elms.", 0),
        ("Relevant. It is about oaks, but not about acorns.", 1),
        ("**Relevant**\n\nIt is about oaks", 1),
        ("Yes, it is relevant", 1),
        ("No. It is not relevant.", 0),
        ("cannot tell", None),
        ("Can\u2019t tell.", None),
        ("Unsure: it is very short", None),
    ],
)
def test_clear_answers_are_read(said, meant):
    """Words, numbers and JSON in many dresses, alone or first."""
    assert parse_answer(said) == parse_label(said) == meant


@pytest.mark.parametrize(
    "said",
    [
        *("isn't relevant", "relevant: no", "Relevant? No.", "I can't say it's relevant", "nicht relevant"),
        *("relevant or irrelevant", "either relevant or irrelevant", "I think it may be relevant but also not"),
        *("Relevant, but not really", "Relevant: not", "relevant - maybe", "Irrelevant? No", "irrelevant: false"),
        *(
            "No, it is relevant",
            "Yes, it isn't relevant",
            "Relevant. No.",
            "Relevant! Or irrelevant.",
            "no doubt relevant",
        ),
        *("The document is relevant to the topic.", "1. The document is about elms", "Irrelevant, no wait, relevant"),
        *("maybe", "3", 0.4, [1], "{broken", {"x": 1}, float("nan"), '{"relevance": "perhaps"}'),
    ],
)
def test_labels_that_are_not_clear_are_not_guessed(said):
    """What says both, neither, no plain word first, or something else is refused."""
    for read in (parse_answer, parse_label):
        with pytest.raises(RowError):
            read(said)


@pytest.mark.parametrize("said", [None, "", " ", "null", "None", "n/a", {"relevance": None}, '{"answer": ""}'])
def test_no_answer_is_no_judgment(said):
    """A program that replies nothing has not said that it cannot tell."""
    with pytest.raises(RowError, match="the answer is empty"):
        parse_answer(said)


@pytest.mark.parametrize("said", [None, "", "na"])
def test_empty_cells_are_cannot_tell(said):
    """In a table, as our own exports write it."""
    assert parse_label(said) is None
