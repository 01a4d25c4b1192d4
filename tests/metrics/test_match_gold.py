"""What is scored: fits, folders and tables, match_gold to gold, and what is refused on the way."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from adjudge.data.read import read
from adjudge.errors import AdjudgeWarning, InputError, UsageError
from adjudge.inference.fit import fit
from adjudge.inference.save import save
from adjudge.metrics.labels import Scores, scores
from adjudge.metrics.match_gold import match_gold

GOLD = {"d1": "yes", "d2": "no", "d3": "yes", "d4": "no"}
ANSWERS = {"d1": "yes", "d2": "yes", "d3": "no", "d4": "no", "d9": "yes"}
JUDGMENTS = pl.DataFrame(
    {
        "item": ["d1", "d1", "d1", "d2", "d2", "d2", "d3", "d3", "d3"],
        "judge": ["ann", "bob", "cy"] * 3,
        "label": ["no", "no", "no", "yes", "yes", "yes", "yes", "yes", "no"],
    }
)
BINARY = [
    "accuracy", "precision", "recall", "specificity", "f1", "macro_f1", "mcc", "log_loss", "brier", "ece",
    "se", "mse", "rmse", "fractional_precision", "fractional_recall", "fractional_specificity",
]  # fmt: skip
SOME_LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=12)


def file(folder: Path, text: str, name: str = "answers.csv") -> Path:
    """Return the path of a file with this text."""
    path = folder / name
    path.write_text(text)
    return path


def probable(**columns: Any) -> pl.DataFrame:
    """Return answers to d1 and d2 with columns of probabilities."""
    return pl.DataFrame({"item": ["d1", "d2"], "label": ["yes", "no"], **columns})


def scored(pairs: list[tuple[str, str]]) -> Scores:
    """Return the scores of pairs of truth and answer."""
    truth, answer = zip(*pairs, strict=True)
    items = list(range(len(pairs)))
    return scores(pl.DataFrame({"item": items, "label": answer}), pl.DataFrame({"item": items, "label": truth}))


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table, dict])
def test_tables_of_every_kind_say_the_same(kind: Any) -> None:
    """Frames of three libraries and plain mappings are read alike, as answers and as gold."""

    def table(mapping: dict[str, str]) -> Any:
        return mapping if kind is dict else kind({"item": list(mapping), "label": list(mapping.values())})

    assert scores(table(ANSWERS), table(GOLD)).values == scores(ANSWERS, GOLD).values


def test_files_are_read(tmp_path: Path) -> None:
    """Answers with probabilities come from a CSV file, and blanks around a number mean nothing."""
    answers = file(tmp_path, "item,label,p_0,p_1\na,1, .2,.8\nb,0,.6 ,.4\n")
    gold = file(tmp_path, "doc,gold,label\na,1,x\nb,0,y\n", "gold.csv")
    result = scores(answers, str(gold))
    assert (result.labels, result.values["accuracy"]) == (("0", "1"), 1)
    assert result.values["mse"] == pytest.approx(0.1)


def test_labels_are_matched_by_name(tmp_path: Path) -> None:
    """A 1 of a frame is the 1 of a file, and keeps the type it has in the answers."""
    gold = file(tmp_path, "item,label\na,1\nb,0\n", "gold.csv")
    assert scores({"a": 1, "b": 0}, gold).labels == (0, 1)
    assert scores({"a": 1, "b": 0}, gold).values["accuracy"] == 1


@pytest.mark.parametrize("gold", ["item,label\na,1.0\nb,0.0\n", "item,label\na,1\nb,0\n"])
@pytest.mark.parametrize("answers", ["item,label,p_0,p_1\na,1.0,.1,.9\nb,0.0,.8,.2\n", "item,label\na,1\nb,0\n"])
def test_a_number_is_one_label_however_it_is_written(tmp_path: Path, answers: str, gold: str) -> None:
    """Gold of 1.0 is the answers' 1, and the column p_1 belongs to both."""
    result = scores(file(tmp_path, answers), file(tmp_path, gold, "gold.csv"))
    assert (len(result.labels), result.values["accuracy"]) == (2, 1)
    assert result.values["mse"] == (pytest.approx((0.01 + 0.04) / 2) if "p_1" in answers else None)


def test_judgments_are_no_answers() -> None:
    """Judgments have a scale too, and are not taken for a fit."""
    with pytest.raises(InputError, match="Judgments is not a table"):
        scores(read(JUDGMENTS), {"d1": "no"})


def test_a_saved_fit_scores_like_the_fit(tmp_path: Path) -> None:
    """A folder is a saved fit, and its scores are those of the fit."""
    consensus, gold = fit(JUDGMENTS, "dawid-skene"), {"d1": "no", "d2": "yes", "d3": "no"}
    save(consensus, tmp_path / "fit")
    for folder in (tmp_path / "fit", str(tmp_path / "fit")):
        assert scores(folder, gold).values == scores(consensus, gold).values


def test_the_table_of_a_fit_scores_like_the_fit() -> None:
    """What fit.labels gives can be scored again, with its probabilities."""
    consensus, gold = fit(JUDGMENTS, "dawid-skene"), {"d1": "no", "d2": "yes", "d3": "no"}
    assert scores(consensus.labels, gold).values == scores(consensus, gold).values


def test_named_columns_are_looked_for_in_both_tables(tmp_path: Path) -> None:
    """A name that only one table has is meant for that one; the other goes by its usual names."""
    answers = pl.DataFrame({"url": ["a", "b"], "label": ["no", "yes"]})
    gold = file(tmp_path, "url,nist\na,no\nb,yes\n", "gold.csv")
    assert scores(answers, gold, item="url", label="nist").values["accuracy"] == 1
    assert scores({"a": "no", "b": "yes"}, gold, item="url", label="nist").values["accuracy"] == 1


def test_a_named_column_must_be_somewhere() -> None:
    """A name that neither table has is refused."""
    with pytest.raises(InputError, match=r"^gold: there is no column 'url' for the item"):
        scores(ANSWERS, GOLD, item="url")


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            "item,label\na,no\nb,yes\na,yes\n",
            "answers.csv, row 4: item 'a' already has an answer in row 2: give one answer per item",
        ),
        (
            "item,label,p_no,p_yes\na,no,.5,.5\nb,yes,-.5,1.5\n",
            "answers.csv, row 3: p_no '-.5' is not a number from 0 to 1",
        ),
        (
            "item,label,p_no,p_yes\na,no,.5,.5\nb,yes,0,1.5\n",
            "answers.csv, row 3: p_yes '1.5' is not a number from 0 to 1",
        ),
        (
            "item,label,p_no,p_yes\na,no,half,.5\nb,yes,0,1\n",
            "answers.csv, row 2: p_no 'half' is not a number from 0 to 1",
        ),
        (
            "item,label,p_no,p_yes\na,no,nan,.5\nb,yes,0,1\n",
            "answers.csv, row 2: p_no 'nan' is not a number from 0 to 1",
        ),
        (
            "item,label,p_no,p_yes\na,no,,1\nb,yes,0,1\n",
            "answers.csv, row 2: p_no is empty",
        ),
        (
            "item,label,p_no,p_yes\na,no,.5,.5\nb,yes,.3,.6\n",
            "answers.csv, row 3: the probabilities 'p_no', 'p_yes' sum to 0.9, not 1",
        ),
        (
            "item,label,p_no,p_yes\na,no,.5,.5\nb,perhaps,.5,.5\n",
            "answers.csv, row 3: label 'perhaps' has no column 'p_perhaps' beside 'p_no', 'p_yes'",
        ),
        ("item,label\na,no\nb,\n", "answers.csv, row 3: the label (column 'label') is empty"),
    ],
)
def test_wrong_answers_are_refused_with_their_row(tmp_path: Path, answers: str, message: str) -> None:
    """Every refusal says the file, the row, and what is wrong there."""
    with pytest.raises(InputError) as refusal:
        scores(file(tmp_path, answers), {"a": "no", "b": "yes"})
    assert str(refusal.value).removeprefix(f"{tmp_path}/") == message


@pytest.mark.parametrize(
    ("columns", "topic"), [("item,topic,label", "t1,"), ("item,label", "")], ids=["topics in both", "topics in gold"]
)
def test_a_second_answer_in_a_topic_is_refused_with_its_row(tmp_path: Path, columns: str, topic: str) -> None:
    """Items that come in several rows are matched with the gold of their topic as items that come once."""
    answers = file(tmp_path, f"{columns}\na,{topic}no\nb,{topic}yes\na,{topic}yes\n")
    gold = file(tmp_path, "topic,item,label\nt1,a,no\nt1,b,yes\n", "gold.csv")
    with pytest.raises(InputError, match=r"answers.csv, row 4: item 'a' already has an answer in row 2: give one"):
        scores(answers, gold)


@pytest.mark.parametrize("p", ["0.333,0.333,0.333", "0.334,0.334,0.333", "0.5,0.499,0"])
def test_rounded_probabilities_pass(tmp_path: Path, p: str) -> None:
    """Probabilities that are .001 off 1 together, as rounding leaves them, are still probabilities."""
    answers = file(tmp_path, f"item,label,p_a,p_b,p_c\nx,a,{p}\n")
    assert scores(answers, {"x": "a"}).values["log_loss"] == pytest.approx(-np.log(float(p.split(",")[0])))


def test_unknown_truths_need_no_place_on_the_scale_of_a_fit() -> None:
    """A -1 is no label that the fit should know."""
    gold = pl.DataFrame({"item": ["d1", "d2"], "gold": ["no", "-1"]})
    assert scores(fit(JUDGMENTS, "majority"), gold).items == 1


def test_gold_outside_the_scale_of_a_fit_is_refused(tmp_path: Path) -> None:
    """A truth that the fit cannot have answered is an error, with its row."""
    gold = file(tmp_path, "item,label\nd1,no\nd2,perhaps\n", "gold.csv")
    with pytest.raises(InputError) as refusal:
        scores(fit(JUDGMENTS, "majority"), gold)
    assert str(refusal.value) == f"{gold}, row 3: label 'perhaps' is not on the scale of the fit: 'no', 'yes'"


def test_gold_of_other_items_is_refused(tmp_path: Path) -> None:
    """Where no gold item was answered, the error shows one of each side."""
    gold = file(tmp_path, "item,label\nx1,no\nx2,yes\n", "gold.csv")
    with pytest.raises(InputError) as refusal:
        scores(ANSWERS, gold)
    expected = "item 'x1' is not among the answered items, such as 'd1'; nor is any other of the 2 gold items"
    assert str(refusal.value) == f"{gold}, row 2: {expected}"


def test_gold_without_any_known_truth_is_refused() -> None:
    """A table of nothing but -1 knows no truth."""
    with pytest.raises(InputError, match=r"^gold: every truth is -1, which means unknown$"):
        scores({"a": 1, "b": 0}, pl.DataFrame({"item": ["a", "b"], "gold": [-1, -1]}))


def test_minus_one_is_a_label_like_any_other() -> None:
    """Only a column called gold knows -1 for unknown: elsewhere it is a truth, and wrong answers are wrong."""
    assert scores({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": -1, "c": -1}).values["accuracy"] == pytest.approx(1 / 3)


def test_one_number_written_two_ways_is_one_label(tmp_path: Path) -> None:
    """A table with labels 1 and 1.0 has one label for both, on either side, with a note; yes and Yes are two labels."""
    twins = file(tmp_path, "item,label\na,1\nb,1.0\n")
    plain = {"a": 1, "b": 1}
    for answers, gold in ((twins, plain), (plain, twins)):
        with pytest.warns(AdjudgeWarning, match=r"'1', '1\.0' are read as one label, '1'$"):
            assert scores(answers, gold).values["accuracy"] == 1
    cases = file(tmp_path, "item,label\na,yes\nb,Yes\n")
    assert scores(cases, {"a": "yes", "b": "yes"}).values["accuracy"] == 0.5


def test_frames_are_called_by_their_part() -> None:
    """A wrong row of a frame says whether it is in the answers or in the gold."""
    twice = pl.DataFrame({"item": ["a", "a"], "label": ["no", "yes"]})
    with pytest.raises(InputError, match=r"^answers, row 1: item 'a' already has an answer in row 0"):
        scores(twice, {"a": "no"})
    with pytest.raises(InputError, match=r"^gold, row 1: item 'a' has the truth 'yes' here and 'no' in row 0"):
        scores({"a": "no"}, twice)


def test_a_file_that_is_not_there_is_refused() -> None:
    """Missing files are named, on either side."""
    with pytest.raises(InputError, match=r"^nowhere\.csv: there is no such file$"):
        scores(ANSWERS, "nowhere.csv")
    with pytest.raises(InputError, match=r"^nowhere\.csv: there is no such file$"):
        scores("nowhere.csv", GOLD)


def test_a_folder_that_is_no_fit_is_refused(tmp_path: Path) -> None:
    """Any other folder is told from a saved fit."""
    with pytest.raises(InputError, match="is not a saved fit"):
        scores(tmp_path, GOLD)


def test_an_order_that_is_given_is_kept() -> None:
    """Answers, truths and probabilities move with their labels; one that nobody used has probability 0."""
    columns = {"item": ["a", "b"], "label": ["low", "high"], "p_low": [0.9, 0.2], "p_high": [0.1, 0.8]}
    gold, order = {"a": "low", "b": "low"}, ["low", "mid", "high"]
    plain, result = scores(pl.DataFrame(columns), gold), scores(pl.DataFrame(columns), gold, labels=order, ordinal=True)
    assert result.labels == ("low", "mid", "high")
    assert result.confusion.tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert result.values["mae"] == 1
    assert result.values["brier"] == pytest.approx(plain.values["brier"])
    assert result.values["log_loss"] == pytest.approx(plain.values["log_loss"])
    assert "mae" not in scores(pl.DataFrame(columns), gold, labels=order).values


def test_numbers_have_an_order_of_their_own() -> None:
    """It is enough to say that it means something; a fit that knows stays as it is."""
    assert scores({"a": 10, "b": 2}, {"a": 2, "b": 2}, ordinal=True).values["mae"] == 4
    consensus = fit(
        read(pl.DataFrame({"item": ["a", "a"], "judge": ["x", "y"], "label": [1, 1]}), ordinal=True), "majority"
    )
    assert scores(consensus, {"a": 1}).values == scores(consensus, {"a": 1}, ordinal=True).values


def test_told_truths_move_with_their_labels() -> None:
    """What a fit had been told is still counted, and what it had not is not."""
    fitted = fit(JUDGMENTS, "dawid-skene", {"d3": "yes"})
    gold = {"d1": "no", "d3": "yes"}
    assert scores(fitted, gold, labels=["yes", "no"]).used == scores(fitted, gold).used == 1


def test_an_order_must_be_known_and_whole() -> None:
    """Text has none of its own, and labels that are there must be named."""
    with pytest.raises(UsageError, match=r"^the order of the labels 'no', 'yes' is not known: give it, lowest first"):
        scores(ANSWERS, GOLD, ordinal=True)
    with pytest.raises(UsageError, match=r"^labels 'yes', 'maybe' lack 'no': name all labels of answers and gold$"):
        scores(ANSWERS, GOLD, labels=["yes", "maybe"])


def test_grades_beside_binary_answers_are_a_warning():
    """Answers of 0 and 1 may be binary, and then grade 2 means 1: the warning says what to do."""
    answers = pl.DataFrame({"item": ["a", "b"], "label": [0, 1]})
    gold = pl.DataFrame({"item": ["a", "b"], "grade": [0, 2]})
    with pytest.warns(AdjudgeWarning) as caught:
        match_gold(answers, gold, {"item": None, "label": None})
    assert [str(warning.message) for warning in caught] == [
        "gold: grade 2 is not among the labels of the answers, '0' and '1'; if these are irrelevant and relevant, "
        "write gold with the labels 0 and 1"
    ]
