"""The designs of simulated crowds, one small function each: a generative model, written as its paper says it."""

from __future__ import annotations

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats, frozen
from adjudge.judgments import crowds
from adjudge.judgments.crowds import Simulation
from adjudge.judgments.scale import Scale

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
