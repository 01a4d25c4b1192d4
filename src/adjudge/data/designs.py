"""The designs of simulated crowds, one function per design: a generative model, written as in its paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
from scipy.special import expit, ndtr, ndtri

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data import simulation
from adjudge.data.panel import MACHINE, PERSON, panel_of
from adjudge.data.scale import Scale
from adjudge.data.simulation import Simulation

# Means and precisions (phi, kappa) of Carpenter's three populations: prevalence is high, specificity varies most.
PREVALENCE, SENSITIVITY, SPECIFICITY = (0.65, 7.0), (0.8, 6.0), (0.65, 3.0)
TAIL = (1.9, 3.1)  # spread and cut of the log workload: the busiest tenth does most of the work, as in his data

LIU_WANG_PREVALENCE = np.array([[0.05, 0.15, 0.8]])
LIU_WANG_CONFUSION = np.array(  # the majority recovers a prevalence of about (.1, .15, .75), as the paper prints
    [
        [[0.85, 0.10, 0.05], [0.10, 0.80, 0.10], [0.04, 0.04, 0.92]],  # careful
        [[0.90, 0.10, 0.00], [0.40, 0.50, 0.10], [0.15, 0.15, 0.70]],  # gives too many A, misses almost none
        [[0.50, 0.20, 0.30], [0.05, 0.50, 0.45], [0.10, 0.05, 0.85]],  # gives too many C
    ]
)

LEAN = 0.4  # levels; less than .5, so that the true label stays the most likely one
BLUR = (0.4, 1.2)  # levels over which the errors of an ordinal judge become e times rarer
TRAINED_BLUR = (0.3, 0.9)  # the same for trained judges: right on .93 to .53 of the items if they are not biased
NEW = 0.25  # a newcomer meets an item less often than this, relative to other judges
SHIFTS = 41  # quantiles of the shift of items, over which matrices are averaged
NOISE = (0.01, 1.0)  # variances of Gaussian judges, from precise to nearly blind
THRESHOLD = 0.5
STEADY = 0.8  # mean accuracy of judges in designs that do not vary it
SHARED = 0.5  # share of a judge's items that the judge who copies from them judges too
MIDDLE = (0.3, 0.7)  # the part of a judge's series in which they may change

RELEVANT = (1_005 / 10_540, 6.0)  # mean and precision of the share of relevant passages per question (paper 004)
WORKLOAD = (21 / 488, 1_050 / 488)  # smallest and largest workload of a judge in paper 004, relative to the mean
SKILL, EASE, LEANING = 1.0, 1.0, 0.3  # standard deviations, in logits, of skill, ease of items, and bias of judges
TRUST = (0.7, 0.3)  # lowest trust that a platform accepts, and the range above it
MIXING = 20  # swaps per seat that make panels random
SURE = 40.0  # bound of logits


def carpenter(
    rng: np.random.Generator, *, topics: int, items: int, judges: int, judgments: int, spammers: float
) -> Simulation:
    """Simulate the hierarchical model of relevance coding.

    pi[t], theta1[j], theta0[j] ~ Beta(kappa phi, kappa (1 - phi)); z[i] ~ Bern(pi[topic[i]]);
    y[n] ~ Bern(z theta1 + (1 - z)(1 - theta0)). Workloads are log-normal, and judges meet items at random, sometimes
    twice. Spammers have theta1 = 1 - theta0.
    """
    topic = np.repeat(np.arange(topics, dtype=np.int32), simulation.allocate(rng, items, rng.gamma(20, size=topics)))
    prevalence = _two(_beta(rng, PREVALENCE, topics))
    truth = simulation.draw_categories(rng, prevalence, topic)
    item = np.repeat(np.arange(items, dtype=np.int32), simulation.allocate(rng, judgments, np.ones(items)))
    workload = simulation.allocate(rng, judgments, np.exp(TAIL[0] * rng.normal(size=judges).clip(max=TAIL[1])))
    judge = rng.permutation(np.repeat(np.arange(judges, dtype=np.int32), workload))
    sensitivity, specificity = _beta(rng, SENSITIVITY, judges), _beta(rng, SPECIFICITY, judges)
    spam, rate = _spam(rng, workload, simulation.share_count(spammers, judges))
    sensitivity[spam], specificity[spam] = rate, 1 - rate
    confusion = np.stack([_two(1 - specificity), _two(sensitivity)], axis=1)
    label = simulation.draw_labels(rng, confusion, judge, truth[item])
    table = simulation.named_judgments(
        item, judge, label, confusion, topics=simulation.numbered_names("topic", topics), topic=frozen(topic)
    )
    return Simulation(table, frozen(truth), frozen(prevalence), frozen(confusion), spammers=frozen(spam))


def liu_wang(rng: np.random.Generator, *, items: int) -> Simulation:
    """Simulate the synthetic study of TrueLabel + Confusions, section 3.

    Three judges label every item A, B or C, whose prevalence is .05, .15 and .8. The figure with the matrices of the
    paper is lost; these matrices are ours, with one cell at 0 as in the paper.
    """
    truth = simulation.draw_categories(rng, LIU_WANG_PREVALENCE, np.zeros(items, np.int32))
    judge = np.tile(np.arange(3, dtype=np.int32), (items, 1))
    label = simulation.draw_labels(rng, LIU_WANG_CONFUSION, judge, truth[:, None])
    scale = Scale(("A", "B", "C"))
    return simulation.from_panels(judge, label, truth, LIU_WANG_PREVALENCE, LIU_WANG_CONFUSION, scale=scale)


def monitoring(
    rng: np.random.Generator, *, items: int, judges: int, labels: int, per_item: int, newcomers: float, shift: float
) -> Simulation:
    """Simulate the monitoring set of TrueLabel + Confusions, section 4: few hard items that many trained judges label.

    theta[j,k,l] is proportional to exp(-|l - k - bias[j] - s[i]| / blur[j]) on an ordinal scale. The shift s[i] of an
    item is normal with standard deviation ``shift``, in labels: it misleads all judges in the same way. The confusion
    is averaged over shifts. A share ``newcomers`` of the judges has labelled few items. The paper has 6,008 ratings of
    48 items, five labels, and 148 judges "some of whom only rated a few"; biases, blurs and shifts are ours.
    """
    truth, prevalence = simulation.draw_truth(rng, items, labels)
    bias, blur = rng.uniform(-LEAN, LEAN, judges), rng.uniform(*TRAINED_BLUR, judges)
    moved = shift * rng.normal(size=items)
    judge = _weighted_panels(rng, items, per_item, _activity(rng, judges, newcomers))
    perceived = (truth + moved)[:, None, None] + bias[judge][:, :, None]  # (I, P, 1) what the judge sees
    weight = np.exp(-np.abs(np.arange(labels) - perceived) / blur[judge][:, :, None])
    chance = (weight / weight.sum(axis=2, keepdims=True)).reshape(-1, labels)
    label = simulation.draw_categories(rng, chance, np.arange(judge.size)).reshape(judge.shape)
    scale = Scale(tuple(map(str, range(1, labels + 1))), ordinal=True)
    confusion = _shifted_confusion(bias, blur, shift, labels)
    return simulation.from_panels(judge, label, truth, prevalence, confusion, scale=scale, bias=frozen(bias))


def dawid_skene(
    rng: np.random.Generator, *, items: int, judges: int, labels: int, per_item: int, accuracy: float
) -> Simulation:
    """Simulate judges who each have their own confusion matrix.

    z[i] ~ Categorical(pi); y[n] ~ Categorical(theta[judge[n], z[item[n]]]); the rows of theta are Dirichlet,
    with ``accuracy`` as the mean of the diagonal. Every item has a panel of different judges.
    """
    truth, prevalence = simulation.draw_truth(rng, items, labels)
    confusion = simulation.draw_confusion(rng, judges, labels, accuracy)
    judge = simulation.panels(rng, items, judges, per_item)
    label = simulation.draw_labels(rng, confusion, judge, truth[:, None])
    return simulation.from_panels(judge, label, truth, prevalence, confusion)


def ordinal(rng: np.random.Generator, *, items: int, judges: int, labels: int, per_item: int) -> Simulation:
    """Simulate judges on an ordinal scale who are biased up or down.

    theta[j,k,l] is proportional to exp(-|l - k - bias[j]| / blur[j]): errors become rarer with their distance
    from the true label, and are more likely in the direction of the bias.
    """
    truth, prevalence = simulation.draw_truth(rng, items, labels)
    bias, blur = rng.uniform(-LEAN, LEAN, judges), rng.uniform(*BLUR, judges)
    step = np.arange(labels) - np.arange(labels)[:, None]  # (K, K) from the truth to the label
    weight = np.exp(-np.abs(step - bias[:, None, None]) / blur[:, None, None])
    confusion = weight / weight.sum(axis=2, keepdims=True)
    judge = simulation.panels(rng, items, judges, per_item)
    label = simulation.draw_labels(rng, confusion, judge, truth[:, None])
    scale = simulation.numbered_scale(labels, ordinal=True)
    return simulation.from_panels(judge, label, truth, prevalence, confusion, scale=scale, bias=frozen(bias))


def gaussian(rng: np.random.Generator, *, items: int, judges: int, per_item: int) -> Simulation:
    """Simulate judges who compare a noisy degree with a threshold.

    B[i] ~ Uniform(0, 1); the judge sees x ~ N(B[i], A[j]) on [0, 1] and gives the label 1 if x > .5. The true label
    is 1 if B[i] > .5. The confusion is averaged over the items on either side of the threshold.
    """
    degree, noise = rng.random(items), NOISE[0] * (NOISE[1] / NOISE[0]) ** rng.random(judges)
    truth, prevalence = (degree > THRESHOLD).astype(np.int32), np.full((1, 2), 0.5)
    judge = simulation.panels(rng, items, judges, per_item)
    signal = _draw_signals(rng, np.repeat(degree, per_item), np.sqrt(noise)[judge.ravel()])
    label = (signal > THRESHOLD).astype(np.int32).reshape(judge.shape)
    return simulation.from_panels(
        judge, label, truth, prevalence, _gaussian_confusion(noise), degree=frozen(degree), noise=frozen(noise)
    )


def colluding(
    rng: np.random.Generator, *, items: int, judges: int, labels: int, per_item: int, colluders: float, copying: float
) -> Simulation:
    """Simulate pairs of judges in which one copies from the other.

    All judge as in the model of Dawid and Skene, but on an item that both of a pair judge, the second gives the
    label of the first with probability ``copying``, and otherwise their own. A share ``colluders`` of all judges is
    in pairs, who often judge the same items. The confusion is that of labels that are not copied.
    """
    truth, prevalence = simulation.draw_truth(rng, items, labels)
    confusion = simulation.draw_confusion(rng, judges, labels, STEADY)
    pairs = rng.permutation(judges)[: 2 * simulation.share_count(colluders, judges // 2)].reshape(-1, 2)
    judge = _seat_pairs(rng, simulation.panels(rng, items, judges, per_item), pairs, judges)
    original = simulation.draw_labels(rng, confusion, judge, truth[:, None])
    label = _copy_labels(rng, original, judge, pairs, copying)
    return simulation.from_panels(judge, label, truth, prevalence, confusion, colluders=frozen(pairs))


def drifting(
    rng: np.random.Generator, *, items: int, judges: int, labels: int, per_item: int, drifters: float, guessing: float
) -> Simulation:
    """Simulate judges whose accuracy drops.

    All judge as in the model of Dawid and Skene, one judgment at a time. A share ``drifters`` of the judges guesses
    at random on a share ``guessing`` of the items, from some point of their series on.
    """
    truth, prevalence = simulation.draw_truth(rng, items, labels)
    before = simulation.draw_confusion(rng, judges, labels, STEADY)
    judge = simulation.panels(rng, items, judges, per_item)
    time = rng.permutation(judge.size).reshape(judge.shape)
    changed = np.full(judges, -1)
    chosen = rng.permutation(judges)[: simulation.share_count(drifters, judges)]
    changed[chosen] = _draw_changes(rng, judge.ravel(), time.ravel(), judges)[chosen]
    after = np.where((changed >= 0)[:, None, None], (1 - guessing) * before + guessing / labels, before)
    late = (changed[judge] >= 0) & (time >= changed[judge])
    label = simulation.draw_labels(rng, np.concatenate([before, after]), judge + judges * late, truth[:, None])
    series = pl.Series("time", time.ravel())
    return simulation.from_panels(
        judge, label, truth, prevalence, before, time=series, changed=frozen(changed), after=frozen(after)
    )


def panel(
    rng: np.random.Generator,
    *,
    items: int,
    people: int,
    families: int,
    machines: int,
    labels: int,
    accuracy: float,
    within: float,
    between: float,
) -> Simulation:
    """Simulate people who err independently, and families of machines with correlated errors, all on every item.

    Every machine gives the label of a source of its family with probability sqrt(within), else its own. The source of
    a family gives the label of a source of all families with probability sqrt(between / within), else its own. All
    labels are right with probability ``accuracy``, so that all machines have the same confusion, and the errors of two
    machines have exactly these correlations given the truth.
    """
    truth, prevalence = simulation.draw_truth(rng, items, labels)
    matrix = np.full((labels, labels), (1 - accuracy) / (labels - 1))
    np.fill_diagonal(matrix, accuracy)
    count = families * machines
    family = np.repeat(np.arange(families), machines)
    by_people = simulation.draw_confusion(rng, people, labels, STEADY)
    drawn = simulation.draw_categories(rng, matrix, np.repeat(truth[:, None], 1 + families + count, axis=1))
    shared, sources, label = np.split(drawn, [1, 1 + families], axis=1)
    sources = np.where(rng.random(sources.shape) < np.sqrt(between / within if within else 0), shared, sources)
    label = np.where(rng.random(label.shape) < np.sqrt(within), sources[:, family], label)
    judge = np.tile(np.arange(people + count, dtype=np.int32), (items, 1))
    answers = simulation.draw_labels(rng, by_people, judge[:, :people], truth[:, None])
    confusion = np.concatenate([by_people, np.broadcast_to(matrix, (count, labels, labels))])
    crowd = simulation.from_panels(judge, np.concatenate([answers, label], axis=1), truth, prevalence, confusion)
    facts: dict[str, list[str | None]] = {
        "kind": [*[PERSON] * people, *[MACHINE] * count],
        "model": [*[None] * people, *(f"model {f + 1}" for f in family)],
        "prompt": [*[None] * people, *(f"prompt {n % machines + 1}" for n in range(count))],
    }
    facts_of_judges = panel_of(crowd.judgments.judges.to_list(), facts)
    return replace(crowd, judgments=replace(crowd.judgments, panel=facts_of_judges))


def rerank(
    rng: np.random.Generator,
    *,
    topics: int,
    items: int,
    judges: int,
    per_item: int,
    noise: float,
    relation: float,
    trusted: float,
    spammers: float,
) -> Simulation:
    """Simulate the crowd of paper 004: passages found for questions, relevant or not.

    pi[t] ~ Beta around the paper's share of relevant passages; z[i] ~ Bern(pi[topic[i]]); then ``judged_passages``.
    """
    topic = np.arange(items, dtype=np.int32) * topics // items
    prevalence = _two(_beta(rng, RELEVANT, topics))
    truth = simulation.draw_categories(rng, prevalence, topic)
    shares = {"noise": noise, "relation": relation, "trusted": trusted, "spammers": spammers}
    crowd = judged_passages(rng, truth, judges=judges, per_item=per_item, **shares)
    table = replace(
        crowd.judgments, topics=simulation.numbered_names("topic", topics), topic=frozen(topic.astype(np.int32))
    )
    return replace(crowd, judgments=table, prevalence=frozen(prevalence))


def judged_passages(
    rng: np.random.Generator,
    truth: Codes,
    *,
    judges: int = 108,
    per_item: int = 5,
    noise: float = 0.138,
    relation: float = 0.0,
    trusted: float = 0.6,
    spammers: float = 0.05,
) -> Simulation:
    """Simulate a crowd like that of paper 004 on items with these true labels (I), 0 or 1.

    Judge j is right about item i with logit skill[j] + ease[i], plus the bias of the judge if it is relevant and minus
    the bias if not; skill, ease and bias are normal. A share ``spammers``, those with the least skill, gives the label
    1 at a rate of their own. The mean skill of the others is chosen so that the expected share of wrong labels is
    ``noise``. Workloads go from 21 to 1,050 with a mean of 488 in the paper, scaled here; they are ordered by an
    activity whose correlation with skill is ``relation``. Trust is between .7 and 1, and its correlation with skill is
    ``trusted``. The confusion is averaged over items.
    """
    skill = rng.normal(size=judges)
    activity, trust = (_correlated_scores(rng, skill, share) for share in (relation, trusted))
    workload = np.empty(judges, np.int64)
    workload[np.argsort(activity, kind="stable")] = _workloads(truth.size, judges, per_item)
    judge = _shuffle_panels(rng, _deal_panels(rng, workload, per_item))
    spam = np.argsort(skill)[: simulation.share_count(spammers, judges)]
    ease, lean, rate = EASE * rng.normal(size=truth.size), LEANING * rng.normal(size=judges), np.full(judges, np.nan)
    rate[spam] = rng.random(spam.size)
    logit = SKILL * skill[:, None] + lean[:, None] * np.array([-1.0, 1.0])  # (J, 2) of being right, by truth
    chance = ease[:, None] + logit[judge, truth[:, None]]  # (I, P) logits of being right, up to a constant
    spammed = _two(rate)[judge, 1 - truth[:, None]]  # (I, P) probability that a spammer is wrong, NaN for others
    level = _level(chance[np.isnan(spammed)], noise * chance.size - np.nansum(spammed))
    wrong = np.where(np.isnan(spammed), expit(-level - chance), spammed)
    label = np.where(rng.random(judge.shape) < wrong, 1 - truth[:, None], truth[:, None]).astype(np.int32)
    mean = _average_over_items(level + logit)  # (J, 2) probability of being right
    mean[spam] = _two(rate[spam])
    confusion = np.stack([np.stack([mean[:, 0], 1 - mean[:, 0]], 1), np.stack([1 - mean[:, 1], mean[:, 1]], 1)], 1)
    prevalence = _two(np.array([truth.mean()]))
    scores = TRUST[0] + TRUST[1] * ndtr(trust)
    return simulation.from_panels(
        judge, label, truth, prevalence, confusion, spammers=frozen(spam), trust=frozen(scores), skill=frozen(skill)
    )


def _correlated_scores(rng: np.random.Generator, score: Floats, correlation: float) -> Floats:
    """Return standard normal scores with this correlation to other scores."""
    return correlation * score + float(np.sqrt(1 - correlation**2)) * rng.normal(size=score.size)


def _workloads(items: int, judges: int, each: int) -> Codes:
    """Return the number of items of each judge, ascending, between the limits of ``WORKLOAD``.

    The judge of rank r has low + (high - low) (r / (J - 1))^g items, with g chosen so that the sum is right: a mean of
    488 between 21 and 1,050 allows only nearly even steps.
    """
    total = items * each
    mean = total / judges
    high = min(items, max(-(-total // judges), round(mean * WORKLOAD[1])))
    low = max(min(max(1, round(mean * WORKLOAD[0])), total // judges), total - (judges - 1) * high)
    high = min(high, total - (judges - 1) * low)
    step = np.linspace(0, 1, judges)

    def shares(log_power: float) -> Floats:
        power: Floats = step ** np.exp(log_power)
        return low + (high - low) * power

    real = shares(_root(lambda g: float(shares(g).sum() - total), 20.0)) if high > low else np.full(judges, float(low))
    count = np.floor(real + 1e-9).astype(np.int64)
    more = np.argsort(-(real - count), kind="stable")[: total - count.sum()]
    count[more] += 1
    return count


def _deal_panels(rng: np.random.Generator, workload: Codes, each: int) -> Codes:
    """Return panels (I, P) of different judges: judges take consecutive items in turn, and items are then shuffled."""
    order = rng.permutation(workload.size)
    line = np.repeat(order, workload[order]).astype(np.int32)
    return rng.permutation(line.reshape(each, -1).T, axis=0)


def _shuffle_panels(rng: np.random.Generator, judge: Codes) -> Codes:
    """Return panels (I, P) after many swaps of judges between pairs of items; no judge has an item twice."""
    mixed, (items, seats) = judge.copy(), judge.shape
    for _ in range(MIXING * seats):
        left, right = rng.permutation(items)[: items // 2 * 2].reshape(2, -1)
        left_seat, right_seat = rng.integers(seats, size=(2, left.size))
        first, second = mixed[left, left_seat], mixed[right, right_seat]
        twice = (mixed[left] == second[:, None]).any(axis=1) | (mixed[right] == first[:, None]).any(axis=1)
        mixed[left, left_seat] = np.where(twice, first, second)
        mixed[right, right_seat] = np.where(twice, second, first)
    return mixed


def _level(logit: Floats, wrong: float) -> float:
    """Return the constant to add to logits of being right so that ``wrong`` labels are expected to be wrong."""
    return _root(lambda level: float(expit(-level - logit).sum() - wrong), SURE)


def _root(falling: Callable[[float], float], far: float) -> float:
    """Return the root of a decreasing function between -far and far, or the nearest end if there is none."""
    low, high = -far, far
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def _average_over_items(logit: Floats) -> Floats:
    """Return the probability of being right, averaged over the ease of items."""
    node, weight = np.polynomial.hermite_e.hermegauss(40)
    mean: Floats = expit(logit[..., None] + EASE * node) @ (weight / weight.sum())
    return mean


def _beta(rng: np.random.Generator, population: tuple[float, float], count: int) -> Floats:
    """Return draws from the Beta distribution with this mean and precision."""
    phi, kappa = population
    return rng.beta(kappa * phi, kappa * (1 - phi), count)


def _two(yes: Floats) -> Floats:
    """Return the probabilities of the labels 0 and 1 (..., 2)."""
    return np.stack([1 - yes, yes], axis=-1)


def _spam(rng: np.random.Generator, workload: Codes, count: int) -> tuple[Codes, Floats]:
    """Return spammers, the busiest first, and the rate at which each gives the label 1.

    The two busiest judges of all are among them, the others are drawn in proportion to workload. The busier half
    always gives 0 or always 1, in turn; each of the rest has a random rate.
    """
    wait = rng.exponential(size=workload.size) / workload  # the smallest are a draw in proportion to workload
    wait[np.argsort(-workload)[:2]] = 0
    spam = np.argsort(wait)[:count]
    spam = spam[np.argsort(-workload[spam])]
    rank = np.arange(count)
    return spam, np.where(rank < (count + 1) // 2, rank % 2, rng.random(count))


def _draw_signals(rng: np.random.Generator, degree: Floats, spread: Floats) -> Floats:
    """Return draws from N(degree, spread^2) truncated to [0, 1], by rejection."""
    signal = rng.normal(degree, spread)
    while (outside := np.flatnonzero((signal < 0) | (signal > 1))).size:
        signal[outside] = rng.normal(degree[outside], spread[outside])
    return signal


def _gaussian_confusion(noise: Floats) -> Floats:
    """Return the confusion (J, 2, 2) of Gaussian judges on degrees uniform on either side of the threshold."""
    node, weight = np.polynomial.legendre.leggauss(20)
    low = THRESHOLD * (node + 1) / 2  # (Q) degrees below the threshold
    signal = np.r_[low, 1 - low]
    density = np.exp(-((signal - low[:, None]) ** 2) / (2 * noise[:, None, None]))  # (J, Q, 2 Q)
    mass = (density * np.tile(weight, 2)).reshape(noise.size, low.size, 2, low.size).sum(axis=3)
    below = np.einsum("q,jql->jl", weight / weight.sum(), mass / mass.sum(axis=2, keepdims=True))
    return np.stack([below, below[:, ::-1]], axis=1)  # the other side of the threshold is the mirror image


def _seat_pairs(rng: np.random.Generator, judge: Codes, pairs: Codes, judges: int) -> Codes:
    """Return panels (I, P) in which the second of a pair joins the first on many items, instead of another judge."""
    second, (items, seats) = np.full(judges, -1), judge.shape
    second[pairs[:, 0]] = pairs[:, 1]
    seated = judge.copy()
    for seat in range(seats):
        comes = second[seated[:, seat]]
        alone = (comes >= 0) & ~(seated == comes[:, None]).any(axis=1) & (rng.random(items) < SHARED)
        other = (seat + rng.integers(1, seats, items)) % seats
        seated[alone, other[alone]] = comes[alone]
    return seated


def _copy_labels(rng: np.random.Generator, original: Codes, judge: Codes, pairs: Codes, copying: float) -> Codes:
    """Return the labels (I, P) after copying, on items that both judges of a pair judge."""
    first = np.full(judge.max() + 1, -1)
    first[pairs[:, 1]] = pairs[:, 0]
    label = original.copy()
    for seat in range(judge.shape[1]):
        is_source = judge == first[judge[:, seat]][:, None]  # (I, P)
        copies = is_source.any(axis=1) & (rng.random(len(original)) < copying)
        label[copies, seat] = original[copies, is_source.argmax(axis=1)[copies]]
    return label


def _draw_changes(rng: np.random.Generator, judge: Codes, time: Codes, judges: int) -> Codes:
    """Return a time (J) near the middle of the series of each judge, -1 for a judge with fewer than two judgments."""
    count = np.bincount(judge, minlength=judges)
    start = np.cumsum(count) - count
    turn = start + 1 + (rng.uniform(*MIDDLE, judges) * (count - 1)).astype(np.int64)
    series = time[np.lexsort((time, judge))]  # sorted by judge, then by time
    return np.where(count > 1, series[np.minimum(turn, time.size - 1)], -1)


def _activity(rng: np.random.Generator, judges: int, newcomers: float) -> Floats:
    """Return how often each judge meets an item, relative to the others (J)."""
    weight = np.ones(judges)
    new = rng.permutation(judges)[: simulation.share_count(newcomers, judges)]
    weight[new] = NEW * (1 - rng.random(new.size))  # above 0
    return weight


def _weighted_panels(rng: np.random.Generator, items: int, each: int, weight: Floats) -> Codes:
    """Return ``each`` different judges per item (I, P), drawn by weight; every judge has at least one item."""
    race = rng.exponential(size=(items, weight.size)) / weight  # the first ones are a weighted draw without replacement
    race[np.arange(weight.size) % items, rng.permutation(weight.size)] = -1.0  # one item per judge
    return np.sort(np.argsort(race, axis=1, kind="stable")[:, :each], axis=1).astype(np.int32)


def _shifted_confusion(bias: Floats, blur: Floats, shift: float, labels: int) -> Floats:
    """Return matrices (J, K, K) of the ``monitoring`` design, averaged over the shift of items."""
    step = np.arange(labels) - np.arange(labels)[:, None]  # (K, K) from the truth to the label
    total = np.zeros((bias.size, labels, labels))
    for moved in shift * ndtri((np.arange(SHIFTS) + 0.5) / SHIFTS):
        weight = np.exp(-np.abs(step - (bias + moved)[:, None, None]) / blur[:, None, None])
        total += weight / weight.sum(axis=2, keepdims=True)
    return total / SHIFTS
