"""The files in deploy/: units of systemd, containers, Prometheus; they name options and metrics that exist."""

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from adjudge.cli.app import app
from adjudge.studio.record.store import PASSWORD_FILE, database_url

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
FILES = [path for path in DEPLOY.iterdir() if path.is_file()]
SERVE = get_command(app).commands["serve"]
OPTIONS = {option for parameter in SERVE.params for option in parameter.opts}
SOURCES = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))


def unit(name):
    """Return a unit of systemd: section -> key -> value."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str
    parser.read(DEPLOY / name)
    return parser


@pytest.fixture(scope="module")
def compose():
    """Return the services of the containers, and the rest of the file."""
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def option_names(words):
    """Return the options among the words of a command."""
    return {word.partition("=")[0] for word in words if word.startswith("--")}


def test_the_service_starts_the_studio_as_it_is():
    """Its options exist, it is told when the studio is ready, and its socket is that of the proxy's file."""
    service = unit("adjudge.service")["Service"]
    words = shlex.split(service["ExecStart"])
    assert words[1] == "serve"
    assert option_names(words) <= OPTIONS
    assert service["Type"] == "notify"
    assert unit("adjudge.socket")["Socket"]["ListenStream"] == "127.0.0.1:8000"
    assert "server 127.0.0.1:8000" in (DEPLOY / "nginx.conf").read_text()
    assert service["User"] not in ("", "root")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze (Debian's package systemd)")
def test_systemd_accepts_the_units(tmp_path):
    """Without a warning, once the program is where the unit says; and it calls the service well protected."""
    for name in ("adjudge.service", "adjudge.socket"):
        text = (DEPLOY / name).read_text().replace("/opt/adjudge/bin/adjudge", shutil.which("true"))
        (tmp_path / name).write_text(text)
    units = [str(tmp_path / name) for name in ("adjudge.service", "adjudge.socket")]
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, timeout=60)
    complaints = [line for line in (done.stdout + done.stderr).splitlines() if "adjudge" in line]
    assert complaints == []
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=25", units[0]], capture_output=True, text=True
    )
    assert rated.returncode == 0, rated.stdout[-300:]  # an exposure of at most 2.5 of 10


def test_the_studio_starts_under_the_container_file(compose):
    """Its options exist, its variables are read, its address is checked by a readiness probe."""
    studio = compose["services"]["studio"]
    assert studio["command"][0] == "serve"
    assert option_names(studio["command"]) <= OPTIONS
    assert all(name in SOURCES for name in studio["environment"])
    assert studio["healthcheck"]["test"][-1].endswith("urlopen('http://127.0.0.1:8000/readyz', timeout=4)")
    compile(studio["healthcheck"]["test"][-1], "healthcheck", "exec")
    gateway = compose["networks"]["inside"]["ipam"]["config"][0]["gateway"]
    assert f"--proxies={gateway}" in studio["command"]
    assert studio["ports"] == ["127.0.0.1:8000:8000"]


def test_containers_have_no_rights_that_they_do_not_need(compose):
    """No root, no capabilities, a read-only root; secrets, volumes and networks that are used are declared."""
    for service in compose["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "privileged" not in service
        assert set(service["secrets"]) <= set(compose["secrets"])
        assert {volume.partition(":")[0] for volume in service["volumes"]} <= set(compose["volumes"])
        assert set(service["networks"]) <= set(compose["networks"])
    assert re.search(r"^USER adjudge$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert compose["services"]["database"]["user"] == "postgres"
    assert "ports" not in compose["services"]["database"]
    folders = [volume.partition(":")[2] for volume in compose["services"]["studio"]["volumes"]]
    owned = (ROOT / "Dockerfile").read_text()
    assert all(folder in owned for folder in folders)


def test_the_proxy_lets_uploads_pass():
    """Those that the studio accepts, alone and below the path of a campaign; nothing else is as large."""
    from adjudge.studio.web.app import UPLOADS
    from adjudge.studio.web.site import UPLOAD_BYTES

    text = (DEPLOY / "nginx.conf").read_text()
    (pattern,) = re.findall(r"location ~ (\S+) \{\n[^}]*client_max_body_size 100m", text)
    for path in (*UPLOADS, *UPLOAD_BYTES):
        assert re.search(pattern, path)
        assert re.search(pattern, f"/c/trial{path}")
    assert not re.search(pattern, "/api/answers")


def test_no_secret_is_written_in_a_file():
    """Passwords come from files that git does not know."""
    assert "deploy/secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    for path in FILES:
        assert not re.search(r"(?i)password\s*[:=]\s*\w", path.read_text()), path.name


def test_the_password_of_the_database_is_in_a_file(monkeypatch, tmp_path):
    """As containers get it; a file that cannot be read is named."""
    from adjudge.errors import InputError

    monkeypatch.setenv("ADJUDGE_DATABASE", "postgresql+psycopg://adjudge@database/adjudge")
    monkeypatch.setenv(PASSWORD_FILE, str(tmp_path / "password"))
    with pytest.raises(InputError, match=f"{PASSWORD_FILE} names a file that cannot be read"):
        database_url(tmp_path, "studio.db")
    (tmp_path / "password").write_text("s/e:c@ret\n")
    url = database_url(tmp_path, "studio.db")
    assert (url.password, url.host) == ("s/e:c@ret", "database")
    monkeypatch.delenv("ADJUDGE_DATABASE")
    assert database_url(tmp_path, "studio.db").password is None


def test_metrics_in_alerts_and_pages_exist():
    """Every name of a metric, in the rules and in the docs, is one that the studio or its process has."""
    from prometheus_client import REGISTRY

    named = set(re.findall(r'"(adjudge_[a-z_]+)"', (ROOT / "src/adjudge/studio/web/operations.py").read_text()))
    suffixes = ("", "_total", "_bucket", "_sum", "_count")
    existing = {name + suffix for name in named for suffix in suffixes}
    existing |= {sample.name for metric in REGISTRY.collect() for sample in metric.samples}
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"][0]["rules"]
    texts = [rule["expr"] for rule in rules]
    texts += [(ROOT / "docs" / "how-to" / name).read_text() for name in ("operations.md", "programs.md")]
    used = {name for text in texts for name in re.findall(r"\b(?:adjudge|process)_[a-z_]+", text)}
    assert len(used) > 10
    assert used <= existing, used - existing
    assert all(rule["annotations"]["summary"].endswith(".") for rule in rules)
    assert all(rule["expr"].count("(") == rule["expr"].count(")") for rule in rules)
    scrape = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text())
    assert scrape["rule_files"] == ["alerts.yaml"]
    assert scrape["scrape_configs"][0]["metrics_path"] == "/metrics"


def test_files_that_the_page_names_exist():
    """The page on operations names every file in deploy/."""
    page = (ROOT / "docs" / "how-to" / "operations.md").read_text()
    assert set(re.findall(r"deploy/([\w.]+\.\w+)", page)) == {path.name for path in FILES}
