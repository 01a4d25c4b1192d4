"""``adjudge datasets``."""


def test_datasets_are_listed(run):
    """Without a name, all of them."""
    assert "anesthesia" in run("datasets").out


def test_one_is_printed_or_written(run, tmp_path):
    """As CSV, with a header and a row a judgment."""
    printed = run("datasets", "anesthesia").out
    assert printed.splitlines()[0] == "item,judge,label"
    assert len(printed.splitlines()) == 316
    assert run("datasets", "anesthesia", "--out", "a.csv").out == "wrote a.csv\n"
    assert (tmp_path / "a.csv").read_text() == printed


def test_an_unknown_one_is_a_usage_error(run):
    """The known are named."""
    answer = run("datasets", "iris")
    assert (answer.code, answer.err) == (2, "adjudge: dataset 'iris' is not one of 'anesthesia'\n")
