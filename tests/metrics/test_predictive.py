"""Leave-one-out and WAIC against ArviZ, and against exact leaving out by summing over every truth of a tiny table."""

from itertools import product

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.special import gammaln, logsumexp
from scipy.stats import norm

from adjudge.errors import UsageError
from adjudge.inference.chains import Draws
from adjudge.kernels.block import Block
from adjudge.kernels.truth import FLOOR, truth_posterior
from adjudge.metrics import predictive as module
from adjudge.metrics.predictive import Loo, difference, good_k, log_likelihoods, loo, smooth_weights, tail_length, waic

ROWS = np.array([[2, 1], [1, 3]])  # pseudo-counts of a judge's rows, and of prevalence
TOPICS = np.array([1.0, 2.0])
LABELS = [[(0, 0), (1, 0), (2, 1)], [(0, 1), (2, 1)], [(0, 1), (1, 0), (2, 1)], [(1, 1), (2, 0)], [(0, 0), (1, 0)]]


def block_of(labels, gold):
    """Return items of (judge, label) as a block."""
    judge, label = np.array([row for item in labels for row in item]).T
    start = np.r_[0, np.cumsum([len(item) for item in labels])]
    cell, topic = (judge * 2 + label).astype(np.uint32), np.zeros(len(labels), np.int32)
    return Block(
        start, cell, label.astype(np.uint8), topic, np.array(gold, np.int32), np.empty(0), 3, 2, np.arange(2.0)
    )


def tables(labels, gold, gold_informs=True):
    """Yield log p(labels, truths) of all truths that gold allows, and the counts that conjugate posteriors take."""
    for truths in product(*[(0, 1) if g < 0 else (g,) for g in gold]):
        row, common = np.repeat(ROWS[None].astype(float), 3, axis=0), TOPICS.copy()
        for item, z, g in zip(labels, truths, gold, strict=True):
            common[z] += g < 0 or gold_informs
            for j, k in item:
                row[j, z, k] += 1
        logs = gammaln(row).sum() - gammaln(row.sum(axis=2)).sum() + gammaln(common).sum() - gammaln(common.sum())
        prior = 3 * (gammaln(ROWS).sum() - gammaln(ROWS.sum(axis=1)).sum()) + gammaln(TOPICS).sum() - gammaln(3.0)
        yield logs - prior, row, common


def evidence(labels, gold, gold_informs=True):
    """Return log p(labels, gold), or p(labels | gold)."""
    return logsumexp([logs for logs, _, _ in tables(labels, gold, gold_informs)])


def left_out(labels, gold, i, gold_informs=True):
    """Return log p(item i | other items), exactly."""
    others = [*labels[:i], *labels[i + 1 :]], [*gold[:i], *gold[i + 1 :]]
    return evidence(labels, gold, gold_informs) - evidence(*others, gold_informs)


def posterior(labels, gold, size, gold_informs=True, seed=0):
    """Return independent draws from the posterior: truths by their probabilities, the rest by conjugacy."""
    rng = np.random.default_rng(seed)
    logs, rows, common = (np.array(part) for part in zip(*tables(labels, gold, gold_informs), strict=True))
    truth = rng.choice(logs.size, size, p=np.exp(logs - logsumexp(logs)))
    return draws_of(
        *(gamma / gamma.sum(axis=-1, keepdims=True) for gamma in map(rng.gamma, (common[truth], rows[truth])))
    )


def draws_of(prevalence, confusion, chains=2):
    """Return draws (S, K) and (S, J, K, K) as those of chains, one topic."""
    prevalence, confusion = (part.reshape(chains, -1, *part.shape[1:]) for part in (prevalence, confusion))
    C, D = prevalence.shape[:2]
    none = np.empty((C, D, 0))
    return Draws(prevalence[:, :, None], confusion, none[..., None], none, np.empty((C, 0, 2)), True)


@pytest.mark.parametrize("gold_informs", [True, False])
@pytest.mark.parametrize("gold", [[-1, -1, -1, -1, -1], [-1, -1, 1, -1, 0]])
def test_leaving_out_is_exact(gold, gold_informs):
    """Every item within what 60,000 draws allow; the densities differ between items by far more than that."""
    draws = posterior(LABELS, gold, 60_000, gold_informs)
    exact = [left_out(LABELS, gold, i, gold_informs) for i in range(5)]
    result = loo(draws, block_of(LABELS, gold), gold_informs=gold_informs)
    np.testing.assert_allclose(result.item, exact, atol=0.015)
    assert result.elpd == pytest.approx(sum(exact), abs=0.03)
    assert np.ptp(exact) > 0.5
    assert result.bad == 0
    assert result.note == ""


def some(seed=0, size=600, judges=6, items=40, K=3, spread=30.0):
    """Return draws around a crowd, and its judgments, in two topics, with gold and an item nobody judged."""
    rng = np.random.default_rng(seed)
    per = np.r_[0, rng.integers(1, 7, items - 1)]
    judge, label = rng.integers(judges, size=per.sum()), rng.integers(K, size=per.sum()).astype(np.uint8)
    block = Block(
        np.r_[0, per.cumsum()],
        (judge * K + label).astype(np.uint32),
        label,
        rng.integers(2, size=items).astype(np.int32),
        np.where(np.arange(items) % 5 == 2, rng.integers(K, size=items), -1).astype(np.int32),
        np.empty(0),
        judges,
        K,
        np.arange(float(K)),
    )
    prevalence, confusion = (
        rng.gamma(spread / K, size=(3, size // 3, n, *more, K)) for n, more in ((2, ()), (judges, (K,)))
    )
    none = np.empty((3, size // 3, 0))
    shares = [part / part.sum(axis=-1, keepdims=True) for part in (prevalence, confusion)]
    return Draws(*shares, none[..., None], none, np.empty((3, 0, K)), True), block


def all_logs(draws, block):
    """Return the logs of all items under all draws."""
    parts = (part.reshape(-1, *part.shape[2:]) for part in (draws.prevalence, draws.confusion))
    return log_likelihoods(block, *parts, 0, block.topic.size)


@pytest.mark.parametrize("efficiency", [1.0, 0.4])
def test_leave_one_out_is_that_of_arviz(efficiency):
    """Sum, error, parameters, items and shapes; ArviZ refuses the item without judgments, which we know for certain."""
    draws, block = some()
    logs = all_logs(draws, block)[1:]
    item, k, p = array_stats.loo(logs.reshape(-1, 3, 200), r_eff=efficiency)
    result = loo(draws, block, efficiency=efficiency)
    np.testing.assert_allclose(result.item[1:], item, rtol=1e-9)
    np.testing.assert_allclose(result.k[1:], k, rtol=1e-8)
    assert result.item[0] == pytest.approx(0, abs=1e-12)
    assert result.k[0] == -np.inf
    elpd, error, parameters, _ = array_stats.loo_summary(np.r_[0, item], np.r_[0, p])
    np.testing.assert_allclose(result[:3], [elpd, error, parameters], rtol=1e-9)
    assert result.good == 1 - 1 / np.log10(600)
    assert result.bad == (k > result.good).sum()


def test_waic_is_its_formula():
    """The log of the mean likelihood less the variance of the logs, and their sums."""
    draws, block = some()
    logs = all_logs(draws, block)
    result = waic(draws, block)
    item = np.log(np.exp(logs).mean(axis=1)) - logs.var(axis=1, ddof=1)
    np.testing.assert_allclose(result.item, item, atol=1e-12)
    np.testing.assert_allclose(result[:3], [item.sum(), np.sqrt(40 * item.var()), logs.var(axis=1, ddof=1).sum()])
    assert result.bad == (result.variance > 0.4).sum()


def test_waic_is_near_leaving_out_where_both_hold():
    """With narrow posteriors the two agree, and count as many parameters; wide ones they cannot be trusted on."""
    draws, block = some(size=3_000, spread=900.0)
    first, other = loo(draws, block), waic(draws, block)
    assert first.elpd == pytest.approx(other.elpd, abs=0.02)
    assert first.p == pytest.approx(other.p, rel=0.02)
    assert (first.note, other.note) == ("", "")
    assert waic(*some(spread=3.0)).note.endswith("WAIC cannot be trusted there; use loo")


def test_runs_of_items_change_nothing(monkeypatch):
    """However little is held at once."""
    draws, block = some()
    complete, other = loo(draws, block), waic(draws, block)
    monkeypatch.setattr(module, "LOGS_AT_ONCE", 600 * 7)
    np.testing.assert_array_equal(loo(draws, block).item, complete.item)
    np.testing.assert_array_equal(loo(draws, block).k, complete.k)
    np.testing.assert_array_equal(waic(draws, block).item, other.item)


def test_shapes_that_cannot_be_trusted_are_said():
    """Wide posteriors: a few items would change them. With few draws, more may help."""
    wide = loo(*some(size=6_000, spread=2.0))
    assert wide.good == 0.7
    assert wide.bad == (wide.k > 0.7).sum() > 0
    assert wide.note == (
        f"k is above 0.70 for {wide.bad} of 40 items: the posterior depends strongly on them, "
        "and the elpd is likely too high"
    )
    few = loo(*some(size=21))
    assert few.note == "k is above 0.24 for 40 of 40 items: 21 draws may be too few to leave these out; draw more"


def test_thresholds_follow_the_number_of_draws():
    """.7 from 2,155 draws on; a single draw is never enough."""
    assert good_k(100) == 0.5
    assert good_k(2_154) < 0.7 == good_k(2_155) == good_k(10**6)
    assert good_k(1) == -np.inf


def test_differences_are_paired():
    """Two models that stumble over the same items differ by less than their errors suggest."""
    draws, block = some()
    other = draws._replace(prevalence=np.roll(draws.prevalence, 1, axis=3))
    a, b = loo(draws, block), loo(other, block)
    result = difference(a, b)
    assert result.elpd == pytest.approx(a.elpd - b.elpd)
    assert result.error == pytest.approx(np.sqrt(40 * np.var(a.item - b.item)))
    assert result.error < np.hypot(a.error, b.error)
    assert difference(b, a).elpd == -result.elpd
    assert difference(a, a) == (0, 0, "a difference below 4 is small, and its error means little")


def test_differences_say_where_an_elpd_is_not_to_be_trusted():
    """The items of both are named."""
    item = np.zeros(10)
    first = Loo(0.0, 0.0, 0.0, item + 1, item, 0.7, 3, "")
    result = difference(first, first._replace(item=item, bad=0)).note
    assert result == "the elpd cannot be trusted for 3 items of the first model and 0 of the second"


def test_what_is_not_a_pair_is_refused():
    """Other items, or loo against waic."""
    draws, block = some()
    first = loo(draws, block)
    with pytest.raises(UsageError, match="one result has 40 items and the other 39: use the same items"):
        difference(first, first._replace(item=first.item[1:]))
    with pytest.raises(UsageError, match="one result is of loo and the other of waic: compare two of a kind"):
        difference(first, waic(draws, block))


def test_an_efficiency_that_cannot_be_is_refused():
    """Draws are worth something."""
    with pytest.raises(UsageError, match="efficiency 0 is not above 0"):
        loo(*some(), efficiency=0)


def test_one_item_has_no_error():
    """A spread needs two."""
    result = loo(posterior(LABELS[:1], [-1], 1_000), block_of(LABELS[:1], [-1]))
    assert np.isnan(result.error)
    assert np.isfinite(result.elpd)


@pytest.mark.parametrize("efficiency", [1.0, 0.6, 0.1])
@pytest.mark.parametrize("draws", [25, 100, 226, 1_000, 3_000])
@pytest.mark.parametrize("scale", [0.01, 0.5, 2.0, 30.0])
def test_weights_and_shapes_are_those_of_arviz(scale, draws, efficiency):
    """To nine digits, for tails from light to hopeless; ArviZ takes the log likelihood and turns its sign itself."""
    logs = np.random.default_rng(0).normal(-50, scale, (5, draws))
    weight, k = smooth_weights(-logs, efficiency)
    expected_weight, expected_k = array_stats.psislw(logs, r_eff=efficiency, axis=-1)
    np.testing.assert_allclose(weight, expected_weight, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(k, expected_k, rtol=1e-9, atol=1e-9)


def test_draws_that_come_twice_are_those_of_arviz():
    """A chain that stands still for a while gives equal ratios; which of them is smoothed first does not matter."""
    logs = np.repeat(np.random.default_rng(1).normal(size=(3, 500)), 2, axis=1)
    weight, k = smooth_weights(-logs)
    expected_weight, expected_k = array_stats.psislw(logs, axis=-1)
    np.testing.assert_allclose(k, expected_k, rtol=1e-9)
    np.testing.assert_allclose(np.sort(weight), np.sort(expected_weight), rtol=1e-9)


def test_leaving_out_is_exact_where_it_can_be_written_down():
    """Normal y of unknown mean: p(y_i | others) is normal. With the sign turned, the outlier would look likely."""
    rng = np.random.default_rng(2)
    y = np.r_[rng.normal(size=14), 2.5]
    mean, variance = y.sum() / (15 + 0.01), 1 / (15 + 0.01)  # of mu, given y ~ N(mu, 1) and mu ~ N(0, 100)
    mu = rng.normal(mean, np.sqrt(variance), 40_000)
    logs = norm.logpdf(y[:, None], mu)  # (I, S)
    weight, k = smooth_weights(-logs)
    elpd = logsumexp(weight + logs, axis=1)
    without = (y.sum() - y) / (14 + 0.01)
    exact = norm.logpdf(y, without, np.sqrt(1 + 1 / (14 + 0.01)))
    np.testing.assert_allclose(elpd, exact, atol=0.004)
    wrong = logsumexp(smooth_weights(logs).weight + logs, axis=1)
    assert k.max() < 0.5
    assert wrong[-1] - exact[-1] > 0.2  # and k of the wrong sign is fine:
    assert smooth_weights(logs).k.max() < 0.5


@pytest.mark.parametrize("shape", [0.2, 0.5, 0.9])
def test_known_tails_are_recognised(shape):
    """Ratios u^-k have a tail of shape k, whatever constant the logs lack."""
    u = np.random.default_rng(3).random((20, 20_000))
    k = smooth_weights(123.4 - shape * np.log(u)).k
    assert k.mean() == pytest.approx(shape, abs=0.05)


def test_weights_sum_to_one_and_the_largest_is_none_larger():
    """Smoothing keeps the order of draws and never goes beyond the largest ratio."""
    ratio = np.random.default_rng(4).normal(size=(4, 800)) * 3
    weight, _ = smooth_weights(ratio)
    np.testing.assert_allclose(np.exp(weight).sum(axis=1), 1)
    order = np.argsort(ratio, axis=1)
    assert (np.diff(np.take_along_axis(weight, order, axis=1)) >= -1e-12).all()
    below = ratio - np.sort(ratio, axis=1)[:, [-tail_length(800) - 1]] <= 0
    shift = (weight - ratio)[below].reshape(4, -1)
    np.testing.assert_allclose(shift, shift[:, :1] + np.zeros_like(shift))


def test_where_there_is_no_tail_nothing_is_smoothed():
    """Equal ratios, or ratios equal up to rounding: an item nobody judged weighs no draw more than another."""
    ratio = np.zeros((2, 400))
    ratio[1, ::3] = 2e-16
    weight, k = smooth_weights(ratio)
    assert (k == -np.inf).all()
    np.testing.assert_allclose(weight, -np.log(400))


def test_with_few_draws_nothing_is_trusted():
    """Below 25 draws a tail has less than five; weights are the ratios, and k is infinite."""
    ratio = np.random.default_rng(5).normal(size=(1, 24))
    weight, k = smooth_weights(ratio)
    assert k[0] == np.inf
    np.testing.assert_allclose(weight, ratio - logsumexp(ratio))
    assert np.isfinite(smooth_weights(np.random.default_rng(5).normal(size=(1, 25))).k[0])


def test_ratios_too_far_apart_to_fit_are_not_trusted():
    """All but one ratio vanish beside the largest: k is infinite, weights are finite and sum to one."""
    weight, k = smooth_weights(np.random.default_rng(6).normal(size=(1, 1_000)) * 1e5)
    assert k[0] == np.inf
    assert np.exp(weight).sum() == pytest.approx(1)


def test_what_is_given_is_not_changed():
    """Ratios come back as they were; rows do not know each other."""
    ratio = np.random.default_rng(7).normal(size=(6, 300))
    before = ratio.copy()
    weight, k = smooth_weights(ratio)
    np.testing.assert_array_equal(ratio, before)
    alone = smooth_weights(ratio[3:4])
    np.testing.assert_array_equal(weight[3], alone.weight[0])
    assert k[3] == alone.k[0]


ITEMS, J, K, T, S = 7, 4, 3, 2, 11


def table(rng, weighted=False, gold=False, topics=T):
    """Return a block with a repeat, an item nobody judged, and items of none to five judgments."""
    size = np.array([0, 5, 1, 3, 2, 4, 5])
    judge, label = rng.integers(J, size=size.sum()), rng.integers(K, size=size.sum()).astype(np.uint8)
    judge[0] = judge[1]
    return Block(
        np.r_[0, size.cumsum()],
        (judge * K + label).astype(np.uint32),
        label,
        rng.integers(topics, size=ITEMS).astype(np.int32),
        np.where(gold & (np.arange(ITEMS) % 3 == 0), rng.integers(K, size=ITEMS), -1).astype(np.int32),
        rng.uniform(0, 3, judge.size) if weighted else np.empty(0),
        J,
        K,
        np.arange(float(K)),
    )


def draws(rng, topics=T):
    """Return draws of prevalence and confusion."""
    return rng.dirichlet(np.ones(K), (S, topics)), rng.dirichlet(np.ones(K), (S, J, K))


def written_out(block, prevalence, confusion, gold_informs=True):
    """Return the logs one by one, all in logs."""
    logs = np.empty((block.topic.size, len(prevalence)))
    judge, prevalence, confusion = block.cell // K, np.maximum(prevalence, FLOOR), np.maximum(confusion, FLOOR)
    for i, s in np.ndindex(logs.shape):
        own = range(block.start[i], block.start[i + 1])
        joint = []
        for z in range(K) if block.gold[i] < 0 else [block.gold[i]]:
            factors = [np.log(confusion[s, judge[n], z, block.label[n]]) for n in own]
            times = [block.weight[n] if block.weight.size else 1.0 for n in own]
            prior = np.log(prevalence[s, block.topic[i] if prevalence.shape[1] > 1 else 0, z])
            joint.append((prior if gold_informs or block.gold[i] < 0 else 0) + np.dot(factors, times))
        logs[i, s] = logsumexp(joint)
    return logs


@pytest.mark.parametrize("topics", [1, T])
@pytest.mark.parametrize("gold", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_truths_are_summed_out(weighted, gold, topics):
    """With and without weights, gold and topics; an item nobody judged is certain, unless its truth is gold."""
    rng = np.random.default_rng(0)
    block, (prevalence, confusion) = table(rng, weighted, gold), draws(rng, topics)
    result = log_likelihoods(block, prevalence, confusion, 0, ITEMS)
    np.testing.assert_allclose(result, written_out(block, prevalence, confusion), rtol=1e-12, atol=1e-14)
    assert gold or np.abs(result[0]).max() < 1e-15
    answer = log_likelihoods(block, prevalence, confusion, 0, ITEMS, gold_informs=False)
    np.testing.assert_allclose(answer, written_out(block, prevalence, confusion, False), rtol=1e-12, atol=1e-14)


def test_all_items_together_are_the_evidence():
    """The sum over items is the log evidence of the pass that every model runs, gold included."""
    rng = np.random.default_rng(1)
    block, (prevalence, confusion) = table(rng, gold=True), draws(rng)
    evidence = [truth_posterior(block, p, c)[1] for p, c in zip(prevalence, confusion, strict=True)]
    np.testing.assert_allclose(
        log_likelihoods(block, prevalence, confusion, 0, ITEMS).sum(axis=0), evidence, rtol=1e-12
    )


def test_runs_are_parts_of_the_whole():
    """Items two to five are those of all."""
    rng = np.random.default_rng(2)
    block, (prevalence, confusion) = table(rng, weighted=True, gold=True), draws(rng)
    complete = log_likelihoods(block, prevalence, confusion, 0, ITEMS)
    np.testing.assert_array_equal(log_likelihoods(block, prevalence, confusion, 2, 5), complete[2:5])


@pytest.mark.parametrize("gold", [-1, 1])
def test_thousands_of_judgments_do_not_underflow(gold):
    """An item of 3,000 judgments has a likelihood far below the smallest float, and the log of it is right."""
    rng = np.random.default_rng(3)
    prevalence, confusion = draws(rng)
    judge, label = rng.integers(J, size=3_000), rng.integers(K, size=3_000).astype(np.uint8)
    block = table(rng)._replace(
        start=np.array([0, 3_000]),
        cell=(judge * K + label).astype(np.uint32),
        label=label,
        topic=np.zeros(1, np.int32),
        gold=np.array([gold], np.int32),
    )
    result = log_likelihoods(block, prevalence, confusion, 0, 1)
    np.testing.assert_allclose(result, written_out(block, prevalence, confusion), rtol=1e-11)
    assert result.max() < -2_000


def test_what_is_impossible_stays_comparable():
    """A draw in which a label has probability zero gives a log that is low, not one of minus infinity."""
    rng = np.random.default_rng(4)
    block, (prevalence, confusion) = table(rng), draws(rng)
    confusion[:5] = np.eye(K)
    result = log_likelihoods(block, prevalence, confusion, 0, ITEMS)
    assert np.isfinite(result).all()
    np.testing.assert_allclose(result, written_out(block, prevalence, confusion), rtol=1e-12, atol=1e-14)
