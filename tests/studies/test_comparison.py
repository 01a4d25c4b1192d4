"""Studies: their numbers are those of fits and scores one by one, and Ctrl-C leaves what is finished."""

import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from adjudge.data.read import read
from adjudge.data.write import frame
from adjudge.errors import MissingExtra, UsageError
from adjudge.inference.fit import fit
from adjudge.inference.model import MODELS
from adjudge.metrics.compare import compare
from adjudge.metrics.labels import scores
from studies import comparison
from studies.comparison import ALIKE, APART, MEAN, MEANS, NOTE, STUDIES, marks, run, svg


@pytest.fixture(scope="module")
def ordinal(crowds):
    """Return a study of two ordinal crowds."""
    return run(STUDIES["ordinal"], crowds, ["c", "d"], draws=40)


@pytest.fixture(scope="module")
def vote(crowds):
    """Return a study of two binary crowds."""
    return run(STUDIES["vote"], crowds, ["a", "b"], draws=40)


def test_methods_are_the_papers():
    """Four initialisations and six others; all models for unordered labels that are fitted by EM."""
    assert [method.name for method in STUDIES["ordinal"].methods()] == [
        "ordinal mean",
        "ordinal median",
        "ordinal mean-trimmed",
        "ordinal median-trimmed",
        "mean",
        "median",
        "trimmed-mean",
        "glad",
        "majority",
        "dawid-skene",
    ]
    assert [method.name for method in STUDIES["vote"].methods()] == [
        name for name, model in MODELS.items() if not model.labels.ordered and name not in ("hierarchical", "consensus")
    ]


def test_a_row_for_each_set_and_method(ordinal, vote):
    """Sets in their order, and last the mean where one means something."""
    assert list(ordinal.by_set()) == ["c", "d"]
    assert list(vote.by_set()) == ["a", "b", MEAN]
    assert len(ordinal.results) == 2 * 10
    assert len(vote.results) == 3 * len(vote.methods)
    assert repr(ordinal) == "Comparison(ordinal: 10 methods on c, d)"


def test_ordinal_numbers_are_those_of_fits(ordinal, crowds):
    """Errors of the expected values and labels that a fit tells, computed from its table."""
    judgments = read(str(crowds / "c" / "labels.csv"), ordinal=True)
    gold = dict(read_rows(crowds / "c" / "gold.csv"))
    by_method = {result.method: result for result in ordinal.by_set()["c"]}
    for name, start in {
        "ordinal median": "median",
        "ordinal mean-trimmed": "mean-trimmed",
        "trimmed-mean": None,
    }.items():
        table = fit(judgments, name.split()[0], start=start).labels.filter(
            frame({"i": judgments.items})["i"].is_in(gold)
        )
        truth = np.array([float(gold[item]) for item in table["item"]])
        error = np.abs(table["expected"].to_numpy() - truth)
        values = by_method[name].values
        assert by_method[name].items == len(gold) == 40
        assert values["mae"] == pytest.approx(error.mean())
        assert values["rmse"] == pytest.approx(np.sqrt((error**2).mean()))
        assert values["accuracy"] == pytest.approx(np.mean(table["label"].cast(float).to_numpy() == truth))
        nearest = np.floor(table["expected"].to_numpy() + 0.5 + 1e-9)
        assert values["rounded_accuracy"] == pytest.approx(np.mean(nearest == truth))


def read_rows(path):
    """Return the rows of a small table."""
    return [line.split(",") for line in path.read_text().splitlines()[1:]]


def test_shares_of_the_closest_are_one_together(ordinal):
    """Ties are shared among all methods of a set."""
    for results in ordinal.by_set().values():
        for measure in ("closest", "rounded_closest"):
            assert sum(result.values[measure] for result in results) == pytest.approx(1)


def test_vote_numbers_are_those_of_scores_and_of_compare(vote, crowds):
    """Accuracy, F1 and log loss with their intervals, and p against the most accurate."""
    labels, gold = (str(crowds / "a" / file) for file in ("labels.csv", "gold.csv"))
    judgments = read(labels)
    compared = compare(judgments, ["majority", "dawid-skene"], gold, draws=40).models
    for result in vote.by_set()["a"]:
        reference = scores(fit(judgments, result.method, inference="map"), gold).values
        assert {measure: result.values[measure] for measure in ("accuracy", "f1", "log_loss")} == pytest.approx(
            {measure: reference[measure] for measure in ("accuracy", "f1", "log_loss")}
        )
        if result.method in compared:
            assert result.span("f1") == pytest.approx(compared[result.method].intervals["f1"])
    assert set(vote.methods) >= {"gaussian", "vote-weight", "kos", "glad"}


def test_only_the_best_is_not_tested(vote, ordinal):
    """Every other method has a p of each test."""
    for outcome, measures in ((vote, ("accuracy", "log_loss")), (ordinal, ("accuracy", "mae"))):
        for name, results in outcome.by_set().items():
            for measure in measures if name != MEAN else ():
                (best,) = [result for result in results if measure not in result.p]
                values = [result.values[measure] for result in results]
                assert best.values[measure] == (max if measure == "accuracy" else min)(values)


def test_means_are_over_sets(vote):
    """Of values and of draws; a set counts as much as another."""
    first, second, mean = (results[0] for results in vote.by_set().values())
    assert mean.items == first.items + second.items == 80
    for measure, value in mean.values.items():
        assert value == pytest.approx((first.values[measure] + second.values[measure]) / 2)
        assert mean.draws[measure].tolist() == pytest.approx(
            ((first.draws[measure] + second.draws[measure]) / 2).tolist()
        )
    assert (mean.p, mean.scored) == ({}, None)


def test_the_table_has_a_block_for_each_measure(vote):
    """Value, low and high, p values, and how the fit ended."""
    table = frame(vote.columns())
    assert table.columns[:6] == ["set", "method", "items", "accuracy", "accuracy_low", "accuracy_high"]
    assert table.columns[-3:] == ["accuracy_p", "log_loss_p", "stopped"]
    assert table.height == len(vote.results)
    assert (table["auc_low"] <= table["auc_high"]).all()


def test_the_same_seed_gives_the_same_study(ordinal, crowds):
    """To the last digit."""
    again = run(STUDIES["ordinal"], crowds, ["c", "d"], draws=40)
    assert again.columns() == ordinal.columns()


def test_a_study_of_nothing(crowds):
    """Is refused."""
    with pytest.raises(UsageError, match="there is no set to study: name some with --sets"):
        run(STUDIES["vote"], crowds, [])


def test_more_than_two_labels_without_an_order(crowds):
    """Are refused before the first fit."""
    with pytest.raises(UsageError) as error:
        run(STUDIES["vote"], crowds, ["a", "c"])
    assert str(error.value) == "set 'c' has 4 labels, '0', '1', '2', '3', but the study 'vote' needs two"


def test_a_method_that_refuses_is_left_out(crowds, monkeypatch):
    """With the reason, from its set and from the means."""
    real = comparison.fit

    def refusing(judgments, model, **options):
        if model == "zbs":
            raise UsageError("model 'zbs' has a headache")
        return real(judgments, model, **options)

    monkeypatch.setattr(comparison, "fit", refusing)
    outcome = run(STUDIES["vote"], crowds, ["a"], draws=5)
    assert outcome.left_out == {"zbs on a": "model 'zbs' has a headache"}
    assert "zbs" not in outcome.methods


def test_progress_is_told_in_words(crowds):
    """Which set, which method."""
    messages = []
    run(STUDIES["ordinal"], crowds, ["c"], draws=2, progress=messages.append)
    assert messages[:2] == ["reading c", "1 of 1: c, ordinal mean"]
    assert messages[-1] == "1 of 1: c, intervals"


@pytest.mark.parametrize("how", ["raised", "half a fit"])
def test_ctrl_c_leaves_the_sets_that_are_finished(crowds, monkeypatch, how):
    """The second set is interrupted, the first is there; without a finished set there is nothing to show."""
    real, calls = comparison.fit, []

    def interrupted(judgments, model, **options):
        calls.append(model)
        if calls.count("glad") < 2:
            return real(judgments, model, **options)
        if how == "raised":
            raise KeyboardInterrupt
        return replace(real(judgments, model, **options), stopped="interrupted")

    monkeypatch.setattr(comparison, "fit", interrupted)
    outcome = run(STUDIES["ordinal"], crowds, ["c", "d"], draws=5)
    assert outcome.interrupted
    assert list(outcome.by_set()) == ["c"]
    with pytest.raises(KeyboardInterrupt):
        run(STUDIES["ordinal"], crowds, ["c"], draws=5)


def test_real_grades(shared):
    """nyt_3p: weighted judges are significantly better than averages; expected values of the vote are the means."""
    outcome = run(STUDIES["ordinal"], shared("data/nyt_3p").parent, ["nyt_3p"], draws=200)
    by_method = {result.method: result for result in outcome.results}
    assert by_method["ordinal mean"].items == 120
    assert by_method["mean"].p["mae"] < 0.05
    assert by_method["ordinal mean"].p.get("mae", 1.0) >= 0.05
    assert by_method["majority"].values["mae"] == pytest.approx(by_method["mean"].values["mae"])


def test_real_votes(shared):
    """bluebirds: judges who err by truth need a model that knows it, and weighted-vote without gold is the vote."""
    outcome = run(STUDIES["vote"], shared("data/bluebirds").parent, ["bluebirds"], draws=200)
    by_method = {result.method: result for result in outcome.by_set()["bluebirds"]}
    assert by_method["vote-weight-biased"].values["accuracy"] > by_method["vote-weight"].values["accuracy"] + 0.1
    assert by_method["gaussian-biased"].values["accuracy"] > by_method["gaussian"].values["accuracy"] + 0.1
    assert by_method["weighted-vote"].values == by_method["majority"].values
    assert by_method["majority"].values["accuracy"] == pytest.approx(0.75926, abs=1e-5)


@pytest.fixture(scope="module")
def comparisons(crowds):
    """Return both studies, each of two small crowds."""
    sets = {"ordinal": ["c", "d"], "vote": ["a", "b"]}
    return {name: run(STUDIES[name], crowds, sets[name], draws=20) for name in sets}


def words(text):
    """Return the words of an SVG, refusing what is not well-formed."""
    return {element.text for element in ElementTree.fromstring(text).iter() if element.text}


@pytest.mark.parametrize("name", list(STUDIES))
def test_a_figure_names_methods_sets_and_axes(comparisons, name):
    """Everything that a reader needs is in the figure."""
    displayed = words(svg(comparisons[name]))
    assert set(comparisons[name].methods) <= displayed
    assert set(comparisons[name].by_set()) <= displayed
    assert {panel.axis for panel in comparisons[name].study.panels} <= displayed
    assert NOTE in displayed


def test_the_legend_says_what_colours_stand_for(comparisons):
    """What a value is of, or whether a method is significantly different from the best."""
    assert {"most likely label", "expected value", "expected value, rounded"} <= words(svg(comparisons["ordinal"]))
    assert {ALIKE, MEANS} <= words(svg(comparisons["vote"]))


def test_marks_are_the_results(comparisons):
    """A dot for each set, method and measure, with its interval; methods that differ from the best are marked."""
    study = comparisons["ordinal"]
    drawn = marks(study, study.study.panels[1])
    assert len(drawn) == 3 * len(study.results)
    first, span = study.results[0], study.results[0].span("mae")
    (mark,) = [m for m in drawn if (m.set, m.method, m.kind) == (first.set, first.method, "expected value")]
    assert mark[3:] == (first.values["mae"], span.low, span.high)
    vote = comparisons["vote"]
    for mark, result in zip(marks(vote, vote.study.panels[0]), vote.results, strict=True):
        worse = result.p.get("accuracy", 1.0) < 0.05
        assert mark.kind == (MEANS if result.scored is None else APART if worse else ALIKE)


def test_a_missing_extra_says_what_to_type(comparisons, monkeypatch):
    """The line to type."""
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtra) as error:
        svg(comparisons["vote"])
    assert str(error.value).endswith("pip install 'adjudge[report]'")


def test_nothing_is_loaded_before_a_figure_is_drawn():
    """Importing the module does not import the libraries that draw."""
    program = (
        "import sys, studies.comparison, studies.__main__;"
        "print([name for name in ('altair', 'vl_convert') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
