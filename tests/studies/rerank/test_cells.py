"""Cells of the study: what describes a crowd."""

import numpy as np
import pytest

from studies.rerank.cells import GRID, TRACED, UNASKED, Job, _facts
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
