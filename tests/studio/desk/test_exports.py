"""What leaves a campaign."""

import csv
import io
import zipfile

import numpy as np
import pytest

from adjudge.data.files import Content
from adjudge.data.trec import qrels_source, task1_source, task2_run_source
from adjudge.errors import UsageError
from adjudge.studio.desk import commands as lead
from adjudge.studio.desk.exports import EXPORTS, Wanted, export, in_pieces
from adjudge.studio.desk.imports import Given

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def exported(desk, what, **wanted):
    """Return the bytes of an export."""
    out = io.BytesIO()
    with desk.store.reading() as connection:
        export(connection, what, Wanted(desk.folder, **wanted), out)
    return out.getvalue()


def rows_of(content):
    """Return the rows of a CSV file by their header."""
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


@pytest.fixture
def believed(desk):
    """Leave a consensus in which one item is relevant, one not, the rest open."""
    belief = np.full(len(desk.store.ledger.items.pairs), 0.5, np.float32)
    belief[desk.store.ledger.items.ids["oak", "oak-0"]] = 0.9
    belief[desk.store.ledger.items.ids["oak", "oak-1"]] = 0.2
    (desk.folder / "consensus").mkdir()
    np.save(desk.folder / "consensus" / "belief.npy", belief)
    (desk.folder / "consensus" / "judges.json").write_text('{"ann": {}}')
    return desk


def test_judgments_are_all_that_was_accepted(desk):
    """A row each, with judge, time and use; formulas in comments are texts, unless asked otherwise."""
    rows = rows_of(exported(desk, "judgments"))
    assert len(rows) == 12
    assert list(rows[0]) == [
        "topic",
        "document",
        "judge",
        "label",
        "rank",
        "seconds",
        "comment",
        "use",
        "at",
        "assignment",
    ]
    assert {row["judge"] for row in rows} == {"ann"}
    assert {row["use"] for row in rows} == {"work", "gold"}
    assert {row["comment"] for row in rows} == {"", "'=1+1"}
    assert {row["comment"] for row in rows_of(exported(desk, "judgments", raw=True))} == {"", "=1+1"}


def test_pseudonyms_hide_names(desk):
    """The same pseudonym for the same judge in every row."""
    assert {row["judge"] for row in rows_of(exported(desk, "judgments", pseudonyms=True))} == {f"judge-{desk.ann}"}


def test_qrels_have_the_likely_label_of_judged_items(believed):
    """TREC's own reader takes them; items nobody judged are not in them."""
    text = exported(believed, "qrels")
    source = qrels_source(Content("qrels", text))
    assert len(source.column("item")) == 8 + 4  # of the pool, and of the gold that ann met
    uncertain = {row["document"]: row for row in rows_of(exported(believed, "uncertainty"))}
    for line in text.decode().splitlines():
        _, _, document, label = line.split()
        assert uncertain[document]["label"] == label
    if "oak-0" in uncertain:
        assert (uncertain["oak-0"]["probability"], uncertain["oak-0"]["judgments"]) == ("0.900000", "1")
        assert float(uncertain["oak-0"]["entropy"]) == pytest.approx(0.468996, abs=1e-5)


def test_exports_of_a_consensus_wait_for_one(desk):
    """Without any, the refusal says what is missing."""
    for what in ("qrels", "uncertainty", "task2"):
        with pytest.raises(UsageError, match="no consensus yet"):
            exported(desk, what)


def test_task1_tells_accepted_from_rejected_and_programs(desk):
    """Eleven fields by tabs: type 0 what was accepted, 1 of returned assignments, 2 of programs; none of open ones."""
    desk.do(lead.import_judgments, None, [Given(1, "oak", "oak-5", "an LLM", None)], {}, "a", True)
    text = exported(desk, "task1", team="us")
    fields = [line.split("\t") for line in text.decode().splitlines()]
    assert {len(line) for line in fields} == {11}
    kinds = [(line[1], line[10]) for line in fields]
    assert kinds.count(("ann", "0")) == 12
    assert kinds.count(("bob", "1")) == 6
    assert kinds.count(("an_LLM", "2")) == 1
    assert len(kinds) == 19
    assert len(task1_source(Content("task1", text)).column("item")) == 12


def test_excluded_judges_are_not_usable(desk):
    """Their judgments are not exported, and are of type 1, rejected, in a task 1 run."""
    desk.do(lead.import_judgments, None, [Given(1, "oak", "oak-5", "an LLM", 1)], {}, "a", True)
    for name in ("ann", "an llm"):
        desk.do(lead.change_standing, desk.lead, desk.store.ledger.named[name], "excluded", "copies")
    assert rows_of(exported(desk, "judgments")) == []
    kinds = {line.split("\t")[10] for line in exported(desk, "task1").decode().splitlines()}
    assert kinds == {"1"}


def test_task1_has_qualifications_as_training(desk, monkeypatch):
    """Answers of a qualification are of type 3, whether it was passed or not."""
    from adjudge.studio.work import commands

    monkeypatch.setattr(commands, "next_kind", lambda ledger, judge: "qualification")
    sets = [one._replace(use="qualification") for one in desk.campaign.sets]
    object.__setattr__(desk.campaign, "sets", tuple(sets))
    dora = desk.person("dora")
    held = desk.work(dora)
    fields = [line.split("\t") for line in exported(desk, "task1").decode().splitlines()]
    assert sum(line[1] == "dora" and line[10] == "3" for line in fields) == sum(len(one.items) for one in held.sets)


def test_task2_ranks_by_probability(believed):
    """By topic, the likeliest first, and TREC's own reader takes it."""
    text = exported(believed, "task2")
    source = task2_run_source(Content("task2", text))
    by_topic = {}
    for line in text.decode().splitlines():
        topic, _, rank, probability = line.split()
        by_topic.setdefault(topic, []).append((int(rank), float(probability)))
    for ranked in by_topic.values():
        assert [rank for rank, _ in sorted(ranked)] == list(range(1, len(ranked) + 1))
        assert [p for _, p in sorted(ranked)] == sorted((p for _, p in ranked), reverse=True)
    assert len(source.column("item")) == 12


def test_everything_holds_all_but_secrets(believed):
    """All tables but passwords, no hash of a token, the campaign's files, no key, no password of a database."""
    text = believed.do(lead.new_api_token, believed.lead, "nightly", "read")
    toml = believed.folder / "campaign.toml"
    toml.write_text(toml.read_text() + '[store]\ndatabase = "postgresql+psycopg://me:hush@db/x"\n')
    (believed.folder / "key").write_bytes(b"K" * 32)
    archive = zipfile.ZipFile(io.BytesIO(exported(believed, "everything")))
    names = set(archive.namelist())
    assert {"tables/judgments.csv", "tables/audit.csv", "campaign.toml", "gold.csv", "consensus/belief.npy"} <= names
    assert {"documents.jsonl", "qrels.txt", "qrels-uncertainty.csv"} <= names
    assert archive.read("documents.jsonl") == (believed.folder / "documents.jsonl").read_bytes()
    assert archive.read("qrels.txt") == exported(believed, "qrels")
    assert not names & {"tables/passwords.csv", "key", "studio.db"}
    assert rows_of(archive.read("tables/tokens.csv"))[0].keys() == {"id", "at", "by", "name", "scope"}
    everything = b"".join(map(archive.read, names))
    for secret in (b"hush", b"KKKK", text.encode()):
        assert secret not in everything
    assert b"me:***@db" in archive.read("campaign.toml")
    assert len(rows_of(archive.read("tables/judgments.csv"))) == 12


def test_everything_goes_without_a_consensus(desk):
    """Then there are no qrels in it."""
    names = zipfile.ZipFile(io.BytesIO(exported(desk, "everything"))).namelist()
    assert "documents.jsonl" in names
    assert "qrels.txt" not in names


def test_everything_under_pseudonyms_names_nobody(believed):
    """Neither tables nor the files of the consensus."""
    believed.do(lead.invite, believed.lead, "judge", "zacharias", 3)
    archive = zipfile.ZipFile(io.BytesIO(exported(believed, "everything", pseudonyms=True)))
    everything = b"".join(map(archive.read, archive.namelist()))
    assert b"zacharias" not in everything
    assert "consensus/judges.json" not in archive.namelist()
    assert {row["name"] for row in rows_of(archive.read("tables/people.csv"))} == {f"judge-{n}" for n in range(1, 5)}
    assert {row["who"] for row in rows_of(archive.read("tables/audit.csv"))} == {""}


def test_unknown_exports_are_refused(desk):
    """With what there is."""
    with pytest.raises(UsageError, match="'all' cannot be exported, expected one of 'judgments', 'qrels'"):
        exported(desk, "all")
    assert all(one.about.endswith(".") and "/" in one.kind for one in EXPORTS.values())


def test_pieces_are_all_rows():
    """In order, none lost, the last one shorter."""
    assert list(in_pieces(range(5), 2)) == [[0, 1], [2, 3], [4]]
