"""``adjudge campaign``: folders made and checked."""

import re
import shlex

import pytest


@pytest.mark.parametrize("command", ["new", "check"])
def test_help_teaches_with_examples_that_work(run, command):
    """Every command of a campaign shows examples, and they run."""
    shown = re.findall(r"^\s*\$ (adjudge.*)$", run("campaign", command, "--help").out, re.MULTILINE)
    assert any(f"campaign {command}" in line for line in shown)
    for line in shown:
        answer = run(*shlex.split(line)[1:])
        assert answer.code == 0, answer.err


def test_the_demo_is_made_and_checked(run):
    """With figures, and the next line to type."""
    made = run("campaign", "new", "my trial", "--demo")
    assert (made.code, made.err) == (0, "")
    assert made.out.startswith("wrote my trial\n  topics              8\n  documents           96\n")
    assert made.out.endswith("\nNext: look through my trial/campaign.toml, then: adjudge serve 'my trial'\n")
    checked = run("campaign", "check", "my trial")
    assert (checked.code, checked.err) == (0, "")
    assert "  judgments needed    270 (3 of each)\n" in checked.out
    assert checked.out.endswith("\nNothing is wrong. Next: adjudge serve 'my trial'\n")


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
    assert again.err.startswith("adjudge: c: holds 'campaign.toml'")
    assert run("campaign", "new", "c", *options, "--force").code == 0


def test_problems_are_all_listed(run, tmp_path):
    """With file and line; the exit code says that the data are wrong."""
    run("campaign", "new", "c", "--demo")
    for name, text in (("campaign.toml", "[oops]\n"), ("pool.csv", "sleep,nothing\n")):
        path = tmp_path / "c" / name
        path.write_text(path.read_text() + text)
    answer = run("campaign", "check", "c")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == (
        "adjudge: c: there are 2 problems\n"
        "  campaign.toml, line 110: there is no table [oops]\n"
        "  pool.csv, line 92: there is no document 'nothing' in documents.jsonl\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--topics", "t.csv"),
            "a campaign needs --topics and --documents; `adjudge campaign new trial/ --demo` needs",
        ),
        (("--demo", "--gold", "g"), "the demo has topics and documents of its own: leave out --demo, or all else"),
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
    from adjudge.collect.files.pool import DEPTH

    assert campaign.DEPTH == DEPTH
