"""The page of honesty: all sections from small simulated crowds, coverage, and failures in words."""

import json
from contextlib import nullcontext

import numpy as np
import pytest

from adjudge.inference.calibration import SIZE_CLASSES
from studies import honesty_compare, honesty_gold, honesty_page
from studies.honesty import Case, Score, sample, simulate, thin
from studies.honesty_compare import Method, compare, vote_shares
from studies.honesty_gold import Exchange
from studies.honesty_mixed import MixedScore
from studies.honesty_page import Figures, failures, main, page, rows_of_coverage, trained

QUIET = lambda text: None  # noqa: E731
ANSWERS = ("people beside machines: consensus", "one person", "machines: consensus")


def small_cases():
    """Return three crowds and two panels of families of their own, in full and thinned, and a simulated crowd."""
    cases = []
    for seed, kind in enumerate(("crowd", "crowd", "crowd", "panel", "panel")):
        judgments, truth = simulate(np.random.default_rng(seed), 50, 8, 6, 2, 0.6 + 0.08 * seed)
        full = Case(f"set{seed}", kind, f"set{seed}", 0, judgments, truth)
        cases += [full, *(thin(full, most) for most in (5, 3, 2, 1))]
    judgments, truth = simulate(np.random.default_rng(9), 50, 8, 5, 2, 0.8)
    return [*cases, Case("independent", "simulated", "simulated", 0, judgments, truth)]


def few_methods():
    """Return four fast methods."""
    names = ("vote", "vote + 1", "consensus", "dawid-skene")
    return [method for method in ALL_METHODS if method.name in names]


ALL_METHODS = honesty_compare.methods()


@pytest.fixture(scope="module")
def figures():
    """Return the figures of small crowds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(honesty_compare, "methods", few_methods)
        patch.setattr(honesty_gold, "DRAWS", dict.fromkeys(honesty_gold.SIZES, 1))
        samples = [sample(case) for case in small_cases()]
        scores, weights, taught, fitted = trained(samples, QUIET)
        mixed = [MixedScore(name, 0, "p", Score(0.9 - n / 10, 0.4, 0.0)) for n, name in enumerate(ANSWERS)]
        cells = compare(samples, weights, QUIET)
        exchanged = [Exchange(200, 50, 2, 0.9, 0.8, 0.1)]
        return Figures(samples, scores, weights, taught, fitted, exchanged, mixed, cells)


def test_the_page_has_all_sections(figures, monkeypatch):
    """Failures come first, and every table has rows."""
    monkeypatch.setattr(honesty_compare, "methods", few_methods)
    text = page(figures)
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles[0] == "## Where it fails"
    assert len(titles) == 9
    assert sum(line.startswith("| --- |") for line in text.splitlines()) == 12
    assert "nan" not in text
    assert "| 200 | 50 | 2 | 0.900 | 0.800 | 0.100 |" in text
    assert "| dawid-skene |" in text


def test_the_consensus_of_cells_is_that_of_the_scores(figures):
    """The table of methods and the table of sets show the same left-out figures."""
    cells = {(cell.name, cell.thinned): cell.score for cell in figures.cells if cell.method == "consensus"}
    for each, own in zip(figures.samples, figures.scores, strict=True):
        if each.case.kind != "simulated":
            assert cells[each.case.name, each.case.thinned] == pytest.approx(own, abs=1e-4)


def test_coverage_counts_gaps_within_the_margins_of_other_families(figures):
    """A margin of one covers everything, and a margin of zero nothing."""
    for margin, expected in ((1.0, "100%"), (-1.0, "0%")):
        learned = {
            family: {
                "margins": dict.fromkeys(map(str, SIZE_CLASSES), margin),
                "gold": {"margins": dict.fromkeys(map(str, (5, 10, 20)), margin)},
            }
            for family in figures.weights
        }
        rows = list(rows_of_coverage(figures._replace(weights=learned)))
        assert len(rows) == 6 + 3
        assert {row[3] for row in rows} == {expected}


def test_failures_name_sets_that_are_worse_than_the_vote(figures):
    """If the consensus is as bad as can be, every set is listed; the failing mixed panel is named too."""
    bad = [Score(0.0, 9.0, 0.9) for _ in figures.scores]
    text = "\n".join(failures(figures._replace(scores=bad)))
    assert "log loss is above that of the vote on 5 of 5 sets" in text
    assert "`set0` claims 90 points more than is right" in text
    assert "People beside machines" not in text
    swapped = [
        each._replace(score=Score(0.1, 1.0, 0.0)) if each.method == ANSWERS[0] else each for each in figures.mixed
    ]
    assert "on `p` (0.100, one person 0.800)" in "\n".join(failures(figures._replace(mixed=swapped)))


def test_left_out_weights_differ_from_those_of_all_sets(figures):
    """Every family has weights that were learned without it."""
    everything = figures.weights["simulated"]
    assert set(figures.weights) == {"simulated", *(f"set{n}" for n in range(5))}
    assert all(figures.weights[f"set{n}"]["by_crowd"] != everything["by_crowd"] for n in range(5))
    assert everything["trained_on"] == {"crowd": ["set0", "set1", "set2"], "panel": ["set3", "set4"]}


def test_missing_cleanlab_is_told(monkeypatch):
    """The page says that cleanlab is missing, or which version was used."""
    monkeypatch.setattr(honesty_page, "installed", lambda name: "")
    assert "cleanlab is not installed, and missing here" in honesty_page.not_run()
    monkeypatch.setattr(honesty_page, "installed", lambda name: "2.9.0")
    assert "cleanlab 2.9.0 gets the smoothed votes" in honesty_page.not_run()


def test_weights_and_page_are_written_if_asked(figures, monkeypatch, tmp_path, capsys):
    """Without --write the page is only printed."""
    monkeypatch.setattr(honesty_page, "data_folder", lambda: tmp_path)
    monkeypatch.setattr(honesty_page, "read_cases", lambda folder, say: small_cases()[:1])
    monkeypatch.setattr(
        honesty_page,
        "trained",
        lambda samples, say, each: (figures.scores, figures.weights, figures.taught, figures.fitted),
    )
    monkeypatch.setattr(honesty_page, "mixed_scores", lambda folder, weights, say, each: figures.mixed)
    monkeypatch.setattr(honesty_page, "exchanges", lambda: figures.exchanged)
    monkeypatch.setattr(honesty_page, "compare", lambda samples, weights, say, each: figures.cells)
    monkeypatch.setattr(honesty_page, "parallel_map", lambda workers: nullcontext(map))
    monkeypatch.setattr(honesty_page, "page", lambda result: f"# {len(result.cells)} cells\n")
    monkeypatch.setattr(honesty_page, "WEIGHTS", tmp_path / "weights.json")
    monkeypatch.setattr(honesty_page, "PAGE", tmp_path / "page.md")
    main([])
    assert not (tmp_path / "page.md").exists()
    main(["--write"])
    assert (tmp_path / "page.md").read_text() == f"# {len(figures.cells)} cells\n"
    assert json.loads((tmp_path / "weights.json").read_text())["margins"] == figures.weights["simulated"]["margins"]
    assert "cells" in capsys.readouterr().out


def test_methods_are_run_on_votes():
    """The first method is the vote."""
    assert ALL_METHODS[0] == Method("vote", vote_shares)
