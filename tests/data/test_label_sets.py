"""Reading judgments with several labels: separators, lists, the empty set, gold, and every message."""

import polars as pl
import pytest

from adjudge.data.label_sets import read_label_sets
from adjudge.errors import AdjudgeWarning, InputError, UsageError

ROWS = {"item": ["p", "p", "q"], "judge": ["x", "y", "x"], "label": ["cat|dog", " dog ", ""]}


def answers(sets):
    """Return {(question, judge): answer}."""
    table = sets.judgments.table
    return {(item, judge): label for item, judge, label in table.select("item", "judge", "label").rows()}


def test_every_label_is_a_question_about_every_judged_item():
    """A judge who did not give a label said no; the empty text says no to all."""
    sets = read_label_sets(pl.DataFrame(ROWS))
    assert repr(sets) == "LabelSets(2 items, 2 judges, 2 labels, 3 judgments)"
    assert sets.labels == ("cat", "dog")
    assert answers(sets) == {
        ("cat_p", "x"): "yes",
        ("cat_p", "y"): "no",
        ("cat_q", "x"): "no",
        ("dog_p", "x"): "yes",
        ("dog_p", "y"): "yes",
        ("dog_q", "x"): "no",
    }
    assert sets.judgments.topics.to_list() == ["cat", "dog"]


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        ([["cat", "dog"], ["dog"], []], {}),
        ([["cat", "dog", "cat"], ["dog"], None], {}),
        (["cat;dog", "dog;", "nothing"], {"separator": ";", "none": "nothing"}),
        (["dog | cat|", "dog|dog", None], {}),
    ],
)
def test_other_ways_to_write_the_same(labels, options):
    """Lists, another separator, a word for the empty set, blanks, and repeated labels."""
    sets = read_label_sets(pl.DataFrame({**ROWS, "label": labels}), **options)
    assert answers(sets) == answers(read_label_sets(pl.DataFrame(ROWS)))


def test_a_csv_with_empty_cells(tmp_path):
    """An empty cell is a judgment without labels."""
    (tmp_path / "l.csv").write_text("item,judge,label\np,x,cat|dog\np,y,dog\nq,x,\n")
    assert answers(read_label_sets(tmp_path / "l.csv")) == answers(read_label_sets(pl.DataFrame(ROWS)))


def test_items_of_several_topics_are_distinguished():
    """They are called topic_item."""
    rows = {"topic": ["t", "u", "u"], "item": ["p", "p", "q"], "judge": ["x", "y", "x"], "label": ["a|b", "b", ""]}
    assert read_label_sets(pl.DataFrame(rows)).items.to_list() == ["t_p", "u_p", "q"]


def test_missing_values_are_no_labels():
    """Judgments with a usual text for a missing value are left out, unless it is the word for no label."""
    rows = {"item": ["p", "p", "q", "q"], "judge": ["x", "y", "x", "y"], "label": ["cat|dog", "dog", "", "NaN"]}
    with pytest.warns(AdjudgeWarning) as caught:
        sets = read_label_sets(pl.DataFrame(rows))
    assert str(caught[0].message) == (
        "table, row 3: label 'NaN' is a missing value (1 such of 4, left out; none= makes it mean that no label fits)"
    )
    assert answers(sets) == answers(read_label_sets(pl.DataFrame(ROWS)))
    assert len(read_label_sets(pl.DataFrame(rows), none="NaN").judgments) == 8


def test_one_label_each_is_a_warning():
    """Another command is for such tables."""
    with pytest.warns(AdjudgeWarning) as caught:
        read_label_sets(pl.DataFrame({**ROWS, "label": ["cat", "dog", "dog"]}))
    assert str(caught[0].message) == (
        "table: every judgment has exactly one label, and none has a '|'; adjudge fit is for items with one label"
    )


def test_gold_answers_all_questions_about_an_item():
    """From a mapping to texts or lists; items without gold stay unknown."""
    for gold in ({"p": "dog"}, {"p": ["dog"]}):
        assert read_label_sets(pl.DataFrame(ROWS), gold).gold.tolist() == [0, -1, 1, -1]
    table = pl.DataFrame({"item": ["q", "p"], "gold": ["", "cat|dog"]})
    assert read_label_sets(pl.DataFrame(ROWS), table).gold.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        (
            {"p": "dog", "q": "cow"},
            "table, row 1: nobody gave the gold label 'cow'; the labels are 'cat', 'dog'",
        ),
        (
            {"z": "dog"},
            "table, row 0: none of the 1 gold items was judged: this one is 'z', and judged items are such as 'p'",
        ),
        (
            pl.DataFrame({"item": ["p", "p"], "label": ["dog", "cat"]}),
            "table, row 1: item 'p' has two different sets of gold labels: keep one of them",
        ),
    ],
)
def test_wrong_gold_is_refused(gold, message):
    """With its row."""
    with pytest.raises(InputError) as error:
        read_label_sets(pl.DataFrame(ROWS), gold)
    assert str(error.value) == message


def test_gold_of_items_that_nobody_judged_is_a_warning():
    """It is left out."""
    with pytest.warns(AdjudgeWarning) as caught:
        read_label_sets(pl.DataFrame(ROWS), {"p": "dog", "z": "dog"})
    assert str(caught[0].message) == "table, row 1: nobody judged gold item 'z' (1 such, left out)"


def test_wrong_tables_are_refused():
    """Without any label, with records, without rows, and with a separator of blanks."""
    with pytest.raises(InputError) as error:
        read_label_sets(pl.DataFrame({**ROWS, "label": ["", "", ""]}))
    assert str(error.value) == "table: no judgment has a label (column 'label')"
    with pytest.raises(InputError) as error:
        read_label_sets(pl.DataFrame({**ROWS, "label": [{"a": 1}] * 3}))
    assert str(error.value) == "table: column 'label' holds records or objects: write labels as a|b"
    with pytest.raises(InputError) as error:
        read_label_sets(pl.DataFrame(ROWS).clear())
    assert str(error.value) == "table: holds no rows"
    with pytest.raises(UsageError) as error:
        read_label_sets(pl.DataFrame(ROWS), separator=" ")
    assert str(error.value) == "separator ' ' is not a text without blanks around it, such as | or ;"
