"""The study of hidden gold: what judges who compare find."""

import pytest

from studies.benchmarks import gold_secrecy
from studies.benchmarks.gold_secrecy import Shown, alike, attack, grouped, often, show_campaign


def shown(judge, *items, topic="t"):
    """Return a set that a judge was given."""
    return Shown(judge, topic, frozenset(items))


def test_sets_that_two_judges_were_given_are_found():
    """A set with one other document is another set."""
    assert alike([shown(1, 1, 2), shown(2, 2, 1), shown(1, 3, 4), shown(2, 3, 5)]) == {1, 2}


def test_documents_that_were_shown_more_often_than_work_are_found():
    """Work is judged three times."""
    assert often([shown(judge, 1, 2) for judge in range(4)] + [shown(judge, 3) for judge in range(3)]) == {1, 2}


def test_the_smallest_group_of_a_topic_is_marked():
    """Sets with a common document are one group; a topic with one group has no sign of gold."""
    work = [shown(1, 1, 2), shown(2, 2, 3), shown(3, 3, 4)]
    assert grouped([*work, shown(4, 8, 9)]) == {8, 9}
    assert grouped([*work, shown(4, 8, 9, topic="u")]) == set()


def test_an_attack_is_measured_by_what_it_finds_and_its_precision():
    """The last number is the share of gold among what the attackers saw."""
    figures = attack([shown(1, 1, 2), shown(2, 1, 2), shown(3, 5, 6)], {1, 5}, attackers=2)
    assert figures[:2] == [0.5, 0.5]
    assert figures[-1] == 0.5


@pytest.mark.parametrize("how", ["fixed", "drawn"])
def test_a_campaign_is_worked_through(how, monkeypatch):
    """Fixed sets come back as they are; drawn ones do not."""
    monkeypatch.setattr(gold_secrecy, "TOPICS", 6)
    monkeypatch.setattr(gold_secrecy, "DOCUMENTS", 10)
    monkeypatch.setattr(gold_secrecy, "JUDGES", 6)
    sets, gold = show_campaign(how, 2, seed=0)
    assert len(gold) >= 20
    found = alike(sets) & gold
    assert len(found) >= 5 if how == "fixed" else len(found) < len(gold) / 2
