"""Judgments and prompts between a campaign and the rest of the world, as the desk and the command line do it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from adjudge.collect.desk.commands import import_judgments
from adjudge.collect.desk.imports import Read, known_labels, read_judgments
from adjudge.collect.desk.prompts import are_answers, hidden_accuracy, mixed, pending, prompt_lines, read_answers
from adjudge.collect.record.schema import items, people
from adjudge.errors import UsageError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from adjudge.collect.entry.access import Seal
    from adjudge.collect.files.campaign import Campaign
    from adjudge.collect.record.ledger import Ledger
    from adjudge.collect.studio import Studio


def read_file(ledger: Ledger, seal: Seal, content: bytes, name: str, judge: str) -> tuple[Read, bool]:
    """Return what a file holds, and whether it is a program's answers to prompts.

    Judgments are refused with all their problems. Of answers those that can be read are taken: a program that answers
    a few questions badly has still answered the others.
    """
    if not are_answers(content):
        read = read_judgments(content, name, judge or None)
        read.checked()
        return read, False
    if not judge:
        raise UsageError("answers to prompts need the name of the judge who gave them")
    return read_answers(content, name, judge, seal, ledger.items.pairs), True


async def take_in(studio: Studio, by: int | None, content: bytes, name: str, judge: str) -> dict[str, Any]:
    """Take a file of judgments or answers into a campaign that is being served, and say what became of it."""
    read, program = read_file(studio.ledger, studio.seal, content, name, judge)
    known = await studio.read(known_labels, {one.judge for one in read.given})
    told = await studio.do(import_judgments, by, read.given, known, name, program)
    return await studio.read(reported, studio.campaign, studio.ledger, read, told, judge if program else "")


def take_in_alone(studio: Studio, content: bytes, name: str, judge: str) -> dict[str, Any]:
    """Take a file into a campaign that is not being served."""
    read, program = read_file(studio.ledger, studio.seal, content, name, judge)
    with studio.store.reading() as connection:
        known = known_labels(connection, {one.judge for one in read.given})
    told = studio.store.do(lambda ledger, now: import_judgments(ledger, now, None, read.given, known, name, program))
    with studio.store.reading() as connection:
        return reported(connection, studio.campaign, studio.ledger, read, told, judge if program else "")


def reported(
    connection: Connection, campaign: Campaign, ledger: Ledger, read: Read, told: dict[str, Any], program: str
) -> dict[str, Any]:
    """Return what became of an import, with how a program does on hidden gold."""
    person = ledger.named.get(program.casefold()) if program else None
    accuracy = None if person is None else hidden_accuracy(connection, campaign, person)
    right = None if accuracy is None else {"right": accuracy.right, "of": accuracy.of}
    return {**told, "name": read.name, "unread": read.problems, "hidden_gold": right}


def program_prompts(
    connection: Connection, campaign: Campaign, seal: Seal, judge: str, limit: int | None, share: float
) -> Iterator[str]:
    """Return prompts for what a judge may judge next, gold among them; documents are read as they are asked for."""
    names = connection.execute(select(people.c.name, people.c.id))
    person = {name.casefold(): number for name, number in names}.get(judge.casefold())
    rng = random.SystemRandom()  # marks in the prompts would give away the state, and so the order, of a generator
    rows = connection.execute(select(items.c.topic, items.c.document, items.c.id))
    item_of = {(topic, document): number for topic, document, number in rows}
    gold = [pair for pair in pending(connection, campaign, person, gold=True) if pair in item_of]
    chosen = mixed(pending(connection, campaign, person), gold, share, limit, rng)
    return prompt_lines(campaign, chosen, item_of, seal, rng)
