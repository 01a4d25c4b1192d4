"""``adjudge simulate``."""

import polars as pl


def test_designs_are_listed(run):
    """Without a design, all of them."""
    assert "liu-wang" in run("simulate").out


def test_files_are_written_and_fit(run, tmp_path):
    """Labels, gold and truth, of the sizes asked for."""
    answer = run("simulate", "liu-wang", "--size", "items=40", "--size", "gold=4", "--seed", "3", "--out", "c")
    assert (
        answer.out
        == "wrote Judgments(40 items, 3 judges, 3 labels, 120 judgments) to c/labels.csv, with gold.csv and truth.csv\n"
    )
    assert pl.read_csv(tmp_path / "c" / "gold.csv").height == 4
    assert pl.read_csv(tmp_path / "c" / "truth.csv").height == 40
    assert run("fit", "c/labels.csv", "--gold", "c/gold.csv").code == 0


def test_trust_is_written_where_there_is_any(run, tmp_path):
    """Prior trust is a column of the judgments; sizes may be negative where they are correlations."""
    assert (
        run("simulate", "rerank", "-s", "topics=3", "-s", "items=60", "-s", "judges=9", "-s", "relation=-0.5").code == 0
    )
    assert pl.read_csv(tmp_path / "crowd" / "labels.csv").columns == ["item", "judge", "label", "topic", "trust"]


def test_seeds_matter(run, tmp_path):
    """The same seed, the same table; another, another."""
    for folder, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        run("simulate", "liu-wang", "--size", "items=40", "--seed", seed, "--out", folder)
    a, b, c = ((tmp_path / folder / "labels.csv").read_text() for folder in "abc")
    assert a == b != c


def test_wrong_sizes_are_usage_errors(run):
    """Not a number, unknown, impossible."""
    assert run("simulate", "liu-wang", "--size", "items").code == 2
    assert "has no size 'cats'" in run("simulate", "liu-wang", "--size", "cats=3").err
    assert run("simulate", "nothing").code == 2


def test_a_saved_fit_is_not_written_over(run):
    """Its labels.csv would be lost."""
    run("simulate", "liu-wang", "--size", "items=40", "--out", "crowd")
    run("fit", "crowd/labels.csv", "--out", "fit")
    assert "--out fit holds a saved fit" in run("simulate", "liu-wang", "--out", "fit").err


def test_too_large_a_crowd_is_said(run):
    """In one line."""
    answer = run("simulate", "dawid-skene", "--size", "items=1000000000000")
    assert answer.code in (1, 2)
    assert answer.err.count("\n") == 1
