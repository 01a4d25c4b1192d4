"""How files and database have come apart."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import create_engine

from adjudge.errors import InputError, UsageError
from adjudge.studio.consensus.consensus import mark
from adjudge.studio.desk.transfer import changed, fresh_belief, program_prompts, read_file, take_in_alone
from adjudge.studio.identity.access import Signer
from adjudge.studio.record import schema
from adjudge.studio.studio import Studio


def test_what_is_as_it_was_needs_no_word(reading, desk):
    """Nor does a campaign that nobody has worked on."""
    assert changed(reading, desk.campaign) == []
    engine = create_engine("sqlite://")
    schema.METADATA.create_all(engine)
    with engine.connect() as connection:
        assert changed(connection, desk.campaign) == []


def test_what_is_gone_and_what_is_new_is_said(reading, desk):
    """Only what was judged is missed, and named; new pairs are counted."""
    judged = {desk.store.ledger.items.pairs[item] for one in desk.first.sets for item in one.items}
    gone = next(pair for pair in desk.campaign.pool if pair in judged)
    left = [pair for pair in desk.campaign.pool if pair != gone]
    edited = replace(desk.campaign, pool=(*left, *(("oak", f"fresh-{n}") for n in range(5))))
    assert changed(reading, edited) == [
        f"1 pair is judged and in the files no more; the judgments are kept: '{' '.join(gone)}'",
        "5 pairs are new since work began: 'oak fresh-0', 'oak fresh-1', 'oak fresh-2' and 2 more",
    ]


def test_it_is_fitted_where_there_is_none_or_an_old_one(desk):
    """What was left is taken only if nothing came since."""
    left = desk.folder / "consensus"
    with desk.store.reading() as connection:
        fitted = fresh_belief(connection, desk.campaign)
        assert fitted is not None
        left.mkdir()
        np.save(left / "belief.npy", np.full(fitted.shape, 0.25))
        model = desk.campaign.settings.consensus.model
        (left / "summary.json").write_text(json.dumps({"mark": f"{model} old"}))
        assert np.array_equal(fresh_belief(connection, desk.campaign), fitted)
        now = f"{model} {mark(connection, desk.campaign.gold)}"
        (left / "summary.json").write_text(json.dumps({"mark": now}))
        assert (fresh_belief(connection, desk.campaign) == 0.25).all()


def test_without_judgments_there_is_none(desk):
    """Not even one that is believed beforehand."""
    engine = create_engine("sqlite://")
    schema.METADATA.create_all(engine)
    with engine.connect() as connection:
        assert fresh_belief(connection, desk.campaign) is None


SIGNER = Signer(b"k" * 32)


def asked(desk, judge, limit=None, share=0.2):
    """Return the prompts a judge is given."""
    with desk.store.reading() as connection:
        return [json.loads(line) for line in program_prompts(connection, desk.campaign, SIGNER, judge, limit, share)]


def is_gold(desk, row):
    """Return whether a prompt is about gold, which only the key's owner can tell."""
    return "gold" in desk.store.ledger.items.pairs[SIGNER.read_prompt_id(row["id"])][1]


def test_a_program_goes_the_whole_way(desk):
    """Prompts out, answers in: it is a judge then, its gold is counted, and it is not asked the same again."""
    prompts = asked(desk, "my-model", share=0.25)
    gold = [row for row in prompts if is_gold(desk, row)]
    assert (len(prompts), len(gold)) == (16, 4)
    lines = [json.dumps({"id": row["id"], "answer": "relevant"}) for row in prompts[1:]]
    content = "\n".join([json.dumps({"id": prompts[0]["id"], "answer": "?"}), *lines]).encode()
    studio = Studio(desk.campaign, desk.store, SIGNER)
    told = take_in_alone(studio, content, "answers.jsonl", "my-model")
    assert (told["taken"], told["judges"], len(told["unread"])) == (15, ["my-model"], 1)
    assert told["hidden_gold"]["of"] == sum(is_gold(desk, row) for row in prompts[1:])
    again = take_in_alone(studio, content, "answers.jsonl", "my-model")
    assert (again["taken"], again["skipped"]) == (0, 15)
    left = asked(desk, "MY-MODEL", share=0)
    assert {row["id"] for row in left} <= {prompts[0]["id"]}


def test_a_limit_is_kept(desk):
    """No more prompts than asked for, gold included."""
    assert len(asked(desk, "my-model", limit=5)) == 5


def test_answers_need_a_judge_and_judgments_no_problems(desk):
    """Otherwise nothing is read."""
    ledger = desk.store.ledger
    with pytest.raises(UsageError, match="need the name of the judge"):
        read_file(ledger, SIGNER, b'{"id": "x", "answer": 1}', "a", "")
    read, program = read_file(ledger, SIGNER, b"topic,document,judge,label\noak,oak-1,ann,perhaps\n", "a", "")
    assert not program
    with pytest.raises(InputError, match="1 problem, nothing was taken"):
        read.checked()


def test_all_that_is_wrong_with_a_file_is_said_at_once(desk):
    """Labels that cannot be read and documents that are not there, by line; nothing is taken then."""
    content = b"topic,document,judge,label\noak,x,zoe,1\noak,oak-1,zoe,perhaps\noak,oak-2,zoe,1\noak,y,zoe,1\n"
    told = take_in_alone(Studio(desk.campaign, desk.store, SIGNER), content, "a.csv", "")
    assert [one.split(":")[0] for one in told["problems"]] == ["line 2", "line 3", "line 5"]
    assert (told["taken"], told["unread"]) == (0, [])
    assert "zoe" not in desk.store.ledger.named
