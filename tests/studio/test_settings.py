"""campaign.toml: the paper's defaults, limits as data, every problem with its line, and a file that explains itself."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from adjudge.errors import Problems
from adjudge.studio.settings import (
    MODELS,
    SETTINGS,
    About,
    Assignment,
    Gate,
    Prolific,
    Settings,
    line_of_keys,
    read_settings,
    settings_text,
)


def read(text):
    """Return the settings of a text, and the problems in it."""
    problems = Problems()
    return read_settings(text, problems), problems.messages


def test_the_defaults_are_the_papers():
    """Six sets of five, one of them gold, .85, .62, six seconds, four jobs of five, three judgments."""
    s = Settings()
    assert (s.assignment.sets, s.assignment.documents, s.assignment.gold_sets) == (6, 5, 1)
    assert (s.gate.binary, s.gate.ndcg, s.gate.seconds) == (0.85, 0.62, 6.0)
    assert (s.qualification.jobs, s.qualification.documents, s.redundancy.judgments) == (4, 5, 3)


def test_every_setting_is_described():
    """Each has a meaning and says what it may be; names are unique."""
    assert all(setting.meaning and setting.expected for setting in SETTINGS)
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS) == 52


def test_settings_are_immutable_and_checked_when_made():
    """Also in code, not only in files."""
    with pytest.raises(ValidationError, match="frozen"):
        Settings().gate.binary = 0.5
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        Gate(binary=85)
    with pytest.raises(ValidationError, match="gold_sets is 2 of 2 sets"):
        Assignment(sets=2, gold_sets=2)


def test_models_are_models():
    """Every model that the desk may show is one that fits judgments."""
    from adjudge.inference.model import MODELS as KNOWN

    assert set(MODELS) == {*KNOWN, "graded"}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("gate.binary", 85, "gate.binary is 85, expected a number from 0 to 1 (for 85 %, write 0.85)"),
        ("gate.ndcg", -0.1, "gate.ndcg is -0.1, expected a number from 0 to 1"),
        ("gate.ndcg", float("nan"), "gate.ndcg is nan, expected a number from 0 to 1"),
        ("gate.seconds", "6", "gate.seconds is '6', expected a number from 0 to 3,600 (without quotation marks)"),
        ("gate.ndcg_of", "best", "gate.ndcg_of is 'best', expected one of 'printed', 'attainable'"),
        ("assignment.sets", 6.0, "assignment.sets is 6.0, expected a whole number from 1 to 100"),
        ("assignment.sets", True, "assignment.sets is true, expected a whole number from 1 to 100"),
        ("qualification.required", 1, "qualification.required is 1, expected true or false"),
        ("campaign.name", "", "campaign.name is '', expected a text of 1 to 120 characters"),
        (
            "campaign.contact",
            "x" * 201,
            f"campaign.contact is '{'x' * 60}...', expected a text of at most 200 characters",
        ),
        ("campaign.language", "English", "campaign.language is 'English', expected a language such as 'en' or 'de'"),
        ("pay.currency", "euro", "pay.currency is 'euro', expected three capital letters such as 'USD'"),
        ("prolific.studies", "a", "prolific.studies is 'a', expected a list of texts"),
        ("prolific.studies", [1], "prolific.studies is [1], expected a list of texts"),
        (
            "prolific.completion_url",
            "http://x.y",
            "prolific.completion_url is 'http://x.y', expected an address that begins with https://",
        ),
        (
            "mturk.submit_hosts",
            ["https://a/b"],
            "mturk.submit_hosts is ['https://a/b'], expected a list of host names such as 'www.mturk.com'",
        ),
        (
            "store.database",
            "postgres://ann:secret@host/db",
            "store.database is 'postgres://...@host/db', expected a file name or a URL that begins with "
            "postgresql+psycopg://",
        ),
    ],
)
def test_what_is_wrong_is_said(name, value, message):
    """With the field, its value, and what it may be; a password is never shown."""
    table, key = name.split(".")
    toml = str(value).lower() if isinstance(value, bool) else repr(value)
    assert read(f"[{table}]\n{key} = {toml}") == (Settings(), [f"campaign.toml, line 2: {message}"])


@pytest.mark.parametrize("value", ["studio.db", "data/my studio.db", "postgresql+psycopg://ann:pw@host/db"])
def test_databases(value):
    """A file, or the URL of the one kind of server that is supported."""
    settings, problems = read(f"[store]\ndatabase = '{value}'")
    assert (settings.store.database, problems) == (value, [])


def test_values_become_what_the_record_holds():
    """Whole numbers become floats where any number will do, and lists become tuples."""
    settings, _ = read("[gate]\nseconds = 6\n[prolific]\nstudies = ['a']")
    assert repr(settings.gate.seconds) == "6.0"
    assert settings.prolific.studies == ("a",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "[assignment]\nsets = 1",
            "line 2: assignment.gold_sets is 1 of 1 sets, so nothing is left to judge: make it smaller",
        ),
        (
            "[assignment]\nsets = 3\ngold_sets = 3",
            "line 3: assignment.gold_sets is 3 of 3 sets, so nothing is left to judge: make it smaller",
        ),
        (
            "[redundancy]\nleast = 4\nmost = 3",
            "line 2: redundancy.least is 4, more than redundancy.most, which is 3: lower it",
        ),
        (
            "[prolific]\nenabled = true",
            "line 2: prolific.enabled is true, but prolific.studies is empty, so nobody could come: name the study",
        ),
        (
            "[mturk]\nsubmit_hosts = []\nenabled = true",
            "line 3: mturk.enabled is true, but mturk.submit_hosts is empty, so nothing could be submitted: "
            "name a host",
        ),
    ],
)
def test_fields_that_clash(text, problem):
    """Fields that are valid alone and not together are one problem; all of them have their defaults."""
    assert read(text) == (Settings(), [f"campaign.toml, {problem}"])


def test_a_clash_is_found_beside_a_wrong_field():
    """Every problem is listed at once, in the order of lines."""
    text = "[assignment]\nsets = 2\ngold_sets = 2\ndocuments = 99\n[gate]\nbinry = 1\n"
    assert read(text)[1] == [
        "campaign.toml, line 3: assignment.gold_sets is 2 of 2 sets, so nothing is left to judge: make it smaller",
        "campaign.toml, line 4: assignment.documents is 99, expected a whole number from 2 to 9",
        "campaign.toml, line 6: there is no setting gate.binry; did you mean gate.binary?",
    ]


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
    settings = Settings(campaign=About(instructions=instructions), prolific=Prolific(studies=tuple(studies)))
    result, problems = read(settings_text(settings))
    assert (result, problems) == (settings, [])


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
        ("\nbinary = 0.9", "line 2: 'binary' is in no table; did you mean gate.binary?"),
        ("zzz = 1", "line 1: 'zzz' is in no table"),
        ("gate = 3", "line 1: gate is '3', expected a table [gate]"),
        ("gate.binary = 2.5", "line 1: gate.binary is 2.5, expected a number from 0 to 1 (for 2.5 %, write 0.025)"),
        ("gate = {binary = 3}", "line 1: gate.binary is 3, expected a number from 0 to 1 (for 3 %, write 0.03)"),
    ],
)
def test_what_is_not_known(text, problem):
    """Tables and keys that there are not, with what was probably meant."""
    assert read(text)[1] == [f"campaign.toml, {problem}"]


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
