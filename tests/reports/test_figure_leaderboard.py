"""The picture of a leaderboard, and its page."""

import pytest

from adjudge.errors import UsageError
from adjudge.metrics.leaderboard import Place
from adjudge.reports.figure_leaderboard import leaderboard_chart, leaderboard_file


def board(runs, measures=("MAP", "P@10")):
    """Return a leaderboard of so many runs."""
    return [
        Place(
            measure,
            f"run {n}",
            0.9 - 0.005 * n,
            0.85 - 0.005 * n,
            None if n == 1 else 0.95 - 0.005 * n,
            0.5,
            *[n + 1] * 5,
        )
        for measure in measures
        for n in range(runs)
    ]


def test_every_run_has_a_row_in_every_panel():
    """The best by the first measure is on top, and names are given once."""
    chart = leaderboard_chart(board(100), "100 runs").to_dict()
    first, second = chart["hconcat"]
    assert first["height"] == second["height"] == 1500
    line, other = first["layer"][0], second["layer"][0]
    assert line["encoding"]["y"]["sort"] == [f"run {n}" for n in range(100)]
    assert line["encoding"]["x"]["title"] == "MAP"
    assert line["encoding"]["y"]["axis"]["labelOverlap"] is False
    assert other["encoding"]["y"]["axis"] is None
    assert len(leaderboard_chart(board(3), "3 runs").to_dict()["hconcat"][0]["layer"]) == 3


def test_a_baseline_is_a_line():
    """One more layer in every panel, at its value."""
    chart = leaderboard_chart(board(3), "3 runs", "run 1").to_dict()
    assert [len(panel["layer"]) for panel in chart["hconcat"]] == [4, 4]
    assert chart["hconcat"][0]["layer"][0]["data"]["values"] == [{"value": 0.895}]


def test_files():
    """The picture is SVG or PNG, the page HTML with the table, which loads nothing from elsewhere."""
    places = board(3)
    assert leaderboard_file(places, "svg", "3 runs").startswith(b"<svg")
    assert leaderboard_file(places, "png", "3 runs").startswith(b"\x89PNG")
    page = leaderboard_file(places, "html", "3 <runs>", notes=["take <care>"]).decode()
    assert "<title>3 &lt;runs&gt;</title>" in page
    assert "take &lt;care&gt;" in page
    assert page.count("run 2") >= 3
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    with pytest.raises(UsageError, match=r"^format 'pdf' is not one of 'html', 'svg', 'png'$"):
        leaderboard_file(places, "pdf", "3 runs")
