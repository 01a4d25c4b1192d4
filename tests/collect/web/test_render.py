"""Pages from templates: whose language, and nothing that was typed is markup."""

from types import SimpleNamespace

import pytest

from adjudge.collect.web.catalogue import text
from adjudge.collect.web.render import page, preferred, words


def asking(accepted="", usual="en", name="Trees"):
    """Return a request that a browser of some languages sends to a campaign of another."""
    about = SimpleNamespace(language=usual, name=name)
    studio = SimpleNamespace(campaign=SimpleNamespace(settings=SimpleNamespace(campaign=about)))
    app = SimpleNamespace(state=SimpleNamespace(studio=studio))
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
    assert preferred(asking(accepted), usual) == language
    assert words(asking(accepted, usual)) == text(language)


def test_a_person_has_a_language_whatever_the_browser_says():
    """The language of an account is the account's."""
    answer = page(asking("en"), "sign_in.html", language="de")
    assert b'<html lang="de">' in answer.body
    assert text("de")["sign_in"].encode() in answer.body


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
