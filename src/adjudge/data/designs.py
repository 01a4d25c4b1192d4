"""The designs of simulated crowds, one small function each: a generative model, written as its paper says it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
from scipy.special import expit, ndtr

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data import crowds
from adjudge.data.crowds import Simulation
from adjudge.data.scale import Scale

# Means and precisions (phi, kappa) of Carpenter's three populations: prevalence is high, specificity varies most.
PREVALENCE, SENSITIVITY, SPECIFICITY = (0.65, 7.0), (0.8, 6.0), (0.65, 3.0)
TAIL = (1.9, 3.1)  # spread of log workload, and its end: the busiest tenth does most of the work, as in his data

LIU_WANG_PREVALENCE = np.array([[0.05, 0.15, 0.8]])
LIU_WANG_CONFUSION = np.array(  # the majority recovers a prevalence of about (.1, .15, .75), as the paper prints
    [
        [[0.85, 0.10, 0.05], [0.10, 0.80, 0.10], [0.04, 0.04, 0.92]],  # careful
        [[0.90, 0.10, 0.00], [0.40, 0.50, 0.10], [0.15, 0.15, 0.70]],  # finds too many A, misses none altogether
        [[0.50, 0.20, 0.30], [0.05, 0.50, 0.45], [0.10, 0.05, 0.85]],  # finds too many C
    ]
)

LEAN = 0.4  # levels; below .5, so that the truth stays a judge's most likely label
BLUR = (0.4, 1.2)  # levels over which an ordinal judge's errors become e times rarer
NOISE = (0.01, 1.0)  # variances of Gaussian judges, from sharp eyes to hardly a look
THRESHOLD = 0.5
STEADY = 0.8  # accuracy of judges, on average, where a design is about something else
SHARED = 0.5  # of a judge's items at which the one who copies from her is seated too
MIDDLE = (0.3, 0.7)  # of a judge's series, where she may change

RELEVANT = (1_005 / 10_540, 6.0)  # paper 004's share of relevant passages; questions differ in theirs
WORKLOAD = (21 / 488, 1_050 / 488)  # the least and the most passages a judge of paper 004 took, over their mean
SKILL, EASE, LEANING = 1.0, 1.0, 0.3  # spreads of judges' skill, of items' ease, and of judges' leaning, in logits
TRUST = (0.7, 0.3)  # a platform's scores: those below are not let in
MIXING = 20  # changes of seats for every seat, after which who sits with whom is forgotten
SURE = 40.0  # logits that nothing exceeds


def carpenter(
    rng: np.random.Generator, *, topics: int, items: int, judges: int, judgments: int, spammers: float
) -> Simulation:
    """Simulate the hierarchical model of relevance coding.

    pi[t], theta1[j], theta0[j] ~ Beta(kappa phi, kappa (1 - phi)); z[i] ~ Bern(pi[topic[i]]);
    y[n] ~ Bern(z theta1 + (1 - z)(1 - theta0)). Workloads are log-normal, and pairs of judge and item meet
    at random, now and then twice. Spammers have theta1 = 1 - theta0.
    """
    topic = np.repeat(np.arange(topics, dtype=np.int32), crowds.spread(rng, items, rng.gamma(20, size=topics)))
    prevalence = _two(_beta(rng, PREVALENCE, topics))
    truth = crowds.categories(rng, prevalence, topic)
    item = np.repeat(np.arange(items, dtype=np.int32), crowds.spread(rng, judgments, np.ones(items)))
    workload = crowds.spread(rng, judgments, np.exp(TAIL[0] * rng.normal(size=judges).clip(max=TAIL[1])))
    judge = rng.permutation(np.repeat(np.arange(judges, dtype=np.int32), workload))
    sensitivity, specificity = _beta(rng, SENSITIVITY, judges), _beta(rng, SPECIFICITY, judges)
    spam, rate = _spam(rng, workload, crowds.part(spammers, judges))
    sensitivity[spam], specificity[spam] = rate, 1 - rate
    confusion = np.stack([_two(1 - specificity), _two(sensitivity)], axis=1)
    label = crowds.said(rng, confusion, judge, truth[item])
    table = crowds.named(item, judge, label, confusion, topics=crowds.numbered("topic", topics), topic=frozen(topic))
    return Simulation(table, frozen(truth), frozen(prevalence), frozen(confusion), spammers=frozen(spam))


def liu_wang(rng: np.random.Generator, *, items: int) -> Simulation:
    """Simulate the synthetic study of TrueLabel + Confusions, section 3.

    Three judges label every item A, B or C, whose prevalence is .05, .15 and .8. The paper's matrices are
    lost with its figure; these are ours, with one cell at 0 as there.
    """
    truth = crowds.categories(rng, LIU_WANG_PREVALENCE, np.zeros(items, np.int32))
    judge = np.tile(np.arange(3, dtype=np.int32), (items, 1))
    label = crowds.said(rng, LIU_WANG_CONFUSION, judge, truth[:, None])
    return crowds.recorded(judge, label, truth, LIU_WANG_PREVALENCE, LIU_WANG_CONFUSION, scale=Scale(("A", "B", "C")))


def dawid_skene(
    rng: np.random.Generator, *, items: int, judges: int, labels: int, per_item: int, accuracy: float
) -> Simulation:
    """Simulate judges who each err in their own way.

    z[i] ~ Categorical(pi); y[n] ~ Categorical(theta[judge[n], z[item[n]]]); the rows of theta are Dirichlet,
    with ``accuracy`` as the mean of the diagonal. Every item has a panel of different judges.
    """
    truth, prevalence = crowds.drawn_truth(rng, items, labels)
    confusion = crowds.leaning(rng, judges, labels, accuracy)
    judge = crowds.panels(rng, items, judges, per_item)
    label = crowds.said(rng, confusion, judge, truth[:, None])
    return crowds.recorded(judge, label, truth, prevalence, confusion)


def ordinal(rng: np.random.Generator, *, items: int, judges: int, labels: int, per_item: int) -> Simulation:
    """Simulate judges on an ordinal scale who lean up or down.

    theta[j,k,l] is proportional to exp(-|l - k - bias[j]| / blur[j]): errors become rarer with their distance
    from the truth, and are more likely on the side to which the judge leans.
    """
    truth, prevalence = crowds.drawn_truth(rng, items, labels)
    bias, blur = rng.uniform(-LEAN, LEAN, judges), rng.uniform(*BLUR, judges)
    step = np.arange(labels) - np.arange(labels)[:, None]  # (K, K) from the truth to the label
    weight = np.exp(-np.abs(step - bias[:, None, None]) / blur[:, None, None])
    confusion = weight / weight.sum(axis=2, keepdims=True)
    judge = crowds.panels(rng, items, judges, per_item)
    label = crowds.said(rng, confusion, judge, truth[:, None])
    scale = crowds.numbered_scale(labels, ordinal=True)
    return crowds.recorded(judge, label, truth, prevalence, confusion, scale=scale, bias=frozen(bias))


def gaussian(rng: np.random.Generator, *, items: int, judges: int, per_item: int) -> Simulation:
    """Simulate judges who see a degree through noise.

    B[i] ~ Uniform(0, 1); the judge sees x ~ N(B[i], A[j]) on [0, 1] and says 1 when x > .5. The truth is 1
    when B[i] > .5, and the confusion is what a judge says, on average, to the items on either side.
    """
    degree, noise = rng.random(items), NOISE[0] * (NOISE[1] / NOISE[0]) ** rng.random(judges)
    truth, prevalence = (degree > THRESHOLD).astype(np.int32), np.full((1, 2), 0.5)
    judge = crowds.panels(rng, items, judges, per_item)
    seen = _seen(rng, np.repeat(degree, per_item), np.sqrt(noise)[judge.ravel()])
    label = (seen > THRESHOLD).astype(np.int32).reshape(judge.shape)
    return crowds.recorded(judge, label, truth, prevalence, _sides(noise), degree=frozen(degree), noise=frozen(noise))


def colluding(
    rng: np.random.Generator, *, items: int, judges: int, labels: int, per_item: int, colluders: float, copying: float
) -> Simulation:
    """Simulate pairs of judges of whom one copies.

    All judge as in Dawid and Skene's model, but on an item that both of a pair judge, the second gives the
    label of the first with probability ``copying``, and her own else. A share ``colluders`` of all judges is
    in pairs, who are seated together often. The confusion is of labels that are a judge's own.
    """
    truth, prevalence = crowds.drawn_truth(rng, items, labels)
    confusion = crowds.leaning(rng, judges, labels, STEADY)
    pairs = rng.permutation(judges)[: 2 * crowds.part(colluders, judges // 2)].reshape(-1, 2)
    judge = _seated(rng, crowds.panels(rng, items, judges, per_item), pairs, judges)
    own = crowds.said(rng, confusion, judge, truth[:, None])
    label = _copied(rng, own, judge, pairs, copying)
    return crowds.recorded(judge, label, truth, prevalence, confusion, colluders=frozen(pairs))


def drifting(
    rng: np.random.Generator, *, items: int, judges: int, labels: int, per_item: int, drifters: float, guessing: float
) -> Simulation:
    """Simulate judges who become worse.

    All judge as in Dawid and Skene's model, one judgment at a time; but a share ``drifters`` of the judges,
    from some point of their own series on, guesses blindly on a share ``guessing`` of the items.
    """
    truth, prevalence = crowds.drawn_truth(rng, items, labels)
    before = crowds.leaning(rng, judges, labels, STEADY)
    judge = crowds.panels(rng, items, judges, per_item)
    time = rng.permutation(judge.size).reshape(judge.shape)
    changed = np.full(judges, -1)
    chosen = rng.permutation(judges)[: crowds.part(drifters, judges)]
    changed[chosen] = _turns(rng, judge.ravel(), time.ravel(), judges)[chosen]
    after = np.where((changed >= 0)[:, None, None], (1 - guessing) * before + guessing / labels, before)
    late = (changed[judge] >= 0) & (time >= changed[judge])
    label = crowds.said(rng, np.concatenate([before, after]), judge + judges * late, truth[:, None])
    series = pl.Series("time", time.ravel())
    return crowds.recorded(
        judge, label, truth, prevalence, before, time=series, changed=frozen(changed), after=frozen(after)
    )


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
    truth = crowds.categories(rng, prevalence, topic)
    crowd = judged_passages(
        rng,
        truth,
        judges=judges,
        per_item=per_item,
        noise=noise,
        relation=relation,
        trusted=trusted,
        spammers=spammers,
    )
    table = replace(crowd.judgments, topics=crowds.numbered("topic", topics), topic=frozen(topic.astype(np.int32)))
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
    """Simulate a crowd like that of paper 004 on items of these truths (I), 0 or 1.

    Judge j is right of an item with logit skill[j] + ease[i], plus a leaning of hers where it is relevant and minus it
    where not; skill, ease and leaning are normal. A share ``spammers``, those of the least skill, says 1 at a rate of
    their own. The mean skill of the others is such that ``noise`` is the share of wrong labels that is expected of all.
    Workloads go from 21 to 1,050 parts of a mean of 488, ordered by an activity whose correlation with skill is
    ``relation``; a trust between .7 and 1 has the correlation ``trusted`` with it. The confusion is over items.
    """
    skill = rng.normal(size=judges)
    activity, trust = (_alike(rng, skill, share) for share in (relation, trusted))
    workload = np.empty(judges, np.int64)
    workload[np.argsort(activity, kind="stable")] = _workloads(truth.size, judges, per_item)
    judge = _mixed(rng, _dealt(rng, workload, per_item))
    spam = np.argsort(skill)[: crowds.part(spammers, judges)]
    ease, lean, rate = EASE * rng.normal(size=truth.size), LEANING * rng.normal(size=judges), np.full(judges, np.nan)
    rate[spam] = rng.random(spam.size)
    logit = SKILL * skill[:, None] + lean[:, None] * np.array([-1.0, 1.0])  # (J, 2) of being right, by truth
    seen = ease[:, None] + logit[judge, truth[:, None]]  # (I, P)
    spammed = _two(rate)[judge, 1 - truth[:, None]]  # (I, P) a spammer's chance of being wrong, NaN of others
    level = _level(seen[np.isnan(spammed)], noise * seen.size - np.nansum(spammed))
    wrong = np.where(np.isnan(spammed), expit(-level - seen), spammed)
    label = np.where(rng.random(judge.shape) < wrong, 1 - truth[:, None], truth[:, None]).astype(np.int32)
    mean = _over_items(level + logit)  # (J, 2) the chance of being right
    mean[spam] = _two(rate[spam])
    confusion = np.stack([np.stack([mean[:, 0], 1 - mean[:, 0]], 1), np.stack([1 - mean[:, 1], mean[:, 1]], 1)], 1)
    prevalence = _two(np.array([truth.mean()]))
    scores = TRUST[0] + TRUST[1] * ndtr(trust)
    return crowds.recorded(
        judge, label, truth, prevalence, confusion, spammers=frozen(spam), trust=frozen(scores), skill=frozen(skill)
    )


def _alike(rng: np.random.Generator, score: Floats, correlation: float) -> Floats:
    """Return standard normal scores that have this correlation with others."""
    return correlation * score + float(np.sqrt(1 - correlation**2)) * rng.normal(size=score.size)


def _workloads(items: int, judges: int, each: int) -> Codes:
    """Return how many items each judge takes, ascending, from the least to the most that ``WORKLOAD`` allows.

    low + (high - low) (r / (J - 1))^g of the judge of rank r, with g such that the sum is what is needed: a mean of 488
    between 21 and 1,050 leaves little else but nearly even steps.
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
    whole = np.floor(real + 1e-9).astype(np.int64)
    more = np.argsort(-(real - whole), kind="stable")[: total - whole.sum()]
    whole[more] += 1
    return whole


def _dealt(rng: np.random.Generator, workload: Codes, each: int) -> Codes:
    """Return panels (I, P) of different judges: each judge's items in a row, around and around, then shuffled."""
    order = rng.permutation(workload.size)
    line = np.repeat(order, workload[order]).astype(np.int32)
    return rng.permutation(line.reshape(each, -1).T, axis=0)


def _mixed(rng: np.random.Generator, judge: Codes) -> Codes:
    """Return the panels (I, P) after judges of items, two and two, have changed seats often, none sitting twice."""
    mixed, (items, seats) = judge.copy(), judge.shape
    for _ in range(MIXING * seats):
        one, two = rng.permutation(items)[: items // 2 * 2].reshape(2, -1)
        here, there = rng.integers(seats, size=(2, one.size))
        mine, other = mixed[one, here], mixed[two, there]
        twice = (mixed[one] == other[:, None]).any(axis=1) | (mixed[two] == mine[:, None]).any(axis=1)
        mixed[one, here], mixed[two, there] = np.where(twice, mine, other), np.where(twice, other, mine)
    return mixed


def _level(logit: Floats, wrong: float) -> float:
    """Return what is added to logits of being right, so that as many labels are wrong on average, or nearly so."""
    return _root(lambda level: float(expit(-level - logit).sum() - wrong), SURE)


def _root(falling: Callable[[float], float], far: float) -> float:
    """Return where a function that falls crosses zero between -far and far, or the end nearest to that."""
    low, high = -far, far
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def _over_items(logit: Floats) -> Floats:
    """Return the mean chance of being right over items of every ease."""
    node, weight = np.polynomial.hermite_e.hermegauss(40)
    mean: Floats = expit(logit[..., None] + EASE * node) @ (weight / weight.sum())
    return mean


def _beta(rng: np.random.Generator, population: tuple[float, float], count: int) -> Floats:
    """Return draws from the Beta of a mean and a precision."""
    phi, kappa = population
    return rng.beta(kappa * phi, kappa * (1 - phi), count)


def _two(yes: Floats) -> Floats:
    """Return the probabilities of the labels 0 and 1 (..., 2)."""
    return np.stack([1 - yes, yes], axis=-1)


def _spam(rng: np.random.Generator, workload: Codes, count: int) -> tuple[Codes, Floats]:
    """Return spammers, the busiest first, and how often each says 1.

    The two busiest judges of all are among them, the others are drawn by workload. The busier half says
    always 0 or always 1, in turn; the rest tosses a coin of its own.
    """
    wait = rng.exponential(size=workload.size) / workload  # the first to arrive are a draw by workload
    wait[np.argsort(-workload)[:2]] = 0
    spam = np.argsort(wait)[:count]
    spam = spam[np.argsort(-workload[spam])]
    place = np.arange(count)
    return spam, np.where(place < (count + 1) // 2, place % 2, rng.random(count))


def _seen(rng: np.random.Generator, degree: Floats, spread: Floats) -> Floats:
    """Return draws from N(degree, spread^2), again until they are in [0, 1]."""
    seen = rng.normal(degree, spread)
    while (out := np.flatnonzero((seen < 0) | (seen > 1))).size:
        seen[out] = rng.normal(degree[out], spread[out])
    return seen


def _sides(noise: Floats) -> Floats:
    """Return the confusion (J, 2, 2) of Gaussian judges on degrees uniform on either side of the threshold."""
    node, weight = np.polynomial.legendre.leggauss(20)
    low = THRESHOLD * (node + 1) / 2  # (Q) degrees below the threshold
    seen = np.r_[low, 1 - low]
    density = np.exp(-((seen - low[:, None]) ** 2) / (2 * noise[:, None, None]))  # (J, Q, 2 Q)
    mass = (density * np.tile(weight, 2)).reshape(noise.size, low.size, 2, low.size).sum(axis=3)
    below = np.einsum("q,jql->jl", weight / weight.sum(), mass / mass.sum(axis=2, keepdims=True))
    return np.stack([below, below[:, ::-1]], axis=1)  # above the threshold everything is mirrored


def _seated(rng: np.random.Generator, judge: Codes, pairs: Codes, judges: int) -> Codes:
    """Return the panels (I, P) with the second of a pair beside the first at many items, in another's seat."""
    second, (items, seats) = np.full(judges, -1), judge.shape
    second[pairs[:, 0]] = pairs[:, 1]
    seated = judge.copy()
    for seat in range(seats):
        comes = second[seated[:, seat]]
        alone = (comes >= 0) & ~(seated == comes[:, None]).any(axis=1) & (rng.random(items) < SHARED)
        other = (seat + rng.integers(1, seats, items)) % seats
        seated[alone, other[alone]] = comes[alone]
    return seated


def _copied(rng: np.random.Generator, own: Codes, judge: Codes, pairs: Codes, copying: float) -> Codes:
    """Return the labels (I, P) after those who copy have done so, where the judge they copy from is there."""
    first = np.full(judge.max() + 1, -1)
    first[pairs[:, 1]] = pairs[:, 0]
    label = own.copy()
    for seat in range(judge.shape[1]):
        there = judge == first[judge[:, seat]][:, None]  # (I, P)
        copies = there.any(axis=1) & (rng.random(len(own)) < copying)
        label[copies, seat] = own[copies, there.argmax(axis=1)[copies]]
    return label


def _turns(rng: np.random.Generator, judge: Codes, time: Codes, judges: int) -> Codes:
    """Return a time (J) near the middle of each judge's own series, -1 for one with fewer than two judgments."""
    count = np.bincount(judge, minlength=judges)
    start = np.cumsum(count) - count
    turn = start + 1 + (rng.uniform(*MIDDLE, judges) * (count - 1)).astype(np.int64)
    series = time[np.lexsort((time, judge))]  # judge after judge, each in order of time
    return np.where(count > 1, series[np.minimum(turn, time.size - 1)], -1)
