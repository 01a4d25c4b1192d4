"""Sums over items: alpha as the peer has it, the published examples, and every draw as if items were copied."""

from itertools import combinations
from typing import Any

import krippendorff
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

from adjudge.arrays import Floats
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.metrics import coincidence
from adjudge.metrics.coincidence import (
    GROUPS,
    Sums,
    Votes,
    alpha_interval,
    alpha_nominal,
    alpha_ordinal,
    coincidences,
    count_votes,
    distances,
    find_meetings,
    fleiss_kappa,
    group_sums,
    group_total,
    pairwise_kappas,
    raw_agreement,
    renumber,
    resample_sums,
    row_pairs,
    spread,
    sum_groups,
    too_many_labels,
)

ALPHAS = {"nominal": alpha_nominal, "ordinal": alpha_ordinal, "interval": alpha_interval}
FOUR = [  # observers by units, 0 if missing: Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", part D
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
    """Return the groups of some count_votes, each of one item unless these are many."""
    worth = np.arange(1.0, K + 1) if value is None else value
    return group_sums(given, np.zeros(given.voters.size), worth, np.random.default_rng(0), True)


def whole(given: Votes, K: int) -> Sums:
    """Return the sums over all items."""
    groups = groups_of(given, K)
    return sum_groups(groups, np.ones((1, groups.items.size)))[0]


def peer(matrix: Any, level: Any, K: int) -> float:
    """Return alpha as the package krippendorff has it."""
    data = np.where(np.asarray(matrix) > 0, matrix, np.nan).astype(float)
    alpha: float = krippendorff.alpha(data, value_domain=list(range(1, K + 1)), level_of_measurement=level)
    return alpha


def test_the_published_example_of_alpha() -> None:
    """Four observers and twelve units: .743, .815 and .849."""
    sums = whole(count_votes(table(FOUR, 5)), 5)
    result = [round(of(sums, np.arange(5.0)) or 0, 3) for of in ALPHAS.values()]
    assert result == [0.743, 0.815, 0.849]


@pytest.mark.parametrize("level", ALPHAS)
@pytest.mark.parametrize("seed", range(4))
def test_alpha_equals_the_peers(level: str, seed: int) -> None:
    """On random crowds in which judges see half of the items, some of them alone."""
    matrix = random_matrix(seed)
    result = ALPHAS[level](whole(count_votes(table(matrix, 4)), 4), np.arange(1.0, 5))
    assert result == pytest.approx(peer(matrix, level, 4), rel=1e-12)


def test_the_published_example_of_fleiss() -> None:
    """Fourteen raters: kappa .210, agreement .378, by chance .213."""
    inputs = [[k + 1] * count for row in FOURTEEN for k, count in enumerate(row) if count]
    matrix = np.array([label for part in inputs for label in part]).reshape(10, 14).T
    sums = whole(count_votes(table(matrix, 5)), 5)
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
    result = fleiss_kappa(whole(count_votes(table(matrix, 4)), 4), np.arange(4.0))
    assert result == pytest.approx((agreed.mean() - chance) / (1 - chance))


@pytest.mark.parametrize("level", ALPHAS)
def test_a_draw_is_as_if_items_were_copied(level: str) -> None:
    """Sums of items counted 0, 1, 2 times have the alpha of a table with that many copies of each."""
    matrix = random_matrix(9, seen=0.8)
    matrix = matrix[:, (matrix > 0).sum(axis=0) > 1]
    inputs = count_votes(table(matrix, 4))
    group = np.empty(inputs.voters.size, int)  # groups are items in another order: the first draw of their generator
    group[np.random.default_rng(0).permutation(group.size)] = np.arange(group.size)
    times = np.random.default_rng(1).integers(0, 3, size=group.size)
    sums = sum_groups(groups_of(inputs, 4), times[None].astype(float))[0]
    copied = np.repeat(matrix, times[group], axis=1)
    assert ALPHAS[level](sums, np.arange(1.0, 5)) == pytest.approx(peer(copied, level, 4), rel=1e-12)


def slow_pairs(given: Votes, K: int) -> Floats:
    """Return pairs of votes by their labels, weighing 1 / (m - 1), one pair of ballots at a time (K, K)."""
    met = np.zeros((K, K))
    for i in range(given.voters.size):
        ballots: dict[int, Floats] = {}
        for n in np.flatnonzero(given.item == i):
            ballots.setdefault(int(given.judge[n]), np.zeros(K))[given.label[n]] += given.share[n]
        for ballot in ballots:
            for other in ballots:
                if ballot != other:
                    met += np.outer(ballots[ballot], ballots[other]) / (given.voters[i] - 1)
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
    inputs = count_votes(read(pl.DataFrame(frame), ordinal=True))
    assert inputs.split == (repeats > 0)
    slow, sums, value = slow_pairs(inputs, 4), whole(inputs, 4), np.arange(1.0, 5)
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
    sums = whole(count_votes(table(random_matrix(5, K=2), 2)), 2)
    values = [of(sums, np.array([1.0, 2.0])) for of in ALPHAS.values()]
    assert values == pytest.approx([values[0]] * 3)


def test_values_far_from_zero_lose_no_digits() -> None:
    """Years have the alpha of years since the first."""
    inputs = count_votes(table(random_matrix(7), 4))
    near, far = (groups_of(inputs, 4, np.arange(4.0) + start) for start in (0, 1e6))
    assert far.squares == pytest.approx(near.squares)
    assert spread(np.array([3.0, 4.0]), np.array([1e8, 1e8 + 1])) == pytest.approx(24)
    assert distances(inputs, np.arange(4.0) + 1e6) == pytest.approx(distances(inputs, np.arange(4.0)))


def test_one_label_has_raw_agreement_only() -> None:
    """Where nothing else was said there is no chance to beat."""
    sums = whole(count_votes(table(np.ones((3, 4), int), 2)), 2)
    assert raw_agreement(sums, np.arange(2.0)) == 1
    assert [of(sums, np.arange(2.0)) for of in (*ALPHAS.values(), fleiss_kappa)] == [None] * 4


def test_groups_of_many_items_tell_the_spread() -> None:
    """Of 20,000 items with two judges, draws of 1,000 groups spread as a share of 20,000 does."""
    matrix = random_matrix(3, judges=2, items=20_000, K=2, seen=1)
    groups = groups_of(count_votes(table(matrix, 2)), 2)
    assert groups.items.size == GROUPS
    assert set(groups.items.tolist()) == {20}
    values = np.array(
        [raw_agreement(sums, np.arange(2.0)) for sums in resample_sums(groups, np.random.default_rng(1), 2_000)]
    )
    share = (matrix[0] == matrix[1]).mean()
    assert values.mean() == pytest.approx(share, abs=0.001)
    assert values.std() == pytest.approx((share * (1 - share) / 20_000) ** 0.5, rel=0.1)


def test_draws_are_the_same_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory decides how many are summed at once, and nothing else."""
    groups = groups_of(count_votes(table(random_matrix(0), 4)), 4)
    together = [sums.pairs for sums in resample_sums(groups, np.random.default_rng(0), 20)]
    monkeypatch.setattr(coincidence, "CHUNK", 1)
    assert [sums.pairs for sums in resample_sums(groups, np.random.default_rng(0), 20)] == together


def test_long_scales_have_fewer_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many that their numbers fit; scales too long for that are known before."""
    inputs = count_votes(table(random_matrix(0), 4))
    monkeypatch.setattr(coincidence, "CELLS", 10 * 16)
    assert groups_of(inputs, 4).items.size == 10
    assert [too_many_labels(K) for K in (1, 2, 3)] == [False, False, True]


def test_coincidences_of_groups_add_up() -> None:
    """One group has what many have together."""
    inputs = count_votes(table(random_matrix(0), 4))
    many = coincidences(inputs, np.arange(inputs.voters.size), inputs.voters.size, 4)
    first = coincidences(inputs, np.zeros(inputs.voters.size, int), 1, 4)
    assert many.sum(axis=0) == pytest.approx(first[0])


RNG = np.random.default_rng


def crowd(items: int, judges: int, K: int, seed: int, seen: float = 0.6) -> Judgments:
    """Return judgments of a crowd in which a judge sees some of the items, and is right more often than not."""
    rng = RNG(seed)
    item, judge = np.nonzero(rng.random((items, judges)) < seen)
    truth = rng.integers(K, size=items)[item]
    label = np.where(rng.random(item.size) < 0.6, truth, rng.integers(K, size=item.size))
    return read(pl.DataFrame({"item": item, "judge": judge, "label": label}), labels=list(range(K)))


def shared_labels(table: Judgments) -> dict[tuple[int, int], tuple[list[int], list[int]]]:
    """Return the labels of every two judges on the items they share, the slow way."""
    result = [dict[int, int]() for _ in table.judges]
    for item, judge, label in zip(table.item(), table.judge, table.label, strict=True):
        result[judge][int(item)] = int(label)
    pairs = {}
    for entry, other in combinations(range(len(result)), 2):
        both = sorted(result[entry].keys() & result[other].keys())
        if both:
            pairs[entry, other] = ([result[entry][i] for i in both], [result[other][i] for i in both])
    return pairs


@pytest.mark.parametrize("seed", range(3))
def test_kappas_equal_those_of_scikit_learn(seed: int) -> None:
    """Of every pair, on random crowds, and so does their weighted mean."""
    table = crowd(40, 7, 3, seed)
    result = pairwise_kappas(count_votes(table), 7, 3, RNG(0))
    reference = shared_labels(table)
    assert list(zip(*(side.tolist() for side in result.judges), strict=True)) == list(reference)
    expected = [cohen_kappa_score(*labels) for labels in reference.values()]
    assert result.kappa == pytest.approx(expected)
    assert result.shared.tolist() == [len(entry) for entry, _ in reference.values()]
    assert result.agreement == pytest.approx([np.mean(np.equal(*labels)) for labels in reference.values()])
    assert result.mean == pytest.approx(np.average(expected, weights=result.shared))
    assert result.items == count_votes(table).voters.size


def test_a_pair_with_one_label_has_no_kappa() -> None:
    """Judges who both say only 'no' cannot but agree; the mean is of the others, or there is none."""
    rows = [("a", "x", "no"), ("a", "y", "no"), ("b", "x", "no"), ("b", "y", "no")]
    frame = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    result = pairwise_kappas(count_votes(read(frame, labels=["no", "yes"])), 2, 2, RNG(0))
    assert (result.mean, result.undefined, result.agreement.tolist()) == (None, 1, [1])
    assert result.influence.tolist() == [0, 0]
    more = pl.DataFrame([("b", "z", "yes"), ("a", "z", "no")], schema=frame.schema, orient="row")
    result = pairwise_kappas(count_votes(read(pl.concat([frame, more]))), 3, 2, RNG(0))
    assert (result.mean, result.undefined) == (0, 1)


def test_an_item_moves_the_mean_by_its_influence() -> None:
    """The derivative by an item's weight is what a little more of the item does, and all together do nothing."""
    table = crowd(30, 5, 3, 1)
    inputs = count_votes(table)
    result = pairwise_kappas(inputs, 5, 3, RNG(0))
    assert result.mean is not None
    assert result.influence.sum() == pytest.approx(0, abs=1e-12)
    tiny = 1e-5
    for i in (0, 7, 20):
        more = inputs._replace(share=np.where(inputs.item == i, np.sqrt(1 + tiny), 1.0))  # a meeting weighs the product
        moved = pairwise_kappas(more, 5, 3, RNG(0)).mean
        assert moved is not None
        assert (moved - result.mean) / tiny == pytest.approx(result.influence[i], rel=1e-3, abs=1e-6)


def test_influence_tells_the_spread_of_the_mean() -> None:
    """Its standard error is near that of means of items really drawn again."""
    table = crowd(200, 5, 3, 2, seen=0.8)
    inputs = count_votes(table)
    error = float(np.sqrt((pairwise_kappas(inputs, 5, 3, RNG(0)).influence ** 2).sum()))
    rng, reference, means = RNG(4), shared_labels(table), []
    number = {name: i for i, name in enumerate(np.unique(table.item()))}
    assert len(number) == inputs.voters.size  # with so many judges nobody is alone
    for _ in range(300):
        times = np.bincount(rng.integers(inputs.voters.size, size=inputs.voters.size), minlength=inputs.voters.size)
        drawn = pairwise_kappas(inputs._replace(share=np.sqrt(times[inputs.item])), 5, 3, RNG(0))
        means.append(drawn.mean)
    assert reference
    assert np.std(np.array(means, float)) == pytest.approx(error, rel=0.15)


def test_split_votes_meet_in_parts() -> None:
    """Half a 'no' and half a 'yes' against a 'no' is half an agreement, and an item is shared once."""
    rows = [("a", "x", "no"), ("a", "x", "yes"), ("a", "y", "no"), ("b", "x", "yes"), ("b", "y", "yes")]
    result = pairwise_kappas(
        count_votes(read(pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row"))), 2, 2, RNG(0)
    )
    assert (result.shared.tolist(), result.agreement.tolist()) == ([2], [0.75])
    chance = (0.25 * 0.5) + (0.75 * 0.5)  # x: a quarter 'no'; y: half
    assert result.kappa[0] == pytest.approx((0.75 - chance) / (1 - chance))


def test_of_too_many_pairs_items_are_drawn() -> None:
    """The seed decides which; an item with too many pairs of its own is never one."""
    inputs = count_votes(crowd(100, 6, 2, 3, seen=1))  # 15 pairs an item
    met = find_meetings(inputs, 6, RNG(0), most=300)
    assert (met.items, met.weight.size, np.unique(met.item).size) == (20, 300, 20)
    assert (met.item == find_meetings(inputs, 6, RNG(0), most=300).item).all()
    assert (met.item != find_meetings(inputs, 6, RNG(1), most=300).item).any()
    nobody = pairwise_kappas(inputs, 6, 2, RNG(0), most=14)
    assert (nobody.items, nobody.mean, nobody.kappa.size) == (0, None, 0)


def test_later_rows_of_an_item() -> None:
    """Three rows of the first item make three pairs, one of the second none, two of the third one."""
    first, other = row_pairs(np.array([3, 1, 2]))
    assert list(zip(first.tolist(), other.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2), (4, 5)]


@pytest.mark.parametrize("most", [10, 1_000_000])
def test_numbers_are_counted_anew(most: int) -> None:
    """By sorting or by a list of all, the result is the same."""
    name, position = renumber(np.array([7, 2, 7, 9]), most)
    assert (name.tolist(), position.tolist()) == ([2, 7, 9], [1, 0, 1, 2])


def _votes_table(*rows: tuple[str, str, str], weight: list[float] | None = None) -> Judgments:
    """Return judgments of (item, judge, label)."""
    frame = pl.DataFrame(list(rows), schema=["item", "judge", "label"], orient="row")
    return read(frame if weight is None else frame.with_columns(weight=pl.Series(weight)))


def listed(given: Votes) -> list[tuple[int, int, int, float]]:
    """Return votes as rows of item, judge, label and share."""
    columns = (given.item, given.judge, given.label, given.share)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_items_with_one_judge_are_left_out() -> None:
    """The others are numbered again, and nothing else changes."""
    result = count_votes(_votes_table(("a", "x", "no"), ("b", "x", "no"), ("b", "y", "yes"), ("c", "y", "no")))
    assert listed(result) == [(0, 0, 0, 1), (0, 1, 1, 1)]
    assert (result.voters.tolist(), result.alone, result.repeats, result.split) == ([2], 2, 0, False)


def test_a_judge_who_repeats_herself_has_one_vote() -> None:
    """Two of three for 'no' are two thirds of a vote; the same label twice is a whole one."""
    rows = [("a", "x", "no"), ("a", "x", "yes"), ("a", "y", "no"), ("a", "x", "no"), ("a", "y", "no")]
    result = count_votes(_votes_table(*rows))
    assert listed(result) == [(0, 0, 0, pytest.approx(2 / 3)), (0, 0, 1, pytest.approx(1 / 3)), (0, 1, 0, 1)]
    assert (result.voters.tolist(), result.repeats, result.split) == ([2], 3, True)


def test_an_item_that_one_judge_repeats_has_one_judge() -> None:
    """She does not agree with herself."""
    result = count_votes(_votes_table(("a", "x", "no"), ("a", "x", "no"), ("b", "y", "no")))
    assert (result.item.size, result.alone, result.repeats) == (0, 2, 1)


def test_weights_share_a_vote() -> None:
    """They decide between labels of one judge, not between judges; without weight there is no vote."""
    rows = [("a", "x", "no"), ("a", "x", "yes"), ("a", "y", "no"), ("a", "z", "yes")]
    result = count_votes(_votes_table(*rows, weight=[1, 3, 9, 0]))
    assert listed(result) == [(0, 0, 0, 0.25), (0, 0, 1, 0.75), (0, 1, 0, 1)]


def test_sums_are_floats_of_the_asked_length() -> None:
    """Also if there is nothing to sum."""
    assert group_total(np.array([1, 1, 3]), np.array([0.5, 1, 2]), 5).tolist() == [0, 1.5, 0, 2, 0]
    assert group_total(np.empty(0, int), np.empty(0), 2).tolist() == [0, 0]
