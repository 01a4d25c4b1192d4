"""The campaign that ships."""

import asyncio
import re
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select

import adjudge
from adjudge.data.formats import open_source
from adjudge.data.gold import read_gold
from adjudge.data.rankings import read_rankings
from adjudge.errors import InputError, UsageError
from adjudge.metrics.match_gold import match_gold
from adjudge.studio.campaign import FILES
from adjudge.studio.consensus import fresh_belief
from adjudge.studio.demo import (
    CROWD,
    DONE,
    KINDS,
    LEFT,
    SHARES,
    SimulatedJudge,
    demo_judges,
    demo_truth,
    grade_of,
    judgments_left,
    make_demo,
    simulate_demo,
    work_live,
)
from adjudge.studio.desk.exports import EXPORTS, ExportOptions, export
from adjudge.studio.gate_designer import design
from adjudge.studio.gates import problems, work_verdict
from adjudge.studio.record import schema as s
from adjudge.studio.record.audit import find_faults
from adjudge.studio.settings import Gate, Settings, settings_text
from adjudge.studio.studio import open_studio, reading_campaign


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Return the demo, copied to a folder."""
    return make_demo(tmp_path_factory.mktemp("demos") / "demo")


def test_it_is_a_campaign_without_warnings(demo):
    """With the paper's numbers, and nothing in its folder but a campaign's files."""
    assert demo.warnings == ()
    assert sorted(path.name for path in demo.folder.iterdir()) == sorted(FILES)
    assert (demo.settings.assignment, demo.settings.gate) == (Settings().assignment, Settings().gate)
    assert (demo.settings.qualification, demo.settings.redundancy) == (Settings().qualification, Settings().redundancy)


def test_its_settings_are_written_as_new_ones_are(demo):
    """With the comments of today; where this fails, write what ``settings_text`` gives."""
    assert (demo.folder / "campaign.toml").read_text(encoding="utf8") == settings_text(demo.settings)


def test_there_is_enough_of_it(demo):
    """Topics, documents, and sets of every use; ordinary pairs fill sets."""
    assert len(demo.topics) >= 6
    assert all(topic.description and topic.narrative for topic in demo.topics.values())
    uses = Counter(entry.use for entry in demo.sets)
    assert (uses["qualification"], uses["monitoring"]) == (4, 2)
    assert {entry.topic for entry in demo.sets if entry.use == "gold"} == set(demo.topics)
    assert all(count >= 10 and count % 5 == 0 for count in Counter(topic for topic, _ in demo.pool).values())


def test_documents_are_short_texts(demo):
    """Of 60 to 150 words, some of them pages with lists and tables."""
    kinds = Counter()
    for name in demo.documents:
        document = demo.documents.document(name)
        assert 60 <= len(re.sub("<[^>]+>", " ", document.content).split()) <= 150, name
        kinds[document.kind] += 1
        kinds.update(tag for tag in ("<table>", "<li>") if tag in document.content)
    assert kinds["text"] > kinds["html"] >= 8
    assert kinds["<table>"] >= 3
    assert kinds["<li>"] >= 3


def test_gold_is_explained_and_can_be_passed(demo):
    """Every grade has a reason, and of no gold set the designer warns."""
    assert all(gold.reason for gold in demo.gold.values())
    for entry in demo.sets:
        if entry.use == "gold":
            result = design([demo.gold[entry.topic, name].grade for name in entry.documents], demo.settings.gate)
            assert (result.feasible, result.warnings) == (True, ())
        if entry.use == "qualification":
            assert sum((entry.topic, name) in demo.gold for name in entry.documents) == 1


def test_the_truth_is_known_of_every_pair(demo):
    """For simulated judges; gold says the same."""
    truth = demo_truth()
    fixed = {(entry.topic, name) for entry in demo.sets for name in entry.documents}
    assert set(truth) == set(demo.pool) | fixed
    assert all(truth[pair] == gold.grade for pair, gold in demo.gold.items())


def test_it_overwrites_nothing(demo):
    """Unless it is told to."""
    with pytest.raises(InputError):
        make_demo(demo.folder)
    assert make_demo(demo.folder, force=True).pool == demo.pool


def test_the_demo_is_alive(tmp_path):
    """Judges have qualified, worked, passed, been returned and contested; nothing is wrong; there is work left."""
    campaign = make_demo(tmp_path / "demo")
    judgments = simulate_demo(tmp_path / "demo", seed=3)
    assert DONE * 3 * len(campaign.pool) <= judgments < 3 * len(campaign.pool)
    with reading_campaign(tmp_path / "demo") as (loaded, connection):
        assert find_faults(connection, loaded) == []
        ended = {row.outcome for row in connection.execute(select(s.outcomes.c.outcome).distinct())}
        assert {"passed", "returned", "submitted"} <= ended
        assert connection.scalar(select(func.count()).select_from(s.contests)) > 0
        assert connection.scalar(select(func.min(s.judgments.c.at))) < connection.scalar(
            select(func.max(s.judgments.c.at))
        )


@pytest.mark.filterwarnings("ignore::adjudge.errors.AdjudgeWarning")
def test_what_the_studio_writes_is_read(tmp_path):
    """A fit reads the exported judgments with the campaign's gold, and gold may be any export of labels."""
    campaign = make_demo(tmp_path / "demo")
    simulate_demo(tmp_path / "demo", seed=3)
    with reading_campaign(tmp_path / "demo") as (loaded, connection):
        expected = ExportOptions(tmp_path / "demo", belief=fresh_belief(connection, loaded))
        for case in ("judgments", "qrels", "uncertainty", "task1", "task2"):
            with open(tmp_path / EXPORTS[case].file, "wb") as out:
                export(connection, case, expected, out)
    gold = campaign.folder / "gold.csv"
    fit = adjudge.fit(tmp_path / "judgments.csv", gold=gold)
    truth = {f"{topic}_{document}": int(reference.grade > 0) for (topic, document), reference in campaign.gold.items()}
    labels = dict(zip(fit.items.to_list(), fit.gold.tolist(), strict=True))
    assert {item: labels[item] for item in truth} == truth
    assert Counter(fit.gold.tolist())[-1] == len(fit.items) - len(truth)
    judgments = adjudge.read(tmp_path / "judgments.csv")
    for case in ("qrels", "uncertainty", "task2"):
        assert (read_gold(tmp_path / EXPORTS[case].file, judgments)[1] >= 0).all(), case
    assert len(adjudge.read(tmp_path / "task1.tsv")) == len(judgments)
    rankings = read_rankings(open_source(tmp_path / "judgments.csv"), {})
    assert np.diff(rankings.start).tolist() == [5] * (len(judgments) // 5)  # every set is one ranking
    scored = match_gold(tmp_path / EXPORTS["uncertainty"].file, gold, {"item": None, "label": None})
    assert scored.answers.scale.names == ("0", "1")
    run = match_gold(tmp_path / EXPORTS["task2"].file, gold, {"item": None, "label": None})
    assert (run.answers.scale.names, run.missing) == (("0", "1"), scored.missing)
    assert scored.missing == len(set(truth) - set(judgments.items))
    assert len(match_gold(fit, gold, {"item": None, "label": None}).truth) == len(truth)


def test_the_same_seed_is_the_same_work(tmp_path):
    """Simulated work repeats."""
    counts = []
    for name in ("a", "b"):
        make_demo(tmp_path / name)
        counts.append(simulate_demo(tmp_path / name, seed=1))
    assert counts[0] == counts[1]


def judge(kind, accuracy=0.9, seed=0):
    """Return a judge."""
    return SimulatedJudge("ann", accuracy, kind, np.random.default_rng(seed))


def share_right(judge, grade, sets=400):
    """Return how often a judge is right about documents of a grade."""
    result = [answer.relevance == (grade >= 1) for _ in range(sets) for answer in judge.answers([grade] * 5)]
    return sum(result) / len(result)


@given(st.sampled_from(list(KINDS)), st.lists(st.integers(0, 2), min_size=1, max_size=8), st.integers(0, 99))
def test_every_judge_answers_compatibly(kind, grades, seed):
    """Whatever the set."""
    answers = judge(kind, seed=seed).answers(grades)
    assert problems(answers) == []
    assert all(answer.seconds >= KINDS[kind].least for answer in answers)


def test_good_judges_are_right_as_often_as_they_should():
    """About both kinds of documents."""
    assert share_right(judge("good"), 0) == pytest.approx(0.9, abs=0.03)
    assert share_right(judge("good"), 2) == pytest.approx(0.9, abs=0.03)


def test_lenient_judges_err_one_way_and_spammers_both():
    """As their names say."""
    assert share_right(judge("lenient"), 0) == pytest.approx(0.6, abs=0.04)
    assert share_right(judge("lenient"), 1) == pytest.approx(0.9, abs=0.03)
    assert share_right(judge("spammer"), 0) == pytest.approx(0.5, abs=0.04)


def test_drifting_judges_get_worse():
    """From set to set, down to a coin."""
    session = judge("drifting")
    first = share_right(session, 1, sets=5)
    assert session.chance(1) < 0.9
    share_right(session, 1, sets=60)
    assert session.chance(1) == 0.5 < first


def test_the_gate_tells_good_judges_from_spammers():
    """On a set that discriminates, most of the time."""
    grades = [0, 0, 1, 1, 2]

    def passing(kind, accuracy):
        session = judge(kind, accuracy)
        sets = [session.answers(grades) for _ in range(200)]
        return np.mean(
            [work_verdict([(result, grades)], [a.seconds for a in result], Gate()).passed for result in sets]
        )

    assert passing("good", 0.95) > 0.9
    assert passing("spammer", 0.5) < 0.2


def test_good_judges_rank_by_relevance_and_careless_ones_do_not():
    """Among what they call relevant, the better document comes first more often than not."""

    def first(kind):
        session = judge(kind, accuracy=1.0)
        return np.mean([session.answers([1, 2])[1].rank == 1 for _ in range(300)])

    assert first("good") > 0.8
    assert 0.4 < first("careless") < 0.6


def test_another_kind_is_refused():
    """With those there are."""
    with pytest.raises(UsageError, match="the kind of a simulated judge is 'lazy', expected one of 'good', 'careless'"):
        judge("lazy")


def test_the_demo_has_all_kinds_and_each_judge_a_stream_of_her_own():
    """The same for the same rng."""
    created = demo_judges(np.random.default_rng(1))
    assert {result.kind for result in created} == set(KINDS) - {"copying"}  # only while it is alive
    assert len({result.name for result in created}) == len(CROWD)
    again = demo_judges(np.random.default_rng(1))
    assert [entry.answers([0, 1, 2, 0, 1]) for entry in created] == [entry.answers([0, 1, 2, 0, 1]) for entry in again]


def test_a_pair_without_truth_has_a_grade_by_its_name():
    """Always the same, and grades in their shares; a given truth counts."""
    pairs = [("t", f"d{n}") for n in range(3_000)]
    result = [grade_of(pair, {}) for pair in pairs]
    assert result == [grade_of(pair, {}) for pair in pairs]
    shares = Counter(result)
    assert [shares[grade] / 3_000 for grade in (0, 1, 2)] == pytest.approx(SHARES, abs=0.04)
    assert grade_of(("t", "d"), {("t", "d"): 2}) == 2


def test_of_a_pair_who_copy_the_second_gives_the_labels_of_the_first():
    """Where both judge a document; alone they judge for themselves."""
    judges = {judge.name: judge for judge in demo_judges(np.random.default_rng(0), live=True)}
    first, second = judges["Kaya"], judges["Levin"]
    said = {item: answer.relevance for item, answer in zip(range(50), first.answers([1] * 50, range(50)), strict=True)}
    copied = second.answers([1] * 50, range(25, 75))
    assert [answer.relevance for answer in copied[:25]] == [said[item] for item in range(25, 50)]
    assert {judge.name for judge in judges.values() if judge.notes is not None} == {"Kaya", "Levin"}
    assert all(judge.notes is None for judge in demo_judges(np.random.default_rng(0)))


def test_a_live_demo_goes_on_while_somebody_watches(tmp_path):
    """Simulated judges finish what they began and take on more, until what is left is for people."""
    folder = tmp_path / "demo"
    make_demo(folder)
    settings = (folder / "campaign.toml").read_text()
    (folder / "campaign.toml").write_text(settings.replace("seconds = 6.0", "seconds = 0.0"))  # clocks are not as fast
    simulate_demo(folder, live=True)
    studio = open_studio(folder)
    before = int(studio.ledger.items.judged.sum())
    going = studio.ledger.open_assignments()
    assert len(going) >= 3
    assert max(assignment.finished for assignment in going) == 5
    assert studio.ledger.latest <= time.time() + 60

    async def watch():
        async with studio.running():
            await asyncio.wait_for(work_live(studio, pace=1e4), 60)

    asyncio.run(watch())
    assert studio.ledger.items.judged.sum() > before
    assert 0 < judgments_left(studio.ledger) <= LEFT + 25
    assert studio.ledger.open_assignments() == []
