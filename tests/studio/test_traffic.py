"""What a browser receives before the end tells nobody which set is gold, not even one who sees every byte."""

import asyncio
import json
import random
import re
from base64 import urlsafe_b64encode
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from adjudge.studio import studio as studios
from adjudge.studio.access import Signer
from adjudge.studio.record import ledger
from adjudge.studio.studio import Studio
from adjudge.studio.web.app import create_app
from adjudge.studio.web.security import COOKIE
from adjudge.studio.work import commands
from adjudge.studio.work.grading import gold_grades

SETTINGS = "[qualification]\nrequired = false\n[gate]\nseconds = 0\n[redundancy]\njudgments = 9\n"
JUDGES = 70


async def watched(studio, client):
    """Work through an assignment, and yield what was received for each set with whether it was gold."""
    calls = []
    answer = await client.post("/api/assignment", json={})
    while "review" not in answer.json():
        result = answer.json()["set"]
        first = studio.ledger.set_of[result["token"]]
        received = [json.dumps(result), str(sorted(answer.headers.items()))]
        for document in result["documents"]:
            page = await client.get(document["url"])
            received += [page.text, str(sorted(page.headers.items()))]
        reference = gold_grades(studio.ledger, first)
        order = sorted(range(5), key=lambda slot: -(reference[slot] or 0))
        answers = [
            {"key": f"{first.id} {slot}", "slot": slot, "relevance": int((reference[slot] or 0) > 0), "told": True}
            | {"rank": order.index(slot) + 1, "seconds": 9.0, "comment": ""}
            for slot in range(5)
        ]
        for each in answers:
            saved = await client.post("/api/answers", json={"set": result["token"], "answers": [each]})
            received += [saved.text, str(sorted(saved.headers.items()))]
        answer = await client.post("/api/finish", json={"set": result["token"], "answers": []})
        calls.append((result, received, first.use == "gold"))
    queries = [result["topic"]["query"] for result, _, _ in calls]
    for result, received, is_gold in calls:  # how a set stands among the others of its assignment tells something too
        among = f"topic {queries.count(result['topic']['query'])} times, {len(result['documents'])} documents"
        yield "\n".join([among, *received]), is_gold


def traffic(made):
    """Return all that browsers received, set by set, and which sets were gold."""
    studio = Studio(made.campaign, made.store, Signer(b"k" * 32))
    app, people = create_app(studio), [made.person(f"judge {n}") for n in range(JUDGES)]
    calls = []

    async def way():
        made.store.start()
        for person in people:
            session = studio.signer.session(person, 0, 12, studio.now())
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://studio") as client:
                client.cookies.set(COOKIE, session)
                client.headers["x-csrf"] = studio.signer.csrf(session)
                calls.extend([part async for part in watched(studio, client)])

    asyncio.run(way())
    return [text for text, _ in calls], np.array([gold for _, gold in calls])


def distinguished(texts, gold):
    """Return the larger AUC of two classifiers: one on every word, one on shapes and lengths.

    They are tried on topics they have not seen: who has seen a document as gold knows it again, which is why nobody
    is given gold twice.
    """
    topics = [re.search(r"query (\d+)", text)[1] for text in texts]
    shapes = np.array(
        [[len(text), *(len(part) for part in text.split("\n")[:12]), *map(text.count, '{}[]":,')] for text in texts]
    )
    words = make_pipeline(
        CountVectorizer(binary=True, token_pattern=r"\w+|\W"), SelectKBest(chi2, k=100), LogisticRegression(C=100.0)
    )
    guesses = [
        cross_val_predict(model, observed, gold, groups=topics, cv=StratifiedGroupKFold(4), method="predict_proba")[
            :, 1
        ]
        for model, observed in ((words, texts), (RandomForestClassifier(100, random_state=0), shapes))
    ]
    return max(roc_auc_score(gold, guess) for guess in guesses)


@pytest.fixture
def _same_chance(monkeypatch):
    """Have the same happen by chance each time: numbers of items, tokens, and who is given what."""
    marks = random.Random(1)
    monkeypatch.setattr(ledger, "secrets", SimpleNamespace(SystemRandom=lambda: random.Random(2)))
    monkeypatch.setattr(studios, "secrets", SimpleNamespace(randbits=lambda bits: 3))
    monkeypatch.setattr(commands, "new_token", lambda: urlsafe_b64encode(marks.randbytes(16)).rstrip(b"=").decode())


@pytest.mark.usefixtures("_same_chance")
def test_gold_looks_like_any_other_set(file_crowd):
    """Two classifiers cannot tell gold from ordinary sets; told by one word more or one byte more, they can.

    With 70 gold sets among 420 the AUC of a guess has a standard error of .038: .62 is three of them.
    """
    texts, gold = traffic(file_crowd(SETTINGS, topics=12, pool=20, gold=9, monitoring=0, jobs=0))
    assert (len(gold), gold.sum()) == (6 * JUDGES, JUDGES)
    assert distinguished(texts, gold) < 0.62
    word = [f"{text}\n{'gold' if is_gold else 'work'}" for text, is_gold in zip(texts, gold, strict=True)]
    length = [text.replace("{", "{" + " " * 40 * int(is_gold), 1) for text, is_gold in zip(texts, gold, strict=True)]
    assert distinguished(word, gold) > 0.9
    assert distinguished(length, gold) > 0.9
