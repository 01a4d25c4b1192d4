"""Options that are read by hand."""

import pytest
import typer

from adjudge.cli.options import label_list, sizes


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
