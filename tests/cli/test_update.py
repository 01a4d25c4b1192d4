"""``adjudge update``: from a folder and a table to a folder."""

import json
import signal

import polars as pl
import pytest

import adjudge
from adjudge.cli.output import JUDGMENTS
from adjudge.inference.save import JUDGED

NEW = "item,judge,label,topic\nd1,x,yes,t0\nn1,x,yes,t0\nn1,nobody,no,t0\n"


@pytest.fixture
def fitted(run, labels, tmp_path):
    """Return the folder of a fit, beside new judgments."""
    assert run("fit", "labels.csv", "--out", "fit").code == 0
    (tmp_path / "new.csv").write_text(NEW)
    return tmp_path / "fit"


def contents(folder):
    """Return the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_folder_is_all_that_is_needed(run, fitted):
    """The fit in it is replaced by that of all judgments, tables and all."""
    answer = run("update", "fit", "new.csv")
    assert answer.code == 0, answer.err
    assert "wrote labels.csv, judges.csv and the fit to fit" in answer.out
    fit = adjudge.load(fitted)
    assert (len(fit.items), len(fit.judge_names), int(fit.judged.sum())) == (13, 4, 39)
    assert pl.read_parquet(fitted / JUDGMENTS).height == len(fit.judgments) == 39
    assert pl.read_csv(fitted / "labels.csv")["item"].to_list()[-1] == "n1"
    cold = adjudge.fit(fit.judgments)
    assert cold.evidence[-1] - fit.evidence[-1] <= 1e-8 * 39


def test_updates_follow_each_other(run, fitted):
    """Each goes on from what the last one wrote, and other commands read it."""
    for more in ((), ("--online",), ()):
        assert run("update", "fit", "new.csv", *more).code == 0
    assert adjudge.load(fitted).judged.sum() == 45
    assert run("judges", "fit").code == 0
    assert run("predict", "fit", "new.csv").code == 0


def test_out_leaves_the_fit_as_it_is(run, fitted, tmp_path):
    """Byte by byte."""
    before = contents(fitted)
    answer = run("update", "fit", "new.csv", "--out", "grown", "--format", "csv")
    assert answer.out.startswith("item,label,probability")
    assert contents(fitted) == before
    assert adjudge.load(tmp_path / "grown").judged.sum() == 39


def test_times_stay_beside_the_fit(run, tmp_path):
    """Codes have none, the table has: drift needs them."""
    (tmp_path / "old.csv").write_text("item,judge,label,time\na,x,0,1\nb,x,1,2\na,y,0,3\nb,y,1,4\n")
    (tmp_path / "new.csv").write_text("item,judge,label,time\na,z,0,5\n")
    run("fit", "old.csv", "--out", "fit")
    assert run("update", "fit", "new.csv").code == 0
    stored = pl.read_parquet(tmp_path / "fit" / JUDGMENTS)
    assert sorted(stored["time"].to_list()) == ["1", "2", "3", "4", "5"]


def test_a_fit_without_its_judgments_says_what_to_do(run, fitted):
    """--data gives them, --online does without; an older folder has them as a table."""
    about = json.loads((fitted / "fit.json").read_text())
    del about["checksums"][JUDGED]
    (fitted / "fit.json").write_text(json.dumps(about))
    (fitted / JUDGED).unlink()
    assert run("update", "fit", "new.csv", "--out", "from-table").code == 0
    (fitted / JUDGMENTS).unlink()
    answer = run("update", "fit", "new.csv")
    assert answer.code == 2
    assert "are not saved with it: give them with --data, or update with --online" in answer.err
    assert run("update", "fit", "new.csv", "--data", "labels.csv", "--out", "given").code == 0
    online = run("update", "fit", "new.csv", "--online", "--out", "online")
    assert online.code == 0, online.err
    assert "updated online with 3 judgments" in online.out
    assert adjudge.load("given").judgments is not None
    assert adjudge.load("online").judgments is None


def test_gold_is_told(run, fitted, tmp_path):
    """In addition to what was."""
    (tmp_path / "gold.csv").write_text("item,label\nn1,no\n")
    assert run("update", "fit", "new.csv", "--gold", "gold.csv").code == 0
    assert adjudge.load(fitted).labels.filter(pl.col("item") == "n1")["label"].to_list() == ["no"]


@pytest.mark.parametrize(
    ("table", "code", "said"),
    [
        ("item,judge,label\nn1,x,maybe\n", 1, "row 2: label 'maybe' is not one of 'no', 'yes' (a fit keeps its scale"),
        ("item,judge,label\n", 1, "new.csv: the file has a header but no rows"),
        ("item,judge\nn1,x\n", 1, "label"),
    ],
)
def test_bad_tables_are_refused_and_the_fit_stays(run, fitted, tmp_path, table, code, said):
    """With file and row."""
    before = contents(fitted)
    (tmp_path / "new.csv").write_text(table)
    answer = run("update", "fit", "new.csv")
    assert answer.code == code
    assert said in answer.err
    assert contents(fitted) == before


def test_what_is_not_a_fit_is_refused(run, labels):
    """With what to do."""
    answer = run("update", "nowhere", "labels.csv")
    assert (answer.code, "`adjudge fit --out` write one" in answer.err) == (1, True)


def test_ctrl_c_leaves_the_fit_and_says_where_the_rest_is(run, fitted, tmp_path, monkeypatch):
    """The state so far goes beside it."""

    def enough(self, passes, evidence):
        raise KeyboardInterrupt

    before = contents(fitted)
    monkeypatch.setattr("adjudge.cli.output.FitProgress.__call__", enough)
    answer = run("update", "fit/", "new.csv")
    assert answer.code == 130
    assert "wrote labels.csv, judges.csv and the fit to fit-interrupted" in answer.out
    assert "the fit has not converged: interrupted" in answer.err
    assert contents(fitted) == before
    assert adjudge.load(tmp_path / "fit-interrupted").stopped == "interrupted"


def test_ctrl_c_while_files_are_replaced_is_not_heard(run, fitted, monkeypatch):
    """Half of two fits would be none."""
    from adjudge.cli import output

    write = output.write_whole

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        write(*arguments)

    monkeypatch.setattr(output, "write_whole", interrupted)
    assert run("update", "fit", "new.csv").code == 0
    assert adjudge.load(fitted).judged.sum() == 39
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
