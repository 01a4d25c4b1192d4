"""``adjudge campaign``: folders made and checked, and their data."""

import csv
import io
import json
import re
import shlex
import warnings
import zipfile

import pytest
import typer
from typer.testing import CliRunner

from adjudge.cli.campaign import gate
from adjudge.errors import AdjudgeWarning, InputError, UsageError, command_line
from adjudge.studio.demo import make_demo


@pytest.mark.parametrize("command", ["new", "check", "clone", "archive"])
def test_help_teaches_with_examples_that_work(run, command):
    """Every command of a campaign shows examples, and they run."""
    displayed = re.findall(r"^\s*\$ (adjudge.*)$", run("campaign", command, "--help").out, re.MULTILINE)
    assert any(f"campaign {command}" in line for line in displayed)
    for line in displayed:
        answer = run(*shlex.split(line)[1:])
        assert answer.code == 0, answer.err


def test_the_demo_is_made_and_checked(run):
    """With figures, and the next line to type."""
    created = run("campaign", "new", "my trial", "--demo")
    assert (created.code, created.err) == (0, "")
    assert created.out.startswith("wrote my trial\n  topics              8\n  documents           96\n")
    assert created.out.endswith(
        "\nNext: check the settings in my trial/campaign.toml, then: adjudge serve 'my trial'\n"
    )
    checked = run("campaign", "check", "my trial")
    assert (checked.code, checked.err) == (0, "")
    assert "  judgments needed    270 (3 of each)\n" in checked.out
    assert checked.out.endswith("\nNo problems. Next: adjudge serve 'my trial'\n")


def test_all_sources(run, tmp_path):
    """Topics, documents, runs and gold; what a lead should know is a warning."""
    (tmp_path / "docs").mkdir()
    for n in range(12):
        (tmp_path / "docs" / f"d{n}.txt").write_text(f"text {n}")
    (tmp_path / "t.csv").write_text("topic,query\n1,q\n")
    for name in "xy":
        lines = (f"1 Q0 d{n} {n} {-n} x\n" for n in range(12))
        (tmp_path / f"{name}.run").write_text("".join(lines))
    (tmp_path / "g.qrels").write_text("".join(f"1 0 d{n} {(2, 1, 0, 1, 0)[n]}\n" for n in range(5)))
    options = ("--topics", "t.csv", "--documents", "docs", "--runs", "x.run", "--runs", "y.run", "--depth", "11")
    answer = run("campaign", "new", "c", *options, "--gold", "g.qrels", "--name", "Mine", "--seed", "3")
    assert answer.code == 0
    assert 'name = "Mine"' in (tmp_path / "c" / "campaign.toml").read_text()
    assert all(line.startswith("adjudge: warning: ") for line in answer.err.splitlines())
    again = run("campaign", "new", "c", *options)
    assert again.code == 1
    assert again.err.startswith("adjudge: c: contains 'campaign.toml'")
    assert run("campaign", "new", "c", *options, "--force").code == 0


def test_problems_are_all_listed(run, tmp_path):
    """With file and line; the exit code says that the data are wrong."""
    run("campaign", "new", "c", "--demo")
    line = {}
    for name, text in (("campaign.toml", "[oops]\n"), ("pool.csv", "sleep,nothing\n")):
        path = tmp_path / "c" / name
        path.write_text(path.read_text() + text)
        line[name] = len(path.read_text().splitlines())
    answer = run("campaign", "check", "c")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == (
        "adjudge: c: there are 2 problems\n"
        f"  campaign.toml, line {line['campaign.toml']}: there is no table [oops]\n"
        f"  pool.csv, line {line['pool.csv']}: there is no document 'nothing' in documents.jsonl\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--topics", "t.csv"),
            "a campaign needs --topics and --documents (`adjudge campaign new trial/ --demo` needs",
        ),
        (("--demo", "--gold", "g"), "--demo has its own topics and documents: leave out --demo, or all other options"),
    ],
)
def test_calls_that_cannot_be_meant(run, arguments, message):
    """Are refused with what to do."""
    answer = run("campaign", "new", "c", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"adjudge: {message}")


def test_the_depth_is_that_of_the_room():
    """Said twice so that help needs no heavy import, and held together here."""
    from adjudge.cli import campaign
    from adjudge.studio.campaign_files import DEPTH

    assert campaign.DEPTH == DEPTH


@pytest.fixture
def demo(tmp_path):
    """Return the folder of a demo campaign."""
    make_demo(tmp_path / "trial")
    return tmp_path / "trial"


def run(*arguments):
    """Run the command alone, as it will be gathered."""
    app = typer.Typer()
    app.command()(gate)
    answer = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if answer.exception is not None and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    return answer


def test_every_gold_set_has_a_row(demo):
    """With what is attainable and how often the gate errs; those of the demo can all be passed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        message = run(demo).stdout
    assert "gold sets; binary >= 0.85, NDCG >= 0.62 of the printed ideal" in message
    assert "gold set" in message
    assert "85 % right" in message
    assert "nobody can pass" not in message


def test_all_compositions_are_shown_with_those_nobody_can_pass(demo):
    """21 of five documents."""
    message = run(demo, "--compositions").stdout
    assert "21 compositions of a gold set" in message
    assert message.count("nobody can pass") == 3
    assert "0.590" in message
    assert "0/0" in message


def test_thresholds_are_solved_for(demo):
    """As campaign.toml writes them, with what they do."""
    message = run(demo, "--solve", "0.05", "--accuracy", "0.95").stdout
    assert "[gate]\nbinary = " in message
    assert 'ndcg_of = "printed"' in message
    assert "At worst it refuses" in message


def test_a_set_that_nobody_can_pass_is_an_error(demo):
    """With the reason: a gate of 1 cannot be reached where grades are tied."""
    text = (demo / "campaign.toml").read_text()
    (demo / "campaign.toml").write_text(text.replace("ndcg = 0.62", "ndcg = 1.0"))
    with pytest.raises(InputError, match=r"the best strict ranking reaches 0\.\d+ of the printed ideal, below 1"):
        run(demo)


def test_two_questions_at_once_are_refused(demo):
    """With what to leave out."""
    with command_line(), pytest.raises(UsageError, match="leave out --compositions"):
        run(demo, "--solve", "0.1", "--compositions")


@pytest.fixture
def folder(run, tmp_path):
    """Return the folder of a demo campaign with two judgments made elsewhere."""
    path = str(tmp_path / "trial")
    assert run("campaign", "new", path, "--demo").code == 0
    pool = list(csv.DictReader(io.StringIO((tmp_path / "trial" / "pool.csv").read_text())))[:2]
    rows = [f"{row['topic']},{row['document']},ann,{n}" for n, row in enumerate(pool)]
    (tmp_path / "elsewhere.csv").write_text("\n".join(["topic,document,judge,label", *rows]) + "\n")
    used = run("campaign", "import", path, str(tmp_path / "elsewhere.csv"))
    assert (used.code, used.out) == (0, "2 judgments imported, 0 were imported before; new judges: ann\n"), used.err
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
    displayed = run("campaign", "export", str(folder)).out
    assert [row["judge"] for row in csv.DictReader(io.StringIO(displayed))] == ["ann", "ann"]
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


def test_the_history_lists_changes(run, folder):
    """Those of stopped studios too; a revision is shown with its differences."""
    path = folder / "campaign.toml"
    path.write_text(path.read_text().replace("[campaign]\n", "[campaign]\n# changed\n", 1))
    assert run("campaign", "invite", str(folder)).code == 0
    first, second = run("campaign", "history", str(folder)).out.strip().split("\n20")
    assert "as the studio found it" in first
    assert second.endswith("studio: campaign.toml (revision 7)\n    changed while the studio was stopped")
    done = run("campaign", "history", str(folder), "--revision", "7")
    assert (done.code, "+ # changed" in done.out) == (0, True)
    assert run("campaign", "history", str(folder), "--revision", "99").err == "adjudge: there is no revision 99\n"


def test_a_program_judges(run, folder, tmp_path):
    """Prompts to a file, answers back, and how it did on gold."""
    out = tmp_path / "prompts.jsonl"
    answer = run("campaign", "prompts", str(folder), "--judge", "my-model", "--limit", "10", "--out", str(out))
    assert (answer.code, answer.out) == (0, f"wrote 10 prompts to {out}\n"), answer.err
    prompts = [json.loads(line) for line in out.read_text().splitlines()]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps({"id": row["id"], "answer": "Irrelevant."}) + "\n" for row in prompts))
    used = run("campaign", "import", str(folder), str(answers), "--judge", "my-model").out
    assert used.startswith("10 judgments imported, 0 were imported before; new judges: my-model\n")
    assert "of 2 hidden gold right" in used


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


def test_a_campaign_is_cloned_and_archived(run):
    """The clone has the lead who is named; archiving is undone by --reopen."""
    run("campaign", "new", "trial", "--demo")
    nobody = run("campaign", "clone", "trial", "second", "--lead", "lea")
    assert (nobody.code, nobody.err) == (2, "adjudge: --lead 'lea' is not a lead of this campaign\n")
    created = run("campaign", "clone", "trial", "second", "--name", "Second round")
    assert (created.code, created.out.splitlines()[0]) == (0, "wrote second")
    assert run("campaign", "archive", "second").out == "second is archived\n"
    assert run("campaign", "archive", "second").err == "adjudge: The campaign is already archived.\n"
    assert run("campaign", "archive", "second", "--reopen").out == "second is open again\n"


def test_webhooks_are_listed_and_tested(run, folder):
    """Without addresses it says where they are written; one that nobody answers makes the test fail."""
    none = run("campaign", "webhooks", str(folder))
    assert (none.code, none.out.split(":")[0]) == (0, "no addresses")
    secret = run("campaign", "webhooks", str(folder), "--secret").out
    assert secret.startswith("whsec_")
    assert secret in run("campaign", "webhooks", str(folder), "--secret").out
    settings = folder / "campaign.toml"
    url = "http://127.0.0.1:1/hook"
    settings.write_text(re.sub(r"(?m)^urls = \[\]", f'urls = ["{url}"]', settings.read_text()))
    assert run("campaign", "webhooks", str(folder)).out == f"{url}\n"
    tried = run("campaign", "webhooks", str(folder), "--test")
    assert tried.code == 1
    assert tried.out.startswith(f"{url}: ")
    assert "refused" in tried.out or "Connect call failed" in tried.out
