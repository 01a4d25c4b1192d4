"""Documents out of folders; links that leave them are refused."""

import os

import pytest

from adjudge.collect.files.document_sources import kind_of, read_sources
from adjudge.collect.files.problems import Problems


def read(path, tmp_path):
    """Return the names of documents, what is wrong, and what was left out."""
    problems, notes = Problems(), []
    names = [found.document.name for found in read_sources(path, 1000, problems, notes)]
    place = f"{tmp_path}/"
    return names, [text.replace(place, "") for text in problems.found], [text.replace(place, "") for text in notes]


@pytest.fixture
def folder(tmp_path):
    """Return a folder with documents of several kinds, and with what is none."""
    place = tmp_path / "docs"
    (place / "sub" / ".git").mkdir(parents=True)
    for name in ("b.txt", "a.md", "sub/c.html", ".hidden.txt", "sub/.git/x.txt"):
        (place / name).write_text("words")
    (place / "many.jsonl").write_text('{"id": "j1", "text": "x"}\n{"id": "j2", "text": "y"}\n')
    (place / "ft911").write_text("<DOC><DOCNO>F1</DOCNO>x</DOC>")
    (place / "photo.jpg").write_bytes(b"\xff\xd8")
    (place / "Makefile").write_text("all:")
    return place


def test_a_folder(folder, tmp_path):
    """By name, folders below it too; hidden files are passed over, and files of other kinds are counted."""
    assert read(folder, tmp_path) == (
        ["a", "b", "F1", "j1", "j2", "c"],
        [],
        ["docs: 2 files are of no kind that can be read, and left out (1 without an ending, 1 .jpg)"],
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
    names, problems, _ = read(folder, tmp_path)
    assert sorted(names) == ["F1", "a", "b", "c", "in", "j1", "j2"]
    leaves = "is a link that leaves the folder of documents: copy what it points at"
    assert problems[:2] == [f"docs/away: {leaves}", f"docs/out.txt: {leaves}"]
    assert len(problems) == 3
    assert problems[2].startswith("docs/round.txt: ")


def test_pipes_are_refused(folder, tmp_path):
    """Nobody waits for a writer who never comes."""
    os.mkfifo(folder / "pipe.txt")
    assert read(folder, tmp_path)[1] == ["docs/pipe.txt: is no ordinary file"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("none", "none: there is no such file or folder"),
        (
            "docs/photo.jpg",
            "docs/photo.jpg: is of no kind that can be read: .txt, .md, .html, .pdf, .jsonl or TREC documents",
        ),
        ("pipe", "pipe: is neither a file nor a folder"),
    ],
)
def test_what_is_no_source(folder, tmp_path, name, problem):
    """Is a problem that names it."""
    os.mkfifo(tmp_path / "pipe")
    assert read(tmp_path / name, tmp_path) == ([], [problem], [])


def test_one_file_is_a_source(folder, tmp_path):
    """Of any kind."""
    assert read(folder / "many.jsonl", tmp_path)[0] == ["j1", "j2"]


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
