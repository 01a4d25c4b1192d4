"""Writing the pages."""

from studies import pages as room
from studies.outcome import StudyOptions


def test_pages_are_written_into_a_folder(tmp_path, monkeypatch, capsys):
    """Each when it is finished."""
    pages = (lambda options: {"a.md": f"seed {options.seed}"}, lambda options: {"b.md": "b", "b.svg": "<svg/>"})
    monkeypatch.setattr(room, "PAGES", pages)
    room.main(str(tmp_path), StudyOptions(seed=3))
    assert (tmp_path / "a.md").read_text() == "seed 3"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.md", "b.md", "b.svg"]
    assert capsys.readouterr().out.startswith(f"wrote a.md to {tmp_path}")


def test_pages_are_those_of_the_studies(spectrum_curves, memory_curves, relevance, monkeypatch):
    """Of papers 003 and 000."""
    result = {"spectrum": spectrum_curves, "memory": memory_curves, "trec2011": relevance}
    for name, outcome in result.items():
        monkeypatch.setattr(room, name, lambda options, outcome=outcome: outcome)
    assert [next(iter(page(StudyOptions()))) for page in room.PAGES] == ["paper-003.md", "paper-000.md"]
