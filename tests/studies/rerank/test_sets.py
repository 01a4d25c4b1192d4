"""The sets of the study, read as they are."""

import gzip

import numpy as np
import pytest

from adjudge.errors import InputError
from adjudge.learn.topic_scores import score_groups
from studies.rerank.sets import SETS, _window, read_rows


def silent(what):
    """Say nothing."""


def test_text_becomes_features(tmp_path):
    """Of a small folder as xquad_sentences is: only questions that the crowd judged are taken."""
    folder = tmp_path / "xquad_sentences"
    folder.mkdir()
    packed = {
        "candidates.tsv.gz": "question\tpassage\tgold\tre\tbm25\n0\ts0\t1\t1\t2.5\n0\ts1\t0\t1\t1.5\n9\ts0\t0\t0\t1\n",
        "passages.tsv.gz": 's0\tThe "ship" sank in 1912.\ns1\tIt had 1912 lamps.\n',
        "simulated_crowd.csv.gz": "question,passage,worker,label\n0,s0,w1,1\n0,s1,w1,0\n0,s0,w2,1\n0,s1,w2,1\n",
    }
    for name, text in packed.items():
        (folder / name).write_bytes(gzip.compress(text.encode()))
    (folder / "questions.tsv").write_text("0\tWhen did the ship sink?\t1912\n9\tWho?\tnobody\n")
    (folder / "simulated_workers.csv").write_text("worker,trust,n\nw1,0.9,2\nw2,0.5,2\n")
    rows = read_rows(tmp_path, "xquad_sentences", silent, tmp_path / "kept")
    assert rows.question.tolist() == ["0", "0"]
    assert (rows.truth.tolist(), rows.matched.tolist(), rows.bm25.tolist()) == ([True, False], [True, True], [2.5, 1.5])
    assert rows.X.shape == (2, len(rows.features))
    crowd, truth = rows.crowd(np.random.default_rng(0))
    assert crowd.trust == {"w1": 0.9, "w2": 0.5}
    assert truth is rows.truth
    assert np.bincount(crowd.judgments.item(), crowd.judgments.label).tolist() == [2, 1]


def test_trecqa_is_numbers(shared):
    """With manual labels, and those of patterns."""
    rows = read_rows(shared("data"), "trecqa_letor", silent)
    assert rows.X.shape == (2_746, 24)
    assert (rows.truth.sum(), rows.matched.sum(), np.unique(rows.question).size) == (665, 1_043, 211)
    assert rows.crowd is None
    assert rows.bm25[0] == pytest.approx(16.3883)


def test_hard_questions_leave_room(shared, tmp_path):
    """Half of the questions have no relevant sentence among the first 20 of BM25; it is not given away by its place."""
    rows = read_rows(shared("data"), "wikiqa_hard", silent, tmp_path)
    groups, size = np.unique(rows.question, return_counts=True)
    assert (groups.size, set(size.tolist()), rows.X.shape[0]) == (527, {20}, 10_540)
    scores = score_groups(rows.bm25, rows.truth, rows.question, rows.document)
    assert scores.group.size == 527
    assert scores.means()["MRR"] == pytest.approx(0.436, abs=0.001)
    place = np.array([np.flatnonzero(rows.truth[rows.question == q])[0] for q in groups])  # in the order of the search
    assert np.all(np.bincount(place, minlength=20)[10:] > 5)  # also in the lower half


def test_cranfield_has_several_relevant_abstracts(shared, tmp_path):
    """Among the first 20 of BM25; queries without any are left out."""
    rows = read_rows(shared("data"), "cranfield", silent, tmp_path)
    scores = score_groups(rows.bm25, rows.truth, rows.question, rows.document)
    assert (np.unique(rows.question).size, scores.group.size, rows.truth.size) == (203, 203, 4_060)
    assert rows.truth.sum() / 203 == pytest.approx(3.23, abs=0.01)


def test_a_window_holds_the_first_relevant_passage():
    """The first 20 if it is among them, otherwise 20 neighbours."""
    ranked, rng = [f"d{n}" for n in range(100)], np.random.default_rng(0)
    assert _window(ranked, 19, rng) == ranked[:20]
    starts = set()
    for _ in range(200):
        window = _window(ranked, 40, rng)
        assert (len(window), "d40" in window) == (20, True)
        starts.add(ranked.index(window[0]))
    assert starts == set(range(21, 41))


def test_cast_has_its_judges_and_their_approval(shared):
    """Truth is their vote."""
    rows = read_rows(shared("data"), "cast_snippets", silent)
    crowd, truth = rows.crowd(np.random.default_rng(0))
    assert (len(crowd.judgments.items), len(crowd.judgments), len(crowd.judgments.judges)) == (12_224, 36_672, 15)
    assert set(crowd.trust) == set(crowd.judgments.judges.to_list())
    assert all(0.9 < trust <= 1 for trust in crowd.trust.values())
    assert truth.mean() == pytest.approx(0.314, abs=0.001)
    assert np.isfinite(rows.X).all()


def test_nyt_draws_five_and_lets_the_others_vote(shared):
    """Anew in each run; the five are different judges, though some judged a paragraph more than once."""
    rows = read_rows(shared("data"), "nyt_passages", silent)
    (first, truth), (other, _) = (rows.crowd(np.random.default_rng(seed)) for seed in (0, 1))
    assert np.diff(first.judgments.start).tolist() == [5] * 265
    assert not np.array_equal(first.judgments.judge, other.judgments.judge)
    assert truth.size == 265
    pairs = first.judgments.item() * len(first.judgments.judges) + first.judgments.judge
    assert np.unique(pairs).size == 5 * 265


def test_nobody_who_teaches_a_paragraph_votes_on_it(tmp_path):
    """A judge who judged it twice counts once, by the first judgment, and on one side."""
    folder = tmp_path / "nyt_passages"
    folder.mkdir()
    judges = [(f"w{w}", 1, "10:00") for w in range(5)] + [("lone", 0, "10:00")]
    judges += [(f"w{w}", 0, f"11:0{n}") for w in range(5) for n in range(3)]  # later, against themselves
    lines = ["item,worker,label,topic,timestamp,duration,trust,team"]
    lines += [f"1_{d}_s{s},{w},{y},1,2017-01-01T{at},1,1,t" for d in (1, 2) for s in (0, 1) for w, y, at in judges]
    (folder / "labels.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    (folder / "doc_gold.csv").write_text("item,nist_rel,reviewers_rel\n1_1,1,1\n1_2,0,0\n")
    rows = read_rows(tmp_path, "nyt_passages", silent)
    for seed in range(8):
        crowd, truth = rows.crowd(np.random.default_rng(seed))
        table = crowd.judgments
        lone = table.judges.to_list().index("lone")
        for item in range(4):
            teachers = table.judge[table.start[item] : table.start[item + 1]]
            assert np.unique(teachers).size == 5
            assert truth[item] == (lone in teachers)  # the only one left votes: a yes, unless it is the lone no


def test_what_is_not_there_is_said(tmp_path):
    """A set that is none, a folder, and a file."""
    with pytest.raises(InputError, match=f"is no set of this study; its sets are {', '.join(SETS)}"):
        read_rows(tmp_path, "magic", silent)
    with pytest.raises(InputError, match="there is no such folder: say with --data where the sets are"):
        read_rows(tmp_path, "qa_wikiqa", silent)
    (tmp_path / "qa_wikiqa").mkdir()
    with pytest.raises(InputError, match=r"passages.tsv: there is no such file"):
        read_rows(tmp_path, "qa_wikiqa", silent)


def test_wikiqa_has_questions_by_split(tmp_path):
    """The same number in two splits is two questions."""
    folder = tmp_path / "qa_wikiqa"
    folder.mkdir()
    lines = ["split\tqid\tquestion\tpassage\tlabel", "train\t1\twho ?\tann did\t1", 'dev\t1\twhen ?\ta " quote\t0']
    (folder / "passages.tsv").write_text("\n".join(lines) + "\n")
    rows = read_rows(tmp_path, "qa_wikiqa", silent)
    assert rows.question.tolist() == ["train1", "dev1"]
    assert (rows.truth.tolist(), rows.matched) == ([True, False], None)
    assert rows.bm25.shape == (2,)
