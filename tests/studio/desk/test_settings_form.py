"""The form of the settings, and campaign.toml with changed values."""

import pytest

from adjudge.errors import Problems
from adjudge.studio.desk.settings_form import edited_settings, field_text, read_form, settings_sections, value_of
from adjudge.studio.settings import BY_NAME, SETTINGS, Settings, read_settings, settings_text

TEXT = """\
# Our trees.
[campaign]
name = "Trees"  # as on the poster

[gate]
binary = 0.9 # stricter "than" the paper
[prolific]
studies = [
  "abc",  # the first
]
"""


def settings_of(text):
    """Return the settings in a text, which has no problem."""
    problems = Problems()
    settings = read_settings(text, problems)
    assert not problems.messages
    return settings


def test_every_setting_has_a_field_except_the_instructions():
    """By section, each with a kind that the page can show."""
    sections = settings_sections(Settings())
    names = [field.setting.name for section in sections for field in section.fields]
    assert names == [setting.name for setting in SETTINGS if setting.name != "campaign.instructions"]
    kinds = {field.setting.name: field.kind for section in sections for field in section.fields}
    assert {kinds[name] for name in ("gate.binary", "assignment.sets", "access.registration")} == {
        "number",
        "whole",
        "check",
    }
    assert (kinds["gate.ndcg_of"], kinds["prolific.studies"], kinds["campaign.name"]) == ("choice", "list", "text")


def test_what_is_sent_as_it_was_shown_changes_nothing():
    """For every setting of the form."""
    shown = {setting.name: field_text(value_of(Settings(), setting)) for setting in SETTINGS}
    assert read_form(shown, Settings()) == (Settings(), {})


def test_values_of_every_kind_are_read():
    """Numbers, lists by lines, choices, checks; what was not sent stays."""
    sent = {
        "gate.binary": "0.8",
        "assignment.lease_minutes": "30",
        "prolific.studies": "a\r\n\r\n b ",
        "pay.amount": "2",
    }
    sent |= {"gate.ndcg_of": "attainable", "access.registration": "true"}
    changed, errors = read_form(sent, settings_of(TEXT))
    assert errors == {}
    assert (changed.gate.binary, changed.assignment.lease_minutes, changed.prolific.studies) == (0.8, 30, ("a", "b"))
    assert (changed.gate.ndcg_of, changed.access.registration, changed.campaign.name) == ("attainable", True, "Trees")


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("gate.binary", "high", "gate.binary is 'high', expected a number from 0 to 1"),
        ("gate.binary", "85", "gate.binary is 85.0, expected a number from 0 to 1 (for 85 %, write 0.85)"),
        ("gate.binary", "nan", "gate.binary is nan, expected a number from 0 to 1"),
        ("assignment.sets", "1.5", "assignment.sets is '1.5', expected a whole number from 1 to 100"),
        ("campaign.name", " ", "campaign.name is '', expected a text of 1 to 120 characters"),
        ("consensus.model", "magic", None),
    ],
)
def test_errors_belong_to_their_fields(name, text, error):
    """With the value, and what is expected instead."""
    _, errors = read_form({name: text}, Settings())
    assert list(errors) == [name]
    assert error is None or errors[name] == error


def test_settings_that_clash_are_both_marked():
    """A number of gold sets that leaves no work is an error of both fields."""
    _, errors = read_form({"assignment.sets": "2", "assignment.gold_sets": "2"}, Settings())
    assert set(errors) == {"assignment.sets", "assignment.gold_sets"}


def test_the_database_cannot_be_sent():
    """It cannot change while the studio runs, and its password is not shown."""
    assert read_form({"store.database": "other.db"}, Settings()) == (Settings(), {})
    settings = settings_of('[store]\ndatabase = "postgresql+psycopg://me:secret@host/db"\n')
    field = next(s for s in settings_sections(settings) if s.name == "store").fields[0]
    assert "secret" not in field.value
    assert field.fixed


def test_fields_are_named_and_explained_in_words():
    """Choices and checks do not list what can be seen; lists that cannot be changed are lines."""
    text = '[webhooks]\nevents = ["judge.paused", "judge.excluded"]\n'
    fields = {field.setting.name: field for s in settings_sections(settings_of(text)) for field in s.fields}
    assert fields["gate.ndcg_of"].label == "NDCG of"
    assert fields["gate.ndcg_of"].hint.endswith(" Default printed.")
    assert fields["assignment.draw_gold"].hint.endswith(" Off by default.")
    assert fields["assignment.sets"].hint.endswith(" A whole number from 1 to 100; default 6.")
    assert fields["prolific.studies"].hint.endswith(" A list of texts, one per line.")
    assert fields["webhooks.events"].value == "judge.paused\njudge.excluded"
    assert fields["webhooks.urls"].value == ""
    assert all(field.hint.endswith(".") and "`" not in field.hint for field in fields.values())


def test_comments_survive_a_change():
    """Only the lines of changed values differ; a missing key comes into its table, a missing table to the end."""
    before = settings_of(TEXT)
    changed, _ = read_form({"gate.binary": "0.8", "gate.seconds": "3", "pay.amount": "1.5"}, before)
    edited = edited_settings(TEXT, changed)
    assert settings_of(edited) == changed
    assert 'binary = 0.8 # stricter "than" the paper' in edited
    assert "[gate]\nseconds = 3.0\n" in edited
    assert edited.endswith("[pay]\namount = 1.5\n")
    assert '# Our trees.\n[campaign]\nname = "Trees"  # as on the poster' in edited


def test_values_of_several_lines_are_replaced_whole():
    """Lists and texts."""
    changed, _ = read_form({"prolific.studies": "x", "campaign.instructions": "One.\r\n\r\nTwo."}, settings_of(TEXT))
    edited = edited_settings(TEXT, changed)
    assert settings_of(edited) == changed
    assert 'studies = ["x"]' in edited
    again, _ = read_form({"campaign.instructions": "Three."}, changed)
    assert settings_of(edited_settings(edited, again)) == again
    assert "Two." not in edited_settings(edited, again)


@pytest.mark.parametrize("text", ["gate = {binary = 0.9}\n", "gate.binary = 0.9\n", "", '["gate"]\n"binary" = 0.9\n'])
def test_every_way_to_write_settings_can_be_changed(text):
    """If a value cannot be replaced in place, all settings are written again."""
    changed, _ = read_form({"gate.binary": "0.8", "gate.ndcg": "0.5"}, settings_of(text))
    assert settings_of(edited_settings(text, changed)) == changed


def test_a_file_that_says_every_setting_is_changed_in_one_line():
    """As `campaign new` writes it."""
    text = settings_text(Settings())
    for setting in SETTINGS:
        if setting.field.annotation is float:
            value = float(getattr(setting.field.metadata[0], "ge", 1))
            changed = read_form({setting.name: str(value)}, Settings())[0]
            old, new = text.split("\n"), edited_settings(text, changed).split("\n")
            assert len(old) == len(new)
            assert sum(a != b for a, b in zip(old, new, strict=True)) <= 1, setting.name
    assert "gate.binary" in BY_NAME
