"""Draws of rows of probabilities from their Dirichlet posteriors, and of the populations that rows come from.

Rows ~ Dirichlet(kappa phi), phi ~ Dirichlet(1), kappa ~ Pareto(shape, least). Given only the counts of every row, the
likelihood is that of Polya: prod_r G(kappa) / G(kappa + n_r) prod_l G(kappa phi_l + n_rl) / G(kappa phi_l). Phi and
kappa are drawn from it by slice sampling (Neal 2003), in the logs of kappa and of phi_l / phi_K. What depends on
single rows is tabulated once per draw: how many counts exceed 0, 1, 2, ..., and the counts that are large or (with
weights) not whole. For large counts the log-likelihood is a power series around the current value, computed in one pass
over them.

Rows are drawn independently, or by over-relaxation. A row is gamma draws divided by their sum. Gamma(a) is nearly
normal in v = (g / d)^(1/3), d = a - 1/3, around v = 1: its density v^(3d) exp(-d v^3) has no skew there, which is why
Marsaglia and Tsang (2000) draw from it. So a row can be mirrored, v to 2 - v, and stays a draw from the same
distribution if the small remaining asymmetry is corrected by a Metropolis step. Such draws are over-relaxed (Adler
1981; Neal 1998): if rows and the truths that they are conditioned on are strongly dependent, a chain mixes in half the
sweeps or fewer.

``redraw`` draws everything that depends on the truths of a sweep in one compiled call: first the populations, then the
rows. Chains are threads, and between calls they would wait for the interpreter lock.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Tally
from adjudge.kernels.compiled import compiled
from adjudge.kernels.probability import normalise

SMALL = 32  # counts below which a ratio of gamma functions is a product; beyond, Stirling's series has 14 digits
WIDTH = 5.0  # of a slice's first interval, in logs and over the root of the rows: some 2.5 standard deviations
NARROW = 0.05  # of the same, at least
MOST = 100  # times an interval is widened or narrowed
ORDER = 8  # of the power series of large counts
NEAR = 0.05  # of kappa and the least of them: a step within which the series has 11 digits
LEAST = 0.6  # pseudo-counts below which a gamma is too skewed to be mirrored

# (K + 1, SMALL) counts above, (K + 1, R) large counts, (K + 1) their number, (K + 1, ORDER + 4) their series
Table: TypeAlias = tuple[Floats, Floats, Codes, Floats]


class Population(NamedTuple):
    """The distribution that rows come from."""

    phi: Floats  # (K) their mean
    kappa: float  # how similar they are, in judgments


class Pareto(NamedTuple):
    """The prior of kappa."""

    shape: float = 1.5
    least: float = 0.1


def draw_population(counts: Floats, current: Population, prior: Pareto, rng: np.random.Generator) -> Population:
    """Return phi and kappa drawn given the counts of rows (R, K), once each, by slice sampling from their posterior.

    ``current`` is where the slices begin, and ``prior`` that of kappa.
    """
    logit, log_kappa = np.log(current.phi) - np.log(current.phi[-1]), math.log(current.kappa)
    log_kappa = draw_logs(expand(tabulate(counts), log_kappa, np.log(current.phi)), log_kappa, logit, *prior, rng)
    share = np.exp(logit - logit.max())
    return Population(share / share.sum(), math.exp(log_kappa))


def log_likelihood(counts: Floats, current: Population) -> float:
    """Return the log likelihood of the counts of rows (R, K), the rows integrated out."""
    table, K = expand(tabulate(counts), math.log(current.kappa), np.log(current.phi)), current.phi.size
    return float(
        sum(rising(current.kappa * phi, k, table) for k, phi in enumerate(current.phi))
        - rising(current.kappa, K, table)
    )


@compiled
def tabulate(counts: Floats) -> Table:
    """Return what the likelihood needs of the counts, for every label and, last, for their sum.

    This is how many counts exceed 0 to 31, and the other counts; a count that is not whole is stored as its negative.
    """
    R, K = counts.shape
    above, large, number = np.zeros((K + 1, SMALL)), np.empty((K + 1, R)), np.zeros(K + 1, np.int64)
    series = np.zeros((K + 1, ORDER + 4))
    for r in range(R):
        total = 0.0
        for k in range(K + 1):
            n = total if k == K else counts[r, k]
            total += n
            is_whole = n == int(n)
            if n >= SMALL or not is_whole:
                large[k, number[k]] = n if is_whole else -n
                number[k] += 1
            if is_whole and n > 0:
                above[k, min(int(n), SMALL) - 1] += 1.0
    _sum_from_above(above)
    return above, large, number, series


@compiled
def _sum_from_above(above: Floats) -> None:
    """Turn how many counts are n + 1 into how many exceed n, in place (K + 1, SMALL)."""
    for i in range(above.shape[1] - 1, 0, -1):
        for k in range(above.shape[0]):
            above[k, i - 1] += above[k, i]


@compiled
def expand(table: Table, log_kappa: float, log_phi: Floats) -> Table:
    """Fill in the series of all large counts, around the kappa phi of their label and, last, around kappa.

    It holds this a, the smallest x = a + n, and the coefficients of sum log G(x + step) in powers of the step. If a
    count is not whole, or no count is large, there is no series: the smallest x is then 0, and no step is near.
    """
    _, large, number, series = table
    power = np.empty(ORDER + 1)  # sum x^-j
    for k in range(log_phi.size + 1):
        a = math.exp(log_kappa + (log_phi[k] if k < log_phi.size else 0.0))
        least, gammas, logs = np.inf if number[k] else 0.0, 0.0, 0.0
        power[:] = 0.0
        for r in range(number[k]):
            x = a + large[k, r]
            least = min(least, x) if large[k, r] > 0 else 0.0
            if least == 0.0:
                break
            inverse, log = 1 / x, math.log(x)
            gammas += _log_gamma(x)
            logs += log
            term = 1.0
            for j in range(ORDER + 1):
                power[j] += term
                term *= inverse
        series[k, 0], series[k, 1] = a, least
        _set_coefficients(gammas, logs, power, series[k, 2:])
    return table


@compiled
def _set_coefficients(gammas: float, logs: float, power: Floats, coefficient: Floats) -> None:
    """Fill in the coefficients of sum log G(x + step), from sum log G(x), sum log x, and sums of powers of 1 / x.

    Those of (x + step - 1/2) log(x + step) - x - step, log(1 + step / x) expanded, and of the rest of Stirling's series
    s(x + step), s(x) = 1 / 12 x - 1 / 360 x^3 + 1 / 1260 x^5.
    """
    coefficient[:] = 0.0
    coefficient[0], coefficient[1] = gammas, logs - power[0]
    sign = 1.0
    for j in range(1, ORDER + 1):
        coefficient[j] += sign / j * (power[j - 1] - 0.5 * power[j])
        coefficient[j + 1] += sign / j * power[j]
        sign = -sign
    sign = -1.0
    for j in range(1, ORDER):
        coefficient[j] += sign / 12 * power[j + 1]
        if j + 3 <= ORDER:
            coefficient[j] -= sign * (j + 1) * (j + 2) / 720 * power[j + 3]
        if j + 5 <= ORDER:
            coefficient[j] += sign * (j + 1) * (j + 2) * (j + 3) * (j + 4) / 30240 * power[j + 5]
        sign = -sign


@compiled
def draw_logs(
    table: Table, log_kappa: float, logit: Floats, shape: float, least: float, rng: np.random.Generator
) -> float:
    """Draw and return log kappa; draw every logit in place."""
    log_kappa = _slice(-1, table, log_kappa, logit, shape, least, rng)
    for k in range(logit.size - 1):
        logit[k] = _slice(k, table, log_kappa, logit, shape, least, rng)
    return log_kappa


@compiled
def _slice(
    which: int,
    table: Table,
    log_kappa: float,
    logit: Floats,
    shape: float,
    least: float,
    rng: np.random.Generator,
) -> float:
    """Return a new value of log kappa (-1) or of one logit, by stepping out and shrinking."""
    start, width = log_kappa if which < 0 else logit[which], max(NARROW, WIDTH / math.sqrt(table[1].shape[1]))
    floor = _log_density(which, start, table, log_kappa, logit, shape, least) - rng.standard_exponential()
    low = start - width * rng.random()
    high = low + width
    for _ in range(MOST):
        if _log_density(which, low, table, log_kappa, logit, shape, least) < floor:
            break
        low -= width
    for _ in range(MOST):
        if _log_density(which, high, table, log_kappa, logit, shape, least) < floor:
            break
        high += width
    for _ in range(MOST):
        after = low + (high - low) * rng.random()
        if _log_density(which, after, table, log_kappa, logit, shape, least) >= floor:
            return after
        if after < start:
            low = after
        else:
            high = after
    return start


@compiled
def _log_density(
    which: int, value: float, table: Table, log_kappa: float, logit: Floats, shape: float, least: float
) -> float:
    """Return the log density of (log kappa, logits), Jacobians included, with one coordinate at a value."""
    K, current, total = logit.size, logit[which], 0.0
    if which < 0:
        log_kappa = value
        if log_kappa < math.log(least):
            return -np.inf
        density = -shape * log_kappa - rising(math.exp(log_kappa), K, table)
    else:  # what depends on kappa alone stays the same
        logit[which] = value
        density = 0.0
    for k in range(K):
        total += math.exp(logit[k])
    log_total = math.log(total)
    for k in range(K):
        log_phi = logit[k] - log_total
        density += log_phi + rising(math.exp(log_kappa + log_phi), k, table)
    logit[which] = current
    return density


@compiled
def rising(a: float, k: int, table: Table) -> float:
    """Return sum_r log G(a + n_r) - log G(a) of tabulated counts."""
    above, large, number, series = table
    total = 0.0
    for i in range(SMALL):
        if above[k, i] == 0:
            break
        total += above[k, i] * math.log(a + i)
    step = a - series[k, 0]
    if abs(step) < NEAR * series[k, 1]:
        total += _near(step, series[k, 2:]) - number[k] * _log_gamma(a + SMALL)
    elif number[k]:
        base = _log_gamma(a + SMALL)
        for r in range(number[k]):
            n = large[k, r]
            if n > 0:
                total += _log_gamma(a + n) - base
            else:
                total += math.lgamma(a - n) - math.lgamma(a)
    return total


@compiled
def _near(step: float, coefficient: Floats) -> float:
    """Return a power series at a step."""
    total = 0.0
    for j in range(coefficient.size - 1, -1, -1):
        total = total * step + coefficient[j]
    return total


@compiled
def _log_gamma(x: float) -> float:
    """Return log G(x) for x of at least 32, by Stirling's series."""
    inverse = 1 / x
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    return (x - 0.5) * math.log(x) - x + 0.9189385332046727 + series


def dirichlet_rows(pseudo: Floats, rng: np.random.Generator) -> Floats:
    """Return rows drawn from Dirichlet(pseudo), along the last axis of an array of any shape."""
    rows, K = np.empty(pseudo.shape), pseudo.shape[-1]
    fill_rows(np.zeros((1, K)), np.ascontiguousarray(pseudo).reshape(-1, 1, K), rng, rows.reshape(-1, 1, K))
    return rows


def mirrored_rows(pseudo: Floats, rows: Floats, rng: np.random.Generator) -> Floats:
    """Return over-relaxed rows: if ``rows`` were draws from Dirichlet(pseudo), these are too.

    Parameters
    ----------
    pseudo
        Pseudo-counts of any shape; a row is along the last axis.
    rows
        The current rows, of the same shape.
    rng
        The random stream of the chain.

    Returns
    -------
    Floats
        The mirrored rows.
    """
    K = pseudo.shape[-1]
    a = np.ascontiguousarray(pseudo).reshape(-1, K)
    gamma, cube = np.empty(a.shape), np.empty(a.shape)
    _as_gammas(a, rows.reshape(-1, K), rng, gamma, cube)
    _mirror(a, np.cbrt(cube), rng, gamma)  # numpy takes many cubic roots at once
    return gamma.reshape(pseudo.shape)


@compiled
def fill_rows(prior: Floats, counts: Floats, rng: np.random.Generator, rows: Floats) -> None:
    """Fill in rows (R, G, K) drawn from Dirichlet(prior + counts); all rows of a group share one prior (G, K)."""
    for r in range(rows.shape[0]):
        for g in range(rows.shape[1]):
            total = 0.0
            for k in range(rows.shape[2]):
                rows[r, g, k] = gamma_draw(prior[g, k] + counts[r, g, k], rng)
                total += rows[r, g, k]
            if total > 0:
                for k in range(rows.shape[2]):
                    rows[r, g, k] /= total
            else:
                _all_to_one(prior[g] + counts[r, g], rng, rows[r, g])


@compiled
def _all_to_one(pseudo: Floats, rng: np.random.Generator, row: Floats) -> None:
    """Put the whole mass of a row whose gammas underflowed on one label, drawn by its share."""
    rest, k = rng.random() * pseudo.sum(), 0
    while k < pseudo.size - 1 and rest >= pseudo[k]:
        rest -= pseudo[k]
        k += 1
    row[k] = 1.0


@compiled
def _as_gammas(pseudo: Floats, rows: Floats, rng: np.random.Generator, gamma: Floats, cube: Floats) -> None:
    """Turn rows back into gammas with a drawn sum; fill in g / d too."""
    R, K = pseudo.shape
    for r in range(R):
        total = 0.0
        for k in range(K):
            total += pseudo[r, k]
        total = gamma_draw(total, rng)
        for k in range(K):
            gamma[r, k] = total * rows[r, k]
            cube[r, k] = gamma[r, k] / (max(pseudo[r, k], LEAST) - 1 / 3)


@compiled
def _mirror(pseudo: Floats, v: Floats, rng: np.random.Generator, gamma: Floats) -> None:
    """Mirror the gammas (those with few pseudo-counts are drawn independently) and divide by their sum."""
    R, K = pseudo.shape
    for r in range(R):
        total = 0.0
        for k in range(K):
            a, w = pseudo[r, k], 2 - v[r, k]
            if a < LEAST:
                gamma[r, k] = gamma_draw(a, rng)
            elif _accepts(a - 1 / 3, v[r, k], rng):
                gamma[r, k] = (a - 1 / 3) * w * w * w
            total += gamma[r, k]
        if total > 0:
            for k in range(K):
                gamma[r, k] /= total
        else:
            _all_to_one(pseudo[r], rng, gamma[r])


@compiled
def _accepts(d: float, v: float, rng: np.random.Generator) -> bool:
    """Return whether the move from v to 2 - v is accepted; the log of the ratio is -d (6/5 u^5 + 6/7 u^7 + ...)."""
    u = v - 1
    if u <= 0 or u >= 1:
        return u <= 0
    chance = rng.random()
    if chance < 1 - 1.2 * d * u**5 / (1 - u * u):
        return True
    return math.log(chance) < d * (3 * math.log((1 - u) / v) + v**3 - (1 - u) ** 3)


@compiled
def gamma_draw(a: float, rng: np.random.Generator) -> float:
    """Return a draw from Gamma(a) (Marsaglia and Tsang 2000); below 1, from Gamma(a + 1) times U^(1 / a)."""
    d = (a if a >= 1 else a + 1) - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = rng.standard_normal()
        v = 1 + c * x
        if v <= 0:
            continue
        v, square, chance = v * v * v, x * x, rng.random()
        if chance < 1 - 0.0331 * square * square or math.log(chance) < 0.5 * square + d * (1 - v + math.log(v)):
            return d * v if a >= 1 else d * v * math.exp(-rng.standard_exponential() / a)


class Redraw(NamedTuple):
    """Rows and their populations, drawn given the truths."""

    prevalence: Floats  # (T, K)
    confusion: Floats  # (J, K, K)
    phi: Floats  # (K + 1, K) of judges' rows under each truth and, last, of topics
    kappa: Floats  # (K + 1)


def redraw(tally: Tally, phi: Floats, kappa: Floats, prior: Pareto, rng: np.random.Generator) -> Redraw:
    """Draw the populations given the counts with rows integrated out, then the rows given both.

    Parameters
    ----------
    tally
        The counts of truths by topic (T, K), and of labels by judge and truth (J, K, K).
    phi, kappa
        The current means (K + 1, K) and concentrations (K + 1) of the populations.
    prior
        The prior of every kappa.
    rng
        The random stream of the chain.

    Returns
    -------
    Redraw
        The new rows and populations.
    """
    drawn = Redraw(*(np.empty(array.shape) for array in (tally.truth, tally.label, phi, kappa)))
    _redraw(tally.label, tally.truth, phi, kappa, prior.shape, prior.least, rng, *drawn)
    return drawn


@compiled
def _redraw(
    label: Floats,
    truth: Floats,
    old_phi: Floats,
    old_kappa: Floats,
    shape: float,
    least: float,
    rng: np.random.Generator,
    prevalence: Floats,
    confusion: Floats,
    phi: Floats,
    kappa: Floats,
) -> None:
    """Fill in prevalence, confusion, phi and kappa."""
    K = truth.shape[1]
    for p in range(K):
        kappa[p] = _population(label[:, p], old_phi[p], float(old_kappa[p]), shape, least, rng, phi[p])
    kappa[K] = _population(truth, old_phi[K], float(old_kappa[K]), shape, least, rng, phi[K])
    pseudo = np.empty((K + 1, K))
    for p in range(K + 1):
        for k in range(K):
            pseudo[p, k] = kappa[p] * phi[p, k]
    fill_rows(pseudo[:K], label, rng, confusion)
    fill_rows(pseudo[K:], truth.reshape(-1, 1, K), rng, prevalence.reshape(-1, 1, K))


@compiled
def _population(
    counts: Floats, old: Floats, kappa: float, shape: float, least: float, rng: np.random.Generator, phi: Floats
) -> float:
    """Fill in phi and return kappa, drawn given the counts of rows (R, K)."""
    log_phi, logit = np.empty(old.size), np.empty(old.size)
    for k in range(old.size):
        log_phi[k] = np.log(old[k])
        logit[k] = log_phi[k] - math.log(old[-1])
    table = expand(tabulate(counts), math.log(kappa), log_phi)
    log_kappa = draw_logs(table, math.log(kappa), logit, shape, least, rng)
    for k in range(phi.size):
        phi[k] = logit[k]
    normalise(phi)
    return math.exp(log_kappa)
