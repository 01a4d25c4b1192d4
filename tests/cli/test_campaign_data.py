"""``adjudge campaign export|import|prompts``."""

import csv
import io
import json
import zipfile

import pytest


@pytest.fixture
def folder(run, tmp_path):
    """Return the folder of a demo campaign with two judgments made elsewhere."""
    place = str(tmp_path / "trial")
    assert run("campaign", "new", place, "--demo").code == 0
    pool = list(csv.DictReader(io.StringIO((tmp_path / "trial" / "pool.csv").read_text())))[:2]
    rows = [f"{row['topic']},{row['document']},ann,{n}" for n, row in enumerate(pool)]
    (tmp_path / "elsewhere.csv").write_text("\n".join(["topic,document,judge,label", *rows]) + "\n")
    taken = run("campaign", "import", place, str(tmp_path / "elsewhere.csv"))
    assert (taken.code, taken.out) == (0, "2 judgments imported, 0 were imported before; new judges: ann\n"), taken.err
    return tmp_path / "trial"


def test_imports_twice_are_one(run, folder):
    """The second time all is there; a contradiction is refused with its row."""
    file = folder.parent / "elsewhere.csv"
    assert run("campaign", "import", str(folder), str(file)).out == "0 judgments imported, 2 were imported before\n"
    file.write_text(file.read_text().replace(",ann,0", ",ann,1"))
    refused = run("campaign", "import", str(folder), str(file))
    assert refused.code == 1
    assert "line 2: 'ann' has already judged it irrelevant" in refused.err


def test_exports_go_to_the_screen_or_a_file(run, folder, tmp_path):
    """The same judgments either way; everything is a zip."""
    shown = run("campaign", "export", str(folder)).out
    assert [row["judge"] for row in csv.DictReader(io.StringIO(shown))] == ["ann", "ann"]
    out = tmp_path / "all.zip"
    assert run("campaign", "export", str(folder), "--what", "everything", "--pseudonyms", "--out", str(out)).code == 0
    assert "judge-1" in zipfile.ZipFile(out).read("tables/people.csv").decode()
    assert run("campaign", "export", str(folder), "--what", "all").code == 2


@pytest.mark.parametrize("what", ["qrels", "uncertainty", "task2"])
def test_exports_fit_by_themselves(run, folder, what):
    """After an import no studio need run; and nothing is left in the folder."""
    done = run("campaign", "export", str(folder), "--what", what)
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 2 + (what == "uncertainty")
    assert not (folder / "consensus").exists()


def test_a_typo_in_a_file_does_not_keep_judgments(run, folder, tmp_path):
    """What needs the database alone goes on with a warning; qrels, which need gold, are refused."""
    (folder / "sets.csv").write_text("nonsense\n")
    for command in (("verify", str(folder)), ("export", str(folder)), ("export", str(folder), "--what", "task1")):
        done = run("campaign", *command)
        assert done.code == 0, done.err
        assert "sets.csv" in done.err
    out = str(tmp_path / "all.zip")
    assert run("campaign", "export", str(folder), "--what", "everything", "--out", out).code == 0
    refused = run("campaign", "export", str(folder), "--what", "qrels")
    assert (refused.code, "sets.csv" in refused.err) == (1, True)
    (folder / "campaign.toml").write_text("[redundancy]\njudgments = 'x'\n")
    assert run("campaign", "verify", str(folder)).code == 1


def test_a_program_judges(run, folder, tmp_path):
    """Prompts to a file, answers back, and how it did on gold."""
    out = tmp_path / "prompts.jsonl"
    told = run("campaign", "prompts", str(folder), "--judge", "my-model", "--limit", "10", "--out", str(out))
    assert (told.code, told.out) == (0, f"wrote 10 prompts to {out}\n"), told.err
    prompts = [json.loads(line) for line in out.read_text().splitlines()]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps({"id": row["id"], "answer": "Irrelevant."}) + "\n" for row in prompts))
    taken = run("campaign", "import", str(folder), str(answers), "--judge", "my-model").out
    assert taken.startswith("10 judgments imported, 0 were imported before; new judges: my-model\n")
    assert "of 2 hidden gold right" in taken


def test_what_is_not_there_says_so(run, folder, tmp_path):
    """A file to import, a campaign that nobody began."""
    assert "cannot be read" in run("campaign", "import", str(folder), str(tmp_path / "none.csv")).err
    run("campaign", "new", str(tmp_path / "fresh"), "--demo")
    assert "nobody has worked on this campaign yet" in run("campaign", "export", str(tmp_path / "fresh")).err


def test_check_says_what_changed_since_work_began(run, folder):
    """A pair that was judged and is gone; the files are right all the same."""
    assert run("campaign", "check", str(folder)).err == ""
    lines = (folder / "pool.csv").read_text().splitlines()
    (folder / "pool.csv").write_text("\n".join([lines[0], *lines[2:]]) + "\n")
    checked = run("campaign", "check", str(folder))
    assert checked.code == 0
    assert "1 pair is judged but no longer in the files; the judgments are kept: " in checked.err
