"""The list of all items: filtered, searched and sorted in arrays, one page at a time, or as a CSV file.

``item_table`` computes the columns that take long (queries of all judgments and contests); the desk keeps them until
the record changes. ``choose_items`` applies a filter from the address of the page, so that a list can be shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, case, func, select

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import quote
from adjudge.studio.desk.exports import csv_chunks
from adjudge.studio.record.items import settled_items
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.schema import contests, items, judgments, rulings, stands
from adjudge.studio.records import Refused
from adjudge.studio.work.assignment import item_beliefs

STATES = {"new": "not judged yet", "begun": "needs more judgments", "finished": "finished"}
LABELS = ("irrelevant", "relevant")
ANSWERS = ("yes", "no")  # to "is it gold?" and the like
CONTESTED = {"open": "waits for a decision", "any": "contested at any time"}
SORTS = ("topic", "document", "state", "judgments", "relevance", "certainty", "split")
HEADER = (
    *("topic", "document", "state", "label", "probability_relevant", "judgments", "relevant", "irrelevant"),
    *("cannot_tell", "assigned_now", "gold_grade", "contested"),
)


_LABELS = (judgments.c.relevance == 1, judgments.c.relevance == 0, judgments.c.relevance.is_(None))


class ItemTable(NamedTuple):
    """Columns of all items (I), by their ids; ids begin at 1."""

    topics: tuple[str, ...]
    topic: Codes  # index in topics
    order: Codes  # position by topic and document
    document: Codes  # position by document
    relevant: Codes  # judgments by judges who are not excluded
    irrelevant: Codes
    unsure: Codes  # cannot tell
    gold: Codes  # grade, or -1
    contested: Codes  # contests
    waiting: Codes  # contests without a ruling
    relevance: Floats  # probability; NaN without a judgment and without gold
    state: Codes  # index in STATES; -1 for items that are gold or qualify judges, and need no judgments
    leased: Codes  # judges who have it now

    @property
    def judged(self) -> Codes:
        """Return the number of judgments of each item."""
        return self.relevant + self.irrelevant + self.unsure

    @property
    def certainty(self) -> Floats:
        """Return the probability of the label."""
        return np.maximum(self.relevance, 1 - self.relevance)

    @property
    def split(self) -> Codes:
        """Return how many judgments differ from the majority."""
        return np.minimum(self.relevant, self.irrelevant)


def item_table(connection: Connection, ledger: Ledger) -> ItemTable:
    """Return the columns of all items."""
    pool, campaign = ledger.items, ledger.campaign
    size = len(pool.pooled)  # items that were added later have no state yet
    pairs = pool.pairs[:size]
    names = sorted({topic for topic, _ in pairs})
    position = {name: index for index, name in enumerate(names)}
    topic = np.array([position[name] for name, _ in pairs], np.int64)
    document = _positions([name for _, name in pairs])
    counted: list[Codes] = [np.zeros(size, np.int64) for _ in range(3)]
    label_counts = [func.count(case((condition, 1))) for condition in _LABELS]
    query = select(judgments.c.item, *label_counts).where(stands()).group_by(judgments.c.item)
    _fill(counted, connection.execute(query))
    contested: list[Codes] = [np.zeros(size, np.int64) for _ in range(2)]
    joined = contests.outerjoin(rulings, rulings.c.contest == contests.c.id)
    totals = select(contests.c.item, func.count(), func.count() - func.count(rulings.c.id))
    _fill(contested, connection.execute(totals.select_from(joined).group_by(contests.c.item)))
    gold = np.full(size, -1, np.int64)
    for pair, entry in campaign.gold.items():
        if pool.ids.get(pair, size) < size:
            gold[pool.ids[pair]] = entry.grade
    belief = item_beliefs(pool, ledger.belief)[:size]
    judged, leased = pool.judged[:size].astype(np.int64), pool.leased[:size].astype(np.int64)
    settled = settled_items(belief, judged, campaign.settings.redundancy)
    state = np.where(pool.pooled, np.where(settled, 2, np.minimum(judged, 1)), -1)
    has_belief = (counted[0] + counted[1] > 0) & (ledger.belief is not None)
    relevance = np.where(gold >= 0, (gold > 0).astype(float), np.where(has_belief, belief, np.nan))
    order = np.empty(size, np.int64)
    order[np.lexsort((document, topic))] = np.arange(size)
    relevant, irrelevant, unsure = counted
    named = {"relevant": relevant, "irrelevant": irrelevant, "unsure": unsure}
    named |= {"contested": contested[0], "waiting": contested[1], "gold": gold, "state": state, "leased": leased}
    return ItemTable(tuple(names), topic, order, document, relevance=relevance, **named)


def _positions(names: list[str]) -> Codes:
    """Return the position of each name among all of them in order."""
    result = np.empty(len(names), np.int64)
    result[np.argsort(np.array(names), kind="stable")] = np.arange(len(names))
    return result


def _fill(columns: list[Codes], rows: Any) -> None:
    """Fill columns with rows of an item's id and its values; items that were added later are left out."""
    for id_, *values in rows:
        if id_ < columns[0].size:
            for column, value in zip(columns, values, strict=True):
                column[id_] = value


@dataclass(frozen=True)
class ItemFilter:
    """What the list of items shows: the fields of its address. An empty field leaves nothing out."""

    find: str = ""  # words in the names of documents, or in topics
    topic: str = ""
    state: str = ""
    label: str = ""
    low: str = ""  # probability of relevance in percent, at least
    high: str = ""
    least: str = ""  # judgments
    most: str = ""
    sure: str = ""  # whether the label has the target probability
    split: str = ""  # whether judges disagree
    gold: str = ""
    contested: str = ""
    assigned: str = ""  # whether a judge has it now

    @property
    def query(self) -> dict[str, str]:
        """Return the fields that are not empty, for an address."""
        return {name: value for name, value in vars(self).items() if value}


def read_filter(fields: Mapping[str, str]) -> ItemFilter:
    """Return the filter in the fields of an address, or refuse it with a sentence; unknown fields are ignored."""
    values = {name: fields.get(name, "").strip()[:200] for name in ItemFilter.__dataclass_fields__}
    choices = {"state": STATES, "label": LABELS, "contested": CONTESTED}
    choices |= dict.fromkeys(("sure", "split", "gold", "assigned"), ANSWERS)
    for name, allowed in choices.items():
        if values[name] and values[name] not in allowed:
            _refuse(name, values[name], f"one of {', '.join(allowed)}")
    for name, largest in (("low", 100), ("high", 100), ("least", 1e6), ("most", 1e6)):
        try:
            valid = not values[name] or 0 <= float(values[name]) <= largest
        except ValueError:
            valid = False
        if not valid:
            _refuse(name, values[name], f"a number from 0 to {largest:,.0f}")
    return ItemFilter(**values)


def _refuse(name: str, value: str, expected: str) -> None:
    """Refuse a field of a filter."""
    raise Refused(422, name, f"{name} is {quote(value)}, expected {expected}.")


def choose_items(connection: Connection, table: ItemTable, item_filter: ItemFilter, ledger: Ledger, sort: str) -> Codes:
    """Return the ids of the items of a filter, sorted by a column of ``SORTS`` (with a minus: the largest first)."""
    chosen = np.ones(table.topic.size, bool)
    chosen[0] = False
    for condition in _conditions(table, item_filter, ledger.campaign.settings.redundancy.target):
        chosen &= condition
    if item_filter.find:
        chosen &= _matches(connection, table, item_filter.find, ledger)
    ids = np.flatnonzero(chosen)
    return ids[np.lexsort((table.order[ids], *_sort_key(table, sort, ids)))]


def _conditions(table: ItemTable, item_filter: ItemFilter, target: float) -> Iterator[Flags]:
    """Yield which items each field of a filter leaves."""
    judged = table.judged
    flags = {
        "sure": (table.certainty >= target) & (judged > 0) & (table.state >= 0),
        "split": table.split > 0,
        "gold": table.gold >= 0,
        "assigned": table.leased > 0,
    }
    for name, flag in flags.items():
        if answer := getattr(item_filter, name):
            yield flag == (answer == "yes")
    if item_filter.topic:
        yield table.topic == (table.topics.index(item_filter.topic) if item_filter.topic in table.topics else -1)
    if item_filter.state:
        yield table.state == list(STATES).index(item_filter.state)
    if item_filter.label:
        yield (table.relevance >= 0.5) == (item_filter.label == "relevant")
        yield ~np.isnan(table.relevance)
    if item_filter.contested:
        yield (table.waiting if item_filter.contested == "open" else table.contested) > 0
    if item_filter.low:
        yield 100 * table.relevance >= float(item_filter.low)
    if item_filter.high:
        yield 100 * table.relevance <= float(item_filter.high)
    if item_filter.least:
        yield judged >= float(item_filter.least)
    if item_filter.most:
        yield judged <= float(item_filter.most)


def _matches(connection: Connection, table: ItemTable, find: str, ledger: Ledger) -> Flags:
    """Return the items whose document's name contains a text, or whose topic does in its name or query."""
    text = find.lower()
    matches = np.zeros(table.topic.size, bool)
    query = select(items.c.id).where(func.lower(items.c.document).contains(text, autoescape=True))
    ids = np.fromiter(connection.scalars(query), np.int64)
    matches[ids[ids < matches.size]] = True
    topics = ledger.campaign.topics
    queries = (topics[name].query if name in topics else "" for name in table.topics)
    matching = [text in f"{name}\n{query}".lower() for name, query in zip(table.topics, queries, strict=True)]
    return np.asarray(matches | np.array(matching, bool)[table.topic])


def _sort_key(table: ItemTable, sort: str, ids: Codes) -> tuple[Any, ...]:
    """Return the keys of a sort for ``lexsort``, the first one last; items without a value come last."""
    columns: dict[str, Any] = {
        "topic": table.topic,
        "document": table.document,
        "state": table.state,
        "judgments": table.judged,
    }
    columns |= {"relevance": table.relevance, "certainty": table.certainty, "split": table.split}
    column = columns.get(sort.removeprefix("-"))
    if column is None:
        return ()
    values = column[ids].astype(float)
    missing = np.isnan(values)
    return (np.where(missing, 0.0, -values if sort.startswith("-") else values), missing)


class ItemRow(NamedTuple):
    """A row of the list."""

    item: int
    topic: str
    document: str
    state: str
    label: str
    relevance: float | None
    judgments: int
    relevant: int
    irrelevant: int
    unsure: int
    leased: int
    gold: int | None
    contested: str


def item_rows(table: ItemTable, ids: Codes, ledger: Ledger) -> Iterator[ItemRow]:
    """Yield the rows of items."""
    states = (*STATES, "")  # -1 is the last
    for i in ids.tolist():
        relevance = float(table.relevance[i])
        has_relevance = relevance == relevance
        waiting, contested = int(table.waiting[i]), int(table.contested[i])
        topic, document = ledger.items.pairs[i]
        yield ItemRow(
            i,
            topic,
            document,
            states[table.state[i]],
            LABELS[relevance >= 0.5] if has_relevance else "",
            relevance if has_relevance else None,
            int(table.judged[i]),
            int(table.relevant[i]),
            int(table.irrelevant[i]),
            int(table.unsure[i]),
            int(table.leased[i]),
            int(table.gold[i]) if table.gold[i] >= 0 else None,
            "open" if waiting else "decided" if contested else "",
        )


def items_csv(table: ItemTable, ids: Codes, ledger: Ledger) -> Iterator[bytes]:
    """Yield the list as a CSV file, in chunks; cells that a spreadsheet could read as a formula are protected."""
    rows = ((row.topic, row.document, row.state, row.label, *_numbers(row)) for row in item_rows(table, ids, ledger))
    return csv_chunks(HEADER, rows)


def _numbers(row: ItemRow) -> tuple[object, ...]:
    """Return the other cells of a row."""
    probability = None if row.relevance is None else f"{row.relevance:.4f}"
    counts = (row.judgments, row.relevant, row.irrelevant, row.unsure, row.leased)
    return (probability, *counts, row.gold, row.contested)
