"""The catalogue: both languages say the same things, and pages ask for nothing that is not in it."""

import re
from pathlib import Path

import pytest

import adjudge.collect.web
from adjudge.collect.web.catalogue import LANGUAGES, filled, text

ROOM = Path(adjudge.collect.web.__file__).parent
PAGES = sorted((ROOM / "pages").glob("*.html"))
SCRIPTS = sorted((ROOM / "static" / "judge").glob("*.js"))
DOORS = [ROOM.parent / "entry" / "access.py", ROOM.parent / "work" / "commands_people.py"]
IN_PAGE = re.compile(r'texts\["(\w+)"\]')
IN_SCRIPT = re.compile(r'\bt\("(\w+)"')
IN_REFUSAL = re.compile(r'Refused\(\d+, "(\w+)"')
BRACES = re.compile(r"\{(\w+)\}")


def used():
    """Return every key that a page, a script or a refusal at the door asks for, and who does."""
    asked = [(IN_PAGE, page) for page in PAGES] + [(IN_SCRIPT, script) for script in SCRIPTS]
    asked += [(IN_REFUSAL, module) for module in DOORS]
    return {(key, path.name) for pattern, path in asked for key in pattern.findall(path.read_text(encoding="utf-8"))}


def names(words):
    """Return the names that a text wants filled in, form by form."""
    return [sorted(set(BRACES.findall(form))) for form in words.split("|")]


def test_there_are_two_languages():
    """English is one of them."""
    assert LANGUAGES == ("en", "de")


def test_languages_have_the_same_keys():
    """No text is missing in either, and none is empty."""
    english, german = text("en"), text("de")
    assert sorted(english) == sorted(german)
    assert all(words.strip() for words in [*english.values(), *german.values()])


def test_languages_fill_in_the_same_names():
    """Each form of each text wants the same values, and there are as many forms."""
    english, german = text("en"), text("de")
    assert {key: names(english[key]) for key in english} == {key: names(german[key]) for key in german}


def test_no_text_has_more_than_two_forms():
    """One and many."""
    assert all(words.count("|") <= 1 for language in LANGUAGES for words in text(language).values())


def test_what_is_asked_for_exists():
    """In pages and scripts alike."""
    assert {pair for pair in used() if pair[0] not in text("en")} == set()


def test_nothing_is_there_in_vain():
    """Every key is asked for somewhere."""
    assert set(text("en")) - {key for key, _ in used()} == set()


def test_scripts_name_their_keys():
    """A key that is put together at run time could not be checked, so there is none."""
    calls = re.compile(r'(?<![\w.])t\((?!")')
    assert [path.name for path in SCRIPTS if calls.search(path.read_text().replace("function t(", ""))] == []


def test_an_unknown_language_is_english():
    """A page without words helps nobody."""
    assert text("tlh") == text("en")


@pytest.mark.parametrize(
    ("n", "said"),
    [(1, "Offline: 1 change kept here"), (2, "Offline: 2 changes kept here"), (0, "Offline: 0 changes kept here")],
)
def test_the_form_fits_the_number(n, said):
    """One is one, and all else many."""
    assert filled(text("en")["offline"], n=n) == said


def test_the_page_preloads_every_module():
    """A module that is not named in the page costs a round trip more."""
    listed = re.search(r"{% for name in \[(.*?)\]", (ROOM / "pages" / "judge.html").read_text(), re.S)
    assert sorted(re.findall(r'"(\w+)"', listed[1])) == [path.stem for path in SCRIPTS if path.stem != "main"]


def test_a_passed_qualification_asks_for_what_its_button_says():
    """Nothing is to be submitted: the button goes on to the work."""
    for language in LANGUAGES:
        said = text(language)
        assert said["go_on_work"].split()[-1].rstrip(".") in said["may_go_on"]
        assert said["may_go_on_contest"].startswith(said["may_go_on"])
