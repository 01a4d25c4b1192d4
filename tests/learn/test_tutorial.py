"""The tutorial on rerankers does what it says."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "rerank.md"


def test_every_example_of_the_tutorial_works(tmp_path, monkeypatch):
    """From judgments to a ranker, to a run, to an evaluation, to what is judged again."""
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert (failed, tried > 40) == (0, True)
    assert (tmp_path / "pool.csv").read_text().startswith("topic,document\n")
