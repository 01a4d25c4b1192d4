"""``adjudge score``."""


def test_a_fit_is_scored(run, labels, tmp_path):
    """A saved fit against a table of truths."""
    run("fit", "labels.csv", "--out", "fit")
    (tmp_path / "gold.csv").write_text("item,label\nd0,no\nd1,yes\nd2,yes\nd3,yes\n")
    answer = run("score", "fit", "gold.csv")
    assert answer.code == 0
    assert "Scores on 4 items" in answer.out
    assert "accuracy" in answer.out
    assert "Items by truth (rows) and answer (columns)" in answer.out
    assert "0.750" in answer.out
    assert "log loss" in answer.out.replace("_", " ")


def test_a_plain_table_is_scored(run, tmp_path):
    """Any table of item and label."""
    (tmp_path / "a.csv").write_text("item,label\nx,1\ny,0\n")
    (tmp_path / "gold.csv").write_text("item,label\nx,1\ny,1\n")
    assert "0.500" in run("score", "a.csv", "gold.csv").out


def test_a_table_of_labels_in_an_order_is_scored(run, tmp_path):
    """Numbers by their own order, other labels by the one that is given."""
    (tmp_path / "a.csv").write_text("item,label\nx,low\ny,high\n")
    (tmp_path / "gold.csv").write_text("item,label\nx,low\ny,mid\n")
    assert "mae" not in run("score", "a.csv", "gold.csv").out
    answer = run("score", "a.csv", "gold.csv", "--ordinal", "--labels", "low,mid,high")
    assert answer.code == 0
    assert [line.split()[:2] for line in answer.out.splitlines() if line.startswith("mae")] == [["mae", "0.500"]]
    assert "quadratic_kappa" in answer.out
    refusal = run("score", "a.csv", "gold.csv", "--ordinal")
    assert refusal.code == 2
    assert refusal.err.startswith("adjudge: the order of the labels 'high', 'low', 'mid' is not known: give it")


def test_a_missing_gold_file_is_said(run, tmp_path):
    """One line, exit code 1."""
    (tmp_path / "a.csv").write_text("item,label\nx,1\n")
    answer = run("score", "a.csv", "nothing.csv")
    assert answer.code == 1
    assert answer.err.startswith("adjudge: nothing.csv: there is no such file")


def test_the_bound_is_the_one_of_the_room(run):
    """Said twice so that help needs no heavy import, and held together here."""
    from adjudge.cli import score
    from adjudge.score import probabilities

    assert score.BOUND == probabilities.BOUND
