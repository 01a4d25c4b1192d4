"""``adjudge check`` and ``adjudge draws``."""

import sys

import pytest

CROWD = ("simulate", "dawid-skene", "--size", "items=120", "--size", "judges=6", "--size", "labels=2", "--out", "crowd")
SHORT = ("--chains", "2", "--warmup", "100", "--draws", "300", "--seed", "3")


@pytest.fixture
def sampled(run):
    """Write a sampled fit of a simulated crowd, and return where its judgments are."""
    run(*CROWD)
    assert run("fit", "crowd/labels.csv", "--model", "hybrid-confusion", *SHORT, "--out", "fit").code == 0
    return "crowd/labels.csv"


def test_chains_crowd_and_items_are_checked(run, sampled):
    """All three parts are there, and a crowd drawn from the model is explained by it."""
    answer = run("check", "fit", sampled, "--rows", "3")
    assert answer.code == 0
    assert "Chains: the worst 3 of 26 parameters" in answer.out
    assert "Crowd: The model explains the crowd" in answer.out
    assert "PSIS-LOO" in answer.out
    assert "WAIC" in answer.out


def test_two_fits_are_compared(run, sampled):
    """By the difference of their held-out log-likelihoods."""
    run("fit", sampled, "--model", "hierarchical", *SHORT, "--out", "other")
    answer = run("check", "fit", sampled, "--against", "other")
    assert answer.code == 0
    assert "hybrid-confusion against hierarchical: elpd " in answer.out


def test_a_fit_without_draws_is_refused(run, sampled):
    """With what to fit instead."""
    run("fit", sampled, "--out", "climbed")
    answer = run("check", "climbed", sampled)
    assert answer.code == 2
    assert answer.err == (
        "adjudge: this fit of 'consensus' has no draws: fit 'hierarchical' or 'hybrid-confusion', which are sampled\n"
    )


def test_other_judgments_are_refused(run, sampled, tmp_path):
    """A fit is checked against what it was made from."""
    (tmp_path / "new.csv").write_text("item,judge,label\ni1,stranger,0\n")
    answer = run("check", "fit", "new.csv")
    assert answer.code == 2
    assert "the fit was not made from these judgments: it has no judge 'stranger'" in answer.err


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
        assert dict(tree["log_likelihood"].sizes) == {"chain": 2, "draw": 50, "item": 12}
        assert tree["observed_data"].sizes["judgment"] == 36
    answer = run("draws", "fit", "--out", "draws.csv")
    assert (answer.code, answer.out, answer.err) == (0, "wrote 2 x 50 draws to draws.csv\n", "")
    assert (tmp_path / "draws.csv").read_text().startswith('parameter,chain,draw,value\n"phi[no, no]",0,0,')
    answer = run("draws", "fit", "--out", "draws.txt")
    assert (answer.code, answer.err) == (
        2,
        "adjudge: draws.txt: the name must end in one of '.nc', '.csv', '.parquet'\n",
    )


def test_a_missing_extra_is_named(run, labels, monkeypatch):
    """With the line to type."""
    run("fit", "labels.csv", "--model", "hybrid-confusion", "--draws", "50", "--out", "fit")
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    answer = run("draws", "fit")
    assert answer.code == 1
    assert "needs 'adjudge[bayes]', which is not installed: pip install 'adjudge[bayes]'" in answer.err


def test_draws_of_a_fit_without_draws_are_refused(run, labels):
    """With what to fit instead."""
    run("fit", "labels.csv", "--out", "fit")
    assert "has no draws" in run("draws", "fit").err
