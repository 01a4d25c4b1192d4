"""Topics from TREC's files, tables and JSON lines."""

import gzip

import pytest

from adjudge.errors import Problems
from adjudge.studio.campaign.topics import (
    name_problem,
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
        ('{"query": "q"}', "t, line 1: there is no topic: add a 'topic'"),
        ('{"topic": "1", "query": ["q"]}', "t, line 1: topic '1': query must be a text"),
        ('\n{"topic": "1", "query": }', "t, line 2: is not JSON (Expecting value); give one object per line"),
        (
            f'{{"topic": "1", "query": "q", "narrative": "{"x" * 20_001}"}}',
            "t, line 1: topic '1': narrative has 20,001 characters, expected at most 20,000",
        ),
        ("<top>\n<title> q\n</top>\n", "t, line 1: there is no topic: add a 'topic'"),
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
        (" a", "topic ' a' begins or ends with a space"),
        (5, "topic is '5', expected a text in quotation marks"),
        ("x" * 201, f"topic '{'x' * 60}...' has 201 characters, expected at most 200"),
        ("a\nb", "topic 'a\\nb' contains a control character or a line break"),
        ("a\x00b", "topic 'a\\x00b' contains a control character or a line break"),
        ("a\u2028b", "topic 'a\\u2028b' contains a control character or a line break"),
        ("a\ud800b", "topic 'a\\ud800b' contains a control character or a line break"),
    ],
)
def test_no_names(name, problem):
    """What would break a table, a database or a page is refused."""
    assert name_problem(name, "topic") == problem
