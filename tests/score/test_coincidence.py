"""Sums over items: alpha as the peer has it, the published examples, and every draw as if items were copied."""

from typing import Any

import krippendorff
import numpy as np
import polars as pl
import pytest

from adjudge.arrays import Floats
from adjudge.judgments.read import read
from adjudge.judgments.table import Judgments
from adjudge.score import coincidence
from adjudge.score.coincidence import (
    GROUPS,
    Sums,
    alpha_interval,
    alpha_nominal,
    alpha_ordinal,
    coincidences,
    distances,
    drawn,
    fleiss_kappa,
    grouped,
    raw_agreement,
    spread,
    summed,
    too_many,
)
from adjudge.score.votes import Votes, votes

ALPHAS = {"nominal": alpha_nominal, "ordinal": alpha_ordinal, "interval": alpha_interval}
FOUR = [  # observers by units, 0 where none: Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", part D
    [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
    [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
]
FOURTEEN = [  # ten subjects rated by fourteen, the worked example of Fleiss' kappa in Wikipedia
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def table(matrix: Any, K: int) -> Judgments:
    """Return judgments from a matrix of judges by items with labels 1 to K, 0 where there is none."""
    item, judge = np.nonzero(np.transpose(matrix))
    frame = {"item": item, "judge": judge, "label": np.asarray(matrix)[judge, item]}
    return read(pl.DataFrame(frame), labels=list(range(1, K + 1)), ordinal=True)


def random_matrix(seed: int, judges: int = 6, items: int = 30, K: int = 4, seen: float = 0.5) -> Any:
    """Return labels of judges who see some of the items."""
    rng = np.random.default_rng(seed)
    near = np.clip(rng.integers(1, K + 1, size=items) + rng.integers(-1, 2, size=(judges, items)), 1, K)
    return np.where(rng.random((judges, items)) < seen, near, 0)


def groups_of(given: Votes, K: int, value: Floats | None = None) -> Sums:
    """Return the groups of some votes, each of one item unless these are many."""
    worth = np.arange(1.0, K + 1) if value is None else value
    return grouped(given, np.zeros(given.voters.size), worth, np.random.default_rng(0), True)


def whole(given: Votes, K: int) -> Sums:
    """Return the sums over all items."""
    groups = groups_of(given, K)
    return summed(groups, np.ones((1, groups.items.size)))[0]


def peer(matrix: Any, level: Any, K: int) -> float:
    """Return alpha as the package krippendorff has it."""
    data = np.where(np.asarray(matrix) > 0, matrix, np.nan).astype(float)
    alpha: float = krippendorff.alpha(data, value_domain=list(range(1, K + 1)), level_of_measurement=level)
    return alpha


def test_the_published_example_of_alpha() -> None:
    """Four observers and twelve units: .743, .815 and .849."""
    sums = whole(votes(table(FOUR, 5)), 5)
    found = [round(of(sums, np.arange(5.0)) or 0, 3) for of in ALPHAS.values()]
    assert found == [0.743, 0.815, 0.849]


@pytest.mark.parametrize("level", ALPHAS)
@pytest.mark.parametrize("seed", range(4))
def test_alpha_equals_the_peers(level: str, seed: int) -> None:
    """On random crowds in which judges see half of the items, some of them alone."""
    matrix = random_matrix(seed)
    found = ALPHAS[level](whole(votes(table(matrix, 4)), 4), np.arange(1.0, 5))
    assert found == pytest.approx(peer(matrix, level, 4), rel=1e-12)


def test_the_published_example_of_fleiss() -> None:
    """Fourteen raters: kappa .210, agreement .378, by chance .213."""
    given = [[k + 1] * count for row in FOURTEEN for k, count in enumerate(row) if count]
    matrix = np.array([label for part in given for label in part]).reshape(10, 14).T
    sums = whole(votes(table(matrix, 5)), 5)
    assert fleiss_kappa(sums, np.arange(5.0)) == pytest.approx(0.210, abs=5e-4)
    assert raw_agreement(sums, np.arange(5.0)) == pytest.approx(0.378, abs=5e-4)
    assert ((sums.common / 10) ** 2).sum() == pytest.approx(0.213, abs=5e-4)


@pytest.mark.parametrize("seed", range(3))
def test_fleiss_with_unequal_numbers_counts_items_the_same(seed: int) -> None:
    """By its formula: means over items of agreeing pairs and of label shares."""
    matrix = random_matrix(seed)
    count = np.array([(matrix == k).sum(axis=0) for k in range(1, 5)]).T  # (I, K)
    count = count[count.sum(axis=1) > 1]
    m = count.sum(axis=1)
    agreed = ((count**2).sum(axis=1) - m) / (m * (m - 1))
    chance = ((count / m[:, None]).mean(axis=0) ** 2).sum()
    found = fleiss_kappa(whole(votes(table(matrix, 4)), 4), np.arange(4.0))
    assert found == pytest.approx((agreed.mean() - chance) / (1 - chance))


@pytest.mark.parametrize("level", ALPHAS)
def test_a_draw_is_as_if_items_were_copied(level: str) -> None:
    """Sums of items counted 0, 1, 2 times have the alpha of a table with that many copies of each."""
    matrix = random_matrix(9, seen=0.8)
    matrix = matrix[:, (matrix > 0).sum(axis=0) > 1]
    given = votes(table(matrix, 4))
    group = np.empty(given.voters.size, int)  # groups are items in another order: the first draw of their generator
    group[np.random.default_rng(0).permutation(group.size)] = np.arange(group.size)
    times = np.random.default_rng(1).integers(0, 3, size=group.size)
    sums = summed(groups_of(given, 4), times[None].astype(float))[0]
    copied = np.repeat(matrix, times[group], axis=1)
    assert ALPHAS[level](sums, np.arange(1.0, 5)) == pytest.approx(peer(copied, level, 4), rel=1e-12)


def slow_pairs(given: Votes, K: int) -> Floats:
    """Return pairs of votes by their labels, weighing 1 / (m - 1), one pair of ballots at a time (K, K)."""
    met = np.zeros((K, K))
    for i in range(given.voters.size):
        ballots: dict[int, Floats] = {}
        for n in np.flatnonzero(given.item == i):
            ballots.setdefault(int(given.judge[n]), np.zeros(K))[given.label[n]] += given.share[n]
        for one in ballots:
            for other in ballots:
                if one != other:
                    met += np.outer(ballots[one], ballots[other]) / (given.voters[i] - 1)
    return met


@pytest.mark.parametrize("repeats", [0, 40])
def test_pairs_of_votes_are_counted_as_by_hand(repeats: int) -> None:
    """Also where judges repeat themselves, who do not meet their own other labels."""
    rng = np.random.default_rng(2)
    whole_votes = table(random_matrix(1), 4)
    item, judge, label = whole_votes.item(), whole_votes.judge, whole_votes.label + 1
    again = rng.integers(item.size, size=repeats)
    frame = {
        "item": np.r_[item, item[again]],
        "judge": np.r_[judge, judge[again]],
        "label": np.r_[label, rng.integers(1, 5, size=repeats)],
    }
    given = votes(read(pl.DataFrame(frame), ordinal=True))
    assert given.split == (repeats > 0)
    slow, sums, value = slow_pairs(given, 4), whole(given, 4), np.arange(1.0, 5)
    apart = ~np.eye(4, dtype=bool)
    assert sums.met[apart] == pytest.approx(slow[apart])
    assert sums.parted == pytest.approx(slow[apart].sum())
    assert sums.squares == pytest.approx((slow * (value[:, None] - value) ** 2).sum())
    assert sums.label == pytest.approx(slow.sum(axis=0))
    assert sums.votes == sums.label.sum().round(9)
    n = sums.label
    for of, distance in (
        (alpha_nominal, apart.astype(float)),
        (alpha_interval, (value[:, None] - value) ** 2),
        (alpha_ordinal, ((np.cumsum(n) - n / 2)[:, None] - (np.cumsum(n) - n / 2)) ** 2),
    ):
        expected = 1 - (slow * distance).sum() * (n.sum() - 1) / (n @ distance @ n)
        assert of(sums, value) == pytest.approx(expected)


def test_two_labels_have_one_alpha() -> None:
    """Nominal, ordinal and interval are the same where there are no more."""
    sums = whole(votes(table(random_matrix(5, K=2), 2)), 2)
    values = [of(sums, np.array([1.0, 2.0])) for of in ALPHAS.values()]
    assert values == pytest.approx([values[0]] * 3)


def test_values_far_from_zero_lose_no_digits() -> None:
    """Years have the alpha of years since the first."""
    given = votes(table(random_matrix(7), 4))
    near, far = (groups_of(given, 4, np.arange(4.0) + start) for start in (0, 1e6))
    assert far.squares == pytest.approx(near.squares)
    assert spread(np.array([3.0, 4.0]), np.array([1e8, 1e8 + 1])) == pytest.approx(24)
    assert distances(given, np.arange(4.0) + 1e6) == pytest.approx(distances(given, np.arange(4.0)))


def test_one_label_has_raw_agreement_only() -> None:
    """Where nothing else was said there is no chance to beat."""
    sums = whole(votes(table(np.ones((3, 4), int), 2)), 2)
    assert raw_agreement(sums, np.arange(2.0)) == 1
    assert [of(sums, np.arange(2.0)) for of in (*ALPHAS.values(), fleiss_kappa)] == [None] * 4


def test_groups_of_many_items_tell_the_spread() -> None:
    """Of 20,000 items with two judges, draws of 1,000 groups spread as a share of 20,000 does."""
    matrix = random_matrix(3, judges=2, items=20_000, K=2, seen=1)
    groups = groups_of(votes(table(matrix, 2)), 2)
    assert groups.items.size == GROUPS
    assert set(groups.items.tolist()) == {20}
    values = np.array([raw_agreement(sums, np.arange(2.0)) for sums in drawn(groups, np.random.default_rng(1), 2_000)])
    share = (matrix[0] == matrix[1]).mean()
    assert values.mean() == pytest.approx(share, abs=0.001)
    assert values.std() == pytest.approx((share * (1 - share) / 20_000) ** 0.5, rel=0.1)


def test_draws_are_the_same_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory decides how many are summed at once, and nothing else."""
    groups = groups_of(votes(table(random_matrix(0), 4)), 4)
    together = [sums.pairs for sums in drawn(groups, np.random.default_rng(0), 20)]
    monkeypatch.setattr(coincidence, "CHUNK", 1)
    assert [sums.pairs for sums in drawn(groups, np.random.default_rng(0), 20)] == together


def test_long_scales_have_fewer_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many that their numbers fit; scales too long for that are known before."""
    given = votes(table(random_matrix(0), 4))
    monkeypatch.setattr(coincidence, "CELLS", 10 * 16)
    assert groups_of(given, 4).items.size == 10
    assert [too_many(K) for K in (1, 2, 3)] == [False, False, True]


def test_coincidences_of_groups_add_up() -> None:
    """One group has what many have together."""
    given = votes(table(random_matrix(0), 4))
    many = coincidences(given, np.arange(given.voters.size), given.voters.size, 4)
    one = coincidences(given, np.zeros(given.voters.size, int), 1, 4)
    assert many.sum(axis=0) == pytest.approx(one[0])
