"""campaign.toml: every problem with its line, and a file that teaches."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.studio.campaign.lines import Problems
from adjudge.studio.campaign.settings_file import line_of_keys, read_settings, settings_text
from adjudge.studio.settings import SETTINGS, About, Prolific, Settings


def read(text):
    """Return the settings of a text, and what is wrong with it."""
    problems = Problems()
    return read_settings(text, problems), problems.found


def test_an_empty_file_is_all_defaults():
    """Nothing needs to be written."""
    assert read("") == (Settings(), [])


def test_the_written_file_has_everything_with_a_comment():
    """Each setting stands below a line that says what it means and what it may be."""
    lines = settings_text(Settings()).splitlines()
    for setting in SETTINGS:
        assert any(
            before == f"# {setting.meaning}; {setting.expected}" and line.startswith(f"{setting.key} = ")
            for before, line in pairwise(lines)
        ), setting.name


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
    st.lists(st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=9), max_size=3),
)
def test_what_is_written_is_read(instructions, studies):
    """Whatever the texts hold: quotation marks, backslashes, line breaks, control characters."""
    settings = replace(Settings(), campaign=About(instructions=instructions), prolific=Prolific(studies=tuple(studies)))
    found, problems = read(settings_text(settings))
    assert (found, problems) == (settings, [])


def test_the_line_of_a_problem():
    """All problems are found, each with its line; what is right is kept."""
    text = '# mine\n[assignment]\nsets = 3\n\n[gate]\n# strict\nbinary = 85\nndcg = 0.5\nseconds = "6"\n'
    settings, problems = read(text)
    assert problems == [
        "campaign.toml, line 7: gate.binary is 85, expected a number from 0 to 1 (for 85 %, write 0.85)",
        "campaign.toml, line 9: gate.seconds is '6', expected a number from 0 to 3,600 (without quotation marks)",
    ]
    assert (settings.assignment.sets, settings.gate.ndcg, settings.gate.binary) == (3, 0.5, 0.85)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[gates]\nbinary = 0.9", "line 1: there is no table [gates]; did you mean [gate]?"),
        ("[zzz]", "line 1: there is no table [zzz]"),
        ("[gate]\n\nbinry = 0.9", "line 3: there is no setting gate.binry; did you mean gate.binary?"),
        ("[gate]\nqqqq = 1", "line 2: there is no setting gate.qqqq"),
        ("\nbinary = 0.9", "line 2: 'binary' stands in no table; did you mean gate.binary?"),
        ("zzz = 1", "line 1: 'zzz' stands in no table"),
        ("gate = 3", "line 1: gate is '3', expected a table [gate]"),
        ("gate.binary = 2.5", "line 1: gate.binary is 2.5, expected a number from 0 to 1 (for 2.5 %, write 0.025)"),
        ("gate = {binary = 3}", "line 1: gate.binary is 3, expected a number from 0 to 1 (for 3 %, write 0.03)"),
        (
            "[assignment]\nsets = 1",
            "assignment.gold_sets is 1 of 1 sets, which leaves nothing to judge: make it smaller",
        ),
        (
            "[assignment]\nsets = 3\ngold_sets = 3",
            "line 3: assignment.gold_sets is 3 of 3 sets, which leaves nothing to judge: make it smaller",
        ),
    ],
)
def test_what_is_not_known(text, problem):
    """Tables and keys that there are not, with what was probably meant."""
    where = ", " if problem.startswith("line") else ": "
    assert read(text)[1] == [f"campaign.toml{where}{problem}"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "[gate]\nbinary = .85\n",
            "campaign.toml, line 2: is not TOML: invalid value in column 10; texts need quotation marks",
        ),
        ("[campaign]\nname = my campaign\n", "campaign.toml, line 2: is not TOML: invalid value in column 8"),
        ("[gate]\nbinary =", "campaign.toml, line 2: is not TOML: invalid value"),
    ],
)
def test_what_is_not_toml(text, problem):
    """Is one problem, with its line."""
    settings, problems = read(text)
    assert settings == Settings()
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_keys_inside_texts_are_none():
    """A text of several lines may hold what looks like tables and keys."""
    text = '[campaign]\ninstructions = """\n[gate]\nbinary = 1\n"""\n"contact" = "x"\n[ gate ]\n\'binary\' = 0.5\n'
    lines = {"campaign": 1, "campaign.instructions": 2, "campaign.contact": 6, "gate": 7, "gate.binary": 8}
    assert line_of_keys(text) == lines
