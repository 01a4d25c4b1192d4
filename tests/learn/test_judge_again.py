"""Which documents, judged again, would change the ranking most: compared with training again."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import UsageError
from adjudge.learn.judge_again import Again, expected_move, judge_again, turns
from adjudge.learn.pairs import make_pairs
from adjudge.learn.ranksvm import solve


def case(rng, topics=12, documents=8, features=4):
    """Return features, probabilities and topics."""
    X = rng.normal(size=(topics * documents, features))
    p = 1 / (1 + np.exp(-(X[:, 0] + rng.normal(size=X.shape[0]))))
    return X, p, np.repeat(np.arange(topics), documents)


@pytest.mark.parametrize("tied", [0, 3])
def test_turns_are_those_of_learning_anew(tied):
    """A small change of one probability turns the scores of a ranker that learns again by as much as foretold.

    Up or down, which differ where documents tie, as all do of topics that nobody judged.
    """
    X, p, topics = case(np.random.default_rng(0))
    p[topics < tied] = 0.4
    plain = (X - X.mean(axis=0)) / X.std(axis=0)
    foretold = turns(X, p, topics)

    def learned(p):
        result = make_pairs(p, topics, soft=True)
        w = solve(plain[result.order], result.rows, 1.0, tolerance=1e-13).w
        score = plain @ w
        return score - np.array([score[topics == t].mean() for t in topics])

    before, calls = learned(p), []
    for i in range(p.size):
        turned = []
        for step in (1e-6, -1e-6):
            moved = p.copy()
            moved[i] += step
            change = (learned(moved) - before) / step
            across = change - before * (change @ before) / (before @ before)
            turned.append(np.linalg.norm(across) / np.linalg.norm(before))
        calls.append(np.mean(turned))
    assert foretold == pytest.approx(calls, rel=2e-2, abs=1e-5)


def test_a_judgment_moves_the_sure_least():
    """By Bayes' rule: averaged over what a judge may say."""
    matrix = np.array([[0.8, 0.2], [0.3, 0.7]])
    p = np.array([0.0, 0.5, 0.9, 1.0])
    by_hand = []
    for entry in p:
        result = (1 - entry) * matrix[0] + entry * matrix[1]
        after = entry * matrix[1] / result
        by_hand.append(float(result @ np.abs(after - entry)))
    assert expected_move(p, matrix) == pytest.approx(by_hand)
    assert expected_move(p, np.full((2, 2), 0.5)) == pytest.approx(np.zeros(4))


@pytest.fixture
def crowd():
    """Return a crowd on documents of topics, its fit, and features of these documents and one more."""
    simulation = adjudge.simulate("rerank", seed=3, topics=15, items=150, judges=12, gold=0)
    fit = adjudge.fit(simulation.judgments, "dawid-skene")
    rng = np.random.default_rng(1)
    topic = simulation.judgments.topics.gather(simulation.judgments.topic).to_list()
    numbers = {"x": simulation.truth + rng.normal(size=150), "y": rng.normal(size=150)}
    table = pl.DataFrame({"topic": topic, "document": simulation.judgments.items, **numbers})
    more = pl.DataFrame({"topic": topic[0], "document": "new", "x": 0.3, "y": 1.0})
    return simulation.judgments, fit, pl.concat([table, more])


def test_documents_are_named_with_what_is_known_of_them(crowd):
    """Those that turn the ranking most first, and a pool that a campaign takes."""
    judgments, fit, table = crowd
    result = judge_again(table, fit, judgments, budget=151)
    turned = result.table["turns"].to_list()
    assert turned == sorted(turned, reverse=True)
    assert result.table.columns == list(Again._fields)
    unseen = next(document for document in result.documents if document.document == "new")
    assert (unseen.judgments, unseen.relevant) == (0, pytest.approx(fit.posterior[:, 1].mean()))
    assert {document.judgments for document in result.documents} == {0, 5}
    lines = judge_again(table, fit, judgments, budget=2).pool().splitlines()
    assert lines[0] == "topic,document"
    assert lines[1] == f"{result.documents[0].topic},{result.documents[0].document}"
    assert len(lines) == 3


def test_a_campaign_takes_the_pool(crowd, tmp_path):
    """As `adjudge campaign new --pool` reads it."""
    from adjudge.errors import Problems
    from adjudge.studio.campaign_files import read_pool

    judgments, fit, table = crowd
    result = judge_again(table, fit, judgments, budget=3)
    (tmp_path / "pool.csv").write_text(result.pool())
    problems = Problems()
    pairs = read_pool(tmp_path / "pool.csv", problems)
    assert list(pairs) == [(document.topic, document.document) for document in result.documents]


def test_what_cannot_be_asked_is_refused(crowd):
    """A budget of none, and more than two labels."""
    judgments, fit, table = crowd
    with pytest.raises(UsageError, match="budget 0 is not a number of at least 1"):
        judge_again(table, fit, judgments, budget=0)
    for c in (0.0, -1.0, np.nan):
        with pytest.raises(UsageError, match="is not a number above 0"):
            judge_again(table, fit, judgments, c=c)
    three = adjudge.simulate("liu-wang", items=30).judgments
    with pytest.raises(UsageError, match="the fit has 3 labels, but judge_again needs two"):
        judge_again(table, adjudge.fit(three), three)


def test_topics_that_nobody_judged_are_named(crowd):
    """With what their documents would turn, and apart, whether or not they are among those named."""
    judgments, fit, table = crowd
    new = table.head(8).with_columns(topic=pl.lit("unseen"), document=pl.Series([f"u{n}" for n in range(8)]))
    lone = table.tail(1).with_columns(topic=pl.lit("lone"))
    result = judge_again(pl.concat([table, new, lone]), fit, judgments, budget=200)
    assert result.unjudged == ("unseen", "lone")
    theirs = [document for document in result.documents if document.topic == "unseen"]
    assert len(theirs) == 8
    assert all(document.judgments == 0 and document.turns > 0 for document in theirs)
    assert not any(document.topic == "lone" for document in result.documents)  # one document has no order
    first = judge_again(pl.concat([table, new]), fit, judgments, budget=20)
    assert any(document.topic == "unseen" for document in first.documents)
    assert judge_again(table, fit, judgments).unjudged == ()


def test_features_that_say_nothing_turn_nothing(crowd):
    """There is no order to be turned."""
    judgments, fit, table = crowd
    assert len(judge_again(table.with_columns(x=pl.lit(1.0), y=pl.lit(0.1)), fit, judgments)) == 0
