"""Small crowds on disk, small studies of them, and the command line of studies."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from adjudge.cli import main
from adjudge.data.judgments import judgment_table
from adjudge.data.simulate import simulate
from adjudge.errors import AdjudgeWarning, command_line
from adjudge.inference.chains import Run
from studies.command import app
from studies.curves import Curves
from studies.memory import memory
from studies.outcome import StudyOptions
from studies.spectrum import spectrum
from studies.trec2011 import Relevance, trec2011


@pytest.fixture(autouse=True)
def spelled_for_commands() -> Iterator[None]:
    """Let messages name options: studies are commands."""
    with command_line():
        yield


SHORT = Run(chains=2, warmup=20, draws=20)


@pytest.fixture(scope="session")
def crowds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two binary sets (a, b) and two ordinal ones (c, d)."""
    folder = tmp_path_factory.mktemp("crowds")
    designs = {"a": ("dawid-skene", 0), "b": ("dawid-skene", 1), "c": ("ordinal", 0), "d": ("ordinal", 1)}
    for name, (design, seed) in designs.items():
        drawn = simulate(design, seed, items=60, judges=9, labels=2 if name in "ab" else 4, per_item=5, gold=40)
        (folder / name).mkdir()
        judgment_table(drawn.judgments).write_csv(folder / name / "labels.csv")
        gold = pl.DataFrame({"item": list(drawn.gold), "label": list(drawn.gold.values())})
        gold.write_csv(folder / name / "gold.csv")
    return folder


@pytest.fixture(scope="session")
def spectrum_curves() -> Curves:
    """Return a small spectrum: two sizes, three runs, short chains."""
    return spectrum(StudyOptions(runs=3, sizes=(40, 5)), SHORT)


@pytest.fixture(scope="session")
def memory_curves(crowds: Path) -> Curves:
    """Return a small study of memory: two sets, two numbers of labels, three splits, short chains."""
    return memory(StudyOptions(str(crowds), ["c", "d"], runs=3, sizes=(3, 1)), SHORT)


@pytest.fixture(scope="session")
def monitoring_curves() -> Curves:
    """Return a small study of memory on simulated monitoring sets: two numbers of labels, two runs, short chains."""
    return memory(StudyOptions(sets=["monitoring"], runs=2, sizes=(5, 8)), SHORT)


@pytest.fixture(scope="session")
def topics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a crowd of relevance judges, and what an author might have found of it."""
    folder = tmp_path_factory.mktemp("topics")
    sizes = {"topics": 4, "items": 120, "judges": 20, "judgments": 600, "gold": 40}
    drawn = simulate("carpenter", 3, **sizes)
    (folder / "t").mkdir()
    judgment_table(drawn.judgments).write_csv(folder / "t" / "labels.csv")
    pl.DataFrame({"item": list(drawn.gold), "label": list(drawn.gold.values())}).write_csv(folder / "t" / "gold.csv")
    p = pl.Series([0.25] * 60 + [0.75] * 60)
    reference = pl.DataFrame({"item": drawn.judgments.items.reverse(), "semisup_p": p, "unsup_p": p})
    reference = reference.with_columns(unsup_rank=pl.int_range(120, 0, -1))
    reference.write_csv(folder / "t" / "reference_lingpipe.csv")
    return folder


@pytest.fixture(scope="session")
def relevance(topics: Path) -> Relevance:
    """Return a small study of what gold tells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # chains of forty sweeps have not converged
        return trec2011(StudyOptions(str(topics), ["t"], draws=20), SHORT)


class Answer(NamedTuple):
    """What a command answered."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., Answer]:
    """Return a function that runs ``python -m studies`` (or another command of ``adjudge``) in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Answer:
        study = (list(arguments[1:]), app, "python -m studies") if arguments[0] == "study" else (list(arguments),)
        with pytest.raises(SystemExit) as end:
            main(*study)
        out, err = capfdbinary.readouterr()
        return Answer(int(end.value.code or 0), out.decode(errors="replace"), err.decode())

    return call
