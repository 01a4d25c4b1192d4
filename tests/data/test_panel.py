"""What is known about judges: read from tables and columns, matched by name, kept when judges are recoded."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adjudge.data.judgments import Judgments, NameIndex, append, describe, match_names
from adjudge.data.panel import KIND_OF, KINDS, Panel, extend_panel, kind_named, panel_of
from adjudge.data.read import read
from adjudge.errors import AdjudgeError, AdjudgeWarning

ROWS = pl.DataFrame(
    {"item": ["a", "a", "a", "b", "b"], "judge": ["ann", "g1", "g2", "ann", "g1"], "label": [0, 1, 1, 1, 1]}
)
JUDGES = pl.DataFrame(
    {
        "judge": ["g2", "ann", "g1"],
        "kind": ["AI", "Human", "llm"],
        "family": ["gpt", None, " "],
        "model": ["gpt-4", None, "gpt-3"],
        "prompt": ["short", None, "long"],
    }
)
PANEL = Panel(
    ("person", "machine", "machine"), ("ann", "gpt-3", "gpt"), (None, "gpt-3", "gpt-4"), (None, "long", "short")
)


def quiet(table: Any, **options: Any) -> Judgments:
    """Return judgments that are read without any warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read(table, **options)


def refusal(judges: Any) -> str:
    """Return what a table of judges is refused with."""
    with pytest.raises(AdjudgeError) as caught:
        read(ROWS, judges=judges)
    return str(caught.value)


@pytest.mark.parametrize(
    "judges",
    [
        JUDGES,
        JUDGES.to_pandas(),
        JUDGES.rename({"judge": "Worker ID", "kind": "Judge Type", "model": "judge_model"}),
        pl.concat([JUDGES, JUDGES.head(2).with_columns(model=pl.lit(None, pl.String))]),
        {name: dict(zip(JUDGES.columns[1:], row[1:], strict=True)) for row in JUDGES.rows() for name in row[:1]},
    ],
    ids=["polars", "pandas", "other names", "repeated", "mapping"],
)
def test_a_table_of_judges(judges: Any) -> None:
    """Facts follow the order of the judges; a family is the model where it is missing, else the judge."""
    assert quiet(ROWS, judges=judges).panel == PANEL


def test_a_file_of_judges(tmp_path: Path) -> None:
    """A file is a table of judges too, with the column of judges named as in the judgments."""
    path = tmp_path / "judges.csv"
    path.write_text("who,kind\nann,person\ng1, machine\ng2,\n")
    panel = quiet(ROWS.rename({"judge": "who"}), judge="who", judges=path).panel
    assert panel == Panel(("person", "machine", None), ("ann", "g1", "g2"), (None,) * 3, (None,) * 3)


def test_a_mapping_to_kinds() -> None:
    """A mapping from judge to kind is enough, and numbers match their text."""
    numbers = ROWS.with_columns(judge=pl.Series([1, 2, 3, 1, 2]))
    panel = quiet(numbers, judges={1: "crowd", 2: "editor", "3": "model"}).panel
    assert panel is not None
    assert panel.kind == ("person", "expert", "machine")
    assert panel.family == ("1", "2", "3")
    assert quiet(numbers, judges=pd.DataFrame({"judge": [1.0, 2.0, 3.0], "kind": "ai"})).panel is not None


@pytest.mark.parametrize("spelling", KIND_OF)
def test_spellings(spelling: str) -> None:
    """Every spelling means a kind, in any case and with blanks."""
    assert kind_named(f" {spelling.upper().replace('_', ' ')} ") == KIND_OF[spelling]
    assert KIND_OF[spelling] in KINDS


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        (
            pl.DataFrame({"judge": ["ann", "g1"], "kind": ["person", "cat"]}),
            "table, row 1: the kind of a judge is 'cat': write 'person', 'expert', 'machine', or leave it empty if it "
            "is unknown",
        ),
        (
            pl.DataFrame({"judge": ["ann", "g1", "ann"], "kind": ["person", "llm", "expert"]}),
            "table, row 2: judge 'ann' has the kind 'expert' here and 'person' in row 0: keep one of them",
        ),
        (
            pl.DataFrame({"judge": ["ann", None], "kind": ["person", "llm"]}),
            "table, row 1: the judge (column 'judge') is empty",
        ),
        (
            pl.DataFrame({"judge": ["bob", "eve"], "kind": ["person", "llm"]}),
            "table, row 0: none of its 2 judges judged anything: this one is 'bob', and judges are such as 'ann'",
        ),
        (
            pl.DataFrame({"judge": ["ann"], "accuracy": [0.5]}),
            "table: no column says what the judges are (columns: 'judge', 'accuracy'): give one or more of 'kind', "
            "'family', 'model', 'prompt'",
        ),
        (
            pl.DataFrame({"judge": ["ann"], "model": [["gpt"]]}),
            "table: column 'model' holds lists, records or objects, not one value per row",
        ),
        (
            {"ann": {"colour": "red"}},
            "judges: 'colour' of judge 'ann' is not one of 'kind', 'family', 'model', 'prompt'",
        ),
    ],
)
def test_refusals(judges: Any, message: str) -> None:
    """A table that cannot be right is refused with its row and what to do."""
    assert refusal(judges) == message


def test_warnings_about_judges() -> None:
    """Rows about judges who judged nothing are ignored, and judges without a row are unknown; both are said."""
    with pytest.warns(AdjudgeWarning) as caught:
        panel = read(ROWS, judges={"ann": "person", "bob": "person", "eve": "llm"}).panel
    assert [str(each.message) for each in caught] == [
        "table, row 1: judge 'bob' judged nothing (2 such of 3, ignored)",
        "table: 2 of 3 judges have no row, such as 'g1'; their kind is unknown",
    ]
    assert panel is not None
    assert panel.kind == ("person", None, None)


def test_columns_of_judgments() -> None:
    """Columns of the judgments that say one thing about each judge are facts; empty values say nothing."""
    table = ROWS.with_columns(
        judge_kind=pl.Series(["human", "llm", "llm", None, "llm"]), model=pl.Series([None, "m", "n", None, ""])
    )
    judgments = quiet(table)
    assert judgments.panel == panel_of(
        ["ann", "g1", "g2"], {"kind": ["person", "machine", "machine"], "model": [None, "m", "n"]}
    )
    assert judgments.origin is not None
    assert judgments.origin.columns["kind"] == "judge_kind"
    assert quiet(judgments.table).panel == judgments.panel  # what is written is read again


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"prompt": ["p", "p", "p", "q", "p"]}, "column 'prompt' does not say one thing about each judge, and is"),
        (
            {"kind": ["test", "test", "test", "test", "test"]},
            "column 'kind' does not say one thing about each judge, and is",
        ),
        (
            {"family": list("abcde"), "model": list("abcde")},
            "columns 'family', 'model' do not say one thing about each judge, and are",
        ),
    ],
)
def test_columns_about_something_else(columns: dict[str, list[str]], names: str) -> None:
    """Columns that vary within a judge, or hold other words, are not used, with one note."""
    with pytest.warns(AdjudgeWarning) as caught:
        judgments = read(ROWS.with_columns(**{name: pl.Series(values) for name, values in columns.items()}))
    assert [str(each.message) for each in caught] == [f"table: {names} not used"]
    assert judgments.panel is None


def test_one_judgment_per_judge() -> None:
    """A plain column says nothing about judges if each has one judgment, while a column with the prefix does."""
    table = pl.DataFrame({"item": ["a", "b"], "judge": ["x", "y"], "label": [0, 1], "prompt": ["one text", "another"]})
    with pytest.warns(AdjudgeWarning, match="column 'prompt'"):
        assert read(table).panel is None
    panel = quiet(table.rename({"prompt": "judge_prompt"})).panel
    assert panel is not None
    assert panel.prompt == ("one text", "another")


def test_a_column_with_another_role_stays() -> None:
    """A column that the user named for another role is not a fact about judges."""
    table = pl.DataFrame({"item": ["a", "a"], "model": ["x", "y"], "label": [0, 1]})
    assert quiet(table, judge="model").panel is None


def test_a_table_has_the_last_word() -> None:
    """A table of judges replaces what columns say where it says something, and leaves the rest."""
    columns = quiet(ROWS.with_columns(judge_kind=pl.lit("person"), judge_family=pl.lit("crowd")))
    panel = quiet(columns, judges={"ann": {}, "g1": {"kind": "ai"}, "g2": {"family": "gpt"}}).panel
    assert panel is not None
    assert panel.kind == ("person", "machine", "person")
    assert panel.family == ("crowd", "crowd", "gpt")


def test_codes_and_kinds() -> None:
    """Families are codes in order of appearance, and judges are found by kind."""
    codes, names = PANEL.family_codes()
    assert (codes.tolist(), names) == ([0, 1, 2], ("ann", "gpt-3", "gpt"))
    assert PANEL.of_kind("machine").tolist() == [1, 2]
    assert PANEL.of_kind("person", None).tolist() == [0]
    assert PANEL.take([2, 0]).kind == ("machine", "person")
    assert len(PANEL) == 3


def test_families_are_shared_if_some_have_two_judges() -> None:
    """One family of all judges, or one for each of them, says nothing about who errs with whom."""
    shared = [panel_of("abc", {"family": families}).shared_families() for families in (["f", "f", "g"], "fgh", "fff")]
    assert [codes.tolist() for codes in shared] == [[0, 0, 1], [], []]


def test_summary() -> None:
    """The summary of judgments says how many judges there are of each kind, and the families."""
    judgments = quiet(ROWS, judges=JUDGES)
    rows = describe(judgments)
    assert rows["kinds of judges"] == "1 person, 2 machine"
    assert rows["families"] == "3 ('ann' 1, 'gpt-3' 1, 'gpt' 1)"
    many = panel_of(range(9), {"family": ["f"] * 3 + [None] * 6})
    assert many.describe() == {
        "kinds of judges": "9 unknown",
        "families": "7 ('f' 3, '3' 1, '4' 1, '5' 1, '6' 1, and 2 more)",
    }


def test_parts_keep_the_panel() -> None:
    """Taking judgments and adding items keep judges as they are, and so the panel."""
    judgments = quiet(ROWS, judges=JUDGES)
    assert judgments.take(np.arange(2)).panel == PANEL
    assert judgments.with_items(pl.Series(["z"])).panel == PANEL
    assert judgments.without_repeats("drop")[0].panel == PANEL


def test_new_judgments() -> None:
    """Judges of new judgments come after the old ones with their facts; what is known of old ones stays."""
    old = quiet(ROWS, judges=JUDGES)
    rows = pl.DataFrame({"item": ["a", "c"], "judge": ["zoe", "ann"], "label": [1, 0]})
    new = quiet(rows, judges={"zoe": "expert", "ann": {"family": "team"}})
    both = append(old, match_names(NameIndex(old.items, old.judges, old.topics, old.topic, old.panel), new))
    assert both.judges.to_list() == ["ann", "g1", "g2", "zoe"]
    assert both.panel is not None
    assert both.panel.kind == ("person", "machine", "machine", "expert")
    assert both.panel.family == ("team", "gpt-3", "gpt", "zoe")


def test_contradictions_of_new_judgments() -> None:
    """A new fact that contradicts an old one is a warning, and the old one stays."""
    judges, position = pl.Series(["ann", "g1", "g2"]), np.array([0, 2])
    new = Panel(("expert", "machine"), ("ann", "other"), (None, "gpt-4"), (None, None))
    with pytest.warns(AdjudgeWarning) as caught:
        assert extend_panel(PANEL, new, position, judges) == PANEL
    assert str(caught[0].message) == (
        "new judgments say something else about judges, and what was known stays: "
        "judge 'ann': kind 'person', not 'expert' (and 1 more)"
    )
    assert extend_panel(None, None, position, judges) is None
    assert extend_panel(None, PANEL, np.arange(3), judges) == PANEL
