"""One protocol that every registered model goes through, present and future."""

import warnings

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings

import adjudge
from adjudge.errors import AdjudgeWarning
from adjudge.inference import infer as core
from adjudge.inference.calibration import smoothed_votes
from adjudge.inference.convergence import mean_error
from adjudge.inference.model import MODELS
from adjudge.kernels.sweep import unpack

EVERY = pytest.mark.parametrize("model", list(MODELS))
CLIMBED = pytest.mark.parametrize("model", [name for name, model in MODELS.items() if "map" in model.inferences])
SAMPLED = pytest.mark.parametrize("model", [name for name, model in MODELS.items() if "gibbs" in model.inferences])


def remembers(model):
    """Whether a model predicts by Bayes' rule, other than it labels the items that it was fitted to."""
    return model.assignment is not None and model.assignment.memory


FEW = {"iterations": 6, "accelerate": False, "inference": "map"}  # before rounding can push EM off a saddle point

rows = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=40)


def folded(judged, model):
    """Return the rows with labels that the model can take: two of them where it takes no more."""
    return [(i, j, k % 2) for i, j, k in judged] if MODELS[model].labels.binary else judged


def label_order(model, order):
    """Return new places of the labels that leave a model's question as it is: the order, and no more than two."""
    if MODELS[model].labels.ordered:
        return sorted(order)
    return [k for k in order if k < 2] if MODELS[model].labels.binary else list(order)


def table(judged, model, weight=None):
    """Return (item, judge, label) rows as judgments, in order where the model needs one."""
    judged = folded(judged, model)
    names = {"item": [f"i{i}" for i, _, _ in judged], "judge": [f"j{j}" for _, j, _ in judged]}
    frame = pl.DataFrame({**names, "label": [f"l{k}" for _, _, k in judged]})
    frame = frame if weight is None else frame.with_columns(weight=pl.Series(weight, dtype=pl.Float64))
    labels = sorted({f"l{k}" for _, _, k in judged}) if MODELS[model].labels.ordered else None
    return adjudge.read(frame, item="item", judge="judge", labels=labels, ordinal=labels is not None)


def fitted(judgments, model, gold=None, **named):
    """Return a fit; where it is sampled, by chains that are short enough for hundreds of tables."""
    with warnings.catch_warnings():
        if MODELS[model].sampler is not None and named.get("inference") != "map":
            warnings.filterwarnings("ignore", "(the chains|label switching)", AdjudgeWarning)
            named = {"run": adjudge.Run(2, 30, 30), **named}
        return adjudge.fit(judgments, model, gold, **named)


def by_name(fit):
    """Return {item: {label: probability}}."""
    return {
        item: dict(zip(fit.scale.names, row, strict=True))
        for item, row in zip(fit.items.to_list(), fit.posterior.tolist(), strict=True)
    }


def assert_sound(fit):
    """Assert that a fit's numbers are probabilities and its tables whole."""
    np.testing.assert_allclose(fit.posterior.sum(axis=1), 1)
    np.testing.assert_allclose(fit.params.confusion.sum(axis=2), 1)
    np.testing.assert_allclose(fit.params.prevalence.sum(axis=1), 1)
    np.testing.assert_allclose(fit.params.population.sum(axis=1), 1)
    for part in (fit.posterior, fit.accuracy, fit.entropy, *fit.params[:3]):
        assert np.isfinite(part).all()
        assert (part >= 0).all()
    for part in (fit.more, fit.params.skill, fit.params.typical):
        assert np.isfinite(part).all()
    assert not fit.labels.null_count().sum_horizontal().item()
    assert not fit.judges.null_count().sum_horizontal().item()


@EVERY
@given(judged=rows)
@settings(max_examples=40, deadline=None)
def test_probabilities_are_probabilities(model, judged):
    """Whatever the table, rows sum to one and nothing is NaN."""
    assert_sound(fitted(table(judged, model), model))


@CLIMBED
@given(judged=rows, data=st.data())
@settings(max_examples=40, deadline=None)
def test_renaming_and_reordering_only_permutes_the_answer(model, judged, data):
    """New names for items, judges and labels, and rows in another order, give the same answer under new names."""
    item, judge, label = (data.draw(st.permutations(range(n))) for n in (6, 5, 3))
    label, judged = label_order(model, label), folded(judged, model)
    order = data.draw(st.permutations(judged))
    renamed = [(item[i], judge[j], label[k]) for i, j, k in order]
    before, after = (
        by_name(fitted(table(judged, model), model, **FEW)),
        by_name(fitted(table(renamed, model), model, **FEW)),
    )
    for i in {i for i, _, _ in judged}:
        for k in {k for _, _, k in judged}:
            assert after[f"i{item[i]}"][f"l{label[k]}"] == pytest.approx(before[f"i{i}"][f"l{k}"], abs=1e-6)


@CLIMBED
def test_renaming_only_permutes_what_is_learned_of_judges(model):
    """On a crowd with a clear answer, EM with acceleration gives judges the same matrices by name."""
    labels = 2 if MODELS[model].labels.binary else 3
    crowd = adjudge.simulate("dawid-skene", seed=2, items=300, judges=12, labels=labels, per_item=5).judgments
    plain = [(int(i), int(j), int(k)) for i, j, k in zip(crowd.item(), crowd.judge, crowd.label, strict=True)]
    judge, label = [7, 3, 11, 0, 5, 1, 9, 2, 10, 4, 8, 6], label_order(model, [2, 0, 1])
    before = fitted(table(plain, model), model, inference="map")
    renamed = [(i, judge[j], label[k]) for i, j, k in reversed(plain)]
    after = fitted(table(renamed, model), model, inference="map")
    position = {name: j for j, name in enumerate(after.judge_names)}
    for j, name in enumerate(before.judge_names):
        matrix = after.params.confusion[position[f"j{judge[int(name[1:])]}"]]
        np.testing.assert_allclose(matrix[np.ix_(label, label)], before.params.confusion[j], atol=1e-4)


@EVERY
def test_a_judge_never_seen_is_an_average_one(model):
    """Her matrix is the population's, and of the kind that the model gives to judges."""
    judged = [(i, j, (i + (i + j) % 7 // 6) % 3) for i in range(30) for j in range(5)]
    fit = fitted(table(judged, model), model)
    result = adjudge.predict(
        fit,
        adjudge.read(
            pl.DataFrame({"item": ["n"], "judge": ["new"], "label": ["l1"]}),
            labels=fit.scale.labels,
            ordinal=fit.scale.ordinal,
        ),
    )
    np.testing.assert_array_equal(result.params.confusion[0], fit.params.population)
    if model == "one-coin":
        assert len(np.unique(np.round(fit.params.population, 12))) == 2  # right, and wrong
    assert_sound(result)


@CLIMBED
@given(judged=rows)
@example(judged=[(0, 0, 0), (0, 0, 0), (0, 1, 1), (0, 1, 1)])  # a saddle, off which GLAD falls tenfold with every pass
@settings(max_examples=25, deadline=None)
def test_duplicated_rows_act_as_repeats(model, judged):
    """Every row twice is every row with weight two."""
    twice = fitted(table([row for row in judged for _ in range(2)], model), model, **FEW)
    weighed = fitted(table(judged, model, weight=[2] * len(judged)), model, **FEW)
    np.testing.assert_allclose(twice.posterior, weighed.posterior, atol=1e-6)
    np.testing.assert_allclose(twice.accuracy, weighed.accuracy, atol=1e-6)


EDGES = {
    "one judgment": [(0, 0, 0)],
    "one judge": [(0, 0, 0), (1, 0, 1), (2, 0, 1)],
    "one item": [(0, 0, 0), (0, 1, 1), (0, 2, 1)],
    "one class": [(0, 0, 0), (0, 1, 0), (1, 1, 0)],
    "a judge with one judgment": [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1), (1, 2, 0)],
    "all agree": [(i, j, i % 2) for i in range(6) for j in range(3)],
    "all tie": [(i, j, j) for i in range(4) for j in range(2)],
}


@EVERY
@pytest.mark.parametrize("edge", EDGES)
def test_edges_are_answered(model, edge):
    """A table at the edge of sense gets a sound answer."""
    assert_sound(fitted(table(EDGES[edge], model), model))


@EVERY
def test_unanimous_judges_are_believed(model):
    """Where all agree, and they are many, the consensus is what they say.

    Model ``consensus`` does not take agreement for truth, so that its judges are not certain to be right.
    """
    fit = fitted(table([(i, j, i % 2) for i in range(6) for j in range(5)], model), model)
    assert fit.labels["label"].to_list() == [f"l{i % 2}" for i in range(6)]
    assert (fit.accuracy > (0.6 if MODELS[model].by_kind else 0.999)).all()


@EVERY
def test_ten_thousand_judgments_on_one_item(model):
    """Long items neither underflow nor overflow, and of judges known to be equal the majority wins."""
    noise = np.random.default_rng(0).random(10_000) < 0.4
    judged = [(0, n % 50, int(wrong)) for n, wrong in enumerate(noise)]
    judged += [(i, j, i % 2 if (i + j) % 5 else 1 - i % 2) for i in range(1, 41) for j in range(50)]
    fit = fitted(table(judged, model), model)
    assert_sound(fit)
    assert fit.labels["label"][0] == "l0"


@EVERY
def test_gold_is_respected(model):
    """A known truth is given with probability one, against any vote."""
    judged = [(i, j, 0) for i in range(5) for j in range(3)] + [(5, 0, 1), (5, 1, 1)]
    fit = fitted(table(judged, model), model, gold={"i0": "l1", "i5": "l0"})
    assert by_name(fit)["i0"] == {"l0": 0.0, "l1": 1.0}
    assert by_name(fit)["i5"] == {"l0": 1.0, "l1": 0.0}
    assert_sound(fit)


@EVERY
def test_an_item_that_only_gold_knows(model):
    """Gold for an item nobody judged is a warning, and the item is in the answer."""
    with pytest.warns(AdjudgeWarning, match="nobody judged gold item 'i9'"):
        fit = fitted(table(EDGES["all agree"], model), model, gold={"i9": "l1", "i0": "l0"})
    assert by_name(fit)["i9"]["l1"] == 1.0
    assert_sound(fit)


@EVERY
def test_threads_change_nothing(model, monkeypatch):
    """The same seed gives the same bits on one thread and on two, over many blocks."""
    monkeypatch.setattr(core, "BLOCK", 20)
    rng = np.random.default_rng(1)
    judged = [(int(i), int(j), int(k)) for i, j, k in rng.integers(0, (60, 3, 2), (2_000, 3))]
    judgments = table(judged, model)
    assert len(core.parallel_blocks(judgments.block())) > 2
    first, two = (fitted(judgments, model, seed=3, workers=workers) for workers in (1, 2))
    np.testing.assert_array_equal(first.posterior, two.posterior)
    np.testing.assert_array_equal(first.label, two.label)
    assert first.evidence == two.evidence


@EVERY
@given(judged=rows)
@settings(max_examples=25, deadline=None)
def test_evidence_never_falls(model, judged):
    """In EM the log-likelihood increases or stays the same, up to rounding."""
    history = np.array(fitted(table(judged, model), model).evidence)
    assert (np.diff(history) >= -1e-9 * np.maximum(1, np.abs(history[:-1]))).all()


@EVERY
@given(judged=rows)
@settings(max_examples=10, deadline=None)
def test_save_and_load_round_trip(model, judged, tmp_path_factory):
    """What is loaded is what was saved."""
    fit = fitted(table(judged, model), model)
    folder = tmp_path_factory.mktemp("fit") / "saved"
    adjudge.save(fit, folder)
    again = adjudge.load(folder)
    assert again.labels.equals(fit.labels)
    assert again.judges.equals(fit.judges)
    assert (again.model, again.options, again.evidence, again.stopped) == (
        fit.model,
        fit.options,
        fit.evidence,
        fit.stopped,
    )
    for ours, theirs in zip(fit.params, again.params, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "model", [name for name, model in MODELS.items() if "map" in model.inferences and not remembers(model)]
)
@given(judged=rows)
@settings(max_examples=25, deadline=None)
def test_predicting_the_training_judgments_agrees_with_the_fit(model, judged):
    """Memory mode on the judgments it was learned from gives the posterior of the fit.

    The vote is left out: its posterior learns nothing of judges, and its memory does (``inference/test_predict.py``).
    """
    judgments = table(judged, model)
    fit = fitted(judgments, model, inference="map")
    np.testing.assert_allclose(adjudge.predict(fit, judgments).posterior, fit.posterior, atol=1e-12)


@EVERY
@given(judged=rows)
@settings(max_examples=10, deadline=None)
def test_calibrated_probabilities_are_probabilities(model, judged, tmp_path_factory):
    """Whatever the table: what is learned of judges stays, the label is a likeliest one, and a fit is kept whole."""
    judgments = table(judged, model)
    own, fit = (fitted(judgments, model, calibrate=how) for how in ("none", "judgments"))
    assert_sound(fit)
    hedge, vote = fit.calibration.hedge, smoothed_votes(judgments.block(), fit.calibration.extra)
    np.testing.assert_allclose(fit.posterior, (1 - hedge) * own.posterior + hedge * vote)
    for param, two in zip(own.params, fit.params, strict=True):
        np.testing.assert_array_equal(param, two)
    np.testing.assert_allclose(fit.posterior[np.arange(fit.label.size), fit.label], fit.posterior.max(axis=1))
    folder = tmp_path_factory.mktemp("fit") / "saved"
    adjudge.save(fit, folder)
    again = adjudge.load(folder)
    assert again.calibration == fit.calibration
    np.testing.assert_array_equal(again.posterior, fit.posterior)


@EVERY
def test_calibration_leaves_gold_certain(model):
    """Against any vote, and whether errors are correlated or not."""
    rng = np.random.default_rng(4)
    hard = rng.random(40) < 0.3
    judged = [(i, j, int((rng.random() < (0.7 if hard[i] else 0.05)) != i % 2)) for i in range(40) for j in range(7)]
    gold = {f"i{i}": f"l{i // 2 % 2}" for i in range(30)}
    for how in ("judgments", "gold"):
        fit = fitted(table(judged, model), model, gold=gold, calibrate=how)
        assert_sound(fit)
        result = by_name(fit)
        assert all(result[item][label] == 1.0 for item, label in gold.items())


@SAMPLED
def test_draws_are_the_same_under_other_names(model):
    """Names and order change the draws, but not what they are drawn from: means agree within Monte Carlo error."""
    crowd = adjudge.simulate("dawid-skene", seed=2, items=300, judges=12, labels=3, per_item=5).judgments
    plain = [(int(i), int(j), int(k)) for i, j, k in zip(crowd.item(), crowd.judge, crowd.label, strict=True)]
    judge, label = [7, 3, 11, 0, 5, 1, 9, 2, 10, 4, 8, 6], [2, 0, 1]
    renamed = [(i, judge[j], label[k]) for i, j, k in reversed(plain)]
    before, after = (fitted(table(rows, model), model, run=adjudge.Run(3, 300, 500)) for rows in (plain, renamed))
    position = {name: j for j, name in enumerate(after.judge_names)}
    order = [position[f"j{judge[int(name[1:])]}"] for name in before.judge_names]
    theirs = after.draws.confusion[:, :, order][:, :, :, label][..., label]
    error = np.hypot(mean_error(before.draws.confusion), mean_error(theirs))
    assert (np.abs(before.params.confusion - theirs.mean(axis=(0, 1))) < 5 * error).all()


@SAMPLED
def test_a_judgment_of_weight_two_is_drawn_from_as_two(model):
    """Every row twice is every row with weight two, draw by draw."""
    judged = [(i, j, (i + (i + j) % 7 // 6) % 3) for i in range(30) for j in range(5)]
    twice = fitted(table([row for row in judged for _ in range(2)], model), model)
    weighed = fitted(table(judged, model, weight=[2] * len(judged)), model)
    np.testing.assert_allclose(twice.draws.confusion, weighed.draws.confusion, atol=1e-9)


@SAMPLED
def test_predicting_from_posterior_means_comes_near_the_draws(model):
    """Memory mode takes means for certain, so it comes near the fit as judges get to be known."""
    gaps = []
    for items in (200, 5_000):
        crowd = adjudge.simulate("dawid-skene", seed=2, items=items, judges=12, labels=3, per_item=5).judgments
        fit = fitted(crowd, model, run=adjudge.Run(2, 200, 300))
        gaps.append(np.abs(adjudge.predict(fit, crowd).posterior - fit.posterior).mean())
    assert gaps[1] < 0.002
    assert gaps[1] < gaps[0] / 5


@SAMPLED
def test_truths_are_kept_if_asked_for(model):
    """As often as their probability says, and without changing a draw."""
    crowd = adjudge.simulate("dawid-skene", seed=1, items=60, judges=5, labels=3, per_item=4).judgments
    stored, plain = (fitted(crowd, model, run=adjudge.Run(2, 100, 1_000, truths=truths)) for truths in (True, False))
    np.testing.assert_array_equal(stored.draws.confusion, plain.draws.confusion)
    truth = unpack(stored.draws.truth, 60)  # (C, D, I)
    shares = np.stack([(truth == k).mean(axis=(0, 1)) for k in range(3)], axis=1)
    np.testing.assert_allclose(shares, stored.posterior, atol=0.05)
    assert plain.draws.truth.size == 0


@SAMPLED
def test_draws_are_saved(model, tmp_path):
    """A saved fit has the draws it was made from."""
    fit = fitted(table([(i, j, (i + j // 4) % 3) for i in range(12) for j in range(5)], model), model)
    adjudge.save(fit, tmp_path / "fit")
    again = adjudge.load(tmp_path / "fit")
    for ours, theirs in zip(fit.draws, again.draws, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@EVERY
def test_fitting_changes_no_argument(model):
    """Judgments and gold are as they were."""
    judgments, gold = table(EDGES["all tie"], model), {"i0": "l1"}
    before = [array.copy() for array in (judgments.start, judgments.judge, judgments.label)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted(judgments, model, gold=gold)
    for array, stored in zip((judgments.start, judgments.judge, judgments.label), before, strict=True):
        np.testing.assert_array_equal(array, stored)
    assert gold == {"i0": "l1"}
