"""Changes of a running campaign: checked as a whole, all or nothing, and fair to work that is under way."""

import asyncio
import json
import threading

import pytest
from sqlalchemy import select

from adjudge.errors import InputError
from adjudge.studio import staging
from adjudge.studio.access import Signer
from adjudge.studio.campaign import add_documents, add_pairs, load_campaign
from adjudge.studio.campaign_files import gold_text, topics_text
from adjudge.studio.consensus import accepted_judgments
from adjudge.studio.desk import campaign_edits as e
from adjudge.studio.desk import decisions
from adjudge.studio.record import schema
from adjudge.studio.record.audit import find_faults
from adjudge.studio.record.revisions import content_before, list_changes, read_revision
from adjudge.studio.records import Gold, Refused, Topic
from adjudge.studio.studio import Studio, open_studio
from adjudge.studio.work import commands
from adjudge.studio.work.views import rules_view
from tests.studio.conftest import SETTINGS, desk_studio


@pytest.fixture
def studio(desk):
    """Return the small campaign, being served, in which people have worked."""
    desk.store.start()
    served = Studio(desk.campaign, desk.store, Signer(b"k" * 32))
    served.made = desk
    return served


def save(studio, contents, **more):
    """Save changed files as the lead, based on the last revisions."""
    base = {name: studio.ledger.files[name] for name in contents}
    contents = {name: text.encode() if isinstance(text, str) else text for name, text in contents.items()}
    return asyncio.run(e.save_edit(studio, studio.made.lead, e.Edit(contents, base, **more)))


def text_of(studio, name):
    """Return a file of the campaign."""
    return (studio.campaign.folder / name).read_text()


def settings_with(**values):
    """Return campaign.toml with other values."""
    text = SETTINGS
    for key, value in values.items():
        lines = [f"{key} = {value}" if line.startswith(f"{key} =") else line for line in text.split("\n")]
        text = "\n".join(lines)
    return text


def do(studio, command, *args):
    """Carry out a command while the writer works."""
    return asyncio.run(studio.do(command, *args))


def test_the_start_is_the_first_revision(studio):
    """Of every file; documents are known by their hash alone."""
    with studio.store.reading() as connection:
        (change,) = list_changes(connection)
        assert (change.by, change.source, change.note) == ("", "start", "as the studio found it")
        contents = {row.file: read_revision(connection, row.id)[1] for row in change.revisions}
    assert contents.pop("documents.jsonl") is None
    assert contents == {name: text_of(studio, name).encode() for name in contents}
    assert studio.ledger.files.keys() == contents.keys() | {"documents.jsonl"}


def test_a_saved_change_is_in_the_files_the_studio_and_the_history(studio):
    """And in the audit log, in words; nothing is left beside the files."""
    prepared = save(studio, {"campaign.toml": settings_with(binary=0.5)})
    assert prepared.changes == ["gate.binary: 0.85 -> 0.5"]
    assert text_of(studio, "campaign.toml") == settings_with(binary=0.5)
    assert studio.campaign is studio.ledger.campaign
    assert studio.campaign.settings.gate.binary == 0.5
    assert studio.campaign.folder == studio.made.folder
    assert not [path for path in studio.campaign.folder.iterdir() if path.name.startswith(".edit")]
    with studio.store.reading() as connection:
        newest = list_changes(connection)[0]
        assert (newest.by, newest.source, newest.note) == ("lea", "desk", "gate.binary: 0.85 -> 0.5")
        assert content_before(connection, newest.revisions[0]).decode() == SETTINGS
        entry = connection.execute(select(schema.audit).order_by(schema.audit.c.id.desc()).limit(1)).one()
        assert (entry.who, entry.what) == ("lea", "campaign changed")
        assert json.loads(entry.detail)["summary"] == "gate.binary: 0.85 -> 0.5"
        assert find_faults(connection, studio.campaign) == []


def test_a_preview_changes_nothing(studio):
    """It says what would change and what that means."""
    edit = e.Edit({"campaign.toml": settings_with(binary=0.5).encode()})
    prepared = asyncio.run(e.preview_edit(studio, edit))
    assert prepared.changes == ["gate.binary: 0.85 -> 0.5"]
    assert "Open assignments are graded by the gate under which their judge began" in prepared.meanings[0]
    assert text_of(studio, "campaign.toml") == SETTINGS
    assert studio.campaign.settings.gate.binary == 0.85
    assert not (studio.campaign.folder / staging.STAGED).exists()


def test_a_change_that_breaks_the_campaign_is_refused_with_all_problems(studio):
    """Each with its file and line; no file and no row is written."""
    before = len(studio.ledger.rules)
    contents = {"campaign.toml": settings_with(binary=85), "pool.csv": "topic,document\noak,nothing\n"}
    with pytest.raises(e.EditProblems) as caught:
        save(studio, contents)
    assert caught.value.problems == (
        "campaign.toml, line 9: gate.binary is 85, expected a number from 0 to 1 (for 85 %, write 0.85)",
        "pool.csv, line 2: there is no document 'nothing' in documents.jsonl",
    )
    assert text_of(studio, "campaign.toml") == SETTINGS
    assert len(studio.ledger.rules) == before
    assert not (studio.campaign.folder / staging.STAGED).exists()


def test_the_database_stays_while_the_studio_runs(studio):
    """The refusal says why, and what to do."""
    with pytest.raises(e.EditProblems) as caught:
        save(studio, {"campaign.toml": SETTINGS + '[store]\ndatabase = "other.db"\n'})
    assert caught.value.problems == (
        "store.database cannot be changed: the studio has the database open. Stop the studio, and change this in "
        "campaign.toml.",
    )


def test_what_judges_have_met_is_not_removed(studio):
    """A pair that nobody has met is, and so is gold."""
    rows = text_of(studio, "pool.csv").splitlines()
    judged = {studio.ledger.items.pairs[item] for item in studio.ledger.people[studio.made.ann].counted}
    topic, document = next(iter(judged))
    with pytest.raises(e.EditProblems, match="1 pairs that judges have judged or are judging would be removed"):
        save(studio, {"pool.csv": "\n".join(row for row in rows if row != f"{topic},{document}") + "\n"})
    unmet = [number for number in range(1, len(studio.ledger.items.pairs)) if studio.ledger.items.pooled[number]]
    unmet = [number for number in unmet if not e._is_in_use(studio.ledger, number)]
    for number in unmet[:1]:
        topic, document = studio.ledger.items.pairs[number]
        save(studio, {"pool.csv": "\n".join(row for row in rows if row != f"{topic},{document}") + "\n"})
        assert not studio.ledger.items.pooled[number]


def test_a_save_based_on_an_old_revision_is_refused(studio):
    """Also if the other change comes between the check and the command."""
    base = dict(studio.ledger.files)
    save(studio, {"campaign.toml": settings_with(binary=0.5)})
    edit = e.Edit({"campaign.toml": settings_with(binary=0.6).encode()}, {"campaign.toml": base["campaign.toml"]})
    with pytest.raises(Refused) as caught:
        asyncio.run(e.save_edit(studio, studio.made.lead, edit))
    assert caught.value.code == "changed"
    assert str(caught.value) == "campaign.toml was changed while you were editing it. Your change was not saved."
    with pytest.raises(Refused):
        e.revise(studio.ledger, 2e9, studio.made.lead, edit, None)


def test_nothing_changed_is_said(studio):
    """Instead of an empty revision."""
    with pytest.raises(Refused, match="Nothing has changed"):
        save(studio, {"campaign.toml": SETTINGS})


def test_new_pairs_and_documents_are_given_out(studio, tmp_path):
    """Items have ids in the same transaction, and the next judge may get them."""
    documents, pairs = tmp_path / "more.jsonl", tmp_path / "more.csv"
    documents.write_text(json.dumps({"document": "oak-9", "title": "", "kind": "text", "content": "an oak"}) + "\n")
    pairs.write_text("topic,document\noak,oak-9\noak,oak-1\n")
    old = studio.campaign
    contents = {
        "documents.jsonl": lambda path: add_documents(old, documents, path),
        "pool.csv": lambda path: add_pairs(old, pairs, path),
    }
    prepared = save(studio, contents)
    assert prepared.changes == ["document 'oak-9' added", "document 'oak-9' of topic 'oak' is to be judged"]
    number = studio.ledger.items.ids["oak", "oak-9"]
    assert studio.ledger.items.pooled[number]
    assert studio.campaign.documents.document("oak-9").content == "an oak"
    assert studio.campaign.documents.document("oak-1").content == "a tree"
    assert load_campaign(studio.campaign.folder).pool == studio.campaign.pool
    with pytest.raises(e.EditProblems) as caught:
        save(studio, {"documents.jsonl": lambda path: add_documents(studio.campaign, documents, path)})
    assert caught.value.problems == ("more.jsonl, line 1: document 'oak-9' is there twice: rename one",)


def test_documents_are_checked_again_if_they_or_their_limits_change(fresh_desk):
    """Otherwise their index is used again, because reading many documents takes long."""
    old, files = fresh_desk.campaign, fresh_desk.store.ledger.files
    edit = e.Edit({"campaign.toml": settings_with(binary=0.5).encode()})
    assert e.stage_edit(old, edit, files).campaign.documents is old.documents
    limited = e.Edit({"campaign.toml": (SETTINGS + "[documents]\nmost_bytes = 1000\n").encode()})
    assert e.stage_edit(old, limited, files).campaign.documents is not old.documents
    outside = {name: sha256 for name, sha256 in files.items() if name != "documents.jsonl"}
    assert e.stage_edit(old, edit, outside).campaign.documents is not old.documents


def test_work_is_graded_by_the_rules_under_which_it_began(desk):
    """A gate that becomes stricter meanwhile fails only those who began later; the page shows each their own."""
    slow, fast = settings_with(seconds=60), settings_with(seconds=0.5)
    desk.time[0] += 100
    edit_offline(desk, {"campaign.toml": slow})
    began = desk.store.ledger.assignments[desk.store.ledger.people[desk.cid].last].at
    assert rules_view(desk.store.ledger, began)["seconds"] == 6.0
    assert rules_view(desk.store.ledger, desk.time[0])["seconds"] == 60.0
    assert desk.work(desk.cid, seconds=10.0).outcome == "passed"
    desk.time[0] += 100
    assert desk.work(desk.cid, seconds=10.0).failed == ("time",)
    edit_offline(desk, {"campaign.toml": fast})
    reloaded = desk.store._fold(desk.store._writer.connect())
    assert [settings.gate.seconds for _, settings in reloaded.rules] == [6.0, 60.0, 0.5]
    assert reloaded.settings_at(began).gate.seconds == 6.0


def edit_offline(desk, contents):
    """Change files without a running writer."""
    edit = e.Edit({name: text.encode() for name, text in contents.items()})
    prepared = e.stage_edit(desk.store.campaign, edit, desk.store.ledger.files)
    desk.do(e.revise, desk.lead, edit, prepared)
    staging.publish(desk.folder)


def test_a_lease_is_as_long_as_when_it_began(desk):
    """A shorter lease takes no work away that was promised for longer."""
    desk.time[0] += 1
    edit_offline(desk, {"campaign.toml": SETTINGS.replace("gold_sets = 1", "gold_sets = 1\nlease_minutes = 1")})
    desk.time[0] += 300
    assert desk.do(commands.expire) == 0
    desk.time[0] += 3600
    assert desk.do(commands.expire) == 1


def test_gold_that_was_corrected_grades_again(desk):
    """After a contest was upheld; the consensus uses it again too, and what was graded stays."""
    part = next(entry for entry in desk.returned.sets if entry.use == "gold")
    slot = next(s for s, item in enumerate(part.items) if desk.store.ledger.gold_of(item))
    desk.do(commands.contest, desk.bob, part.token, slot, "it is right")
    with desk.store.reading() as connection:
        work = decisions.read_work(connection, desk.returned.id)
    desk.do(decisions.rule, desk.lead, 1, True, "", work)
    item = part.items[slot]
    assert item in desk.store.ledger.overruled
    pair, outcome = desk.store.ledger.items.pairs[item], desk.returned.outcome
    gold = desk.campaign.gold
    edit_offline(desk, {"gold.csv": gold_text({**gold, pair: Gold(gold[pair].grade, "the reason alone")})})
    assert item in desk.store.ledger.overruled
    desk.time[0] += 10
    edit, broken = e.gold_edit(desk.store.campaign, pair, Gold(1 - gold[pair].grade, "corrected"), {})
    assert broken == {}
    edit_offline(desk, {name: content.decode() for name, content in edit.contents.items()})
    assert item not in desk.store.ledger.overruled
    assert desk.store._fold(desk.store._writer.connect()).overruled == set()
    assert desk.returned.outcome == outcome
    with desk.store.reading() as connection:
        assert item in accepted_judgments(connection, desk.store.campaign.gold).gold
        assert find_faults(connection, desk.store.campaign) == []


def test_fewer_judgments_are_no_fault_of_the_record(desk):
    """What was judged under the settings of before is not too much."""
    for name in ("dora", "ella", "finn"):
        desk.work(desk.person(name))
    edit_offline(desk, {"campaign.toml": settings_with(judgments=1)})
    with desk.store.reading() as connection:
        assert find_faults(connection, desk.store.campaign) == []


def test_gold_that_breaks_a_set_leaves_it_out(fresh_desk):
    """The sets are named with the reason, and the rest must do."""
    campaign = fresh_desk.campaign
    pair = ("oak", "oak-gold-0")
    edit, broken = e.gold_edit(campaign, pair, None, {"gold.csv": "x", "sets.csv": "y"})
    assert broken == {"oak-0": "of its 2 documents, 1 have a grade"}
    assert edit.base == {"gold.csv": "x", "sets.csv": "y"}
    prepared = e.stage_edit(campaign, edit, fresh_desk.store.ledger.files)
    assert prepared.changes[-2:] == ["gold of document 'oak-gold-0' of topic 'oak': 0 removed", "set 'oak-0' removed"]
    with pytest.raises(Refused, match="There is no gold for document 'oak-0' of topic 'oak'"):
        e.gold_edit(campaign, ("oak", "oak-0"), None, {})


def test_topics_are_changed_and_added(fresh_desk):
    """A name that exists is not added, an unknown one not changed."""
    campaign, oak = fresh_desk.campaign, Topic("oak", "old oaks", "", "")
    edit = e.topic_edit(campaign, oak, False, {})
    assert e.stage_edit(campaign, edit, fresh_desk.store.ledger.files).campaign.topics["oak"] == oak
    with pytest.raises(Refused, match="There is already a topic 'oak'"):
        e.topic_edit(campaign, oak, True, {})
    with pytest.raises(Refused, match="There is no such topic"):
        e.topic_edit(campaign, oak._replace(name="fir"), False, {})


def test_lists_are_searched_whatever_the_case(fresh_desk):
    """Topics by all of their texts, gold by topic, document and reason; the sets of gold are named."""
    campaign = fresh_desk.campaign
    assert [topic.name for topic in e.topic_rows(campaign, "ABOUT ELM")] == ["elm"]
    rows = e.gold_rows(campaign, "Oak-Gold-1", {})
    assert [(pair, sets) for pair, _, sets, _ in rows] == [(("oak", "oak-gold-1"), ["oak-0"])]


def test_files_changed_outside_are_noticed_and_used(studio):
    """Until somebody decides, the desk changes nothing; broken files are refused."""
    path = studio.campaign.folder / "campaign.toml"
    path.write_text(settings_with(binary=0.5))
    assert asyncio.run(studio.look_at_files()) == ["campaign.toml"]
    assert studio.campaign.settings.gate.binary == 0.85
    with pytest.raises(Refused, match=r"'campaign.toml' was changed outside of the studio. Decide on the page History"):
        save(studio, {"topics.jsonl": text_of(studio, "topics.jsonl") + "\n"})
    prepared = asyncio.run(e.save_edit(studio, studio.made.lead, e.Edit(source="files")))
    assert prepared.changes == ["gate.binary: 0.85 -> 0.5"]
    assert studio.campaign.settings.gate.binary == 0.5
    assert studio.changed_files == asyncio.run(studio.look_at_files()) == []
    path.write_text("[gate")
    with pytest.raises(e.EditProblems, match="is not TOML"):
        asyncio.run(e.save_edit(studio, studio.made.lead, e.Edit(source="files")))
    content = settings_with(binary=0.5)
    save(studio, {"campaign.toml": content}, source="restored")
    assert path.read_text() == content
    with studio.store.reading() as connection:
        assert list_changes(connection)[0].note == "put back"


def test_files_changed_while_the_studio_was_stopped_are_a_revision(desk):
    """The studio recorded them at its start, and the audit log names their hashes."""
    desk.store.close()
    (desk.folder / "campaign.toml").write_text(settings_with(binary=0.5))
    again = desk_studio(desk.folder, desk.time[0] + 100)
    with again.store.reading() as connection:
        newest = list_changes(connection)[0]
        assert (newest.note, [row.file for row in newest.revisions]) == (
            "changed while the studio was stopped",
            ["campaign.toml"],
        )
        assert find_faults(connection, again.campaign) == []
    again.store.close()


def test_a_death_before_the_files_are_moved_is_made_good(desk):
    """The next start finds the change in the database and moves the files."""
    edit = e.Edit({"campaign.toml": settings_with(binary=0.5).encode()})
    prepared = e.stage_edit(desk.store.campaign, edit, desk.store.ledger.files)
    desk.do(e.revise, desk.lead, edit, prepared)
    desk.store.close()
    assert (desk.folder / "campaign.toml").read_text() == SETTINGS
    studio = open_studio(desk.folder)
    assert studio.campaign.settings.gate.binary == studio.ledger.campaign.settings.gate.binary == 0.5
    assert (desk.folder / "campaign.toml").read_text() == settings_with(binary=0.5)
    with studio.store.reading() as connection:
        assert len(list_changes(connection)) == 2
    studio.store.close()


def test_a_death_before_the_commit_changes_nothing(desk):
    """The next start removes what was staged."""
    edit = e.Edit({"campaign.toml": settings_with(binary=0.5).encode()})
    e.stage_edit(desk.store.campaign, edit, desk.store.ledger.files)
    desk.store.close()
    studio = open_studio(desk.folder)
    assert studio.campaign.settings.gate.binary == 0.85
    assert not (desk.folder / staging.STAGED).exists()
    studio.store.close()


def test_a_commit_that_fails_changes_nothing(studio, monkeypatch):
    """The studio goes on with the campaign of before, in memory and on the disk."""
    from adjudge.studio.record import store

    def fail(connection, rows):
        raise InputError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(store, "_write", fail)
        with pytest.raises(Refused):
            save(studio, {"campaign.toml": settings_with(binary=0.5)})
    assert studio.campaign.settings.gate.binary == studio.ledger.campaign.settings.gate.binary == 0.85
    assert text_of(studio, "campaign.toml") == SETTINGS
    assert not (studio.campaign.folder / staging.STAGED).exists()
    save(studio, {"campaign.toml": settings_with(binary=0.5)})
    assert studio.ledger.campaign.settings.gate.binary == 0.5


def test_an_edit_whose_editor_has_gone_is_finished_before_the_next(studio, monkeypatch):
    """The next edit waits until the files of the first are in their places, also if nobody waits for the answer."""
    moving, go_on = threading.Event(), threading.Event()

    def publish_late(folder):
        moving.set()
        assert go_on.wait(20)
        staging.publish(folder)

    monkeypatch.setattr(e, "publish", publish_late)
    base = {"campaign.toml": studio.ledger.files["campaign.toml"]}

    async def script():
        edit = e.Edit({"campaign.toml": settings_with(binary=0.5).encode()}, base)
        first = asyncio.create_task(e.save_edit(studio, studio.made.lead, edit))
        await asyncio.to_thread(moving.wait, 20)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        topics = {**studio.campaign.topics, "oak": studio.campaign.topics["oak"]._replace(query="other")}
        text = topics_text(topics.values()).encode()
        second = asyncio.create_task(e.save_edit(studio, studio.made.lead, e.Edit({"topics.jsonl": text})))
        await asyncio.sleep(0.1)
        go_on.set()
        await second

    asyncio.run(script())
    assert "binary = 0.5" in text_of(studio, "campaign.toml")
    assert '"other"' in text_of(studio, "topics.jsonl")
    assert studio.watch.changed(studio.ledger.files) == []
