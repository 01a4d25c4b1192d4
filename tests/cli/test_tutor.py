"""``adjudge tutor``."""


def test_sets_are_printed_and_written(run, tmp_path):
    """One judge, or all; as a table, and as a file."""
    run("simulate", "monitoring", "--size", "items=20", "--size", "judges=12", "--size", "per_item=9", "--out", "crowd")
    run("fit", "crowd/labels.csv", "--model", "majority", "--out", "fit")
    answer = run("tutor", "fit", "--truth", "crowd/truth.csv", "--out", "tutor.csv")
    assert answer.code == 0
    assert "judges have a tutoring set" in " ".join(answer.out.split())
    assert answer.out.endswith("wrote tutor.csv\n")
    head, *rows = (tmp_path / "tutor.csv").read_text().splitlines()
    assert head == "judge,truth,said,side,item,topic,label,probability,given,reason"
    one = run("tutor", "fit", "--truth", "crowd/truth.csv", "--judge", "j3", "--format", "csv")
    assert [row for row in rows if row.startswith("j3,")] == one.out.splitlines()[1:]


def test_files_for_the_studio(run, tmp_path):
    """Gold and sets of a training campaign; labels without topics are refused."""
    sizes = ["--size", "topics=3", "--size", "items=90", "--size", "judges=6", "--size", "judgments=600"]
    run("simulate", "carpenter", *sizes, "--size", "gold=90", "--out", "crowd")
    run("fit", "crowd/labels.csv", "--gold", "crowd/gold.csv", "--model", "dawid-skene", "--out", "fit")
    assert run("tutor", "fit", "--studio", "training").code == 0
    assert (tmp_path / "training" / "gold.csv").read_text().startswith("topic,document,grade,reason\n")
    assert (tmp_path / "training" / "sets.csv").read_text().startswith("set,use,topic,document\n")
    run("simulate", "monitoring", "--size", "items=20", "--size", "judges=12", "--size", "per_item=9", "--out", "crowd")
    run("fit", "crowd/labels.csv", "--model", "majority", "--out", "fit")
    answer = run("tutor", "fit", "--truth", "crowd/truth.csv", "--studio", "training")
    assert answer.code == 2
    assert "has no topic, and the studio judges documents of topics" in answer.err
