"""``adjudge predict``."""


def test_new_judgments_are_judged_with_the_old_fit(run, labels, tmp_path):
    """Memory mode from the saved fit, for known and unknown judges."""
    run("fit", "labels.csv", "--out", "fit")
    (tmp_path / "new.csv").write_text("item,judge,label\nn1,x,yes\nn2,nobody,no\n")
    answer = run("predict", "fit", "new.csv", "--format", "csv", "--out", "new")
    assert answer.code == 0
    assert [line.split(",")[:2] for line in answer.out.splitlines()[1:]] == [["n1", "yes"], ["n2", "no"]]
    assert (tmp_path / "new" / "labels.csv").exists()
    claimed = sum(float(line.split(",")[2]) for line in answer.out.splitlines()[1:]) / 2
    assert f"adjudge: {claimed:.0%} of the labels are expected to be right (" in answer.err
    run("fit", "labels.csv", "--model", "dawid-skene", "--out", "named")
    assert run("predict", "named", "new.csv").err == ""


def test_a_label_the_fit_never_met_is_refused(run, labels, tmp_path):
    """With file and row."""
    run("fit", "labels.csv", "--out", "fit")
    (tmp_path / "new.csv").write_text("item,judge,label\nn1,x,maybe\n")
    answer = run("predict", "fit", "new.csv")
    assert answer.code == 1
    assert answer.err.startswith("adjudge: new.csv, row 2: label 'maybe' is not one of 'no', 'yes'")


def test_what_is_not_a_fit_is_refused(run, labels):
    """With what to do."""
    answer = run("predict", "nowhere", "labels.csv")
    assert answer.code == 1
    problem = "fit.json is missing (adjudge.save and `adjudge fit --out` write one)"
    assert answer.err == f"adjudge: nowhere: is not a saved fit: {problem}\n"


def test_the_fit_itself_is_not_overwritten(run, labels):
    """--out names another folder."""
    run("fit", "labels.csv", "--out", "fit")
    answer = run("predict", "fit", "labels.csv", "--out", "./fit/")
    assert answer.code == 2
    assert answer.err == "adjudge: --out ./fit/ is the folder of the fit, which would be lost: name another folder\n"
