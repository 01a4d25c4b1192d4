"""How a campaign's files and its database have come apart since work began, as `campaign check` says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from adjudge.collect.record.schema import items, judgments
from adjudge.errors import quoted

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from adjudge.collect.files.campaign import Campaign

SHOWN = 3  # documents that are named


def changed(connection: Connection, campaign: Campaign) -> list[str]:
    """Return what was judged and is gone from the files, and what is new in them, a sentence each."""
    rows = connection.execute(select(items.c.id, items.c.topic, items.c.document))
    known = {(topic, document): number for number, topic, document in rows}
    if not known:
        return []
    met = set(connection.execute(select(judgments.c.item).distinct()).scalars())
    fixed = {(one.topic, document) for one in campaign.sets for document in one.documents}
    held = {*campaign.pool, *campaign.gold, *fixed}
    gone = [pair for pair, number in known.items() if number in met and pair not in held]
    new = [pair for pair in campaign.pool if pair not in known]
    told = ((gone, "judged and in the files no more; the judgments are kept"), (new, "new since work began"))
    return [_sentence(pairs, what) for pairs, what in told if pairs]


def _sentence(pairs: list[tuple[str, str]], what: str) -> str:
    """Return how many pairs something is true of, with the first of them."""
    named = quoted((f"{topic} {document}" for topic, document in pairs), SHOWN)
    return f"{len(pairs):,} {'pair is' if len(pairs) == 1 else 'pairs are'} {what}: {named}"
