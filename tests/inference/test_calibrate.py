"""Calibrated probabilities: unchanged if the model is true, hedged if errors are correlated."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import AdjudgeWarning, UsageError
from adjudge.inference.calibrate import doubt
from adjudge.inference.calibration import Calibration, mixed, smoothed_votes
from adjudge.inference.dependence import alike, dependence, independence, item_score, together, yardstick
from adjudge.inference.infer import infer
from adjudge.inference.model import model_named
from adjudge.kernels.replicate import FLATTER, replicate_with_truth
from adjudge.kernels.truth import truth_posterior


def loss(posterior, truth):
    """Return the mean log loss, probabilities clipped at .001."""
    return float(-np.log(np.clip(posterior[np.arange(truth.size), truth], 1e-3, 1)).mean())


def table(label, judge):
    """Return judgments from labels and judges by item (I, N)."""
    items, many = label.shape
    rows = {"item": np.repeat(np.arange(items), many), "judge": judge.ravel(), "label": label.ravel()}
    return adjudge.read(pl.DataFrame(rows))


def misled(seed, items=800, judges=30, many=9):
    """Return judges who err together, since items mislead from none to most of them, and the truth."""
    rng = np.random.default_rng(seed)
    truth, judge = rng.integers(0, 2, items), np.argsort(rng.random((items, judges)), axis=1)[:, :many]
    chance = np.clip(rng.beta(2, 0.7, (items, 1)) + rng.uniform(-0.1, 0.1, judges)[judge], 0.05, 0.98)
    return table(np.where(rng.random(judge.shape) < chance, truth[:, None], 1 - truth[:, None]), judge), truth


def easy_and_hard(seed, items=1_500, judges=40, many=7):
    """Return judges as GLAD has them, the truth, and the posterior of who knows all abilities."""
    rng = np.random.default_rng(seed)
    truth, ability = rng.integers(0, 2, items), rng.normal(1, 0.7, judges)
    judge = np.argsort(rng.random((items, judges)), axis=1)[:, :many]
    chance = 1 / (1 + np.exp(-ability[judge] * np.exp(rng.normal(0.2, 1, (items, 1)))))
    label = np.where(rng.random(judge.shape) < chance, truth[:, None], 1 - truth[:, None])
    position = np.linspace(-4, 4, 81)
    weight = np.exp(-np.square(position) / 2)
    right = 1 / (1 + np.exp(-ability[judge][:, :, None] * np.exp(0.2 + position)))  # (I, N, G)
    first, zero = (np.where((label == k)[:, :, None], right, 1 - right).prod(axis=1) @ weight for k in (1, 0))
    return table(label, judge), truth, np.column_stack([zero, first]) / (zero + first)[:, None]


@pytest.mark.parametrize("model", ["dawid-skene", "hybrid-confusion", "one-coin"])
@pytest.mark.parametrize(
    "sizes",
    [
        {"items": 1_000, "judges": 50},
        {"items": 2_000, "judges": 20, "labels": 3},
        {"items": 1_500, "judges": 40, "labels": 2},
    ],
    ids=["five-labels", "three-labels", "two-labels"],
)
def test_where_the_plain_model_is_true_nothing_is_lost(model, sizes):
    """No more than .005 in log loss, and mostly nothing at all."""
    lost = []
    for seed in range(4):
        crowd = adjudge.simulate("dawid-skene", seed=seed, **sizes)
        plain, result = (
            adjudge.fit(crowd.judgments, model, inference="map", calibrate=how) for how in ("none", "judgments")
        )
        lost.append(loss(result.posterior, crowd.truth) - loss(plain.posterior, crowd.truth))
    assert np.mean(lost) < 0.005
    assert max(lost) < 0.01


def test_where_judges_err_together_probabilities_are_hedged():
    """A plain posterior is far too sure of items that mislead most judges."""
    for seed in range(3):
        judgments, truth = misled(seed)
        plain, result = (adjudge.fit(judgments, "dawid-skene", calibrate=how) for how in ("none", "judgments"))
        assert result.calibration.dependence > 4
        assert result.calibration.hedge > 0.4
        assert loss(result.posterior, truth) < loss(plain.posterior, truth) - 0.1
        assert (result.label == truth).mean() > (plain.label == truth).mean() - 0.01


def test_a_model_that_knows_difficulty_recovers_the_true_posterior():
    """It explains the correlated errors, and is not changed; the hedge of a plain model costs little at worst."""
    for seed in range(3):
        judgments, truth, reference = easy_and_hard(seed)
        best = loss(reference, truth)
        fitted = adjudge.fit(judgments, "glad", calibrate="judgments")
        assert fitted.calibration.hedge < 0.05
        assert loss(fitted.posterior, truth) < best + 0.01
        assert np.abs(fitted.posterior - reference).mean() < 0.03
        plain, hedged = (adjudge.fit(judgments, "dawid-skene", calibrate=how) for how in ("none", "judgments"))
        assert best < loss(hedged.posterior, truth) < loss(plain.posterior, truth) + 0.02


def test_pairs_are_added_up_as_they_are_defined():
    """Pair by pair, on a small table."""
    crowd = adjudge.simulate("dawid-skene", seed=2, items=12, judges=4, labels=3, per_item=4)
    fit = adjudge.fit(crowd.judgments, "hybrid-confusion", inference="map")
    block, theta = crowd.judgments.block(), fit.params.confusion
    posterior = truth_posterior(block, fit.params.prevalence, theta)[0]
    errors, equal = 0.0, 0.0
    for i in range(12):
        cells = [divmod(int(cell), 3) for cell in block.cell[block.start[i] : block.start[i + 1]]]
        over = [posterior[i, label] - posterior[i] @ np.diag(theta[judge]) for judge, label in cells]
        for m in range(len(cells)):
            for n in range(m):
                errors += over[m] * over[n]
                expected = sum(posterior[i, k] * (theta[cells[m][0], k] @ theta[cells[n][0], k]) for k in range(3))
                equal += (cells[m][1] == cells[n][1]) - expected
    assert together(block, posterior, theta, np.arange(3)) == pytest.approx(errors)
    assert alike(block, posterior, theta) == pytest.approx(equal)


def test_gold_teaches_probabilities():
    """Better than judgments alone can, on items whose truth was not told; the loss is told of gold held back."""
    judgments, truth = misled(5, items=1_500)
    gold = {int(name): int(truth[int(name)]) for name in judgments.items if int(name) < 400}
    plain, hedged, taught = (
        adjudge.fit(judgments, "dawid-skene", gold, calibrate=how) for how in ("none", "judgments", "gold")
    )
    rest = judgments.items.to_numpy() >= 400
    reference = truth[judgments.items.to_numpy()]
    losses = [loss(fit.posterior[rest], reference[rest]) for fit in (plain, hedged, taught)]
    assert losses[2] < losses[1] < losses[0]
    assert taught.calibration.gold == 400
    assert abs(taught.calibration.loss - losses[2]) < 4 * taught.calibration.error
    assert (taught.posterior[~rest].max(axis=1) == 1).all()


def test_what_cannot_be_done_is_refused():
    """In words."""
    crowd = adjudge.simulate("dawid-skene", seed=0, items=50, judges=5)
    with pytest.raises(UsageError, match="calibrate 'perhaps' is not one of 'none', 'crowds', 'judgments', 'gold'"):
        adjudge.fit(crowd.judgments, calibrate="perhaps")
    with pytest.raises(UsageError, match="needs the truths of at least 5 judged items, and there are 0"):
        adjudge.fit(crowd.judgments, calibrate="gold")


@pytest.mark.parametrize("model", ["majority", "wawa", "minimax-entropy", "vote-weight", "one-coin", "mace"])
def test_probabilities_stay_probabilities(model):
    """For any model, and none is 0 or 1 if errors are correlated."""
    judgments, _ = misled(7, items=200)
    fit = adjudge.fit(judgments, model, calibrate="judgments")
    assert np.abs(fit.posterior.sum(axis=1) - 1).max() < 1e-12
    assert 0 < fit.posterior.min() < fit.posterior.max() < 1
    assert (fit.posterior[np.arange(200), fit.label] == fit.posterior.max(axis=1)).all()


def test_the_same_seed_gives_the_same_and_one_label_is_certain():
    """On any number of threads."""
    judgments, _ = misled(9, items=200)
    first, other = (adjudge.fit(judgments, "dawid-skene", calibrate="judgments", workers=many) for many in (1, 2))
    assert (first.posterior == other.posterior).all()
    one_label = pl.DataFrame({"item": [1, 2], "judge": [1, 1], "label": ["yes", "yes"]})
    for model, how in (("dawid-skene", "judgments"), ("consensus", "crowds"), ("consensus", None)):
        assert (adjudge.fit(one_label, model, calibrate=how).posterior == 1).all()


def test_a_calibrated_fit_is_kept_and_predicts_calibrated(tmp_path):
    """New items are hedged as those it was learned from."""
    judgments, _ = misled(3)
    fit = adjudge.fit(judgments, "dawid-skene", calibrate="judgments")
    adjudge.save(fit, tmp_path / "fit")
    saved = adjudge.load(tmp_path / "fit")
    assert saved.calibration == fit.calibration
    assert (saved.posterior == fit.posterior).all()
    new, _ = misled(4, items=100)
    plain = adjudge.predict(adjudge.fit(judgments, "dawid-skene", calibrate="none"), new)
    result = adjudge.predict(saved, new)
    assert np.allclose(result.posterior, mixed(fit.calibration, plain.posterior, new.block()))
    assert "vote share" in saved.calibration.words


def test_ctrl_c_leaves_the_model_s_own_probabilities(monkeypatch):
    """And says so: nothing is calibrated by half a fit."""
    from adjudge.inference import dependence

    def impatient(*given):
        return replace(infer(*given), stopped="interrupted")

    monkeypatch.setattr(dependence, "infer", impatient)
    judgments, _ = misled(2, items=200)
    fit = adjudge.fit(judgments, "dawid-skene", calibrate="judgments")
    assert fit.stopped == "interrupted"
    assert fit.calibration is None
    assert (fit.posterior == adjudge.fit(judgments, "dawid-skene", calibrate="none").posterior).all()


def test_shares_are_never_above_one():
    """Not even by rounding, where truths are finer than labels."""
    crowd = adjudge.simulate("dawid-skene", seed=0, items=200, judges=30, labels=2, per_item=20)
    assert adjudge.fit(crowd.judgments, "subtypes").posterior.max() <= 1


def test_a_small_crowd_is_not_called_one_with_few_judges():
    """20 items with 4 judges each are too few items, and each of them has two judges: the words say both."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 20)
    label = np.where(rng.random((20, 4)) < 0.8, truth[:, None], 1 - truth[:, None])
    judgments = table(label, np.tile(np.arange(4), (20, 1)))
    calibration = adjudge.fit(judgments, "dawid-skene", calibrate="judgments").calibration
    assert calibration is not None
    assert calibration.shared == 20
    assert calibration.words.startswith(
        "probabilities were softened: 20 items have judgments of two judges or more, and 30 such items are needed to "
        "detect correlated errors. "
    )


def test_words_say_what_was_done():
    """For people."""
    assert "the model's own" in Calibration("judgments", 0.3).words
    assert Calibration("judgments", 12, 0.5).words == (
        "probabilities were softened: errors of judges are more correlated than the model assumes (z 12.0). "
        "Each one is now 50% model, 50% vote share"
    )
    assert Calibration("judgments", 0.2, 0.3, simulated=0.3).words == (
        "probabilities were softened: on simulated crowds like this one the model is over-confident. "
        "Each one is now 70% model, 30% vote share"
    )
    both = Calibration("judgments", 12.0, 0.6, simulated=0.3).words
    assert "(z 12.0), and on simulated crowds like this one the model is" in both
    assert "60%" in both
    needed = "judgments of two judges or more, and 30 such items are needed to detect correlated errors."
    assert f"softened: 2 items have {needed}" in Calibration("judgments", 0.0, 0.5, shared=2).words
    assert f"softened: 1 item has {needed}" in Calibration("judgments", 0.0, 0.5, shared=1).words
    assert f"softened: no item has {needed}" in Calibration("judgments", 0.0, 0.5, shared=0).words
    assert (
        "few judgments each, so that correlated errors cannot be detected" in Calibration("judgments", -9.0, 0.5).words
    )
    assert "learned from 40 gold items" in Calibration("gold", weights=(1.0,), gold=40, loss=0.3, error=0.02).words


def test_what_no_model_is_named_for_is_the_consensus():
    """It is calibrated, and so is ``auto``; a model that is named is left as its paper has it, unless asked."""
    judgments, truth = misled(5, items=300)
    fitted, own = adjudge.fit(judgments), adjudge.fit(judgments, "dawid-skene")
    assert own.calibration is None
    assert (fitted.model, fitted.calibration.by) == ("consensus", "crowds")
    assert (fitted.posterior == adjudge.fit(judgments, "consensus").posterior).all()
    assert loss(fitted.posterior, truth) < loss(own.posterior, truth) - 0.1
    assert (adjudge.fit(judgments, "dawid-skene", calibrate="none").posterior == own.posterior).all()
    assert adjudge.fit(judgments, calibrate="none").calibration is None
    assert adjudge.fit(judgments, "auto").calibration is not None


@pytest.mark.parametrize("online", [False, True])
def test_an_update_is_calibrated_as_the_fit_was(online):
    """Anew where all is looked at again; online, by the share the fit has."""
    judgments, truth = misled(6)
    half = len(judgments) // 2
    first, rest = judgments.take(np.arange(half)), judgments.take(np.arange(half, len(judgments)))
    fit, fitted = (adjudge.fit(data, "dawid-skene", calibrate="judgments") for data in (first, judgments))
    new = adjudge.update(fit, rest, first, online=online)
    assert new.calibration is not None
    assert new.options["calibrate"] == "judgments"
    reached = loss(new.posterior[np.argsort(new.items.to_list())], truth)
    if online:
        assert new.calibration == fit.calibration
        assert reached < loss(adjudge.fit(judgments, "dawid-skene").posterior, truth)
    else:
        assert new.calibration.hedge == pytest.approx(fitted.calibration.hedge, abs=0.05)
        assert reached == pytest.approx(loss(fitted.posterior, truth), abs=0.02)
    again = adjudge.update(new, judgments.take(np.arange(5)), judgments, online=online)
    assert again.calibration is not None


def test_ties_of_votes_stay_ties():
    """The vote that is mixed in leans to no label."""
    vote = smoothed_votes(table(np.array([[0, 1], [0, 0], [1, 1], [1, 1]]), np.array([[0, 1]] * 4)).block())
    assert (vote[0] == 0.5).all()
    np.testing.assert_allclose(vote[1], [2.5 / 3, 0.5 / 3])


def alone(seed, items=2_000, judges=40, many=5, prevalence=0.5, effect=0.0, right=(0.65, 0.95)):
    """Return judges who err alone, but for an effect that items have on all of them, and the truth."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(items) < prevalence).astype(int)
    judge = np.argsort(rng.random((items, judges)), axis=1)[:, :many]
    odds = np.log(1 / (1 / rng.uniform(*right, judges) - 1))[judge] + effect * rng.standard_normal((items, 1))
    hit = rng.random(judge.shape) < 1 / (1 + np.exp(-odds))
    return table(np.where(hit, truth[:, None], 1 - truth[:, None]), judge), truth


def test_sparse_crowds_are_doubted_where_their_simulations_are():
    """Of judges with ten judgments each little is known, which Dawid-Skene takes for certain."""
    judgments, truth = alone(1, judges=1_000)
    plain, result = (adjudge.fit(judgments, "dawid-skene", calibrate=how) for how in ("none", "judgments"))
    assert result.calibration.simulated > 0
    assert loss(result.posterior, truth) < loss(plain.posterior, truth) - 0.1
    assert loss(result.posterior, truth) < loss(smoothed_votes(judgments.block()), truth)


def test_where_nothing_can_be_seen_half_is_the_votes():
    """One judgment an item, or so few a judge that each is learned by heart: it is said so."""
    reasons = ("no item has judgments of two judges or more", "judges have few judgments each")
    crowds = (alone(2, many=1), alone(2, judges=2_000, many=3))
    for (judgments, truth), reason in zip(crowds, reasons, strict=True):
        fitted = adjudge.fit(judgments, "dawid-skene", calibrate="judgments")
        assert fitted.calibration.hedge >= 0.5
        assert fitted.calibration.words.startswith(f"probabilities were softened: {reason}")
        assert loss(fitted.posterior, truth) < loss(smoothed_votes(judgments.block()), truth) + 0.05


def test_a_slight_dependence_is_hedged_slightly_however_sure_it_is():
    """By its strength, and not by its deviations, of which a large crowd has many."""
    for effect, most in ((0.3, 0.15), (0.5, 0.45)):
        judgments, truth = alone(3, items=8_000, effect=effect)
        plain, result = (adjudge.fit(judgments, "dawid-skene", calibrate=how) for how in ("none", "judgments"))
        assert result.calibration.hedge < most
        assert loss(result.posterior, truth) < loss(plain.posterior, truth) + 0.05


def test_rare_labels_stay_rare():
    """The vote more that everyone has is shared as labels are common."""
    judgments, truth = alone(4, items=4_000, prevalence=0.02, effect=0.7, right=(0.85, 0.99))
    plain, result = (adjudge.fit(judgments, "dawid-skene", calibrate=how) for how in ("none", "judgments"))
    assert result.calibration.hedge > 0.1
    assert result.calibration.extra[1] == pytest.approx(plain.posterior[:, 1].mean(), abs=1e-3)
    assert loss(result.posterior, truth) < loss(plain.posterior, truth) + 0.03
    assert result.posterior[:, 1].mean() < 0.08


@pytest.mark.parametrize("effect", [0.5, 1.0, 1.5])
def test_the_strength_of_dependence_is_found(effect):
    """As far as matrices that were learned from the same judgments let it be seen."""
    judgments, _ = alone(5, items=6_000, many=7, effect=effect)
    observed = dependence(judgments, None, yardstick(judgments, None))
    assert observed.z > 3
    assert 0.5 * effect < observed.strength < 1.3 * effect
    assert observed.shared == 6_000


def test_a_judge_who_repeats_herself_says_nothing_of_the_crowd():
    """Pairs are of different judges."""
    judgments, _ = alone(6, items=300)
    once = yardstick(judgments, None)
    rows = np.sort(np.r_[np.arange(len(judgments)), np.arange(0, len(judgments), 5)])
    double = dependence(judgments.take(rows), None, once)
    assert double.z < dependence(judgments, None, once).z + 1


def test_gold_that_nobody_judged_teaches_nothing():
    """It is not counted among the items that weights need."""
    judgments, truth = alone(7, items=200)
    gold = {str(n): str(truth[n]) for n in range(4)} | {f"unjudged {n}": "1" for n in range(30)}
    with (
        pytest.warns(AdjudgeWarning, match="nobody judged"),
        pytest.raises(UsageError, match="at least 5 judged items, and there are 4"),
    ):
        adjudge.fit(judgments, "dawid-skene", gold, calibrate="gold")


def test_an_online_update_without_old_judgments_hedges_new_items():
    """By the votes that it has; what was believed of old items is hedged already."""
    (first, _), (other, _) = misled(8), misled(9, items=50)
    rows = {"item": other.item() + 5_000, "judge": other.judges.gather(other.judge), "label": other.label}
    rest = adjudge.read(pl.DataFrame(rows))
    fit = replace(adjudge.fit(first, "dawid-skene", calibrate="judgments"), judgments=None)
    new = adjudge.update(fit, rest, online=True)
    plain = adjudge.update(replace(fit, calibration=None), rest, online=True)
    fresh = np.arange(len(fit.items), len(new.items))
    assert fresh.size == 50
    vote = smoothed_votes(rest.block(), fit.calibration.extra)
    h = fit.calibration.hedge
    np.testing.assert_allclose(new.posterior[fresh], (1 - h) * plain.posterior[fresh] + h * vote)


@pytest.mark.parametrize("seed", range(3))
def test_independent_errors_are_recognised(seed):
    """A large crowd of independent judges is recognised, one whose items mislead is not, a small one cannot tell."""
    rng = np.random.default_rng(seed)
    truth, judge = rng.integers(0, 2, 1200), np.argsort(rng.random((1200, 40)), axis=1)[:, :12]
    right = rng.random(judge.shape) < rng.beta(7, 3, 40)[judge]
    alone = table(np.where(right, truth[:, None], 1 - truth[:, None]), judge)
    assert independence(alone) > 0.7
    assert independence(misled(seed)[0]) < 0.01
    assert independence(alone.take(range(12 * 15))) < 0.7
    sparse = alone.take(np.flatnonzero(np.arange(len(alone)) % 4 == 0))  # three judgments per item
    assert independence(sparse) == 0


def test_errors_that_a_fit_shows_to_be_correlated_are_not_tested_again():
    """The reference model is not fitted if the fit itself shows it: the answer is the same."""
    judgments, _ = misled(3)
    fit = infer(model_named("consensus"), judgments)
    assert item_score(judgments.block(), fit.posterior, fit.params.confusion).z > 4
    assert independence(judgments, None, fit) == independence(judgments) == 0


def test_the_score_of_item_effects_by_hand():
    """A loop over pairs of judges gives the same sum and bound; a judge's repeats and weights are added first."""
    rng = np.random.default_rng(2)
    rows = [(0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 0, 1), (1, 1, 2), (1, 2, 2), (1, 3, 0), (2, 3, 1)]
    item, judge, label = zip(*rows, strict=True)
    weight = rng.uniform(0.5, 2, len(rows))
    frame = pl.DataFrame({"item": item, "judge": judge, "label": label, "weight": weight})
    judgments = adjudge.read(frame, labels=[0, 1, 2])
    posterior, confusion = rng.dirichlet([1, 1, 1], 3), rng.dirichlet([2, 2, 2], (4, 3))
    sums, bound = np.zeros(3), 0.0
    for i in range(3):
        for k in range(3):
            residual, variance = np.zeros(4), np.zeros(4)
            for (of, j, said), times in zip(rows, weight, strict=True):
                if of == i:
                    residual[j] += times * ((said == k) - confusion[j, k, k])
                    variance[j] += times**2 * confusion[j, k, k] * (1 - confusion[j, k, k])
            for a, b in combinations(range(4), 2):
                sums[i] += posterior[i, k] * residual[a] * residual[b]
                bound += posterior[i, k] * variance[a] * variance[b]
    score = item_score(judgments.block(), posterior, confusion)
    assert score.total == pytest.approx(sums.sum())
    assert score.deviation == pytest.approx(np.sqrt(min(np.square(sums).sum(), bound)))


@pytest.mark.parametrize("labels", [2, 3])
def test_the_score_of_item_effects_in_simulated_crowds(labels):
    """Its z score is standard normal without effects, and their variance times its deviation with small ones."""
    rng = np.random.default_rng(labels)
    confusion = 0.7 * np.eye(labels) + 0.3 * rng.dirichlet(np.ones(labels), (30, labels))
    prevalence = np.full((1, labels), 1 / labels)
    judge = np.argsort(rng.random((600, 30)), axis=1)[:, :8]
    block = table(rng.integers(0, labels, judge.shape), judge).block()
    z = {}
    for effect in (0.0, 0.4):
        scores = []
        for _ in range(60):
            drawn = replicate_with_truth(block, prevalence, confusion, rng, effect).block
            scores.append(item_score(drawn, truth_posterior(drawn, prevalence, confusion)[0], confusion))
        z[effect] = np.array([score.z for score in scores])
        deviation = np.mean([score.deviation for score in scores])
    assert abs(z[0.0].mean()) < 3 / np.sqrt(60)
    assert 0.75 < z[0.0].std() < 1.25
    expected = 0.4**2 / (1 + FLATTER * 0.4**2) * deviation
    assert abs(z[0.4].mean() - expected) < 0.25 * expected


def test_a_model_that_claims_too_much_is_doubted():
    """Shared errors make Dawid-Skene over-confident, which is said with both shares; other fits are not doubted."""
    judgments, truth = misled(4)
    fit = adjudge.fit(judgments, "dawid-skene")
    claimed, reference = fit.posterior.max(axis=1).mean(), adjudge.fit(judgments).calibration
    low, high = reference.interval
    assert doubt(fit, judgments) == (
        f"do not believe these probabilities: dawid-skene claims that {claimed:.0%} of the labels are right, and of "
        f"judgments like these {reference.expected:.0%} are expected to be ({low:.0%} to {high:.0%}); model consensus, "
        "the default, has calibrated ones"
    )
    right = (fit.label == truth).mean()
    assert claimed > right + 0.05
    assert low <= right <= high
    for other in (adjudge.fit(judgments), adjudge.fit(judgments, calibrate="none")):
        assert doubt(other, judgments) == ""
    assert doubt(adjudge.fit(judgments, "dawid-skene", calibrate="judgments"), judgments) == ""


def test_a_model_that_is_true_is_not_doubted():
    """Many independent judges whose claim is borne out, and tables where there is nothing to doubt."""
    judgments, truth = alone(8, items=1_500, judges=40, many=12)
    fit = adjudge.fit(judgments, "dawid-skene")
    assert abs(fit.posterior.max(axis=1).mean() - (fit.label == truth).mean()) < 0.02
    assert doubt(fit, judgments) == ""
    one_label = adjudge.read(pl.DataFrame({"item": [1, 2], "judge": [1, 1], "label": ["yes", "yes"]}))
    assert doubt(adjudge.fit(one_label, "dawid-skene"), one_label) == ""


def test_gold_makes_the_default_learn():
    """Four gold items are kept certain, five teach; the judges follow the calibrated probabilities."""
    judgments, truth = misled(1, items=300)
    names = judgments.items.to_list()
    four, five = ({names[n]: int(truth[names[n]]) for n in range(size)} for size in (4, 5))
    assert adjudge.fit(judgments, gold=four).calibration.by == "crowds"
    fit = adjudge.fit(judgments, gold=five)
    assert (fit.calibration.by, fit.calibration.gold) == ("gold", 5)
    assert (fit.posterior[np.arange(5), truth[names[:5]]] == 1).all()
    given = np.zeros((len(judgments.judges), 2, 2))
    np.add.at(given.transpose(0, 2, 1), (judgments.judge, judgments.label), fit.posterior[judgments.item()])
    share = np.trace(given, axis1=1, axis2=2) / given.sum(axis=(1, 2))
    np.testing.assert_allclose(fit.accuracy, share)
    np.testing.assert_allclose(fit.confusion["probability"], fit.calibration.confusion.ravel())


def test_the_item_score_in_numpy_is_that_of_the_kernel(monkeypatch):
    """Small crowds are scored in numpy, to the last bit the same, also of judges who judge an item again."""
    rng, results = np.random.default_rng(3), []
    columns = {name: rng.integers(0, most, 300) for name, most in (("item", 40), ("judge", 6), ("label", 3))}
    block = adjudge.read(pl.DataFrame(columns)).block()
    posterior, confusion = rng.dirichlet(np.ones(3), 40), rng.dirichlet(np.ones(3), (6, 3))
    for kernels in (False, True):
        monkeypatch.setattr("adjudge.inference.dependence.pays", lambda kernel, work, answer=kernels: answer)
        weighted = block._replace(weight=np.arange(300) / 100)
        results.append([item_score(each, posterior, confusion) for each in (block, weighted)])
    assert results[0] == results[1]
