"""Pages from templates: whose language, and nothing that was typed is markup."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import adjudge.studio.web
from adjudge.studio.access import ACTIONS
from adjudge.studio.web import render
from adjudge.studio.web.render import (
    DONE,
    LANGUAGES,
    NAVIGATION,
    fill,
    page,
    preferred_language,
    redirect_done,
    request_texts,
    texts,
)


def asking(accepted="", usual="en", name="Trees"):
    """Return a request that a browser of some languages sends to a campaign of another."""
    about = SimpleNamespace(language=usual, name=name)
    studio = SimpleNamespace(campaign=SimpleNamespace(settings=SimpleNamespace(campaign=about)))
    app = SimpleNamespace(state=SimpleNamespace(studio=studio, root=""))
    return SimpleNamespace(app=app, headers={"accept-language": accepted})


@pytest.mark.parametrize(
    ("accepted", "usual", "language"),
    [
        ("de-AT,de;q=0.9,en;q=0.5", "en", "de"),
        ("fr,en;q=0.5,de;q=0.4", "de", "en"),
        ("EN-gb", "de", "en"),
        ("fr", "de", "de"),
        ("", "de", "de"),
        (";;,,", "en", "en"),
    ],
)
def test_a_page_is_in_the_first_language_of_ours(accepted, usual, language):
    """That a browser asks for; otherwise in the campaign's."""
    assert preferred_language(asking(accepted), usual) == language
    assert request_texts(asking(accepted, usual)) == texts(language)


def test_a_person_has_a_language_whatever_the_browser_says():
    """The language of an account is the account's."""
    answer = page(asking("en"), "sign_in.html", language="de")
    assert b'<html lang="de"' in answer.body
    assert texts("de")["sign_in"].encode() in answer.body


def test_what_was_typed_is_text():
    """Names of campaigns and of people are written as they are, and are no markup."""
    answer = page(asking(name="<i>Trees"), "sign_in.html", 401, name='"><script>x()</script>', errors={"": "no"})
    assert answer.status_code == 401
    assert b"<script>x()" not in answer.body
    assert b"<i>" not in answer.body
    assert b"&lt;i&gt;Trees" in answer.body


def test_a_page_that_asks_for_nothing_carries_no_secret():
    """Only who is signed in gets the page's word, or a session."""
    body = page(asking(), "sign_in.html").body
    assert b'name="csrf"' not in body
    assert b'name="session"' not in body


ROOM = Path(adjudge.studio.web.__file__).parent
PAGES = sorted((ROOM / "pages").glob("*.html"))
SCRIPTS = sorted((ROOM / "static" / "judge").glob("*.js"))
DOORS = [ROOM.parent / "access.py", ROOM / "routes_account.py"]
DOORS += [ROOM.parent / "work" / name for name in ("identities.py", "people.py", "second_factor.py", "sessions.py")]
ROUTES = sorted(ROOM.glob("*.py"))
IN_ROUTE = re.compile(r'texts\(\w+\)\["(\w+)"\]')
IN_PAGE = re.compile(r'texts\["(\w+)"\]')
IN_SCRIPT = re.compile(r'\bt\("(\w+)"')
IN_REFUSAL = re.compile(r'Refused\(\d+, "(\w+)"')
IN_FRONT = re.compile(r'Refused\(\d+, "((?:campaign|try)_\w+)"')
BRACES = re.compile(r"\{(\w+)\}")


def used():
    """Return every key that a page, a script or a refusal at the door asks for, and who does."""
    requested = [(IN_PAGE, page) for page in PAGES] + [(IN_SCRIPT, script) for script in SCRIPTS]
    requested += [(IN_REFUSAL, module) for module in DOORS] + [(IN_FRONT, ROOM / "site.py")]
    requested += [(IN_ROUTE, module) for module in ROUTES]
    return {
        (key, path.name) for pattern, path in requested for key in pattern.findall(path.read_text(encoding="utf-8"))
    }


def names(words):
    """Return the names that a text wants filled in, form by form."""
    return [sorted(set(BRACES.findall(form))) for form in words.split("|")]


def test_there_are_two_languages():
    """English is one of them."""
    assert LANGUAGES == ("en", "de")


def test_languages_have_the_same_keys():
    """No text is missing in either, and none is empty."""
    english, german = texts("en"), texts("de")
    assert sorted(english) == sorted(german)
    assert all(words.strip() for words in [*english.values(), *german.values()])


def test_languages_fill_in_the_same_names():
    """Each form of each text wants the same values, and there are as many forms."""
    english, german = texts("en"), texts("de")
    assert {key: names(english[key]) for key in english} == {key: names(german[key]) for key in german}


def test_no_text_has_more_than_two_forms():
    """One and many."""
    assert all(words.count("|") <= 1 for language in LANGUAGES for words in texts(language).values())


def test_what_is_asked_for_exists():
    """In pages and scripts alike."""
    assert {pair for pair in used() if pair[0] not in texts("en")} == set()


def test_nothing_is_there_in_vain():
    """Every key is asked for somewhere."""
    assert set(texts("en")) - {key for key, _ in used()} == set()


def test_scripts_name_their_keys():
    """A key that is put together at run time could not be checked, so there is none."""
    calls = re.compile(r'(?<![\w.])t\((?!")')
    assert [path.name for path in SCRIPTS if calls.search(path.read_text().replace("function t(", ""))] == []


def test_an_unknown_language_is_english():
    """A page without words helps nobody."""
    assert texts("tlh") == texts("en")


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (1, "Offline: 1 change stored here"),
        (2, "Offline: 2 changes stored here"),
        (0, "Offline: 0 changes stored here"),
    ],
)
def test_the_form_fits_the_number(n, said):
    """One is one, and all else many."""
    assert fill(texts("en")["offline"], n=n) == said


def test_a_passed_qualification_asks_for_what_its_button_says():
    """Nothing is to be submitted: the button goes on to the work."""
    for language in LANGUAGES:
        message = texts(language)
        assert message["go_on_work"].split()[-1].rstrip(".") in message["may_go_on"]
        assert message["may_go_on_contest"].startswith(message["may_go_on"])


# Pages of the desk, and formats


def test_every_way_asks_for_an_action_that_there_is():
    """A lead may go everywhere, a judge nowhere."""
    for _, _, action in NAVIGATION:
        assert action in ACTIONS["lead"]
        assert action not in ACTIONS["judge"]


def test_the_way_back_says_what_was_done():
    """By a word that the page knows; it is seen by GET."""
    answer = redirect_done("/desk/gold", "rejected")
    assert (answer.status_code, answer.headers["location"]) == (303, "/desk/gold?done=rejected")
    assert "rejected" in DONE
    assert all(sentence.endswith(".") for sentence in DONE.values())


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 s"), (45, "45 s"), (200, "3 min"), (9_000, "2.5 h"), (86_400 * 12, "12 d"), (None, render.DASH)],
)
def test_spans_are_in_their_largest_unit(seconds, told):
    """With a digit more only where hours or days are few."""
    assert render.duration(seconds) == told


def test_times():
    """How long ago, when, and as programs read it."""
    assert render.ago(None, 10) == "never"
    assert render.ago(8, 10) == "just now"
    assert render.ago(0, 600) == "10 min ago"
    assert render.minute(0) == "1970-01-01 00:00"
    assert render.iso_time(61) == "1970-01-01T00:01:01Z"
    assert render.minute(None) == render.DASH


def test_shares_and_numbers():
    """A dash where there is none, also where it is no number."""
    assert render.percent(0.125) == "12 %"
    assert render.percent(0.125, 1) == "12.5 %"
    assert (
        render.percent(float("nan")) == render.percent(None) == render.number(None) == render.count(None) == render.DASH
    )
    assert render.number(1234.5) == "1,234.50"
    assert render.count(1234) == "1,234"


def test_words():
    """Labels, grades, and the labels of an item counted."""
    assert [render.relevance_name(value) for value in (1, 0, None)] == ["relevant", "irrelevant", "cannot tell"]
    assert [render.grade_name(value) for value in (0, 1, 2)] == ["irrelevant", "relevant", "highly relevant"]
    assert render.label_counts("relevant, irrelevant, relevant") == "2 relevant, 1 irrelevant"
    assert render.label_counts("irrelevant") == "1 irrelevant"
    assert render.label_counts("12 relevant, 3 irrelevant") == "12 relevant, 3 irrelevant"
