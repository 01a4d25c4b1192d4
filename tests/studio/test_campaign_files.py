"""The files of a campaign: topics, pools, gold and fixed sets."""

import gzip

import pytest

from adjudge.errors import InputError, Problems
from adjudge.studio.campaign_files import (
    SetContext,
    all_pairs,
    gold_text,
    infeasible_reason,
    name_problem,
    pool_runs,
    pool_text,
    read_gold,
    read_pool,
    read_sets,
    read_topics,
    sets_text,
    topics_text,
)
from adjudge.studio.records import FixedSet, Gold, Topic
from adjudge.studio.settings import Assignment, Gate, Qualification, Settings

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
DOCUMENTS = [f"d{n}" for n in range(10)]
GOLD = {("1", f"d{n}"): Gold(n % 3, "") for n in range(6)}
EASY = Settings(
    assignment=Assignment(documents=2, gold_sets=0),
    qualification=Qualification(documents=2, required=False),
)


def read_topic_file(tmp_path, data):
    """Return the topics of a file, and what is wrong with them."""
    path = tmp_path / "topics"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    problems = Problems()
    return list(read_topics(path, problems, "t").values()), problems.messages


@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode())])
def test_trec(tmp_path, pack):
    """With and without closing tags, on one line or several, packed or not."""
    assert read_topic_file(tmp_path, pack(OPEN)) == (WANTED, [])


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
    assert read_topic_file(tmp_path, data) == ([Topic("1", "q", "d", "n")], [])


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
def test_problems_of_topics(tmp_path, data, problem):
    """Each with its line."""
    assert read_topic_file(tmp_path, data)[1] == [problem]


def test_a_missing_file(tmp_path):
    """Is a problem, and no exception."""
    problems = Problems()
    assert read_topics(tmp_path / "none", problems, "t") == {}
    assert problems.messages == ["t: there is no such file"]


def test_topics_that_are_written_are_read(tmp_path):
    """Line breaks and all."""
    topics = [Topic("a b", 'q"\n', "\u2028,", ""), Topic("ü", "q", "d\\", "n\r\n")]
    assert read_topic_file(tmp_path, topics_text(topics)) == (topics, [])


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


def read_gold_file(tmp_path, text):
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
def test_formats_of_gold(tmp_path, text, reason):
    """With a reason or without."""
    assert read_gold_file(tmp_path, text) == ({("1", "a"): Gold(2, reason)}, [])


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
def test_problems_of_gold(tmp_path, text, problem):
    """Each with its line."""
    assert read_gold_file(tmp_path, text)[1] == [problem]


def test_gold_that_is_written_is_read(tmp_path):
    """Reasons may have several lines."""
    gold = {("1", "a"): Gold(0, 'no\n"no"'), ("1", "b"): Gold(2, "")}
    assert read_gold_file(tmp_path, gold_text(gold)) == (gold, [])


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
        "1 topics and 10,001 documents make 10,001 pairs, more than 10,000: list those to judge with pool=, or pool "
        "the runs of systems with runs="
    )


def test_a_pool_that_is_written_is_read(tmp_path):
    """Names with commas and quotation marks too."""
    pairs = [("a,b", 'c"d'), ("'", "ü ;")]
    assert list(read_pairs(tmp_path, pool_text(pairs))[0]) == pairs


def read_set_file(tmp_path, text, settings=EASY, gold=GOLD):
    """Return the sets of a file, and what is wrong with them."""
    (tmp_path / "sets.csv").write_text("set,use,topic,document\n" + text)
    problems = Problems()
    return read_sets(
        tmp_path / "sets.csv", SetContext({"1", "2"}, DOCUMENTS, gold, settings), problems
    ), problems.messages


def rows(name, use, *documents, topic="1"):
    """Return the rows of one set."""
    return "".join(f"{name},{use},{topic},{document}\n" for document in documents)


def test_sets_keep_the_order_of_documents(tmp_path):
    """As the rows have it."""
    sets = (FixedSet("a", "gold", "1", ("d2", "d0")), FixedSet("b", "monitoring", "2", ("d7", "d6")))
    text = sets_text(sets).partition("\n")[2]
    assert read_set_file(tmp_path, text) == (sets, [])


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            rows("a", "golden", "d1"),
            [", line 2: set 'a' has the use 'golden', expected one of 'gold', 'qualification', 'monitoring'"],
        ),
        (rows("", "gold", "d1"), [", line 2: set is empty: give every set a name"]),
        (
            rows("a", "gold", "d1") + rows("a", "monitoring", "d2"),
            [", line 3: set 'a' has two uses, 'gold' and 'monitoring': a set has one"],
        ),
        (
            rows("a", "gold", "d1") + rows("a", "gold", "d2", topic="2"),
            [", line 3: set 'a' has two topics, '1' and '2': a set has one"],
        ),
        (
            rows("a", "gold", "x", topic="9"),
            [
                ", line 2: set 'a': there is no topic '9' in topics.jsonl",
                ", line 2: set 'a': there is no document 'x' in documents.jsonl",
            ],
        ),
        (rows("a", "gold", "d1", "d1"), [", line 3: set 'a' has document 'd1' twice"]),
        (
            rows("a", "monitoring", "d1", "d2", "d3"),
            [", line 2: set 'a' has 3 documents, expected 2 (assignment.documents)"],
        ),
        (
            rows("a", "qualification", "d1"),
            [", line 2: set 'a' has 1 documents, expected 2 (qualification.documents)"],
        ),
        (
            rows("a", "gold", "d1", "d8"),
            [", line 2: gold set 'a': document 'd8' of topic '1' has no grade in gold.csv"],
        ),
        (
            rows("a", "gold", "d1", "d0") + rows("b", "monitoring", "d2", "d1"),
            [", line 4: set 'b': document 'd1' of topic '1' is in set 'a' already: a judge would meet it twice"],
        ),
        (
            rows("a", "qualification", "d7", "d8"),
            [", line 2: qualification set 'a' has no document with a grade in gold.csv: it needs one"],
        ),
        (
            rows("a", "gold", "d0", "d3"),
            [
                ", line 2: gold set 'a' cannot be passed by anybody: 2 documents of grade 0: NDCG is 0/0 if no "
                "document is relevant"
            ],
        ),
    ],
)
def test_problems(tmp_path, text, problems):
    """Each with its line."""
    assert read_set_file(tmp_path, text)[1] == [f"sets.csv{problem}" for problem in problems]


@pytest.mark.parametrize(
    ("settings", "text", "problem"),
    [
        (
            EASY.model_copy(update={"assignment": Assignment(documents=2)}),
            "",
            "an assignment needs 1 gold set (assignment.gold_sets), but there are none",
        ),
        (
            EASY.model_copy(update={"assignment": Assignment(documents=2, gold_sets=2)}),
            rows("a", "gold", "d1", "d0"),
            "an assignment needs 2 gold sets (assignment.gold_sets), but there are 1",
        ),
        (
            EASY.model_copy(update={"qualification": Qualification(documents=2)}),
            "",
            "judges must qualify on 4 qualification sets (qualification.jobs), but there are none: add some, or set "
            "qualification.required = false",
        ),
        (
            EASY.model_copy(update={"qualification": Qualification(jobs=2, documents=2, correct=3)}),
            rows("a", "qualification", "d1", "d0")
            + rows("b", "qualification", "d2", "d9") * 1
            + rows("c", "qualification", "d3", "d8"),
            "qualification.correct is 3, but 2 qualification sets may have only 2 graded documents: nobody could pass",
        ),
    ],
)
def test_too_few(tmp_path, settings, text, problem):
    """A campaign that asks for more than its sets can give cannot begin."""
    assert read_set_file(tmp_path, text, settings)[1] == [f"sets.csv: {problem}"]


def test_a_file_that_is_missing(tmp_path):
    """Is one problem."""
    problems = Problems()
    assert read_sets(tmp_path / "none.csv", SetContext((), (), {}, EASY), problems) == ()
    assert problems.messages == ["sets.csv: there is no such file"]


def test_the_printed_trap(tmp_path):
    """Five documents of one grade reach .590 of the printed ideal, which nobody can pass at .62; at .5 all can."""
    assert infeasible_reason((1, 1, 1, 1, 1), Settings()).endswith("reaches 0.590 of the printed ideal, below 0.62")
    assert infeasible_reason((1, 1, 1, 1, 1), Settings(gate=Gate(ndcg=0.5))) == ""
    assert infeasible_reason((1, 1, 1, 1, 1), Settings(gate=Gate(ndcg_of="attainable"))) == ""


@pytest.mark.parametrize(
    "text",
    [
        "topic,document\na,1\nb,2\n",
        "topic,document\r\na,1\r\nb,2",
        "topic,document\n a,1\nb,2\n",
        'topic,document\n"a",1\nb,2\n',
        "document,topic\n1,a\n2,b\n",
        "topic,document\n\na,1\nb,2\n",
        "topic\tdocument\na\t1\nb\t2\n",
    ],
)
def test_a_pool_is_the_same_however_it_is_written(tmp_path, text):
    """Plain tables are read in a shorter way, with the same result."""
    (tmp_path / "pool.csv").write_bytes(text.encode())
    problems = Problems()
    assert list(read_pool(tmp_path / "pool.csv", problems)) == [("a", "1"), ("b", "2")]
    assert problems.messages == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("topic,document\na,1\na,1\n", "document '1' of topic 'a' is in line 2 already"),
        ("topic,document\na,1,2\n", "3 values, expected 2"),
    ],
)
def test_problems_of_a_plain_pool_are_still_found(tmp_path, text, problem):
    """A repeated pair, a third value."""
    (tmp_path / "pool.csv").write_text(text)
    problems = Problems()
    read_pool(tmp_path / "pool.csv", problems)
    assert any(problem in message for message in problems.messages), problems.messages
