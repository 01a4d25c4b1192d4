"""What cells were made of."""

import pytest

from adjudge.errors import InputError
from studies.marks import LENGTH
from studies.rerank import mark as study_mark
from studies.rerank.mark import mark_of
from studies.rerank.methods import METHODS


@pytest.fixture
def data(tmp_path):
    """Return a folder with one set."""
    (tmp_path / "trecqa_letor").mkdir()
    (tmp_path / "trecqa_letor" / "features.svm").write_text("1 qid:1 1:0.5\n")
    return tmp_path


def test_a_mark_is_the_same_until_something_changes(data, monkeypatch):
    """Data, methods, crowds, the values of c, code, and libraries."""
    first = mark_of(data, "trecqa_letor")
    assert (len(first), mark_of(data, "trecqa_letor")) == (LENGTH, first)
    seen = {first}

    def changed():
        seen.add(mark_of(data, "trecqa_letor"))
        return len(seen)

    with monkeypatch.context() as only:
        only.setattr(study_mark, "METHODS", {k: m for k, m in METHODS.items() if k != "DS"})
        assert changed() == 2
    with monkeypatch.context() as only:
        only.setattr(study_mark, "CHOICE", (1.0,))
        assert changed() == 3
    with monkeypatch.context() as only:
        only.setattr(study_mark, "code_mark", lambda: "other")
        assert changed() == 4
    with monkeypatch.context() as only:
        only.setattr(study_mark, "version_of", lambda library: "0")
        assert changed() == 5
    (data / "trecqa_letor" / "features.svm").write_text("1 qid:1 1:0.6\n")
    assert changed() == 6


def test_no_library_is_a_version_too():
    """So that cells without trees are not taken for cells with them."""
    assert study_mark.version_of("no such library") == "none"


def test_a_set_that_is_not_there_is_said(tmp_path):
    """As where it is read."""
    with pytest.raises(InputError, match="there is no such folder"):
        mark_of(tmp_path, "qa_wikiqa")
