"""Running the command line inside the test's own folder."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from adjudge.cli import main


class Answer(NamedTuple):
    """What a command answered."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., Answer]:
    """Return a function that runs ``adjudge`` with arguments, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Answer:
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        out, err = capfdbinary.readouterr()
        return Answer(int(end.value.code or 0), out.decode(errors="replace"), err.decode())

    return call


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Return a small file of judgments with topics."""
    rows = [f"d{n // 3},{'xyz'[n % 3]},{'yes' if (n // 3) % 2 else 'no'},t{n // 9}" for n in range(36)]
    path = tmp_path / "labels.csv"
    path.write_text("item,judge,label,topic\n" + "\n".join(rows) + "\n")
    return path
