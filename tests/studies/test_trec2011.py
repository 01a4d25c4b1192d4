"""The data of paper 000 under its own model."""

import numpy as np
import pytest

from adjudge.errors import UsageError
from adjudge.inference.chains import Run
from adjudge.inference.export import run as trec_run
from adjudge.inference.export import task2_run, task2_run_quantised
from adjudge.inference.fit import fit
from adjudge.inference.params import Prior
from studies import comparison
from studies import trec2011 as room
from studies.datasets import gold_folds
from studies.outcome import StudyOptions
from studies.trec2011 import READINGS, RUN_FILES, TREC2011, all_gold, author_run, trec2011

SHORT = Run(chains=2, warmup=20, draws=20)  # as the fixtures have it


def test_every_reading_is_scored_beside_simpler_models(relevance):
    """On all 40 items with gold."""
    assert relevance.comparison.methods == tuple(method.name for method in TREC2011.methods())
    assert {result.items for result in relevance.comparison.results} == {40}
    assert len(relevance.comparison.results) == 7


def test_scores_with_gold_are_those_of_folds(relevance):
    """Every item answered by the fit that was not told its truth."""
    crowd, right = relevance.crowd, []
    for gold, options in gold_folds(crowd, 5, 0):
        label = fit(crowd.judgments, "dawid-skene", gold).label[crowd.item[options]]
        right += (label == crowd.truth[options]).tolist()
    (result,) = [result for result in relevance.comparison.results if result.method == "dawid-skene, gold"]
    assert result.values["accuracy"] == np.mean(right)


@pytest.mark.filterwarnings("ignore")
def test_fits_are_those_of_the_readings(relevance):
    """With all gold or none, which informs prevalence or does not."""
    judgments, gold = relevance.crowd.judgments, all_gold(relevance.crowd)
    result = {"unsupervised": (None, True), "gold informs": (gold, True), "gold apart": (gold, False)}
    assert list(result) == list(READINGS) == list(relevance.fits)
    for name, (reference, informs) in result.items():
        again = fit(judgments, "hierarchical", reference, prior=Prior(gold_informs=informs), run=SHORT)
        assert (relevance.fits[name].posterior == again.posterior).all()


def test_nearness_is_to_the_authors_own(relevance):
    """On the items that were not told; written out item by item."""
    unsupervised, apart = relevance.nearness
    assert (unsupervised.items, apart.items) == (120, 80)
    names = relevance.crowd.judgments.items.to_list()
    his = [0.75 if index < 60 else 0.25 for index in range(len(names))]  # the file has them in reverse
    off = relevance.fits["unsupervised"].posterior[:, 1] - his
    assert unsupervised.rms == pytest.approx(np.sqrt(np.mean(off**2)))
    assert unsupervised.largest == pytest.approx(np.abs(off).max())


def test_files_are_runs_and_figures(relevance):
    """A run for each reading, the figure of scores and the paper's four."""
    files = relevance.files()
    assert list(files) == [
        *(f"_{name}{end}" for name in ("unsupervised", "gold_informs", "gold_apart") for end in RUN_FILES),
        ".svg",
        *(f"_figure{n}.svg" for n in (1, 2, 3, 4)),
    ]
    reading = relevance.fits["gold apart"]
    assert files["_gold_apart_fractional.txt"]() == task2_run(reading).encode()
    assert files["_gold_apart_quantised.txt"]() == task2_run_quantised(reading).encode()
    assert files["_gold_apart.run"]() == trec_run(reading).encode()


def test_the_authors_run_is_scored(relevance, tmp_path):
    """By the submitted means and ranks, on the items with gold; without a file there is none."""
    author = relevance.author
    first_half = relevance.crowd.item < 60
    assert author.answer.tolist() == first_half.astype(int).tolist()
    assert author.probability[:, 1].tolist() == np.where(first_half, 0.75, 0.25).tolist()
    assert (-author.ranked.score).tolist() == (relevance.crowd.item + 1).tolist()
    assert author_run(relevance.crowd, tmp_path / "none.csv") is None


def test_tables_say_how_chains_ended(relevance):
    """Beside the scores, and how near the author's run is."""
    scores, chains, near = relevance.tables()
    assert scores.title.startswith("t: 40 items with gold")
    assert [row[0] for row in chains.rows] == list(READINGS)
    assert near.head[2] == "rms difference"
    assert "hierarchical, unsupervised has not converged on t" in " ".join(relevance.warnings())


@pytest.mark.filterwarnings("ignore")
def test_ctrl_c_keeps_the_scores(topics, monkeypatch):
    """Where only fits with all gold are missing, and says which; in the scores it leaves nothing."""
    real, calls = room.fit, []

    def interrupted(*arguments, **options):
        calls.append(arguments)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(room, "fit", interrupted)
    result = trec2011(StudyOptions(str(topics), ["t"], draws=2), SHORT)
    assert result.interrupted
    assert list(result.fits) == ["unsupervised"]
    assert result.warnings()[-1] == "interrupted; not fitted with all gold: gold informs, gold apart"
    assert list(result.files()) == [*(f"_unsupervised{end}" for end in RUN_FILES), ".svg"]
    monkeypatch.setattr(comparison, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trec2011(StudyOptions(str(topics), ["t"], draws=2), SHORT)


def test_what_cannot_be_studied(topics, crowds):
    """More than one set, and a set without topics."""
    with pytest.raises(UsageError, match="the study 'trec2011' needs one set, but 2 are named: name one with --sets"):
        trec2011(StudyOptions(str(topics), ["t", "u"]))
    with pytest.raises(UsageError, match="set 'a' has no topics"):
        trec2011(StudyOptions(str(crowds), ["a"]))


@pytest.mark.filterwarnings("ignore")
def test_a_set_without_the_authors_run(topics, tmp_path):
    """Is studied all the same."""
    (tmp_path / "t").mkdir()
    for name in ("labels.csv", "gold.csv"):
        (tmp_path / "t" / name).write_bytes((topics / "t" / name).read_bytes())
    result = trec2011(StudyOptions(str(tmp_path), ["t"], draws=2), SHORT)
    assert result.nearness == ()
    assert len(result.tables()) == 2


@pytest.mark.filterwarnings("ignore")
def test_the_authors_run_of_ten_topics(shared):
    """Not his numbers, since fewer judgments tell less of judges; but near."""
    folder = shared("data/trec2011_task2_mini").parent
    crowd = room.read_crowd(folder, "trec2011_task2_mini", ("label",), ordinal=False)
    fits = {"unsupervised": fit(crowd.judgments, "hierarchical")}
    (near,) = room.nearness(crowd, fits, folder / "trec2011_task2_mini" / room.REFERENCE)
    assert near.correlation > 0.9
