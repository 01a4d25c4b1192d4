"""``adjudge rerank``."""

import json
import re
import sys

import polars as pl
import pytest

from adjudge.learn.ranksvm import RankSVM


@pytest.fixture
def loop(run):
    """Leave the example, and a fit of it."""
    run("rerank", "train", "--example", "ex")
    run("fit", "ex/labels.csv", "--out", "ex/fit")


def test_the_loop_closes(run, loop, tmp_path):
    """From a fit to a ranker, to a run, to an evaluation, to what is judged again."""
    answer = run("rerank", "train", "ex/features.csv", "--fit", "ex/fit", "--out", "ex/svm", "--run", "ex/svm.run")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0].startswith("learned from ")
    assert lines[1] == "Features with the largest weights, in their own units (linear part)"
    assert lines[-1] == "wrote the ranker to ex/svm, and the run to ex/svm.run"
    assert "On topics that were not learned from (5 folds), by what is learned from" in lines
    judged = run("evaluate", "--fit", "ex/fit", "ex/bm25.run", "ex/svm.run", "--measures", "MAP", "--format", "csv")
    assert judged.out.splitlines()[1].startswith("bm25,MAP")
    again = run("rerank", "again", "ex/features.csv", "--fit", "ex/fit", "--budget", "4", "--out", "ex/pool.csv")
    assert again.out.startswith("Documents whose next judgment would change the ranking most")
    assert again.out.endswith("wrote 4 pairs to ex/pool.csv\n")
    assert pl.read_csv(tmp_path / "ex/pool.csv").columns == ["topic", "document"]


def test_a_ranker_ranks_new_documents(run, loop, tmp_path):
    """To a file or to standard output, by the features' names whatever their order."""
    run("rerank", "train", "ex/features.csv", "--fit", "ex/fit", "--out", "ex/svm")
    table = pl.read_csv(tmp_path / "ex/features.csv")
    table.select("length", "document", "match", "topic", "overlap", "bm25").head(5).write_csv(tmp_path / "new.csv")
    printed = run("rerank", "apply", "ex/svm", "new.csv")
    assert printed.code == 0
    assert [line.split()[3] for line in printed.out.splitlines()] == ["1", "2", "3", "4", "5"]
    assert printed.out.splitlines()[0].endswith(" svm")
    written = run("rerank", "apply", "ex/svm", "new.csv", "--out", "new.run", "--name", "mine")
    assert written.out == "wrote 5 documents of 1 topics to new.run\n"
    assert (tmp_path / "new.run").read_text() == printed.out.replace(" svm\n", " mine\n")


@pytest.mark.parametrize("how", ["pairs", "margin", "entropy", "label"])
def test_fits_teach_in_four_ways(run, loop, how, tmp_path):
    """Each is in the ranker's parameters or its pairs."""
    train = ("rerank", "train", "ex/features.csv", "--fit", "ex/fit", "--ranker", "svm", "--cost", "0.01", "--out", "r")
    assert run(*train, "--learn", how).code == 0
    assert json.loads((tmp_path / "r/ranker.json").read_text())["parameters"]["soft"] is (how == "pairs")


def test_weights_and_grades_teach_too(run, loop):
    """As adjudge weights writes them, and as qrels; by trees as well."""
    run("weights", "ex/labels.csv", "--scheme", "L", "--out", "weights.csv")
    message = ("rerank", "train", "ex/features.csv", "--out", "r")
    assert run(*message, "--weights", "weights.csv").code == 0
    assert run(*message, "--grades", "ex/truth.qrels", "--cost", "svmlight", "--pair-weight", "min").code == 0
    trees = run(*message, "--grades", "ex/truth.qrels", "--ranker", "lambdamart", "--trees", "5")
    assert trees.code == 0
    assert run("rerank", "apply", "r", "ex/features.csv").code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give exactly one of --fit, --weights and --grades to learn from: got none"),
        (("--fit", "f", "--grades", "g"), "got --fit and --grades"),
        (("--grades", "g", "--learn", "pairs"), "--learn pairs needs a fit: give its folder with --fit"),
        (("--grades", "g", "--joint"), "--joint needs a fit: give its folder with --fit"),
        (("--fit", "f", "--joint", "--learn", "label"), "--joint learns by pairs: leave out --learn label"),
        (("--grades", "g", "--trees", "3"), "--trees needs --ranker lambdamart"),
        (("--grades", "g", "--ranker", "lambdamart", "--cost", "1"), "--cost needs --ranker svm"),
        (("--grades", "g", "--cost", "much"), "--cost much is neither a number nor svmlight"),
        (("--grades", "g", "--ranker", "magic"), "ranker 'magic' is not one of 'svm', 'lambdamart'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, loop, options, message):
    """Before anything is read."""
    answer = run("rerank", "train", "ex/features.csv", "--out", "r", *options)
    assert answer.code == 2
    assert message in answer.err


def test_a_ranker_is_chosen_and_compared(run, loop, tmp_path):
    """The choice, the comparison with the first stage and the verdict are printed."""
    answer = run("rerank", "train", "ex/features.csv", "--fit", "ex/fit", "--out", "r", "--joint", "--first", "bm25")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert any(line.startswith("chosen from 9 candidates by 30 topics: the average of ") for line in lines)
    assert any(line.startswith("the ranker and the consensus learned from each other in ") for line in lines)
    head = next(line.split() for line in lines if line.startswith("measure"))
    assert head == ["measure", "bm25", "ranker", "difference", "95%", "interval", "p"]
    assert lines[-2].startswith("the ranker beats the first stage 'bm25': MAP 0.")
    assert lines[-1] == "wrote the ranker to r"


def test_a_ranker_that_does_not_beat_the_first_stage_is_not_saved(run, loop, tmp_path):
    """The status is 1, nothing is written, and --force saves it."""
    table = pl.read_csv(tmp_path / "ex/features.csv")
    table.select("topic", "document", "length").write_csv(tmp_path / "poor.csv")
    train = ("rerank", "train", "poor.csv", "--grades", "ex/truth.qrels", "--ranker", "svm", "--cost", "1")
    train = (*train, "--first", "ex/bm25.run", "--out", "r", "--run", "r.run")
    answer = run(*train)
    assert answer.code == 1
    mean = re.search(r"does not beat the first stage 'bm25': MAP (\S+) against (\S+),", answer.out)
    assert answer.err.splitlines()[-1] == (
        "adjudge: the ranker was not saved, because it does not beat the first stage 'bm25' (MAP "
        f"{mean[1]} against {mean[2]}): save it anyway with --force"
    )
    assert not (tmp_path / "r").exists()
    assert not (tmp_path / "r.run").exists()
    forced = run(*train, "--force")
    assert (forced.code, forced.out.splitlines()[-1]) == (0, "wrote the ranker to r, and the run to r.run")


def test_without_a_first_stage_the_command_says_so(run, loop, tmp_path):
    """And saves the ranker."""
    pl.read_csv(tmp_path / "ex/features.csv").drop("bm25").write_csv(tmp_path / "own.csv")
    answer = run("rerank", "train", "own.csv", "--fit", "ex/fit", "--ranker", "svm", "--cost", "1", "--out", "r")
    assert answer.code == 0
    assert answer.out.splitlines()[-2:] == [
        "the ranker was not compared with a first stage: name a feature or a run with --first",
        "wrote the ranker to r",
    ]


def test_a_file_in_the_place_of_the_folder_is_refused(run, loop):
    """It would be lost."""
    answer = run("rerank", "train", "ex/features.csv", "--fit", "ex/fit", "--out", "ex/labels.csv")
    assert (answer.code, answer.err) == (2, "adjudge: --out ex/labels.csv is a file: name a folder\n")


def test_topics_without_pairs_are_told(run, loop):
    """As a warning."""
    answer = run("rerank", "train", "ex/features.csv", "--fit", "ex/fit", "--learn", "label", "--out", "r")
    assert "groups have no pair" in answer.err


def test_without_lightgbm_the_line_to_type_is_told(run, loop, monkeypatch):
    """And no ranker is written."""
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    message = (
        "rerank",
        "train",
        "ex/features.csv",
        "--grades",
        "ex/truth.qrels",
        "--ranker",
        "lambdamart",
        "--out",
        "r",
    )
    answer = run(*message)
    assert answer.code == 1
    assert "pip install 'adjudge[lightgbm]'" in answer.err


def test_nothing_to_turn_is_said(run, loop, tmp_path):
    """Where features are all the same."""
    table = pl.read_csv(tmp_path / "ex/features.csv").select("topic", "document", one=pl.lit(1.0))
    table.write_csv(tmp_path / "flat.csv")
    assert run("rerank", "again", "flat.csv", "--fit", "ex/fit").out == "no judgment would change the ranking\n"


def test_one_topic_trains_a_ranker_without_a_measure(run, loop, tmp_path):
    """Which is said; a run of rankers that did not learn from it cannot be, and nothing is then written."""
    lines = (tmp_path / "ex/truth.qrels").read_text().splitlines(keepends=True)
    topic = next(line.split()[0] for line in lines if line.endswith(" 1\n"))
    (tmp_path / "one.qrels").write_text("".join(line for line in lines if line.split()[0] == topic))
    table = pl.read_csv(tmp_path / "ex/features.csv")
    table.filter(pl.col("topic") == topic).write_csv(tmp_path / "one.csv")
    for features in ("ex/features.csv", "one.csv"):
        message = ("rerank", "train", features, "--grades", "one.qrels", "--out", "one")
        answer = run(*message)
        assert (answer.code, answer.err) == (0, "")
        assert "MRR, MAP and P@1 are not defined: only one topic has pairs" in answer.out
        assert "nan" not in answer.out
        refused = run(*message[:-1], "other", "--run", "one.run")
        assert refused.code == 2
        assert refused.err.startswith("adjudge: there is no cross-validated run, because only one topic has pairs")
        assert not (tmp_path / "other").exists()
        assert not (tmp_path / "one.run").exists()
    assert run("rerank", "apply", "one", "ex/features.csv").code == 0


def test_a_ranker_without_names_takes_features_in_their_order(run, loop, tmp_path):
    """With a warning; another number of them is refused."""
    table = pl.read_csv(tmp_path / "ex/features.csv")
    X = table.drop("topic", "document").to_numpy()
    RankSVM().fit(X, X[:, 0] > 1, table["topic"].to_numpy() == "t1").save(tmp_path / "bare")
    answer = run("rerank", "apply", "bare", "ex/features.csv", "--out", "bare.run")
    assert (answer.code, answer.out) == (0, "wrote 360 documents of 30 topics to bare.run\n")
    assert answer.err == (
        "adjudge: warning: the ranker has no feature names; it takes the features in the order of ex/features.csv: "
        "'bm25', 'overlap', 'match', 'length'\n"
    )
    table.drop("match").write_csv(tmp_path / "few.csv")
    refused = run("rerank", "apply", "bare", "few.csv")
    assert (refused.code, refused.err) == (
        1,
        "adjudge: few.csv: has 3 features, 'bm25', 'overlap', 'length', but the ranker was trained on 4 features "
        "without names: give the same features in the same order\n",
    )


def test_a_damaged_ranker_is_refused(run, loop, tmp_path):
    """With the folder and what to do."""
    run("rerank", "train", "ex/features.csv", "--fit", "ex/fit", "--out", "ex/svm")
    (tmp_path / "ex/svm/ranker.npz").write_bytes(b"no zip")
    answer = run("rerank", "apply", "ex/svm", "ex/features.csv")
    assert answer.code == 1
    assert answer.err == (
        "adjudge: ex/svm: is a damaged saved ranker: ranker.npz was changed after it was saved; "
        "train and save it again\n"
    )


def test_topics_that_nobody_judged_are_named_to_be_judged(run, loop, tmp_path):
    """And counted."""
    table = pl.read_csv(tmp_path / "ex/features.csv")
    new = table.head(12).with_columns(topic=pl.lit("new"))
    pl.concat([table, new]).write_csv(tmp_path / "more.csv")
    answer = run("rerank", "again", "more.csv", "--fit", "ex/fit", "--budget", "20", "--out", "pool.csv")
    named = pl.read_csv(tmp_path / "pool.csv").filter(pl.col("topic") == "new").height
    assert named > 0
    assert f"1 topics have no judgments ('new'); {named} of these documents are theirs" in answer.out


@pytest.mark.parametrize("cost", ["0", "-1", "nan", "inf"])
def test_costs_that_are_none_are_refused(run, loop, cost):
    """By both commands."""
    for command, *more in (("train", "--out", "r"), ("again",)):
        answer = run("rerank", command, "ex/features.csv", "--fit", "ex/fit", f"--cost={cost}", *more)
        assert answer.code == 2
        assert "is not a number above 0" in answer.err


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("train", "ex/features.csv", "--grades", "ex/truth.qrels", "--out", "r", "--run", "ex/features.csv"), "--run"),
        (("train", "ex/features.csv", "--grades", "ex/truth.qrels", "--out", "r", "--run", "ex/truth.qrels"), "--run"),
        (("apply", "svm", "ex/features.csv", "--out", "ex/features.csv"), "--out"),
        (("again", "ex/features.csv", "--fit", "ex/fit", "--out", "ex/../ex/features.csv"), "--out"),
    ],
)
def test_what_is_read_is_not_written_over(run, loop, tmp_path, command, option):
    """Features and grades are dear, and a run in their place is found out late."""
    run("rerank", "train", "ex/features.csv", "--fit", "ex/fit", "--out", "svm")
    before = {name: (tmp_path / "ex" / name).read_bytes() for name in ("features.csv", "truth.qrels")}
    answer = run("rerank", *command)
    assert answer.code == 2
    assert answer.err == f"adjudge: {option} {command[-1]} would overwrite an input: name another file\n"
    assert before == {name: (tmp_path / "ex" / name).read_bytes() for name in before}
    assert not (tmp_path / "r").exists()


def test_features_that_never_differ_are_named(run, loop, tmp_path):
    """Some count for nothing; where all do, a warning says that nothing is learned."""
    table = pl.read_csv(tmp_path / "ex/features.csv").with_columns(one=pl.lit(1.0))
    table.write_csv(tmp_path / "some.csv")
    table.select("topic", "document", "one").write_csv(tmp_path / "flat.csv")
    message = ("--grades", "ex/truth.qrels", "--out", "r")
    some, flat = run("rerank", "train", "some.csv", *message), run("rerank", "train", "flat.csv", *message)
    assert "1 of 5 features are constant within every topic and have no effect: 'one'" in some.out
    assert "none of 1 features differs between rows of one group: nothing is learned" in flat.err
    assert (some.code, flat.code) == (0, 0)


def test_a_run_into_a_folder_that_is_not_there_is_refused_before_any_work(run, loop, tmp_path):
    """No ranker is left behind; the folder of the ranker itself is made, and may hold the run."""
    train = ("rerank", "train", "ex/features.csv", "--fit", "ex/fit", "--out", tmp_path / "svm", "--run")
    answer = run(*train, tmp_path / "none" / "a.run")
    assert (answer.code, "the folder does not exist; create it first" in answer.err) == (2, True)
    assert not (tmp_path / "svm").exists()
    assert run(*train, tmp_path / "svm" / "a.run").code == 0
    assert (tmp_path / "svm" / "a.run").is_file()


def test_judges_are_held_back_from_an_evaluation(run, loop, tmp_path):
    """A run names the judges that it learned from, which a second fit leaves out; then nothing is noted."""
    judges = pl.read_csv(tmp_path / "ex/fit/judges.csv")["judge"]
    judges[:7].to_frame().write_csv(tmp_path / "half.csv")
    run("fit", "ex/labels.csv", "--without-judges", "half.csv", "--out", "teach")
    learned = ("--fit", "teach", "--ranker", "svm", "--cost", "1", "--force")
    run("rerank", "train", "ex/features.csv", *learned, "--out", "svm", "--run", "svm.run")
    assert sorted(pl.read_csv(tmp_path / "svm.run.judges.csv")["judge"]) == sorted(judges[7:])
    run("rerank", "apply", "svm", "ex/features.csv", "--out", "again.run")
    assert (tmp_path / "again.run.judges.csv").read_text() == (tmp_path / "svm.run.judges.csv").read_text()
    run("fit", "ex/labels.csv", "--without-judges", "svm.run.judges.csv", "--out", "compare")
    shown = ("ex/bm25.run", "svm.run", "again.run", "--measures", "MAP", "--draws", "20")
    assert "has learned from" not in run("evaluate", "--fit", "compare", *shown).out
    same = run("evaluate", "--fit", "teach", *shown).out
    assert "svm has learned from 8 of the 8 judges" in same
    assert "again has learned from 8 of the 8 judges" in same
