"""The numbers behind the pictures of the desk: how certain labels became, and how often pairs of judges agree.

``refresh_consensus`` computes them in its own process, and writes them to the file charts.json beside the consensus.
``over_time`` and ``answer_seconds`` are queries of the record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, func, select

from adjudge.arrays import Codes, Floats
from adjudge.studio.consensus import FOLDER, AcceptedJudgments, Consensus, consensus
from adjudge.studio.record.schema import answers, assignments, finishes, judgments, sets, stands

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CHARTS = "charts.json"
HISTORY = 200  # points of the history that are kept
PAST = 4  # points that are computed for judgments made before there was a history
PAST_MOST = 5_000  # judgments for which that is done
MATRIX = 14  # judges up to whom all pairs are kept
STRONGEST = 15  # pairs that are kept otherwise
LEAST_SHARED = 5  # items that a pair must share
BARS = 48  # of the picture of judgments over time, at most
WIDTHS = (60, 300, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400, 604_800, 2_592_000)  # of a bar, in seconds
ALMOST_HALF = 0.4999999  # subtracted before rounding: SQLite and PostgreSQL round down then
EDGES = (0, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256)  # of the bars of seconds; the last is open


class Moment(NamedTuple):
    """How certain the labels were after some judgments."""

    at: float  # time of the last judgment
    judgments: int
    certain: float  # share of judged items without gold whose label has at least the target probability


class Pair(NamedTuple):
    """How often two judges gave the same label to the items that both judged."""

    first: int  # person
    second: int
    shared: int
    agreed: int
    expected: float  # if they judge independently of each other, as accurately as the consensus estimates
    z: float  # standard errors above that


class Charts(NamedTuple):
    """What charts.json holds."""

    history: tuple[Moment, ...] = ()
    pairs: tuple[Pair, ...] = ()  # all pairs of few judges, or those who agree most beyond what is expected
    judges: int = 0


def read_charts(folder: Path) -> Charts:
    """Return the numbers of the pictures; nothing if there are none yet."""
    try:
        content = json.loads((folder / FOLDER / CHARTS).read_text("utf-8"))
        history = tuple(Moment(*row) for row in content["history"])
        return Charts(history, tuple(Pair(*row) for row in content["pairs"]), content["judges"])
    except (OSError, ValueError, KeyError, TypeError):
        return Charts()


def chart_values(result: Consensus, rows: AcceptedJudgments, target: float, before: Charts) -> dict[str, Any]:
    """Return the content of charts.json after a consensus.

    Parameters
    ----------
    result, rows
        The consensus and its judgments.
    target
        The probability from which a label is certain.
    before
        The content so far, whose history is continued.
    """
    history = list(before.history) or past_moments(rows, result.summary["asked"], target)
    if rows.item.size:
        now = moment(result.belief, rows, target)
        history = [point for point in history if point.at < now.at] + [now]
    pairs = pair_agreements(rows, result.belief, result.person, result.confusion)
    return {"history": thinned(history), "pairs": pairs, "judges": int(result.person.size)}


def moment(belief: Floats, rows: AcceptedJudgments, target: float) -> Moment:
    """Return how certain labels are by a consensus of these judgments."""
    judged = np.setdiff1d(rows.item, np.array(list(rows.gold), np.int64))
    chance = np.maximum(belief[judged], 1 - belief[judged])
    certain = float((chance >= target).mean()) if judged.size else 0.0
    return Moment(float(rows.at.max()), int(rows.item.size), round(certain, 4))


def past_moments(rows: AcceptedJudgments, model: str, target: float) -> list[Moment]:
    """Return how certain labels were at some times in the past, for a campaign that has no history yet."""
    if not 2 * PAST <= rows.item.size <= PAST_MOST:
        return []
    order = np.argsort(rows.at, kind="stable")
    result = []
    for size in np.linspace(0, rows.item.size, PAST + 1).astype(int)[1:-1]:
        first = order[:size]
        columns = ("item", "person", "relevance", "at", "rank", "assignment")
        part = rows._replace(**{name: _part(getattr(rows, name), first) for name in columns})
        result.append(moment(consensus(part, model).belief, part, target))
    return result


def _part(column: Any, index: Codes) -> Any:
    """Return some rows of a column, which may be empty."""
    return column[index] if column.size else column


def thinned(history: Sequence[Moment], most: int = HISTORY) -> list[Moment]:
    """Return at most so many moments: if there are more, every second of the older half is dropped."""
    points = list(history)
    while len(points) > most:
        half = len(points) // 2
        points = points[:half:2] + points[half:]
    return points


def pair_agreements(rows: AcceptedJudgments, belief: Floats, person: Codes, confusion: Floats) -> list[Pair]:
    """Return all pairs of few judges, or the pairs of many judges who agree most beyond what is expected.

    Parameters
    ----------
    rows
        The judgments that count.
    belief
        P(relevant) of items, by their ids.
    person, confusion
        The judges (J), and their confusion matrices (J, 2, 2).
    """
    from scipy.sparse import csr_array, triu

    J = person.size
    if J < 2:
        return []
    judge, shape = np.searchsorted(person, rows.person), (J, rows.items + 1)

    def table(chosen: Any, value: Any) -> csr_array:
        return csr_array((value[chosen].astype(float), (judge[chosen], rows.item[chosen])), shape=shape)

    ones, relevant = np.ones(rows.item.size), rows.relevance == 1
    everything = slice(None)
    judged, yes, no = table(everything, ones), table(relevant, ones), table(~relevant, ones)
    shared = triu(judged @ judged.T, k=1).tocoo()
    a, b = shared.coords
    weighted = table(everything, belief[rows.item])
    agreed = np.asarray((yes @ yes.T + no @ no.T).tocsr()[a, b]).ravel()
    truth = np.asarray((judged @ weighted.T).tocsr()[a, b]).ravel()  # expected relevant items among those shared
    by_truth = [_both(confusion[a, k], confusion[b, k]) for k in range(2)]
    expected = (shared.data - truth) * by_truth[0] + truth * by_truth[1]
    mean = (expected / shared.data).clip(0.01, 0.99)
    z = (agreed - expected) / np.sqrt(shared.data * mean * (1 - mean))
    order = np.lexsort((-shared.data, -z))
    enough = order[shared.data[order] >= (1 if J <= MATRIX else LEAST_SHARED)]
    chosen = enough if J <= MATRIX else enough[z[enough] > 0][:STRONGEST]
    people = zip(person[a].tolist(), person[b].tolist(), strict=True)
    numbers = np.stack([shared.data, agreed, expected.round(3), z.round(3)], axis=1).tolist()
    pairs = [Pair(*who, int(n), round(same), *more) for who, (n, same, *more) in zip(people, numbers, strict=True)]
    return [pairs[i] for i in chosen]


def _both(first: Floats, second: Floats) -> Floats:
    """Return how often two judges give the same label to a truth, from their rows of confusions (N, 2)."""
    return np.asarray((first * second).sum(axis=1))


class OverTime(NamedTuple):
    """How many judgments were accepted in each span of time."""

    first: float  # when the first span begins
    width: int  # seconds of a span
    judgments: tuple[int, ...]


def over_time(connection: Connection, most: int = BARS) -> OverTime | None:
    """Return how many judgments were accepted over time, those of excluded judges left out; None without any."""
    first, last = connection.execute(select(func.min(judgments.c.at), func.max(judgments.c.at)).where(stands())).one()
    if first is None:
        return None
    width = next((size for size in WIDTHS if (last - first) / size < most - 1), int((last - first) / (most - 1)) + 1)
    first -= first % width
    span = func.round((judgments.c.at - first) / width - ALMOST_HALF)
    counted = connection.execute(select(span, func.count()).where(stands()).group_by(span))
    totals = np.zeros(int((last - first) // width) + 1, np.int64)
    for index, n in counted:
        totals[min(max(int(index), 0), totals.size - 1)] += n
    return OverTime(first, width, tuple(totals.tolist()))


def answer_seconds(connection: Connection) -> dict[int, int]:
    """Return how often a document of a finished set took so many seconds, rounded, whether or not it was accepted."""
    last = select(func.max(answers.c.id)).group_by(answers.c.set, answers.c.slot)
    rounded = func.round(answers.c.seconds)
    query = (
        select(rounded, func.count())
        .select_from(
            answers.join(finishes, finishes.c.set == answers.c.set)
            .join(sets, sets.c.id == answers.c.set)
            .join(assignments, assignments.c.id == sets.c.assignment)
        )
        .where(answers.c.id.in_(last), answers.c.told == 1, assignments.c.kind == "work")
        .group_by(rounded)
    )
    return {int(seconds): n for seconds, n in connection.execute(query)}


def second_bars(seconds: Mapping[int, int]) -> list[int]:
    """Return how many documents took the seconds of each bar: from one of ``EDGES`` to the next.

    Examples
    --------
    >>> second_bars({0: 2, 5: 1, 900: 3})
    [2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]
    """
    bars = [0] * len(EDGES)
    for value, n in seconds.items():
        bars[int(np.searchsorted(EDGES, value, side="right")) - 1] += n
    return bars
