"""The files of the consensus: when they are written, and what the desk shows of judges and items."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from sqlalchemy import insert, update

import adjudge
from adjudge.diagnostics.judges import cards
from adjudge.errors import InputError
from adjudge.studio import refresh_consensus as module
from adjudge.studio.campaign_files import gold_text
from adjudge.studio.consensus import Beliefs, read_grades
from adjudge.studio.record import schema
from adjudge.studio.record.store import database_url, open_engine
from adjudge.studio.records import Gold
from adjudge.studio.refresh_consensus import MOST, item_rows, judge_rows, main, refresh
from adjudge.studio.settings import Consensus, Settings, settings_text


@pytest.fixture(scope="module")
def fitted():
    """Return judgments of items by their numbers, one judge of whom turns bad, and a fit."""
    rng = np.random.default_rng(0)
    rows = []
    for item in range(1, 201):
        truth = int(rng.random() < 0.5)
        for judge in ("ann", "bob", "cem", "dot"):
            right = rng.random() < (0.95 if judge != "dot" or item < 100 else 0.3)
            rows.append((item, judge, ("no", "yes")[truth if right else 1 - truth], item * 60))
    table = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"))
    return adjudge.fit(table), table


PEOPLE = {"ann": 11, "bob": 12, "cem": 13, "dot": 14}


def test_cards_are_in_plain_numbers(fitted):
    """Those of the cards, with the person's number, and JSON takes them."""
    result = judge_rows(*fitted, PEOPLE)
    assert result["labels"] == ["no", "yes"]
    assert [row["person"] for row in result["judges"]] == [11, 12, 13, 14]
    card, row = cards(*fitted)[0], result["judges"][0]
    assert row["right"] == list(card.right)
    assert row["confusion_high"] == card.confusion_high.tolist()
    assert row["sentence"] == card.sentence
    assert row["shift"] is None
    assert ["judgments", "200 of 200 items"] in row["lines"]
    json.dumps(result, allow_nan=False)


def test_who_changed_is_on_the_card(fitted):
    """With when, and how good before and after."""
    result = judge_rows(*fitted, PEOPLE)
    moved = {row["judge"]: row["drift"] for row in result["judges"]}
    assert [name for name, drift in moved.items() if drift["flagged"]] == ["dot"]
    assert moved["dot"]["before"][0] > 0.9 > 0.5 > moved["dot"]["after"][0]
    assert 80 < moved["dot"]["judgment"] < 120
    assert "'dot'" in result["drift"]


def test_without_times_nothing_is_said_of_drift(fitted):
    """Neither on cards nor above them."""
    table = adjudge.read(pl.DataFrame({"item": [1, 1], "judge": ["ann", "bob"], "label": ["no", "yes"]}))
    result = judge_rows(adjudge.fit(table), table, PEOPLE)
    assert [row["drift"] for row in result["judges"]] == [None, None]
    assert result["drift"] == "There is too little data to see whether judges changed."


def test_items_have_the_names_of_their_pairs(fitted):
    """And their numbers; no list is long."""
    result = item_rows(*fitted, {number: ("t", f"d{number}") for number in range(1, 201)})
    assert list(result) == ["uncertain", "contested", "gold", "helpful"]
    assert 0 < len(result["uncertain"]) <= MOST
    for row in result["uncertain"]:
        assert (row["topic"], row["document"]) == ("t", f"d{row['item']}")
        assert row["reason"]
    json.dumps(result, allow_nan=False)


def where(folder):
    """Return where the database of a folder is."""
    return database_url(folder, "studio.db")


@pytest.fixture
def folder(tmp_path):
    """Return a campaign's folder with a database of a small crowd."""
    rng = np.random.default_rng(0)
    chosen = [(item, int(person)) for item in range(1, 61) for person in rng.choice(6, 3, replace=False) + 1]
    right = rng.random(len(chosen)) < [0.1 if person == 6 and item % 2 else 0.85 for item, person in chosen]
    rows = [(item, person, (item + yes + 1) % 2) for (item, person), yes in zip(chosen, right.tolist(), strict=True)]
    (tmp_path / "campaign.toml").write_text(settings_text(Settings()))
    (tmp_path / "gold.csv").write_text(gold_text({("t1", "d1"): Gold(2, "it says so")}))
    engine = open_engine(where(tmp_path))
    with engine.begin() as connection:
        schema.METADATA.create_all(connection)
        pairs = [{"id": n, "topic": f"t{n % 3}", "document": f"d{n}"} for n in range(1, 61)]
        connection.execute(insert(schema.items), pairs)
        people = [
            {"id": n, "at": 0.0, "name": name, "role": "judge"} for n, name in ((n, f"judge {n}") for n in range(1, 20))
        ]
        connection.execute(insert(schema.people), people)
    add(tmp_path, rows)
    engine.dispose()
    return tmp_path


def add(folder, rows, first=1):
    """Add judgments to the database of a folder."""
    engine = open_engine(where(folder))
    with engine.begin() as connection:
        for number, (item, person, relevance) in enumerate(rows, first):
            row = {"id": number, "at": 1e9 + number, "item": item, "person": person, "relevance": relevance}
            connection.execute(insert(schema.judgments).values(use="work", comment="", **row))
    engine.dispose()


def read(folder, name):
    """Return what a file of the consensus says."""
    return json.loads((folder / "consensus" / name).read_text())


def test_all_files_are_left_in_the_folder(folder):
    """Beliefs, confusions, a summary, a card for each judge, and items to look at, which have their pairs' names."""
    summary = refresh(folder)
    assert summary == read(folder, "summary.json")
    assert (summary["judgments"], summary["upto"], summary["judges"]) == (180, 180, 6)
    result = Beliefs(folder)
    assert result.belief(1) == 1.0
    assert result.confusion(6)[1, 1] < result.confusion(1)[1, 1]
    cards = read(folder, "judges.json")["judges"]
    assert [card["judge"] for card in cards] == [f"judge {n}" for n in range(1, 7)]
    assert cards[0]["person"] == 1
    value, low, high = cards[0]["right"]
    assert low <= value <= high
    assert len(cards[0]["confusion"]) == len(cards[0]["confusion_low"]) == 2
    assert cards[0]["sentence"]
    assert cards[0]["lines"][0][0] == "judgments"
    looks = read(folder, "items.json")
    assert set(looks) == {"uncertain", "contested", "gold", "helpful"}
    first = looks["uncertain"][0]
    assert first["document"] == f"d{first['item']}"


def test_either_database_is_read(database, folder):
    """SQLite in the folder, PostgreSQL by its URL; judgments that are added are seen."""
    assert refresh(folder)["judgments"] == 180
    add(folder, [(1, 7, None), (2, 7, 1)], first=181)
    summary = refresh(folder)
    assert (summary["judgments"], summary["upto"]) == (181, 182)
    assert (folder / "studio.db").exists() == (database == "sqlite")


def test_nothing_new_is_nothing_done(folder, monkeypatch):
    """Not even a fit."""
    before = refresh(folder)
    monkeypatch.setattr(module, "consensus", None)
    assert refresh(folder) == before


def test_cards_wait_while_they_are_slow_and_young_and_little_is_new(folder, monkeypatch):
    """What assignment needs does not; and what waits is not forgotten."""
    monkeypatch.setattr(module, "QUICK", -1.0)
    refresh(folder)
    drawn = []
    monkeypatch.setattr(module, "_write_cards", lambda found, rows, summary, target: drawn.append(1) or summary)
    add(folder, [(1, 7, 1)], first=181)
    assert refresh(folder)["upto"] == 181
    assert drawn == []
    assert refresh(folder)["mark"] == ""  # so the next one looks again
    monkeypatch.setattr(module, "PATIENCE", -1.0)
    refresh(folder)
    assert drawn == [1]


def test_quick_cards_are_drawn_every_time(folder, monkeypatch):
    """Those of a small campaign: a single judgment is on them."""
    monkeypatch.setattr(module, "QUICK", 1e9)
    refresh(folder)
    add(folder, [(1, 7, 1)], first=181)
    assert refresh(folder)["mark"]
    assert "judge 7" in [card["judge"] for card in read(folder, "judges.json")["judges"]]


def test_a_second_run_goes_on_from_the_first(folder):
    """With the fit that was saved, if the model can; one that cannot be read is no trouble."""
    (folder / "campaign.toml").write_text(settings_text(Settings(consensus=Consensus(model="one-coin"))))
    refresh(folder)
    add(folder, [(2, 7, 1), (3, 7, 1)], first=181)
    assert refresh(folder)["warm"]
    (folder / "consensus" / "fit" / "fit.json").write_text("{")
    add(folder, [(4, 7, 1), (5, 7, 1)], first=183)
    assert not refresh(folder)["warm"]


def test_an_empty_database_has_a_summary(folder):
    """And empty lists."""
    (folder / "studio.db").unlink()
    engine = open_engine(database_url(folder, "studio.db"))
    with engine.begin() as connection:
        schema.METADATA.create_all(connection)
    engine.dispose()
    assert refresh(folder)["note"] == "there are no judgments yet"
    assert read(folder, "judges.json")["judges"] == []
    assert Beliefs(folder).array.tolist() == [0.5]


def test_a_campaign_without_database_is_refused(folder):
    """And none is made by looking."""
    (folder / "studio.db").unlink()
    with pytest.raises(InputError, match="there is no database yet: start the campaign with `adjudge serve`"):
        refresh(folder)
    assert not (folder / "studio.db").exists()


def test_the_settings_choose_the_model(folder):
    """Another model is another consensus, though no judgment is new."""
    refresh(folder)
    (folder / "campaign.toml").write_text(settings_text(Settings(consensus=Consensus(model="dawid-skene"))))
    assert refresh(folder)["model"] == "dawid-skene"


def test_it_runs_as_a_process_of_its_own(folder):
    """With an exit code and a line for the server's log."""
    command = [sys.executable, "-m", "adjudge.studio.refresh_consensus"]
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{Settings().consensus.model}: 180 judgments in ")
    assert read(folder, "summary.json")["mark"]


def test_wrong_calls_have_exit_codes(tmp_path, capsys):
    """2 without a folder, 1 for a folder that is no campaign."""
    assert main([]) == 2
    assert "usage: python -m adjudge.studio.refresh_consensus FOLDER" in capsys.readouterr().err


def test_what_is_refused_is_said(tmp_path, capsys, monkeypatch):
    """On the error stream."""
    monkeypatch.setattr("os.nice", lambda by: 0)
    assert main([str(tmp_path)]) == 1
    assert "campaign.toml: there is no such file" in capsys.readouterr().err


def test_grades_are_left_by_model_graded_alone(folder):
    """With a row for each judged item; another model removes them, so that no export takes old ones."""
    engine = open_engine(where(folder))
    with engine.begin() as connection:
        connection.execute(update(schema.judgments).values(rank=schema.judgments.c.id))
    engine.dispose()
    (folder / "campaign.toml").write_text(settings_text(Settings(consensus=Consensus(model="graded"))))
    assert refresh(folder)["model"] == "graded"
    grades = read_grades(folder)
    assert sorted(grades.item.tolist()) == list(range(1, 61))
    assert grades.chance[grades.item == 1].tolist() == [[0, 0, 1]]
    (folder / "campaign.toml").write_text(settings_text(Settings()))
    refresh(folder)
    assert read_grades(folder) is None
