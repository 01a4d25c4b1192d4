"""The tutoring sets of judges as files of a campaign: gold.csv with the reasons, and sets.csv to qualify with."""

from __future__ import annotations

from collections.abc import Iterable

from adjudge.diagnostics.tutor import Lesson
from adjudge.errors import UsageError, quote
from adjudge.studio.campaign_files import GOLD_FILE, GRADE_VALUES, SETS_FILE, gold_text, sets_text
from adjudge.studio.records import FixedSet, Gold, Pair


def tutoring_files(lessons: Iterable[Lesson], documents: int = 5) -> dict[str, bytes]:
    """Return gold.csv and sets.csv of a campaign in which judges meet the items of tutoring sets.

    Every item is gold with its label as the grade and the reason that a judge reads after a mistake. The items of a
    topic make qualification sets of so many ``documents``; those that do not fill a set are gold alone.
    """
    gold: dict[Pair, Gold] = {}
    for lesson in lessons:
        if lesson.topic is None:
            raise UsageError(
                f"item {quote(lesson.item)} has no topic, and the studio judges documents of topics: "
                "fit judgments with a column of topics"
            )
        if lesson.label not in GRADE_VALUES:
            raise UsageError(f"label {quote(lesson.label)} is not a grade of the studio, which are 0, 1 and 2")
        other = lesson.said if lesson.side == "confused" else lesson.truth
        reason = f"Its label is {quote(lesson.label)}, which is easily taken for {quote(other)}."
        pair = (lesson.topic, lesson.item.removeprefix(f"{lesson.topic}_"))  # items of several topics: topic_item
        gold.setdefault(pair, Gold(GRADE_VALUES[lesson.label], reason))
    by_topic: dict[str, list[str]] = {}
    for topic, document in gold:
        by_topic.setdefault(topic, []).append(document)
    sets = [
        FixedSet(f"tutor-{topic}-{first // documents + 1}", "qualification", topic, tuple(names[first:][:documents]))
        for topic, names in by_topic.items()
        for first in range(0, len(names) - documents + 1, documents)
    ]
    return {GOLD_FILE: gold_text(gold).encode(), SETS_FILE: sets_text(sets).encode()}
