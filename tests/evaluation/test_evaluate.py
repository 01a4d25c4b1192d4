"""Systems under uncertain labels against every assignment of labels there is."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import adjudge
from adjudge.data.scale import Scale
from adjudge.errors import UsageError
from adjudge.evaluation.evaluate import evaluate, variance_parts
from adjudge.inference.chains import Draws
from adjudge.kernels.sweep import pack
from adjudge.metrics.score import score_runs, topic_deviations, widening

# two topics of three documents, of which three in all are uncertain
CHANCE = {"1": {"a": 0.55, "b": 0.9, "c": 0.0}, "2": {"d": 1.0, "e": 0.2, "f": 0.0}}
RUNS = {
    "A": {"1": {"a": 3, "b": 2, "c": 1}, "2": {"d": 2, "e": 3, "f": 1}},
    "B": {"1": {"a": 1, "b": 2, "c": 3}, "2": {"d": 3, "e": 1, "f": 2}},
}


def made(chance, labels=(0, 1)):
    """Return a fit with made up posteriors: {topic: {document: chance of 1, or of every label}}."""
    rows = [(f"{t}_{d}", t, "x", labels[n % len(labels)]) for n, (t, d) in enumerate(_named(chance))]
    table = pl.DataFrame(rows, schema=["item", "topic", "judge", "label"], orient="row")
    fit = adjudge.fit(adjudge.read(table, labels=list(labels)), "majority")
    inputs = [chance[t][d] for t, d in _named(chance)]
    return replace(fit, posterior=np.array([p if isinstance(p, list) else [1 - p, p] for p in inputs], float))


def _named(chance):
    """Return all topics and documents."""
    return [(topic, document) for topic, stored in chance.items() for document in stored]


def every_label(chance):
    """Yield every assignment of two labels, as grades, with its chance."""
    named = _named(chance)
    for labels in product((0, 1), repeat=len(named)):
        p = np.prod([chance[t][d] if k else 1 - chance[t][d] for (t, d), k in zip(named, labels, strict=True)])
        if p > 0:
            grades = {topic: {} for topic in chance}
            for (t, d), k in zip(named, labels, strict=True):
                grades[t][d] = k
            yield grades, float(p)


def enumerated(chance, runs, measure):
    """Return the values (R, T, assignments) of runs under every assignment, and the chances of these."""
    both = list(every_label(chance))
    result = [score_runs(runs, grades, measure, draws=1).value[:, 0] for grades, _ in both]
    return np.stack(result, axis=2), np.array([p for _, p in both]), [grades for grades, _ in both]


@pytest.mark.parametrize("measure", ["MAP", "nDCG@2", "P@1", "MRR"])
def test_chances_are_those_of_all_assignments(measure):
    """Three uncertain documents: eight assignments give P(A better), the means and the variances exactly."""
    value, p, _ = enumerated(CHANCE, RUNS, measure)
    assert p.size == 8
    result = evaluate(made(CHANCE), RUNS, measure, draws=20_000, seed=5)
    near = 4 * 0.5 / 20_000**0.5
    difference = (value[0] - value[1]).mean(axis=0)
    pair = result.pairs[0]
    assert pair.better_labels == pytest.approx(p[difference > 1e-12].sum(), abs=near)
    assert pair.tied_labels == pytest.approx(p[abs(difference) < 1e-12].sum(), abs=near)
    assert pair.difference == pytest.approx(difference @ p, abs=near)
    assert [score.value for score in result.scores] == pytest.approx(value.mean(axis=1) @ p, abs=near)
    mean = difference @ p
    assert pair.parts.labels == pytest.approx(p @ (difference - mean) ** 2, abs=0.01)
    by_topic = (value[0] - value[1]) @ p
    assert pair.parts.topics == pytest.approx(by_topic.var(), abs=0.01)


def test_chances_over_labels_and_topics_are_those_of_all_resamples():
    """Two topics, expected values: both once with chance 1/2, each twice with chance 1/4; and every assignment."""
    value, p, _ = enumerated(CHANCE, RUNS, "MAP")
    x = value[0] - value[1]  # (T, 8)
    apart = widening(2) * np.ptp(x @ p) / 2
    exact = sum(w * p @ (x.mean(axis=0) + far > 1e-12) for far, w in ((0, 0.5), (apart, 0.25), (-apart, 0.25)))
    result = evaluate(made(CHANCE), RUNS, "MAP", draws=20_000).pairs[0]
    assert result.better == pytest.approx(exact, abs=4 * 0.5 / 20_000**0.5)


@pytest.mark.parametrize("measure", ["MAP", "nDCG", "P@1"])
def test_the_document_named_first_is_the_one_that_decides(measure):
    """Of all documents it moves P(A better) most when its label is known, by every assignment there is."""
    value, p, grades = enumerated(CHANCE, RUNS, measure)
    better = (value[0] - value[1]).mean(axis=0) > 1e-12
    before, moves = p @ better, {}
    for topic, document in _named(CHANCE):
        label = np.array([grade[topic][document] for grade in grades])
        share = [p[label == k].sum() for k in (0, 1)]
        after = [p[label == k] @ better[label == k] / share[k] if share[k] else before for k in (0, 1)]
        moves[topic, document] = sum(s * abs(a - before) for s, a in zip(share, after, strict=True))
    result = evaluate(made(CHANCE), RUNS, measure, draws=4_000, pair=("A", "B"))
    first = result.deciding[0]
    assert (first.topic, first.document) == max(moves, key=moves.get)
    assert {(entry.topic, entry.document) for entry in result.deciding} == {("1", "a"), ("1", "b"), ("2", "e")}
    assert [entry.moves for entry in result.deciding] == sorted(
        (entry.moves for entry in result.deciding), reverse=True
    )


def test_effects_are_those_of_all_assignments():
    """What the difference of the means would be with a label known to be 1 instead of 0."""
    value, p, grades = enumerated(CHANCE, RUNS, "MAP")
    difference = (value[0] - value[1]).mean(axis=0)
    result = evaluate(made(CHANCE), RUNS, "MAP", draws=20_000, pair=("A", "B"))
    for entry in result.deciding:
        label = np.array([grade[entry.topic][entry.document] for grade in grades])
        means = [difference[label == k] @ p[label == k] / p[label == k].sum() for k in (0, 1)]
        assert entry.effect == pytest.approx(means[1] - means[0], abs=0.02)
        assert entry.chance == CHANCE[entry.topic][entry.document]
    ranks = {entry.document: (entry.first_rank, entry.second_rank) for entry in result.deciding}
    assert ranks == {"a": (1, 3), "b": (2, 2), "e": (1, 3)}


def test_the_variance_falls_into_its_parts():
    """P@1 of topics with one document each, relevant with chance p: both parts in closed form."""
    p = np.array([0.1, 0.5, 0.7, 1.0])
    fit = made({str(t): {"x": chance} for t, chance in enumerate(p)})
    parts = evaluate(fit, {"A": {str(t): {"x": 1} for t in range(4)}}, "P@1", draws=50_000).scores[0].parts
    assert parts.labels == pytest.approx((p * (1 - p)).sum() / 16, rel=0.03)
    assert parts.topics == pytest.approx(p.var(ddof=1) / 4, rel=0.05)
    assert sum(parts.shares) == pytest.approx(1)


def test_label_noise_is_not_counted_as_a_spread_of_topics():
    """Fifty topics that are the same as far as is known: all there is to vary is by the labels, counted once."""
    x = np.random.default_rng(0).random((50, 4_000)) < 0.5
    labels, topics = variance_parts(x.mean(axis=1), x.mean(axis=0))
    assert labels == pytest.approx(0.25 / 50, rel=0.1)
    assert topics < 0.01 * labels
    result = evaluate(coins(50), {"A": {str(t): {"x": 1} for t in range(50)}}, "P@1", draws=4_000).scores[0]
    assert result.both == pytest.approx(result.labels, abs=0.01)


def coins(topics):
    """Return a fit of topics with one document each, relevant or not with the same chance."""
    return made({str(t): {"x": 0.5} for t in range(topics)})


def test_draws_vary_by_the_sum_of_the_parts():
    """The interval over labels and topics of sixty topics is that of a normal variable with their variance."""
    p = np.random.default_rng(1).random(60).round(3)
    fit = made({str(t): {"x": float(chance)} for t, chance in enumerate(p)})
    result = evaluate(fit, {"A": {str(t): {"x": 1} for t in range(60)}}, "P@1", draws=20_000).scores[0]
    reach = stats.t.ppf(0.95, 59) * sum(result.parts) ** 0.5
    assert result.both == pytest.approx((result.value - reach, result.value + reach), abs=0.006)


def test_certain_labels_leave_the_plain_bootstrap_over_topics():
    """The interval of a difference is that of its values by topic, drawn again and widened."""
    rng = np.random.default_rng(2)
    chance = {str(t): {f"d{n}": float(rng.random() < 0.5) for n in range(6)} for t in range(12)}
    runs = {r: {t: {d: float(rng.random()) for d in stored} for t, stored in chance.items()} for r in "AB"}
    result = evaluate(made(chance), runs, "MAP", draws=500, seed=3)
    x = (result.by_topic[0, 0] - result.by_topic[1, 0])[:, None]  # the same in every draw
    drawn = x.mean() + topic_deviations(x, 500, np.random.default_rng([3, 1]))[:, 0]
    assert result.pairs[0].span == pytest.approx(tuple(np.quantile(drawn, (0.05, 0.95))))
    assert result.pairs[0].better == (drawn > 0).mean()
    assert result.scores[0].both == pytest.approx(result.scores[0].topics)
    assert result.pairs[0].parts.shares == pytest.approx((0, 1))


def test_intervals_of_a_difference_cover():
    """Fifty topics, ten documents a run, judged three times: two runs that are equally good over all topics.

    A judge is right in 85 %, and runs differ by .2 in a topic; 90 in 100 intervals should hold 0, and some more do.
    """
    rng, collected = np.random.default_rng(0), []
    names = [(t, f"{r}{n}") for t in range(50) for r in "AB" for n in range(10)]
    runs = {r: {str(t): {f"{r}{n}": -n for n in range(10)} for t in range(50)} for r in "AB"}
    fit = made({str(t): {d: 0.5 for s, d in names if s == t} for t in range(50)})
    assert [f"{t}_{d}" for t, d in names] == fit.items.to_list()
    for seed in range(150):
        gap = 0.1 * rng.standard_normal((50, 1, 1)) * np.array([1, -1])[:, None]
        truth = rng.random((50, 2, 10)) < 0.5 + gap
        votes = rng.binomial(3, np.where(truth, 0.85, 0.15)).ravel()
        chance = 1 / (1 + (0.15 / 0.85) ** (2.0 * votes - 3))
        sure = replace(fit, posterior=np.column_stack([1 - chance, chance]))
        low, high = evaluate(sure, runs, "P@10", draws=200, seed=seed, budget=0).pairs[0].span
        collected.append(low <= 0 <= high)
    assert 0.86 <= np.mean(collected) <= 0.97


def test_labels_that_hang_together_are_drawn_together():
    """Two documents that are relevant in the same draws: the mean varies twice as much as of two coins."""
    fit = made({"1": {"x": 0.5}, "2": {"y": 0.5}})
    runs = {"A": {"1": {"x": 1}, "2": {"y": 1}}, "B": {"1": {"z": 2, "x": 1}}}
    truth = np.repeat(np.arange(400) % 2, 2).reshape(1, 400, 2)
    bits = np.stack([[pack(draw, 2) for draw in chain] for chain in truth])
    nothing = np.empty(0)
    stored = replace(fit, draws=Draws(nothing, nothing, nothing, nothing, nothing, True, 0, bits))
    joint, apart = evaluate(stored, runs, "P@1"), evaluate(fit, runs, "P@1", draws=4_000)
    assert joint.joint
    assert not apart.joint
    assert (joint.draws, apart.draws) == (400, 4_000)
    assert joint.scores[0].parts.labels == pytest.approx(0.25)
    assert apart.scores[0].parts.labels == pytest.approx(0.125, abs=0.01)
    assert joint.pairs[0].better_labels == pytest.approx(0.5)
    assert apart.pairs[0].better_labels == pytest.approx(0.75, abs=0.03)
    assert joint.notes == (
        "all of this is valid only if no system shares a bias with the judges, which no probability can show: an audit "
        "of a few expert labels can (`adjudge evaluate --audit`)",
        "the fit stored 400 draws, fewer than the 1,000 asked for: all are used",
        "B: nobody judged 1 of 2 documents, which have grade 0",
        "B returns nothing for 1 of 2 topics, which count as 0",
        "2 of 2 topics have no relevant document in some draws (topic '1' in 50%): undefined values count as 0, "
        "as in trec_eval",
    )
    assert (
        apart.notes[1]
        == "labels are drawn item by item from the posterior: joint draws need a fit that kept its truths "
        "(`adjudge fit --keep-truths`)"
    )


def test_certain_labels_give_the_plain_scores():
    """As ``score_runs`` has them, and nothing that varies by labels."""
    chance = {"1": {"a": 1.0, "b": 0.0, "c": 1.0}, "2": {"d": 0.0, "e": 1.0, "f": 0.0}}
    result = evaluate(made(chance), RUNS, "MAP,nDCG@2,P@1", draws=50)
    plain = score_runs(
        RUNS, {t: {d: int(p) for d, p in stored.items()} for t, stored in chance.items()}, "MAP,nDCG@2,P@1"
    )
    for ours, theirs in zip(result.scores, plain.scores, strict=True):
        assert ours.value == pytest.approx(theirs.value)
        assert ours.labels == pytest.approx((ours.value, ours.value))
        assert ours.parts.labels == pytest.approx(0)
    assert result.deciding == ()
    same = evaluate(made(chance), {"A": RUNS["A"], "B": RUNS["A"]}, "MAP", draws=50)
    assert (same.pairs[0].better, same.pairs[0].tied) == (0, 1)
    assert same.pairs[0].parts.shares is None
    assert same.pair_rows()[0]["share_labels"] is None


def test_a_document_nobody_judged_may_decide():
    """It counts as grade 0, and is named with the chance that it has not."""
    chance = {"1": {"a": 0.5, "b": 1.0}, "2": {"a": 0.5, "b": 1.0}}
    runs = {
        "A": {"1": {"new": 2, "b": 1}, "2": {"b": 1}},
        "B": {"1": {"b": 2, "a": 1}, "2": {"b": 1, "a": 0}},
    }
    first = evaluate(made(chance), runs, "P@1", draws=200).deciding[0]
    assert (first.topic, first.document, first.judged, first.chance) == ("1", "new", False, 0.75)
    assert (first.first_rank, first.second_rank) == (None, 1)  # B is best, and so the first
    assert first.effect == pytest.approx(-0.5)
    assert first.moves == pytest.approx(0.75)  # B is better for certain; with grade 1 they tie
    drawn = evaluate(made(chance), runs, "P@1", draws=2_000, unjudged="prevalence")
    assert drawn.pairs[0].tied_labels == pytest.approx(0.75, abs=0.04)
    assert "A: nobody judged 1 of 3 documents, which have labels by their topic's prevalence" in drawn.notes


def test_grades_are_the_numbers_of_the_labels():
    """Three grades: expected nDCG by all assignments of the one uncertain document."""
    fit = made({"1": {"a": [0.2, 0.3, 0.5], "b": [0, 1, 0]}}, labels=(0, 1, 2))
    runs = {"A": {"1": {"a": 2, "b": 1}}, "B": {"1": {"b": 2, "a": 1}}}
    result = evaluate(fit, runs, "nDCG,P@1", draws=20_000, level=2)
    fall = 1 / np.log2(3)
    expected = 0.2 * fall + 0.3 + 0.5
    assert result.scores[0].value == pytest.approx(expected, abs=0.01)
    assert result.scores[1].value == pytest.approx(0.5, abs=0.015)  # relevant from grade 2
    assert result.deciding[0].document == "a"


def test_text_labels_are_graded_by_their_place():
    """no, yes are 0, 1; where every label is relevant it is said."""
    fit = made({"1": {"a": 0.3}, "2": {"a": 0.3}})
    words = replace(fit, scale=Scale(("no", "yes")))
    result = evaluate(words, {"A": {"1": {"a": 1}, "2": {"a": 1}}}, "P@1", draws=5_000)
    assert result.scores[0].value == pytest.approx(0.3, abs=0.03)
    assert "deciding documents are not defined because there is only one run" in result.notes
    assert result.decision is None
    high = evaluate(replace(fit, scale=Scale((1, 2))), {"A": {"1": {"a": 1}}}, "P@1", draws=10)
    assert high.scores[0].value == 1
    assert "every label is relevant at level 1: only nDCG distinguishes them" in high.notes


def test_one_topic_says_nothing_of_topics():
    """No interval over topics, and a note."""
    result = evaluate(made(CHANCE), {"A": {"1": {"a": 1}}}, "P@1", draws=100)
    assert result.scores[0].topics is None
    assert result.score_rows()[0]["topics_low"] is None
    assert result.notes[-2] == "the variance of topics is not defined because there is only one topic"
    assert result.scores[0].parts.topics == 0
    assert result.scores[0].both == result.scores[0].labels
    both = evaluate(made(CHANCE), {"A": {"1": {"a": 1}, "9": {"a": 1}}}, "P@1", draws=100, complete=True)
    assert both.topics == ("1", "2")
    assert "A has 1 topics that are not in the fit, which are left out" in both.notes


def test_a_seed_gives_the_same_again(tmp_path):
    """From the fit or from its folder; another seed differs."""
    fit = made(CHANCE)
    adjudge.save(fit, tmp_path / "fit")
    first, again = evaluate(fit, RUNS, draws=300, seed=1), evaluate(tmp_path / "fit", RUNS, draws=300, seed=1)
    assert first.scores == again.scores
    assert first.deciding == again.deciding
    assert evaluate(fit, RUNS, draws=300, seed=2).scores != first.scores
    assert repr(first).startswith("Evaluation(2 topics, 300 draws: A MAP 0.")
    assert len(evaluate(fit, RUNS, draws=20, budget=2).deciding) == 2
    assert len(first.deciding_rows()) == 3


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"draws": 0}, "draws 0 is not 1 or more"),
        ({"budget": -1}, "budget -1 is not 0 or more"),
        ({"level": 3}, "no label is relevant at level 3: the grades of the fit are 0, 1"),
        ({"pair": ("A", "C")}, "the pair names 'C': give two of the runs 'A', 'B'"),
        ({"pair": ("A", "A")}, "the pair names 'A' twice: give two of the runs 'A', 'B'"),
        ({"measures": "NERR"}, "there is no measure 'NERR' (did you mean ERR?): measures are MAP, MRR"),
    ],
)
def test_what_cannot_be_asked_is_refused(named, said):
    """In one sentence."""
    with pytest.raises(UsageError) as refused:
        evaluate(made(CHANCE), RUNS, **named)
    assert str(refused.value).startswith(said)


def test_many_documents_are_ranked_as_if_all_draws_were_asked(monkeypatch):
    """With a part of the draws the chance is taken as normal: the same documents first, moved about as far."""
    rng = np.random.default_rng(4)
    chance = {str(t): {f"d{n}": float(rng.random()) for n in range(12)} for t in range(6)}
    runs = {r: {t: {d: float(rng.random()) for d in stored} for t, stored in chance.items()} for r in "AB"}
    fit = made(chance)
    exact = evaluate(fit, runs, "MAP", draws=8_000, budget=72)
    monkeypatch.setattr("adjudge.evaluation.deciding.MOST_WORK", 2_000_000)
    quick = evaluate(fit, runs, "MAP", draws=8_000, budget=72)
    moves = [{(entry.topic, entry.document): entry.moves for entry in result.deciding} for result in (exact, quick)]
    named = list(moves[0])
    assert set(named[:5]) <= set(list(moves[1])[:8])
    pairs = np.array([[each[name] for name in named] for each in moves])
    assert np.corrcoef(pairs)[0, 1] > 0.98
    assert abs(pairs[0] - pairs[1]).max() < 0.015


def many(runs, topics=12, seed=7):
    """Return a fit and so many runs, each worse than the one before, with labels that are certain."""
    rng = np.random.default_rng(seed)
    chance = {str(t): {f"d{n}": float(n < 3) for n in range(10)} for t in range(topics)}
    noise = {f"r{n}": 0.4 + 0.25 * n for n in range(runs)}
    listed = {
        name: {t: {d: p + far * rng.normal() for d, p in stored.items()} for t, stored in chance.items()}
        for name, far in noise.items()
    }
    return made(chance), listed


def test_a_baseline_is_compared_with_all_others():
    """One pair per other run and measure, with intervals that hold together and are at least as wide."""
    fit, runs = many(5)
    every = evaluate(fit, runs, "MAP,P@3", draws=2_000, budget=0)
    based = evaluate(fit, runs, "MAP,P@3", draws=2_000, budget=0, baseline="r2")
    assert (len(every.pairs), len(based.pairs)) == (20, 8)
    assert [(pair.first, pair.second) for pair in based.pairs[:4]] == [(f"r{n}", "r2") for n in (0, 1, 3, 4)]
    same = next(pair for pair in every.pairs if (pair.first, pair.second) == ("r0", "r2"))
    assert based.pairs[0]._replace(simultaneous=None) == same
    assert all(
        pair.simultaneous.low < pair.span.low and pair.simultaneous.high > pair.span.high for pair in based.pairs
    )
    assert based.pairs[0].decided == (based.pairs[0].simultaneous.low > 0)
    assert based.pair_table.columns[4:8] == ["low", "high", "simultaneous_low", "simultaneous_high"]
    assert "simultaneous_low" not in every.pair_table.columns
    assert evaluate(fit, runs, "MAP", draws=20, baseline="runs/r2.run").baseline == "r2"  # by its file
    with pytest.raises(UsageError, match=r"^the baseline 'x' is not one of the runs 'r0', 'r1', 'r2', 'r3', 'r4'$"):
        evaluate(fit, runs, baseline="x")


def test_a_leaderboard_follows_from_the_draws():
    """Values in order, the chance to be best by counting draws, and ranks that agree with the pairs."""
    fit, runs = many(9)
    result = evaluate(fit, runs, "MAP,P@3", draws=1_000)
    board = [place for place in result.leaderboard if place.measure == "MAP"]
    assert len(result.leaderboard) == 18
    values = {score.run: score for score in result.scores if score.measure == "MAP"}
    assert [place.value for place in board] == sorted((score.value for score in values.values()), reverse=True)
    assert all((place.low, place.high) == values[place.run].both for place in board)
    drawn = result.by_draw[:, 0] + result.moved[:, 0]
    best = np.bincount(drawn.argmax(axis=0), minlength=9) / 1_000
    assert {place.run: place.best for place in board} == pytest.approx(
        dict(zip(result.runs, best, strict=True)), abs=0.01
    )
    assert sum(place.best for place in board) == pytest.approx(1)
    apart = result.distinguished("MAP")
    assert ("r0", "r8") in apart
    for place in board:  # intervals of ranks are by fewer comparisons than groups
        assert place.rank_low >= 1 + sum(worse == place.run for _, worse in apart)
        assert place.rank_low <= place.rank <= place.rank_high
    assert result.leaderboard_table.columns[:3] == ["measure", "run", "value"]


def test_results_are_frames_of_the_kind_of_the_runs():
    """Runs as pandas frames, with the columns of PyTerrier, give pandas frames."""
    fit, runs = many(2)
    rows = [(t, d, score) for t, stored in runs["r0"].items() for d, score in stored.items()]
    frame = pd.DataFrame(rows, columns=["qid", "docno", "score"])
    result = evaluate(fit, {"a": frame, "b": runs["r1"]}, "MAP", draws=50)
    assert isinstance(result.table, pd.DataFrame)
    assert isinstance(result.leaderboard_table, pd.DataFrame)
    assert isinstance(evaluate(fit, frame, "MAP", draws=50).pair_table, pd.DataFrame)
    assert isinstance(evaluate(fit, runs, "MAP", draws=50).table, pl.DataFrame)


def test_a_run_that_learned_from_the_judges_is_noted(tmp_path):
    """With some of the judges others may compare it, with all of them judges must be held back."""
    rows = [(f"t{t}_d{d}", f"j{j}", int(d == 0), f"t{t}") for t in range(2) for d in range(2) for j in range(3)]
    fit = adjudge.fit(pl.DataFrame(rows, ["item", "judge", "label", "topic"], orient="row"), "majority")
    run = tmp_path / "svm.run"
    run.write_text("".join(f"t{t} Q0 d{d} {d + 1} {2 - d} svm\n" for t in range(2) for d in range(2)))
    beside = tmp_path / "svm.run.judges.csv"
    assert not any("learned" in note for note in evaluate(fit, [run], draws=20).notes)
    beside.write_text("judge\nj1\nsomebody\n")
    assert evaluate(fit, {"ours": run}, draws=20).notes[1] == (
        "ours has learned from 1 of the 3 judges who evaluate it here, and repeats their errors: compare it by a fit "
        f"of other judges (adjudge fit --without-judges {beside}), or with an audit"
    )
    beside.write_text("judge\nj0\nj1\nj2\n")
    assert evaluate(fit, [run], draws=20).notes[1] == (
        "svm has learned from 3 of the 3 judges who evaluate it here, and repeats their errors: train it on a fit "
        "without half of the judges (adjudge fit --without-judges), compare it by a fit of these, or with an audit"
    )


def test_the_default_fit_says_how_labels_are_drawn():
    """The margin is that of the fit's own claim."""
    rng = np.random.default_rng(0)
    rows = [
        (f"t{t}_d{d}", f"j{j}", int((d < 3) == (rng.random() < 0.8)), f"t{t}")
        for t in range(6)
        for d in range(8)
        for j in range(3)
    ]
    fit = adjudge.fit(pl.DataFrame(rows, ["item", "judge", "label", "topic"], orient="row"))
    run = {f"t{t}": {f"d{d}": 8.0 - d for d in range(8)} for t in range(6)}
    result, margin = evaluate(fit, {"a": run}, "P@3", draws=200), fit.calibration.margin
    assert (
        "labels are drawn from what judges and runs say together, and intervals include that judges as a whole may be "
        f"too lenient or too strict (a share of 50% may be {0.5 - margin:.0%} or {0.5 + margin:.0%})"
    ) in result.notes
    plain = evaluate(replace(fit, calibration=None), {"a": run}, "P@3", draws=200)
    wide, narrow = (each.scores[0].labels.high - each.scores[0].labels.low for each in (result, plain))
    assert wide > 1.3 * narrow
