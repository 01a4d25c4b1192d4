"""Settings: defaults of the paper, and limits as data."""

from dataclasses import fields, replace

import pytest

from adjudge.studio.settings import (
    MODELS,
    SETTINGS,
    TABLES,
    Assignment,
    Mturk,
    Prolific,
    Redundancy,
    Settings,
    clashes,
    value_of,
    wrong,
)

BY_NAME = {setting.name: setting for setting in SETTINGS}


def test_the_defaults_are_the_papers():
    """Six sets of five, one of them gold, .85, .62, six seconds, four jobs of five, three judgments."""
    s = Settings()
    assert (s.assignment.sets, s.assignment.documents, s.assignment.gold_sets) == (6, 5, 1)
    assert (s.gate.binary, s.gate.ndcg, s.gate.seconds) == (0.85, 0.62, 6.0)
    assert (s.qualification.jobs, s.qualification.documents, s.redundancy.judgments) == (4, 5, 3)


def test_every_field_has_its_limits():
    """The table of limits names all fields, in their order, and no others."""
    named = [f"{table}.{part.name}" for table, record in TABLES.items() for part in fields(record)]
    assert list(BY_NAME) == named


def test_every_default_is_within_its_limits():
    """What holds where the file says nothing is never refused."""
    assert [wrong(setting, setting.default) for setting in SETTINGS] == [None] * len(SETTINGS)
    assert clashes(Settings()) == []


def test_models_are_models():
    """Every model that the desk may show is one that fits judgments."""
    from adjudge.inference.registry import MODELS as KNOWN

    assert set(MODELS) <= set(KNOWN)


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
    """With the field, what it is, and what it may be; a password is never shown."""
    assert wrong(BY_NAME[name], value) == message


@pytest.mark.parametrize("value", ["studio.db", "data/my studio.db", "postgresql+psycopg://ann:pw@host/db"])
def test_databases(value):
    """A file or a URL of the one server that is spoken to."""
    assert wrong(BY_NAME["store.database"], value) is None


def test_values_become_what_the_record_holds():
    """Whole numbers where any will do become floats, and lists become tuples."""
    assert repr(value_of(BY_NAME["gate.seconds"], 6)) == "6.0"
    assert value_of(BY_NAME["prolific.studies"], ["a"]) == ("a",)


def test_clashes_name_the_field():
    """Right by themselves and wrong together."""
    clashing = replace(Settings(), assignment=Assignment(sets=2, gold_sets=2), redundancy=Redundancy(least=4, most=3))
    assert clashes(clashing) == [
        (
            "assignment.gold_sets",
            "assignment.gold_sets is 2 of 2 sets, which leaves nothing to judge: make it smaller",
        ),
        ("redundancy.least", "redundancy.least is 4, more than redundancy.most, which is 3"),
    ]
    crowds = replace(Settings(), prolific=Prolific(enabled=True), mturk=Mturk(enabled=True, submit_hosts=()))
    assert clashes(crowds) == [
        (
            "prolific.enabled",
            "prolific.enabled is true, but prolific.studies is empty, so that nobody could come: name the study",
        ),
        (
            "mturk.enabled",
            "mturk.enabled is true, but mturk.submit_hosts is empty, so that nothing could be submitted",
        ),
    ]
