"""Where a fit goes."""

import warnings

import adjudge
from adjudge.cli.output import deliver
from adjudge.errors import AdjudgeWarning


def test_a_folder_gets_tables_and_the_fit(tmp_path, capsys):
    """All or nothing, and people are told."""
    judgments = adjudge.dataset("anesthesia")
    deliver(adjudge.fit(judgments), judgments, str(tmp_path / "deep" / "fit"), None, 3)
    names = sorted(path.name for path in (tmp_path / "deep" / "fit").iterdir())
    tables = ["items.parquet", "judges.csv", "judges.parquet", "judgments.npz", "judgments.parquet", "labels.csv"]
    assert names == ["fit.json", *tables, "params.npz"]
    assert "wrote labels.csv" in capsys.readouterr().out


def test_nothing_of_an_earlier_fit_stays(tmp_path, capsys):
    """Draws and their tables, judgments, and the labels of a fit of blocks; other files are left alone."""
    judgments, run = adjudge.dataset("anesthesia"), adjudge.Run(2, 5, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        deliver(adjudge.fit(judgments, "hybrid-confusion", run=run), judgments, str(tmp_path), None, 3)
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "part-00000.parquet").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("mine")
    assert (tmp_path / "matrices.csv").exists()
    deliver(adjudge.fit(judgments), None, str(tmp_path), None, 3)
    names = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    tables = ["items.parquet", "judges.csv", "judges.parquet", "labels.csv", "notes.txt"]
    assert names == ["fit.json", *tables, "params.npz"]
    assert adjudge.load(tmp_path).draws is None
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "prevalence.csv").write_text("not of a fit")
    deliver(adjudge.fit(judgments), None, str(tmp_path / "mine"), None, 3)
    assert (tmp_path / "mine" / "prevalence.csv").exists()
