"""The live consensus, and its files as assignment and the desk read them."""

import json
import os

import numpy as np
import pytest
from sqlalchemy import create_engine, insert

from adjudge.inference.fit import fit
from adjudge.studio.consensus import (
    TYPICAL,
    AcceptedJudgments,
    Beliefs,
    accepted_judgments,
    consensus,
    encode_judgments,
    fresh_belief,
    item_grades,
    json_bytes,
    mark,
    read_belief,
    read_item_beliefs,
    read_judge_cards,
    read_looks,
    read_summary,
    replace_file,
)
from adjudge.studio.desk import decisions as lead
from adjudge.studio.record import schema
from adjudge.studio.records import Gold
from adjudge.studio.settings import MODELS


def crowd(items=120, judges=6, each=3, accuracy=0.85, seed=0, gold=()):
    """Return judgments of a crowd with one judge who is nearly always wrong about what is relevant, and the truth."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(items + 1) < 0.5).astype(int)
    rows = []
    for item in range(1, items + 1):
        for person in rng.choice(judges, each, replace=False) + 1:
            right = rng.random() < (0.1 if person == judges and truth[item] else accuracy)
            rows.append((item, person, truth[item] if right else 1 - truth[item]))
    return accepted_rows(rows, items, {item: int(truth[item]) for item in gold}), truth


def accepted_rows(rows, items, gold=()):
    """Return rows of (item, person, relevance) as the tables give them."""
    item, person, relevance = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    names = {int(number): f"judge {number}" for number in range(1, 20)}
    pairs = {number: (f"t{number % 3}", f"d{number}") for number in range(1, items + 1)}
    return AcceptedJudgments(
        item, person, relevance, 1e9 + np.arange(item.size) * 60.0, items, names, dict(gold), pairs
    )


def test_beliefs_find_the_truth_and_confusions_the_bad_judge():
    """By the item's number; the judge who misses what is relevant is known for it."""
    rows, truth = crowd(items=400)
    result = consensus(rows, "dawid-skene")
    assert result.belief.shape == (401,)
    assert ((result.belief[1:] > 0.5) == truth[1:]).mean() > 0.85
    assert result.person.tolist() == [1, 2, 3, 4, 5, 6]
    assert result.confusion[5, 1, 1] < 0.3
    assert result.confusion[0, 1, 1] > 0.7
    assert result.confusion.sum(axis=2) == pytest.approx(np.ones((6, 2)))
    assert result.summary["model"] == "dawid-skene"
    assert result.summary["judgments"] == 1_200
    assert result.summary["note"] == ""
    low, high = result.summary["alpha"][1:]
    assert low < result.summary["alpha"][0] < high


def test_gold_is_believed_and_nothing_else_is_certain():
    """So that further judgments can change what is believed."""
    rows, truth = crowd(gold=(1, 2, 3))
    result = consensus(rows, "dawid-skene")
    assert result.belief[1:4].tolist() == truth[1:4].tolist()
    assert result.belief[4:].min() > 0
    assert result.belief[4:].max() < 1


def test_probabilities_are_hedged_where_judges_err_together():
    """Assignment and desk use what is left open; majority votes stay as they are."""
    rng = np.random.default_rng(5)
    truth = (rng.random(401) < 0.5).astype(int)
    right = np.clip(rng.beta(2, 0.7, 401), 0.05, 0.98)  # by item: some mislead most judges
    judged = [
        (item, person, truth[item] if rng.random() < right[item] else 1 - truth[item])
        for item in range(1, 401)
        for person in rng.choice(12, 7, replace=False) + 1
    ]
    rows = accepted_rows(judged, 400)
    result, votes = consensus(rows, "one-coin"), consensus(rows, "majority")
    assert result.fit.calibration.hedge > 0.4
    assert "vote share" in result.summary["calibration"]
    judgments, gold = encode_judgments(rows, "one-coin")
    own = fit(judgments, "one-coin", gold, ties="first").posterior[:, 1]
    open_, sure = (np.abs(belief - 0.5).mean() for belief in (result.belief[1:], own))
    assert open_ < sure - 0.05
    assert votes.fit.calibration is None
    assert votes.summary["calibration"] == ""


def test_the_consensus_of_the_studio_states_its_share():
    """The model consensus calibrates itself, by crowds or by gold, and the desk reads the share with its interval."""
    for gold, by in (((), "crowds"), (tuple(range(1, 21)), "gold")):
        rows, truth = crowd(gold=gold)
        result = consensus(rows, "consensus")
        calibration = result.fit.calibration
        low, high = calibration.interval
        assert (result.summary["model"], calibration.by) == ("consensus", by)
        assert f"are expected to be right ({low:.0%} to {high:.0%}" in result.summary["calibration"]
        assert ((result.belief[1:] > 0.5) == truth[1:]).mean() > 0.85


def test_items_that_nobody_judged_are_as_likely_as_others():
    """And number 0, which no item has, is even."""
    rows, _ = crowd()
    result = consensus(rows._replace(items=130, pairs={**rows.pairs, 130: ("t", "d")}), "dawid-skene")
    assert result.belief[0] == 0.5
    assert result.belief[130] == pytest.approx(result.fit.posterior[:, 1].mean())


@pytest.mark.filterwarnings("ignore:the chains have not converged")
@pytest.mark.parametrize("model", sorted({*MODELS} - {"graded"}))
def test_every_model_of_the_settings_has_a_consensus(model):
    """It continues from the previous fit, if it is fitted by EM."""
    rows, _ = crowd()
    first = consensus(rows, model)
    assert first.summary["model"] == model
    assert first.summary["note"] == ""
    again = consensus(rows, model, first.fit, first.summary["afresh"])
    assert again.belief == pytest.approx(first.belief, abs=0.02)


def test_it_goes_on_from_the_last_fit_until_much_is_new():
    """Then it starts again; the number of judgments at that time is stored."""
    rows, _ = crowd()
    first = consensus(rows, "dawid-skene")
    assert (first.summary["warm"], first.summary["afresh"]) == (False, 360)
    warm = consensus(rows, "dawid-skene", first.fit, 300)
    assert (warm.summary["warm"], warm.summary["afresh"]) == (True, 300)
    anew = consensus(rows, "dawid-skene", first.fit, 200)
    assert (anew.summary["warm"], anew.summary["afresh"]) == (False, 360)
    other = consensus(rows, "one-coin", first.fit, 300)
    assert (other.summary["warm"], other.summary["model"]) == (False, "one-coin")


def test_without_judgments_nothing_is_known_but_gold():
    """And it is said."""
    result = consensus(accepted_rows([], 3, {2: 1}), "dawid-skene")
    assert result.belief.tolist() == [0.5, 0.5, 1.0, 0.5]
    assert result.summary["note"] == "there are no judgments yet"
    assert result.fit is None


def test_one_judge_alone_is_counted():
    """One vote is three to one, no certainty; the note says why."""
    result = consensus(accepted_rows([(1, 1, 1), (2, 1, 0)], 3), "dawid-skene")
    assert result.summary["model"] == "majority"
    assert result.summary["note"].startswith("majority vote is used: dawid-skene needs an item with two judges")
    assert result.belief[1:].tolist() == pytest.approx([0.75, 0.25, 0.5])


def test_one_judge_and_gold_are_enough():
    """The model can estimate the errors of the judge."""
    result = consensus(accepted_rows([(1, 1, 1), (2, 1, 0), (3, 1, 1)], 3, {1: 1}), "dawid-skene")
    assert result.summary["model"] == "dawid-skene"


def test_one_label_only_is_no_trouble():
    """All say relevant."""
    result = consensus(accepted_rows([(item, person, 1) for item in (1, 2) for person in (1, 2)], 2), "dawid-skene")
    assert result.belief[1:].min() > 0.9
    assert result.summary["alpha"] is None
    json.dumps(result.summary, allow_nan=False)


def test_a_model_that_fails_is_replaced_by_votes(monkeypatch):
    """Whatever the error, and it is said."""
    import adjudge.inference.fit as fits

    fitted = fits.fit

    def failing(judgments, model, *args, **options):
        if model != "majority":
            raise FloatingPointError("no way")
        return fitted(judgments, model, *args, **options)

    monkeypatch.setattr(fits, "fit", failing)
    result = consensus(crowd()[0], "dawid-skene")
    assert result.summary["model"] == "majority"
    assert result.summary["note"] == "majority vote is used: dawid-skene could not be fitted: no way"


def test_the_table_has_the_labels_words_and_the_times():
    """As reports and cards show them."""
    judgments, gold = encode_judgments(crowd(gold=(5,))[0], "dawid-skene")
    assert judgments.scale.names == ("irrelevant", "relevant")
    assert judgments.judges.to_list() == [f"judge {n}" for n in range(1, 7)]
    assert set(judgments.topics) == {"t0", "t1", "t2"}
    assert judgments.topics[int(judgments.topic[4])] == "t2"
    assert gold[4] >= 0
    assert (np.delete(gold, 4) == -1).all()
    assert str(judgments.time.min()) == "2001-09-09 01:46:40"


ITEMS = [("t", "d1"), ("t", "d2"), ("u", "d1")]
GOLD = {("t", "d1"): Gold(2, "it says so"), ("u", "d1"): Gold(0, "it does not"), ("u", "else"): Gold(1, "not in use")}


@pytest.fixture
def connection():
    """Return a database with two people and three items, nothing judged."""
    with create_engine("sqlite://").connect() as result:
        schema.METADATA.create_all(result)
        result.execute(
            insert(schema.items), [{"id": n, "topic": t, "document": d} for n, (t, d) in enumerate(ITEMS, 1)]
        )
        rows = [{"id": n, "at": 0.0, "name": name, "role": "judge"} for n, name in ((1, "ann"), (2, "bob"))]
        result.execute(insert(schema.people), rows)
        yield result


def judge(connection, number, item, person, relevance, use="work"):
    """Add a judgment."""
    row = {"id": number, "at": 10.0 + number, "item": item, "person": person, "relevance": relevance, "use": use}
    connection.execute(insert(schema.judgments).values(comment="", **row))


def stand(connection, number, person, standing):
    """Add a standing."""
    row = {"id": number, "at": 0.0, "person": person, "standing": standing, "reason": ""}
    connection.execute(insert(schema.standings).values(**row))


def test_judgments_come_with_names_pairs_and_gold(connection):
    """By their numbers in the tables; gold is of the items there are, relevant from grade 1 on."""
    judge(connection, 1, 2, 1, 1)
    judge(connection, 2, 2, 2, 0, "imported")
    result = accepted_judgments(connection, GOLD)
    assert result.item.tolist() == [2, 2]
    assert result.person.tolist() == [1, 2]
    assert result.relevance.tolist() == [1, 0]
    assert result.at.tolist() == [11.0, 12.0]
    assert result.items == 3
    assert result.names == {1: "ann", 2: "bob"}
    assert result.gold == {1: 1, 3: 0}
    assert result.pairs[3] == ("u", "d1")


def test_answers_that_cannot_tell_and_people_who_are_excluded_do_not_count(connection):
    """By the last standing: who is let in again counts again."""
    judge(connection, 1, 1, 1, None)
    judge(connection, 2, 2, 1, 1)
    judge(connection, 3, 2, 2, 1)
    stand(connection, 1, 1, "excluded")
    stand(connection, 2, 2, "excluded")
    stand(connection, 3, 2, "qualified")
    assert accepted_judgments(connection, GOLD).person.tolist() == [2]


def test_gold_that_was_ruled_to_be_wrong_does_not_stand(connection):
    """And gold whose contest was turned down does."""
    connection.execute(insert(schema.assignments).values(id=1, at=0, person=1, kind="work", token="a", outside=""))
    connection.execute(
        insert(schema.sets).values(id=1, assignment=1, position=0, use="gold", name="g", token="s"),
    )
    connection.execute(insert(schema.slots), [{"set": 1, "slot": 0, "item": 1}, {"set": 1, "slot": 1, "item": 3}])
    for number, slot, item, upheld in ((1, 0, 1, 1), (2, 1, 3, 0)):
        result = {"id": number, "at": 0, "person": 1, "set": 1, "slot": slot, "item": item, "comment": ""}
        connection.execute(insert(schema.contests).values(result))
        connection.execute(insert(schema.rulings).values(id=number, at=0, contest=number, upheld=upheld, reason=""))
    assert accepted_judgments(connection, GOLD).gold == {3: 0}


def test_an_empty_database_has_nothing(connection):
    """Columns of no rows, with gold."""
    result = accepted_judgments(connection, GOLD)
    assert [len(result.item), len(result.person), len(result.relevance), len(result.at)] == [0, 0, 0, 0]


def test_the_mark_changes_with_whatever_the_consensus_learns_from(connection):
    """A judgment, a standing, another grade; and with nothing else."""
    marks = [mark(connection, GOLD)]
    judge(connection, 1, 1, 1, 1)
    marks.append(mark(connection, GOLD))
    stand(connection, 1, 1, "excluded")
    marks.append(mark(connection, GOLD))
    marks.append(mark(connection, {**GOLD, ("t", "d1"): Gold(1, "it says so")}))
    assert len(set(marks)) == 4
    assert mark(connection, {**GOLD, ("t", "d1"): Gold(2, "other words")}) == marks[2]


def write(folder, belief, summary):
    """Write the files of a consensus, the summary last."""
    target = folder / "consensus"
    target.mkdir(exist_ok=True)
    np.save(target / "belief.npy", np.array(belief))
    np.savez(target / "judges.npz", person=np.array([7]), confusion=np.array([np.eye(2)]), typical=np.full((2, 2), 0.5))
    (target / "summary.json").write_text(json.dumps(summary))


def test_before_any_consensus_nothing_is_known(tmp_path):
    """Items are even, judges typical."""
    result = Beliefs(tmp_path)
    assert result.belief(3) == 0.5
    assert result.confusion(1) is TYPICAL
    assert result.upto == 0
    assert not result.refresh()


def test_files_are_read_when_they_are_new(tmp_path):
    """Once; who is not in them is as judges typically are."""
    result = Beliefs(tmp_path)
    write(tmp_path, [0.5, 0.9], {"upto": 12})
    assert result.refresh()
    assert not result.refresh()
    assert (result.belief(1), result.belief(2), result.upto) == (0.9, 0.5, 12)
    assert result.confusion(7).tolist() == [[1, 0], [0, 1]]
    assert result.confusion(8).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    write(tmp_path, [0.5, 0.1], {"upto": 13})
    os.utime(tmp_path / "consensus" / "summary.json", ns=(1, 1))
    assert result.refresh()
    assert result.belief(1) == 0.1


def test_damaged_files_leave_what_was_read_before(tmp_path):
    """And do no harm."""
    write(tmp_path, [0.5, 0.9], {"upto": 12})
    result = Beliefs(tmp_path)
    (tmp_path / "consensus" / "belief.npy").write_bytes(b"half a f")
    os.utime(tmp_path / "consensus" / "summary.json", ns=(1, 1))
    assert not result.refresh()
    assert result.belief(1) == 0.9


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    """No piece of it is left beside."""
    path = tmp_path / "file"
    replace_file(path, b"one")
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["file"]
    with pytest.raises(OSError, match="file"):
        replace_file(tmp_path / "none" / "file", b"x")


def test_json_is_of_finite_numbers():
    """What no browser could read is refused here."""
    assert json_bytes({"ä": 1.5}) == '{"ä": 1.5}'.encode()
    with pytest.raises(ValueError, match="JSON compliant"):
        json_bytes(float("nan"))


def leave(folder, **files):
    """Write files of a consensus."""
    (folder / "consensus").mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / "consensus" / f"{name}.json").write_text(json.dumps(content))


def test_nothing_yet(desk, reading):
    """Without files, and with broken ones, there is nothing."""
    assert read_summary(desk.folder) is None
    assert read_judge_cards(desk.folder) == ({}, "", "")
    assert read_looks(desk.folder) == {}
    assert read_belief(desk.folder) is None
    assert read_item_beliefs(reading, desk.folder) is None
    leave(desk.folder)
    (desk.folder / "consensus" / "summary.json").write_text("{")
    (desk.folder / "consensus" / "belief.npy").write_bytes(b"no array")
    assert read_summary(desk.folder) is None
    assert read_belief(desk.folder) is None


def test_cards_are_found_by_person(desk):
    """As the consensus writes them: a list of judges, each with their number."""
    leave(
        desk.folder,
        judges={"labels": [], "judges": [{"person": 7, "sentence": "good"}], "drift": "Nobody file_changes."},
    )
    result = read_judge_cards(desk.folder)
    assert result.cards[7]["sentence"] == "good"
    assert result.drift == "Nobody file_changes."


def test_the_excluded_are_not_counted(desk):
    """An item that only an excluded judge has judged rests on nothing."""
    leave(desk.folder)
    np.save(desk.folder / "consensus" / "belief.npy", np.full(len(desk.store.ledger.items.pairs), 0.5))
    desk.do(lead.change_standing, desk.lead, desk.ann, "excluded", "copies")
    with desk.store.reading() as connection:
        assert {read_item_belief.judgments for read_item_belief in read_item_beliefs(connection, desk.folder)} == {0}


def test_items_carry_their_belief(desk, reading):
    """Label, how sure it is, and on how many judgments it rests; items without a belief are left out."""
    leave(desk.folder)
    belief = np.full(len(desk.store.ledger.items.pairs), np.nan, np.float32)
    belief[1], belief[2] = 0.9, 0.25
    np.save(desk.folder / "consensus" / "belief.npy", belief)
    first, second = read_item_beliefs(reading, desk.folder)
    assert (first.item, first.topic, first.document, first.label) == (1, *desk.store.ledger.items.pairs[1], 1)
    assert first.probability == pytest.approx(0.9)
    assert second.label == 0
    assert second.probability == pytest.approx(0.75)
    assert second.entropy == pytest.approx(0.8113, abs=1e-4)
    assert first.judgments in (0, 1)


def test_it_is_fitted_where_there_is_none_or_an_old_one(desk):
    """What was left is taken only if nothing came since."""
    left = desk.folder / "consensus"
    with desk.store.reading() as connection:
        fitted = fresh_belief(connection, desk.campaign)
        assert fitted is not None
        left.mkdir()
        np.save(left / "belief.npy", np.full(fitted.shape, 0.25))
        model = desk.campaign.settings.consensus.model
        (left / "summary.json").write_text(json.dumps({"mark": f"{model} old"}))
        assert np.array_equal(fresh_belief(connection, desk.campaign), fitted)
        now = f"{model} {mark(connection, desk.campaign.gold)}"
        (left / "summary.json").write_text(json.dumps({"mark": now}))
        assert (fresh_belief(connection, desk.campaign) == 0.25).all()


def test_without_judgments_there_is_none(desk):
    """Not even one that is believed beforehand."""
    engine = create_engine("sqlite://")
    schema.METADATA.create_all(engine)
    with engine.connect() as connection:
        assert fresh_belief(connection, desk.campaign) is None


def ranked_crowd(seed=0, gold=()):
    """Return judgments in sets of five with ranks by four people, who know grades with some noise, and the grades."""
    rng, items, rows, ranks, assignments = np.random.default_rng(seed), 60, [], [], []
    truth = rng.choice(3, items + 1, p=[0.5, 0.3, 0.2])
    by_topic = [[n for n in range(1, items + 1) if n % 3 == t] for t in range(3)]
    for assignment in range(1, 41):
        for documents in by_topic:
            chosen = rng.choice(documents, 5, replace=False)
            label = np.where(rng.random(5) < 0.9, truth[chosen] > 0, truth[chosen] == 0).astype(int)
            order = np.lexsort((-(truth[chosen] + rng.normal(0, 0.5, 5)), -label))
            rows += [(int(chosen[k]), 1 + assignment % 4, int(label[k])) for k in order]
            ranks += [1, 2, 3, 4, 5]
            assignments += [assignment] * 5
    accepted = accepted_rows(rows, items, {item: int(truth[item] > 0) for item in gold})
    grades = {item: int(truth[item]) for item in gold}
    return accepted._replace(rank=np.array(ranks), assignment=np.array(assignments), grades=grades), truth


def test_grades_come_from_labels_and_ranks():
    """Every set is a ranking, ranks are within topics, and P(relevant) is that of the grades; gold is certain."""
    rows, truth = ranked_crowd(gold=(1, 2))
    result = consensus(rows, "graded")
    grades = result.grades
    assert result.summary["model"] == result.summary["asked"] == "graded"
    assert result.summary["note"] == ""
    assert sorted(grades.item.tolist()) == list(range(1, 61))
    open_items = np.isin(grades.item, (1, 2), invert=True)
    assert result.belief[grades.item][open_items] == pytest.approx(1 - grades.chance[open_items, 0])
    assert np.mean(grades.chance.argmax(axis=1) == truth[grades.item]) > 0.75
    for number in (1, 2):
        assert grades.chance[grades.item == number][0].tolist() == np.eye(3)[truth[number]].tolist()
    for topic in range(3):
        ranks = grades.rank[grades.item % 3 == topic]
        assert (ranks.min(), ranks.max()) == (1, 20)
    assert (grades.interval[:, 0] <= grades.interval[:, 1]).all()


def test_grades_wait_for_ranks_and_both_labels():
    """Until then the labels alone are used, and the summary says so."""
    rows, _ = ranked_crowd()
    result = consensus(rows._replace(rank=np.zeros_like(rows.rank)), "graded")
    assert result.grades is None
    assert result.summary["model"] == "consensus"
    assert result.summary["note"] == "consensus is used: graded needs ranks and both labels, and there are none yet"
    assert item_grades(rows._replace(relevance=np.ones_like(rows.relevance))) is None
