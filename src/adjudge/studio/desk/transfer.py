"""How a campaign's files and its database have come apart since work began, as `campaign check` says it."""

from __future__ import annotations

import asyncio
import random
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import func, select

from adjudge.errors import AdjudgeWarning, UsageError, quoted
from adjudge.studio.consensus.consensus import accepted_judgments, mark
from adjudge.studio.desk.commands import import_judgments, unfit_rows
from adjudge.studio.desk.consensus_view import belief_found, summary_found
from adjudge.studio.desk.exports import in_pieces
from adjudge.studio.desk.imports import Read, in_order, known_labels, read_judgments, tidy
from adjudge.studio.desk.prompts import are_answers, hidden_accuracy, mixed, pending, prompt_lines, read_answers
from adjudge.studio.record.schema import items, judgments, people

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from adjudge.studio.campaign.campaign import Campaign
    from adjudge.studio.identity.access import Signer
    from adjudge.studio.record.ledger import Ledger
    from adjudge.studio.studio import Studio


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


# A consensus that knows every judgment, for exports from the command line: no studio need have run meanwhile.
#
# What the studio left is taken if nothing came since; otherwise the model is fitted here and now, in memory, so that
# the folder may be one that cannot be written to, and a studio that is running is not disturbed.


def fresh_belief(connection: Connection, campaign: Campaign) -> NDArray[np.float64] | None:
    """Return the probability that each item is relevant, (I,) by its number; None where nobody has judged."""
    if not connection.scalar(select(func.count()).select_from(judgments)):
        return None
    model = campaign.settings.consensus.model
    left = summary_found(campaign.folder) or {}
    belief = belief_found(campaign.folder)
    if belief is not None and left.get("mark") == f"{model} {mark(connection, campaign.gold)}":
        return belief
    from adjudge.studio.consensus.consensus import consensus

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        return np.asarray(consensus(accepted_judgments(connection, campaign.gold), model).belief, np.float64)


# Judgments and prompts between a campaign and the rest of the world, as the desk and the command line do it.

BATCH = 2_000  # rows that one command takes


def read_file(ledger: Ledger, signer: Signer, content: bytes, name: str, judge: str) -> tuple[Read, bool]:
    """Return what a file holds, and whether it is a program's answers to prompts.

    Judgments are taken only if all of them can be. Of answers those that can be read are taken: a program that answers
    a few questions badly has still answered the others.
    """
    judge = tidy(judge)
    if not are_answers(content):
        return read_judgments(content, name, judge or None), False
    if not judge:
        raise UsageError("answers to prompts need the name of the judge who gave them")
    return read_answers(content, name, judge, signer, ledger.items.pairs), True


async def take_in(studio: Studio, by: int | str | None, content: bytes, name: str, judge: str) -> dict[str, Any]:
    """Take a file of judgments or answers into a campaign that is being served, and say what became of it.

    It is read beside the pages, checked whole, and taken a batch at a time, so that judges need not wait for it. The
    same file again takes what is missing, should somebody have contradicted it in between.
    """
    read, program = await asyncio.to_thread(read_file, studio.ledger, studio.signer, content, name, judge)
    known = await studio.read(known_labels, {one.judge for one in read.given})
    told, seen = Told(problems=[] if program else list(read.problems)), dict(known)
    for batch in in_pieces(read.given, BATCH):
        told.problems += await studio.look(unfit_rows, batch, seen)
    for batch in in_pieces([] if told.problems else read.given, BATCH):
        told.add(await studio.do(import_judgments, by, batch, known, name, program), known)
    return await studio.read(reported, studio.campaign, studio.ledger, read, told, judge if program else "")


def take_in_alone(studio: Studio, content: bytes, name: str, judge: str) -> dict[str, Any]:
    """Take a file into a campaign that is not being served."""
    read, program = read_file(studio.ledger, studio.signer, content, name, judge)
    with studio.store.reading() as connection:
        known = known_labels(connection, {one.judge for one in read.given})
    told = Told(problems=[] if program else list(read.problems))
    told.problems += unfit_rows(studio.ledger, studio.now(), read.given, dict(known))
    if not told.problems:
        rows = read.given
        told.add(
            studio.store.do(lambda ledger, now: import_judgments(ledger, now, None, rows, known, name, program)), known
        )
    with studio.store.reading() as connection:
        return reported(connection, studio.campaign, studio.ledger, read, told, judge if program else "")


@dataclass
class Told:
    """What became of an import, batch after batch."""

    taken: int = 0
    skipped: int = 0
    judges: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    def add(self, answer: Mapping[str, Any], known: dict[tuple[str, int], int | None]) -> None:
        """Count one batch in; what it took is known to the next."""
        self.taken, self.skipped = self.taken + answer["taken"], self.skipped + answer["skipped"]
        self.judges.update(answer["judges"])
        self.problems += answer["problems"]
        known.update(answer["labels"])


def reported(
    connection: Connection, campaign: Campaign, ledger: Ledger, read: Read, told: Told, program: str
) -> dict[str, Any]:
    """Return what became of an import, with how a program does on hidden gold."""
    person = ledger.named.get(tidy(program).casefold()) if program else None
    accuracy = None if person is None else hidden_accuracy(connection, campaign, person)
    right = None if accuracy is None else {"right": accuracy.right, "of": accuracy.of}
    return {
        **asdict(told),
        "problems": in_order(told.problems),
        "judges": sorted(told.judges),
        "name": read.name,
        "unread": read.problems if program else [],
        "hidden_gold": right,
    }


def program_prompts(
    connection: Connection, campaign: Campaign, signer: Signer, judge: str, limit: int | None, share: float
) -> Iterator[str]:
    """Return prompts for what a judge may judge next, gold among them; documents are read as they are asked for."""
    names = connection.execute(select(people.c.name, people.c.id))
    person = {name.casefold(): number for name, number in names}.get(judge.casefold())
    rng = random.SystemRandom()  # marks in the prompts would give away the state, and so the order, of a generator
    rows = connection.execute(select(items.c.topic, items.c.document, items.c.id))
    item_of = {(topic, document): number for topic, document, number in rows}
    gold = [pair for pair in pending(connection, campaign, person, gold=True) if pair in item_of]
    chosen = mixed(pending(connection, campaign, person), gold, share, limit, rng)
    return prompt_lines(campaign, chosen, item_of, signer, rng)
