import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from adjudge.collect.files.demo import make_demo


@pytest.fixture
def serving(tmp_path):
    """Return a maker of studios in processes of their own, stopped at the end."""
    made = []

    def start(*arguments):
        command = [sys.executable, "-m", "adjudge", "serve", *arguments, "--port", "0"]
        made.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        lines = []
        for line in made[-1].stdout:
            lines.append(line.rstrip())
            if line.startswith("Stop with Ctrl-C"):
                break
        return made[-1], lines

    yield start
    for process in made:
        process.kill()
        process.wait()
        process.stdout.close()


def test_serve_says_where_and_lets_the_lead_in_once(serving, tmp_path):
    """The first start prints a link for the lead; the page is there; Ctrl-C ends it without a word of trouble."""
    make_demo(tmp_path / "demo")
    process, lines = serving(str(tmp_path / "demo"))
    link = next(line for line in lines if "come in as a lead" in line).split()[-1]
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


def test_which_campaign(serving):
    """Without a folder one is asked for."""
    process, lines = serving()
    assert process.wait(timeout=20) == 2
    assert "which campaign? give its folder, or --demo" in "\n".join(lines)
