"""Pools and gold, from tables, qrels and runs."""

import pytest

from adjudge.errors import InputError, Problems
from adjudge.studio.campaign.pool_and_gold import all_pairs, gold_text, pool_runs, pool_text, read_gold, read_pool
from adjudge.studio.records import Gold


def read(tmp_path, text):
    """Return the gold of a file, and what is wrong with it."""
    (tmp_path / "g").write_text(text, newline="")
    problems = Problems()
    return read_gold(tmp_path / "g", problems, "g")[0], problems.messages


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('topic,document,grade,reason\n1,a,2,"so, it is"\n', "so, it is"),
        ("topic,doc,label\n1,a,2\n", ""),
        ("1 0 a 2\n", ""),
    ],
)
def test_formats(tmp_path, text, reason):
    """With a reason or without."""
    assert read(tmp_path, text) == ({("1", "a"): Gold(2, reason)}, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("topic,document,grade\n1,a,3\n", "g, line 2: document 'a' of topic '1' has the grade '3', expected 0, 1 or 2"),
        ("1 0 a -1\n", "g, line 1: document 'a' of topic '1' has the grade '-1', expected 0, 1 or 2"),
        ("topic,document,grade\n1,a,\n", "g, line 2: document 'a' of topic '1' has the grade '', expected 0, 1 or 2"),
        ("topic,document,grade\n1,a,1\n1,a,0\n", "g, line 3: document 'a' of topic '1' is in line 2 already"),
        (
            "topic,document\n1,a\n",
            "g, line 1: there is no column 'grade' (or 'label', 'relevance', 'gold', 'rel', 'rating'); the columns are "
            "'topic', 'document'",
        ),
    ],
)
def test_problems(tmp_path, text, problem):
    """Each with its line."""
    assert read(tmp_path, text)[1] == [problem]


def test_what_is_written_is_read(tmp_path):
    """Reasons may have several lines."""
    gold = {("1", "a"): Gold(0, 'no\n"no"'), ("1", "b"): Gold(2, "")}
    assert read(tmp_path, gold_text(gold)) == (gold, [])


def read_pairs(tmp_path, text):
    """Return the pairs of a file with their lines, and what is wrong with them."""
    (tmp_path / "p").write_text(text, newline="")
    problems = Problems()
    return read_pool(tmp_path / "p", problems, "p"), problems.messages


@pytest.mark.parametrize("text", ["topic,document\n1,a\n1,b\n", "qid\tdocno\tx\n1\ta\t0\n1\tb\t0\n"])
def test_pools_of_tables(tmp_path, text):
    """Under any usual names."""
    assert read_pairs(tmp_path, text) == ({("1", "a"): 2, ("1", "b"): 3}, [])


def test_pools_of_qrels(tmp_path):
    """Grades are passed over."""
    assert read_pairs(tmp_path, "1 0 a 1\n1 0 b 0\n") == ({("1", "a"): 1, ("1", "b"): 2}, [])


def test_a_pair_twice(tmp_path):
    """Is a problem that names both lines."""
    pairs, problems = read_pairs(tmp_path, "topic,document\n1,a\n1,a\n")
    assert pairs == {("1", "a"): 2}
    assert problems == ["p, line 3: document 'a' of topic '1' is in line 2 already"]


def test_runs_are_pooled_to_a_depth(tmp_path):
    """The first documents of every run, by score and not as they stand, each pair once."""
    (tmp_path / "x.run").write_text("1 Q0 a 1 3.0 x\n1 Q0 b 2 2.0 x\n1 Q0 c 3 9.0 x\n2 Q0 a 1 1 x\n")
    (tmp_path / "y.run").write_text("1 Q0 a 1 5.0 y\n1 Q0 d 2 4.0 y\n1 Q0 e 3 1.0 y\n")
    runs = [tmp_path / "x.run", tmp_path / "y.run"]
    assert pool_runs(runs, 2) == [("1", "c"), ("1", "a"), ("1", "d"), ("2", "a")]


def test_all_pairs():
    """As long as somebody might mean it."""
    assert all_pairs(["1", "2"], ["a"]) == [("1", "a"), ("2", "a")]
    with pytest.raises(InputError) as refused:
        all_pairs(["1"], [str(n) for n in range(10_001)])
    assert str(refused.value) == (
        "1 topics and 10,001 documents make 10,001 pairs, more than 10,000: list those to judge with --pool, or pool "
        "the runs of systems with --runs"
    )


def test_a_pool_that_is_written_is_read(tmp_path):
    """Names with commas and quotation marks too."""
    pairs = [("a,b", 'c"d'), ("'", "ü ;")]
    assert list(read_pairs(tmp_path, pool_text(pairs))[0]) == pairs
