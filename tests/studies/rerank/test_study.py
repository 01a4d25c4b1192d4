"""Tests that see questions and runs."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from adjudge.errors import UsageError
from studies.rerank import cells as study_cells
from studies.rerank import methods as study_methods
from studies.rerank import study as study_rerank
from studies.rerank.cells import GRID, SLOW, Job, crowd_names, make_cell, read_cell
from studies.rerank.crowds import REGIMES
from studies.rerank.methods import BOOSTED, METHODS
from studies.rerank.study import compare_methods, jobs, pigeonholes, power, progress, rerank, two_way


def crossed(rng, runs, questions, of_runs, of_questions, shift=0.0):
    """Return differences (R, Q) with effects of their own."""
    return (
        shift
        + of_runs * rng.normal(size=(runs, 1))
        + of_questions * rng.normal(size=(1, questions))
        + 0.1 * rng.normal(size=(runs, questions))
    )


def test_one_run_leaves_students_t():
    """Over questions alone, as scipy has it."""
    difference = np.random.default_rng(0).normal(0.2, 1, (1, 30))
    error, p = two_way(difference, np.ones((1, 30), bool))
    assert p == pytest.approx(ttest_1samp(difference[0], 0).pvalue)
    assert error == pytest.approx(difference[0].std(ddof=1) / 30**0.5)


def test_nothing_differs_where_nothing_does():
    """And what always differs by the same does."""
    every = np.ones((2, 4), bool)
    assert two_way(np.zeros((2, 4)), every) == (0.0, 1.0)
    assert two_way(np.ones((2, 4)), every) == (0.0, 0.0)
    assert pigeonholes(np.zeros((1, 2, 4)), every, draws=10).tolist() == [1.0]


@pytest.mark.parametrize(("of_runs", "of_questions"), [(1.0, 0.1), (0.1, 1.0), (0.5, 1.5)])
def test_both_tests_hold_their_level(of_runs, of_questions):
    """Whether crowds or questions vary most: no more than one false alarm in twenty, and some room for chance."""
    rng, false = np.random.default_rng(3), np.zeros(2)
    for _ in range(200):
        difference = crossed(rng, 10, 60, of_runs, of_questions)
        every = np.ones(difference.shape, bool)
        p = two_way(difference, every)[1], pigeonholes(difference[None], every, draws=200)[0]
        false += np.array(p) < 0.05
    assert (false / 200 <= 0.09).all()


def test_the_variance_of_crowds_counts():
    """A test over questions alone would be sure of what one more crowd may turn round."""
    difference = crossed(np.random.default_rng(5), 10, 500, 1.0, 0.1, shift=0.4)
    (first,) = compare_methods(difference[None], np.zeros(difference.shape), np.ones(difference.shape, bool), draws=500)
    assert ttest_1samp(difference.mean(axis=0), 0).pvalue < 1e-6
    assert min(first.t, first.drawn, first.p) > 0.05


def test_what_is_sure_is_found():
    """By both, after the correction; p is never below either."""
    rng = np.random.default_rng(6)
    values = np.stack([crossed(rng, 10, 300, 0.2, 0.5, shift) for shift in (0.0, 1.0)])
    none, some = compare_methods(values, np.zeros(values.shape[1:]), np.ones(values.shape[1:], bool), draws=1_000)
    assert some.p < 0.05 < none.p
    assert some.p >= max(some.t, some.drawn)
    assert some.difference == pytest.approx(values[1].mean())


def test_runs_may_lack_questions():
    """What is not there has no part in anything."""
    rng = np.random.default_rng(7)
    difference, present = rng.normal(size=(4, 20)), rng.random((4, 20)) < 0.8
    other = np.where(present, difference, 99.0)
    assert two_way(other, present) == two_way(difference, present)
    both = [pigeonholes(d[None], present, draws=50).tolist() for d in (difference, other)]
    assert both[0] == both[1]


def test_draws_there_must_be():
    """One or more."""
    with pytest.raises(UsageError, match="draws 0 is not 1 or more"):
        pigeonholes(np.zeros((1, 2, 2)), np.ones((2, 2), bool), draws=0)


def letor(folder: Path) -> Path:
    """Write a small folder as trecqa_letor is, and return the folder of sets."""
    rng = np.random.default_rng(0)
    path = folder / "trecqa_letor"
    path.mkdir(parents=True)
    (path / "feature_names.json").write_text('["bm25", "noise"]')
    lines = []
    for n in range(160):
        truth = int(n % 8 < 2)
        numbers = f"1:{truth + rng.normal():.4f} 2:{rng.normal():.4f}"
        lines.append(f"{truth} qid:{n // 8} {numbers} # re={truth ^ int(rng.random() < 0.1)} doc=p{n}")
    (path / "features.svm").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Return a folder of sets, with two crowds on the one there is."""
    for room in (study_cells, study_rerank):
        monkeypatch.setattr(room, "crowd_names", lambda name: ["paper", "noisy"])
    monkeypatch.setattr(study_rerank, "TRACES", (("trecqa_letor", "noisy"),))
    study_cells._rows.cache_clear()
    return letor(tmp_path / "data")


def test_every_method_is_held_against_truth_and_vote(small, tmp_path):
    """With the spread over folds, and tests against CA and LPTC."""
    result = rerank(small, ["trecqa_letor"], runs=2, draws=100, keep=tmp_path / "cells")
    assert result.crowd_keys() == [("trecqa_letor", "paper"), ("trecqa_letor", "noisy")]
    results = {r.method: r for r in result.at("trecqa_letor", "noisy")}
    assert list(results) == list(METHODS)
    assert ("trecqa_letor", "noisy") in SLOW
    assert results["CA"].tests.keys() == {"LPTC"}
    assert results["LM LPTC"].tests.keys() == {"CA", "LPTC", "LM CA"}
    assert results["DS margin"].tests.keys() == {"CA", "LPTC"}
    test = results["gold"].tests["CA"]["MRR"]
    assert test.difference == pytest.approx(results["gold"].mean["truth"]["MRR"] - results["CA"].mean["truth"]["MRR"])
    assert (results["CA"].questions, results["CA"].runs) == (20, 2)
    assert results["CA"].spread["truth"]["MAP"] > 0
    assert results["CA"].mean["vote"]["MAP"] != results["CA"].mean["truth"]["MAP"]
    columns = result.columns()
    assert len(columns["set"]) == (2 * len(METHODS) + len(GRID) * 5) * 2 * 3
    assert {"over_CA", "p_t_CA", "p_drawn_LPTC", "p_CA", "over_CA_error", "fold_spread"} < set(columns)
    gains, *tables = result.tables()
    assert gains.head == ["method", "paper", "noisy"]
    assert tables[0].title.startswith("trecqa_letor, crowd paper: ")
    assert tables[0].title.endswith("; 20 questions, 2 runs; in percent")
    assert result.facts("trecqa_letor", "paper")["judgments"] == 800
    panels = {(panel, c) for panel, c, _, _ in result.curves()}
    assert panels == {("trecqa_letor, crowd noisy", c) for c in GRID}


def test_finished_cells_are_not_made_again(small, tmp_path, monkeypatch):
    """And an interrupt loses nothing that is finished."""
    real, calls = study_cells._cell, []

    def counted(job, rows):
        calls.append(job)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(job, rows)

    monkeypatch.setattr(study_cells, "_cell", counted)
    messages = []
    first = rerank(small, ["trecqa_letor"], runs=2, draws=50, keep=tmp_path / "cells", say=messages.append)
    assert (first.interrupted, len(first.cells)) == (True, 3)
    assert first.warnings() == ["interrupted; 3 cells are finished"]
    assert any(line.startswith("[###-") and " 3 of 20" in line for line in messages)
    again = rerank(small, ["trecqa_letor"], runs=2, draws=50, keep=tmp_path / "cells")
    assert (again.interrupted, len(again.cells)) == (False, 4 + 2 * len(GRID))
    assert len(calls) == 4 + len(again.cells) - 3
    assert again.warnings() == []


def test_an_interrupt_before_the_first_cell_is_one(small, monkeypatch):
    """There is nothing to show."""

    def stop(job, rows):
        raise KeyboardInterrupt

    monkeypatch.setattr(study_cells, "_cell", stop)
    with pytest.raises(KeyboardInterrupt):
        rerank(small, ["trecqa_letor"], runs=1)


def test_cells_depend_on_their_name_alone(small, tmp_path):
    """Made twice they are the same, whatever was made before; read again they are what was made."""
    single, two = (Job(str(small), str(tmp_path / k), "trecqa_letor", "noisy", 1, 0) for k in "ab")
    first = make_cell(single)
    make_cell(two._replace(run=0))
    assert make_cell(two).values["LPTC"]["MAP"].tolist() == first.values["LPTC"]["MAP"].tolist()
    again = read_cell(single)
    assert again.folds["CA"]["vote"]["MRR"].tolist() == first.folds["CA"]["vote"]["MRR"].tolist()
    assert again.questions == first.questions


def test_a_cell_that_cannot_be_read_is_made_anew(small, tmp_path):
    """Half written, or of another format."""
    job = Job(str(small), str(tmp_path), "trecqa_letor", "paper", 0, 0)
    assert read_cell(job) is None
    job.path.write_text("{")
    assert read_cell(job) is None
    cell = make_cell(job)
    body = json.loads(job.path.read_text())
    job.path.write_text(json.dumps({**body, "format": 0}))
    assert read_cell(job) is None
    assert cell.job == job


def test_crowds_follow_from_the_set():
    """Simulated ones where truth is known, real ones where they are."""
    assert crowd_names("xquad_sentences") == ["shipped", *REGIMES]
    assert crowd_names("qa_wikiqa") == list(REGIMES)
    assert crowd_names("nyt_passages") == ["real"]


def test_runs_come_before_crowds():
    """So that an interrupted study has all crowds."""
    make_cell = jobs(Path("d"), Path("k"), ["cast_snippets", "trecqa_letor"], 2, 0)
    assert [(job.set, job.crowd, job.run) for job in make_cell[:3]] == [
        ("cast_snippets", "real", 0),
        ("cast_snippets", "real", 1),
        ("trecqa_letor", "paper", 0),
    ]
    assert make_cell[3].crowd == "clean"


def test_both_targets_have_means_over_questions(small, tmp_path):
    """Not means of folds on one side: where the vote is the truth, they are the same."""
    cell = make_cell(Job(str(small), str(tmp_path), "trecqa_letor", "noisy", 0, 0))
    score = study_cells.scored(*_task_of(small, cell.job), study_cells._fold(cell.job, _rows_of(small))).score
    task, rows = _task_of(small, cell.job)[0], _rows_of(small)
    own = study_cells.score_groups(score, task.majority, rows.question, rows.document).means()
    assert cell.voted["CA"] == pytest.approx(own, abs=1e-5)
    assert np.nanmean(cell.folds["CA"]["vote"]["MRR"]) != pytest.approx(own["MRR"], abs=1e-9)


def _rows_of(data):
    """Return the rows of the small set."""
    return study_cells._rows(str(data), "", "trecqa_letor")


def _task_of(data, job):
    """Return the task of a cell, and CA."""
    rows = _rows_of(data)
    rng = np.random.default_rng([job.seed, job.run, zlib.crc32(f"{job.set} {job.crowd}".encode())])
    crowd, truth = study_cells._crowd(rows, job.crowd, rng)
    return study_cells.Task(rows, crowd, truth), METHODS["CA"]


def test_a_cell_of_other_data_methods_or_code_is_not_taken(small, tmp_path, monkeypatch):
    """Each computes all cells again, in addition to the stored ones; unchanged cells are read."""
    keep, counts = tmp_path / "cells", []

    def run():
        made_now = []
        monkeypatch.setattr(study_rerank, "make_cell", lambda job: made_now.append(job) or make_cell(job))
        result = rerank(small, ["trecqa_letor"], runs=1, draws=10, keep=keep)
        counts.append(len(made_now))
        return result

    first = run()
    before = {r.method for r in first.results}
    run()
    features = small / "trecqa_letor" / "features.svm"
    features.write_text(features.read_text().replace("doc=p7\n", "doc=p0007\n"))
    study_cells._rows.cache_clear()
    run()
    monkeypatch.setattr(study_cells, "code_mark", lambda: "another")
    run()
    fewer = {name: method for name, method in METHODS.items() if name != "DS"}
    for module in (study_rerank, study_cells, study_methods):
        monkeypatch.setattr(module, "METHODS", fewer)
    last = run()
    every = len(first.cells)
    assert counts == [every, 0, every, every, every]
    assert before - {r.method for r in last.results} == {"DS"}


def test_a_cell_of_another_mark_under_the_same_name_is_made_anew(small, tmp_path):
    """The file itself tells."""
    job = Job(str(small), str(tmp_path), "trecqa_letor", "paper", 0, 0, None, "one")
    make_cell(job)
    other = job._replace(mark="two")
    other.path.write_bytes(job.path.read_bytes())
    assert read_cell(job) is not None
    assert read_cell(other) is None


def test_methods_that_ask_no_crowd_are_as_if_asked_each_time(small, tmp_path):
    """The same scores for all crowds of a run."""
    first, two = (
        make_cell(Job(str(small), str(tmp_path), "trecqa_letor", crowd, 0, 0)) for crowd in ("paper", "noisy")
    )
    for name in study_cells.UNASKED:
        assert first.values[name]["MRR"].tolist() == two.values[name]["MRR"].tolist()
    assert first.values["CA"]["MRR"].tolist() != two.values["CA"]["MRR"].tolist()


def test_trees_are_left_out_where_they_are_not_installed(small, tmp_path, monkeypatch):
    """And that is said."""
    monkeypatch.setattr(study_methods, "find_spec", lambda name: None)
    monkeypatch.setattr(study_rerank, "find_spec", lambda name: None)
    result = rerank(small, ["trecqa_letor"], runs=1, draws=10)
    assert not {r.method for r in result.results} & set(BOOSTED)
    assert result.warnings() == ["LambdaMART is left out: pip install 'adjudge[lightgbm]'"]


def test_c_is_shown_as_a_power():
    """Of two."""
    assert (power(2**-12), power(1.0)) == ("2^-12", "2^0")


def test_progress_is_a_bar():
    """With the time that is left."""
    job = Job("d", "k", "qa_wikiqa", "paper", 0, 0)
    assert progress(5, 20, 30, job) == "[#####---------------] 5 of 20, 30 s left: qa_wikiqa, paper"
    assert "4 min left" in progress(5, 20, 250, job)


def test_no_set_is_refused(tmp_path):
    """There must be one."""
    with pytest.raises(UsageError, match="there is no set to study: name some with --sets"):
        rerank(tmp_path, [])
