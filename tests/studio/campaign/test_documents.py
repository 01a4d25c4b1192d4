"""Documents are indexed, and read when asked for."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from adjudge.errors import InputError, Problems
from adjudge.studio.campaign.documents import document_line, read_documents
from adjudge.studio.records import Document


def read(tmp_path, data, most_bytes=1000):
    """Return the documents of a file, and what is wrong with them."""
    path = tmp_path / "documents.jsonl"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    problems = Problems()
    return read_documents(path, most_bytes, problems), problems.messages


def line(document="a", title="t", kind="text", content="c", **more):
    """Return a line of the file."""
    return json.dumps({"document": document, "title": title, "kind": kind, "content": content, **more}) + "\n"


def test_documents_are_read_by_name(tmp_path):
    """Behind a byte order mark, after empty lines, with a line break in it, and without one at the end."""
    given = [Document("a", "A", "text", "1\n2\u2028"), Document("ü", "", "html", "<p>ü")]
    text = "\ufeff" + document_line(given[0]) + "\n  \n" + document_line(given[1]).rstrip("\n")
    documents, problems = read(tmp_path, text)
    assert problems == []
    assert [documents.document(name) for name in documents] == given
    assert len(documents) == 2
    assert "ü" in documents
    assert "b" not in documents
    with pytest.raises(KeyError):
        documents.document("b")


def test_threads_read_at_the_same_time(tmp_path):
    """Each gets its own document."""
    documents, _ = read(tmp_path, "".join(line(f"d{n}", content=f"content {n} " * 50) for n in range(200)))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(documents.document, [f"d{n % 200}" for n in range(2000)]))
    assert [document.name for document in found] == [f"d{n % 200}" for n in range(2000)]


def test_a_file_that_has_changed_is_noticed(tmp_path):
    """Nobody judges one document under the name of another."""
    documents, _ = read(tmp_path, line("a") + line("b"))
    (tmp_path / "documents.jsonl").write_text(line("b") + line("a"))
    with pytest.raises(InputError) as refused:
        documents.document("a")
    assert str(refused.value).endswith("has changed since the campaign was loaded: restart the studio")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("", ": there are no documents"),
        (line() + line("b") + line(), ", line 3: document 'a' is in line 1 already"),
        ("\n" + line() + line(), ", line 3: document 'a' is in line 2 already"),
        ("nope\n", ", line 1: is not JSON: Expecting value"),
        ("[1]\n", ", line 1: is JSON, but not an object in braces"),
        (b'{"document": "\xff"}\n', ", line 1: byte 0xff is not UTF-8 text"),
        ('{"document": "a"}\n', ", line 1: there is no 'title': a line is {document, title, kind, content}"),
        (line(5), ", line 1: document is '5', expected a text in quotation marks"),
        (line("a\tb"), ", line 1: document 'a\\tb' contains a control character or a line break"),
        (line(title=None), ", line 1: document 'a': title and content must be texts"),
        (line(kind="pdf"), ", line 1: document 'a' is of kind 'pdf', expected one of 'text', 'html'"),
        (line(kind=[]), ", line 1: document 'a' is of kind '[]', expected one of 'text', 'html'"),
        (line(content=" \n"), ", line 1: document 'a' is empty"),
        (line(extra=1), ", line 1: document 'a' has 'extra', expected only document, title, kind, content"),
        (line(content="x\ud800"), ", line 1: document 'a' contains half a character (a lone surrogate)"),
        (
            line(content="é" * 501),
            ", line 1: document 'a' has 1,002 bytes, expected at most 1,000 (documents.most_bytes)",
        ),
    ],
)
def test_problems(tmp_path, data, problem):
    """Each with its line."""
    assert read(tmp_path, data)[1] == [f"documents.jsonl{problem}"]


def test_escaped_characters_are_no_halves_and_no_bytes(tmp_path):
    """Content counts as it is, not as it is written."""
    assert read(tmp_path, line(content="\U0001f600é" * 100))[1] == []


def test_nested_too_deeply(tmp_path):
    """Is a problem, and no crash."""
    assert read(tmp_path, "[" * 200_000)[1] == ["documents.jsonl, line 1: is not JSON: nested too deeply"]


def test_files_that_cannot_be_read(tmp_path):
    """Are a problem, and no exception."""
    problems = Problems()
    assert read_documents(tmp_path / "none", 9, problems) is None
    assert read_documents(tmp_path, 9, problems) is None
    assert problems.messages == [
        "documents.jsonl: there is no such file",
        "documents.jsonl: cannot be read: Is a directory",
    ]
