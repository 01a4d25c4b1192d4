"""Pairs of judges who agree more than chance, on the live record."""

import json

import numpy as np
import pytest

from adjudge.studio import copying
from adjudge.studio.consensus import FOLDER, AcceptedJudgments, consensus
from adjudge.studio.copying import PAIRS, TOO_LITTLE, Pairs, find_pairs, pairs_json, read_pairs

JUDGES, ITEMS = 10, 160


def judged(copies):
    """Return the judgments of a crowd in which the second judge copies from the first, or not."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, ITEMS + 1)
    rows = []
    for item in range(1, ITEMS + 1):
        labels = {}
        for judge in rng.choice(JUDGES, 5, replace=False) + 1:
            right = rng.random() < (0.7 if judge < 3 else 0.88)
            labels[int(judge)] = int(truth[item]) if right else 1 - int(truth[item])
        if copies and {1, 2} <= labels.keys():
            labels[2] = labels[1]
        rows += [(item, judge, label) for judge, label in labels.items()]
    item, person, relevance = np.array(rows).T
    names = {judge: f"judge {judge}" for judge in range(1, JUDGES + 1)}
    gold = {number: int(truth[number]) for number in range(1, 41)}
    pairs = {number: (f"t{number % 8}", f"d{number}") for number in range(1, ITEMS + 1)}
    return AcceptedJudgments(item, person, relevance, np.arange(len(item)) * 60.0, ITEMS, names, gold, pairs)


@pytest.fixture(scope="module")
def found():
    """Return the pairs of a crowd with a copier."""
    rows = judged(copies=True)
    result = consensus(rows, "consensus")
    return find_pairs(result.fit, result.judgments, rows)


def test_a_copier_is_named(found):
    """With whom, on how many documents, and how often both were wrong in the same way, on gold too."""
    (pair,) = found.pairs
    assert (pair.people, pair.names) == ((1, 2), ("judge 1", "judge 2"))
    assert pair.agreed == pair.shared > pair.expected
    assert pair.wrong > pair.expected_wrong
    assert 0 < pair.gold_wrong <= pair.gold <= 40
    assert "'judge 1' and 'judge 2'" in found.sentence


def test_independent_judges_are_not_named():
    """The sentence says how many pairs were compared."""
    rows = judged(copies=False)
    result = consensus(rows, "consensus")
    pairs = find_pairs(result.fit, result.judgments, rows)
    assert pairs.pairs == ()
    assert pairs.sentence.startswith("No pair of judges agreed more than the model allows")


def test_few_and_too_many_judgments_are_said(monkeypatch):
    """Nothing is computed then."""
    rows = judged(copies=True)
    few = rows._replace(**{name: getattr(rows, name)[:20] for name in ("item", "person", "relevance", "at")})
    result = consensus(few, "consensus")
    assert find_pairs(result.fit, result.judgments, few) == Pairs(TOO_LITTLE)
    monkeypatch.setattr(copying, "MOST", 10)
    assert find_pairs(result.fit, result.judgments, few).sentence.startswith("There are more than 10 judgments")


def test_the_file_is_read_as_it_was_written(found, tmp_path):
    """A file that is missing or broken means that there are no pairs yet."""
    assert read_pairs(tmp_path) == Pairs("")
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / PAIRS).write_text(json.dumps(pairs_json(found), allow_nan=False))
    assert read_pairs(tmp_path) == found
    (tmp_path / FOLDER / PAIRS).write_text('{"pairs": [{}], "sentence": ""}')
    assert read_pairs(tmp_path) == Pairs("")
