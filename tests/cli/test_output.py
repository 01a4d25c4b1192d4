"""Where a fit goes."""

import adjudge
from adjudge.cli.output import deliver


def test_a_folder_gets_tables_and_the_fit(tmp_path, capsys):
    """All or nothing, and people are told."""
    judgments = adjudge.dataset("anesthesia")
    deliver(adjudge.fit(judgments), judgments, str(tmp_path / "deep" / "fit"), None, 3)
    names = sorted(path.name for path in (tmp_path / "deep" / "fit").iterdir())
    tables = ["items.parquet", "judges.csv", "judges.parquet", "judgments.npz", "judgments.parquet", "labels.csv"]
    assert names == ["fit.json", *tables, "params.npz"]
    assert "wrote labels.csv" in capsys.readouterr().out
