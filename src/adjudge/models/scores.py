"""``scores``: numeric judgments in, the true score of every item and the bias, scale and noise of every judge out.

The model is in ``linear_judges``. Here scores are read and put on a standard scale, the noise is chosen, and the result
is put back on the scale of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import gamma, norm

from adjudge.arrays import Floats, frozen
from adjudge.data.score_table import ScoreTable, read_scores
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.errors import UsageError, quote, quoted
from adjudge.inference.convergence import Convergence, convergence
from adjudge.inference.result import INTERVAL
from adjudge.models.linear_judges import (
    FREEDOM,
    Judged,
    Posterior,
    anchor,
    expected_scores,
    held_out_errors,
    run_em,
    squared_errors,
    start_of,
    sweep,
)

INFERENCES = ("gibbs", "em")
CLIPPED = (0.01, 0.99)  # quantiles of scores between which their mean and spread are computed
THIN = 2  # sweeps per draw that is kept
FOLDS = 5  # of the comparison of noises
MANY = 50_000  # judgments, above which only the first fold is held out
CHECKED = 200  # items whose chains are checked for convergence
AT_ONCE = 10_000  # items whose quantiles are computed together


class Estimate(NamedTuple):
    """Estimates with the ends of their 90 % intervals."""

    mean: Floats
    low: Floats
    high: Floats


class ScoreDraws(NamedTuple):
    """Draws of C chains, on the scale of the scores."""

    truth: Any  # (C, D, I), single precision
    bias: Floats  # (C, D, J)
    scale: Floats  # (C, D, J)
    noise: Floats  # (C, D, J)


@dataclass(frozen=True, eq=False)
class ScoreFit(NotebookView):
    """The true score of every item, and the bias, scale and noise of every judge, with 90 % intervals."""

    scores: ScoreTable = field(repr=False)
    inference: str
    noise: str  # normal, or t
    truth: Estimate  # (I)
    bias: Estimate  # (J) points above the truth, of an item whose truth is ``centre``
    scale: Estimate  # (J) points of the judge per point of truth
    spread: Estimate  # (J) standard deviation of the noise; of t, its scale
    centre: float
    reason: str  # for the noise
    stopped: str
    converged: bool
    draws: ScoreDraws | None = None

    def __repr__(self) -> str:
        data = self.scores
        counts = f"{len(data.items):,} items, {len(data.judges):,} judges, {data.score.size:,} scores"
        return f"ScoreFit({counts}; {self.inference}, noise {self.noise}; {self.stopped})"

    @property
    def anchored(self) -> bool:
        """Whether gold says what the scale is."""
        return bool(np.isfinite(self.scores.gold).any())

    @property
    def table(self) -> Any:
        """The table of items."""
        return self.items

    @property
    def items(self) -> Any:
        """A table with the value of every item, the ends of its 90 % interval, and the number of judgments."""
        return frame(self.item_columns(), self.scores.kind)

    @property
    def judges(self) -> Any:
        """A table with the bias, scale and noise of every judge, their 90 % intervals, and a sentence."""
        return frame(self.judge_columns(), self.scores.kind)

    def item_columns(self) -> dict[str, Any]:
        """Return the columns of ``items``."""
        data = self.scores
        columns: dict[str, Any] = {}
        if data.topics is not None:
            columns["topic"] = data.topics.gather(data.topic)
        columns |= {"item": data.items, "value": self.truth.mean, "low": self.truth.low, "high": self.truth.high}
        columns["judgments"] = np.bincount(data.item, minlength=len(data.items))
        return columns | ({"gold": np.isfinite(data.gold)} if self.anchored else {})

    def judge_columns(self) -> dict[str, Any]:
        """Return the columns of ``judges``."""
        data = self.scores
        columns = {"judge": data.judges, "judgments": np.bincount(data.judge, minlength=len(data.judges))}
        for name, estimate in (("bias", self.bias), ("scale", self.scale), ("noise", self.spread)):
            columns |= {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        return columns | {"sentence": self.sentences()}

    def sentences(self) -> list[str]:
        """Return what each judge does, in words (J)."""
        return [self._sentence(j) for j in range(len(self.scores.judges))]

    def _sentence(self, j: int) -> str:
        """Return what a judge does, in words: only what their intervals support."""
        scale, low, high = (float(part[j]) for part in self.scale)
        noise = f"scatter by {_points(self.spread.mean[j])}"
        if high < 0:
            return f"Their scores fall where the truth rises ({scale:.2f} points per point), and {noise}."
        if low <= 0:
            return f"Their scores may not follow the truth at all ({scale:.2f} points per point), and {noise}."
        bias = float(self.bias.mean[j])
        side = "above" if bias > 0 else "below"
        sure = self.bias.low[j] > 0 or self.bias.high[j] < 0
        parts = [f"lie {_points(abs(bias))} {side} the truth" if sure else "have no clear bias"]
        if low > 1 or high < 1:
            parts.append(f"{'stretch' if scale > 1 else 'compress'} differences ({scale:.2f} points per point)")
        return f"Their scores {', '.join(parts)}{',' if len(parts) > 1 else ''} and {noise}."


def scores(
    judgments: Any,
    gold: Any = None,
    *,
    inference: str = "gibbs",
    noise: str | None = None,
    chains: int = 4,
    warmup: int = 500,
    draws: int = 500,
    seed: int = 0,
    item: str | None = None,
    judge: str | None = None,
    score: str | None = None,
    topic: str | None = None,
    format: str | None = None,  # noqa: A002
) -> ScoreFit:
    """Infer the true score of every item, and the bias, scale and noise of every judge, from numeric judgments.

    A judge's score is bias + scale * truth + noise. Judges are shrunk to the typical judge, so that few judgments do
    not say much; truths are shrunk to the mean of all items.

    Parameters
    ----------
    judgments
        A path or a frame with item, judge and score in every row, and optionally topic: an item in two topics is two
        items.
    gold
        Known true scores: a path or a frame with item and score, or a mapping from item to score. They say what the
        scale is, and how far the crowd can be believed: the other values are what the expert who gave gold would say.
        Without gold, values have the scale of the average judgment.
    inference
        ``"gibbs"`` for Markov chains, whose intervals know that judges are estimated, or ``"em"`` for variational EM,
        which is faster and has narrower intervals.
    noise
        ``"normal"``, or ``"t"`` for Student-t noise of 4 degrees of freedom, which makes gross errors count little. By
        default the one that predicts held-out judgments with the smaller squared error.
    chains, warmup, draws
        The number of chains, the sweeps of each that are discarded first, and the draws of each that are kept, one
        of every second sweep. All draws of truths are held in memory, 4 bytes per draw and item.
    seed
        The seed of all random numbers.
    item, judge, score, topic
        Names of columns, if they have other than the usual names.
    format
        The format of the file, if its name and content do not show it.

    Returns
    -------
    ScoreFit
        With the tables ``items`` and ``judges``.

    Examples
    --------
    >>> from polars import DataFrame
    >>> table = {"item": list("aabbcc"), "judge": list("xyxyxy"), "score": [10, 14, 50, 56, 88, 95]}
    >>> fit = scores(DataFrame(table), inference="em", noise="normal")
    >>> fit.items["item"].to_list(), fit.items["value"].round(0).to_list()
    (['a', 'b', 'c'], [15.0, 53.0, 88.0])
    """
    if inference not in INFERENCES:
        raise UsageError(f"inference {quote(inference)} is not one of {quoted(INFERENCES)}")
    if noise is not None and noise not in FREEDOM:
        raise UsageError(f"noise {quote(noise)} is not one of {quoted(FREEDOM)}")
    for name, number, least in (("chains", chains, 1), ("warmup", warmup, 0), ("draws", draws, 4)):
        if number < least:
            raise UsageError(f"{name} {number} is not a whole number of at least {least}")
    table = read_scores(judgments, gold, item=item, judge=judge, score=score, topic=topic, format=format)
    centre, unit = standard_scale(table.score)
    data = Judged(table.item, table.judge, (table.score - centre) / unit, len(table.items), len(table.judges))
    reason = "it was asked for"
    if noise is None:
        noise, reason = choose_noise(data, seed)
    data = _with_expert(data._replace(freedom=FREEDOM[noise]), (table.gold - centre) / unit)
    start = run_em(data)
    done = f"converged after {start.rounds} rounds" if start.converged else f"stopped after {start.rounds} rounds"
    if inference == "em":
        estimates, drawn, good = _of_em(data, start), None, start.converged
    else:
        drawn = sample(data, start, chains, warmup, draws, seed)
        check = _convergence(drawn)
        estimates, done, good = _of_draws(drawn), check.words, check.good
        drawn = ScoreDraws(
            np.float32(centre) + np.float32(unit) * drawn.truth, unit * drawn.bias, drawn.scale, unit * drawn.noise
        )
    truth, bias, scale, spread = estimates
    has_gold = np.isfinite(table.gold)
    truth = Estimate(*(np.where(has_gold, table.gold, centre + unit * part) for part in truth))
    bias, scale, spread = (
        Estimate(*(part[: len(table.judges)] for part in estimate)) for estimate in (bias, scale, spread)
    )
    bias, spread = (Estimate(*(unit * part for part in estimate)) for estimate in (bias, spread))
    truth, bias, scale, spread = (Estimate(*map(frozen, each)) for each in (truth, bias, scale, spread))
    return ScoreFit(table, inference, noise, truth, bias, scale, spread, centre, reason, done, good, drawn)


def _with_expert(data: Judged, gold: Floats) -> Judged:
    """Return the scores with gold (I, nan if unknown) as those of one more judge, the expert."""
    gold_items = np.flatnonzero(np.isfinite(gold))
    if not gold_items.size:
        return data
    return data._replace(
        item=np.r_[data.item, gold_items],
        judge=np.r_[data.judge, np.full(gold_items.size, data.judges)],
        score=np.r_[data.score, gold[gold_items]],
        judges=data.judges + 1,
        expert=True,
    )


def standard_scale(score: Floats) -> tuple[float, float]:
    """Return the mean and the standard deviation of scores without extremes; 1 if all of them are equal."""
    clipped = np.clip(score, *np.quantile(score, CLIPPED))
    return float(clipped.mean()), float(clipped.std()) or 1.0


def choose_noise(data: Judged, seed: int) -> tuple[str, str]:
    """Return the noise with the smaller squared error of held-out judgments, and the reason.

    One judgment in five is held out in turn. Errors count up to the range of 98 % of the scores, so that gross errors,
    which nobody can predict, do not decide.
    """
    fold = np.random.default_rng(seed).permutation(data.score.size) % FOLDS
    low, high = np.quantile(data.score, CLIPPED)
    folds = range(min(FOLDS, data.score.size) if data.score.size <= MANY else 1)
    errors = {}
    for name, freedom in FREEDOM.items():
        every = [held_out_errors(data._replace(freedom=freedom), fold == k) for k in folds]
        errors[name] = float(np.square(np.clip(np.concatenate(every), low - high, high - low)).mean())
    best = "t" if errors["t"] < errors["normal"] else "normal"
    other = "normal" if best == "t" else "t"
    ratio = np.sqrt(errors[best] / errors[other]) if errors[other] else 1.0
    return best, f"its error on held-out judgments is {ratio:.3f} times that of noise {other}"


def sample(data: Judged, start: Posterior, chains: int, warmup: int, draws: int, seed: int) -> ScoreDraws:
    """Return draws by Gibbs sampling on the standard scale, with truths on the scale of the average judgment."""
    truth = np.empty((chains, draws, data.items), np.float32)
    bias, scale, noise = (np.empty((chains, draws, data.judges)) for _ in range(3))
    for c, rng in enumerate(np.random.default_rng(seed).spawn(chains)):
        state = start_of(start)
        for n in range(-warmup, draws * THIN):
            state = sweep(data, state, rng)
            if n >= 0 and n % THIN == 0:
                s = n // THIN
                line = anchor(data, state.bias, state.scale)
                truth[c, s] = line.truth(state.truth)
                if data.expert:
                    truth[c, s] += np.sqrt(state.variance[-1]) * _errors(data, rng)
                bias[c, s], scale[c, s] = line.lines(state.bias, state.scale)
                noise[c, s] = np.sqrt(state.variance)
    return ScoreDraws(truth, bias, scale, noise)


def _errors(data: Judged, rng: np.random.Generator) -> Floats:
    """Return errors of the expert (I), of scale 1."""
    return rng.standard_normal(data.items) if np.isinf(data.freedom) else rng.standard_t(data.freedom, data.items)


def _of_draws(draws: ScoreDraws) -> list[Estimate]:
    """Return means and quantiles of draws."""
    return [_summary(drawn) for drawn in draws]


def _summary(drawn: Any) -> Estimate:
    """Return means and quantiles of draws (C, D, ...), some columns at a time to save memory."""
    flat = drawn.reshape(-1, drawn.shape[2])
    ends = [np.quantile(flat[:, k : k + AT_ONCE], INTERVAL, axis=0) for k in range(0, flat.shape[1], AT_ONCE)]
    low, high = np.concatenate(ends, axis=1).astype(np.float64)
    return Estimate(flat.mean(axis=0, dtype=np.float64), low, high)


def _of_em(data: Judged, posterior: Posterior) -> list[Estimate]:
    """Return means and intervals of variational EM."""
    lines = posterior.lines
    line = anchor(data, lines.bias, lines.scale)
    wide = norm.ppf(INTERVAL[1])
    deviation = abs(line.scale) * np.sqrt(posterior.variance)
    if data.expert:
        every, expert = np.arange(data.items), np.full(data.items, data.judges - 1)
        expert_data = data._replace(item=every, judge=expert, score=expected_scores(posterior, every, expert))
        square = squared_errors(expert_data, posterior.truth, posterior.variance, lines)
        deviation = np.sqrt(square + posterior.noise_rate[-1] / posterior.noise_shape[-1])
    deviation = wide * deviation
    bias, scale = line.lines(lines.bias, lines.scale)
    ratio = line.bias / line.scale
    variance = lines.bias_variance - 2 * ratio * lines.covariance + ratio**2 * lines.scale_variance
    bias_width, scale_width = wide * np.sqrt(variance), wide * np.sqrt(lines.scale_variance) / abs(line.scale)
    high, low = (
        np.sqrt(1 / gamma.ppf(share, posterior.noise_shape, scale=1 / posterior.noise_rate)) for share in INTERVAL
    )
    truth = line.truth(posterior.truth)
    return [
        Estimate(truth, truth - deviation, truth + deviation),
        Estimate(bias, bias - bias_width, bias + bias_width),
        Estimate(scale, scale - scale_width, scale + scale_width),
        Estimate(np.sqrt(posterior.noise_rate / posterior.noise_shape), low, high),
    ]


def _convergence(draws: ScoreDraws) -> Convergence:
    """Return the convergence of judges and of some items."""
    items = np.unique(np.linspace(0, draws.truth.shape[2] - 1, CHECKED).astype(np.int64))
    some = {"truth": draws.truth[:, :, items].astype(np.float64)}
    return convergence({**some, "bias": draws.bias, "scale": draws.scale, "noise": draws.noise})


def _points(number: float) -> str:
    """Return a number of points with three digits."""
    return f"{float(f'{number:.2g}'):g} points"
