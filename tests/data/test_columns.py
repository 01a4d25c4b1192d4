"""Which column plays which role."""

from typing import Any

import pytest

from adjudge.data.columns import NEEDED, USUAL, find_columns, has_column, is_usual
from adjudge.errors import AdjudgeWarning, InputError

PLAIN = ("item", "judge", "label")


def find(names: tuple[str, ...], chosen: dict[str, str | None] | None = None, **options: Any) -> dict[str, str]:
    """Return the roles of columns in a file."""
    return find_columns(names, chosen or {}, "labels.csv", **options)


def refusal(*arguments: Any, **options: Any) -> str:
    """Return what columns are refused with."""
    with pytest.raises(InputError) as caught:
        find(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize(("role", "name"), [(role, name) for role, names in USUAL.items() for name in names])
def test_usual_names_are_found(role: str, name: str) -> None:
    """Every usual name is found in its role, beside columns of the needed roles."""
    names = [name, *(other for other in PLAIN if other != role), "comment"]
    assert find(tuple(names))[role] == name


@pytest.mark.parametrize("name", ["Worker", "worker_id", "WorkerID", "workerId", "worker-id", "Worker ID", " worker "])
def test_spellings_of_a_name(name: str) -> None:
    """Case, outer blanks and a trailing id do not matter."""
    assert is_usual(name, "judge")


@pytest.mark.parametrize("name", ["id", "workers", "co-worker", "grid", ""])
def test_other_names_are_not_usual(name: str) -> None:
    """A name that only resembles a usual one is none."""
    assert not any(is_usual(name, role) for role in USUAL)


def test_optional_roles_may_be_missing() -> None:
    """Item, judge and label are enough."""
    assert find(PLAIN) == {"item": "item", "judge": "judge", "label": "label"}


def test_a_missing_role_lists_columns_and_usual_names() -> None:
    """A role without a column says what there is and what is looked for."""
    assert refusal(("item", "judge", "score")) == (
        "labels.csv: no column for the label (columns: 'item', 'judge', 'score'); "
        "usual names are label, rating, answer, vote, grade, relevance, rel, judgment, judgement, "
        "verdict, or name it with label="
    )
    assert refusal(()) == (
        "labels.csv: no column for the item (columns: none); "
        "usual names are item, task, doc, document, question, unit, docno, passage, instance, example, "
        "sample, or name it with item="
    )


def test_a_table_without_a_header_is_told_to_have_one() -> None:
    """If no column has a usual name, the first row may be data."""
    assert refusal(("d1", "ann", "yes")) == (
        "labels.csv: no column for the item (columns: 'd1', 'ann', 'yes'); "
        "usual names are item, task, doc, document, question, unit, docno, passage, instance, example, "
        "sample, or name it with item=; "
        "if the first row holds data, add a header above it"
    )


def test_two_candidates_are_listed() -> None:
    """Two columns for one role are an error that lists them; in optional roles, a warning, and neither is used."""
    assert refusal(("item", "task", "judge", "label")) == (
        "labels.csv: 'item', 'task' could each be the item: choose one with item="
    )
    with pytest.warns(AdjudgeWarning) as caught:
        assert "topic" not in find((*PLAIN, "topic", "query"))
    assert str(caught[0].message) == (
        "labels.csv: 'topic', 'query' could each be the topic; none is used (choose one with topic=)"
    )


def test_a_chosen_column_wins() -> None:
    """A column that is named plays the role, whatever else could."""
    names = ("item", "task", "judge", "label", "grade")
    assert find(names, {"item": "task", "label": "grade"}) == {"item": "task", "judge": "judge", "label": "grade"}


def test_a_chosen_column_is_free_for_no_other_role() -> None:
    """A column named for one role is not found for another."""
    assert find(("query", "judge", "label"), {"item": "query"}) == {"item": "query", "judge": "judge", "label": "label"}
    roles = find(("user", "worker", "label"), {"item": "user"})
    assert roles == {"item": "user", "judge": "worker", "label": "label"}


def test_a_chosen_column_must_be_there() -> None:
    """A column that is not there is named together with those that are."""
    assert refusal(PLAIN, {"label": "grade"}) == (
        "labels.csv: there is no column 'grade' for the label (columns: 'item', 'judge', 'label')"
    )


def test_a_column_plays_one_role() -> None:
    """One column in two roles is refused."""
    assert refusal(PLAIN, {"label": "item"}) == "labels.csv: column 'item' is named as both item and label"


def test_only_needed_roles_are_looked_for() -> None:
    """A table of gold needs no judge, and two columns for a topic do not matter in it."""
    names = ("item", "label", "topic", "query")
    assert find(names, needed=("item", "label")) == {"item": "item", "label": "label"}
    assert refusal(("item", "topic"), needed=("item", "label")).startswith("labels.csv: no column for the label")
    assert NEEDED == PLAIN


def test_a_role_has_a_column_or_none():
    """By its usual names."""
    assert has_column("label", ["item", "Rating"])
    assert not has_column("label", ["item", "expected"])
