"""Each design draws what its docstring says, and what comes out shows the parameters that went in."""

import numpy as np
import pytest

from adjudge.arrays import Codes, Floats
from adjudge.data import designs
from adjudge.data.scale import Scale
from adjudge.data.simulate import simulate
from adjudge.data.simulation import Simulation
from adjudge.errors import UsageError

FAR = 5  # standard errors that no share of a correct design is away, of the thousands looked at
OFTEN = 10  # times a label is expected, and expected not, where its share is looked at: a share is normal only then


def tally(simulation: Simulation, rows: Codes | slice = slice(None)) -> Floats:
    """Return how often each judge gave each label to each truth (J, K, K)."""
    judgments, count = simulation.judgments, np.zeros(simulation.confusion.shape)
    truth = simulation.truth[judgments.item()]
    np.add.at(count, (judgments.judge[rows], truth[rows], judgments.label[rows]), 1)
    return count


def distance(count: Floats, probability: Floats) -> float:
    """Return how many standard errors the worst share is from its probability, of those expected often enough."""
    observed = count.sum(axis=-1, keepdims=True)
    often = np.minimum(observed * probability, observed * (1 - probability)) >= OFTEN
    error = np.sqrt(observed * probability * (1 - probability))
    return float((np.abs(count - observed * probability)[often] / error[often]).max())


def shared_items(simulation: Simulation, first: int, second: int) -> tuple[Codes, Codes]:
    """Return the items that two judges share, and whether their labels there agree."""
    judgments = simulation.judgments
    label = {judge: np.full(len(judgments.items), -1) for judge in (first, second)}
    for judge, inputs in label.items():
        rows = np.flatnonzero(judgments.judge == judge)
        inputs[judgments.item()[rows]] = judgments.label[rows]
    shared = np.flatnonzero((label[first] >= 0) & (label[second] >= 0))
    return shared, (label[first] == label[second])[shared].astype(int)


def excess(simulation: Simulation, pairs: list[list[int]], copying: float) -> float:
    """Return by how many standard errors pairs agree more than expected.

    Expected is that the second copies with some probability, and that else both err independently.
    """
    over, variance = 0.0, 0.0
    for first, second in pairs:
        shared, agree = shared_items(simulation, first, second)
        by_chance = np.einsum("kl,kl->k", simulation.confusion[first], simulation.confusion[second])
        chance = copying + (1 - copying) * by_chance[simulation.truth[shared]]
        over, variance = over + (agree - chance).sum(), variance + (chance * (1 - chance)).sum()
    return float(over / np.sqrt(variance))


@pytest.fixture(scope="module")
def carpenter() -> Simulation:
    """Return the crowd of paper 000 at its own size."""
    return simulate("carpenter", seed=3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_carpenter_has_exactly_the_size_of_the_paper(seed: int) -> None:
    """Topics, items, judges, judgments and gold are those of section 1; no item, judge or topic is empty."""
    simulation = simulate("carpenter", seed=seed)
    judgments = simulation.judgments
    assert judgments.topics is not None
    assert judgments.topic is not None
    assert (len(judgments.topics), len(judgments.items), len(judgments.judges)) == (100, 19_033, 762)
    assert (len(judgments), len(simulation.gold)) == (89_624, 2_275)
    assert np.diff(judgments.start).min() >= 1
    assert np.bincount(judgments.judge, minlength=762).min() >= 1
    assert np.bincount(judgments.topic, minlength=100).min() >= 1
    assert judgments.scale.labels == ("0", "1")


def test_carpenter_workload_has_a_heavy_tail(carpenter: Simulation) -> None:
    """The busiest tenth of the judges does most of the work, the median judge very little, as in the TREC data."""
    work = np.sort(np.bincount(carpenter.judgments.judge))[::-1]
    assert 0.6 < work[:76].sum() / work.sum() < 0.85  # .76 there
    assert np.median(work) < 30  # 17 there
    assert 1_000 < work[0] < 12_000  # 7,438 there


def test_carpenter_spammers_are_busy_and_blind(carpenter: Simulation) -> None:
    """One judge in twenty has sensitivity = 1 - specificity; the two busiest of all say only 0 and only 1."""
    assert carpenter.spammers is not None
    assert carpenter.spammers.size == 38
    blind = carpenter.confusion[carpenter.spammers]
    assert np.allclose(blind[:, 0], blind[:, 1])
    work = np.bincount(carpenter.judgments.judge)
    busiest = np.argsort(-work)[:2]
    assert np.array_equal(carpenter.spammers[:2], busiest)
    result = [set(carpenter.judgments.label[carpenter.judgments.judge == judge].tolist()) for judge in busiest]
    assert result == [{0}, {1}]
    assert 0.2 < work[carpenter.spammers].sum() / work.sum() < 0.6


def test_carpenter_spammers_are_first_of_all_the_busiest() -> None:
    """Where there are two spammers, they are the two busiest judges, whatever the seed."""
    sizes = {"topics": 5, "items": 100, "judges": 20, "judgments": 2_000, "gold": 10}
    for seed in range(10):
        simulation = simulate("carpenter", seed=seed, spammers=0.1, **sizes)
        work = np.bincount(simulation.judgments.judge)
        assert simulation.spammers is not None
        assert np.array_equal(work[simulation.spammers], np.sort(work)[::-1][:2])


def test_carpenter_honest_judges_come_from_their_populations(carpenter: Simulation) -> None:
    """Mean and variance of sensitivity, specificity and prevalence are those of their Beta populations."""
    assert carpenter.spammers is not None
    honest = np.setdiff1d(np.arange(762), carpenter.spammers)
    drawn = {
        designs.SENSITIVITY: carpenter.confusion[honest, 1, 1],
        designs.SPECIFICITY: carpenter.confusion[honest, 0, 0],
        designs.PREVALENCE: carpenter.prevalence[:, 1],
    }
    for (phi, kappa), values in drawn.items():
        spread = np.sqrt(phi * (1 - phi) / (kappa + 1))
        assert abs(values.mean() - phi) < 4 * spread / np.sqrt(values.size)
        assert values.std() == pytest.approx(spread, rel=0.25)


def test_carpenter_labels_follow_the_judges_and_truths_the_topics(carpenter: Simulation) -> None:
    """Each judge's shares are their sensitivity and specificity, each topic's share of truths its prevalence."""
    assert distance(tally(carpenter), carpenter.confusion) < FAR
    assert carpenter.judgments.topic is not None
    truths = np.zeros((100, 2))
    np.add.at(truths, (carpenter.judgments.topic, carpenter.truth), 1)
    assert distance(truths, carpenter.prevalence) < FAR


def test_carpenter_takes_the_smallest_sizes() -> None:
    """One judgment of one item by one judge is a crowd, and so is one with nobody or everybody a spammer."""
    sizes = {"topics": 1, "items": 1, "judges": 1, "judgments": 1, "gold": 1}
    nobody, everybody = (simulate("carpenter", spammers=share, **sizes) for share in (0, 1))
    assert len(nobody.judgments) == 1
    assert nobody.spammers is not None
    assert nobody.spammers.size == 0
    assert everybody.spammers is not None
    assert everybody.spammers.tolist() == [0]


def test_liu_wang_is_the_study_of_the_paper() -> None:
    """Three judges label each of 3,000 items once, and the shares of A, B, C are .05, .15 and .8."""
    simulation = simulate("liu-wang", seed=1)
    judgments = simulation.judgments
    assert (len(judgments.items), len(judgments)) == (3_000, 9_000)
    assert judgments.scale.labels == ("A", "B", "C")
    assert np.array_equal(judgments.judge.reshape(-1, 3), np.tile([0, 1, 2], (3_000, 1)))
    assert np.array_equal(simulation.prevalence, [[0.05, 0.15, 0.8]])
    assert distance(np.bincount(simulation.truth)[None].astype(float), simulation.prevalence) < FAR


def test_liu_wang_labels_follow_the_stated_matrices() -> None:
    """The matrices add up, one cell is 0 and stays empty, and all others are seen as often as they say."""
    simulation = simulate("liu-wang", items=100_000)
    assert np.allclose(simulation.confusion.sum(axis=2), 1)
    assert np.argwhere(simulation.confusion == 0).tolist() == [[1, 0, 2]]
    count = tally(simulation)
    assert count[1, 0, 2] == 0
    assert distance(count, simulation.confusion) < FAR


def test_liu_wang_majority_finds_the_printed_prevalence() -> None:
    """The majority, ties broken at random, recovers about (.1, .15, .75), the one result the paper prints."""
    judgments = simulate("liu-wang", items=50_000).judgments
    votes = (judgments.label.reshape(-1, 3, 1) == np.arange(3)).sum(axis=1)  # (I, K)
    label = (votes + np.random.default_rng(0).random(votes.shape)).argmax(axis=1)
    assert np.abs(np.bincount(label) / label.size - [0.1, 0.15, 0.75]).max() < 0.03


def test_monitoring_has_the_numbers_of_the_paper() -> None:
    """48 items, 148 judges, five ordered labels, about 6,008 ratings; most judges met nearly all items, some few."""
    judgments = simulate("monitoring", seed=1).judgments
    assert (len(judgments.items), len(judgments.judges), len(judgments)) == (48, 148, 6_000)
    assert judgments.scale == Scale(("1", "2", "3", "4", "5"), ordinal=True)
    assert set(np.diff(judgments.start).tolist()) == {125}
    assert all(len(set(row)) == 125 for row in judgments.judge.reshape(48, 125).tolist())
    workload = np.bincount(judgments.judge, minlength=148)
    assert workload.min() >= 1
    assert np.median(workload) > 40
    assert 10 < (workload < 24).sum() < 35


def test_monitoring_labels_follow_the_matrices() -> None:
    """Labels follow the matrices of judges, averaged over the shift of items: another shift has other matrices."""
    sizes = {"items": 6_000, "judges": 20, "per_item": 15}
    still, shifted = (simulate("monitoring", seed=3, shift=shift, **sizes) for shift in (0.0, 0.4))
    assert distance(tally(still), still.confusion) < FAR
    assert distance(tally(shifted), shifted.confusion) < FAR
    assert distance(tally(still), shifted.confusion) > FAR


def test_monitoring_items_mislead_all_judges_by_their_shift() -> None:
    """Nearly all items are found by the vote of 100 judges without a shift, and clearly fewer with one."""
    found = []
    for shift in (0.0, 0.4):
        simulation = simulate("monitoring", seed=2, items=300, per_item=100, shift=shift)
        votes = (simulation.judgments.label.reshape(300, 100, 1) == np.arange(5)).sum(axis=1)
        found.append((votes.argmax(axis=1) == simulation.truth).mean())
    assert found[0] > 0.98
    # a shift of more than half a label misleads: 2 * P(normal > .5 / .4) = .21, less at the two ends of the scale
    assert 0.72 < found[1] < 0.92


@pytest.mark.parametrize("sizes", [{"items": 1, "judges": 1, "per_item": 1}, {"items": 7, "judges": 28, "per_item": 4}])
def test_every_judge_of_a_monitoring_set_has_an_item(sizes: dict[str, int]) -> None:
    """Also if there are hardly enough places, and if everybody or nobody is new."""
    for newcomers in (0.0, 1.0):
        judgments = simulate("monitoring", seed=4, newcomers=newcomers, gold=0, **sizes).judgments
        assert np.bincount(judgments.judge, minlength=sizes["judges"]).min() >= 1


def test_dawid_skene_has_the_size_asked_for() -> None:
    """By default every item has five judgments by different judges, and every judge 200."""
    judgments = simulate("dawid-skene").judgments
    assert (len(judgments.items), len(judgments.judges), len(judgments.scale)) == (10_000, 250, 5)
    assert set(np.diff(judgments.start).tolist()) == {5}
    assert set(np.bincount(judgments.judge).tolist()) == {200}
    assert all(len(set(row)) == 5 for row in judgments.judge.reshape(-1, 5).tolist())


def test_dawid_skene_labels_follow_the_matrices() -> None:
    """Judges' shares are their matrices, truths' shares the prevalence, and the average judge the accuracy."""
    simulation = simulate("dawid-skene", items=20_000, judges=50, labels=3, per_item=4, accuracy=0.6)
    assert distance(tally(simulation), simulation.confusion) < FAR
    assert distance(np.bincount(simulation.truth)[None].astype(float), simulation.prevalence) < FAR
    assert np.einsum("jkk->", simulation.confusion) / 150 == pytest.approx(0.6, abs=0.05)


def test_dawid_skene_makes_a_million() -> None:
    """A million judgments are a table like any other, in small integers."""
    simulation = simulate("dawid-skene", items=200_000)
    judgments = simulation.judgments
    assert (len(judgments), len(judgments.judges), judgments.label.itemsize) == (1_000_000, 5_000, 1)
    right = (judgments.label == simulation.truth[judgments.item()]).mean()
    assert right == pytest.approx(0.7, abs=0.01)


def test_ordinal_errors_decay_and_lean() -> None:
    """The truth is likeliest, labels further off on the same side are rarer, and bias moves the mean label."""
    simulation = simulate("ordinal", items=20_000, judges=50)
    confusion, bias = simulation.confusion, simulation.bias
    assert bias is not None
    assert simulation.judgments.scale.ordinal
    assert np.array_equal(confusion.argmax(axis=2), np.tile(np.arange(5), (len(bias), 1)))
    for truth in range(5):
        assert (np.diff(confusion[:, truth, truth:]) < 0).all()
        assert (np.diff(confusion[:, truth, : truth + 1]) > 0).all()
    middle = confusion[:, 2] @ np.arange(5) - 2
    assert (np.sign(middle) == np.sign(bias)).all()
    assert (bias > 0).any()
    assert (bias < 0).any()
    assert distance(tally(simulation), confusion) < FAR


def test_gaussian_labels_follow_degree_and_noise() -> None:
    """The share of 1 at a degree is the mass of the truncated normal above one half."""
    simulation = simulate("gaussian", items=40_000, judges=20)
    judgments, degree, noise = simulation.judgments, simulation.degree, simulation.noise
    assert degree is not None
    assert noise is not None
    grid = (np.arange(1_000) + 0.5) / 1_000
    density = np.exp(-((grid - grid[:, None]) ** 2) / (2 * noise[:, None, None]))  # (J, degrees, seen)
    yes = density[:, :, 500:].sum(axis=2) / density.sum(axis=2)
    chance = yes[judgments.judge, (degree[judgments.item()] * 1_000).astype(int)]
    for low in (0.0, 0.25, 0.5, 0.75):
        other = (degree[judgments.item()] >= low) & (degree[judgments.item()] < low + 0.25)
        error = np.sqrt((chance * (1 - chance))[other].sum())
        assert abs(judgments.label[other].sum() - chance[other].sum()) < FAR * error


def test_gaussian_truth_and_confusion_are_those_of_the_degrees() -> None:
    """The truth is on which side of one half the degree is; the confusion is the average over that side."""
    simulation = simulate("gaussian", items=40_000, judges=20)
    assert simulation.degree is not None
    assert simulation.noise is not None
    assert np.array_equal(simulation.truth, simulation.degree > 0.5)
    assert (simulation.noise >= 0.01).all()
    assert (simulation.noise <= 1).all()
    assert np.allclose(simulation.confusion.sum(axis=2), 1)
    assert distance(tally(simulation), simulation.confusion) < FAR
    by_noise = simulation.confusion[np.argsort(simulation.noise), 1, 1]
    assert (np.diff(by_noise) < 0).all()


@pytest.fixture(scope="module")
def colluding() -> Simulation:
    """Return a crowd of 50 with five pairs, each of them often together, one copying three times in five."""
    return simulate("colluding", items=20_000, judges=50, copying=0.6)


def test_colluding_pairs_agree_by_copying(colluding: Simulation) -> None:
    """On shared items pairs agree as often as copying and chance together say, and far more than by chance."""
    assert colluding.colluders is not None
    assert colluding.colluders.shape == (5, 2)
    assert np.unique(colluding.colluders).size == 10
    pairs = colluding.colluders.tolist()
    assert abs(excess(colluding, pairs, copying=0.6)) < FAR
    assert excess(colluding, pairs, copying=0.5) > FAR
    assert excess(colluding, pairs, copying=0.7) < -FAR


def test_colluding_leaves_the_others_independent(colluding: Simulation) -> None:
    """Judges who are in no pair with each other agree by chance, and only those who copy leave their matrices."""
    assert colluding.colluders is not None
    others = np.setdiff1d(np.arange(50), colluding.colluders)
    neighbours = [[first, second] for first, second in zip(others[:-1].tolist(), others[1:].tolist(), strict=True)]
    assert abs(excess(colluding, neighbours, copying=0)) < FAR
    assert abs(excess(colluding, [colluding.colluders[:2, 0].tolist()], copying=0)) < FAR
    copies = np.isin(colluding.judgments.judge, colluding.colluders[:, 1])
    assert distance(tally(colluding, np.flatnonzero(~copies)), colluding.confusion) < FAR
    assert distance(tally(colluding, np.flatnonzero(copies)), colluding.confusion) > FAR


def test_colluding_pairs_share_items() -> None:
    """Pairs meet at far more items than others, while every item keeps its number of different judges."""
    simulation = simulate("colluding")
    assert simulation.colluders is not None
    (first, second), (third, _) = simulation.colluders[:2].tolist()
    assert shared_items(simulation, first, second)[0].size > 70
    assert shared_items(simulation, first, third)[0].size < 50
    assert all(len(set(row)) == 5 for row in simulation.judgments.judge.reshape(-1, 5).tolist())
    assert np.bincount(simulation.judgments.judge).min() > 100


def test_drifting_judges_change_when_said() -> None:
    """Before its time a drifter's shares are the first matrices, from then on, and at once, the second."""
    simulation = simulate("drifting", items=20_000, judges=50, drifters=1)
    changed, after, time = simulation.changed, simulation.after, simulation.judgments.time
    assert changed is not None
    assert after is not None
    assert time is not None
    turn = changed[simulation.judgments.judge]
    late = (turn >= 0) & (time.to_numpy() >= turn)
    assert distance(tally(simulation, np.flatnonzero(~late)), simulation.confusion) < FAR
    assert distance(tally(simulation, np.flatnonzero(late)), after) < FAR
    assert distance(tally(simulation), simulation.confusion) > FAR
    soon = np.flatnonzero(late & (time.to_numpy() < turn + 1_000))
    right = (simulation.judgments.label == simulation.truth[simulation.judgments.item()])[soon].mean()
    assert right < 0.6  # .8 before and .47 after, with a standard error of .016


def test_drifting_judges_change_within_their_series() -> None:
    """A fifth of the judges changes, with at least a fifth of their judgments before and after, and for the worse."""
    simulation = simulate("drifting")
    changed, after, judgments = simulation.changed, simulation.after, simulation.judgments
    assert changed is not None
    assert after is not None
    assert judgments.time is not None
    assert np.array_equal(np.sort(judgments.time.to_numpy()), np.arange(len(judgments)))
    drifters = np.flatnonzero(changed >= 0)
    assert drifters.size == 10
    for judge in drifters.tolist():
        series = judgments.time.to_numpy()[judgments.judge == judge]
        assert changed[judge] in series
        assert 0.2 < (series < changed[judge]).mean() < 0.8
    right = np.einsum("jkk->j", simulation.confusion), np.einsum("jkk->j", after)
    assert np.array_equal(right[1] < right[0], changed >= 0)


def test_drifting_takes_judges_with_one_judgment() -> None:
    """A judge with a single judgment has no point at which to change."""
    simulation = simulate("drifting", items=5, judges=10, per_item=2, drifters=1)
    assert simulation.changed is not None
    assert np.array_equal(simulation.changed, np.full(10, -1))


def unanimous(simulation: Simulation) -> float:
    """Return the share of items on which all judges agree."""
    judgments = simulation.judgments
    yes = np.bincount(judgments.item(), judgments.label)
    return float(np.mean((yes == 0) | (yes == np.diff(judgments.start))))


def workload(simulation: Simulation) -> Codes:
    """Return how many judgments each judge gave (J)."""
    return np.bincount(simulation.judgments.judge, minlength=len(simulation.judgments.judges))


@pytest.fixture(scope="module")
def passages() -> Simulation:
    """Return the crowd of paper 004 at its own size."""
    return simulate("rerank", seed=3)


def test_rerank_has_the_marginals_of_the_paper(passages: Simulation) -> None:
    """527 questions with 20 passages, 5 judgments each by different judges, 108 of them with 21 to 1,050 passages."""
    judgments = passages.judgments
    assert judgments.topic is not None
    assert np.bincount(judgments.topic).tolist() == [20] * 527
    assert (len(judgments.items), len(judgments.judges), len(judgments)) == (10_540, 108, 52_700)
    assert (workload(passages).min(), workload(passages).max()) == (21, 1_050)
    panel = np.sort(judgments.judge.reshape(-1, 5), axis=1)
    assert (panel[:, 1:] != panel[:, :-1]).all()
    assert passages.truth.mean() == pytest.approx(1_005 / 10_540, abs=0.015)


def test_rerank_agrees_as_fully_as_the_papers_crowd() -> None:
    """All five agree on 51.8 % of passages: within 2.5 points for every seed, within 1 on average."""
    shares = [unanimous(simulate("rerank", seed=seed)) for seed in range(8)]
    assert np.abs(np.array(shares) - 0.518).max() < 0.025
    assert np.mean(shares) == pytest.approx(0.518, abs=0.01)


@pytest.mark.parametrize("noise", [0.05, 0.138, 0.3])
@pytest.mark.parametrize("relation", [-0.8, 0.0, 0.8])
def test_rerank_noise_is_the_share_of_wrong_labels(noise: float, relation: float) -> None:
    """Whoever is busy, as many labels are wrong as was asked for."""
    crowd = simulate("rerank", seed=1, topics=100, items=4_000, noise=noise, relation=relation)
    wrong = crowd.judgments.label != crowd.truth[crowd.judgments.item()]
    assert wrong.mean() == pytest.approx(noise, abs=FAR * np.sqrt(noise / wrong.size))


def test_rerank_activity_and_trust_follow_skill_as_said() -> None:
    """Correlations are those asked for; at 1 the most skilled is the busiest."""
    for relation, trusted in ((-0.7, 0.9), (0.0, 0.0), (0.7, -0.5)):
        crowd = simulate("rerank", topics=10, items=4_000, judges=1_000, relation=relation, trusted=trusted)
        assert crowd.skill is not None
        assert crowd.trust is not None
        assert np.corrcoef(crowd.skill, workload(crowd))[0, 1] == pytest.approx(relation, abs=0.1)
        assert np.corrcoef(crowd.skill, crowd.trust)[0, 1] == pytest.approx(trusted, abs=0.1)
        assert crowd.trust.min() >= 0.7
        assert crowd.trust.max() <= 1
    in_order = simulate("rerank", topics=5, items=300, judges=20, relation=1)
    assert in_order.skill is not None
    assert (np.diff(workload(in_order)[np.argsort(in_order.skill)]) >= 0).all()


def test_rerank_labels_follow_the_matrices(passages: Simulation) -> None:
    """Over items of every ease, each judge errs as their matrix says; spammers are at chance."""
    assert distance(tally(passages), passages.confusion) < FAR
    assert passages.spammers is not None
    assert passages.skill is not None
    assert passages.spammers.size == 5
    assert passages.skill[passages.spammers].max() == np.sort(passages.skill)[4]
    spam = passages.confusion[passages.spammers]
    np.testing.assert_allclose(spam[:, 0], spam[:, 1])


def test_rerank_seats_everybody_with_everybody(passages: Simulation) -> None:
    """Who judges the same passage as whom is as chance would have it: no more pairs together than expected."""
    panel, judges = passages.judgments.judge.reshape(-1, 5), 108
    together = np.zeros((judges, judges))
    for index in range(5):
        for two in range(5):
            np.add.at(together, (panel[:, index], panel[:, two]), index != two)
    expected = np.outer(workload(passages), workload(passages)) * 4 / passages.judgments.judge.size
    off = ~np.eye(judges, dtype=bool) & (expected > OFTEN)
    z = (together - expected)[off] / np.sqrt(expected[off])
    assert 0.8 < z.std() < 1.2


@pytest.mark.parametrize(
    ("items", "judges", "per_item"), [(1, 1, 1), (3, 1, 1), (7, 2, 1), (5, 5, 5), (50, 6, 5), (60, 108, 5), (9, 4, 3)]
)
def test_rerank_takes_every_size(items: int, judges: int, per_item: int) -> None:
    """Whatever the sizes, everybody judges, nobody twice, and every item has its judgments."""
    crowd = simulate("rerank", topics=1, items=items, judges=judges, per_item=per_item)
    assert workload(crowd).min() >= 1
    assert np.diff(crowd.judgments.start).tolist() == [per_item] * items
    panel = np.sort(crowd.judgments.judge.reshape(-1, per_item), axis=1)
    assert (panel[:, 1:] != panel[:, :-1]).all()


def test_rerank_takes_the_ends_of_noise_and_spam() -> None:
    """Nobody errs, everybody does, nobody looks."""
    sizes = {"topics": 5, "items": 200, "judges": 20}
    for noise in (0, 1):
        crowd = simulate("rerank", noise=noise, spammers=0, **sizes)
        assert (crowd.judgments.label != crowd.truth[crowd.judgments.item()]).mean() == noise
    assert (
        simulate("rerank", spammers=1, **sizes).confusion[:, 0]
        == simulate("rerank", spammers=1, **sizes).confusion[:, 1]
    ).all()


def test_passages_of_known_truth_are_judged() -> None:
    """A crowd for items whose truth is given, as of a real collection."""
    truth = np.tile([0, 0, 1], 200)
    crowd = designs.judged_passages(np.random.default_rng(2), truth, judges=12)
    assert np.array_equal(crowd.truth, truth)
    assert crowd.prevalence == pytest.approx(np.array([[2 / 3, 1 / 3]]))
    assert (crowd.judgments.label != truth[crowd.judgments.item()]).mean() == pytest.approx(0.138, abs=0.03)


def test_tables_carry_trust_where_there_is_any(passages: Simulation) -> None:
    """The trust of a judge is given with each of their judgments, and nowhere else."""
    assert passages.trust is not None
    assert passages.table.columns == ["item", "judge", "label", "topic", "trust"]
    each = passages.table.unique(["judge", "trust"])
    assert each.height == 108
    assert simulate("liu-wang", items=5).table.columns == ["item", "judge", "label"]


def test_a_panel_has_the_correlations_of_its_sizes() -> None:
    """Errors of machines have the correlations within and between families of the sizes, those of people none."""
    drawn = simulate("panel", 1, items=20_000, labels=3, within=0.6, between=0.25)
    judgments = drawn.judgments
    errors = judgments.label.reshape(20_000, -1) != drawn.truth[:, None]
    correlation = np.corrcoef(errors.T)
    family, _ = judgments.panel.family_codes()
    same = (family[:, None] == family) & ~np.eye(15, dtype=bool)
    machine = np.array(judgments.panel.kind) == "machine"
    apart = (family[:, None] != family) & machine & machine[:, None]
    assert judgments.panel.kind == ("person",) * 3 + ("machine",) * 12
    assert np.allclose(correlation[same], 0.6, atol=0.03)
    assert np.allclose(correlation[apart], 0.25, atol=0.03)
    assert np.allclose(correlation[:3, 3:], 0, atol=0.03)
    assert np.allclose(errors[:, 3:].mean(axis=0), 0.25, atol=0.02)


def test_a_panel_refuses_families_that_err_together_less_than_strangers() -> None:
    """The correlation within families is at least that between them; independent machines are possible."""
    with pytest.raises(UsageError, match=r"within = 0\.1 is less than between = 0\.2, and machines of one family err"):
        simulate("panel", within=0.1, between=0.2)
    assert len(simulate("panel", items=20, within=0, between=0).judgments) == 300
