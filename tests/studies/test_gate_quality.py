"""The study of the gates: judges who come and go, what is accepted, and what it costs."""

from pathlib import Path

import numpy as np
import pytest

from studies.benchmarks import gate_quality
from studies.benchmarks.gate_quality import OFF, PatientSpammer, Pupil, Setup, draw_judge, read_truth, run_campaign
from studies.benchmarks.studio_campaign import Size, write_campaign

SMALL = Size(topics=6, documents=10, gold=8, words=3, graded=1)
HALF_SPAM = {"good": 0.5, "patient": 0.5}
GOLD = OFF | {"assignment": {}, "gate": {"seconds": 0.0}}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make campaigns small."""
    monkeypatch.setattr(gate_quality, "SIZE", SMALL)


def test_read_truth_knows_every_pair(tmp_path: Path) -> None:
    """The truth of a generated campaign covers the pool, the gold sets and the qualification."""
    write_campaign(tmp_path, SMALL)
    truth = read_truth(tmp_path)
    assert len(truth) == 6 * 10 + 8 * 5 + 6 * 5
    assert set(truth.values()) == {0, 1, 2}


def test_only_some_documents_of_a_qualification_set_are_graded(tmp_path: Path) -> None:
    """With one graded document, gold.csv has one row per qualification set."""
    write_campaign(tmp_path, SMALL)
    assert (tmp_path / "gold.csv").read_text().count("qualification") == 6


def test_without_gates_every_judgment_is_accepted_and_paid(small: None) -> None:
    """The cost is then the number of judgments per document, and all of it is paid."""
    measured = run_campaign(Setup("none", OFF), HALF_SPAM, 2, seed=0)
    assert measured.judged == measured.paid == 2


def test_gold_sets_refuse_spammers(small: None) -> None:
    """Gold sets cost work that is not paid, and give better labels than no gate."""
    none, gold = (run_campaign(Setup("", settings), HALF_SPAM, 2, seed=1) for settings in (OFF, GOLD))
    assert gold.judged > gold.paid > 2
    assert gold.vote > none.vote
    assert gold.loss < none.loss


def test_a_campaign_is_the_same_for_the_same_seed(small: None) -> None:
    """Nothing but the seed decides."""
    first, second = (run_campaign(Setup("gold", GOLD), HALF_SPAM, 2, seed=2) for _ in range(2))
    assert first == second


def test_a_patient_spammer_passes_the_time_gate() -> None:
    """All documents take at least seven seconds."""
    answers = PatientSpammer("a", np.random.default_rng(0)).answers([0, 1, 2, 0, 1])
    assert min(answer.seconds for answer in answers) >= 7


def test_a_review_halves_the_excess_of_leniency() -> None:
    """A lenient judge accepts .4 of irrelevant documents, and approaches 1 - accuracy with each review."""
    judge = Pupil("a", 0.9, "lenient", np.random.default_rng(0))
    before = judge.chance(0)
    judge.reviews = 1
    assert (before, judge.chance(0), judge.chance(2)) == (pytest.approx(0.4), pytest.approx(0.25), 0.9)


def test_kinds_of_judges_are_drawn_by_their_shares() -> None:
    """A crowd of good judges has none of another kind, and their accuracy is in the range of the kind."""
    rng = np.random.default_rng(0)
    judges = [draw_judge("a", {"good": 1.0}, learn=False, rng=rng) for _ in range(20)]
    assert {judge.kind for judge in judges} == {"good"}
    assert all(0.85 <= judge.accuracy <= 0.97 for judge in judges)
