"""The values of the desk's pages, and the lists of judges and items."""

import json

import numpy as np
import pytest

from adjudge.studio.desk import decisions as lead
from adjudge.studio.desk import pages
from adjudge.studio.desk import pages as desk_judges
from adjudge.studio.desk.decisions import read_work
from adjudge.studio.desk.imports import ImportedJudgment, import_judgments
from adjudge.studio.desk.overview import gate_rates, live
from adjudge.studio.desk.pages import list_audit_entries, list_invitations, list_judgments, list_splits, list_tokens
from adjudge.studio.records import Refused
from adjudge.studio.work import commands, people

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def test_invitations_say_what_became_of_them(desk):
    """One used, one over, one open; newest first."""
    numbers = [desk.do(lead.invite, desk.lead, "judge", name, days) for name, days in (("", 9), ("old", 1), ("new", 9))]
    desk.do(people.join, numbers[0], "dora", "hash")
    with desk.store.reading() as connection:
        rows = list_invitations(connection)
    later = desk.time[0] + 2 * 86_400
    assert [(row.name, row.person, row.by, row.state(later)) for row in rows] == [
        ("new", None, "lea", "open"),
        ("old", None, "lea", "over"),
        ("", "dora", "lea", "used"),
    ]


def test_tokens_are_listed_without_their_hashes(desk):
    """With who made them and whether they are still valid."""
    for name in ("nightly", "weekly"):
        desk.do(lead.new_api_token, desk.lead, name, "read")
    desk.do(lead.revoke_token, desk.lead, 1)
    with desk.store.reading() as connection:
        rows = list_tokens(connection)
    assert [(row.name, row.scope, row.by, row.revoked is not None) for row in rows] == [
        ("weekly", "read", "lea", False),
        ("nightly", "read", "lea", True),
    ]
    assert not any("hash" in name for name in rows[0]._fields)


def test_the_audit_log_is_paged_and_searched(desk):
    """Newest first, before an entry, and by words in who, what or detail, whatever the size of their letters."""
    desk.do(lead.change_standing, desk.lead, desk.cid, "paused", "On Leave")
    with desk.store.reading() as connection:
        newest = list_audit_entries(connection)
        assert [row.id for row in newest] == sorted((row.id for row in newest), reverse=True)
        assert [row.id for row in list_audit_entries(connection, before=3)] == [2, 1]
        assert len(list_audit_entries(connection, most=2)) == 2
        (result,) = list_audit_entries(connection, find="on leave")
        assert list_audit_entries(connection, find="lea%") == []
    assert (result.who, result.action, result.detail["judge"]) == ("lea", "judge paused", "cid")


def test_judges_have_their_cards_beside_them(desk, reading):
    """Where the consensus has one."""
    (desk.folder / "consensus").mkdir()
    cards = {"labels": [], "judges": [{"person": desk.ann, "sentence": "Reliable."}], "drift": "Nobody file_changes."}
    cards["reliability"] = "on 3 items whose truth is known, ..."
    (desk.folder / "consensus" / "judges.json").write_text(json.dumps(cards))
    result = pages.judges_page(pages.judge_table(reading, desk.store.ledger), {})
    assert result["cards"][desk.ann]["sentence"] == "Reliable."
    assert result["reliability"].startswith("on 3 items")
    assert pages.judge_page(reading, desk.campaign, desk.ann)["card"]["sentence"] == "Reliable."
    assert pages.judge_page(reading, desk.campaign, desk.bob)["card"] is None
    with pytest.raises(Refused, match="no such judge"):
        pages.judge_page(reading, desk.campaign, 99)


def test_judges_are_found_filtered_and_sorted(desk, reading):
    """By words, standing, open work and cards that call for attention; judges without a value come last."""
    (desk.folder / "consensus").mkdir()
    card = {"informedness": [0.1, -0.2, 0.4], "right": [0.6, 0.4, 0.8], "drift": None}
    cards = {"labels": [], "judges": [{**card, "person": desk.bob}], "drift": ""}
    (desk.folder / "consensus" / "judges.json").write_text(json.dumps(cards))
    table = pages.judge_table(reading, desk.store.ledger)

    def names(**fields):
        return [judge.name for judge in pages.judges_page(table, fields)["judges"].rows]

    assert names() == ["ann", "bob", "cid"]
    assert names(find="AN") == ["ann"]
    assert names(standing="excluded") == []
    assert names(working="1") == ["cid"]
    assert names(attention="1") == ["bob"]
    assert names(sort="-name") == ["cid", "bob", "ann"]
    assert names(sort="right") == ["bob", "ann", "cid"]
    assert names(sort="-earned") == ["ann", "bob", "cid"]


def test_topics_are_found_and_sorted(desk, reading):
    """By words of the name or the query, and by what is left."""
    current = live(reading, desk.store.ledger, desk.time[0])
    result = pages.progress_page(current, desk.campaign, {"find": "EL"})["topics"]
    assert [row.topic for row in result.rows] == ["elm"]
    assert pages.progress_page(current, desk.campaign, {"sort": "-topic"})["topics"].rows[0].topic == "oak"


def test_pictures_wait_for_numbers(desk, reading):
    """Judgments over time and seconds come from the record; judges and pairs wait for the consensus."""
    pictures = pages.charts_page(pages.chart_data(reading, desk.campaign), desk.campaign)
    assert {name: picture is not None for name, picture in pictures.items()} == {
        "time": True,
        "judges": False,
        "seconds": True,
        "pairs": False,
    }


def test_gold_says_what_upholding_would_do(desk):
    """Only of contests that wait, of assignments that were returned."""
    gold = next(entry for entry in desk.returned.sets if entry.use == "gold")
    desk.do(commands.contest, desk.bob, gold.token, 0, "no")
    with desk.store.reading() as connection:
        table = pages.gold_table(connection, desk.store.ledger)
        result = pages.gold_page(connection, desk.store.ledger, table, {})
        name = table.failures[0].document
        rows = pages.gold_page(connection, desk.store.ledger, table, {"find": name.upper()})["failures"].rows
        worst = pages.gold_page(connection, desk.store.ledger, table, {"sort": "-rate"})["failures"].rows
    assert result["passing"] == {1: False}
    assert [entry.id for entry in result["contests"].rows] == [1]
    assert [row.document for row in rows] == [name]
    assert [entry.rate for entry in worst] == sorted((entry.rate for entry in worst), reverse=True)


def test_items_wait_for_a_consensus(desk, reading):
    """The reasons are there either way; an item has a belief once it is judged."""
    result = pages.looks_page(reading, desk.campaign)
    assert not result["consensus"]
    assert [name for name, *_ in result["looks"]] == ["uncertain", "contested", "helpful", "gold"]
    item = desk.first.sets[0].items[0]
    assert pages.item_page(reading, desk.store.ledger, item)["belief"] is None
    (desk.folder / "consensus").mkdir()
    np.save(desk.folder / "consensus" / "belief.npy", np.full(100, 0.75))
    displayed = pages.item_page(reading, desk.store.ledger, item)
    assert (displayed["belief"], [entry.judge for entry in displayed["judgments"]]) == (0.75, ["ann"])


def test_items_have_ranks_once_there_are_grades(desk, reading):
    """The best of each topic first, with the interval of the rank."""
    assert pages.ranks_page(reading, desk.campaign)["ranks"].total == 0
    number = desk.first.sets[0].items[0]
    (desk.folder / "consensus").mkdir()
    np.save(desk.folder / "consensus" / "belief.npy", np.full(100, 0.75))
    grades = {"item": [number], "chance": [[0.2, 0.1, 0.7]], "score": [2.2], "rank": [1], "interval": [[1, 4]]}
    np.savez(desk.folder / "consensus" / "grades.npz", **grades)
    (row,) = pages.ranks_page(reading, desk.campaign)["ranks"].rows
    assert (row.item, row.rank, row.low, row.high, row.grade, row.relevance) == (number, 1, 1, 4, 2, 0.75)


def test_the_overview_is_json_for_programs(desk, reading):
    """Nothing in it but plain values, and no names of judges."""
    message = json.dumps(pages.live_json(live(reading, desk.store.ledger, desk.time[0])))
    assert json.loads(message)["settled"] == 0
    assert "ann" not in message


def test_judges_have_a_row_each(reading, desk):
    """What they judged, how it was graded, what it failed."""
    rows = {row.name: row for row in desk_judges.list_judges(reading)}
    assert list(rows) == ["ann", "bob", "cid"]
    assert (rows["ann"].judgments, rows["ann"].passed, rows["ann"].returned) == (12, 2, 0)
    assert rows["ann"].seconds == pytest.approx(10)
    assert (rows["bob"].judgments, rows["bob"].returned, rows["bob"].failed) == (0, 1, (1, 0, 1))
    assert rows["cid"].pass_rate is None
    assert [row.name for row in desk_judges.list_judges(reading, desk.lead)] == ["lea"]


def test_judges_show_where_they_stand(desk):
    """The last standing and its reason; someone without any is new."""
    desk.do(lead.change_standing, desk.lead, desk.ann, "paused", "on leave")
    with desk.store.reading() as connection:
        rows = {row.name: row for row in desk_judges.list_judges(connection)}
    assert (rows["ann"].standing, rows["ann"].reason) == ("paused", "on leave")
    assert rows["cid"].standing == "new"


def test_judges_are_distinguished_by_approval_and_contests(desk):
    """An approved assignment is no longer a returned one, and an upheld contest is counted."""
    gold = next(entry for entry in desk.returned.sets if entry.use == "gold")
    desk.do(commands.contest, desk.bob, gold.token, 0, "it is right")
    with desk.store.reading() as connection:
        work = read_work(connection, desk.returned.id)
    desk.do(lead.rule, desk.lead, 1, True, "", work)
    with desk.store.reading() as connection:
        work = read_work(connection, desk.returned.id)
    desk.do(lead.approve, desk.lead, "", work)
    with desk.store.reading() as connection:
        (bob,) = desk_judges.list_judges(connection, desk.bob)
        rates = gate_rates(connection, "work", desk.bob)
    assert (bob.passed, bob.returned, bob.contests, bob.upheld) == (1, 0, 1, 1)
    assert bob.pass_rate == rates.pass_rate == 1.0  # the overview counts as the judge's page does


def test_assigned_keeps_the_scores_of_the_grading(desk):
    """A later outcome, such as being submitted, takes nothing away from them."""
    desk.do(commands.submit, desk.ann, desk.second.token)
    with desk.store.reading() as connection:
        newest, oldest = desk_judges.list_assignments(connection, desk.ann)
        (returned,) = desk_judges.list_assignments(connection, desk.bob)
        (out,) = desk_judges.list_assignments(connection, desk.cid)
    assert (newest.id, newest.outcome, newest.binary) == (desk.second.id, "submitted", 1.0)
    assert newest.code != ""
    assert oldest.outcome == "passed"
    assert (returned.failed, returned.fastest) == (("binary", "time"), 3.0)
    assert (out.outcome, out.ended) == ("", None)


def test_splits_are_where_judges_disagree(desk):
    """Ann said relevant; two others say no of one item, one cannot tell, and of another all agree."""
    first = next(entry for entry in desk.first.sets if entry.use == "work")
    topic, document = desk.store.ledger.items.pairs[first.items[0]]
    _, agreed = desk.store.ledger.items.pairs[first.items[1]]
    inputs = [ImportedJudgment(n, topic, document, f"j{n}", result) for n, result in enumerate((0, 0, None))]
    desk.do(import_judgments, None, [*inputs, ImportedJudgment(9, topic, agreed, "j0", 1)], {}, "a.csv")
    with desk.store.reading() as connection:
        (split,) = list_splits(connection)
        result = list_judgments(connection, split.item)
    assert split == (first.items[0], topic, document, 1, 2, 1)
    assert [(entry.judge, entry.relevance, entry.use) for entry in result] == [
        ("ann", 1, "work"),
        ("j0", 0, "imported"),
        ("j1", 0, "imported"),
        ("j2", None, "imported"),
    ]


def test_no_splits_where_all_agree(reading):
    """One judge alone cannot disagree, and an item that nobody judged has nothing said of it."""
    assert list_splits(reading) == []
    assert list_judgments(reading, 999) == []


def test_excluded_judges_split_nothing(desk):
    """What they said is set aside."""
    first = next(entry for entry in desk.first.sets if entry.use == "work")
    topic, document = desk.store.ledger.items.pairs[first.items[0]]
    desk.do(import_judgments, None, [ImportedJudgment(1, topic, document, "zoe", 0)], {}, "a.csv")
    zoe = desk.store.ledger.named["zoe"]
    with desk.store.reading() as connection:
        assert len(list_splits(connection)) == 1
    desk.do(lead.change_standing, desk.lead, zoe, "excluded", "copies")
    with desk.store.reading() as connection:
        assert list_splits(connection) == []
