"""The view of results in notebooks."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from adjudge.data.show import ListView, NotebookView, html_view


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table])
def test_every_kind_of_frame_is_shown_and_escaped(kind):
    """Names of judges and items come from anybody."""
    table = kind({"<i>": ["<script>", "b"], "share": [0.123456, 2.0]})
    assert html_view("a < b", table, rows=1) == (
        "<div><p>a &lt; b</p><table><thead><tr><th>&lt;i&gt;</th><th>share</th></tr></thead><tbody>"
        "<tr><td>&lt;script&gt;</td><td>0.1235</td></tr></tbody></table><p>The first 1 of 2 rows.</p></div>"
    )


def test_missing_values_are_empty_cells():
    """Neither None nor nan is printed."""
    displayed = html_view("", pl.DataFrame({"x": [None, float("nan")]}, schema={"x": pl.Float64}))
    assert displayed.count("<td></td>") == 2


def test_a_result_shows_its_repr_and_its_table():
    """A class needs both, and nothing else."""

    class Result(NotebookView):
        table = pl.DataFrame({"x": [1]})

        def __repr__(self):
            return "Result(1)"

    assert Result()._repr_html_().startswith("<div><p>Result(1)</p><table>")
    with pytest.raises(NotImplementedError):
        NotebookView().table  # noqa: B018


def test_a_list_is_a_sequence_of_its_records():
    """By index, by slice, in order, and from its end."""

    class Results(ListView):
        records = ("a", "b", "c")

    results = Results()
    assert (len(results), list(results), list(reversed(results))) == (3, ["a", "b", "c"], ["c", "b", "a"])
    assert (results[-1], results[1:], "b" in results) == ("c", ("b", "c"), True)
    with pytest.raises(NotImplementedError):
        ListView().records  # noqa: B018
