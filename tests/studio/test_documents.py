"""Documents out of texts, pages, PDF, JSON lines and TREC's files; they are indexed, and read when asked for."""

import bz2
import gzip
import json
import lzma
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from adjudge.errors import InputError, Problems
from adjudge.studio.documents import (
    DOCUMENTS_FILE,
    INDEX_FILE,
    document_line,
    file_documents,
    keep_index,
    kind_of,
    read_documents,
    read_sources,
)
from adjudge.studio.records import Document


def index(tmp_path, data, most_bytes=1000):
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
    rows = [Document("a", "A", "text", "1\n2\u2028"), Document("ü", "", "html", "<p>ü")]
    text = "\ufeff" + document_line(rows[0]) + "\n  \n" + document_line(rows[1]).rstrip("\n")
    documents, problems = index(tmp_path, text)
    assert problems == []
    assert [documents.document(name) for name in documents] == rows
    assert len(documents) == 2
    assert "ü" in documents
    assert "b" not in documents
    with pytest.raises(KeyError):
        documents.document("b")


def test_threads_read_at_the_same_time(tmp_path):
    """Each gets its own document."""
    documents, _ = index(tmp_path, "".join(line(f"d{n}", content=f"content {n} " * 50) for n in range(200)))
    with ThreadPoolExecutor(8) as pool:
        result = list(pool.map(documents.document, [f"d{n % 200}" for n in range(2000)]))
    assert [document.name for document in result] == [f"d{n % 200}" for n in range(2000)]


def test_a_file_that_has_changed_is_noticed(tmp_path):
    """Nobody judges one document under the name of another."""
    documents, _ = index(tmp_path, line("a") + line("b"))
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
    assert index(tmp_path, data)[1] == [f"documents.jsonl{problem}"]


def test_escaped_characters_are_no_halves_and_no_bytes(tmp_path):
    """Content counts as it is, not as it is written."""
    assert index(tmp_path, line(content="\U0001f600é" * 100))[1] == []


def test_nested_too_deeply(tmp_path):
    """Is a problem, and no crash."""
    assert index(tmp_path, "[" * 200_000)[1] == ["documents.jsonl, line 1: is not JSON: nested too deeply"]


def test_files_that_cannot_be_read(tmp_path):
    """Are a problem, and no exception."""
    problems = Problems()
    assert read_documents(tmp_path / "none", 9, problems) is None
    assert read_documents(tmp_path, 9, problems) is None
    assert problems.messages == [
        "documents.jsonl: there is no such file",
        "documents.jsonl: cannot be read: Is a directory",
    ]


def pdf(text, extra=b""):
    """Return a PDF with one page that shows a text, written by hand."""
    stream = b"BT /F1 24 Tf 72 720 Td (" + text.encode() + b") Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >>" % (b"00" * 32, b"00" * 32),
    ]
    content, places = b"%PDF-1.4\n", []
    for n, body in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (n, body)
    table = b"".join(b"%010d 00000 n \n" % position for position in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF" % (
        len(objects) + 1,
        extra,
        len(content),
    )
    return content + head + table + trailer


def read(tmp_path, name, kind, data, most_bytes=1000):
    """Return the documents of a file, and what is wrong with it."""
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    problems = Problems()
    result = [file_document.document for file_document in file_documents(path, kind, most_bytes, problems)]
    return result, [problem.replace(f"{tmp_path}/", "") for problem in problems.messages]


@pytest.mark.parametrize(
    ("name", "kind", "data", "document"),
    [
        ("a.b.txt", "text", "\n First  line\nmore", Document("a.b", "First line", "text", "\n First  line\nmore")),
        ("a.md", "text", "# Head\n\ntext", Document("a", "Head", "text", "# Head\n\ntext")),
        ("a.txt.gz", "text", gzip.compress(b"one", mtime=0), Document("a", "one", "text", "one")),
        ("a.txt", "text", "Größe".encode("cp1252"), Document("a", "Größe", "text", "Größe")),
        ("a.txt", "text", "", Document("a", "a", "text", "")),  # refused by who writes the campaign
        (
            "p.html",
            "html",
            "<TITLE>\n A &amp; B</TITLE><p>x",
            Document("p", "A & B", "html", "<TITLE>\n A &amp; B</TITLE><p>x"),
        ),
        ("p.htm", "html", "<p>x", Document("p", "p", "html", "<p>x")),
        ("s.pdf", "pdf", pdf("Hello pages"), Document("s", "Hello pages", "text", "Hello pages")),
    ],
)
def test_one_document_a_file(tmp_path, name, kind, data, document):
    """Called as the file, titled by the page's title or the first line."""
    assert read(tmp_path, name, kind, data) == ([document], [])


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (pdf("x", b"/Encrypt 6 0 R /ID [<00> <00>]"), "s.pdf: is an encrypted PDF: save it without a password"),
        (pdf(""), "s.pdf: contains no text, perhaps only pictures of pages: run text recognition on it first"),
        (b"no pdf at all", "s.pdf: is not a readable PDF: PdfStreamError"),
    ],
)
def test_pdf_without_text(tmp_path, data, problem):
    """Is a problem that names the file."""
    assert read(tmp_path, "s.pdf", "pdf", data) == ([], [problem])


def test_pdf_needs_its_library(tmp_path, monkeypatch):
    """And says what to type."""
    import sys

    from adjudge.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(MissingExtra) as missing:
        read(tmp_path, "s.pdf", "pdf", pdf("x"))
    assert str(missing.value) == (
        "reading PDF needs 'adjudge[studio]', which is not installed: pip install 'adjudge[studio]'"
    )


def test_too_large(tmp_path):
    """A file is not read further than a document may be long, packed or not."""
    assert read(tmp_path, "a.txt", "text", b"x" * 1001)[1] == ["a.txt: has more than 1,000 bytes"]
    assert read(tmp_path, "a.html.gz", "html", gzip.compress(b"x" * 1001, mtime=0))[1] == [
        "a.html.gz: has more than 1,000 bytes"
    ]


@pytest.mark.parametrize(
    ("record", "document"),
    [
        ({"id": 7, "contents": "a\nb"}, Document("7", "a", "text", "a\nb")),
        ({"docno": "x", "title": "T", "body": "b"}, Document("x", "T", "text", "b")),
        ({"doc_id": "x", "html": "<title>T</title>"}, Document("x", "T", "html", "<title>T</title>")),
        ({"document": "x", "text": "<!DOCTYPE html><p>"}, Document("x", "x", "html", "<!DOCTYPE html><p>")),
        ({"document": "x", "title": "", "kind": "html", "content": "y"}, Document("x", "", "html", "y")),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_json_lines(tmp_path, record, document, pack):
    """Under any usual names, packed or not."""
    data = pack(b"\n" + json.dumps(record).encode() + b"\n")
    assert read(tmp_path, "d.jsonl", "jsonl", data) == ([document], [])


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"text": "x"}', "d.jsonl, line 1: there is no name: give it under 'document'"),
        (b'\n{"id": "x"}', "d.jsonl, line 2: document 'x': its content, under 'content', is missing"),
        (b'{"id": "x", "text": 5}', "d.jsonl, line 1: document 'x': its content, under 'content', is not a text"),
        (b"nope", "d.jsonl, line 1: is not JSON (Expecting value); give one object per line"),
        (b"[1]", "d.jsonl, line 1: is JSON but not an object with named values; give one object per line"),
        (gzip.compress(b"x" * 99, mtime=0)[:-9], "d.jsonl: the compressed file is damaged or cut off"),
    ],
)
def test_json_problems(tmp_path, data, problem):
    """Each with its line."""
    assert read(tmp_path, "d.jsonl", "jsonl", data) == ([], [problem])


TREC = """<DOC>
<DOCNO> FT-1 </DOCNO>
<HEADLINE> A head &amp; more </HEADLINE>
<TEXT>
<P>First.</P><P>Second &lt; third.
</TEXT>
</DOC>
<DOC>
<DOCNO>WT-2</DOCNO>
<DOCHDR>http://x.y Content-type: text/html</DOCHDR>
<html><title>T</title><p>page</html>
</DOC>
<doc><docno>3</docno>Only words.</doc>
"""


@pytest.mark.parametrize(("name", "pack"), [("d.csv", bytes), ("d.csv.xz", lzma.compress), ("d.csv.bz2", bz2.compress)])
def test_tables(tmp_path, name, pack):
    """One document per row, compressed in any way; an empty title is taken from the text."""
    text = "docno,title,body\na,A tree,oak\nb,,elm\n,x,y\nc,,\n"
    assert read(tmp_path, name, kind_of(tmp_path / name), pack(text.encode())) == (
        [Document("a", "A tree", "text", "oak"), Document("b", "elm", "text", "elm")],
        [
            f"{name}, line 4: there is no name: give it under 'document'",
            f"{name}, line 5: document 'c': its content, under 'content', is missing",
        ],
    )


def test_json_lines_in_utf_16(tmp_path):
    """The encoding that some Windows programs write."""
    text = '{"document": "a", "text": "Größe"}\n'
    judgments = read(tmp_path, "d.jsonl", "jsonl", text.encode("utf-16"))
    assert judgments == ([Document("a", "Größe", "text", "Größe")], [])


def test_trec_documents(tmp_path):
    """Newspapers, web pages, and what has no tags."""
    assert read(tmp_path, "ft", "trec", TREC) == (
        [
            Document("FT-1", "A head & more", "text", "First.\n\nSecond < third."),
            Document("WT-2", "T", "html", "<html><title>T</title><p>page</html>"),
            Document("3", "Only words.", "text", "Only words."),
        ],
        [],
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("<DOC><DOCNO>1</DOCNO>x</DOC>\n<DOC>\nx</DOC>", "ft, line 2: a <DOC> has no <DOCNO>"),
        ("<DOC><DOCNO>1</DOCNO>", "ft: there is no <DOC> ... </DOC> in it"),
    ],
)
def test_trec_problems(tmp_path, data, problem):
    """Each with its line."""
    assert read(tmp_path, "ft", "trec", data)[1] == [problem]


def _document_sources_read(path, tmp_path):
    """Return the names of documents, what is wrong, and what was left out."""
    problems, notes = Problems(), []
    names = [read_source.document.name for read_source in read_sources(path, 1000, problems, notes)]
    position = f"{tmp_path}/"
    return (
        names,
        [text.replace(position, "") for text in problems.messages],
        [text.replace(position, "") for text in notes],
    )


@pytest.fixture
def folder(tmp_path):
    """Return a folder with documents of several kinds, and with what is none."""
    path = tmp_path / "docs"
    (path / "sub" / ".git").mkdir(parents=True)
    for name in ("b.txt", "a.md", "sub/c.html", ".hidden.txt", "sub/.git/x.txt"):
        (path / name).write_text("words")
    (path / "many.jsonl").write_text('{"id": "j1", "text": "x"}\n{"id": "j2", "text": "y"}\n')
    (path / "ft911").write_text("<DOC><DOCNO>F1</DOCNO>x</DOC>")
    (path / "photo.jpg").write_bytes(b"\xff\xd8")
    (path / "Makefile").write_text("all:")
    return path


def test_a_folder(folder, tmp_path):
    """By name, folders below it too; hidden files are passed over, and files of other kinds are counted."""
    assert _document_sources_read(folder, tmp_path) == (
        ["a", "b", "F1", "j1", "j2", "c"],
        [],
        ["docs: 2 files cannot be read as documents and are left out (1 without a suffix, 1 .jpg)"],
    )


def test_links_that_leave_are_refused(folder, tmp_path):
    """Files and folders, and circles; links inside are followed to files and not into folders."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "more").mkdir()
    for name, target in (
        ("out.txt", tmp_path / "secret.txt"),
        ("away", tmp_path / "more"),
        ("in.txt", folder / "b.txt"),
        ("again", folder / "sub"),
    ):
        (folder / name).symlink_to(target)
    (folder / "round.txt").symlink_to(folder / "round.txt")
    names, problems, _ = _document_sources_read(folder, tmp_path)
    assert sorted(names) == ["F1", "a", "b", "c", "in", "j1", "j2"]
    leaves = "is a link that leaves the folder of documents: copy its target"
    assert problems[:2] == [f"docs/away: {leaves}", f"docs/out.txt: {leaves}"]
    assert len(problems) == 3
    assert problems[2].startswith("docs/round.txt: ")


def test_pipes_are_refused(folder, tmp_path):
    """Nobody waits for a writer who never comes."""
    os.mkfifo(folder / "pipe.txt")
    assert _document_sources_read(folder, tmp_path)[1] == ["docs/pipe.txt: is not a regular file"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("none", "none: there is no such file or folder"),
        (
            "docs/photo.jpg",
            "docs/photo.jpg: cannot be read: give .txt, .md, .html, .pdf, .jsonl, .csv, .tsv, .parquet or TREC "
            "documents",
        ),
        ("pipe", "pipe: is neither a file nor a folder"),
    ],
)
def test_what_is_no_source(folder, tmp_path, name, problem):
    """Is a problem that names it."""
    os.mkfifo(tmp_path / "pipe")
    assert _document_sources_read(tmp_path / name, tmp_path) == ([], [problem], [])


def test_one_file_is_a_source(folder, tmp_path):
    """Of any kind."""
    assert _document_sources_read(folder / "many.jsonl", tmp_path)[0] == ["j1", "j2"]


def test_kinds(tmp_path):
    """By what a file begins with, or else by its name."""
    (tmp_path / "x.html").write_text("<html>")
    (tmp_path / "y.html").write_text("\n<DOC>\n<DOCNO>1</DOCNO>")
    assert [kind_of(tmp_path / name) for name in ("x.html", "y.html", "none.PDF.gz", "none")] == [
        "html",
        "trec",
        "pdf",
        None,
    ]


def test_an_index_is_kept_until_the_file_or_the_check_changes(tmp_path):
    """The second reading takes the index from the disk; a changed file or limit is checked again."""
    path = tmp_path / DOCUMENTS_FILE
    lines = [document_line(Document(f"d{n}", "t", "text", f"words {n}")) for n in range(3)]
    path.write_text("".join(lines))
    documents = read_documents(path, 1_000, Problems())
    keep_index(documents, 1_000)
    assert not (tmp_path / INDEX_FILE).exists()  # the file has just changed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adjudge.studio.documents.SETTLED", 0.0)
        keep_index(documents, 1_000)
        patch.setattr("adjudge.studio.documents._index", None)
        again = read_documents(path, 1_000, Problems())
        assert list(again) == list(documents)
        assert again.document("d2") == documents.document("d2")
    problems = Problems()
    read_documents(path, 5, problems)
    assert "expected at most 5" in problems.messages[0]
    (tmp_path / INDEX_FILE).write_text("[")
    assert len(read_documents(path, 1_000, Problems())) == 3
    path.write_text(lines[0])
    assert len(read_documents(path, 1_000, Problems())) == 1
