"""Judges whose scores are linear in the truth, with a bias, a scale and noise of their own.

Judge j gives item i the score

    y = a_j + b_j z_i + e,   e ~ N(0, s_j^2 / w),

with w = 1 (normal noise), or w ~ Gamma(2, 2) for each judgment, which makes e a Student-t of 4 degrees of freedom, so
that gross errors count little. Scores are on a standard scale (mean 0, variance 1). Priors are learned from the crowd,
so that a judge with few judgments is taken for a typical one:

    z_i ~ N(mu, t^2),  a_j ~ N(a_0, A),  b_j ~ N(b_0, B),  1 / s_j^2 ~ Gamma(3, 3 v)

    mu ~ N(0, 1),  1/t^2 ~ Gamma(1, 1/2),  1/A, 1/B ~ Gamma(2, 1/20),  v ~ Gamma(1, 3),

all gammas with a rate, a_0 = 0 and b_0 = 1. Scales are normal and not log-normal, because a judge may use the scale
the other way round or not look at all. Nothing but the judges says what the scale is: ``anchor`` puts truths on the
scale of the average judgment (mean bias 0, mean scale 1).

Gold is the scores of one more judge, the expert, with a ~ N(0, 1/4) and b ~ N(1, 1/25), and the truth is what the
expert says or would say, noise included. If gold were taken for z itself, an error that all judges share would count as
if it were averaged out; as a judge, the expert tells how far gold can be predicted from the crowd.

``run_em`` is variational EM (mean field: truths, judges' lines, noises and weights are independent given the data);
``sample`` is Gibbs sampling. Every pass is linear in the number of judgments. The model is that of Raykar et al. (2010,
JMLR 11, section 5: regression with annotators' precisions) with the bias and scale of each judge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats

FREEDOM = {"normal": np.inf, "t": 4.0}  # degrees of freedom of the noise
SHAPE = 3.0  # of the prior of judges' precisions: as much as 6 judgments
V_SHAPE, V_RATE = 1.0, 3.0
TRUTH_SHAPE, TRUTH_RATE = 1.0, 0.5
LINE_SHAPE, LINE_RATE = 2.0, 0.05
CENTRE_VARIANCE = 1.0  # of mu
EXPERT_BIAS, EXPERT_SCALE = 0.25, 0.04  # prior variances of the expert's line
LEAST_SCALE = 0.05  # of an anchor; below it scores do not follow any truth, and there is no scale to speak of
TOLERANCE, ROUNDS = 1e-5, 500


class Judged(NamedTuple):
    """Scores on a standard scale: judgment n is by ``judge[n]`` about ``item[n]``. The expert is the last judge."""

    item: Codes  # (N)
    judge: Codes  # (N)
    score: Floats  # (N)
    items: int
    judges: int  # the expert included
    expert: bool = False  # whether there is one
    freedom: float = np.inf  # of the noise

    def by_item(self, value: Floats) -> Floats:
        """Return the sum over the judgments of each item (I)."""
        return np.bincount(self.item, value, self.items).astype(np.float64, copy=False)

    def by_judge(self, value: Floats) -> Floats:
        """Return the sum over the judgments of each judge (J)."""
        return np.bincount(self.judge, value, self.judges).astype(np.float64, copy=False)

    def rows(self, chosen: Flags) -> Judged:
        """Return some of the judgments."""
        return self._replace(item=self.item[chosen], judge=self.judge[chosen], score=self.score[chosen])

    @property
    def crowd(self) -> int:
        """The number of judges who are not the expert; they come first."""
        return self.judges - self.expert

    def line_variances(self, population: Population) -> tuple[Floats, Floats]:
        """Return the prior variances of biases and scales (J), which are wide for the expert."""
        a, b = np.full(self.judges, population.bias_variance), np.full(self.judges, population.scale_variance)
        if self.expert:
            a[-1], b[-1] = EXPERT_BIAS, EXPERT_SCALE
        return a, b


class Population(NamedTuple):
    """What truths and judges have in common."""

    mu: float = 0.0
    truth: float = 1.0  # variance of truths
    bias_variance: float = 0.05  # A
    scale_variance: float = 0.05  # B
    noise: float = 0.3  # v, about the variance of a typical judge's noise


class Lines(NamedTuple):
    """The bias and scale of judges: means, variances and covariances (J) of two normals."""

    bias: Floats
    scale: Floats
    bias_variance: Floats
    scale_variance: Floats
    covariance: Floats


class Posterior(NamedTuple):
    """What variational EM found."""

    truth: Floats  # (I) means
    variance: Floats  # (I)
    lines: Lines
    noise_shape: Floats  # (J) 1 / s_j^2 ~ Gamma(shape, rate)
    noise_rate: Floats
    weight: Floats  # (N) expected w
    population: Population
    rounds: int
    converged: bool


def run_em(data: Judged, rounds: int = ROUNDS) -> Posterior:
    """Return the posterior by variational EM, until no truth moves by more than ``TOLERANCE``."""
    judge, x = data.judge, data.score
    population = Population()
    count, J = data.by_judge(np.ones(x.size)), data.judges
    lines = Lines(np.zeros(J), np.ones(J), np.zeros(J), np.zeros(J), np.zeros(J))
    shape, rate = SHAPE + count / 2, (SHAPE + count / 2) * population.noise
    weight, truth, done = np.ones(x.size), np.full(data.items, np.inf), 0
    converged = False
    while done < rounds and not converged:
        precision = weight * (shape / rate)[judge]
        before = truth
        truth, variance = truths_given_lines(data, precision, lines, population)
        lines = lines_given_truths(data, precision, truth, variance, population)
        square = squared_errors(data, truth, variance, lines)
        rate = SHAPE * population.noise + data.by_judge(weight * square) / 2
        if np.isfinite(data.freedom):
            weight = (data.freedom + 1) / (data.freedom + square * (shape / rate)[judge])
        population = _population(data, truth, variance, lines, shape / rate, population)
        done += 1
        converged = done > 1 and bool(np.abs(truth - before).max() < TOLERANCE)
    return Posterior(truth, variance, lines, shape, rate, weight, population, done, converged)


def truths_given_lines(data: Judged, precision: Floats, lines: Lines, population: Population) -> tuple[Floats, Floats]:
    """Return the mean and variance of every truth (I), given the lines of judges."""
    a, b = lines.bias[data.judge], lines.scale[data.judge]
    inverse = 1 / population.truth + data.by_item(precision * (b * b + lines.scale_variance[data.judge]))
    sums = data.by_item(precision * (b * (data.score - a) - lines.covariance[data.judge]))
    return (population.mu / population.truth + sums) / inverse, 1 / inverse


def lines_given_truths(
    data: Judged, precision: Floats, truth: Floats, variance: Floats, population: Population
) -> Lines:
    """Return the line of every judge: a weighted regression of their scores on the truths, shrunk to the population."""
    z, x = truth[data.item], data.score
    bias_variance, scale_variance = data.line_variances(population)
    aa = 1 / bias_variance + data.by_judge(precision)
    ab = data.by_judge(precision * z)
    bb = 1 / scale_variance + data.by_judge(precision * (z * z + variance[data.item]))
    a = data.by_judge(precision * x)
    b = 1 / scale_variance + data.by_judge(precision * z * x)
    determinant = aa * bb - ab * ab
    return Lines(
        (bb * a - ab * b) / determinant,
        (aa * b - ab * a) / determinant,
        bb / determinant,
        aa / determinant,
        -ab / determinant,
    )


def squared_errors(data: Judged, truth: Floats, variance: Floats, lines: Lines) -> Floats:
    """Return the expected squared error of every judgment (N)."""
    z, v = truth[data.item], variance[data.item]
    a, b, a_variance, b_variance, covariance = (part[data.judge] for part in lines)
    error = data.score - a - b * z
    return error * error + a_variance + 2 * z * covariance + (z * z + v) * b_variance + b * b * v


def _population(
    data: Judged, truth: Floats, variance: Floats, lines: Lines, precision: Floats, now: Population
) -> Population:
    """Return the population at the mode or mean of its conditional posterior."""
    items, J = data.items, data.crowd
    mu = truth.sum() / (items + now.truth / CENTRE_VARIANCE)
    spread = (TRUTH_RATE + ((truth - mu) ** 2 + variance).sum() / 2) / (TRUTH_SHAPE + items / 2)
    a, b, a_variance, b_variance, _ = (part[:J] for part in lines)
    bias = (LINE_RATE + (a**2 + a_variance).sum() / 2) / (LINE_SHAPE + J / 2)
    scale = (LINE_RATE + ((b - 1) ** 2 + b_variance).sum() / 2) / (LINE_SHAPE + J / 2)
    noise = (V_SHAPE + SHAPE * J) / (V_RATE + SHAPE * precision[:J].sum())
    return Population(float(mu), float(spread), float(bias), float(scale), float(noise))


class Draw(NamedTuple):
    """One state of a chain."""

    truth: Floats  # (I)
    bias: Floats  # (J)
    scale: Floats  # (J)
    variance: Floats  # (J) of the noise
    weight: Floats  # (N)
    population: Population


def start_of(posterior: Posterior) -> Draw:
    """Return where a chain starts: at the means of variational EM."""
    variance = posterior.noise_rate / posterior.noise_shape
    lines = posterior.lines
    return Draw(posterior.truth, lines.bias, lines.scale, variance, posterior.weight, posterior.population)


def sweep(data: Judged, draw: Draw, rng: np.random.Generator) -> Draw:
    """Return the next state: truths, lines, noises, weights and the population, each from its full conditional."""
    none = np.zeros(data.judges)
    precision = draw.weight / draw.variance[data.judge]
    mean, variance = truths_given_lines(
        data, precision, Lines(draw.bias, draw.scale, none, none, none), draw.population
    )
    truth = mean + np.sqrt(variance) * rng.standard_normal(mean.size)
    exact = np.zeros(truth.size)
    lines = lines_given_truths(data, precision, truth, exact, draw.population)
    first, second = rng.standard_normal((2, data.judges))
    deviation = np.sqrt(lines.bias_variance)
    slope = lines.covariance / deviation
    rest = np.sqrt(np.maximum(lines.scale_variance - slope * slope, 0))
    bias, scale = lines.bias + deviation * first, lines.scale + slope * first + rest * second
    error = data.score - bias[data.judge] - scale[data.judge] * truth[data.item]
    square = error * error
    count = np.bincount(data.judge, minlength=data.judges)
    rate = SHAPE * draw.population.noise + data.by_judge(draw.weight * square) / 2
    noise = rate / rng.standard_gamma(SHAPE + count / 2)
    weight = draw.weight
    if np.isfinite(data.freedom):
        half = data.freedom / 2
        weight = rng.standard_gamma(half + 0.5, square.size) / (half + square / noise[data.judge] / 2)
    population = _draw_population(data, truth, bias, scale, noise, draw.population, rng)
    return Draw(truth, bias, scale, noise, weight, population)


def _draw_population(
    data: Judged, truth: Floats, bias: Floats, scale: Floats, noise: Floats, now: Population, rng: np.random.Generator
) -> Population:
    """Return a draw of the population, given all truths and judges."""
    inverse = truth.size / now.truth + 1 / CENTRE_VARIANCE
    mu = float(truth.sum() / now.truth / inverse + rng.standard_normal() / np.sqrt(inverse))

    def spread(deviation: Floats, shape: float, rate: float) -> float:
        return float((rate + (deviation**2).sum() / 2) / rng.standard_gamma(shape + deviation.size / 2))

    J = data.crowd
    return Population(
        mu,
        spread(truth - mu, TRUTH_SHAPE, TRUTH_RATE),
        spread(bias[:J], LINE_SHAPE, LINE_RATE),
        spread(scale[:J] - 1, LINE_SHAPE, LINE_RATE),
        float(rng.standard_gamma(V_SHAPE + SHAPE * J) / (V_RATE + SHAPE * (1 / noise[:J]).sum())),
    )


class Anchor(NamedTuple):
    """The line that says what the scale of truths is: that of the expert or of the average judgment."""

    bias: float
    scale: float

    def truth(self, truth: Floats) -> Floats:
        """Return truths on that scale."""
        return self.bias + self.scale * truth

    def lines(self, bias: Floats, scale: Floats) -> tuple[Floats, Floats]:
        """Return the biases and scales of judges on that scale."""
        return bias - scale * (self.bias / self.scale), scale / self.scale


def anchor(data: Judged, bias: Floats, scale: Floats) -> Anchor:
    """Return the line of the expert or, without one, of the average judgment."""
    a, b = (bias[-1], scale[-1]) if data.expert else (bias[data.judge].mean(), scale[data.judge].mean())
    if abs(b) < LEAST_SCALE:
        b = LEAST_SCALE if b >= 0 else -LEAST_SCALE
    return Anchor(float(a), float(b))


def expected_scores(posterior: Posterior, item: Codes, judge: Codes) -> Floats:
    """Return the expected scores of judgments that were not seen (N)."""
    lines = posterior.lines
    return lines.bias[judge] + lines.scale[judge] * posterior.truth[item]


def held_out_errors(data: Judged, test: Flags) -> Floats:
    """Return the errors of the scores that are expected of held-out judgments, after EM on the others."""
    return data.score[test] - expected_scores(run_em(data.rows(~test)), data.item[test], data.judge[test])
