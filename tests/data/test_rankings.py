"""Rankings: encoded best first, ties and parts of a topic allowed, everything else refused with its row."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import adjudge
from adjudge.data.columns import EXPORT
from adjudge.data.formats import open_source
from adjudge.data.rankings import (
    NUMBERING,
    WORDS,
    Rankings,
    holds_pairs,
    read_labelled_rankings,
    read_pairs,
    read_rankings,
)
from adjudge.errors import AdjudgeWarning, InputError

HEAD = "topic,item,judge,rank\n"


def ranked(rows: str, items: Any = None, ties: bool = False, **named: str) -> Rankings:
    """Return the rankings of rows such as ``t a x 1``, one a topic, item, judge and rank."""
    columns = zip(*(row.split() for row in rows.split(",")), strict=True)
    table = dict(zip(("topic", "item", "judge", "rank"), columns, strict=True))
    return read_rankings(open_source(pl.DataFrame(table)), named, items, ties)


def orders(rankings: Rankings) -> dict[tuple[Any, Any], str]:
    """Return what each judge said of each topic, such as ``a > b = c``."""
    result = {}
    for r, (first, last) in enumerate(zip(rankings.start[:-1], rankings.start[1:], strict=True)):
        names, level = rankings.items.gather(rankings.item[first:last]), rankings.level[first:last]
        marks = ["", *(" = " if same else " > " for same in np.diff(level) == 0)]
        topic = rankings.topic[rankings.item[first]]
        key = (
            rankings.judges[int(rankings.judge[r])],
            None if rankings.topics is None else rankings.topics[int(topic)],
        )
        result[key] = "".join(mark + str(name) for mark, name in zip(marks, names, strict=True))
    return result


def refusal(rows: str, **options: Any) -> str:
    """Return what is said against rows."""
    with pytest.raises(InputError) as caught:
        ranked(rows, **options)
    return str(caught.value)


def test_rankings_stand_best_first() -> None:
    """Rows in any order become one ranking a judge and topic; an item of two topics is two items."""
    result = ranked("t b x 2,u a x 1,t a x 1,t c y 2,t a y 1,u b x 2,t c x 3")
    assert orders(result) == {("x", "t"): "a > b > c", ("y", "t"): "a > c", ("x", "u"): "a > b"}
    assert result.items.to_list() == ["b", "a", "c", "b", "a"]
    assert result.topic.tolist() == [0, 0, 0, 1, 1]
    assert repr(result) == "Rankings(5 items, 2 judges, 3 rankings)"


@pytest.mark.parametrize("ranks", ["1223", "1224"])
def test_ties_may_be_numbered_in_two_ways(ranks: str) -> None:
    """Dense and competition numbering say the same."""
    result = ranked(",".join(f"t {item} x {rank}" for item, rank in zip("abcd", ranks, strict=True)))
    assert orders(result) == {("x", "t"): "a > b = c > d"}
    assert result.level.tolist() == [0, 1, 1, 2]


def test_a_table_without_topics_is_one_topic() -> None:
    """Usual and chosen names of columns, numbers as items, whole numbers written as fractions."""
    table = pl.DataFrame({"doc": [7, 8], "worker": ["x", "x"], "place": [2.0, 1.0]})
    result = read_rankings(open_source(table), {"rank": "place"})
    assert orders(result) == {("x", None): "8 > 7"}


def test_a_record_cannot_be_changed() -> None:
    """Arrays that cross rooms are read-only."""
    result = ranked("t a x 1")
    for array in (result.topic, result.start, result.judge, result.item, result.level):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("rank", ["0", "-1", "2.5", "two", "inf", "nan", "1e300"])
def test_a_rank_is_a_whole_number(rank: str) -> None:
    """Anything else is refused with its row."""
    assert refusal(f"t a x 1,t b x {rank}") == (
        f"table, row 1: rank '{rank}' is not a whole number of at least 1: {NUMBERING}"
    )


@pytest.mark.parametrize(
    ("ranks", "row", "rank", "missing"),
    [("124", 2, 4, 3), ("23", 0, 2, 1), ("114", 2, 4, 2), ("11225", 4, 5, 3), ("11335", 4, 5, None), ("133", 1, 3, 2)],
)
def test_a_gap_names_what_is_missing(ranks: str, row: int, rank: int, missing: int | None) -> None:
    """The first tie tells the numbering, and what does not follow it is a gap."""
    rows = ",".join(f"t {item} x {value}" for item, value in zip("abcde", ranks, strict=False))
    if missing is None:
        assert len(ranked(rows).item) == len(ranks)
    else:
        case = f"judge 'x' of topic 't' gives rank {rank} and no rank {missing}"
        assert refusal(rows) == f"table, row {row}: {case}: {NUMBERING}"


def test_the_first_gap_in_the_file_is_named() -> None:
    """Of several judges' gaps, the one that stands first."""
    assert refusal("t a x 1,t a y 3,t b x 3").startswith("table, row 1: judge 'y' of topic 't' gives rank 3")


def test_an_item_ranked_twice_is_refused() -> None:
    """By one judge in one topic; elsewhere it may be ranked again."""
    assert refusal("t a x 1,u a x 1,t a y 1,t b x 2,t a x 2") == (
        "table, row 4: judge 'x' ranks item 'a' here and in row 0: keep one of them, "
        "or name the column of sets with set="
    )


def in_sets(rows: str, names: tuple[str, ...] = ("topic", "item", "judge", "rank", "set"), **options: Any) -> Rankings:
    """Return the rankings of rows such as ``t a x 1 s``, in which the last column is the set."""
    columns = zip(*(row.split() for row in rows.split(",")), strict=True)
    return read_rankings(open_source(pl.DataFrame(dict(zip(names, columns, strict=True)))), options)


@pytest.mark.parametrize(("name", "chosen"), [("set", {}), ("Set_ID", {}), ("assignment", {}), ("hit", {"set": "hit"})])
def test_a_set_is_a_ranking(name: str, chosen: dict[str, str]) -> None:
    """A judge who ranks two sets of a topic gives two rankings, whatever the column of sets is called."""
    result = in_sets("t a x 1 p,t b x 2 p,t c x 1 q,t a x 2 q", ("topic", "item", "judge", "rank", name), **chosen)
    assert result.judge.tolist() == [0, 0]
    assert result.start.tolist() == [0, 2, 4]
    assert result.items.gather(result.item).to_list() == ["a", "b", "c", "a"]
    assert result.level.tolist() == [0, 1, 0, 1]


def test_sets_numbered_anew_in_each_assignment() -> None:
    """A set is told by its own column and by that of the assignment if there are both."""
    names = ("topic", "item", "judge", "rank", "set", "assignment")
    result = in_sets("t a x 1 1 7,t b x 2 1 7,t c x 1 1 8,t d x 2 1 8", names)
    assert result.start.tolist() == [0, 2, 4]


def test_an_item_ranked_twice_in_a_set_is_refused() -> None:
    """In another set it may be ranked again."""
    with pytest.raises(InputError) as caught:
        in_sets("t a x 1 p,t b x 2 p,t a x 1 q,t a x 2 q")
    assert str(caught.value) == "table, row 3: judge 'x' ranks item 'a' here and in row 2: keep one of them"


@pytest.mark.parametrize(
    ("ranks", "last", "sets"), [("1122", 2, 2), ("1234512345", 5, 2), ("12345123", 5, 2), ("123123123", 3, 3)]
)
def test_merged_sets_are_refused(ranks: str, last: int, sets: int) -> None:
    """Ranks 1 and 2 given several times may be several sets, so the user is asked; with ``ties`` they are ties."""
    rows = ",".join(f"t {item} x {rank}" for item, rank in zip("abcdefghij", ranks, strict=False))
    row = ranks.index("1", 1)
    assert refusal(rows) == (
        f"table, row {row}: judge 'x' of topic 't' gives the ranks 1 to {last} more than once, as in {sets} sets: name "
        "the column that tells the sets apart with set=, or say with ties=True that equal ranks are ties"
    )
    assert ranked(rows, ties=True).judge.tolist() == [0]


@pytest.mark.parametrize("ranks", ["112", "1223", "1224", "1133", "1222", "11222", "12344", "1112"])
def test_ties_are_not_taken_for_sets(ranks: str) -> None:
    """Sets would repeat the ranks 1 and 2, never a lower rank more often, and skip none."""
    rows = ",".join(f"t {item} x {rank}" for item, rank in zip("abcde", ranks, strict=False))
    assert ranked(rows).judge.tolist() == [0]


def test_the_first_merged_sets_in_the_file_are_named() -> None:
    """Of several judges, the one whose second rank 1 comes first."""
    rows = "t a x 1,t b x 2,t c y 1,t d y 2,t e y 1,t f y 2,t c x 1,t d x 2"
    assert refusal(rows).startswith("table, row 4: judge 'y' of topic 't' gives the ranks 1 to 2 more than once")


def test_exported_judgments_without_a_rank_are_left_out() -> None:
    """An export of the studio has judgments that were imported without ranks; other tables must have ranks."""
    columns = {name: [""] * 3 for name in EXPORT}
    columns |= {"document": list("abc"), "judge": ["x"] * 3, "topic": ["t"] * 3, "rank": ["2", "", "1"]}
    columns |= {"assignment": ["7"] * 3}
    message = "table: 1 of 3 judgments have no rank; they are left out"
    with pytest.warns(AdjudgeWarning, match=f"^{message}$"):
        result = read_rankings(open_source(pl.DataFrame(columns)), {})
    assert result.items.gather(result.item).to_list() == ["c", "a"]


def test_rows_are_those_of_the_file(tmp_path: Path) -> None:
    """Lines of CSV count the header and empty lines, those of JSON empty lines, those of Parquet from 0."""
    (tmp_path / "r.csv").write_text(HEAD + "t,a,x,1\n\nt,b,x,3\n")
    (tmp_path / "r.jsonl").write_text('{"item":"a","judge":"x","rank":1}\n\n{"item":"b","judge":"x","rank":3}\n')
    pl.DataFrame({"item": ["a", "b"], "judge": ["x", "x"], "rank": [1, 3]}).write_parquet(tmp_path / "r.parquet")
    for name, row in (("r.csv", 4), ("r.jsonl", 3), ("r.parquet", 1)):
        with pytest.raises(InputError, match=f"{name}, row {row}: judge 'x'.* gives rank 3 and no rank 2"):
            read_rankings(open_source(tmp_path / name), {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,judge,rank\na,,1\n", "r.csv, row 2: the judge (column 'judge') is empty"),
        ("item,judge,rank\n,x,1\n", "r.csv, row 2: the item (column 'item') is empty"),
        ("item,judge,rank\na,x,1\nb,x,\n", "r.csv, row 3: the rank (column 'rank') is empty"),
        (
            "item,judge\na,x\n",
            "r.csv: no column for the rank (columns: 'item', 'judge'): call it rank, or name it with rank=; "
            "preferences need left, right and winner",
        ),
        ("item,judge,rank,Rank\na,x,1,1\n", "r.csv: 'rank', 'Rank' could each be the rank: choose one with rank="),
        (
            "judge,rank\nx,1\n",
            "r.csv: no column for the item (columns: 'judge', 'rank'); "
            "usual names are item, task, doc, document, question, unit, docno, passage, instance, example, "
            "sample, or name it with item=",
        ),
    ],
)
def test_what_is_missing_is_said(text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns and values that are not there, in one line."""
    monkeypatch.chdir(tmp_path)
    Path("r.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        read_rankings(open_source("r.csv"), {})
    assert str(caught.value) == message


def test_unknown_items_are_refused() -> None:
    """Items given as a list, as a table, and by topic."""
    rows, result = "t a x 1,t b x 2", "is not among the 2 items of table: correct it here, or add it there"
    assert refusal(rows, items=["a", "z"]) == f"table, row 1: item 'b' of topic 't' {result}"
    by_topic = pd.DataFrame({"topic": ["t", "u"], "doc": ["a", "b"]})
    assert refusal(rows, items=by_topic) == f"table, row 1: item 'b' of topic 't' {result}"
    assert len(ranked(rows, items=by_topic.assign(topic="t")).items) == 2
    assert len(ranked("t 1 x 1,t 2 x 2", items=[1, 2]).items) == 2


def test_items_nobody_ranked_are_counted() -> None:
    """A word about items that will have no place."""
    with pytest.warns(AdjudgeWarning, match=r"^table: nobody ranked 2 of these items, so they are not in the result$"):
        ranked("t a x 1,t b x 2", items=["a", "b", "c", "d"])


def preferred(rows: list[tuple[Any, ...]], items: Any = None) -> Rankings:
    """Return the preferences of rows of left, right, winner and, where there is one, judge."""
    columns = ["left", "right", "winner", "judge"][: len(rows[0])]
    return read_pairs(open_source(pl.DataFrame(rows, columns, orient="row", strict=False)), {}, items)


def _pairs_refusal(rows: list[tuple[Any, ...]], **options: Any) -> str:
    """Return what is said against rows."""
    with pytest.raises(InputError) as caught:
        preferred(rows, **options)
    return str(caught.value)


def test_the_better_stands_first() -> None:
    """A winner named as an item or by its side; tied ones stay as they stood."""
    result = preferred([("p", "q", "q"), ("q", "s", "left"), ("s", "p", "tie")])
    assert result.items.gather(result.item).to_list() == ["q", "p", "q", "s", "s", "p"]
    assert result.level.tolist() == [0, 1, 0, 1, 0, 0]
    assert result.side is not None
    assert result.side.tolist() == [-1, 1, 1]
    assert result.judges.to_list() == [None]
    assert repr(result) == "Rankings(3 items, 1 judges, 3 preferences)"


def test_judges_and_numbers() -> None:
    """Items may be numbers; winners are found as text too."""
    result = preferred([(1, 2, "2", "ann"), (2, 3, "Right", "bob")])
    assert result.items.gather(result.item[::2]).to_list() == [2, 3]
    assert result.judges.gather(result.judge).to_list() == ["ann", "bob"]


@pytest.mark.parametrize("word", WORDS)
def test_every_word_is_understood(word: str) -> None:
    """In any case of letters."""
    result = preferred([("p", "q", word.upper())])
    assert result.side is not None
    assert (result.side[0] if result.level[1] else 0) == WORDS[word]


@pytest.mark.parametrize("winner", ["b", "B"])
def test_the_name_of_an_item_is_no_word(winner: str) -> None:
    """Where an item is called b, b is not the right one of two others."""
    assert _pairs_refusal([("a", "b", "a"), ("a", "c", winner)]) == (
        f"table, row 1: the winner '{winner}' is neither 'a' nor 'c': give one of the two, or left, right or tie"
    )


def test_what_is_no_preference_is_refused() -> None:
    """An item against itself, a winner that is neither, one that is missing, an item that is not known."""
    assert _pairs_refusal([("p", "q", "p"), ("p", "p", "p")]) == (
        "table, row 1: left and right are both 'p': a preference is between two items"
    )
    assert _pairs_refusal([("p", "q", "z")]) == (
        "table, row 0: the winner 'z' is neither 'p' nor 'q': give one of the two, or left, right or tie"
    )
    assert _pairs_refusal([("p", "q", "p"), ("p", "q", None)]) == "table, row 1: the winner (column 'winner') is empty"
    assert _pairs_refusal([("p", None, "p")]) == "table, row 0: the right (column 'right') is empty"
    assert _pairs_refusal([("p", "q", "p"), ("p", "s", "p")], items=["p", "q"]) == (
        "table, row 1: item 's' is not among the 2 items of table: correct it here, or add it there"
    )


def test_tables_of_pairs_are_told_by_their_columns() -> None:
    """By their names, or by one that the user names."""
    columns = {name: ["x"] for name in ("Left", "right", "winner")}
    source = open_source(pl.DataFrame(columns))
    assert holds_pairs(source, {})
    assert not holds_pairs(open_source(pl.DataFrame({"left": ["x"], "right": ["y"]})), {})
    assert holds_pairs(open_source(pl.DataFrame({"a": ["x"]})), {"left": "a"})


def test_labels_beside_ranks() -> None:
    """Every label is a judgment, an entry of a ranking knows its label, and a name of two topics is two items."""
    columns = {
        "topic": list("ttuu"),
        "item": list("abab"),
        "judge": list("xxxx"),
        "rank": ["1", "2", "1", ""],
        "label": ["1", "", "0", "1"],
    }
    result = read_labelled_rankings(open_source(pl.DataFrame(columns)), {})
    assert result.start.tolist() == [0, 2, 3]
    assert result.label is not None
    assert result.label.tolist() == [1, -1, 0]
    assert result.judgments is not None
    assert result.judgments.items.to_list() == ["t_a", "t_b", "u_a", "u_b"]
    assert result.judgments.start.tolist() == [0, 1, 1, 2, 3]
    assert result.judgments.label.tolist() == [1, 0, 1]


def test_the_rows_of_labelled_rankings_are_those_of_the_table() -> None:
    """Rows without a rank or a label are counted in messages."""
    columns = {
        "item": list("abcd"),
        "judge": list("xxxx"),
        "rank": ["", "1", "3", "2"],
        "label": ["0", "", "1", "maybe"],
    }
    with pytest.raises(InputError) as caught:
        read_labelled_rankings(open_source(pl.DataFrame(columns)), {}, labels=["0", "1"])
    assert str(caught.value) == "table, row 3: label 'maybe' is not one of '0', '1' (give labels= to extend the scale)"
    columns |= {"label": list("0111"), "rank": ["", "1", "3", "3"]}
    with pytest.raises(InputError) as caught:
        read_labelled_rankings(open_source(pl.DataFrame(columns)), {})
    assert str(caught.value) == f"table, row 2: judge 'x' gives rank 3 and no rank 2: {NUMBERING}"


def test_lists_are_no_labels() -> None:
    """A column of lists is refused in one sentence."""
    columns = {"item": ["a"], "judge": ["x"], "rank": [1], "label": [[1, 2]]}
    with pytest.raises(InputError) as caught:
        read_labelled_rankings(open_source(pl.DataFrame(columns)), {})
    assert str(caught.value) == "table: column 'label' holds lists, records or objects, not one label per row"


def test_preferences_of_arenas_and_of_crowd_kit() -> None:
    """The columns and words of chatbot arenas, and the column of labels of crowd-kit, are known."""
    winners = ["model_a", "tie (bothbad)", "model_b", "gpt"]
    table = {"model_a": ["gpt"] * 4, "model_b": ["claude"] * 4, "winner": winners, "judge": ["x"] * 4}
    words = {
        "left": ["gpt"] * 4,
        "right": ["claude"] * 4,
        "label": ["gpt", "tie", "claude", "gpt"],
        "worker": ["x"] * 4,
    }
    arena, crowd = (adjudge.rank(pl.DataFrame(each)).items for each in (table, words))
    assert arena.equals(crowd)
    assert arena["item"].to_list() == ["gpt", "claude"]
