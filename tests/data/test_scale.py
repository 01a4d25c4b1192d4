"""Scales: their order, their names, and where a label stands."""

from typing import Any

import pytest

from adjudge.data.scale import Label, Scale, given_scale, number_of, scale_of
from adjudge.errors import UsageError


def refusal(*arguments: object, **options: object) -> str:
    """Return what a scale is refused with."""
    call, *rest = arguments
    with pytest.raises(UsageError) as caught:
        call(*rest, **options)  # type: ignore[operator]
    return str(caught.value)


@pytest.mark.parametrize(
    ("seen", "labels"),
    [
        (["b", "a"], ("a", "b")),
        (["10", "9", "-1"], ("-1", "9", "10")),
        ([2, 10, 1], (1, 2, 10)),
        ([0.5, 0.25], (0.25, 0.5)),
        ([True, False], (False, True)),
        (["10", "9", "none"], ("10", "9", "none")),
        (["2", "nan"], ("2", "nan")),
    ],
)
def test_numbers_by_value_others_by_name(seen: list[Label], labels: tuple[Label, ...]) -> None:
    """Numeric labels stand in numeric order, others in that of their names."""
    assert scale_of(seen).labels == labels
    assert not scale_of(seen).ordinal


def test_an_order_is_never_guessed_from_text() -> None:
    """Ordinal numbers have an order, ordinal text has none until it is given."""
    assert scale_of(["10", "9"], ordinal=True) == Scale(("9", "10"), ordinal=True)
    assert refusal(scale_of, ["poor", "good"], ordinal=True) == (
        "the order of the labels 'good', 'poor' is not known: give it, lowest first, with labels="
    )


def test_names_and_length() -> None:
    """A scale knows its labels as text, and how many they are."""
    scale = Scale((0, 0.5, True, "x"))
    assert scale.names == ("0", "0.5", "True", "x")
    assert len(scale) == 4


@pytest.mark.parametrize("labels", [("1", "2", "1"), ("1", 2, 1)])
def test_a_label_is_named_once(labels: tuple[Label, ...]) -> None:
    """Labels of the same name are refused, whatever their types."""
    assert refusal(Scale, labels) == "the scale names '1' twice; give every label once"


def test_a_scale_has_labels() -> None:
    """An empty scale is refused."""
    assert refusal(Scale, ()) == "a scale needs at least one label"


def test_a_scale_cannot_be_changed() -> None:
    """A scale is a record."""
    with pytest.raises(AttributeError):
        Scale(("a",)).labels = ()  # type: ignore[misc]


def test_places_by_name_and_else_by_number() -> None:
    """A label is found by its name, or as the number it is; text is no number."""
    assert Scale((0, 1)).places(["1", "0", 1.0, "1.0", True, "one", 2]) == [1, 0, 1, 1, 1, None, None]
    assert Scale(("1", "01")).places(["01", "1", "1.0"]) == [1, 0, 1]
    assert Scale(("no", "nan")).places(["nan", "maybe", float("nan")]) == [1, None, 1]


@pytest.mark.parametrize(
    ("given", "like", "labels"),
    [
        (["1", "0"], 1, (1, 0)),
        (["1.0", "0"], 1, (1, 0)),
        ([1, 0], "1", ("1", "0")),
        ([0, 0.5, 1], 0.5, (0.0, 0.5, 1.0)),
        (["False", "True"], True, (False, True)),
        (["0", "1", "n/a"], 1, ("0", "1", "n/a")),
        (["no", "yes"], True, ("no", "yes")),
    ],
)
def test_a_given_scale_takes_the_type_of_the_table(given: list[Label], like: Label, labels: tuple[Label, ...]) -> None:
    """Labels typed on a command line become numbers where the table's are, and are never of several types."""
    scale = given_scale(given, True, like)
    assert scale == Scale(labels, ordinal=True)
    assert [type(label) for label in scale.labels] == [type(label) for label in labels]


def test_one_text_is_no_list() -> None:
    """Labels given as one text are refused, before their letters pass for labels."""
    assert refusal(given_scale, "no,yes", False, "no") == "labels 'no,yes' is one text: give a list of labels"


@pytest.mark.parametrize(("label", "number"), [("1.50", 1.5), (True, 1.0), (3, 3.0), ("x", None), ("nan", None)])
def test_number_of(label: Label, number: float | None) -> None:
    """A label's number is its value; text has none, and neither has nan."""
    assert number_of(label) == number


def test_values_order_the_labels() -> None:
    """The scale is ordinal, in the type of the table, and remembers what was given."""
    scale = given_scale(None, ordinal=False, like="good", values={"good": 3, "bad": 0, "fair": 1})
    assert scale == Scale(("bad", "fair", "good"), ordinal=True, values=(0.0, 1.0, 3.0))
    assert scale.given_values == {"bad": 0.0, "fair": 1.0, "good": 3.0}
    assert Scale(("bad", "good")).given_values is None
    assert given_scale(["1", "2"], ordinal=False, like=1, values={"1": -1, "2": 7}).values == (-1.0, 7.0)
    assert given_scale(scale, ordinal=False, like="bad") == scale


@pytest.mark.parametrize(
    ("labels", "values", "message"),
    [
        (None, {}, "values {} is not a mapping from every label to its value"),
        (None, {"a": 0, "b": "x"}, "the value 'x' of label 'b' is not a number"),
        (None, {"a": 0, "b": None}, "the value 'None' of label 'b' is not a number"),
        (None, {"a": 0, "b": float("inf")}, "the value 'inf' of label 'b' is not a number"),
        (["a", "b", "c"], {"a": 0, "b": 1}, "values are given to 'a', 'b', but the labels are 'a', 'b', 'c'"),
        (["a"], {"a": 0, "b": 1}, "values are given to 'a', 'b', but the labels are 'a'"),
        (["b", "a"], {"a": 0, "b": 1}, "values must rise from each label to the next, but 'b' has 1 and 'a' has 0"),
        (None, {"a": 1, "b": 1}, "values must rise from each label to the next, but 'a' has 1 and 'b' has 1"),
    ],
)
def test_values_that_do_not_fit_are_refused(labels: list[str] | None, values: dict[str, Any], message: str) -> None:
    """With what is wrong about them."""
    assert refusal(given_scale, labels, False, "a", values) == message
