"""``scores``: tables, intervals, gross errors, gold, and the emotions of headlines."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adjudge import scores
from adjudge.errors import UsageError
from adjudge.models.linear_judges import Judged, held_out_errors
from adjudge.models.scores import standard_scale


def crowd(seed=0, items=60, judges=8, per_item=5, gross=0.0):
    """Return scores from 0 to 100 or so, and the true scores by item; a share of scores are gross errors."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(50, 15, items)
    bias, scale, noise = rng.normal(0, 6, judges), rng.normal(1, 0.2, judges), rng.uniform(3, 12, judges)
    item = np.repeat(np.arange(items), per_item)
    judge = np.concatenate([rng.choice(judges, per_item, replace=False) for _ in range(items)])
    score = 50 + bias[judge] + scale[judge] * (truth[item] - 50) + noise[judge] * rng.normal(size=item.size)
    score = np.where(rng.random(item.size) < gross, score + rng.choice([-300, 900], item.size), score)
    table = pl.DataFrame({"item": [f"i{i:03}" for i in item], "judge": [f"j{j}" for j in judge], "score": score})
    return table, {f"i{i:03}": value for i, value in enumerate(truth)}


def error(fit, truth):
    """Return the root mean squared error of a fit."""
    true = np.array([truth[name] for name in fit.items["item"]])
    return float(np.sqrt(np.square(fit.items["value"].to_numpy() - true).mean()))


def test_tables_of_items_and_judges():
    """Values lie within their intervals, and judges have a sentence."""
    table, truth = crowd()
    fit = scores(table, draws=100, warmup=100)
    assert fit.items.columns == ["item", "value", "low", "high", "judgments"]
    assert fit.judges.columns[:5] == ["judge", "judgments", "bias", "bias_low", "bias_high"]
    assert fit.judges.columns[5:] == [
        *("scale", "scale_low", "scale_high"),
        *("noise", "noise_low", "noise_high", "sentence"),
    ]
    assert (fit.items["low"] < fit.items["value"]).all()
    assert (fit.items["value"] < fit.items["high"]).all()
    assert fit.draws.truth.shape == (4, 100, 60)
    assert repr(fit).startswith("ScoreFit(60 items, 8 judges, 300 scores; gibbs, noise normal; ")
    assert "<table>" in fit._repr_html_()
    true = np.array([truth[name] for name in fit.items["item"]])
    mean = table.group_by("item").agg(pl.col("score").mean()).sort("item")["score"].to_numpy()
    assert error(fit, truth) < np.sqrt(np.square(mean - true).mean())


def test_the_same_seed_gives_the_same_result():
    """And frames come back in the kind that was passed in."""
    table, _ = crowd(items=20)
    frames = [scores(table.to_pandas(), draws=20, warmup=20, seed=3).items for _ in range(2)]
    assert isinstance(frames[0], pd.DataFrame)
    pd.testing.assert_frame_equal(*frames)


def test_gross_errors_are_noticed():
    """Three scores in a hundred with another digit hardly move the values: the noise is a Student-t."""
    table, truth = crowd(seed=1, gross=0.03)
    fit = scores(table, inference="em")
    clean, _ = crowd(seed=1)
    assert fit.noise == "t"
    assert error(fit, truth) < 1.25 * error(scores(clean, inference="em"), truth)
    assert error(scores(table, inference="em", noise="normal"), truth) > 2 * error(fit, truth)
    assert scores(clean, inference="em").noise == "normal"


def test_gold_is_kept_and_sets_the_scale():
    """Judges who all score 20 points too high are corrected by the gold of some items."""
    table, truth = crowd(seed=2)
    high = table.with_columns(pl.col("score") + 20)
    gold = {name: truth[name] for name in list(truth)[:15]}
    fit = scores(high, gold, inference="em", noise="normal")
    assert fit.items.filter("gold")["value"].to_list() == pytest.approx(list(gold.values()))
    assert fit.items.filter("gold")["low"].to_list() == fit.items.filter("gold")["high"].to_list()
    assert abs(fit.judges["bias"].mean() - 20) < 6
    assert error(fit, truth) < error(scores(high, inference="em", noise="normal"), truth) / 2


def test_judges_with_one_judgment_each():
    """The value of an item is then its mean, shrunk to that of all items."""
    rng = np.random.default_rng(3)
    truth = rng.normal(50, 10, 50)
    score = np.repeat(truth, 3) + 10 * rng.normal(size=150)
    table = pl.DataFrame({"item": np.repeat(np.arange(50), 3), "judge": np.arange(150), "score": score})
    value = scores(table, inference="em", noise="normal").items["value"].to_numpy()
    mean = score.reshape(50, 3).mean(axis=1)
    assert np.corrcoef(value, mean)[0, 1] > 0.995
    assert np.square(value - truth).mean() < np.square(mean - truth).mean()


@pytest.mark.parametrize("inference", ["em", "gibbs"])
def test_small_and_even_tables(inference):
    """One judgment, and scores that are all equal, give values and no warnings."""
    one = scores(pl.DataFrame({"item": ["a"], "judge": ["x"], "score": [7]}), inference=inference, draws=10, warmup=10)
    assert one.items["value"].item() == pytest.approx(7, abs=2)
    even = pl.DataFrame({"item": list("aabb"), "judge": list("xyxy"), "score": [5, 5, 5, 5]})
    values = scores(even, inference=inference, draws=200, warmup=10).items["value"].to_numpy()
    np.testing.assert_allclose(values, 5, atol=0.5)


def test_sentences_say_what_intervals_bear_out():
    """A clear bias, a stretched scale, a reversed one, and a judge who does not look."""
    rng = np.random.default_rng(4)
    truth = rng.normal(50, 15, 120)
    lines = {
        "fair": truth,
        "high": truth + 30,
        "steep": 50 + 1.8 * (truth - 50),
        "blind": np.full(120, 50.0),
        "back": 100 - truth,
        "ann": truth,
        "bob": truth,
        "cy": truth,
    }
    rows = [(i, name, line[i] + 3 * rng.normal()) for name, line in lines.items() for i in range(120)]
    fit = scores(pl.DataFrame(rows, ["item", "judge", "score"], orient="row"), inference="em", noise="normal")
    said = dict(fit.judges.select("judge", "sentence").rows())
    assert said["high"].startswith("Their scores lie 2")
    assert "points above the truth" in said["high"]
    assert "stretch differences (" in said["steep"]
    assert said["blind"].startswith("Their scores may not follow the truth at all (")
    assert said["back"].startswith("Their scores fall where the truth rises (-")
    assert all(text.endswith(" points.") for text in said.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inference": "map"}, "inference 'map' is not one of 'gibbs', 'em'"),
        ({"noise": "cauchy"}, "noise 'cauchy' is not one of 'normal', 't'"),
        ({"chains": 0}, "chains 0 is not a whole number of at least 1"),
        ({"draws": 2}, "draws 2 is not a whole number of at least 4"),
        ({"warmup": -1}, "warmup -1 is not a whole number of at least 0"),
    ],
)
def test_wrong_options_are_refused(options, message):
    """With what there is."""
    with pytest.raises(UsageError) as refusal:
        scores(crowd(items=5)[0], **options)
    assert str(refusal.value) == message


def test_emotions_of_headlines(shared):
    """Held-out scores are predicted better than by mean and median; against gold it is no worse than either."""
    folder = shared("data/emotion/labels.csv").parent
    table, gold = (pl.read_csv(folder / name) for name in ("labels.csv", "gold.csv"))
    fit = scores(table, inference="em")
    each = table.group_by("item").agg(mean=pl.col("label").mean(), median=pl.col("label").median())
    both = fit.items.join(each, "item").join(gold, "item")
    errors = {name: float(((both[name] - both["label"]) ** 2).mean() ** 0.5) for name in ("value", "mean", "median")}
    assert errors["value"] < errors["mean"] < errors["median"]
    data, test = fit.scores, np.random.default_rng(0).random(table.height) < 0.2
    rest = table.filter(pl.Series(~test)).group_by("item").agg(pl.col("label").mean())
    mean = table.filter(pl.Series(test)).join(rest, "item", maintain_order="left")
    by_mean = np.sqrt(((mean["label"] - mean["label_right"]) ** 2).mean())
    centre, unit = standard_scale(data.score)
    judged = Judged(data.item, data.judge, (data.score - centre) / unit, len(data.items), len(data.judges))
    by_model = unit * np.sqrt(np.square(held_out_errors(judged, test)).mean())
    assert by_model < 0.95 * by_mean
