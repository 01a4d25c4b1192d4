"""``adjudge draws``."""

import sys


def test_draws_are_written_for_arviz(run, labels, tmp_path):
    """A file that xarray reads, judges and labels by name."""
    import xarray

    short = ("--chains", "2", "--warmup", "20", "--draws", "50")
    run("fit", "labels.csv", "--model", "hierarchical", *short, "--out", "fit")
    answer = run("draws", "fit", "--out", "draws.nc")
    assert (answer.code, answer.out) == (0, "wrote 2 x 50 draws to draws.nc\n")
    with xarray.open_datatree(tmp_path / "draws.nc", engine="h5netcdf") as tree:
        assert dict(tree["posterior"].sizes)["draw"] == 50
        assert tree["posterior"]["confusion"].dims == ("chain", "draw", "judge", "truth", "label")
        assert tree["posterior"]["population"].values.tolist() == ["no", "yes", "topics"]


def test_a_missing_extra_is_named(run, labels, monkeypatch):
    """With the line to type."""
    run("fit", "labels.csv", "--model", "hybrid-confusion", "--draws", "50", "--out", "fit")
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    answer = run("draws", "fit")
    assert answer.code == 1
    assert "needs 'adjudge[bayes]', which is not installed: pip install 'adjudge[bayes]'" in answer.err


def test_a_fit_without_draws_is_refused(run, labels):
    """With what to fit instead."""
    run("fit", "labels.csv", "--out", "fit")
    assert "has no draws" in run("draws", "fit").err
