"""What the values in a column of labels mean."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.data.judgments import Judgments, NameIndex, append, describe, judgment_table, match_names
from adjudge.data.label_values import (
    MISSING,
    confidence_note,
    label_values,
    left_out_note,
    odd_labels,
    odd_names,
    spelling_key,
    spellings,
)
from adjudge.data.read import read
from adjudge.diagnostics.judges import cards as cards_of
from adjudge.errors import AdjudgeWarning, UsageError

NESTED = {
    "q1": {"ann": "yes", "bob": "unsure", "cat": "no"},
    "q2": {"ann": "no", "bob": "no", "cat": "skip"},
    "q3": {"ann": "yes", "bob": "unsure", "cat": "yes"},
}


@pytest.mark.parametrize("word", [*MISSING, "", " ", None, "\u200b"])
def test_missing_values(word: str | None) -> None:
    """They are no labels, unless the user gives them as labels; an empty value is never one."""
    values = label_values(pl.Series(["yes", word]))
    assert values.missing.tolist() == values.left_out.tolist() == [False, True]
    is_empty = word is None or not word.replace("\u200b", "").strip()
    assert label_values(pl.Series(["yes", word]), labels=["yes", word]).missing.tolist() == [False, is_empty]
    assert label_values(pl.Series(["yes", word]), missing=[]).missing.tolist() == [False, is_empty]


def test_values_that_are_given() -> None:
    """Missing values and abstentions of the user's own, in any case; a missing value is no abstention."""
    values = label_values(pl.Series(["YES", "Blank", "Unsure", "NaN"]), ["blank", "unsure"], ["UNSURE", "yes"])
    assert values.missing.tolist() == [False, True, True, False]
    assert values.abstention.tolist() == [True, False, False, False]
    assert label_values(pl.Series([1.0, float("nan"), None])).missing.tolist() == [False, True, True]
    with pytest.raises(UsageError, match=r"^abstain 'unsure' is one text: give a list of texts$"):
        label_values(pl.Series(["a"]), abstain="unsure")
    with pytest.warns(AdjudgeWarning, match=r"^table: no judgment has the label 'skip' of abstain=$"):
        read({"q": {"ann": "yes"}}, abstain=["skip"])


def test_notes_about_what_is_left_out() -> None:
    """Missing values and abstentions with their numbers, and the items and judges that have no other judgment."""
    names = pl.Series(["yes", "None", None, "skip"])
    values = label_values(names, abstain=["skip"])
    assert left_out_note(names, values, np.array([5, 2, 1, 3]), 1, 2) == (
        "3 of 11 judgments have no label (empty, 'None') and 3 of 11 judgments are abstentions ('skip'); they are left "
        "out, and 1 item and 2 judges without any other judgment; if 'None' is a label, give all labels with --labels"
    )


def test_spellings() -> None:
    """Case, blanks, invisible characters, forms of Unicode and writings of a number make no label of their own."""
    same = ["Very good", "very good", " VERY  GOOD", "very\u00a0good", "very good\u200b", "\uff56ery good"]
    assert spellings(same).label == ["Very good"] * 6
    assert spellings(same, keep_case=True).label == ["Very good", *["very good"] * 1, "VERY  GOOD", *["very good"] * 3]
    assert spellings(["1", "1.0", "01", "2"]).label == ["1", "1", "1", "2"]
    assert spellings([1, 2.5, True]).label == [1, 2.5, True]
    assert spelling_key("1_000") == "1_000"
    assert spellings(["a", "b"]).notes == ()


def test_labels_that_look_odd() -> None:
    """Every note says what to do."""
    assert odd_labels(["good", "bad"]) == []
    assert odd_labels(["good", "Not sure", "skip"]) == [
        "labels 'Not sure', 'skip' look like abstentions: abstain=['Not sure', 'skip'] leaves them out of the labels, "
        "and counts them by judge"
    ]
    scores = [k / 10 for k in range(21)]
    assert odd_labels(scores) == [
        "labels are 21 different numbers from 0 to 2, which look like scores: models of labels treat each number as a "
        "class; adjudge scores estimates a number for every item"
    ]
    assert odd_labels(scores, is_ordinal=True) == odd_labels(scores[:20]) == []
    assert odd_labels(["1", "2", "bad"]) == ["labels are numbers, such as '1', and words: 'bad'"]
    assert odd_labels([True, 0]) == [
        "labels 'True', '0' may say the same in several ways; they are kept apart: write them alike"
    ]


def test_names_that_look_odd() -> None:
    """Names that nearly agree, numbers in two writings, and names that look missing; many names are not compared."""
    assert odd_names(pl.Series(["a", "b"]), "item") == odd_names(pl.Series([1, 2]), "item") == ""
    assert odd_names(pl.Series(["7", "07", "a"]), "item") == (
        "items '7', '07' differ only in case, blanks or how they are written; they are kept apart"
    )
    assert odd_names(pl.Series(["nan", "a"]), "judge") == (
        "'nan' is read as the name of one judge; if the judge is missing, remove these rows"
    )
    many = pl.Series([f"i{n}" for n in range(100_001)])
    assert odd_names(many.extend(pl.Series(["I0"])), "item") == ""


def test_a_column_of_confidences() -> None:
    """It is offered as weight unless it is used, or another column is the weight."""
    columns = ("item", "judge", "label", "Confidence")
    assert confidence_note(columns, {"item": "item"}) == (
        "column 'Confidence' is not used; weight='Confidence' counts each judgment by it"
    )
    assert confidence_note(columns, {"weight": "Confidence"}) == confidence_note(columns[:3], {}) == ""


def read_abstentions(data: Any) -> Judgments:
    """Return judgments whose abstentions are declared, which needs no note."""
    return read(data, abstain=["unsure", "skip"])


def by_judge(judgments: Judgments) -> dict[str, int]:
    """Return how often each judge abstained."""
    assert judgments.abstained is not None
    return dict(zip(judgments.judges.to_list(), judgments.abstained.tolist(), strict=True))


def test_abstentions_are_counted_by_judge() -> None:
    """They are no judgments, and stay with their judge in tables and when judgments are added."""
    judgments = read_abstentions(NESTED)
    assert dict(zip(judgments.judges.to_list(), judgments.abstained.tolist(), strict=True)) == {
        "ann": 0,
        "bob": 2,
        "cat": 1,
    }
    assert (len(judgments), judgments.scale.labels) == (6, ("no", "yes"))
    assert describe(judgments)["abstentions"] == "3 (33.3% of the judgments and abstentions)"
    assert by_judge(read(judgment_table(judgments))) == by_judge(judgments)
    new = read_abstentions({"q4": {"cat": "skip", "dan": "yes"}, "q5": {"cat": "no"}})
    with pytest.warns(AdjudgeWarning, match="they are left out, and 1 item and 1 judge without any other judgment"):
        assert by_judge(read_abstentions({"q4": {"cat": "skip"}, "q5": {"dan": "no"}})) == {"dan": 0}
    index = NameIndex(judgments.items, judgments.judges, None, None)
    both = append(judgments, match_names(index, new))
    assert both.abstained is not None
    assert dict(zip(both.judges.to_list(), both.abstained.tolist(), strict=True)) == {
        "ann": 0,
        "bob": 2,
        "cat": 2,
        "dan": 0,
    }
    assert read({"q": {"ann": "yes"}}).abstained is None


def test_abstentions_on_cards(tmp_path: Any) -> None:
    """Cards have the number and the share of abstentions, also of a fit that was saved."""
    judgments = read_abstentions(NESTED)
    fit = adjudge.fit(judgments, "dawid-skene")
    cards = cards_of(fit, judgments)
    assert [(card.judge, card.abstentions, card.abstention_rate) for card in cards] == [
        ("ann", 0, 0.0),
        ("cat", 1, 1 / 3),
        ("bob", 2, 2 / 3),
    ]
    assert cards.table["abstention_rate"].to_list() == [0.0, 1 / 3, 2 / 3]
    adjudge.save(fit, tmp_path / "fit", judgments)
    assert [card.abstentions for card in cards_of(tmp_path / "fit")] == [0, 1, 2]
    without = read({"q1": {"ann": "yes", "bob": "no"}})
    card = cards_of(adjudge.fit(without, "majority"), without).of("ann")
    assert (card.abstentions, card.abstention_rate) == (None, None)
    assert card.reasons["abstentions"] == "not defined because no label was declared an abstention"
