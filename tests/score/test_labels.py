"""The doorway: answers of every shape, what is said where nothing is defined, and every refusal."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from adjudge.errors import InputError, UsageError
from adjudge.judgments.scale import Scale
from adjudge.models.fit import fit
from adjudge.score.labels import Scores, scores

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
    "accuracy", "precision", "recall", "specificity", "f1", "macro_f1", "mcc", "log_loss", "brier",
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


def test_binary_measures_by_hand() -> None:
    """One item in each cell: every share is a half, and the answer without gold is ignored."""
    found = scores(ANSWERS, GOLD)
    assert (found.items, found.missing, found.labels, found.positive) == (4, 0, ("no", "yes"), "yes")
    assert found.confusion.tolist() == [[1, 1], [1, 1]]
    assert list(found.values) == BINARY
    assert [found.values[name] for name in BINARY[:7]] == [0.5] * 6 + [0]


def test_positive_can_be_the_other_label() -> None:
    """Precision of 'no' and precision of 'yes' are two things, and the record says which it is."""
    answers = {**ANSWERS, "d2": "no"}
    of_no, of_yes = scores(answers, GOLD, positive="no"), scores(answers, GOLD)
    assert (of_no.positive, of_yes.positive) == ("no", "yes")
    assert of_no.values["precision"] == pytest.approx(2 / 3)
    assert of_yes.values["precision"] == 1
    assert (of_no.notes["precision"], of_yes.notes["precision"]) == ("of 'no'", "of 'yes'")


def test_positive_is_found_by_its_name() -> None:
    """A label 1 of a frame is chosen by 1 and by the text of the command line."""
    answers, gold = {"a": 0, "b": 1}, {"a": 0, "b": 1}
    assert scores(answers, gold, positive="0").positive == scores(answers, gold, positive=0).positive == 0


def test_numeric_labels_stand_in_numeric_order() -> None:
    """The last of 2 and 10 is 10, and is positive."""
    assert scores({"a": 2, "b": 10}, {"a": 2, "b": 2}).positive == 10


def test_probabilities_are_scored() -> None:
    """Log loss, Brier, squared errors and fractional counts of two items, by hand."""
    found = scores(probable(p_no=[0.2, 0.6], p_yes=[0.8, 0.4]), GOLD)
    expected = {
        "log_loss": -np.log(0.8 * 0.6) / 2,
        "brier": 2 * (0.04 + 0.16) / 2,
        "se": 0.04 + 0.16,
        "mse": 0.1,
        "rmse": 0.1**0.5,
        "fractional_precision": 0.8 / 1.2,
        "fractional_recall": 0.8,
        "fractional_specificity": 0.6,
    }
    assert {name: found.values[name] for name in expected} == pytest.approx(expected)
    assert found.fractional is not None
    assert found.fractional.ravel() == pytest.approx([0.6, 0.4, 0.2, 0.8])


def test_bound_is_used_and_said() -> None:
    """A certain mistake costs -log of the bound, which the record and the note both name."""
    answers = probable(p_no=[1.0, 1.0], p_yes=[0.0, 0.0])
    found = scores(answers, {"d1": "yes"}, bound=0.01)
    assert found.bound == 0.01
    assert found.values["log_loss"] == pytest.approx(np.log(100))
    assert found.notes["log_loss"] == "probabilities kept 0.01 away from 0 and 1"
    assert scores(answers, {"d1": "yes"}).notes["log_loss"] == "probabilities kept 0.001 away from 0 and 1"


def test_gold_labels_without_a_column_have_no_probability() -> None:
    """A truth that the answers do not know of was given probability 0, kept from 0 by the bound."""
    found = scores(probable(p_no=[0.2, 0.6], p_yes=[0.8, 0.4]), {"d1": "maybe"})
    assert found.labels == ("maybe", "no", "yes")
    assert found.values["log_loss"] == pytest.approx(np.log(1000))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("K", [2, 4])
def test_scores_equal_those_of_scikit_learn(seed: int, K: int) -> None:
    """On random tables, through names, every measure is the peer's."""
    rng = np.random.default_rng(seed)
    names = np.array(["l0", "l1", "l2", "l3"][:K])
    p = rng.dirichlet(np.ones(K), 80)
    truth, answer = names[np.r_[np.arange(K), rng.integers(K, size=80 - K)]], names[p.argmax(axis=1)]
    items = [f"i{n}" for n in rng.permutation(80)]
    columns = {f"p_{name}": p[:, k] for k, name in enumerate(names)}
    answers = pl.DataFrame({"item": items, "label": answer, **columns})
    gold = pl.DataFrame({"item": items, "label": truth}).sample(fraction=1, shuffle=True, seed=seed)
    values = scores(answers, gold, bound=1e-12).values
    of_labels = np.array(metrics.precision_recall_fscore_support(truth, answer)[:3])  # (3, K)
    expected = {
        "accuracy": metrics.accuracy_score(truth, answer),
        "macro_f1": of_labels[2].mean(),
        "mcc": metrics.matthews_corrcoef(truth, answer),
        "log_loss": metrics.log_loss(truth, p),
        "brier": metrics.brier_score_loss(truth, p, scale_by_half=False, labels=names),
    }
    if K == 2:
        expected |= dict(zip(("precision", "recall", "f1"), of_labels[:, 1], strict=True))
        expected["mse"] = metrics.brier_score_loss(truth, p[:, 1], pos_label="l1")
    else:
        expected |= dict(zip(("macro_precision", "macro_recall"), of_labels.mean(axis=1), strict=False))
        for k, name in enumerate(names):
            measures = [f"{measure}_{name}" for measure in ("precision", "recall", "f1")]
            expected |= dict(zip(measures, of_labels[:, k], strict=True))
    assert {name: values[name] for name in expected} == pytest.approx(expected)


def test_more_labels_have_measures_each() -> None:
    """With three labels there is no positive one: means first, then each label by name."""
    found = scores({"x": "a", "y": "b", "z": "c"}, {"x": "a", "y": "b", "z": "b"})
    each = [f"{measure}_{label}" for label in "abc" for measure in ("precision", "recall", "f1")]
    whole = ["accuracy", "macro_precision", "macro_recall", "macro_f1", "mcc", "log_loss", "brier"]
    assert list(found.values) == whole + each
    assert found.positive is None
    assert (found.values["precision_b"], found.values["recall_b"]) == (1, 0.5)


def test_missing_answers_are_counted() -> None:
    """Gold without an answer changes no measure and is reported."""
    found = scores({"d1": "yes", "d2": "no"}, GOLD)
    assert (found.items, found.missing, found.values["accuracy"]) == (2, 2, 1)
    assert repr(found).startswith("Scores(2 items, 2 missing: accuracy 1.0000, precision 1.0000")


def test_truths_that_are_not_known_are_no_gold() -> None:
    """TREC writes -1 for an unknown truth, wherever it stands in the file."""
    gold = pl.DataFrame({"item": ["a", "b", "c", "d"], "label": [-1, 0, -1, 1]})
    found = scores({"a": 1, "b": 0, "c": 1, "d": 1}, gold)
    assert (found.items, found.missing, found.labels, found.values["accuracy"]) == (2, 0, (0, 1), 1)


@pytest.mark.parametrize(
    ("truth", "answer", "undefined"),
    [
        (
            ["yes", "no"],
            ["no", "no"],
            {
                "precision": "not defined because nothing was answered 'yes'",
                "mcc": "not defined because every scored item was answered 'no'",
            },
        ),
        (
            ["no", "no"],
            ["no", "yes"],
            {
                "recall": "not defined because no scored item is 'yes' in the gold",
                "mcc": "not defined because every scored item is 'no' in the gold",
            },
        ),
        (
            ["yes", "yes"],
            ["yes", "yes"],
            {
                "specificity": "not defined because every scored item is 'yes' in the gold",
                "mcc": "not defined because every scored item is 'yes' in the gold",
            },
        ),
    ],
)
def test_undefined_measures_are_none_with_a_reason(truth: list[str], answer: list[str], undefined: Any) -> None:
    """What divides by 0 has no value, says why, and nothing else does."""
    found = scored(list(zip(truth, answer, strict=True)))
    without = "not defined because the answers hold no probabilities (columns "
    reasons = {name: reason for name, reason in found.reasons.items() if not reason.startswith(without)}
    assert reasons == undefined
    assert all(found.values[name] is None for name in found.reasons)
    assert all(value is not None for name, value in found.values.items() if name not in found.reasons)


def test_a_label_without_gold_leaves_the_mean_recall_open() -> None:
    """The means over labels say which label they fail on, and leave out one that no scored item has."""
    found = scores({"x": "a", "y": "q"}, {"x": "a", "y": "a", "z": "s"})
    reason = "not defined because no scored item is 'q' in the gold"
    assert found.reasons["macro_recall"] == found.reasons["recall_q"] == reason
    assert found.reasons["f1_s"] == "not defined because 's' is neither truth nor answer of a scored item"
    assert found.notes["macro_f1"] == "without 's', neither truth nor answer of a scored item"
    assert found.values["macro_f1"] == pytest.approx((2 / 3 + 0) / 2)


def test_without_probabilities_their_measures_say_what_they_need() -> None:
    """Log loss and its kin are named, have no value, and tell the columns to add."""
    found = scores(ANSWERS, GOLD)
    reason = "not defined because the answers hold no probabilities (columns 'p_no', 'p_yes')"
    assert {found.reasons[name] for name in BINARY[7:]} == {reason}
    assert found.fractional is None


def test_fractional_measures_are_undefined_like_the_others() -> None:
    """No fraction of an answer is 'yes': there is no fractional precision."""
    found = scores(probable(p_no=[1.0, 1.0], p_yes=[0.0, 0.0]), GOLD)
    assert found.reasons["fractional_precision"] == "not defined because nothing was answered 'yes'"


def test_table_has_a_row_for_each_measure() -> None:
    """Rows hold name, value and note, which is the reason where there is no value."""
    rows = scores({"d1": "no", "d2": "no"}, GOLD).table()
    assert [row.measure for row in rows] == BINARY
    assert rows[0] == ("accuracy", 0.5, "")
    assert rows[1] == ("precision", None, "not defined because nothing was answered 'yes'")
    assert rows[2] == ("recall", 0, "of 'yes'")


def test_scores_cannot_be_changed() -> None:
    """The record is frozen and so is its matrix."""
    found = scores(ANSWERS, GOLD)
    with pytest.raises(AttributeError):
        found.items = 5  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        found.confusion[0, 0] = 5


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
    found = scores(answers, str(gold))
    assert (found.labels, found.values["accuracy"]) == (("0", "1"), 1)
    assert found.values["mse"] == pytest.approx(0.1)


def test_labels_are_matched_by_name(tmp_path: Path) -> None:
    """A 1 of a frame is the 1 of a file, and keeps the type it has in the answers."""
    gold = file(tmp_path, "item,label\na,1\nb,0\n", "gold.csv")
    assert scores({"a": 1, "b": 0}, gold).labels == (0, 1)
    assert scores({"a": 1, "b": 0}, gold).values["accuracy"] == 1


@pytest.mark.parametrize("gold", ["item,label\na,1.0\nb,0.0\n", "item,label\na,1\nb,0\n"])
@pytest.mark.parametrize("answers", ["item,label,p_0,p_1\na,1.0,.1,.9\nb,0.0,.8,.2\n", "item,label\na,1\nb,0\n"])
def test_a_number_is_one_label_however_it_is_written(tmp_path: Path, answers: str, gold: str) -> None:
    """Gold of 1.0 is the answers' 1, and the column p_1 belongs to both."""
    found = scores(file(tmp_path, answers), file(tmp_path, gold, "gold.csv"))
    assert (len(found.labels), found.values["accuracy"]) == (2, 1)
    assert found.values["mse"] == (pytest.approx((0.01 + 0.04) / 2) if "p_1" in answers else None)


def test_a_fit_is_scored_by_its_posterior() -> None:
    """The consensus and its probabilities are held against gold, whatever it says of other items."""
    consensus = fit(JUDGMENTS, "majority")
    found = scores(consensus, {"d1": "no", "d3": "yes", "d7": "no"})
    assert (found.items, found.missing, found.labels) == (2, 1, ("no", "yes"))
    p = consensus.posterior[[0, 2], [0, 1]]
    assert found.values["log_loss"] == pytest.approx(-np.log(np.clip(p, 1e-3, 1 - 1e-3)).mean())


def test_a_fit_is_known_by_what_it_has() -> None:
    """Anything with items, a scale, a posterior and labels is scored like a fit."""
    like = SimpleNamespace(
        items=pl.Series(["a", "b"]),
        scale=Scale(("no", "yes")),
        posterior=np.array([[0.9, 0.1], [0.2, 0.8]]),
        label=np.array([0, 1], np.uint8),
    )
    assert scores(like, {"a": "no", "b": "no"}).values["accuracy"] == 0.5


def test_a_saved_fit_scores_like_the_fit(tmp_path: Path) -> None:
    """A folder is a saved fit, and its scores are those of the fit."""
    consensus, gold = fit(JUDGMENTS, "dawid-skene"), {"d1": "no", "d2": "yes", "d3": "no"}
    consensus.save(tmp_path / "fit")
    for folder in (tmp_path / "fit", str(tmp_path / "fit")):
        assert scores(folder, gold).values == scores(consensus, gold).values


def test_the_table_of_a_fit_scores_like_the_fit() -> None:
    """What fit.labels gives can be scored again, with its probabilities."""
    consensus, gold = fit(JUDGMENTS, "dawid-skene"), {"d1": "no", "d2": "yes", "d3": "no"}
    assert scores(consensus.labels, gold).values == scores(consensus, gold).values


def test_truths_the_fit_was_told_are_counted() -> None:
    """Where scored gold was given to the fit, accuracy says for how many items."""
    gold = {"d1": "no", "d3": "yes"}
    told = fit(JUDGMENTS, "dawid-skene", {"d3": "yes"})
    found = scores(told, gold)
    assert found.known == 1
    assert found.notes["accuracy"] == "the fit had been told 1 of the 2 truths"
    assert scores(told, {"d1": "no"}).known == scores(fit(JUDGMENTS, "dawid-skene"), gold).known == 0


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


def test_a_single_label_is_scored() -> None:
    """Where only one label exists it is positive, and what needs another is not defined."""
    found = scores({"a": "x"}, {"a": "x"})
    assert (found.labels, found.positive, found.values["f1"], found.values["mcc"]) == (("x",), "x", 1, None)


@given(SOME_LABELS, st.randoms(use_true_random=False))
def test_order_of_items_changes_nothing(pairs: list[tuple[str, str]], random: Any) -> None:
    """The same pairs in another order have the same scores, reasons and notes."""
    before = scored(pairs)
    random.shuffle(pairs)
    after = scored(pairs)
    assert after.table() == before.table()
    assert after.confusion.tolist() == before.confusion.tolist()


@given(SOME_LABELS)
def test_renaming_labels_renames_measures(pairs: list[tuple[str, str]]) -> None:
    """New names in the opposite order give the same values under the new names."""
    to = {"a": "z", "b": "y", "c": "x"}
    before, after = scored(pairs), scored([(to[truth], to[answer]) for truth, answer in pairs])
    for measure in ("accuracy", "macro_f1", "mcc"):
        assert after.values[measure] == pytest.approx(before.values[measure])
    for measure, value in before.values.items():
        name, _, label = measure.rpartition("_")
        if label in to:
            assert after.values[f"{name}_{to[label]}"] == value


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
def test_perfect_answers_are_perfect(truth: list[str]) -> None:
    """Answers equal to the gold score 1 wherever a score is defined."""
    found = scored([(label, label) for label in truth])
    assert all(value == pytest.approx(1) for value in found.values.values() if value is not None)
    assert (found.values["mcc"] is None) == (len(set(truth)) == 1)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            "item,label\na,no\nb,yes\na,yes\n",
            "answers.csv, row 4: item 'a' was answered in row 2 already: give one answer an item",
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


@pytest.mark.parametrize("p", ["0.333,0.333,0.333", "0.334,0.334,0.333", "0.5,0.499,0"])
def test_rounded_probabilities_pass(tmp_path: Path, p: str) -> None:
    """Probabilities that are .001 off 1 together, as rounding leaves them, are still probabilities."""
    answers = file(tmp_path, f"item,label,p_a,p_b,p_c\nx,a,{p}\n")
    assert scores(answers, {"x": "a"}).values["log_loss"] == pytest.approx(-np.log(float(p.split(",")[0])))


def test_unknown_truths_need_no_place_on_the_scale_of_a_fit() -> None:
    """A -1 is no label that the fit should know."""
    assert scores(fit(JUDGMENTS, "majority"), {"d1": "no", "d2": "-1"}).items == 1


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
    with pytest.raises(InputError, match=r"^gold: every truth is -1, which stands for not known$"):
        scores({"a": 1, "b": 0}, {"a": -1, "b": -1})


def test_one_number_written_two_ways_in_a_table_is_refused(tmp_path: Path) -> None:
    """A table with labels 1 and 1.0 has one label too many, on either side."""
    twins = file(tmp_path, "item,label\na,1\nb,1.0\n")
    for answers, gold in ((twins, {"a": 1}), ({"a": 1}, twins)):
        with pytest.raises(InputError, match=r"row 3: label '1.0' is '1' written in another way"):
            scores(answers, gold)


def test_frames_are_called_by_their_part() -> None:
    """A wrong row of a frame says whether it is in the answers or in the gold."""
    twice = pl.DataFrame({"item": ["a", "a"], "label": ["no", "yes"]})
    with pytest.raises(InputError, match=r"^answers, row 1: item 'a' was answered in row 0 already"):
        scores(twice, {"a": "no"})
    with pytest.raises(InputError, match=r"^gold, row 1: item 'a' has the truth 'yes' here and 'no' in row 0"):
        scores({"a": "no"}, twice)


@pytest.mark.parametrize("bound", [0, 0.5, -1, 2, float("nan")])
def test_a_bound_is_above_zero_and_below_a_half(bound: float) -> None:
    """Other bounds are refused before anything is read."""
    with pytest.raises(UsageError) as refusal:
        scores("no such file", "no such file", bound=bound)
    assert str(refusal.value) == f"bound {bound} is not a number above 0 and below 0.5"


def test_positive_must_be_one_of_two_labels() -> None:
    """An unknown label is refused, and so is any where there are three."""
    with pytest.raises(UsageError, match=r"^positive 'maybe' is not one of 'no', 'yes'$"):
        scores(ANSWERS, GOLD, positive="maybe")
    with pytest.raises(UsageError, match=r"^positive is for two labels; of 'a', 'b', 'c' each has measures"):
        scores({"x": "a", "y": "b", "z": "c"}, {"x": "a"}, positive="a")


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
