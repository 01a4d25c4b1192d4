"""Files written a piece at a time."""

import pytest

from adjudge.errors import InputError
from adjudge.studio.desk.exports import deliver


def test_a_file_is_whole_or_as_it_was(tmp_path):
    """Pieces that break off leave the old file, and nothing beside it."""
    out = tmp_path / "x.csv"
    assert deliver([b"a\n", b"b\n"], str(out)) == 2

    def breaking():
        yield b"c\n"
        raise ValueError("broken off")

    with pytest.raises(ValueError, match="broken off"):
        deliver(breaking(), str(out))
    assert out.read_bytes() == b"a\nb\n"
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def test_without_a_name_it_is_printed(capfdbinary):
    """As bytes, to standard output."""
    assert deliver([b"a", b"b"], None) == 2
    assert capfdbinary.readouterr().out == b"ab"


def test_what_cannot_be_written_says_so(tmp_path):
    """With the place."""
    with pytest.raises(InputError, match="nowhere/x: cannot be written"):
        deliver([b"a"], str(tmp_path / "nowhere" / "x"))
