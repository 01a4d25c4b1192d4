import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from adjudge.studio.demo import make_demo


@pytest.fixture
def serving(tmp_path):
    """Return a maker of studios in processes of their own, stopped at the end."""
    collected = []

    def start(*arguments):
        command = [sys.executable, "-m", "adjudge", "serve", "--port", "0", *arguments]
        places = {**os.environ, "TMPDIR": str(tmp_path)}  # a demo that is killed leaves its folder behind
        collected.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=places)
        )
        lines = []
        for line in collected[-1].stdout:
            lines.append(line.rstrip())
            if line.startswith("Stop with Ctrl-C"):
                break
        return collected[-1], lines

    yield start
    for process in collected:
        process.kill()
        process.wait()
        process.stdout.close()


def test_serve_says_where_and_lets_the_lead_in_once(serving, tmp_path):
    """The first start prints a link for the lead; the page is there; Ctrl-C ends it without a word of trouble."""
    make_demo(tmp_path / "demo")
    process, lines = serving(str(tmp_path / "demo"))
    link = next(line for line in lines if "link for a lead" in line).split()[-1]
    with urllib.request.urlopen(link) as page:
        assert page.status == 200
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=20)
    assert "Traceback" not in rest
    assert process.returncode in (0, 130)


def test_the_demo_is_one_command(serving):
    """Nothing but --demo is needed: two links, a judge's and a lead's."""
    _, lines = serving("--demo")
    links = [line.split()[-1] for line in lines if "once:" in line]
    assert len(links) == 2
    assert all(re.fullmatch(r"http://127\.0\.0\.1:\d+/join/\S+", link) for link in links)


def test_a_campaign_is_served_once(serving, tmp_path):
    """A second studio on the same campaign is refused in words."""
    make_demo(tmp_path / "demo")
    serving(str(tmp_path / "demo"))
    process, lines = serving(str(tmp_path / "demo"))
    assert process.wait(timeout=20) == 1
    assert "another adjudge is writing to this campaign" in "\n".join(lines)


def test_the_demo_does_not_take_over_a_campaign(serving, tmp_path):
    """A folder with another campaign is not served as the demo; the demo's own folder is, again."""
    make_demo(tmp_path / "kept")
    _, lines = serving(str(tmp_path / "kept"), "--demo")
    assert len([line for line in lines if "once:" in line]) == 2
    make_demo(tmp_path / "mine")
    (tmp_path / "mine" / "documents.jsonl").write_text("")
    process, lines = serving(str(tmp_path / "mine"), "--demo")
    assert process.wait(timeout=20) == 2
    assert "holds another campaign" in "\n".join(lines)


def test_which_campaign(serving):
    """Without a folder one is asked for."""
    process, lines = serving()
    assert process.wait(timeout=20) == 2
    assert "no campaign is named: give its folder, or --demo" in "\n".join(lines)


def test_a_taken_port_is_said_before_anything_is_opened(run, tmp_path):
    """The first thing that goes wrong on a busy machine has an answer: another port."""
    make_demo(tmp_path / "demo")
    with socket.create_server(("127.0.0.1", 0)) as used:
        answer = run("serve", "demo", "--port", str(used.getsockname()[1]))
    assert answer.code == 1
    assert answer.err.endswith("Address already in use (choose another --port)\n")
    assert not (tmp_path / "demo" / "studio.db").exists()


@pytest.mark.parametrize("host", ["nowhere.invalid", "192.0.2.1"])
def test_an_address_that_is_not_ours_is_said(run, tmp_path, host):
    """One cannot listen where one is not."""
    answer = run("serve", str(tmp_path), "--host", host, "--port", "0")
    assert answer.code == 1
    assert answer.err.startswith(f"adjudge: cannot listen on {host}, port 0: ")
    assert answer.err.endswith("(choose another --host)\n")


@pytest.mark.parametrize("url", ["judge.example.org", "ftp://judge.example.org", "javascript:x"])
def test_the_address_for_links_is_one_of_the_web(run, url):
    """A link that no browser follows is not printed."""
    answer = run("serve", "--demo", "--url", url)
    assert answer.code == 2
    assert "must begin with http:// or https://" in answer.err


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (None, "demo: there is no such folder: make a campaign with `adjudge campaign new`"),
        ("a file", "demo: there is no such folder"),
        ("empty", "campaign.toml: there is no such file"),
        ("key", "key: Is a directory"),
        ("studio.db", "demo/studio.db: the database cannot be used: unable to open database file"),
    ],
)
def test_a_folder_that_is_no_campaign_is_said(run, tmp_path, made, said):
    """No folder, a file, an empty folder, or one in which something is in the way."""
    if made == "a file":
        (tmp_path / "demo").write_text("x")
    elif made == "empty":
        (tmp_path / "demo").mkdir()
    elif made:
        make_demo(tmp_path / "demo")
        (tmp_path / "demo" / made).mkdir(mode=0o700)
    answer = run("serve", "demo", "--port", "0")
    assert answer.code == 1
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    """The file is named, and why it has to be written."""
    make_demo(tmp_path / "demo")
    (tmp_path / "demo").chmod(0o555)
    lesser = []
    if os.geteuid() == 0:  # root may write everywhere, unless it gives that up
        rights = "-dac_override,-dac_read_search,-fowner"
        lesser = [shutil.which("setpriv") or pytest.skip("needs setpriv"), "--bounding-set", rights]
        lesser += ["--inh-caps", rights]
    command = [*lesser, sys.executable, "-m", "adjudge", "serve", str(tmp_path / "demo"), "--port", "0"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    (tmp_path / "demo").chmod(0o755)
    assert answer.returncode == 1
    assert "Permission denied: judgments are stored in the campaign's folder, so it must be writable" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_interrupted_while_it_starts(tmp_path):
    """Ctrl-C while the demo is being filled ends it, and the demo's folder goes with it."""
    program = """
import signal
from adjudge.studio import demo
join, joined = demo.add_judge, []
def interrupted(*given):
    joined.append(given)
    if len(joined) == 3:
        signal.raise_signal(signal.SIGINT)
    return join(*given)
demo.add_judge = interrupted
from adjudge.cli import main
main(["serve", "--demo", "--port", "0"])
"""
    places = {**os.environ, "TMPDIR": str(tmp_path)}
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False, env=places
    )
    assert (answer.returncode, answer.stderr) == (130, "adjudge: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_several_campaigns_have_a_front_page(serving, tmp_path):
    """A folder of campaigns, one of them damaged: the others are served, each with a link for its lead."""
    for name in ("elm", "oak", "ash"):
        make_demo(tmp_path / "all" / name)
    (tmp_path / "all" / "ash" / "gold.csv").unlink()
    _, lines = serving(str(tmp_path / "all"))
    assert any(line.startswith("ash cannot be served: ") for line in lines)
    assert any(re.fullmatch(r"2 campaigns: http://127\.0\.0\.1:\d+", line) for line in lines)
    links = [line.split()[-1] for line in lines if "once:" in line]
    assert [re.search(r"/c/(\w+)/join/", link)[1] for link in links] == ["elm", "oak"]
    for address in (links[0], links[0].split("/c/")[0]):
        with urllib.request.urlopen(address) as page:
            assert (page.status, b'name="password"' in page.read()) == (200, True)


def test_a_demo_is_one_campaign(run):
    """Two folders and --demo are refused."""
    refused = run("serve", "--demo", "elm", "oak")
    assert (refused.code, refused.err) == (2, "adjudge: --demo serves one campaign: give one folder, or none\n")


def test_a_proxy_may_serve_the_studio_below_a_path(serving, tmp_path):
    """With the path in --url, links have it, whether the proxy keeps it in its requests or removes it."""
    make_demo(tmp_path / "demo")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = "https://judge.example.org/adjudge/"
    _, lines = serving(str(tmp_path / "demo"), "--url", url, "--port", str(port))
    link = next(line.split()[-1] for line in lines if "once:" in line)
    assert link.startswith("https://judge.example.org/adjudge/join/")
    for path in ("/adjudge/sign-in", "/sign-in"):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as page:
            assert b'action="/adjudge/sign-in"' in page.read()


def test_several_campaigns_have_an_address_without_a_path(run, tmp_path):
    """Their own addresses have one."""
    for name in ("elm", "oak"):
        make_demo(tmp_path / name)
    refused = run("serve", str(tmp_path / "elm"), str(tmp_path / "oak"), "--url", "https://a.example/x", "--port", "0")
    expected = "adjudge: --url 'https://a.example/x' has a path: several campaigns need an address without one\n"
    assert (refused.code, refused.err) == (2, expected)


def test_only_the_demo_can_be_still(run):
    """Simulated judges work nowhere else."""
    refused = run("serve", "somewhere", "--still")
    message = "adjudge: --still is for --demo: simulated judges work in the demo only\n"
    assert (refused.code, refused.err) == (2, message)
