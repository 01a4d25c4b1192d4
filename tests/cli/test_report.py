"""``adjudge report``."""

import sys

import pytest


@pytest.fixture
def fitted(run):
    """Return a function that runs adjudge, in a folder with a crowd and a fit of it."""
    sizes = ["--size", "topics=3", "--size", "items=40", "--size", "judges=6", "--size", "judgments=200"]
    assert run("simulate", "carpenter", *sizes, "--size", "gold=4", "--out", "crowd").code == 0
    assert run("fit", "crowd/labels.csv", "--model", "dawid-skene", "--out", "fit").code == 0
    return run


def test_a_page_lies_in_the_folder_of_the_fit(fitted, tmp_path):
    """Under its name, and people are told where and how large it is."""
    answer = fitted("report", "fit")
    assert answer.code == 0
    assert answer.out.startswith("wrote fit/report.html (0.")
    assert "<title>fit: report on judgments</title>" in (tmp_path / "fit" / "report.html").read_text()


def test_page_title_truth_and_figures_go_where_they_are_asked_to(fitted, tmp_path):
    """Every figure that there is as SVG and PNG."""
    rows = ["--out", "monday.html", "--title", "Monday", "--truth", "crowd/truth.csv", "--figures", "pictures"]
    answer = fitted("report", "fit", *rows)
    assert answer.code == 0
    assert "<h1>Monday</h1>" in (tmp_path / "monday.html").read_text()
    names = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert {"calibration.svg", "calibration.png", "votes.svg"} <= names
    assert f"and {len(names)} pictures to pictures" in answer.out


def test_judgments_may_be_given_again(fitted, tmp_path):
    """Where they do not lie beside the fit; others than were fitted are refused."""
    (tmp_path / "fit" / "judgments.parquet").unlink()
    answer = fitted("report", "fit")
    assert answer.code == 2
    assert answer.err.startswith("adjudge: fit holds no judgments.parquet: name the table")
    assert fitted("report", "fit", "--judgments", "crowd/labels.csv").code == 0
    (tmp_path / "other.csv").write_text("item,judge,label\ni1,j1,1\n")
    answer = fitted("report", "fit", "--judgments", "other.csv")
    assert answer.code == 2
    assert "the fit was not made from these judgments" in answer.err


def test_without_the_extra_the_line_to_type_is_told(fitted, monkeypatch, tmp_path):
    """And no half a page is left."""
    monkeypatch.setitem(sys.modules, "altair", None)
    answer = fitted("report", "fit")
    assert answer.code == 1
    assert "pip install 'adjudge[report]'" in answer.err
    assert not (tmp_path / "fit" / "report.html").exists()
