"""The page of a panel and the heat map of families."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.panel import PARTS
from adjudge.errors import UsageError
from adjudge.reports.figure_panel import HEADINGS, family_chart, panel_file


@pytest.fixture(scope="module")
def analysis():
    """Return a small panel with gold."""
    crowd = adjudge.simulate("panel", 1, items=80)
    return adjudge.panel(crowd.judgments, crowd.truths)


def test_heat_map_has_all_pairs(analysis):
    """Every pair of families with shared items is a cell, and the title has the means."""
    chart = family_chart(analysis.families)
    cells = chart.layer[0].data if chart.data is None or not hasattr(chart.data, "values") else chart.data
    assert len(cells.values) == int((~np.isnan(analysis.families.matrix)).sum()) == 6 * 6 - 3
    assert chart.title.startswith("Correlation of errors: 0.")
    assert chart.title.endswith(" between families")


def test_files(analysis):
    """The picture is SVG or PNG, the page HTML that loads nothing from elsewhere."""
    assert panel_file(analysis, "svg").startswith(b"<svg")
    assert panel_file(analysis, "png").startswith(b"\x89PNG")
    page = panel_file(analysis, "html", "A <b>panel</b>").decode()
    assert "<h1>A &lt;b&gt;panel&lt;/b&gt;</h1>" in page
    for part in PARTS:
        assert HEADINGS[part].replace("'", "&#x27;") in page
    assert "Not defined because no two judges of a model differ in the order of the options only." in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    with pytest.raises(UsageError, match="format 'pdf' is not one of 'html', 'svg', 'png'"):
        panel_file(analysis, "pdf")


def test_a_panel_without_families_has_no_picture():
    """One judge cannot be drawn, which is said; the page says it too."""
    alone = adjudge.panel(pl.DataFrame({"item": ["a", "b"], "judge": ["x", "x"], "label": [0, 1]}))
    with pytest.raises(UsageError, match="the families cannot be drawn because there is one judge, and a panel has"):
        panel_file(alone, "svg")
    assert b"Not defined because there is one judge" in panel_file(alone, "html")
