"""Topics from TREC's files, tables and JSON lines."""

import gzip

import pytest

from adjudge.errors import InputError, Problems
from adjudge.studio.campaign.topics import (
    all_pairs,
    name_problem,
    pool_text,
    pooled,
    read_pool,
    read_topics,
    topics_text,
)
from adjudge.studio.records import Topic

OPEN = """
<top>

<num> Number: 401
<title> foreign minorities,
Germany

<desc> Description:
What language &amp; cultural differences
impede integration?

<narr> Narrative:
A relevant document says so.
</top>
<top>
<num> Number: 402 </num>
<title> Topic: behavioral genetics </title>
<desc> Description: What is happening? </desc>
</top>
"""
WANTED = [
    Topic(
        "401",
        "foreign minorities, Germany",
        "What language & cultural differences impede integration?",
        "A relevant document says so.",
    ),
    Topic("402", "behavioral genetics", "What is happening?", ""),
]


def read(tmp_path, data):
    """Return the topics of a file, and what is wrong with them."""
    path = tmp_path / "topics"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    problems = Problems()
    return list(read_topics(path, problems, "t").values()), problems.messages


@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode())])
def test_trec(tmp_path, pack):
    """With and without closing tags, on one line or several, packed or not."""
    assert read(tmp_path, pack(OPEN)) == (WANTED, [])


@pytest.mark.parametrize(
    "data",
    [
        "qid,title,desc,narr\n1,q,d,n\n",
        "number\tquery\tdescription\tnarrative\n1\tq\td\tn\n",
        '{"id": 1, "title": "q", "desc": "d", "narrative": "n", "more": [1]}\n',
        '{"topic": "1", "query": "q", "description": "d", "narrative": "n"}\n',
    ],
)
def test_tables_and_json(tmp_path, data):
    """Under any usual names."""
    assert read(tmp_path, data) == ([Topic("1", "q", "d", "n")], [])


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("", "t: there are no topics"),
        ("topic,query\n1,q\n2,r\n1,s\n", "t, line 4: topic '1' is in line 2 already"),
        ("topic,query\n1,\n", "t, line 2: topic '1' has no query"),
        ("topic,query\n,q\n", "t, line 2: topic is empty"),
        ('{"query": "q"}', "t, line 1: there is no topic: name it under 'topic'"),
        ('{"topic": "1", "query": ["q"]}', "t, line 1: topic '1': query must be a text"),
        ('\n{"topic": "1", "query": }', "t, line 2: is not JSON (Expecting value); give one object per line"),
        (
            f'{{"topic": "1", "query": "q", "narrative": "{"x" * 20_001}"}}',
            "t, line 1: topic '1': narrative has 20,001 characters, expected at most 20,000",
        ),
        ("<top>\n<title> q\n</top>\n", "t, line 1: there is no topic: name it under 'topic'"),
    ],
)
def test_problems(tmp_path, data, problem):
    """Each with its line."""
    assert read(tmp_path, data)[1] == [problem]


def test_a_missing_file(tmp_path):
    """Is a problem, and no exception."""
    problems = Problems()
    assert read_topics(tmp_path / "none", problems, "t") == {}
    assert problems.messages == ["t: there is no such file"]


def test_what_is_written_is_read(tmp_path):
    """Line breaks and all."""
    topics = [Topic("a b", 'q"\n', "\u2028,", ""), Topic("ü", "q", "d\\", "n\r\n")]
    assert read(tmp_path, topics_text(topics)) == (topics, [])


@pytest.mark.parametrize("name", ["401", "FT911-3", "my file", "Größe", "a\u00a0b", "日本", 'say "hi"', "a,b"])
def test_names(name):
    """Nearly anything will do."""
    assert name_problem(name, "topic") is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "topic is empty"),
        ("  ", "topic is empty"),
        (" a", "topic ' a' begins or ends with a blank"),
        (5, "topic is '5', expected a text in quotation marks"),
        ("x" * 201, f"topic '{'x' * 60}...' has 201 characters, expected at most 200"),
        ("a\nb", "topic 'a\\nb' holds a control character or a line break"),
        ("a\x00b", "topic 'a\\x00b' holds a control character or a line break"),
        ("a\u2028b", "topic 'a\\u2028b' holds a control character or a line break"),
        ("a\ud800b", "topic 'a\\ud800b' holds a control character or a line break"),
    ],
)
def test_no_names(name, problem):
    """What would break a table, a database or a page is refused."""
    assert name_problem(name, "topic") == problem


def _pool_read(tmp_path, text):
    """Return the pairs of a file with their lines, and what is wrong with them."""
    (tmp_path / "p").write_text(text, newline="")
    problems = Problems()
    return read_pool(tmp_path / "p", problems, "p"), problems.messages


@pytest.mark.parametrize("text", ["topic,document\n1,a\n1,b\n", "qid\tdocno\tx\n1\ta\t0\n1\tb\t0\n"])
def test_tables(tmp_path, text):
    """Under any usual names."""
    assert _pool_read(tmp_path, text) == ({("1", "a"): 2, ("1", "b"): 3}, [])


def test_qrels(tmp_path):
    """Grades are passed over."""
    assert _pool_read(tmp_path, "1 0 a 1\n1 0 b 0\n") == ({("1", "a"): 1, ("1", "b"): 2}, [])


def test_a_pair_twice(tmp_path):
    """Is a problem that names both lines."""
    pairs, problems = _pool_read(tmp_path, "topic,document\n1,a\n1,a\n")
    assert pairs == {("1", "a"): 2}
    assert problems == ["p, line 3: document 'a' of topic '1' is in line 2 already"]


def test_runs_are_pooled_to_a_depth(tmp_path):
    """The first documents of every run, by score and not as they stand, each pair once."""
    (tmp_path / "x.run").write_text("1 Q0 a 1 3.0 x\n1 Q0 b 2 2.0 x\n1 Q0 c 3 9.0 x\n2 Q0 a 1 1 x\n")
    (tmp_path / "y.run").write_text("1 Q0 a 1 5.0 y\n1 Q0 d 2 4.0 y\n1 Q0 e 3 1.0 y\n")
    runs = [tmp_path / "x.run", tmp_path / "y.run"]
    assert pooled(runs, 2) == [("1", "c"), ("1", "a"), ("1", "d"), ("2", "a")]


def test_all_pairs():
    """As long as somebody might mean it."""
    assert all_pairs(["1", "2"], ["a"]) == [("1", "a"), ("2", "a")]
    with pytest.raises(InputError) as refused:
        all_pairs(["1"], [str(n) for n in range(10_001)])
    assert str(refused.value) == (
        "1 topics and 10,001 documents make 10,001 pairs, more than 10,000: name those to judge with --pool, or pool "
        "the runs of systems with --runs"
    )


def test_what_is_written_is_read_of_pool(tmp_path):
    """Names with commas and quotation marks too."""
    pairs = [("a,b", 'c"d'), ("'", "ü ;")]
    assert list(_pool_read(tmp_path, pool_text(pairs))[0]) == pairs
