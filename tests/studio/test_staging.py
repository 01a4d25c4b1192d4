"""Changed files of a campaign come all or not at all, whenever the process dies."""

import pytest

from adjudge.errors import InputError
from adjudge.studio import staging

FILES = ("a.csv", "b.csv", "c.csv")


@pytest.fixture
def folder(tmp_path):
    """Return a folder with three files."""
    for name in FILES:
        (tmp_path / name).write_text(f"old {name}")
    (tmp_path / "a.csv").chmod(0o600)
    return tmp_path


def change(staged):
    """Write two changed files."""
    (staged / "a.csv").write_text("new a")
    (staged / "b.csv").write_text("new b")


def contents(folder):
    """Return the contents of the files."""
    return [(folder / name).read_text() for name in FILES]


NEW = ["new a", "new b", "old c.csv"]
OLD = ["old a.csv", "old b.csv", "old c.csv"]


def test_a_staged_folder_is_complete_and_changes_nothing(folder):
    """The files that did not change are links, and the others have the mode of those that they replace."""
    staged = staging.stage(folder, change, FILES)
    assert contents(staged) == NEW
    assert contents(folder) == OLD
    assert [path.name for path in staging.staged_files(folder)] == ["a.csv", "b.csv"]
    assert (staged / "a.csv").stat().st_mode & 0o777 == 0o600


def test_published_files_are_moved(folder):
    """And nothing is left of the staging folders."""
    staging.stage(folder, change, FILES)
    staging.publish(folder)
    assert contents(folder) == NEW
    assert sorted(path.name for path in folder.iterdir()) == list(FILES)
    assert not (folder / "c.csv").is_symlink()


def test_whoever_comes_next_moves_what_is_left(folder):
    """After a death between two files; finishing twice is the same as once."""
    staging.stage(folder, change, FILES)
    (folder / staging.STAGED).rename(folder / staging.RECORDED)
    (folder / staging.RECORDED / "a.csv").replace(folder / "a.csv")
    staging.finish(folder)
    staging.finish(folder)
    assert contents(folder) == NEW
    assert not (folder / staging.RECORDED).exists()


def test_files_that_cannot_be_moved_are_said(folder):
    """With the reason of the system."""
    staging.stage(folder, change, FILES)
    (folder / staging.STAGED).rename(folder / staging.RECORDED)
    (folder / "b.csv").unlink()
    (folder / "b.csv").mkdir()
    with pytest.raises(InputError) as caught:
        staging.finish(folder)
    problem = "a change of the campaign's files is not finished, and they cannot be moved: Is a directory"
    assert str(caught.value) == f"{folder / staging.RECORDED}: {problem}"


def test_settling_publishes_what_is_recorded(folder):
    """Staged files whose hashes are in the database come into the files, all others are removed."""
    staged = staging.stage(folder, change, FILES)
    recorded = {name: staging.sha256_of(staged / name) for name in FILES}
    assert staging.settle(folder, recorded)
    assert contents(folder) == NEW
    staging.stage(folder, change, FILES)
    assert not staging.settle(folder, {**recorded, "a.csv": "of another change"})
    assert not (folder / staging.STAGED).exists()
    assert not staging.settle(folder, recorded)


def test_files_that_others_change_are_noticed(folder):
    """By their content; a new date alone is no change, and a missing file is one."""
    watch = staging.Watch(folder, FILES)
    recorded = {name: staging.sha256_of(folder / name) for name in FILES}
    assert watch.changed(recorded) == []
    (folder / "b.csv").write_text("changed outside")
    (folder / "a.csv").write_text("old a.csv")
    assert watch.changed(recorded) == ["b.csv"]
    (folder / "c.csv").unlink()
    assert watch.changed(recorded) == ["b.csv", "c.csv"]
    assert watch.changed({}) == []
