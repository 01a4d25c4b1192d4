"""Which judgments count."""

from sqlalchemy import func, select

from adjudge.collect.desk import commands as lead
from adjudge.collect.desk.imports import Given
from adjudge.collect.desk.seen import past_of
from adjudge.collect.record.counted import counts, excluded, stands
from adjudge.collect.record.schema import judgments


def counted(desk):
    """Return how many judgments stand, how many count, and who is excluded."""
    with desk.store.reading() as connection:
        many = [connection.scalar(select(func.count()).select_from(judgments).where(one())) for one in (stands, counts)]
        return *many, list(connection.scalars(excluded()))


def test_excluded_judges_and_open_answers_do_not_count(desk):
    """Until the judge is reinstated; what cannot tell stands, and counts for nothing."""
    desk.do(lead.import_judgments, None, [Given(1, "oak", "oak-5", "zoe", None)], {}, "a")
    assert counted(desk) == (13, 12, [])
    desk.do(lead.change_standing, desk.lead, desk.ann, "excluded", "copies")
    assert counted(desk) == (1, 0, [desk.ann])
    with desk.store.reading() as connection:
        past = past_of(connection, desk.ann)
    desk.do(lead.reinstate, desk.lead, desk.ann, past)
    assert counted(desk) == (13, 12, [])
