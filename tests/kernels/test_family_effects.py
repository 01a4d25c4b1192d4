"""Effects of families of judges on items: groups of judgments, a sweep over them, and posteriors."""

from itertools import product

import numpy as np
import pytest

import adjudge
from adjudge.kernels import difficulty, family_effects
from adjudge.kernels.block import add, split
from adjudge.kernels.difficulty import GRID, SHARES
from adjudge.kernels.replicate import replicate_with_truth
from adjudge.kernels.sweep import new_key, random_bits
from adjudge.kernels.truth import truth_posterior

SPREAD, SHARED = 1.3, 0.6


def block_of(labels=2, families=(0, 0, 1, 1, 2), seed=0, **sizes):
    """Return the block of a simulated crowd with families, its prevalence and its matrices."""
    judges = len(families)
    options = {"items": 6, "judges": judges, "per_item": judges, **sizes}
    crowd = adjudge.simulate("dawid-skene", seed, labels=labels, **options)
    block = crowd.judgments.block()._replace(family=np.array(families, np.int32))
    return block, crowd.prevalence, np.ascontiguousarray(crowd.confusion)


def enumerated(block, prevalence, confusion):
    """Return p(truth, labels) (I, K), summed over all effects of items and families one by one."""
    rows = difficulty.state_rows(confusion, SPREAD).reshape(block.judges, block.labels, GRID, block.labels)
    joint = np.zeros((block.topic.size, block.labels))
    for i in range(block.topic.size):
        judgments = range(block.start[i], block.start[i + 1])
        judge = [block.cell[n] // block.labels for n in judgments]
        names = sorted({int(block.family[j]) for j in judge})
        for k in range(block.labels):
            if block.gold[i] not in (-1, k):
                continue
            for u, *effects in product(range(GRID), repeat=1 + len(names)):
                chance = prevalence[0, k] * SHARES[u]
                for e in effects:
                    chance *= SHARED * (e == u) + (1 - SHARED) * SHARES[e]
                of_family = dict(zip(names, effects, strict=True))
                for j, n in zip(judge, judgments, strict=True):
                    weight = block.weight[n] if block.weight.size else 1.0
                    chance *= rows[j, k, of_family[int(block.family[j])], block.label[n]] ** weight
                joint[i, k] += chance
    return joint


def sweep(block, prevalence, confusion, spread=SPREAD, shared=SHARED, seed=0, drawn=None):
    """Return the counts of a sweep, and p(truth | rest)."""
    families, items = family_effects.by_family(block), block.topic.size
    chance = random_bits(new_key(np.random.default_rng(seed)), 0, items + block.cell.size)
    probability = np.zeros((items, block.labels))
    drawn = np.empty(items, np.int32) if drawn is None else drawn
    arguments = (families, prevalence, confusion, spread, shared, chance, probability, drawn)
    return family_effects.sweep_families(*arguments), probability


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [2, 3])
def test_a_sweep_has_the_posterior_by_enumeration(labels, weighted):
    """p(truth | rest) and the evidence are the sums over all effects of the item and of its three families."""
    block, prevalence, confusion = block_of(labels, items=4)
    block = block._replace(gold=np.array([1, -1, -1, -1], np.int32))
    if weighted:
        block = block._replace(weight=np.tile([1.0, 2.0, 0.5], block.cell.size)[: block.cell.size])
    joint = enumerated(block, prevalence, confusion)
    counts, probability = sweep(block, prevalence, confusion)
    np.testing.assert_allclose(probability, joint / joint.sum(axis=1, keepdims=True), atol=1e-12)
    assert counts.evidence == pytest.approx(np.log(joint.sum(axis=1)).sum())
    items = family_effects.family_posterior(family_effects.by_family(block), prevalence, confusion, SPREAD, SHARED)[1]
    np.testing.assert_allclose(items[:, 1], np.log(joint.sum(axis=1)))


def test_judgments_are_grouped_by_item_and_family():
    """Every group holds the judgments of one family on one item; an item without judgments has no group."""
    block, _, _ = block_of(families=(1, 0, 1, 0, 2, 2), items=5, per_item=3)
    start = np.r_[block.start, block.start[-1]]
    block = block._replace(start=start, topic=np.zeros(6, np.int32), gold=np.full(6, -1, np.int32))
    families = family_effects.by_family(block)
    family = families.block.family[families.block.cell // 2]
    for i in range(6):
        groups = range(families.group[i], families.group[i + 1])
        names = [set(family[families.start[f] : families.start[f + 1]].tolist()) for f in groups]
        assert all(len(name) == 1 for name in names)
        assert len(names) == len({min(name) for name in names})
        if groups:
            assert (families.start[groups[0]], families.start[groups[-1] + 1]) == (start[i], start[i + 1])
    assert families.group[5] == families.group[6] == families.start.size - 1
    assert sorted(families.block.cell) == sorted(block.cell)


def test_families_that_share_every_effect_are_items_of_differing_difficulty():
    """With a share of 1, posterior and evidence are those of states; the counts add up to the labels."""
    block, prevalence, confusion = block_of(3, families=(0, 0, 0, 1, 1, 2, 3, 3), items=60, per_item=5)
    counts, probability = sweep(block, prevalence, confusion, shared=1.0)
    rows, side = difficulty.state_rows(confusion, SPREAD), difficulty.state_labels(3)
    posterior, evidence = truth_posterior(block, difficulty.state_prior(prevalence), rows, side)
    np.testing.assert_allclose(probability, posterior.reshape(-1, 3, GRID).sum(axis=2), atol=1e-12)
    assert counts.evidence == pytest.approx(evidence)
    given = np.bincount(block.cell, minlength=24).reshape(8, 3)
    np.testing.assert_allclose(counts.label.sum(axis=(2, 3)), given)


def test_effects_are_drawn_from_their_posterior():
    """Over many keys, the mean count of each effect of a family is its probability by enumeration."""
    block, prevalence, confusion = block_of(items=1, families=(0, 0, 1))
    total = np.mean([sweep(block, prevalence, confusion, seed=seed)[0].label for seed in range(4_000)], axis=0)
    rows = difficulty.state_rows(confusion, SPREAD).reshape(3, 2, GRID, 2)
    label = {int(block.cell[n] // 2): int(block.label[n]) for n in range(3)}
    joint = np.zeros((2, GRID, GRID))  # truth, effect of the first family, effect of the second
    for k, u, e, f in product(range(2), range(GRID), range(GRID), range(GRID)):
        chance = prevalence[0, k] * SHARES[u]
        chance *= (SHARED * (e == u) + (1 - SHARED) * SHARES[e]) * (SHARED * (f == u) + (1 - SHARED) * SHARES[f])
        joint[k, e, f] += chance * rows[0, k, e, label[0]] * rows[1, k, e, label[1]] * rows[2, k, f, label[2]]
    joint /= joint.sum()
    error = 4.5 * np.sqrt(0.25 / 4_000)
    np.testing.assert_allclose(total[0].sum(axis=0), joint.sum(axis=2), atol=error)
    np.testing.assert_allclose(total[2].sum(axis=0), joint.sum(axis=1), atol=error)


def test_many_judgments_of_an_item_do_not_underflow():
    """An item with 3,000 judgments has a posterior; its evidence is that of smaller steps in logarithms."""
    block, prevalence, confusion = block_of(families=np.arange(3_000) // 100, items=3)
    counts, probability = sweep(block, prevalence, confusion)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    logs = np.log(difficulty.state_rows(confusion, SPREAD)).reshape(30, 100, 2, GRID, 2)
    evidence = 0.0
    for i in range(3):
        label = np.empty(3_000, int)
        label[block.cell[block.start[i] : block.start[i + 1]] // 2] = block.label[block.start[i] : block.start[i + 1]]
        each = np.take_along_axis(logs, label.reshape(30, 100, 1, 1, 1), axis=4)[..., 0].sum(axis=1)  # (30, K, G)
        own = np.logaddexp.reduce(each + np.log(SHARES), axis=2)[..., None] + np.log(1 - SHARED)
        state = np.logaddexp(own, each + np.log(SHARED)).sum(axis=0) + np.log(SHARES)
        evidence += np.logaddexp.reduce((state + np.log(prevalence[0])[:, None]).ravel())
    assert counts.evidence == pytest.approx(evidence)


@pytest.mark.parametrize("families", [(), (0, 0, 1, 1, 2)], ids=["items", "families"])
def test_parts_of_a_block_have_its_draws(families):
    """Two sweeps over parts of the items draw what one over all of them draws, and their counts add up."""
    block, prevalence, confusion = block_of(3, (0, 0, 1, 1, 2), items=41, per_item=3)
    block, key = block._replace(family=np.array(families, np.int32)), new_key(np.random.default_rng(1))
    spread, room, drawn = np.array([SPREAD, SHARED][: 2 if families else 1]), np.zeros((41, 3)), np.empty(41, np.int32)
    whole = family_effects.StateSweep(block)(prevalence, confusion, spread, key, room, drawn)
    parts, truths, first, judgment = [], [], 0, 0
    for part in split(block, 2):
        rows, truth = np.zeros((part.topic.size, 3)), np.empty(part.topic.size, np.int32)
        sweep = family_effects.StateSweep(part, first, judgment, 41)
        parts.append(sweep(prevalence, confusion, spread, key, rows, truth))
        truths.append(truth)
        first, judgment = first + part.topic.size, judgment + part.cell.size
    total = add(parts)
    np.testing.assert_array_equal(np.concatenate(truths), drawn)
    np.testing.assert_array_equal(total.label, whole.label)
    np.testing.assert_array_equal(total.truth, whole.truth)
    assert total.evidence == pytest.approx(whole.evidence)


@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
def test_replicated_judges_agree_most_within_their_family(shared):
    """Errors of judges correlate within a family as much as with one effect, and between families by the share."""
    block, prevalence, confusion = block_of(families=(0, 0, 1, 1), items=20_000)
    confusion = np.tile([[0.7, 0.3], [0.3, 0.7]], (4, 1, 1))
    drawn = replicate_with_truth(block, prevalence, confusion, np.random.default_rng(1), 2.0, shared)
    judge = drawn.block.cell // 2
    right = (drawn.block.label == np.repeat(drawn.truth, 4)).astype(float)
    table = np.stack([right[judge == j] for j in range(4)])
    correlation = np.corrcoef(table)
    within, between = correlation[0, 1], correlation[0, 2]
    assert within == pytest.approx(correlation[2, 3], abs=0.03)
    assert between == pytest.approx(shared**2 * within, abs=0.03)
    np.testing.assert_allclose(table.mean(axis=1), 0.7, atol=0.02)
