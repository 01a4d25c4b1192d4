"""``adjudge multilabel``."""


def test_labels_are_shown_and_written(run, tmp_path):
    """Items, judges and labels; three files with --out."""
    assert run("multilabel", "--example", "photos.csv").out == "wrote photos.csv\n"
    answer = run("multilabel", "photos.csv", "--out", "out", "--rows", "3")
    assert (answer.code, answer.err) == (0, "")
    assert "Items (3 of 5)" in answer.out
    assert "Judges (3 of 4)" in answer.out
    assert "Labels (3 of 3)" in answer.out
    assert answer.out.endswith("wrote labels.csv, judges.csv, prevalence.csv and questions/ to out\n")
    lines = (tmp_path / "out" / "labels.csv").read_text().splitlines()
    assert lines[0] == "item,labels,probability,judgments,p_cat,p_dog,p_tree"
    assert lines[1].startswith("photo1,cat|dog,")
    assert run("judges", "out/questions").code == 0


def test_another_separator_gold_and_a_word_for_none(run, tmp_path):
    """Gold items have exactly their labels."""
    (tmp_path / "l.csv").write_text("item,judge,label\na,x,p;q\na,y,q\nb,x,none\nb,y,none\n")
    (tmp_path / "g.csv").write_text("item,label\na,p;q\n")
    options = ("--separator", ";", "--none", "none", "--gold", "g.csv", "--format", "csv")
    answer = run("multilabel", "l.csv", *options)
    assert (answer.code, answer.err) == (0, "")
    rows = [line.split(",")[:3] for line in answer.out.splitlines()]
    assert rows[1] == ["a", "p;q", "1.0"]
    assert rows[2][:2] == ["b", '""']
