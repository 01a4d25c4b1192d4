"""Cohen's kappa of pairs: the peer's on shared items, the mean, and what an item does to it."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

from adjudge.judgments.read import read
from adjudge.judgments.table import Judgments
from adjudge.score.cohen import kappas, later, meetings, renumbered
from adjudge.score.votes import votes

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
    said = [dict[int, int]() for _ in table.judges]
    for item, judge, label in zip(table.item(), table.judge, table.label, strict=True):
        said[judge][int(item)] = int(label)
    pairs = {}
    for one, other in combinations(range(len(said)), 2):
        both = sorted(said[one].keys() & said[other].keys())
        if both:
            pairs[one, other] = ([said[one][i] for i in both], [said[other][i] for i in both])
    return pairs


@pytest.mark.parametrize("seed", range(3))
def test_kappas_equal_those_of_scikit_learn(seed: int) -> None:
    """Of every pair, on random crowds, and so does their weighted mean."""
    table = crowd(40, 7, 3, seed)
    found = kappas(votes(table), 7, 3, RNG(0))
    known = shared_labels(table)
    assert list(zip(*(side.tolist() for side in found.judges), strict=True)) == list(known)
    expected = [cohen_kappa_score(*labels) for labels in known.values()]
    assert found.kappa == pytest.approx(expected)
    assert found.shared.tolist() == [len(one) for one, _ in known.values()]
    assert found.agreement == pytest.approx([np.mean(np.equal(*labels)) for labels in known.values()])
    assert found.mean == pytest.approx(np.average(expected, weights=found.shared))
    assert found.seen == votes(table).voters.size


def test_a_pair_with_one_label_has_no_kappa() -> None:
    """Judges who both say only 'no' cannot but agree; the mean is of the others, or there is none."""
    rows = [("a", "x", "no"), ("a", "y", "no"), ("b", "x", "no"), ("b", "y", "no")]
    frame = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    found = kappas(votes(read(frame, labels=["no", "yes"])), 2, 2, RNG(0))
    assert (found.mean, found.undefined, found.agreement.tolist()) == (None, 1, [1])
    assert found.influence.tolist() == [0, 0]
    more = pl.DataFrame([("b", "z", "yes"), ("a", "z", "no")], schema=frame.schema, orient="row")
    found = kappas(votes(read(pl.concat([frame, more]))), 3, 2, RNG(0))
    assert (found.mean, found.undefined) == (0, 1)


def test_an_item_moves_the_mean_by_its_influence() -> None:
    """The derivative by an item's weight is what a little more of the item does, and all together do nothing."""
    table = crowd(30, 5, 3, 1)
    given = votes(table)
    found = kappas(given, 5, 3, RNG(0))
    assert found.mean is not None
    assert found.influence.sum() == pytest.approx(0, abs=1e-12)
    tiny = 1e-5
    for i in (0, 7, 20):
        more = given._replace(share=np.where(given.item == i, np.sqrt(1 + tiny), 1.0))  # a meeting weighs the product
        moved = kappas(more, 5, 3, RNG(0)).mean
        assert moved is not None
        assert (moved - found.mean) / tiny == pytest.approx(found.influence[i], rel=1e-3, abs=1e-6)


def test_influence_tells_the_spread_of_the_mean() -> None:
    """Its standard error is near that of means of items really drawn again."""
    table = crowd(200, 5, 3, 2, seen=0.8)
    given = votes(table)
    error = float(np.sqrt((kappas(given, 5, 3, RNG(0)).influence ** 2).sum()))
    rng, known, means = RNG(4), shared_labels(table), []
    number = {name: i for i, name in enumerate(np.unique(table.item()))}
    assert len(number) == given.voters.size  # with so many judges nobody is alone
    for _ in range(300):
        times = np.bincount(rng.integers(given.voters.size, size=given.voters.size), minlength=given.voters.size)
        drawn = kappas(given._replace(share=np.sqrt(times[given.item])), 5, 3, RNG(0))
        means.append(drawn.mean)
    assert known
    assert np.std(np.array(means, float)) == pytest.approx(error, rel=0.15)


def test_split_votes_meet_in_parts() -> None:
    """Half a 'no' and half a 'yes' against a 'no' is half an agreement, and an item is shared once."""
    rows = [("a", "x", "no"), ("a", "x", "yes"), ("a", "y", "no"), ("b", "x", "yes"), ("b", "y", "yes")]
    found = kappas(votes(read(pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row"))), 2, 2, RNG(0))
    assert (found.shared.tolist(), found.agreement.tolist()) == ([2], [0.75])
    chance = (0.25 * 0.5) + (0.75 * 0.5)  # x: a quarter 'no'; y: half
    assert found.kappa[0] == pytest.approx((0.75 - chance) / (1 - chance))


def test_of_too_many_pairs_items_are_drawn() -> None:
    """The seed decides which; an item with too many pairs of its own is never one."""
    given = votes(crowd(100, 6, 2, 3, seen=1))  # 15 pairs an item
    met = meetings(given, 6, RNG(0), most=300)
    assert (met.seen, met.weight.size, np.unique(met.item).size) == (20, 300, 20)
    assert (met.item == meetings(given, 6, RNG(0), most=300).item).all()
    assert (met.item != meetings(given, 6, RNG(1), most=300).item).any()
    nobody = kappas(given, 6, 2, RNG(0), most=14)
    assert (nobody.seen, nobody.mean, nobody.kappa.size) == (0, None, 0)


def test_later_rows_of_an_item() -> None:
    """Three rows of the first item make three pairs, one of the second none, two of the third one."""
    one, other = later(np.array([3, 1, 2]))
    assert list(zip(one.tolist(), other.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2), (4, 5)]


@pytest.mark.parametrize("most", [10, 1_000_000])
def test_numbers_are_counted_anew(most: int) -> None:
    """By sorting or by a list of all, the result is the same."""
    name, place = renumbered(np.array([7, 2, 7, 9]), most)
    assert (name.tolist(), place.tolist()) == ([2, 7, 9], [1, 0, 1, 2])
