"""What leaves a campaign."""

import csv
import io
import zipfile

import numpy as np
import pytest

from adjudge.data.files import Content
from adjudge.data.read import read
from adjudge.data.trec import qrels_source, task1_source, task2_run_source
from adjudge.errors import InputError, UsageError
from adjudge.studio.desk import decisions as lead
from adjudge.studio.desk.exports import EXPORTS, ExportOptions, batches, csv_chunks, export, safe_cell, write_chunks
from adjudge.studio.desk.imports import ImportedJudgment, import_judgments

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def exported(desk, what, **wanted):
    """Return the bytes of an export."""
    out = io.BytesIO()
    with desk.store.reading() as connection:
        export(connection, what, ExportOptions(desk.folder, **wanted), out)
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


def test_programs_have_their_kind(desk):
    """If a program judged, every judgment has the kind of its judge, which the reader of tables recognises."""
    desk.do(import_judgments, None, [ImportedJudgment(1, "oak", "oak-5", "robot", 1)], {}, "a", True)
    content = exported(desk, "judgments")
    kinds = {(row["judge"], row["judge_kind"]) for row in rows_of(content)}
    assert kinds == {("ann", "person"), ("robot", "machine")}
    (desk.folder / "export.csv").write_bytes(content)
    panel = read(desk.folder / "export.csv").panel
    assert set(panel.kind) == {"person", "machine"}


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
    for case in ("qrels", "uncertainty", "task2"):
        with pytest.raises(UsageError, match="no consensus yet"):
            exported(desk, case)


def test_task1_tells_accepted_from_rejected_and_programs(desk):
    """Eleven fields by tabs: type 0 what was accepted, 1 of returned assignments, 2 of programs; none of open ones."""
    desk.do(import_judgments, None, [ImportedJudgment(1, "oak", "oak-5", "an LLM", None)], {}, "a", True)
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
    desk.do(import_judgments, None, [ImportedJudgment(1, "oak", "oak-5", "an LLM", 1)], {}, "a", True)
    for name in ("ann", "an llm"):
        desk.do(lead.change_standing, desk.lead, desk.store.ledger.named[name], "excluded", "copies")
    assert rows_of(exported(desk, "judgments")) == []
    kinds = {line.split("\t")[10] for line in exported(desk, "task1").decode().splitlines()}
    assert kinds == {"1"}


def test_task1_has_qualifications_as_training(desk, monkeypatch):
    """Answers of a qualification are of type 3, whether it was passed or not."""
    from adjudge.studio.work import commands

    monkeypatch.setattr(commands, "next_kind", lambda ledger, judge: "qualification")
    sets = [entry._replace(use="qualification") for entry in desk.campaign.sets]
    object.__setattr__(desk.campaign, "sets", tuple(sets))
    dora = desk.person("dora")
    stored = desk.work(dora)
    fields = [line.split("\t") for line in exported(desk, "task1").decode().splitlines()]
    assert sum(line[1] == "dora" and line[10] == "3" for line in fields) == sum(
        len(entry.items) for entry in stored.sets
    )


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


@pytest.fixture
def graded(believed):
    """Leave grades of all items, of which the one that is least likely relevant is ranked first."""
    items = np.arange(1, len(believed.store.ledger.items.pairs))
    chance, score = np.tile([0.2, 0.5, 0.3], (items.size, 1)), 1 + items / 1000
    first = items == believed.store.ledger.items.ids["oak", "oak-1"]
    chance[first], score[first] = [0.1, 0.2, 0.7], 3.0
    ranks = np.ones(items.size, int)
    interval = np.stack([ranks, ranks + 3], axis=1)
    path = believed.folder / "consensus" / "grades.npz"
    np.savez(path, item=items, chance=chance, score=score, rank=ranks, interval=interval)
    return believed


def test_qrels_have_grades(graded):
    """The most likely grade of each item; labels with uncertainty stay relevant or not."""
    grades = {line.split()[2]: line.split()[3] for line in exported(graded, "qrels").decode().splitlines()}
    assert grades.pop("oak-1", "2") == "2"
    assert set(grades.values()) == {"1"}
    assert {row["label"] for row in rows_of(exported(graded, "uncertainty"))} <= {"0", "1"}


@pytest.mark.parametrize("case", ["task2", "run"])
def test_runs_rank_by_expected_gain(graded, case):
    """Not by probability, if there are grades."""
    lines = [line.split() for line in exported(graded, case).decode().splitlines()]
    document, rank = (1, 2) if case == "task2" else (2, 3)
    oak = {line[document]: int(line[rank]) for line in lines if line[0] == "oak"}
    numbers = graded.store.ledger.items.ids
    best = sorted(oak, key=lambda name: -(3.0 if name == "oak-1" else 1 + numbers["oak", name] / 1000))
    assert sorted(oak, key=oak.get) == best


def test_a_run_without_grades_has_log_odds(believed):
    """The first of a topic has the highest probability, and the tag is the team."""
    lines = [line.split() for line in exported(believed, "run", team="us").decode().splitlines()]
    assert len(lines) == 12
    assert {(line[1], line[5]) for line in lines} == {("Q0", "us")}
    for line in lines:
        if line[2] == "oak-0":
            assert line[3] == "1"
            assert float(line[4]) == pytest.approx(np.log(9), abs=1e-5)  # beliefs are 32-bit floats here
    by_topic = {}
    for topic, _, _, rank, score, _ in lines:
        by_topic.setdefault(topic, []).append((int(rank), -float(score)))
    assert all(ranks == sorted(ranks) and ranks[0][0] == 1 for ranks in by_topic.values())


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
    with pytest.raises(UsageError, match="there is no export 'all', expected one of 'judgments', 'qrels'"):
        exported(desk, "all")
    assert all(value.about.endswith(".") and "/" in value.kind for value in EXPORTS.values())


def test_pieces_are_all_rows():
    """In order, none lost, the last one shorter."""
    assert list(batches(range(5), 2)) == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "=cmd|' /C calc'!A0"])
def test_formulas_are_texts(text):
    """What a spreadsheet would compute gets an apostrophe in front."""
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["a=b", "", "1-1", -1, -1.5, None])
def test_others_stay(value):
    """Plain texts, and numbers even below 0, are left alone."""
    assert safe_cell(value) == value


def test_pieces_make_up_the_file():
    """Large tables come in several pieces; read back they are what went in, unknown cells empty."""
    rows = [(n, "=x,\n", None) for n in range(20_000)]
    pieces = list(csv_chunks(("a", "b", "c"), iter(rows)))
    assert len(pieces) > 2
    read = list(csv.reader(io.StringIO(b"".join(pieces).decode(), newline="")))
    assert read[0] == ["a", "b", "c"]
    assert read[-1] == ["19999", "'=x,\n", ""]
    assert len(read) == 20_001


def test_raw_leaves_cells_as_they_are():
    """For programs nothing is put in front."""
    assert b"".join(csv_chunks(("a",), [("=1",)], raw=True)) == b"a\n=1\n"


def test_a_file_is_whole_or_as_it_was(tmp_path):
    """Pieces that break off leave the old file, and nothing beside it."""
    out = tmp_path / "x.csv"
    assert write_chunks([b"a\n", b"b\n"], str(out)) == 2

    def breaking():
        yield b"c\n"
        raise ValueError("broken off")

    with pytest.raises(ValueError, match="broken off"):
        write_chunks(breaking(), str(out))
    assert out.read_bytes() == b"a\nb\n"
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def test_without_a_name_it_is_printed(capfdbinary):
    """As bytes, to standard output."""
    assert write_chunks([b"a", b"b"], None) == 2
    assert capfdbinary.readouterr().out == b"ab"


def test_what_cannot_be_written_says_so(tmp_path):
    """With the place."""
    with pytest.raises(InputError, match="nowhere/x: cannot be written"):
        write_chunks([b"a"], str(tmp_path / "nowhere" / "x"))
