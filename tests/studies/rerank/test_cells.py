"""Cells of the study: what describes a crowd."""

import numpy as np
import pytest

from adjudge.errors import InputError
from studies.marks import LENGTH
from studies.rerank import cells
from studies.rerank.cells import GRID, TRACED, UNASKED, Job, _facts, mark_of
from studies.rerank.crowds import REGIMES, draw_crowd
from studies.rerank.methods import METHODS, Task
from studies.rerank.sets import Rows


def test_facts_describe_a_crowd():
    """As they were drawn."""
    truth = np.arange(2_000) % 10 == 0
    names = np.arange(2_000).astype(str)
    rows = Rows("made", names, names, ("x",), np.zeros((2_000, 1)), truth)
    facts = _facts(Task(rows, draw_crowd(truth, REGIMES["paper"], np.random.default_rng(0)), truth), np.zeros(2_000))
    assert (facts["rows"], facts["judgments"], facts["judges"], facts["relevant"]) == (2_000, 10_000, 108, 0.1)
    assert facts["full"] == pytest.approx(0.518, abs=0.03)
    assert 0.9 < facts["vote_accuracy"] < 1
    assert facts["relation"] > 0.2


def test_a_cell_has_a_file_of_its_own():
    """By set, crowd, seed, run, c and mark, without blanks."""
    job = Job("data", "kept", "qa_wikiqa", "noisy spam", 3, 7, 0.01, "abc")
    assert str(job.path) == "kept/qa_wikiqa-noisy_spam-7-3-c0.01-abc.json"
    assert str(job._replace(c=None).path) == "kept/qa_wikiqa-noisy_spam-7-3-abc.json"
    assert min(GRID) < 2**-20
    assert set(TRACED) | set(UNASKED) < set(METHODS)


@pytest.fixture
def data(tmp_path):
    """Return a folder with one set."""
    (tmp_path / "trecqa_letor").mkdir()
    (tmp_path / "trecqa_letor" / "features.svm").write_text("1 qid:1 1:0.5\n")
    return tmp_path


def test_a_mark_is_the_same_until_something_changes(data, monkeypatch):
    """Data, methods, crowds, the values of c, code, and libraries."""
    first = mark_of(data, "trecqa_letor")
    assert (len(first), mark_of(data, "trecqa_letor")) == (LENGTH, first)
    observed = {first}

    def changed():
        observed.add(mark_of(data, "trecqa_letor"))
        return len(observed)

    with monkeypatch.context() as only:
        only.setattr(cells, "METHODS", {k: m for k, m in METHODS.items() if k != "DS"})
        assert changed() == 2
    with monkeypatch.context() as only:
        only.setattr(cells, "CHOICE", (1.0,))
        assert changed() == 3
    with monkeypatch.context() as only:
        only.setattr(cells, "code_mark", lambda: "other")
        assert changed() == 4
    with monkeypatch.context() as only:
        only.setattr(cells, "version_of", lambda library: "0")
        assert changed() == 5
    (data / "trecqa_letor" / "features.svm").write_text("1 qid:1 1:0.6\n")
    assert changed() == 6


def test_no_library_is_a_version_too():
    """So that cells without trees are not taken for cells with them."""
    assert cells.version_of("no such library") == "none"


def test_a_set_that_is_not_there_is_said(tmp_path):
    """As where it is read."""
    with pytest.raises(InputError, match="there is no such folder"):
        mark_of(tmp_path, "qa_wikiqa")
