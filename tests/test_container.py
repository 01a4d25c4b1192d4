"""The Dockerfile: what it copies exists, what it installs is declared, and it does not run as root."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
STEPS = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())


def steps(name):
    """Return the arguments of all steps with this name."""
    return re.findall(rf"^{name} (.*)$", STEPS, re.MULTILINE)


def test_copied_files_exist_and_are_sent_to_the_builder():
    """Every source of COPY is in the repository, and .dockerignore lets it pass."""
    sources = [source for step in steps("COPY") for source in step.split()[:-1]]
    assert sources == ["pyproject.toml", "constraints.txt", "README.md", "LICENSE", "src"]
    assert all((ROOT / source).exists() for source in sources)
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert [line.removeprefix("!") for line in ignored if line.startswith("!")] == sources


def test_installed_extras_are_declared():
    """The image has the studio and reports, and all its extras are in pyproject.toml; its Python is supported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r'"/build\[(.*)\]"', STEPS)
    assert {"studio", "report", "postgresql"} <= set(extras.split(",")) <= set(project["optional-dependencies"])
    (python,) = re.findall(r"python:([\d.]+)-slim", steps("FROM")[0])
    assert f"Programming Language :: Python :: {python}" in project["classifiers"]


def test_the_image_runs_as_an_unprivileged_user():
    """The user comes before the entry point, and owns the cache and the working folder."""
    assert steps("USER") == ["adjudge"]
    assert steps("ENTRYPOINT") == ['["adjudge"]']
    assert STEPS.index("\nUSER") < STEPS.index("\nENTRYPOINT")
    assert steps("ENV") == ["XDG_CACHE_HOME=/home/adjudge/.cache"]
    assert steps("VOLUME") == ["/home/adjudge/.cache"]
    assert steps("HEALTHCHECK")[0].endswith("urlopen('http://127.0.0.1:8000/readyz', timeout=4)\"]")
