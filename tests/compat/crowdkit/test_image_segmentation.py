"""Segmentations of images."""

import numpy as np
import pandas as pd
import pytest

from adjudge.compat.crowdkit import SegmentationEM, SegmentationMajorityVote, SegmentationRASA
from adjudge.compat.crowdkit.image_segmentation import patterns

METHODS = (SegmentationMajorityVote, SegmentationEM, SegmentationRASA)


def images(workers, seed=0, side=12):
    """Return segmentations of two squares, with ever more noise."""
    rng = np.random.default_rng(seed)
    rows, truth = [], {}
    for task in range(2):
        square = np.zeros((side, side), bool)
        square[3:9, 2 + task : 8 + task] = True
        truth[task] = square
        rows += [(task, w, square ^ (rng.random(square.shape) < 0.02 * w)) for w in range(workers)]
    return pd.DataFrame(rows, columns=["task", "worker", "segmentation"]), truth


@pytest.mark.parametrize("workers", [1, 5, 8, 9, 20])
def test_patterns_give_the_image_back(workers):
    """Every pixel has the pattern of its workers, whatever their number."""
    stack = np.random.default_rng(1).random((workers, 7, 5)) < 0.5
    found = patterns(list(stack), "t")
    np.testing.assert_array_equal(found.marked[found.pattern].T.reshape(stack.shape) > 0, stack)
    assert found.pixels.sum() == 35
    assert len(np.unique(found.marked, axis=0)) == len(found.marked)


@pytest.mark.parametrize("method", METHODS)
def test_the_object_is_found(method):
    """Nearly all pixels are right, and the result is a boolean array per task."""
    data, truth = images(7)
    result = method().fit_predict(data)
    assert (result.name, result.index.name) == ("agg_segmentation", "task")
    for task, image in result.items():
        assert image.dtype == bool
        assert (image == truth[task]).mean() > 0.97


@pytest.mark.parametrize("method", [SegmentationEM, SegmentationRASA])
def test_no_step_is_the_vote(method):
    """n_iter=0 gives pixels by their vote shares."""
    data, _ = images(5)
    vote = SegmentationMajorityVote().fit_predict(data)
    for task, image in method(n_iter=0).fit_predict(data).items():
        np.testing.assert_array_equal(image, vote[task])


@pytest.mark.parametrize("method", METHODS)
def test_an_image_without_marks_stays_empty(method):
    """Nobody marked a pixel: there is no object."""
    data = pd.DataFrame({"task": [1, 1, 1], "worker": [1, 2, 3], "segmentation": [np.zeros((3, 4), bool)] * 3})
    assert not method().fit_predict(data)[1].any()


def test_skills_weigh_the_vote():
    """A worker with most of the weight decides; one without a skill is refused."""
    data, _ = images(3)
    skills = pd.Series({0: 0.1, 1: 0.1, 2: 0.9})
    result = SegmentationMajorityVote().fit_predict(data, skills)
    np.testing.assert_array_equal(result[0], data.loc[2, "segmentation"])
    with pytest.raises(ValueError, match=r"^skills: worker '2' has no skill \(see on_missing_skill\)$"):
        SegmentationMajorityVote().fit(data, skills.drop(2))


def test_images_of_different_shapes_are_refused():
    """The task and the shapes are named."""
    data = pd.DataFrame({"task": ["a", "a"], "worker": [1, 2], "segmentation": [np.ones((2, 2)), np.ones((2, 3))]})
    with pytest.raises(ValueError, match=r"^task 'a' has segmentations of the shapes \(2, 2\) and \(2, 3\)$"):
        SegmentationEM().fit(data)
