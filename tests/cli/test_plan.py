"""``adjudge plan``."""


def test_a_plan_is_printed(run):
    """The table, and the sentence below it."""
    answer = run("plan", "--width", "0.2", "--labels", "5", "--judges", "148", "--rows", "3")
    assert answer.code == 0
    text = " ".join(answer.out.split())
    assert "a monitoring set needs 41 items with known labels: 41 ratings of a judge, 6,068 of 148 judges." in text


def test_a_plan_after_a_fit(run, labels):
    """The labels and confusions of the fit are expected again."""
    run("fit", "labels.csv", "--model", "dawid-skene", "--out", "fit")
    answer = run("plan", "fit", "--items", "30", "--format", "csv")
    assert answer.code == 0
    head, first, *cells = answer.out.splitlines()
    assert head == "measure,truth,said,rate,share,ratings,items,width"
    assert first.startswith("accuracy,,,")
    assert len(cells) in (4, 9, 16)


def test_a_plan_needs_an_aim(run):
    """A width or a number of items."""
    answer = run("plan", "--judges", "3")
    assert answer.code == 2
    assert answer.err == (
        "adjudge: a plan needs either the width of intervals or the number of items: give one of them\n"
    )
