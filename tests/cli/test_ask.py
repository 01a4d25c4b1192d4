"""``adjudge ask``."""


def test_items_are_written_and_given_as_gold(run, labels, tmp_path):
    """The file of an expert, half filled in, is gold."""
    run("fit", "labels.csv", "--out", "fit")
    answer = run("ask", "fit", "--items", "8", "--out", "ask.csv")
    assert answer.code == 0
    assert "8 items, a systematic sample by label and certainty" in " ".join(answer.out.split())
    assert answer.out.endswith("wrote ask.csv\n")
    head, *rows = (tmp_path / "ask.csv").read_text().splitlines()
    assert head == "item,topic,label,probability,calibrate,gold"
    filled = [row + row.split(",")[2] if n < 6 else row for n, row in enumerate(rows)]
    (tmp_path / "ask.csv").write_text("\n".join([head, *filled]))
    again = run("fit", "labels.csv", "--gold", "ask.csv")
    assert again.code == 0
    assert "probabilities were learned from 6 gold items" in again.err


def test_a_table_for_programs(run, labels):
    """Only the table is printed."""
    run("fit", "labels.csv", "--out", "fit")
    answer = run("ask", "fit", "--items", "2", "--how", "uncertain", "--format", "csv")
    assert answer.code == 0
    assert len(answer.out.splitlines()) == 3
    assert all(row.split(",")[4] == "false" for row in answer.out.splitlines()[1:])


def test_no_input_is_overwritten(run, labels):
    """A folder is no file, and how must be known."""
    run("fit", "labels.csv", "--out", "fit")
    assert run("ask", "fit", "--out", "fit").code == 2
    answer = run("ask", "fit", "--how", "best")
    assert answer.err == "adjudge: how 'best' is not one of 'systematic', 'uncertain'\n"
