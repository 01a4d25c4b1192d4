"""Digests by which a stale result is known."""

from studies.marks import contents, digest, version_of


def test_parts_do_not_run_into_each_other():
    """Where one ends is part of the mark."""
    assert digest([b"ab", b"c"]) != digest([b"a", b"bc"])
    assert digest([b"ab", b"c"]) == digest(iter([b"ab", b"c"]))


def test_files_are_told_by_name_and_content(tmp_path):
    """A folder, or a file that is not there, says nothing."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.txt").write_text("1")
    paths = [tmp_path / "deep", tmp_path / "deep" / "a.txt", tmp_path / "gone.txt"]
    assert list(contents(tmp_path, paths)) == [b"deep/a.txt", b"1"]


def test_a_library_that_is_not_there_has_no_version():
    """And one that is has its own."""
    assert version_of("no such library") == "none"
    assert version_of("numpy")[0].isdigit()
