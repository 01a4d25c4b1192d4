"""The crowds of a study: where they are looked for, and how they are read."""

from pathlib import Path

import numpy as np
import pytest

from adjudge.errors import InputError, UsageError
from studies.datasets import data_folder, gold_folds, list_sets, read_crowd


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a set whose labels are words and that has a second scale."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "labels.csv").write_text("item,worker,label,label3\nx,ann,bad,0\nx,bob,good,2\ny,ann,fine,1\n")
    (tmp_path / "a" / "gold.csv").write_text("item,label,label3\ny,good,2\nz,bad,0\n")
    return tmp_path


def test_the_folder_is_the_one_given_or_that_of_the_shared_data(tmp_path, monkeypatch):
    """--data, ADJUDGE_SHARED, ../shared, in this order."""
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("ADJUDGE_SHARED", raising=False)
    assert data_folder() == Path("../shared/data")
    monkeypatch.setenv("ADJUDGE_SHARED", str(tmp_path / "shared"))
    assert data_folder() == tmp_path / "shared" / "data"
    assert data_folder(".") == Path(".")


def test_a_folder_that_is_not_there(tmp_path):
    """Is named, with what to give."""
    with pytest.raises(InputError) as error:
        data_folder(str(tmp_path / "none"))
    assert str(error.value) == (
        f"{tmp_path / 'none'}: there is no such folder: name one that holds sets (labels.csv and gold.csv in a folder "
        "each) with --data, or set ADJUDGE_SHARED to the folder whose data/ does"
    )


def test_a_set_that_is_not_there(folder):
    """Is named, with the sets there are."""
    assert list_sets(folder) == ["a"]
    with pytest.raises(InputError) as error:
        read_crowd(folder, "b", ("label",), ordinal=False)
    assert str(error.value) == (
        f"{folder}/b/labels.csv: there is no such file; the sets of {folder} are 'a': name them with --sets"
    )
    (folder / "a" / "gold.csv").unlink()
    with pytest.raises(InputError, match=r"a/gold\.csv: there is no such file; .* are none: name them with --sets"):
        read_crowd(folder, "a", ("label",), ordinal=False)


def test_gold_that_nobody_judged_is_left_out(folder):
    """Of two truths, that of the item somebody judged."""
    crowd = read_crowd(folder, "a", ("label3", "label"), ordinal=True)
    assert crowd.judgments.items.to_list() == ["x", "y"]
    assert (crowd.truth.tolist(), crowd.item.tolist()) == ([2], [1])
    assert crowd.judgments.scale.ordinal
    assert crowd.judgments.scale.names == ("0", "1", "2")


def test_a_column_that_gold_has_not_is_not_taken(folder):
    """Two-level truths do not become three-level ones."""
    (folder / "a" / "gold.csv").write_text("item,label\ny,good\n")
    crowd = read_crowd(folder, "a", ("label3", "label"), ordinal=False)
    assert crowd.judgments.scale.names == ("bad", "fine", "good")


def test_the_order_of_words_is_that_of_meta_json(folder):
    """Where it names all of them; otherwise it is not known, and what to write is said."""
    with pytest.raises(InputError) as error:
        read_crowd(folder, "a", ("label",), ordinal=True)
    assert str(error.value) == (
        f"{folder}/a/labels.csv: the order of the labels 'bad', 'fine', 'good' is not known: give it, lowest first, "
        f'as "label_order" in {folder}/a/meta.json'
    )
    (folder / "a" / "meta.json").write_text('{"label_order": ["good", "fine", "bad", "awful"]}')
    crowd = read_crowd(folder, "a", ("label",), ordinal=True)
    assert crowd.judgments.scale.names == ("good", "fine", "bad", "awful")
    assert crowd.truth.tolist() == [0]


def test_a_meta_json_that_is_none(folder):
    """Is named."""
    (folder / "a" / "meta.json").write_text("{")
    with pytest.raises(InputError, match=r"a/meta\.json: is not JSON: "):
        read_crowd(folder, "a", ("label",), ordinal=True)
    (folder / "a" / "meta.json").write_text("[]")
    with pytest.raises(InputError, match="is not known"):
        read_crowd(folder, "a", ("label",), ordinal=True)


def test_three_levels_of_trec(shared):
    """Labels and gold both have them, and gold says 0 where its two-level label does."""
    crowd = read_crowd(shared("data/trec2011_task2_mini").parent, "trec2011_task2_mini", ("label3", "label"), True)
    assert crowd.judgments.scale.names == ("0", "1", "2")
    assert (crowd.truth == 0).sum() == 88
    assert crowd.truth.size == 229


def test_the_order_and_the_gold_of_adult2(shared):
    """From its meta.json; of 1,517 truths, 333 are of judged items."""
    crowd = read_crowd(shared("data/adult2").parent, "adult2", ("label3", "label"), ordinal=True)
    assert crowd.judgments.scale.names == ("G", "P", "R", "X")
    assert crowd.truth.size == 333


@pytest.fixture(scope="module")
def crowd(crowds):
    """Return a crowd with gold for 40 of its 60 items."""
    return read_crowd(crowds, "a", ("label",), ordinal=False)


def test_nothing_is_told_without_folds(crowd):
    """And all are asked at once."""
    ((gold, options),) = gold_folds(crowd, 0, 0)
    assert gold is None
    assert options.tolist() == list(range(40))


def test_every_item_is_asked_once_and_never_told_its_own_truth(crowd):
    """What is told is true, and all of the rest."""
    asked_of = []
    for gold, options in gold_folds(crowd, 5, 0):
        with_gold = np.setdiff1d(np.arange(40), options)
        assert options.size == 8
        assert (gold[crowd.item[options]] == -1).all()
        assert (gold[crowd.item[with_gold]] == crowd.truth[with_gold]).all()
        assert (gold >= 0).sum() == 32
        asked_of += options.tolist()
    assert sorted(asked_of) == list(range(40))


def test_the_seed_deals_the_folds(crowd):
    """The same seed deals the same, another another."""
    first, again, other = ([options.tolist() for _, options in gold_folds(crowd, 3, seed)] for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("folds", [1, 41])
def test_folds_that_cannot_be(crowd, folds):
    """Are refused."""
    with pytest.raises(UsageError, match=f"40 items with gold do not make {folds} folds"):
        list(gold_folds(crowd, folds, 0))
