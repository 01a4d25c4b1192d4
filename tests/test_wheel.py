"""The wheel: what it holds, how it runs for an unprivileged user, and what a user's type checker sees of it."""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import adjudge
from tests.unprivileged import give, run_unprivileged, unprivileged_python

ROOT = Path(__file__).parents[1]

USER = """
import adjudge

fit: adjudge.Fit = adjudge.fit(adjudge.dataset("anesthesia"), "dawid-skene")
labels: int = len(fit.scale)
adjudge.fit(adjudge.dataset("anesthesia"), 7)  # type: ignore[arg-type]
fit.no_such_name  # type: ignore[attr-defined]
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the wheel, built without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


def _pip(*arguments: str) -> None:
    """Run pip without the network."""
    command = [sys.executable, "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_wheel_holds_the_product(wheel):
    """The package with its licence and type marker, and nothing of the tests, the docs and the studies."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"adjudge", f"adjudge-{adjudge.__version__}.dist-info"}
    assert "adjudge/py.typed" in names
    assert f"adjudge-{adjudge.__version__}.dist-info/licenses/LICENSE" in names


def test_the_metadata_are_complete(wheel):
    """A licence, authors, keywords, an extra with everything; bounds from above only for packages at version 0."""
    name = f"adjudge-{adjudge.__version__}.dist-info/METADATA"
    metadata = Parser().parsestr(zipfile.ZipFile(wheel).read(name).decode())
    assert metadata["Version"] == adjudge.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Author"] == "the adjudge authors"
    assert metadata["Keywords"]
    assert "Typing :: Typed" in metadata.get_all("Classifier")
    needs = [Requirement(line) for line in metadata.get_all("Requires-Dist")]
    users = [need for need in needs if not _in_extra(need, "dev")]
    assert {need.name for need in users if need.marker} == {need.name for need in users if _in_extra(need, "all")}
    bounded = {need.name for need in users if "<" in str(need.specifier)}
    assert {name for name in bounded if not version(name).startswith("0.")} == set()


def _in_extra(need: Requirement, extra: str) -> bool:
    """Whether an extra asks for a package."""
    return need.marker is not None and f'extra == "{extra}"' in str(need.marker)


ROWS = "item,judge,label\n" + "".join(
    f"d{i},j{j},{'yes' if (i * j) % 3 else 'no'}\n" for i in range(9) for j in range(3)
)


def test_an_unprivileged_user_fits_from_the_wheel(wheel):
    """In a clean environment that belongs to somebody else, without a home, the commands work and write their files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        python, work = _installed(wheel, unprivileged_python(), folder / "venv"), folder / "work"
        (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
        (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
        work.mkdir()
        (work / "labels.csv").write_text(ROWS)
        give(work)
        command = [str(python.parent / "adjudge"), "fit", str(work / "labels.csv"), "--out", str(work / "fit")]
        printed = run_unprivileged(command, TMPDIR=str(work))
        assert "consensus: 9 items, 3 judges" in printed
        assert (work / "fit" / "labels.csv").read_text().startswith("item,label,probability,p_no,p_yes,entropy\n")


def _installed(wheel: Path, python: str, folder: Path) -> Path:
    """Return the Python of a new environment with nothing but the wheel."""
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
    _pip("--python", str(folder / "bin" / "python"), "install", "--no-deps", "--no-index", str(wheel))
    return folder / "bin" / "python"


def _pythons() -> dict[str, str]:
    """Return the supported versions of Python that are on this machine, and where."""
    found = {}
    for line in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]:
        name = line.removeprefix("Programming Language :: Python :: ")
        command = shutil.which(f"python{name}") if "." in name and name != line else None
        if command and not subprocess.run([command, "-c", "pass"], capture_output=True).returncode:
            found[name] = command
    return found


@pytest.mark.parametrize("python", _pythons().values(), ids=_pythons())
def test_every_python_compiles_the_wheel(wheel, python, tmp_path):
    """Each supported version on this machine installs the wheel, and accepts every file of it without a warning."""
    environment = _installed(wheel, python, tmp_path / "venv")
    (package,) = (tmp_path / "venv" / "lib").glob("python*/site-packages/adjudge")
    command = [str(environment), "-W", "error", "-m", "compileall", "-q", "-f", str(package)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    command = [str(environment), "-W", "error", "-c", "import adjudge; print(adjudge.__version__)"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == f"{adjudge.__version__}\n"


def test_a_users_script_is_checked_against_the_wheel(wheel, tmp_path):
    """Installed beside nothing but its dependencies, the package has types: mistakes are found, right calls pass."""
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    _pip("--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    (tmp_path / "user.py").write_text(USER)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
    assert done.stdout == "Success: no issues found in 1 source file\n", done.stdout + done.stderr
