"""The front door: exact names, light to open, and a README that works."""

import doctest
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from typer.main import get_command

import adjudge
from adjudge.cli.app import app

ROOT = Path(__file__).parents[1]


def test_all_is_exact():
    """__all__ has what users write: all names of HOMES and MODULES but the classes that only functions make."""
    homes = [name for names in adjudge.HOMES.values() for name in names]
    assert len(homes) == len(set(homes))
    written = {"Fit", "Judgments", "LambdaMART", "Panel", "Prior", "RankSVM", "Run", "Scale"}
    for name in (*homes, *adjudge.MODULES):
        value = getattr(adjudge, name)
        is_error = inspect.isclass(value) and issubclass(value, Exception)
        assert (name in adjudge.__all__) == (not inspect.isclass(value) or is_error or name in written), name
    assert set(adjudge.__all__) <= {*homes, *adjudge.MODULES}
    assert dir(adjudge) == sorted([*adjudge.__all__, "__version__"])


COMMANDS_ONLY = {  # commands without a function of the same name, and what Python has instead
    "models": "MODELS",  # `adjudge.models` is the subpackage
    "datasets": "dataset",
    "draws": "to_arviz",
    "campaign": None,  # the studio is no library
    "serve": None,
}


def test_every_command_has_a_function_and_a_page_of_the_same_name():
    """One vocabulary: command, Python function and page; subcommands are functions of a module."""
    commands = get_command(app).commands
    for name, command in commands.items():
        assert (ROOT / "docs/reference/commands" / f"{name}.md").is_file()
        if name in COMMANDS_ONLY:
            assert COMMANDS_ONLY[name] is None or COMMANDS_ONLY[name] in adjudge.__all__
            continue
        assert name in adjudge.__all__
        value = getattr(adjudge, name)
        if hasattr(command, "commands"):
            assert sorted(command.commands) == sorted(value.__all__)
            assert all(inspect.isfunction(getattr(value, part)) for part in command.commands)
        else:
            assert inspect.isfunction(value)
            assert value.__name__ == name
    assert set(COMMANDS_ONLY) < set(commands)


def test_functions_take_the_fit_first_and_then_the_judgments():
    """In the order of the command line."""
    second = {"update": "new", "evaluate": "runs"}
    for name in ("predict", "update", "evaluate", "judges", "monitor", "check", "report"):
        parameters = list(inspect.signature(getattr(adjudge, name)).parameters)
        assert parameters[:2] == ["fit", second.get(name, "judgments")]
    for name in ("fit", "compare", "agreement", "weights"):
        assert next(iter(inspect.signature(getattr(adjudge, name)).parameters)) == "judgments"
    assert callable(adjudge.score)


def test_names_stay_functions_after_their_rooms_are_imported():
    """No subpackage has the name of a function, which it would replace."""
    rooms = {path.stem for path in (ROOT / "src/adjudge").iterdir()}
    assert not rooms & set(adjudge.__all__)


def test_an_unknown_name_is_an_attribute_error():
    """As in any module."""
    with pytest.raises(AttributeError, match="module 'adjudge' has no attribute 'magic'"):
        adjudge.magic  # noqa: B018


def test_importing_adjudge_loads_nothing_heavy():
    """Rooms load when used: not numba, not polars, not even numpy."""
    program = (
        "import sys, adjudge; print([name for name in ('numpy', 'numba', 'polars', 'typer') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("page", ["README.md", "docs/tutorials/consensus.md"])
def test_examples_in_pages_work(page, tmp_path, monkeypatch):
    """Every >>> in the page gives what the page says."""
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize(
    "module",
    [
        "adjudge",
        "adjudge.inference.fit",
        "adjudge.learn.features",
        "adjudge.learn.passages",
        "adjudge.learn.ranker",
        "adjudge.learn.rerank",
        "adjudge.learn.search",
        "adjudge.learn.text",
        "adjudge.compat.cleanlab",
        "adjudge.compat.crowdkit",
        "adjudge.compat.crowdkit.metrics",
        "adjudge.compat.crowdkit.postprocessing",
        "adjudge.compat.crowdkit.texts",
        "adjudge.compat.sklearn",
        "adjudge.data.columns",
        "adjudge.data.datasets",
        "adjudge.data.encode",
        "adjudge.data.files",
        "adjudge.data.formats",
        "adjudge.data.gold",
        "adjudge.data.judgments",
        "adjudge.data.read",
        "adjudge.data.runs",
        "adjudge.data.scale",
        "adjudge.data.show",
        "adjudge.data.simulate",
        "adjudge.data.source",
        "adjudge.data.trec",
        "adjudge.data.write",
        "adjudge.metrics.agreement",
        "adjudge.metrics.compare",
        "adjudge.metrics.labels",
        "adjudge.metrics.ranking",
        "adjudge.metrics.score",
        "adjudge.metrics.significance",
        "adjudge.evaluation.evaluate",
        "adjudge.metrics.checks",
        "adjudge.studio.gate_designer",
        "adjudge.studio.gates",
        "adjudge.studio.desk.exports",
        "adjudge.studio.desk.imports",
        "adjudge.studio.desk.labels",
        "adjudge.studio.desk.prompts",
        "adjudge.studio.web.render",
        "adjudge.studio.web.security",
        "adjudge.studio.web.viewer",
        "adjudge.diagnostics.judges",
        "adjudge.diagnostics.collusion",
        "adjudge.diagnostics.confusions",
        "adjudge.diagnostics.control_chart",
        "adjudge.diagnostics.drift",
        "adjudge.diagnostics.gold_accuracy",
        "adjudge.diagnostics.monitor",
        "adjudge.diagnostics.new_work",
        "adjudge.diagnostics.sentences",
        "adjudge.diagnostics.streaks",
        "adjudge.diagnostics.second_looks",
        "adjudge.reports.case",
        "adjudge.reports.drawing",
        "adjudge.reports.figure_paper",
        "adjudge.reports.gallery",
        "adjudge.reports.page",
        "adjudge.reports.report",
        "adjudge.reports.summary",
        "adjudge.models.multilabel",
        "adjudge.models.scores",
    ],
)
def test_examples_in_docstrings_work(module):
    """Every >>> in the module gives what it says."""
    failed, tried = doctest.testmod(import_module(module))
    assert tried > 0
    assert failed == 0


def test_readme_begins_as_agreed():
    """One sentence, an example with output, a picture, the two commands, a table of papers, in 40 lines."""
    head = "\n".join((ROOT / "README.md").read_text().splitlines()[:40])
    for part in (">>> import adjudge", "![", "make demo", "make test", "| paper |"):
        assert part in head


def test_links_in_pages_lead_somewhere():
    """Every relative link is a file."""
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
