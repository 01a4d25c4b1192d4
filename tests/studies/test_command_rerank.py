"""``python -m studies rerank``."""

import json
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from studies.rerank import cells as study_cells
from studies.rerank import study as study_rerank


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Leave a small folder as trecqa_letor is, with two crowds, in this process alone."""
    for room in (study_cells, study_rerank):
        monkeypatch.setattr(room, "crowd_names", lambda name: ["paper", "noisy"])
    monkeypatch.setattr(study_rerank, "TRACES", (("trecqa_letor", "noisy"),))
    monkeypatch.setattr("studies.command._cores", lambda: 1)
    study_cells._rows.cache_clear()
    folder, rng = tmp_path / "data" / "trecqa_letor", np.random.default_rng(0)
    folder.mkdir(parents=True)
    (folder / "feature_names.json").write_text('["bm25", "noise"]')
    numbers = [(int(n % 8 < 2), n // 8, int(n % 8 < 2) + rng.normal(), rng.normal(), n) for n in range(160)]
    lines = [f"{y} qid:{q} 1:{a:.4f} 2:{b:.4f} # re={y} doc=p{n}" for y, q, a, b, n in numbers]
    (folder / "features.svm").write_text("\n".join(lines) + "\n")


STUDY = ("study", "rerank", "--data", "data", "--sets", "trecqa_letor", "--runs", "1", "--draws", "20")


def test_people_see_gains_and_a_table_of_each_crowd(run, small):
    """In percent, as in the paper's table 1."""
    answer = run(*STUDY)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("trecqa_letor: MRR above CA in points, by crowd")
    assert "trecqa_letor, crowd noisy: 3" in answer.out
    assert "BM25" in answer.out


def test_out_keeps_cells_table_and_figure(run, small, tmp_path, monkeypatch):
    """The next run computes nothing again."""
    answer = run(*STUDY, "--out", "results")
    assert answer.out.endswith("wrote study_rerank.csv to results\nwrote study_rerank.svg to results\n")
    table = pl.read_csv(tmp_path / "results/study_rerank.csv")
    assert {"set", "crowd", "method", "c", "target", "measure", "value", "p_CA"} < set(table.columns)
    drawn = set(ElementTree.parse(tmp_path / "results/study_rerank.svg").getroot().itertext())
    assert {"LPTC", "MRR, percent"} < drawn
    cells = list((tmp_path / "results/cells").glob("*.json"))
    assert len(cells) == 2 + len(study_cells.GRID)
    assert json.loads(cells[0].read_text())["format"] == study_cells.FORMAT
    monkeypatch.setattr(study_cells, "_cell", None)
    assert run(*STUDY, "--out", "results").out == answer.out


def test_it_is_listed(run):
    """With its sets, beside the others."""
    answer = run("study")
    assert "rerank, sets: xquad_sentences, qa_wikiqa" in answer.out.replace("\n", " ")
    assert "Abad and Moschitti 2016 (paper 004)" in answer.out.replace("\n", " ")


def test_sizes_say_nothing_to_it(run, small):
    """And it is said which studies have them."""
    answer = run(*STUDY, "--sizes", "5")
    assert (answer.code, answer.err) == (
        2,
        "adjudge: study 'rerank' has no --sizes; studies with this option are 'spectrum', 'memory'\n",
    )
