"""The doorway of audits: what is drawn, how answers are read, and what a certificate says."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.data.runs import example
from adjudge.errors import AdjudgeError, InputError, UsageError
from adjudge.evaluation.certify import COLUMNS, audit, certify

RUNS = ("bm25", "dense")


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    """Return a folder with judgments, runs and true labels."""
    folder = tmp_path_factory.mktemp("search")
    for name, text in example(1).items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def fit(search):
    """Return a fit of the judgments."""
    return adjudge.fit(search / "labels.csv")


@pytest.fixture(scope="module")
def runs(search):
    """Return the runs."""
    return [search / f"{name}.run" for name in RUNS]


@pytest.fixture(scope="module")
def truth(search):
    """Return the true label of every topic and document."""
    lines = [line.split() for line in (search / "truth.qrels").read_text().splitlines()]
    return {(topic, document): int(grade) for topic, _, document, grade in lines}


def labelled(sample, truth):
    """Return an audit with its labels filled in."""
    label = [truth[pair] for pair in sample.select("topic", "document").iter_rows()]
    return sample.with_columns(label=pl.Series(label))


def test_an_audit_is_a_table_to_fill_in(fit, runs):
    """About as many documents as asked for, each once, with the probability that it was drawn with."""
    sample = audit(fit, runs, 60)
    assert tuple(sample.columns) == COLUMNS
    assert 40 <= len(sample) <= 80
    assert not sample.select("topic", "document").is_duplicated().any()
    assert sample["probability"].is_between(0, 1).all()
    assert sample["label"].is_null().all()
    assert sample["round"].unique().to_list() == [1]


def test_the_same_seed_draws_the_same_documents(fit, runs):
    """Another seed draws others."""
    first, again, other = (audit(fit, runs, 60, seed=seed) for seed in (3, 3, 4))
    assert first.equals(again)
    assert not first.equals(other)


def test_an_audit_does_not_share_random_numbers_with_a_simulation(fit, runs, truth):
    """Labels that were simulated with the same seed do not decide which documents are drawn."""
    drawn = [labelled(audit(fit, runs, 60, seed=seed), truth) for seed in range(40)]
    estimates = [(each["label"] / each["probability"]).sum() / 120 for each in drawn]
    assert np.mean(estimates) == pytest.approx(np.mean(list(truth.values())), abs=0.03)


def test_intervals_contain_the_scores_by_the_true_labels(fit, runs, truth, search):
    """Over 15 audits of 70 documents, about nine in ten intervals do."""
    exact = adjudge.score(runs, search / "truth.qrels", "MAP,nDCG@10,P@10")
    rows = {(row["run"], row["measure"]): row["value"] for row in exact.table.iter_rows(named=True)}
    inside = []
    for seed in range(15):
        result = certify(fit, runs, labelled(audit(fit, runs, 70, seed=seed), truth))
        inside += [score.low <= rows[score.run, score.measure] <= score.high for score in result.scores]
        assert all(score.value == pytest.approx(score.judges + score.correction) for score in result.scores)
        assert all(score.topics_low <= score.low for score in result.scores)
    assert np.mean(inside) >= 0.8


def test_a_complete_audit_of_precision_is_exact(fit, runs, truth, search):
    """If every document is drawn, precision is that of the true labels, and nothing is uncertain."""
    result = certify(fit, runs, labelled(audit(fit, runs, 1_000), truth), "P@10")
    exact = adjudge.score(runs, search / "truth.qrels", "P@10").table["value"].to_list()
    assert [score.value for score in result.scores] == pytest.approx(exact)
    assert [score.high - score.low for score in result.scores] == pytest.approx([0, 0])


def test_a_second_round_draws_other_documents(fit, runs, truth):
    """Documents of the first round are not drawn again, and both rounds count."""
    first = labelled(audit(fit, runs, 40), truth)
    second = audit(fit, runs, 30, answers=first)
    assert second["round"].unique().to_list() == [2]
    assert not set(second.select("topic", "document").rows()) & set(first.select("topic", "document").rows())
    both = certify(fit, runs, [first, labelled(second, truth)], "P@10")
    together = certify(fit, runs, pl.concat([first, labelled(second, truth)]), "P@10")
    assert (both.rounds, both.labels) == (2, len(first) + len(second))
    assert both.scores == together.scores


def test_a_pair_is_decided_or_says_how_many_labels_are_needed(fit, runs, truth, search):
    """Of two runs, an interval with 0 leaves it open; otherwise the better run is named."""
    few, many = (certify(fit, runs, labelled(audit(fit, runs, size), truth), "MAP") for size in (25, 110))
    exact = dict(adjudge.score(runs, search / "truth.qrels", "MAP").table.select("run", "value").iter_rows())
    assert many.pairs[0].better == max(exact, key=exact.get)
    assert many.pairs[0].needed is None
    pair = few.pairs[0]
    assert (pair.better is None) == (pair.low <= 0 <= pair.high)
    assert pair.better is not None or pair.needed > few.labels


def test_tables_have_one_row_per_run_and_pair(fit, runs, truth):
    """The tables are those of the records."""
    result = certify(fit, runs, labelled(audit(fit, runs, 60), truth), "MAP,P@10")
    assert result.table.shape == (4, 10)
    assert result.pair_table["better"].to_list() == [pair.better for pair in result.pairs]
    assert repr(result).startswith(f"Certificate({result.labels} audited documents, 10 topics: bm25 MAP 0.")


def test_documents_that_nobody_judged_can_be_drawn(fit, runs, truth):
    """With unjudged="zero" they have grade 0 and are named in a note; with "prevalence" they may be drawn."""
    run = {"new": {"1": {"unseen": 9.0, "d1": 1.0}}}
    with pytest.raises(AdjudgeError):
        audit(fit, run, 0)
    assert "unseen" not in audit(fit, run, 100)["document"].to_list()
    drawn = audit(fit, run, 100, unjudged="prevalence")
    assert "unseen" in drawn["document"].to_list()
    closed = certify(fit, run, labelled(audit(fit, run, 100), truth), "MRR")
    assert closed.notes[-1] == (
        "documents of the runs that nobody judged have grade 0 and cannot be drawn: 1 (see unjudged)"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": None}, "documents have no label: all must be labelled, because those left out may differ"),
        ({"label": "maybe"}, "label 'maybe' is not one of '0', '1'"),
        (
            {"probability": 0.0},
            "probability is '0.0', which adjudge evaluate --audit never writes: restore it, or draw a new audit",
        ),
        (
            {"document": "other"},
            "document 'other' of topic '1' is in no run and was not judged: give the fit and the runs that the audit "
            "was drawn for",
        ),
    ],
)
def test_answers_that_cannot_be_used_are_refused(fit, runs, truth, change, message):
    """The message names the row and what to do."""
    answers = labelled(audit(fit, runs, 60), truth).with_columns(pl.col("label").cast(pl.String))
    [(name, value)] = change.items()
    first = pl.int_range(pl.len()) == 0
    broken = answers.with_columns(pl.when(first).then(pl.lit(value)).otherwise(pl.col(name)).alias(name))
    with pytest.raises(InputError) as error:
        certify(fit, runs, broken)
    assert message in str(error.value)


def test_a_table_that_is_no_audit_is_refused(fit, runs):
    """Documents that somebody chose by hand have no probability."""
    with pytest.raises(InputError) as error:
        certify(fit, runs, pl.DataFrame({"topic": ["1"], "document": ["d1"], "label": [1]}))
    assert str(error.value).endswith(
        "there is no column 'round': answers are the table that adjudge evaluate --audit wrote, with its column label "
        "filled in"
    )


def test_a_document_in_two_rows_is_refused(fit, runs, truth):
    """The same table twice is a mistake."""
    answers = labelled(audit(fit, runs, 60), truth)
    with pytest.raises(InputError) as error:
        certify(fit, runs, [answers, answers])
    topic, document = answers.select("topic", "document").row(0)
    assert str(error.value).endswith(f"document '{document}' of topic '{topic}' is in the audit twice: keep one row")


def test_a_size_below_one_is_refused(fit, runs):
    """An audit has documents."""
    with pytest.raises(UsageError) as error:
        audit(fit, runs, 0)
    assert str(error.value) == "an audit of 0 documents says nothing: ask for 1 or more, better 50"


def test_a_level_that_no_label_reaches_is_refused(fit, runs):
    """The grades of the fit are named."""
    with pytest.raises(UsageError) as error:
        audit(fit, runs, 10, level=3.0)
    assert str(error.value) == "no label is relevant at level 3: the grades of the fit are 0, 1"


def test_a_round_after_a_complete_audit_is_refused(fit, runs, truth):
    """Nothing is left to label."""
    every = labelled(audit(fit, runs, 1_000), truth)
    with pytest.raises(UsageError) as error:
        audit(fit, runs, 10, answers=every)
    assert str(error.value) == "no document was drawn: all are labelled already, or the audit is too small"


def test_measures_without_a_closed_form_are_refused_before_anything_is_read(fit, runs):
    """The sentence names those that an audit can estimate."""
    with pytest.raises(UsageError) as error:
        audit(fit, runs, 10, "MAP,Bpref")
    possible = "MAP, MRR, nDCG, P@k, R@k, Success@k, ERR, RBP, SetP, SetR, SetF"
    assert str(error.value) == f"an audit cannot estimate Bpref: it can estimate {possible}"


def test_all_measures_with_a_closed_form_are_certified(fit, runs, truth):
    """A complete audit gives the values by the true labels, for names of ir_measures too."""
    measures = "AP(rel=1),nDCG(dcg='exp-log2')@10,ERR(max_rel=1)@5,RBP(p=0.5),RR@5,R@10,Success@1,SetF"
    result = certify(fit, runs, labelled(audit(fit, runs, 10_000, measures), truth), measures)
    grades = {}
    for (topic, document), grade in truth.items():
        grades.setdefault(topic, {})[document] = grade
    exact = adjudge.score(runs, grades, measures, draws=1)
    assert [row.value for row in result.scores] == pytest.approx([row.value for row in exact.scores], abs=1e-9)
    assert [row.measure for row in result.scores] == [row.measure for row in exact.scores]


def test_many_runs_are_estimated_as_each_alone(fit, runs, truth):
    """Twelve runs, of which pairs are the differences of values."""
    many = {f"{path.stem}{n}": path for n in range(6) for path in runs}
    answers = labelled(audit(fit, many, 60), truth)
    result = certify(fit, many, answers)
    assert len(result.scores) == 12 * 3
    assert len(result.pairs) == 66 * 3
    value = {(row.run, row.measure): row.value for row in result.scores}
    for row in result.pairs:
        difference = value[row.first, row.measure] - value[row.second, row.measure]
        assert row.difference == pytest.approx(difference, abs=1e-12)
        if row.first.rstrip("012345") == row.second.rstrip("012345"):
            assert row.difference == 0
            assert row.better is None


@pytest.fixture(scope="module")
def three(search, runs):
    """Return three runs, of which the last ranks by the true labels."""
    lines = [line.split() for line in (search / "truth.qrels").read_text().splitlines()]
    ideal = {}
    for topic, _, document, grade in lines:
        ideal.setdefault(topic, {})[document] = float(grade)
    return {"bm25": runs[0], "dense": runs[1], "ideal": ideal}


def test_a_leaderboard_of_audited_runs_says_what_pairs_say(fit, three, truth):
    """A run that is better in every pair after Holm's correction is first for certain, and its group its own."""
    result = certify(fit, three, labelled(audit(fit, three, 90), truth), "MAP,P@5")
    board = [place for place in result.leaderboard if place.measure == "MAP"]
    pairs = [pair for pair in result.pairs if pair.measure == "MAP"]
    apart = {(p.first, p.second) if p.difference > 0 else (p.second, p.first) for p in pairs if p.decided}
    assert result.distinguished("MAP") == apart
    assert {("ideal", "bm25"), ("ideal", "dense")} <= apart
    assert (board[0].run, board[0].ranks, board[0].groups, board[0].best) == ("ideal", "1", "1", None)
    assert [place.first_group > 1 for place in board] == [False, True, True]
    assert len(result.leaderboard_table) == 6
    for pair in pairs:  # with correction, a pair is decided only if its interval does not hold 0
        assert pair.better is None or not pair.low <= 0 <= pair.high
        assert pair.better is not None or pair.needed > result.labels


def test_p_values_are_those_of_a_t_test(fit, runs, truth):
    """With two runs there is one pair, and p is below .1 where the interval does not hold 0."""
    for seed in range(6):
        result = certify(fit, runs, labelled(audit(fit, runs, 60, seed=seed), truth))
        for pair in result.pairs:
            assert (pair.adjusted <= 0.1) == (pair.better is not None) == (not pair.low <= 0 <= pair.high)


def test_a_complete_audit_leaves_no_doubt_in_the_order(fit, three, truth):
    """All documents are drawn with certainty: every rank is known."""
    result = certify(fit, three, labelled(audit(fit, three, 1_000), truth), "MAP")
    assert [(place.rank, place.ranks) for place in result.leaderboard] == [(1, "1"), (2, "2"), (3, "3")]
    assert max(pair.adjusted for pair in result.pairs) < 1e-12


def test_a_certificate_has_a_baseline(fit, three, truth):
    """All other runs are compared with it, and Holm's correction is for these pairs."""
    answers = labelled(audit(fit, three, 60), truth)
    every, based = certify(fit, three, answers, "MAP"), certify(fit, three, answers, "MAP", baseline="bm25")
    assert [(pair.first, pair.second) for pair in based.pairs] == [("dense", "bm25"), ("ideal", "bm25")]
    assert based.pairs[0].difference == pytest.approx(-every.pairs[0].difference)
    assert based.pairs[0].adjusted <= every.pairs[0].adjusted
    assert (every.baseline, based.baseline) == (None, "bm25")
