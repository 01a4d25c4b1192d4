"""Which documents decide; pairs of runs are held to every assignment of labels in test_evaluate."""

import numpy as np
import pytest

from adjudge.evaluation.deciding import FEW, MOST_KEPT, _moves, above, deciding_documents, kept_draws
from adjudge.evaluation.evaluate import evaluate
from adjudge.evaluation.uncertain_labels import LabelledTopic, draw_codes
from adjudge.metrics.ranking import Pool, parse_measure, values
from tests.evaluation.test_evaluate import enumerated, made

WORTH = np.array([0.0, 1.0, 0.0])


def test_a_label_that_settles_a_coin_moves_it_by_half():
    """The chance is 1 or 0 by the label: knowing it takes the chance from 1/2 to one of them."""
    half, unknown = np.array([[0.5, 0.5]]), np.array([False])
    assert _moves(np.array([[0.0, 1.0]]), np.array(0.5), half, unknown).tolist() == [0.5]
    assert _moves(np.array([[0.5, 0.5]]), np.array(0.5), half, unknown).tolist() == [0.0]
    assert _moves(np.array([[0.5, 0.5 + 1e-13]]), np.array(0.5), half, unknown).tolist() == [0.0]
    assumed = np.array([True])  # the draws have grade 0: only the other label is news
    assert _moves(np.array([[0.0, 1.0]]), np.array(0.0), half, assumed).tolist() == [0.5]


def test_the_chance_of_a_normal_difference():
    """Above 0 by its mean and variance; without variance by its sign, and a half at 0."""
    assert above(np.array([0.0, 1.6448536]), np.array([1.0, 1.0])).tolist() == pytest.approx([0.5, 0.95])
    assert above(np.array([1.0, -1.0, 0.0]), np.array(0.0)).tolist() == [1.0, 0.0, 0.5]


def collection(seed=0, topics=8, documents=10, runs=4):
    """Return topics with draws of labels, and the values of runs by draw."""
    rng = np.random.default_rng(seed)
    listed = []
    for t in range(topics):
        p = rng.random(documents)
        orders = [rng.permutation(documents)[: documents - r] for r in range(runs)]
        pool = Pool(str(t), [f"d{n}" for n in range(documents)], orders, documents)
        chance = np.column_stack([1 - p, p])
        listed.append(LabelledTopic(pool, draw_codes(chance, 4_000, rng), chance))
    return listed


def by_draw(topics, measure):
    """Return the mean of a measure over topics (R, S)."""
    return np.mean([values(each.pool.orders, each.code, WORTH, [measure], 1.0)[:, 0] for each in topics], axis=0)


@pytest.mark.parametrize("name", ["MAP", "nDCG@5", "MRR"])
def test_influences_find_what_draws_find(name):
    """One pair, from all draws and from influences with a normal approximation: the same documents, moved as far."""
    topics, measure = collection(), parse_measure(name)
    drawn = by_draw(topics, measure)
    few = [each._replace(code=each.code[:, :FEW]) for each in topics]
    exact, quick = (
        {(each.topic, each.document): each for each in deciding_documents(*task, "zero", 80)}
        for task in (
            (topics, WORTH, measure, 1.0, [(0, 1)], drawn),
            (few, WORTH, measure, 1.0, [(0, 1)], drawn),
        )
    )
    assert exact.keys() == quick.keys()
    for name, each in exact.items():
        assert quick[name].effect == pytest.approx(each.effect, abs=0.004)
        assert quick[name].moves == pytest.approx(each.moves, abs=0.02)
        assert quick[name][:6] == each[:6]


def test_moves_of_many_pairs_are_added_up():
    """The order of four runs: the moves of the three pairs of neighbours, each on its own, in one sum."""
    topics, measure = collection(), parse_measure("MAP")
    drawn = by_draw(topics, measure)
    few = [each._replace(code=each.code[:, :FEW]) for each in topics]
    pairs = [(0, 1), (1, 2), (2, 3)]
    moves = dict.fromkeys([(str(t), f"d{n}") for t in range(8) for n in range(10)], 0.0)
    for pair in pairs:
        for each in deciding_documents(few, WORTH, measure, 1.0, [pair], drawn, "zero", 80):
            moves[each.topic, each.document] += each.moves
    together = deciding_documents(few, WORTH, measure, 1.0, pairs, drawn, "zero", 5)
    assert [(each.topic, each.document) for each in together] == sorted(moves, key=moves.get, reverse=True)[:5]
    assert [each.moves for each in together] == pytest.approx(sorted(moves.values(), reverse=True)[:5])
    first = together[0]
    orders = topics[int(first.topic)].pool.orders
    ranks = [order.tolist().index(int(first.document[1:])) for order in orders if int(first.document[1:]) in order]
    assert (first.runs, first.best_rank) == (len(ranks), min(ranks) + 1)


def test_a_measure_without_a_closed_form_is_evaluated_in_draws(monkeypatch):
    """A few draws are close to the expectation where there is little else to vary."""
    chance = np.array([[0.5, 0.5], [0.001, 0.999], [0.999, 0.001]])
    pool = Pool("1", ["a", "b", "c"], [np.array([0, 1, 2]), np.array([2, 1, 0])], 3)
    topics = [LabelledTopic(pool, draw_codes(chance, FEW, np.random.default_rng(0)), chance)]
    measure = parse_measure("MAP")
    task = (topics, WORTH, measure, 1.0, [(0, 1), (1, 0)], np.random.default_rng(1).random((2, 50)), "zero", 1)
    closed = deciding_documents(*task)[0]

    def refuse(*_):
        """Say that there is no closed form."""
        from adjudge.errors import UsageError

        raise UsageError("no")

    monkeypatch.setattr("adjudge.evaluation.deciding.expected_runs", refuse)
    drawn = deciding_documents(*task)[0]
    assert drawn.document == closed.document == "a"
    assert drawn.effect == pytest.approx(closed.effect, abs=0.01)


def test_only_as_many_draws_are_kept_as_are_needed():
    """All for one pair, if there is room; else a few."""
    topic = collection(topics=1)[0]
    assert kept_draws(topic, 0, pair=True) is topic
    assert kept_draws(topic, 0, pair=False).code.shape == (10, FEW)
    assert kept_draws(topic, MOST_KEPT, pair=True).code.shape == (10, FEW)


def test_the_order_of_three_runs_is_decided_by_what_differs():
    """A document that all runs rank the same decides nothing; those named move the order by every assignment."""
    chance = {"1": {"a": 0.8, "b": 0.5, "c": 0.3, "d": 1.0}, "2": {"x": 0.5, "y": 1.0}}
    same = {"x": 2, "y": 1}
    runs = {
        "A": {"1": {"a": 4, "b": 3, "c": 2, "d": 1}, "2": same},
        "B": {"1": {"b": 4, "a": 3, "c": 2, "d": 1}, "2": same},
        "C": {"1": {"c": 4, "b": 3, "a": 2, "d": 1}, "2": same},
    }
    result = evaluate(made(chance), runs, "MAP", draws=2_000)
    assert result.decision == ("MAP",)
    assert [(each.topic, each.document) for each in result.deciding][-1] == ("2", "x")
    assert result.deciding[-1].moves == pytest.approx(0, abs=1e-9)
    value, p, _ = enumerated(chance, runs, "MAP")
    means = value.mean(axis=1) @ p
    assert [place.run for place in result.leaderboard] == [list("ABC")[r] for r in np.argsort(-means, kind="stable")]
    assert result.document_table.columns[4:6] == ["runs", "best_rank"]
    based = evaluate(made(chance), runs, "MAP", draws=200, baseline="A")
    assert based.deciding[0].runs == 3
