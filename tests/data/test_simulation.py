"""The parts of simulated crowds."""

import numpy as np
import pytest

from adjudge.data import simulation


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a generator that is the same in every run."""
    return np.random.default_rng(7)


@pytest.mark.parametrize(("items", "judges", "each"), [(40, 10, 5), (9, 7, 5), (30, 5, 5), (50, 13, 1), (2, 3, 2)])
def test_panels_are_of_different_judges_and_leave_nobody_out(
    rng: np.random.Generator, items: int, judges: int, each: int
) -> None:
    """Every item has as many different judges as asked for, and every judge has an item."""
    panel = simulation.panels(rng, items, judges, each)
    assert panel.shape == (items, each)
    assert all(len(set(row)) == each for row in panel.tolist())
    assert set(panel.ravel().tolist()) == set(range(judges))


def test_panels_never_leave_anyone_out() -> None:
    """With just enough judgments for all, nobody is idle, whatever the seed."""
    for seed in range(200):
        panel = simulation.panels(np.random.default_rng(seed), 2, 7, 5)
        assert np.unique(panel).size == 7


def test_panels_are_even_and_mixed(rng: np.random.Generator) -> None:
    """Whole rounds give all judges equally many items, and any two judges meet."""
    panel = simulation.panels(rng, 2_000, 20, 5)
    assert np.array_equal(np.bincount(panel.ravel()), np.full(20, 500))
    present = np.zeros((2_000, 20))
    np.put_along_axis(present, panel, 1, axis=1)
    together = (present.T @ present)[~np.eye(20, dtype=bool)]
    assert together.min() > 60  # 2,000 x 5/20 x 4/19 = 105 expected, with a standard deviation of 9
    assert together.max() < 150


def test_spread_gives_everyone_at_least_one(rng: np.random.Generator) -> None:
    """The parts add up to the total, none is 0, and the heavier weight gets more."""
    count = simulation.allocate(rng, 1_000, np.array([1e-9, 1.0, 3.0]))
    assert count.sum() == 1_000
    assert count[0] == 1
    assert count[2] > 2 * count[1]
    assert np.array_equal(simulation.allocate(rng, 3, np.ones(3)), [1, 1, 1])


@pytest.mark.parametrize(("share", "whole", "count"), [(0, 50, 0), (0.2, 50, 10), (0.01, 10, 1), (1, 7, 7)])
def test_part_is_a_rounded_share(share: float, whole: int, count: int) -> None:
    """A share above 0 is at least one."""
    assert simulation.share_count(share, whole) == count


def test_categories_follow_their_rows(rng: np.random.Generator) -> None:
    """Draws from each row come as often as its probabilities say, and never where they say 0."""
    probability = np.array([[0.2, 0.0, 0.8], [0.5, 0.5, 0.0]])
    row = np.tile([0, 1], 50_000).reshape(-1, 10)
    drawn = simulation.draw_categories(rng, probability, row)
    assert drawn.shape == row.shape
    for number in range(2):
        share = np.bincount(drawn[row == number], minlength=3) / 50_000
        assert np.array_equal(share > 0, probability[number] > 0)
        assert np.abs(share - probability[number]).max() < 0.01  # 4 standard errors


def test_leaning_rows_are_right_as_often_as_asked(rng: np.random.Generator) -> None:
    """Rows add up to one, the diagonal is the accuracy on average and the rest is shared equally."""
    confusion = simulation.draw_confusion(rng, 20_000, 3, 0.7)
    assert np.allclose(confusion.sum(axis=2), 1)
    expected = np.full((3, 3), 0.15) + 0.55 * np.eye(3)
    assert np.abs(confusion.mean(axis=0) - expected).max() < 0.005  # 5 standard errors


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_leaning_goes_to_the_ends(rng: np.random.Generator, accuracy: float) -> None:
    """Judges who are always or never right can be asked for."""
    diagonal = np.einsum("jkk->jk", simulation.draw_confusion(rng, 5, 4, accuracy))
    assert np.allclose(diagonal, accuracy)


def test_names_are_numbered_from_one() -> None:
    """The first judge is j1, and the column is called by what it holds."""
    names = simulation.numbered_names("judge", 3)
    assert names.name == "judge"
    assert names.to_list() == ["j1", "j2", "j3"]
