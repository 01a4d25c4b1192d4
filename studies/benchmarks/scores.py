"""Claim: judges' bias, scale and noise predict held-out scores better than mean and median, with intervals that hold.

Numeric judgments by `adjudge scores`: "em" is variational EM, "gibbs" the default; both choose the noise (normal or
Student-t) by held-out judgments, unless it is named.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.stats import norm, t

import adjudge
from adjudge.arrays import Codes, Floats
from adjudge.data.label_sets import read_label_sets
from adjudge.data.score_table import read_scores
from adjudge.errors import AdjudgeWarning
from adjudge.inference.select import held_out_logs
from adjudge.models.linear_judges import FREEDOM, Judged, anchor, run_em, squared_errors, start_of, sweep
from adjudge.models.scores import standard_scale
from studies.benchmarks.claim import DATA, Claim, say

FOLDS = 5
RUNS = 12
ITEMS = 80
RESAMPLED = 2_000  # bootstrap samples of items
LABELS = 6


def measure() -> Iterator[Claim]:
    """Measure emotions, simulated scores, data of the model itself, and items with several labels."""
    warnings.simplefilter("ignore", AdjudgeWarning)
    yield emotion()
    yield emotion_gold()
    yield simulated()
    yield own_data()
    yield several_labels()


class Prediction(NamedTuple):
    """Expected scores of held-out judgments, and the log density of those that were given."""

    expected: Floats
    log_density: Floats


def _centre(name: str, item: Codes, score: Floats, items: int) -> Floats:
    """Return the mean or median score of every item; that of all scores if an item has none."""
    each = pl.DataFrame({"item": item, "score": score}).group_by("item").agg(getattr(pl.col("score"), name)())
    values = np.full(items, getattr(np, name)(score))
    values[each["item"].to_numpy()] = each["score"].to_numpy()
    return values


def _by_centre(name: str) -> Callable[[Judged, Codes], Prediction]:
    """Return the prediction by the mean or median of the other scores, with normal errors of one variance."""

    def predict(data: Judged, test: Codes) -> Prediction:
        centre = _centre(name, data.item[~test], data.score[~test], data.items)
        error = data.score - centre[data.item]
        count = np.bincount(data.item[~test], minlength=data.items)[data.item]
        inflate = np.sqrt((count + 1) / np.maximum(count - 1, 1))  # seen errors are smaller than those to come
        spread = (error * inflate)[~test].std()
        return Prediction(centre[data.item[test]], norm.logpdf(error[test], scale=spread))

    return predict


def _by_model(noise: str) -> Callable[[Judged, Codes], Prediction]:
    """Return the prediction by EM with a noise."""

    def predict(data: Judged, test: Codes) -> Prediction:
        found = run_em(data.rows(~test)._replace(freedom=FREEDOM[noise]))
        item, judge = data.item[test], data.judge[test]
        expected = found.lines.bias[judge] + found.lines.scale[judge] * found.truth[item]
        away = data._replace(item=item, judge=judge, score=expected)
        uncertain = squared_errors(away, found.truth, found.variance, found.lines)
        scale = np.sqrt((found.noise_rate / found.noise_shape)[judge] + uncertain)
        error = data.score[test] - expected
        family = norm.logpdf(error, scale=scale) if noise == "normal" else t.logpdf(error, FREEDOM[noise], scale=scale)
        return Prediction(expected, family)

    return predict


METHODS: Mapping[str, Callable[[Judged, Codes], Prediction]] = {
    "mean": _by_centre("mean"),
    "median": _by_centre("median"),
    "scores, noise normal": _by_model("normal"),
    "scores, noise t": _by_model("t"),
}


def emotion() -> Claim:
    """Compare methods on the emotions of headlines."""
    data = read_scores(str(DATA / "emotion" / "labels.csv"), str(DATA / "emotion" / "gold.csv"))
    gold, centre_unit = data.gold, standard_scale(data.score)
    centre, unit = centre_unit
    judged = Judged(data.item, data.judge, (data.score - centre) / unit, len(data.items), len(data.judges))
    fold = np.random.default_rng(0).permutation(data.score.size) % FOLDS
    path = str(DATA / "emotion" / "labels.csv")
    values = {name: _centre(name, data.item, data.score, gold.size) for name in ("mean", "median")}
    values["scores, noise normal"] = adjudge.scores(path, noise="normal").truth.mean
    values["scores, noise t"] = adjudge.scores(path, noise="t").truth.mean
    chosen = adjudge.scores(path, inference="em")
    rng, base = np.random.default_rng(1), np.square(values["mean"] - gold)
    sample = rng.integers(0, gold.size, (RESAMPLED, gold.size))
    rows = []
    for name, method in METHODS.items():
        predicted = [method(judged, fold == k) for k in range(FOLDS)]
        order = np.concatenate([np.flatnonzero(fold == k) for k in range(FOLDS)])
        errors = unit * (np.concatenate([each.expected for each in predicted]) - judged.score[order])
        density = np.concatenate([each.log_density for each in predicted]).mean() - np.log(unit)
        square = np.square(values[name] - gold)
        differences = np.sqrt(square[sample].mean(axis=1)) - np.sqrt(base[sample].mean(axis=1))
        rows.append(
            (
                name,
                f"{np.sqrt(np.square(errors).mean()):.2f}",
                f"{density:.3f}",
                f"{np.sqrt(square.mean()):.2f}",
                ""
                if name == "mean"
                else f"{np.sqrt(square.mean()) - np.sqrt(base.mean()):+.2f} +- {differences.std():.2f}",
                f"{np.abs(values[name] - gold).mean():.2f}",
                f"{np.corrcoef(values[name], gold)[0, 1]:.3f}",
            )
        )
        say(" | ".join(rows[-1]))
    how = (
        "700 items (100 headlines, 7 emotions each), 38 judges, 7,000 scores from -100 to 100; gold is the mean of "
        "experts. Held-out: one judgment in five in turn, by EM; log density per judgment, of normal errors of one "
        "variance for mean and median. Against gold: all judgments, Gibbs sampling without gold, with a bootstrap "
        f"standard error over items of the difference. The noise that `scores` chooses is {chosen.noise}. The rule for "
        "the noise, the scale of the average judgment and the expert's prior were settled with these figures in view."
    )
    head = (
        "method",
        "held-out RMSE",
        "held-out log density",
        "RMSE, gold",
        "to mean",
        "MAE, gold",
        "correlation, gold",
    )
    return Claim("Emotions of headlines (Snow et al. 2008)", how, head, rows)


def emotion_gold() -> Claim:
    """Give gold for some items, and measure the others."""
    table, gold = (pl.read_csv(DATA / "emotion" / f"{name}.csv") for name in ("labels", "gold"))
    rows = []
    for share in (0.0, 0.05, 0.1, 0.3):
        errors, mean_errors, held = [], [], []
        for seed in range(4):
            known = gold.sample(int(share * gold.height), seed=seed, shuffle=True)
            fit = adjudge.scores(table, known if known.height else None, inference="em")
            each = table.group_by("item").agg(mean=pl.col("label").mean())
            rest = fit.items.join(gold.join(known, "item", "anti"), "item").join(each, "item")
            errors.append(((rest["value"] - rest["label"]) ** 2).mean())
            mean_errors.append(((rest["mean"] - rest["label"]) ** 2).mean())
            held.append(((rest["low"] <= rest["label"]) & (rest["label"] <= rest["high"])).mean())
        rows.append(
            (
                f"{share:.0%}",
                *(f"{np.sqrt(np.mean(each)):.2f}" for each in (mean_errors, errors)),
                f"{np.mean(held):.2f}",
            )
        )
        say(" | ".join(rows[-1]))
    how = (
        "Means over four random choices of the items with gold, EM; RMSE against gold and the share of gold within the "
        "90 % interval, of the other items. Without gold, intervals are about the truth on the scale of this "
        "crowd: errors that the crowd shares are not in them. With gold, they are about what the experts would say."
    )
    return Claim(
        "Emotions with gold for some items", how, ("items with gold", "RMSE, mean", "RMSE, scores", "held"), rows
    )


class Crowd(NamedTuple):
    """A simulated crowd that scores items of truth N(50, 15)."""

    judges: int = 10
    per_item: int = 5
    bias: float = 8.0  # standard deviations over judges
    scale: float = 0.25
    noise: tuple[float, float] = (4.0, 15.0)
    gross: float = 0.0  # share of gross errors
    spam: float = 0.0  # share of judges who score at random


CROWDS: Mapping[str, Crowd] = {
    "equal judges": Crowd(bias=0, scale=0, noise=(10, 10)),
    "judges differ": Crowd(),
    "judges differ, 3 judgments per judge": Crowd(judges=ITEMS * 5 // 3),
    "judges differ, 2 judgments per item": Crowd(per_item=2),
    "3 in 10 judges score at random": Crowd(spam=0.3),
    "1 score in 20 is a gross error": Crowd(gross=0.05),
}


def simulate(crowd: Crowd, seed: int) -> tuple[pl.DataFrame, Floats, Floats]:
    """Return a table of scores, true scores, and true scores on the scale of the average judgment."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(50, 15, ITEMS)
    bias, scale = rng.normal(0, crowd.bias, crowd.judges), rng.normal(1, crowd.scale, crowd.judges)
    noise = rng.uniform(*crowd.noise, crowd.judges)
    spam = np.arange(crowd.judges) < crowd.spam * crowd.judges
    bias, scale, noise = np.where(spam, 0, bias), np.where(spam, 0, scale), np.where(spam, 20, noise)
    item = np.repeat(np.arange(ITEMS), crowd.per_item)
    judge = np.concatenate([rng.choice(crowd.judges, crowd.per_item, replace=False) for _ in range(ITEMS)])
    score = 50 + bias[judge] + scale[judge] * (truth[item] - 50) + noise[judge] * rng.normal(size=item.size)
    score = np.where(rng.random(item.size) < crowd.gross, score + rng.choice([-400, 400], item.size), score)
    names = {"item": [f"i{i:03}" for i in item], "judge": [f"j{j}" for j in judge]}
    anchored = 50 + bias[judge].mean() + scale[judge].mean() * (truth - 50)
    return pl.DataFrame({**names, "score": score}), truth, anchored


def simulated() -> Claim:
    """Compare methods on simulated crowds."""
    rows = []
    for name, crowd in CROWDS.items():
        squares: dict[str, list[float]] = {key: [] for key in ("mean", "median", "em", "gibbs")}
        held: dict[str, list[float]] = {"em": [], "gibbs": []}
        noises = []
        for seed in range(RUNS):
            table, truth, anchored = simulate(crowd, seed)
            item = table["item"].str.slice(1).cast(pl.Int64).to_numpy()
            for key in ("mean", "median"):
                squares[key].append(
                    float(np.square(_centre(key, item, table["score"].to_numpy(), ITEMS) - truth).mean())
                )
            for key in held:
                fit = adjudge.scores(table, inference=key, warmup=200, draws=150, seed=seed)
                squares[key].append(float(np.square(fit.truth.mean - truth).mean()))
                held[key].append(float(((fit.truth.low <= anchored) & (anchored <= fit.truth.high)).mean()))
            noises.append(fit.noise == "t")
        cells = [f"{np.sqrt(np.mean(each)):.2f}" for each in squares.values()]
        rows.append((name, *cells, *(f"{np.mean(each):.2f}" for each in held.values()), f"{np.mean(noises):.2f}"))
        say(" | ".join(rows[-1]))
    how = (
        f"{RUNS} crowds of each kind: {ITEMS} items of truth N(50, 15), 5 judgments per item by 10 judges unless "
        'stated. RMSE against the truth. "Held" is the share of truths on the scale of the average judgment within '
        "their 90 % intervals, and the last column the share of crowds for which Student-t noise was chosen. Crowds "
        "are not drawn from the model: noises are uniform, judges at random have no scale, and gross errors are 400 "
        "points off."
    )
    head = ("crowd", "mean", "median", "em", "gibbs", "held, em", "held, gibbs", "t chosen")
    return Claim("Simulated scores", how, head, rows)


def own_data() -> Claim:
    """Check intervals on data drawn from the priors of the model (simulation-based calibration)."""
    quantities, levels = ("truth", "bias", "scale", "noise"), (0.5, 0.8, 0.9)
    rows = []
    for noise, freedom in FREEDOM.items():
        held = {name: np.zeros(len(levels)) for name in quantities}
        count = 60
        for seed in range(count):
            rng = np.random.default_rng((7, seed))
            data, true = _drawn(rng, freedom)
            state, draws = start_of(run_em(data)), []
            for n in range(1_600):
                state = sweep(data, state, rng)
                if n >= 100:
                    line = anchor(data, state.bias, state.scale)
                    draws.append([line.truth(state.truth), *line.lines(state.bias, state.scale), state.variance])
            line = anchor(data, true[1], true[2])
            actual = [line.truth(true[0]), *line.lines(true[1], true[2]), true[3]]
            for k, name in enumerate(quantities):
                drawn = np.array([draw[k] for draw in draws])
                for m, level in enumerate(levels):
                    low, high = np.quantile(drawn, (0.5 - level / 2, 0.5 + level / 2), axis=0)
                    held[name][m] += ((low <= actual[k]) & (actual[k] <= high)).mean() / count
        rows += [(noise, name, *(f"{value:.3f}" for value in held[name])) for name in quantities]
        say(str(rows[-4:]))
    how = (
        "60 tables drawn from the priors, 30 items, 6 judges, 4 judgments per item; Gibbs sampling with 1,500 draws. "
        "The share of true values within intervals of three levels."
    )
    return Claim("Data of the model itself", how, ("noise", "quantity", *(f"{level:.0%}" for level in levels)), rows)


def _drawn(rng: np.random.Generator, freedom: float) -> tuple[Judged, tuple[Floats, Floats, Floats, Floats]]:
    """Return data drawn from the priors in the docstring of ``linear_judges``, with true values of all parameters."""
    item = np.repeat(np.arange(30), 4)
    judge = np.concatenate([rng.choice(6, 4, replace=False) for _ in range(30)])
    spread, a, b = 0.5 / rng.standard_gamma(1), 0.05 / rng.standard_gamma(2), 0.05 / rng.standard_gamma(2)
    variance = 3 * (rng.standard_gamma(1) / 3) / rng.standard_gamma(3, 6)
    bias, scale = np.sqrt(a) * rng.standard_normal(6), 1 + np.sqrt(b) * rng.standard_normal(6)
    truth = rng.standard_normal() + np.sqrt(spread) * rng.standard_normal(30)
    error = rng.standard_normal(120) if np.isinf(freedom) else rng.standard_t(freedom, 120)
    score = bias[judge] + scale[judge] * truth[item] + np.sqrt(variance[judge]) * error
    return Judged(item, judge, score, 30, 6, freedom=freedom), (truth, bias, scale, variance)


def several_labels() -> Claim:
    """Compare one fit of all labels with a fit for every label."""
    rows = []
    for name, spread in (("same judge for all labels", 0.0), ("labels differ", 0.5), ("labels differ much", 1.0)):
        total = []
        for seed in range(RUNS // 2):
            table, truth = _label_crowd(seed, spread)
            together = adjudge.multilabel(table)
            sets = read_label_sets(table)
            truth = truth[[int(item[1:]) for item in sets.items]]  # (I, L)
            one = adjudge.fit(sets.judgments).posterior[:, 1].reshape(LABELS, -1).T
            questions = sets.judgments.table
            parts = [questions.filter(pl.col("topic") == label).drop("topic") for label in sets.labels]
            apart = [adjudge.read(part, labels=["no", "yes"]) for part in parts]
            fits = [adjudge.fit(part) for part in apart]
            place = {f"{label}_{item}": i for label in sets.labels for i, item in enumerate(sets.items)}
            each = np.zeros(truth.shape)
            for k, fit in enumerate(fits):
                each[[place[item] for item in fit.items], k] = fit.posterior[:, 1]
            vote = np.add.reduceat(sets.judgments.label, sets.judgments.start[:-1]) / np.diff(sets.judgments.start)
            measures = [_label_scores(p, truth) for p in (vote.reshape(LABELS, -1).T, each, one, together.probability)]
            held = (
                np.concatenate([held_out_logs(part, "consensus") for part in apart]).mean(),
                held_out_logs(sets.judgments, "consensus").mean(),
            )
            total.append([value for pair in measures for value in pair] + list(held))
        mean = np.mean(total, axis=0)
        for k, method in enumerate(("vote", "a fit per label", "one fit", "one fit, a prevalence per label")):
            likelihood = {1: f"{mean[8]:.4f}", 2: f"{mean[9]:.4f}"}.get(k, "")
            loss = "" if k == 0 else f"{mean[2 * k]:.4f}"
            rows.append((name, method, f"{mean[2 * k + 1]:.3f}", loss, likelihood))
            say(" | ".join(rows[-1]))
    how = (
        f"{RUNS // 2} crowds of each kind: 150 items, {LABELS} labels of prevalence .05 to .5, 20 judges, 4 judgments "
        "per item. Judges differ in how often they miss a label and how often they give one too many; if labels "
        "differ, also from label to label (standard deviation .5 or 1 of log odds). Share of items whose whole set is "
        "right, log loss of labels, and held-out log-likelihood per answer (which is computed with one prevalence). "
        "`adjudge multilabel` is the last of each."
    )
    head = ("crowd", "method", "sets right", "log loss", "held-out log-likelihood")
    return Claim("Several labels per item", how, head, rows)


def _label_crowd(seed: int, spread: float) -> tuple[pl.DataFrame, Floats]:
    """Return judgments with several labels, and the true labels of items (I, L)."""
    rng = np.random.default_rng((11, seed))
    truth = rng.random((150, LABELS)) < rng.uniform(0.05, 0.5, LABELS)

    def rates(right: float, wrong: float) -> Floats:
        share = rng.beta(right, wrong, (20, 1))
        odds: Floats = np.log(share / (1 - share)) + spread * rng.standard_normal((20, LABELS))
        return 1 / (1 + np.exp(-odds))

    hit, reject, names, rows = rates(6, 2), rates(18, 2), np.array(list("abcdef")), []
    for i in range(150):
        for j in rng.choice(20, 4, replace=False):
            said = rng.random(LABELS) < np.where(truth[i], hit[j], 1 - reject[j])
            rows.append((f"i{i}", f"j{j}", "|".join(names[said])))
    return pl.DataFrame(rows, ["item", "judge", "label"], orient="row"), truth


def _label_scores(probability: Floats, truth: Floats) -> tuple[float, float]:
    """Return the log loss of labels, and the share of items whose set is right."""
    p = np.clip(np.where(truth, probability, 1 - probability), 1e-6, 1)
    return float(-np.log(p).mean()), float(((probability > 0.5) == truth).all(axis=1).mean())


def main() -> None:
    """Print all claims."""
    for claim in measure():
        print(claim.markdown())


if __name__ == "__main__":
    main()
