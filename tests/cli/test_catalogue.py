"""``adjudge models`` and ``adjudge datasets``."""

from adjudge.inference.model import MODELS


def test_every_model_is_listed(run):
    """The registry, with papers."""
    out = run("models").out
    assert all(name in out for name in MODELS)
    assert "Dawid & Skene 1979" in out
    assert "in an order" in out
    assert "..." not in out  # nothing is cut short


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
