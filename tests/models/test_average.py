"""Mean, median and trimmed mean as models."""

import numpy as np
import polars as pl
import pytest

import adjudge


def judged(*items, labels=None):
    """Return items given as lists of labels, each by judges of its own number."""
    rows = [(f"i{i}", f"j{j}", label) for i, result in enumerate(items) for j, label in enumerate(result)]
    frame = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    return adjudge.read(frame, labels=labels, ordinal=True)


def test_mean_is_told_between_two_labels():
    """4/3 on 0 to 4 is .67 of 1 and .33 of 2."""
    fit = adjudge.fit(judged([0, 0, 4], [1, 2, 3]), "mean")
    assert fit.labels["expected"].to_list() == pytest.approx([4 / 3, 2])
    assert fit.labels["label"].to_list() == [1, 2]
    assert fit.labels["between"].to_list() == ["0.7 of 1 + 0.3 of 2", "2"]


def test_median_and_trimmed_mean():
    """One judge far out moves the mean, not the median, nor the mean without outliers."""
    table = judged([1, 1, 1, 1, 4], [0, 0, 4, 4, 4])
    by_model = {m: adjudge.fit(table, m).labels["expected"].to_list() for m in ("mean", "median", "trimmed-mean")}
    assert by_model["mean"] == pytest.approx([1.6, 2.4])
    assert by_model["median"] == [1, 4]
    assert by_model["trimmed-mean"] == pytest.approx([1, 2.4])


def test_numbers_count_by_their_values():
    """Labels 0, 10 and 100 are as far apart as they are, words as far as their places."""
    numbers = adjudge.fit(judged([0, 100], [10, 10]), "mean")
    assert numbers.labels["expected"].to_list() == pytest.approx([50, 10])
    words = adjudge.fit(judged(["low", "high"], ["mid"], labels=["low", "mid", "high"]), "mean")
    assert words.labels["label"].to_list() == ["mid", "mid"]


def test_emotion_scores_have_the_published_errors(shared):
    """Mean and median of numeric scores err as Zheng et al. 2017 (table 6) print: MAE 12.02 and 13.53."""
    table = adjudge.read(shared("data/emotion/labels.csv"), item="item", judge="worker", ordinal=True)
    gold = pl.read_csv(shared("data/emotion/gold.csv"))
    truth = dict(zip(gold["item"].cast(str), gold["label"], strict=True))
    for model, mae, rmse in (("mean", 12.02, 17.84), ("median", 13.53, 21.26)):
        labels = adjudge.fit(table, model).labels
        error = np.array([e - truth[str(i)] for i, e in zip(labels["item"], labels["expected"], strict=True)])
        assert np.abs(error).mean() == pytest.approx(mae, abs=0.005)
        assert np.sqrt(np.square(error).mean()) == pytest.approx(rmse, abs=0.005)
