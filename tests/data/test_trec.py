"""TREC's files, read, written, and read again."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.data.files import Content
from adjudge.data.formats import open_source
from adjudge.data.gold import read_gold
from adjudge.data.judgments import Judgments, judgment_table
from adjudge.data.read import read
from adjudge.data.trec import (
    document_of,
    qrels_source,
    qrels_text,
    sniff_format,
    task1_run_lines,
    task1_run_text,
    task1_source,
    task2_run_source,
    task2_run_text,
    task2_source,
    task2_text,
)
from adjudge.errors import AdjudgeError

TOPICS = pl.Series("topic", ["20", "20", "7"])
ITEMS = pl.Series("item", ["20_b", "20_a", "7_a"])
JUDGMENTS = read(
    pl.DataFrame({"item": ["20_b", "20_a", "7_a", "20_b"], "judge": list("xyxz"), "label": list("0110")}).with_columns(
        topic=pl.col("item").str.split("_").list.first()
    )
)
HEADER = "topicID\thitID\tworkerID\tdocID\tgold\tlabel\n"
USED = "team\tx\tf3\t20\ta\t1\t0.5\tf8\tf9\tf10\t0\n"

WORD = st.text(st.characters(blacklist_categories=("Z", "C")), min_size=1, max_size=4)


def refusal(*arguments: Any, **options: Any) -> str:
    """Return what a call is refused with."""
    call, *rest = arguments
    with pytest.raises(AdjudgeError) as caught:
        call(*rest, **options)
    return str(caught.value)


def written(folder: Path, text: str) -> Path:
    """Return the path of a file with this text."""
    path = folder / "trec.txt"
    path.write_text(text, encoding="utf8", newline="")
    return path


def rows_of(judgments: Judgments) -> list[tuple[Any, ...]]:
    """Return judgments as rows of names."""
    return judgment_table(judgments).rows()


def test_qrels_are_written_and_read(tmp_path: Path) -> None:
    """Qrels hold topic, iteration, document and grade; read as gold they give the same truths."""
    text = qrels_text(ITEMS, TOPICS, [1, 0, 1])
    assert text == "20 0 b 1\n20 0 a 0\n7 0 a 1\n"
    _, truths = read_gold(written(tmp_path, text), JUDGMENTS, format="qrels")
    assert truths.tolist() == [1, 0, 1]


def test_qrels_are_known_by_their_suffix(tmp_path: Path) -> None:
    """A file called .qrels is one, and holds no judge."""
    path = tmp_path / "gold.qrels"
    path.write_text("20 0 a 2\r\n\r\n20\t0  b   0\r\n")
    source = open_source(path)
    assert source.columns == ("item", "topic", "label")
    assert [source.column(name).to_list() for name in source.columns] == [["20_a", "20_b"], ["20", "20"], ["2", "0"]]
    assert [source.row(0), source.row(1)] == [1, 3]
    assert refusal(read, path).startswith(f"{path}: no column for the judge (columns: 'item', 'topic', 'label')")


def test_task2_judgments_are_written_and_read(tmp_path: Path) -> None:
    """Judgments and gold, written as a task 2 file, are the same when read again."""
    text = task2_text(JUDGMENTS, np.array([1, -1, 0]))
    assert text == f"{HEADER}20\t0\tx\tb\t1\t0\n20\t0\tz\tb\t1\t0\n20\t0\ty\ta\t-1\t1\n7\t0\tx\ta\t0\t1\n"
    path = written(tmp_path, text)
    assert rows_of(read(path, format="trec-task2")) == rows_of(JUDGMENTS)
    assert read_gold(path, JUDGMENTS, format="trec-task2")[1].tolist() == [1, -1, 0]


def test_task2_judgments_without_gold_or_header(tmp_path: Path) -> None:
    """Where no truth is known gold is -1, and a file without its header is read as well."""
    path = written(tmp_path, task2_text(JUDGMENTS).removeprefix(HEADER))
    source = open_source(path, "trec-task2")
    assert source.columns == ("item", "topic", "judge", "label", "gold", "hit")
    assert source.column("gold").to_list() == ["-1"] * 4
    assert [source.row(0), task2_source(Content("x", HEADER.encode() + path.read_bytes())).row(0)] == [1, 2]
    assert rows_of(read(path, format="trec-task2")) == rows_of(JUDGMENTS)


def test_task2_runs_may_be_ranked_by_a_score():
    """The rank is by the score, and the probability stays."""
    text = task2_run_text(ITEMS, TOPICS, np.array([0.25, 0.5, 1 / 3]), np.array([3.0, 1.0, 2.0]))
    assert text == "20 b 1 0.250000\n20 a 2 0.500000\n7 a 1 0.333333\n"


def test_task2_run_is_written_and_read(tmp_path: Path) -> None:
    """A run ranks the documents of every topic by their probability, and is read as labels and probabilities."""
    text = task2_run_text(ITEMS, TOPICS, np.array([0.25, 0.5, 1 / 3]))
    assert text == "20 b 2 0.250000\n20 a 1 0.500000\n7 a 1 0.333333\n"
    source = open_source(written(tmp_path, text), "trec-task2-run")
    assert source.columns == ("item", "topic", "label", "probability", "rank")
    result = {name: source.column(name).to_list() for name in source.columns}
    assert result == {
        "item": ITEMS.to_list(),
        "topic": TOPICS.to_list(),
        "label": ["0", "1", "0"],
        "probability": [0.25, 0.5, 0.333333],
        "rank": ["2", "1", "1"],
    }
    assert read_gold(tmp_path / "trec.txt", JUDGMENTS, format="trec-task2-run")[1].tolist() == [0, 1, 0]


def test_ranks_of_equal_documents_differ() -> None:
    """Documents that are equally relevant are ranked by name, last first, as trec_eval would rank them."""
    for order in ([0, 1], [1, 0]):
        lines = task2_run_text(ITEMS[order], TOPICS[order], np.array([0.5, 0.5])).splitlines()
        assert {line.split()[1]: line.split()[2] for line in lines} == {"b": "1", "a": "2"}
    near = task2_run_text(ITEMS[[0, 1]], TOPICS[[0, 1]], np.array([1.0, 1.0]), np.array([1 - 1e-9, 1.0]))
    assert near == "20 b 1 1.000000\n20 a 2 1.000000\n"


def test_task1_run_is_written_and_read(tmp_path: Path) -> None:
    """Judgments written as a task 1 run are the same when read again."""
    text = task1_run_text(JUDGMENTS, "team")
    assert text.splitlines()[2] == "team\ty\tna\t20\ta\tna\t1\tna\tna\tna\t0"
    assert rows_of(read(written(tmp_path, text), format="trec-task1")) == rows_of(JUDGMENTS)


def test_all_fields_of_a_task1_run_are_carried_along() -> None:
    """Eleven fields go out as they came in."""
    source = task1_source(Content("run", USED.encode()))
    team, judge, topic = (source.column(name)[0] for name in ("team", "judge", "topic"))
    rest = [source.column(name)[0] for name in ("field8", "field9", "field10")]
    rank, probability = source.column("rank")[0], source.column("probability")[0]
    row = (team, judge, source.column("field3")[0], topic, document_of(source.column("item")[0], topic), rank)
    assert task1_run_lines([(*row, probability, *rest, 0)]) == USED


@pytest.mark.parametrize(("said", "label"), [("0", "0"), ("1", "1"), (".499", "0"), ("0.5", "1"), ("1e-3", "0")])
def test_a_class_label_is_a_probability(said: str, label: str) -> None:
    """A probability of one half or more is relevant."""
    assert task2_run_source(Content("run", f"20 a 1 {said}\n".encode())).column("label").to_list() == [label]


def test_labels_that_are_not_usable_are_passed_over() -> None:
    """Rejected, automated and training labels are left out, and so is what says nothing; rows keep their numbers."""
    lines = [USED.replace("\t0\n", f"\t{kind}\n") for kind in "123"]
    source = task1_source(
        Content("run", "".join([*lines, USED.replace("0.5", "na"), USED.replace("0.5", "NA"), USED]).encode())
    )
    assert source.column("label").to_list() == ["1"]
    assert source.row(0) == 6


@pytest.mark.parametrize(
    ("reader", "content", "message"),
    [
        (qrels_source, b"20 0 a 1\n\n20 0 a\n", "f, row 3: 3 fields, expected 4: topic, iteration, document, label"),
        (task2_source, b"20 a 1 0.5\n", "f, row 1: 4 fields, expected 6: topic, hit, judge, document, gold, label"),
        (task2_source, HEADER.encode(), "f: the file has no usable rows"),
        (task2_run_source, b"20 a 1 yes\n", "f, row 1: class label 'yes' is not a probability from 0 to 1, nor na"),
        (task2_run_source, b"20 a 1 nan\n", "f, row 1: class label 'nan' is not a probability from 0 to 1, nor na"),
        (
            task2_run_source,
            b"20 a 1 1\n20 b 2 1.5\n",
            "f, row 2: class label '1.5' is not a probability from 0 to 1, nor na",
        ),
        (task2_run_source, b"20 a 1 na\n", "f: the file has no usable rows"),
        (task1_source, USED.replace("\t0\n", "\t1\n").encode(), "f: the file has no usable rows"),
        (task1_source, b"\n", "f: the file has no usable rows"),
        (
            task1_source,
            b"team x\n",
            "f, row 1: 1 fields, expected 11: "
            "team, judge, field3, topic, document, rank, label, field8, field9, field10, type",
        ),
    ],
)
def test_broken_files(reader: Any, content: bytes, message: str) -> None:
    """What is wrong in a TREC file is said in one line, with its row."""
    assert refusal(reader, Content("f", content)) == message


def test_what_cannot_be_written() -> None:
    """Names with blanks, judgments without topics, and more labels than a run has are refused."""
    blank = "'a b' is empty or contains a blank, which a TREC file cannot hold"
    assert refusal(qrels_text, pl.Series(["7_a b"]), pl.Series(["7"]), [1]) == blank
    assert refusal(task1_run_lines, [[""] * 11]) == "'' is empty or contains a blank, which a TREC file cannot hold"
    assert refusal(task1_run_lines, [["a"] * 11, ["a"] * 10]) == (
        "task 1 run, row 2: 10 fields where a task 1 run has 11"
    )
    flat = read(pl.DataFrame({"item": ["a"], "judge": ["x"], "label": [1]}))
    no_topic = "a TREC file needs the topic of every item: name its column with topic="
    assert refusal(task2_text, flat) == no_topic
    assert (
        refusal(task1_run_text, read(JUDGMENTS), "a team")
        == "'a team' is empty or contains a blank, which a TREC file cannot hold"
    )
    assert refusal(task1_run_text, flat, "t") == (
        "a task 1 run has two labels, relevant or not; these judgments have 1"
    )


def test_the_document_of_an_item() -> None:
    """An item is called after its topic and document; one that is not keeps its whole name."""
    assert document_of("20_doc_1", 20) == "doc_1"
    assert document_of("doc1", "20") == "doc1"


@pytest.mark.filterwarnings("ignore::adjudge.errors.AdjudgeWarning")  # names may look alike
@settings(deadline=None)
@given(rows=st.lists(st.tuples(WORD, WORD, WORD, st.sampled_from("01")), min_size=1, max_size=12))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]]) -> None:
    """Any judgments on documents of topics come back from a task 2 file as they went."""
    columns = {
        "item": [f"{topic}_{document}" for topic, document, _, _ in rows],
        "judge": [judge for _, _, judge, _ in rows],
        "label": [label for *_, label in rows],
        "topic": [topic for topic, *_ in rows],
    }
    topics = dict(zip(columns["item"], columns["topic"], strict=True))
    columns["topic"] = [topics[item] for item in columns["item"]]  # a_b_c is one item, of a or of a_b
    named = {"item": "item", "judge": "judge"}
    judgments = read(pl.DataFrame(columns), **named)
    path = written(tmp_path_factory.mktemp("trip"), task2_text(judgments))
    assert rows_of(read(path, **named, format="trec-task2")) == rows_of(judgments)


def test_the_tracks_own_data(shared: Any) -> None:
    """The judgments of the 2011 track come back from a task 2 file as they went."""
    judgments = read(shared("data/trec2011_task2_mini/labels.csv"))
    text = task2_text(judgments)
    source = task2_source(Content("task2", text.encode()))
    assert source.column("item").to_list() == judgments.items.gather(judgments.item()).to_list()
    assert source.column("judge").to_list() == judgments.judges.gather(judgments.judge).to_list()
    assert source.column("label").to_list() == [judgments.scale.labels[k] for k in judgments.label]


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("20 doc 3 1", "trec-task2-run"),
        ("20 doc 3 0", "trec-task2-run"),
        ("20 doc 3 1.0", "trec-task2-run"),
        ("20 17 3 0.5", "trec-task2-run"),
        ("20 0 doc 1", "qrels"),
        ("20 17 3 1", "qrels"),
        ("20 doc 3 2", None),
    ],
)
def test_certain_class_labels_are_recognised(line: str, form: str | None) -> None:
    """A task 2 run has a rank third, qrels have a number second; with both, whole numbers are those of qrels."""
    assert sniff_format(line) == form


def test_ranks_may_follow_another_score() -> None:
    """Certain labels are ranked by what they come from."""
    text = task2_run_text(ITEMS, TOPICS, np.array([1.0, 1.0, 0.0]), np.array([3.0, 5.0, -1.0]), digits=1)
    assert text == "20 b 2 1.0\n20 a 1 1.0\n7 a 1 0.0\n"
