"""Options that are read by hand."""

import inspect
from typing import Annotated

import pytest
import typer

from adjudge.cli.options import READING, Reading, label_list, label_values, reads_judgments, sizes


def test_labels_are_split_at_commas():
    """Blanks around names do not count."""
    assert label_list("no, maybe ,yes") == ["no", "maybe", "yes"]
    assert label_list(None) is None


def test_sizes_are_names_and_numbers():
    """Whole numbers stay whole."""
    assert sizes(["items=100", "spammers=.3", "judges=1e3"]) == {"items": 100, "spammers": 0.3, "judges": 1000}


def test_a_size_without_a_number_is_refused():
    """With an example."""
    with pytest.raises(typer.BadParameter, match="'items' is not of the form name=number, such as items=100"):
        sizes(["items"])


def test_reading_takes_the_place_of_one_parameter():
    """The options stand where ``reading`` did, without those left out, and come back as one record."""
    got = []

    @reads_judgments("time", "labels", "ordinal", "values", "missing", "abstain", "keep_case", "repeats")
    def command(table: Annotated[str, typer.Argument()], reading: Reading = READING, rows: int = 3) -> None:
        """Do it."""
        got.append((table, reading, rows))

    names = ["table", "item", "judge", "label", "topic", "weight", "input_format", "rows"]
    assert list(inspect.signature(command).parameters) == list(command.__annotations__) == names
    options = dict.fromkeys(names[1:-1]) | {"item": "url"}
    command(table="t", rows=5, **options)
    assert got == [("t", Reading(item="url"), 5)]
    assert command.__doc__ == "Do it."


def test_reading_reads_as_it_says(tmp_path):
    """Columns, labels and repeats as given; what is known already holds instead."""
    path = tmp_path / "t.txt"
    path.write_text("url,judge,label\na,x,1\na,x,2\n")
    reading = Reading(item="url", labels="2, 1", repeats="drop", input_format="csv")
    with pytest.warns(UserWarning, match="repeats: drop left out 1 judgments"):
        table = reading.read(str(path))
    assert (len(table), table.scale.names, table.scale.ordinal) == (1, ("2", "1"), False)
    with pytest.warns(UserWarning, match="left out"):
        assert reading.read(str(path), labels=(1, 2, 3), ordinal=True).scale.names == ("1", "2", "3")


def test_values_are_labels_and_numbers():
    """A label may contain blanks and the sign =."""
    assert label_values("very bad=0, good = 2.5,a=b=-1") == {"very bad": 0.0, "good": 2.5, "a=b": -1.0}
    assert label_values(None) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bad=0,good", "'good' is not of the form label=number, such as good=3"),
        ("bad=0,=3", "'=3' is not of the form label=number, such as good=3"),
        ("bad=0,bad=1", "label 'bad' has two values"),
    ],
)
def test_values_that_cannot_be_read_are_refused(text, message):
    """With an example."""
    with pytest.raises(typer.BadParameter) as error:
        label_values(text)
    assert error.value.message == message
