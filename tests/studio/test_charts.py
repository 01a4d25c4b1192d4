"""The numbers behind the pictures of the desk."""

import numpy as np
import pytest

from adjudge.studio.charts import (
    EDGES,
    PAST,
    Charts,
    Moment,
    answer_seconds,
    chart_values,
    moment,
    over_time,
    pair_agreements,
    past_moments,
    read_charts,
    second_bars,
    thinned,
)
from adjudge.studio.consensus import FOLDER, AcceptedJudgments, consensus, json_bytes
from adjudge.studio.desk import decisions as lead

CONFUSION = np.array([[0.8, 0.2], [0.1, 0.9]])


def judgments_of(labels, gold=()):
    """Return judgments from a table of labels (judges by items), -1 where there is none; one a second."""
    judge, item = np.nonzero(np.array(labels) >= 0)
    relevance = np.array(labels)[judge, item]
    items = np.array(labels).shape[1]
    pairs = {n + 1: ("t", f"d{n}") for n in range(items)}
    names = {n + 1: f"judge {n}" for n in range(len(labels))}
    at = np.arange(item.size, dtype=float)
    return AcceptedJudgments(item + 1, judge + 1, relevance, at, items, names, dict(gold), pairs)


def crowd(judges, items, seed=0):
    """Return judgments of a crowd that is right in 85 % of cases."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, items)
    return judgments_of(np.where(rng.random((judges, items)) < 0.85, truth, 1 - truth))


def test_pairs_agree_as_counted_by_hand():
    """Two share three items and agree on two; what is expected follows from their confusions and the truths."""
    rows = judgments_of([[1, 0, 1, -1], [1, 0, 0, 1]])
    belief = np.array([0.5, 1.0, 0.0, 1.0, 1.0])
    (pair,) = pair_agreements(rows, belief, np.array([1, 2]), np.stack([CONFUSION, CONFUSION]))
    expected = 2 * (0.9**2 + 0.1**2) + (0.8**2 + 0.2**2)
    assert pair[:4] == (1, 2, 3, 2)
    assert pair.expected == pytest.approx(expected, abs=1e-3)
    mean = expected / 3
    assert pair.z == pytest.approx((2 - expected) / np.sqrt(3 * mean * (1 - mean)), abs=1e-3)


def test_a_pair_that_copies_comes_first_among_many():
    """Of many judges only those who agree beyond what is expected are kept."""
    rows = crowd(20, 40)
    labels = np.full((21, 40), -1)
    labels[rows.person - 1, rows.item - 1] = rows.relevance
    labels[20] = labels[3]
    rows = judgments_of(labels)
    result = consensus(rows, "dawid-skene")
    pairs = pair_agreements(rows, result.belief, result.person, result.confusion)
    assert (pairs[0].first, pairs[0].second, pairs[0].agreed) == (4, 21, 40)
    assert len(pairs) <= 15
    assert all(pair.z > 0 for pair in pairs)


def test_one_judge_has_no_pairs():
    """Nor has nobody."""
    rows = judgments_of([[1, 0]])
    assert pair_agreements(rows, np.full(3, 0.5), np.array([1]), CONFUSION[None]) == []


def test_certainty_counts_judged_items_without_gold():
    """Of two, one has a probability of at least the target."""
    rows = judgments_of([[1, 0, 1]], gold={3: 1})
    assert moment(np.array([0.5, 0.96, 0.4, 1.0]), rows, 0.95) == Moment(2.0, 3, 0.5)


def test_the_past_is_computed_once(tmp_path):
    """A campaign without a history gets some points; later ones are added to what is in the file."""
    rows = crowd(4, 30)
    result = consensus(rows, "dawid-skene")
    values = chart_values(result, rows, 0.95, Charts())
    times = [point[0] for point in values["history"]]
    assert len(times) == PAST
    assert times == sorted(times)
    assert times[-1] == rows.at.max()
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "charts.json").write_bytes(json_bytes(values))
    charts = read_charts(tmp_path)
    assert charts.judges == 4
    assert chart_values(result, rows, 0.95, charts)["history"] == list(charts.history)


def test_small_and_large_campaigns_have_no_past():
    """Few judgments say nothing, and many take too long."""
    assert past_moments(judgments_of([[1, 0]]), "dawid-skene", 0.95) == []


def test_nothing_is_read_from_a_damaged_file(tmp_path):
    """Nor without one."""
    assert read_charts(tmp_path) == Charts()
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "charts.json").write_text('{"history": [[1]]}')
    assert read_charts(tmp_path) == Charts()


def test_history_is_thinned_where_it_is_old():
    """The newest points stay."""
    points = [Moment(float(n), n, 0.5) for n in range(30)]
    kept = thinned(points, 20)
    assert len(kept) <= 20
    assert kept[-10:] == points[-10:]
    assert kept[0] == points[0]


def test_judgments_are_counted_over_time(desk):
    """All of them are in some span; those of excluded judges in none."""
    with desk.store.reading() as connection:
        data = over_time(connection)
    assert sum(data.judgments) == 12
    assert data.first % data.width == 0
    desk.do(lead.change_standing, desk.lead, desk.ann, "excluded", "copies")
    with desk.store.reading() as connection:
        assert over_time(connection) is None


@pytest.mark.usefixtures("database")
def test_spans_are_the_same_on_both_databases(desk):
    """Rounding down is rounding down; and seconds of returned work are counted, too."""
    with desk.store.reading() as connection:
        data = over_time(connection)
        seconds = answer_seconds(connection)
    assert [n for n in data.judgments if n] == [6, 6]
    assert seconds == {10: 12, 3: 6}


def test_seconds_are_counted_by_bar():
    """From one edge to the next; the last bar is open."""
    bars = second_bars({5: 2, 6: 1, 1000: 4})
    assert (bars[EDGES.index(4)], bars[EDGES.index(6)], bars[-1], sum(bars)) == (2, 1, 4, 7)
