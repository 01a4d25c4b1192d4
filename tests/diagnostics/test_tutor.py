"""Tutoring sets: the items that show a judge their own confusions."""

import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.tutor import tutor
from adjudge.errors import UsageError

TRUTH = ["a"] * 6 + ["b"] * 6 + ["c"] * 6
MISTAKES = {"x": {0: "b", 1: "b", 2: "b", 7: "a", 12: "b"}, "y": {3: "b", 13: "b", 14: "b"}, "z": {}}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Return a table in which x calls three a b, y two c b, and z and three others are always right."""
    rows = [
        (f"i{n}", judge, MISTAKES.get(judge, {}).get(n, label))
        for judge in ("x", "y", "z", "u", "v", "w")
        for n, label in enumerate(TRUTH)
        if not (judge == "x" and n in (6, 17))  # x did not judge these
    ]
    return pl.DataFrame(rows, ["item", "judge", "label"], orient="row")


@pytest.fixture(scope="module")
def fit(table: pl.DataFrame) -> adjudge.Fit:
    """Return a fit that is sure of all items."""
    return adjudge.fit(table, "dawid-skene")


def test_own_confusions_are_shown_from_both_sides(fit, table):
    """First the items that x mixed up, then those of the other label, which x mixed up or got right."""
    lessons = tutor(fit, table, judge="x", confusions=1, items=4).lessons
    assert {(lesson.truth, lesson.said) for lesson in lessons} == {("a", "b")}
    confused, contrast = ([each for each in lessons if each.side == side] for side in ("confused", "contrast"))
    assert [each.item for each in confused] == ["i0", "i1", "i2", "i3"]  # i3 is a mistake of y
    assert [each.given for each in confused] == ["b", "b", "b", "a"]
    assert all(each.label == "a" and each.probability > 0.9 for each in confused)
    assert contrast[0].item == "i7"
    assert all(each.label == "b" for each in contrast)
    assert len(contrast) == 4
    assert confused[0].reason == "You called it 'b'; it is 'a'."
    assert confused[3].reason == "It is 'a', as you said, and not 'b'."
    assert contrast[0].reason == "You called it 'a'; it is 'b'."


def test_every_judge_has_their_own_set(fit, table):
    """Y confuses c with b; judges without mistakes have no set."""
    result = tutor(fit, table, confusions=1)
    assert {each.judge for each in result} == {"x", "y"}
    assert {(each.truth, each.said) for each in result.of_judge("y")} == {("c", "b")}
    assert result.of_judge("z") == ()
    assert repr(result) == f"Tutoring({len(result)} items for 2 of 6 judges)"
    assert result.sentence == (
        f"2 of 6 judges have a tutoring set, of {len(result)} items in all; for the others, no item of known or "
        "nearly certain truth shows a typical mistake: give more truths (truth) or a lower probability (sure)."
    )
    assert result.table.columns[:4] == ["judge", "truth", "said", "side"]


def test_only_sure_or_known_items_are_shown(table):
    """A fit that is sure of nothing shows known truths alone, and these decide what a mistake is."""
    votes = adjudge.fit(table, "majority")
    unanimous = tutor(votes, table, sure=1.0, judge="x", confusions=1).lessons
    assert [each.item for each in unanimous if each.side == "confused"] == ["i4", "i5"]
    assert all(each.probability == 1 for each in unanimous)
    known = {f"i{n}": label for n, label in enumerate(TRUTH)} | {"i0": "b"}  # x was right about it
    lessons = tutor(votes, table, known, sure=1.0, judge="x", confusions=1).lessons
    assert [each.item for each in lessons if each.side == "confused"] == ["i1", "i2", "i3"]
    assert all(each.probability == 1 for each in lessons)


def test_sets_of_a_simulated_crowd_show_true_mistakes():
    """With known truths, every item that is shown as mixed up by a judge has another true label than they gave."""
    crowd = adjudge.simulate("monitoring", seed=1, gold=0)
    fit = adjudge.fit(crowd.judgments, "majority")
    result = tutor(fit, crowd.judgments, crowd.truths)
    truths = dict(crowd.truths.iter_rows())
    assert result.judges > 120
    assert all(truths[each.item] == each.label for each in result)
    own = [each for each in result if each.side == "confused" and each.given == each.said]
    assert len(own) > 0.5 * sum(each.side == "confused" for each in result)
    assert all(len(result.of_judge(each.judge)) <= 12 for each in result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"confusions": 0}, "confusions 0 is not a whole number of at least 1"),
        ({"items": 0}, "items 0 is not a whole number of at least 1"),
        ({"sure": 0.5}, "sure 0.5 is not a probability above 0.5 and up to 1"),
        ({"judge": "q"}, "there is no judge 'q' in this fit; its judges are 'x', 'y', 'z', 'u', 'v', 'w'"),
    ],
)
def test_what_cannot_be_taught(fit, table, arguments, message):
    """Is refused, with the reason."""
    with pytest.raises(UsageError) as error:
        tutor(fit, table, **arguments)
    assert str(error.value) == message
