"""Updating: where all judgments at once would have ended, and how near to that online."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjudge
from adjudge.inference import update as room
from adjudge.inference.model import MODELS

SIZES = {"items": 400, "judges": 12, "labels": 3, "per_item": 4, "accuracy": 0.75}
CLIMBED = [name for name, model in MODELS.items() if model.sampler is None or "map" in model.inferences]


def crowd(seed=0, **sizes):
    """Return judgments whose truth is known."""
    return adjudge.simulate("dawid-skene", **(SIZES | sizes), seed=seed).judgments


def parted(judgments, rows):
    """Return judgments without some, and those: as tables that know only the names in them."""
    rest = np.setdiff1d(np.arange(len(judgments)), rows)
    return tuple(reread(judgments.take(some)) for some in (rest, rows))


def reread(judgments):
    """Return judgments as they are read from a table."""
    return adjudge.read(frame_of(judgments), labels=judgments.scale.labels, ordinal=judgments.scale.ordinal)


def frame_of(judgments):
    """Return judgments as a table."""
    names = {"item": judgments.items.gather(judgments.item()), "judge": judgments.judges.gather(judgments.judge)}
    return pl.DataFrame(names | {"label": pl.Series(judgments.scale.labels).gather(judgments.label)})


def some_of(judgments, share, seed=0):
    """Return row numbers of some judgments."""
    return np.random.default_rng(seed).choice(len(judgments), int(share * len(judgments)), replace=False)


@pytest.fixture
def alone(monkeypatch):
    """Let EM start from the earlier fit only, as on large tables."""
    monkeypatch.setattr(room, "SMALL", 0)
    monkeypatch.setattr(room, "MUCH", 1.0)
    monkeypatch.setattr(room, "DENSE", 0)


@pytest.mark.parametrize("name", CLIMBED)
def test_every_model_ends_where_a_fit_of_all_does(name):
    """At its evidence or above, and where the model has none, at its labels."""
    judgments = crowd(labels=2)
    judgments = replace(judgments, scale=replace(judgments.scale, ordinal=True))
    old, new = parted(judgments, some_of(judgments, 0.05))
    how = {"inference": "map"} if MODELS[name].sampler is not None else {}
    updated = adjudge.update(adjudge.fit(old, name, **how), new, old)
    cold = adjudge.fit(updated.judgments, name, **how)
    if MODELS[name].hard:
        np.testing.assert_array_equal(updated.label, cold.label)
    else:
        assert cold.evidence[-1] - updated.evidence[-1] <= 1e-8 * len(judgments)
        same_summit = updated.evidence[-1] - cold.evidence[-1] < 1e-3
        assert not same_summit or np.mean(updated.label == cold.label) > 0.99
    assert updated.judged.sum() == len(judgments)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["dawid-skene", "one-coin", "single-confusion", "glad", "mace"])
def test_the_climb_from_an_earlier_fit_ends_there_by_itself(name, seed):
    """With judges of many judgments, in fewer passes."""
    judgments = crowd(seed, items=1_500, judges=6, accuracy=0.8)
    old, new = parted(judgments, some_of(judgments, 0.01, seed))
    updated = adjudge.update(adjudge.fit(old, name), new, old)
    cold = adjudge.fit(updated.judgments, name)
    assert cold.evidence[-1] - updated.evidence[-1] <= 1e-8 * len(judgments)
    np.testing.assert_array_equal(updated.label, cold.label)
    assert updated.passes < cold.passes


TABLES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 4), st.integers(0, 2)),
    min_size=20,
    max_size=80,
    unique_by=lambda r: r[:2],
)


@settings(max_examples=25)
@given(TABLES)
def test_ten_steps_are_one(rows):
    """Whatever the table, ten updates end no lower than all at once."""
    columns = ("item", "judge", "label")
    table = pl.DataFrame(rows, columns, orient="row")
    steps = [table[k::10] for k in range(10)]
    first = adjudge.read(steps[0], item="item", judge="judge", labels=[0, 1, 2])
    fit = replace(adjudge.fit(first, "dawid-skene"), judgments=first)
    for step in steps[1:]:
        fit = adjudge.update(fit, adjudge.read(step, item="item", judge="judge", labels=[0, 1, 2]))
    once = adjudge.fit(fit.judgments, "dawid-skene")
    assert once.evidence[-1] - fit.evidence[-1] <= 1e-8 * len(rows)
    assert sorted(frame_of(fit.judgments).rows()) == sorted(rows)


@pytest.mark.parametrize("online", [False, True])
def test_nothing_new_changes_nothing(online):
    """No judgments and no gold give the fit itself."""
    judgments = crowd()
    fit = adjudge.fit(judgments, "dawid-skene", gold={judgments.items[0]: 1})
    assert adjudge.update(fit, judgments.take(np.arange(0)), judgments, online=online) is fit
    again = adjudge.update(fit, judgments.take(np.arange(0)), judgments, {judgments.items[0]: 1}, online=online)
    assert again is fit


def test_names_keep_their_places():
    """New items and judges follow the old ones."""
    judgments = crowd()
    old, new = parted(judgments, np.arange(len(judgments) - 40, len(judgments)))
    fit = adjudge.fit(old, "dawid-skene")
    stranger = pl.DataFrame({"item": ["i1", "new"], "judge": ["stranger", "j1"], "label": [0, 1]})
    for updated in (adjudge.update(fit, new, old), adjudge.update(fit, stranger, old)):
        assert updated.items.head(len(fit.items)).equals(fit.items)
        assert updated.judge_names.head(len(fit.judge_names)).equals(fit.judge_names)
    assert updated.items[-1] == "new"
    assert updated.judge_names[-1] == "stranger"
    assert updated.judged[-1] == 1


def test_judgments_in_another_order_are_brought_into_that_of_the_fit():
    """What was fitted may be read again from a table that was sorted otherwise."""
    judgments = crowd()
    old, new = parted(judgments, some_of(judgments, 0.05))
    turned = adjudge.read(frame_of(old).reverse(), labels=[0, 1, 2])
    fit = adjudge.fit(old, "dawid-skene")
    first, other = (adjudge.update(fit, new, each) for each in (old, turned))
    np.testing.assert_allclose(first.posterior, other.posterior, atol=1e-6)


def test_gold_is_added_to_what_was_told():
    """On old items too; another truth is refused."""
    judgments = crowd()
    old, new = parted(judgments, some_of(judgments, 0.05))
    fit = adjudge.fit(old, "dawid-skene", gold={"i1": 0})
    updated = adjudge.update(fit, new, old, gold={"i2": 2})
    assert [updated.gold[list(updated.items).index(item)] for item in ("i1", "i2", "i3")] == [0, 2, -1]
    assert updated.label[list(updated.items).index("i2")] == 2
    cold = adjudge.fit(updated.judgments, "dawid-skene", gold={"i1": 0, "i2": 2})
    assert cold.evidence[-1] - updated.evidence[-1] <= 1e-8 * len(judgments)
    with pytest.raises(adjudge.UsageError, match="gold: item 'i1' has the truth '1', and the fit has '0'"):
        adjudge.update(fit, new, old, gold={"i1": 1})
    with pytest.raises(adjudge.UsageError, match=r"gold codes have the shape \(3,\), and there are 400 items"):
        adjudge.update(fit, new, old, gold=np.zeros(3, int))


@pytest.mark.parametrize("online", [False, True])
def test_gold_alone_is_news(online):
    """An update may bring truths and no judgments."""
    judgments = crowd()
    fit = adjudge.fit(judgments, "dawid-skene")
    i = int(np.flatnonzero(fit.label == 0)[0])
    nothing = judgments.take(np.arange(0))
    updated = adjudge.update(fit, nothing, judgments, {judgments.items[i]: 2}, online=online)
    assert (updated.label[i], updated.posterior[i].tolist()) == (2, [0, 0, 1])


def test_weights_count():
    """Two judgments of weight one are one of weight two."""
    judgments = crowd()
    old, new = parted(judgments, some_of(judgments, 0.05))
    double = adjudge.update(adjudge.fit(old, "dawid-skene"), pl.concat([frame_of(new)] * 2), old)
    heavy = adjudge.update(adjudge.fit(old, "dawid-skene"), frame_of(new).with_columns(weight=2.0), old)
    assert heavy.evidence[-1] == pytest.approx(double.evidence[-1], abs=1e-3)
    np.testing.assert_allclose(heavy.accuracy, double.accuracy, atol=1e-4)
    online = adjudge.update(adjudge.fit(old, "dawid-skene"), frame_of(new).with_columns(weight=2.0), old, online=True)
    np.testing.assert_allclose(online.accuracy, double.accuracy, atol=0.03)


def test_a_label_off_the_scale_is_refused(tmp_path):
    """With file, row, and what to do."""
    fit = adjudge.fit(crowd(), "dawid-skene")
    (tmp_path / "new.csv").write_text("item,judge,label\ni1,j1,7\n")
    with pytest.raises(
        adjudge.InputError, match=r"new\.csv, row 2: label '7' is not one of '0', '1', '2'.*fit all judg"
    ):
        adjudge.update(fit, tmp_path / "new.csv", crowd())
    with pytest.raises(adjudge.UsageError, match="the new judgments' labels '0', '1' are not the fit's '0', '1', '2'"):
        adjudge.update(fit, crowd(labels=2), crowd())


def test_what_cannot_be_updated_is_said():
    """No judgments, other judgments, draws."""
    judgments = crowd()
    fit = adjudge.fit(judgments, "dawid-skene")
    with pytest.raises(
        adjudge.UsageError,
        match=r"are not saved with it: give them with judgments=, or update with online=True, which does without",
    ):
        adjudge.update(fit, judgments)
    with pytest.raises(adjudge.UsageError, match="the fit was not made from these judgments"):
        adjudge.update(fit, judgments, judgments.take(np.arange(50)))
    with pytest.raises(
        adjudge.UsageError, match="the fit was not made from these judgments: their labels are '0', '1'"
    ):
        adjudge.update(fit, judgments, crowd(labels=2))
    with pytest.raises(
        adjudge.UsageError, match="'glad' cannot be updated without the judgments that the fit was made from"
    ):
        adjudge.update(adjudge.fit(judgments, "glad"), judgments, online=True)
    with pytest.raises(adjudge.UsageError, match="'majority' cannot be updated online"):
        adjudge.update(adjudge.fit(judgments, "majority"), judgments, judgments, online=True)
    run = adjudge.Run(chains=2, warmup=5, draws=4)
    with pytest.warns(adjudge.AdjudgeWarning, match="not converged"):
        sampled = adjudge.fit(judgments, "hybrid-confusion", run=run)
    with pytest.raises(adjudge.UsageError, match=r"cannot be updated.*again; inference 'map' can be updated"):
        adjudge.update(sampled, judgments, judgments)


def test_a_prior_stays():
    """The fit's own, not the usual one."""
    judgments = crowd()
    old, new = parted(judgments, some_of(judgments, 0.05))
    how = {"inference": "map", "prior": adjudge.Prior(trust=20)}
    updated = adjudge.update(adjudge.fit(old, "hybrid-confusion", **how), new, old)
    cold = adjudge.fit(updated.judgments, "hybrid-confusion", **how)
    assert updated.evidence[-1] == pytest.approx(cold.evidence[-1], abs=1e-8 * len(judgments))
    assert updated.options["prior"]["trust"] == 20


@pytest.mark.usefixtures("alone")
def test_ctrl_c_ends_it_with_what_it_has():
    """And that is said."""
    judgments = crowd()
    old, new = parted(judgments, some_of(judgments, 0.05))

    def enough(passes, evidence):
        raise KeyboardInterrupt

    updated = adjudge.update(adjudge.fit(old, "dawid-skene"), new, old, progress=enough)
    assert (updated.stopped, updated.converged) == ("interrupted", False)
    np.testing.assert_allclose(updated.posterior.sum(axis=1), 1)


def test_ctrl_c_in_the_second_climb_is_said():
    """What it might have found is not known."""
    judgments = crowd()
    old, new = parted(judgments, some_of(judgments, 0.05))
    heard = []

    def later(passes, evidence):
        heard.append(passes)
        if len(heard) > 1 and passes == 1:
            raise KeyboardInterrupt

    assert adjudge.update(adjudge.fit(old, "dawid-skene"), new, old, progress=later).stopped == "interrupted"


def test_gold_may_be_a_path(tmp_path):
    """As where it is fitted."""
    judgments = crowd()
    (tmp_path / "gold.csv").write_text("item,label\ni2,2\n")
    updated = adjudge.update(
        adjudge.fit(judgments, "dawid-skene"), judgments.take(np.arange(9)), judgments, tmp_path / "gold.csv"
    )
    assert updated.label[list(updated.items).index("i2")] == 2


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("name", ["dawid-skene", "one-coin", "single-confusion", "zencrowd"])
def test_online_is_near_and_leaves_the_rest_alone(name, kept):
    """Items without news keep their posterior exactly, and those with some come near the exact one."""
    judgments = crowd(items=1_000)
    old, new = parted(judgments, some_of(judgments, 0.02))
    fit = adjudge.fit(old, name)
    exact = adjudge.update(fit, new, old)
    online = adjudge.update(fit, new, old if kept else None, online=True)
    news = np.isin(exact.items.to_list(), new.items.to_list())
    np.testing.assert_array_equal(online.posterior[~news], fit.posterior[~news[: len(fit.items)]])
    assert np.abs(online.posterior[news] - exact.posterior[news]).mean() < 0.02
    assert np.abs(online.accuracy - exact.accuracy).max() < 0.01
    assert (online.judged == exact.judged).all()
    assert (online.evidence, online.stopped) == ((), f"updated online with {len(new)} judgments")
    assert np.mean(online.label == exact.label) > 0.99


def test_a_stream_online_stays_near():
    """Each goes on from the tally of the one before."""
    online = streamed("dawid-skene")
    exact = adjudge.fit(online.judgments, "dawid-skene")
    assert np.mean(online.label == exact.label) > 0.95
    assert np.abs(online.accuracy - exact.accuracy).mean() < 0.02


def streamed(model):
    """Return a fit of half of a crowd, updated online with the other half in ten steps."""
    judgments = crowd(items=1_000)
    steps = np.array_split(np.random.default_rng(0).permutation(len(judgments)), 20)
    first = reread(judgments.take(np.concatenate(steps[:10])))
    online = adjudge.fit(first, model)
    for step in steps[10:]:
        online = adjudge.update(
            online, reread(judgments.take(step)), first if online.tally is None else None, online=True
        )
    return online


def test_the_judges_of_a_consensus_online_are_counted_under_its_probabilities():
    """As in a fit: accuracy is the mean probability of a judge's labels."""
    online = streamed("consensus")
    exact, judgments = adjudge.fit(online.judgments), online.judgments
    assert np.mean(online.label == exact.label) > 0.95
    chance = online.posterior[judgments.item(), judgments.label]
    share = np.bincount(judgments.judge, chance) / np.bincount(judgments.judge)
    np.testing.assert_allclose(online.accuracy, share)


def test_more_of_items_is_updated_online():
    """What a model says of an item beyond its label: of old ones as of new ones."""
    judgments = crowd()
    old, new = parted(judgments, np.arange(len(judgments) - 30, len(judgments)))
    fit = adjudge.fit(old, "glad")
    online, exact = adjudge.update(fit, new, old, online=True), adjudge.update(fit, new, old)
    assert online.more.shape == exact.more.shape
    assert np.abs(online.more[-5:] - exact.more[-5:]).max() < 0.05


def test_a_saved_fit_is_all_that_is_needed(tmp_path):
    """From a folder, and back into it, online and not."""
    judgments = crowd()
    old, new = parted(judgments, some_of(judgments, 0.05))
    fit = adjudge.fit(old, "dawid-skene")
    adjudge.save(fit, tmp_path / "fit", old)
    exact = adjudge.update(adjudge.load(tmp_path / "fit"), new)
    assert exact.evidence == adjudge.update(fit, new, old).evidence
    online = adjudge.update(fit, new, old, online=True)
    adjudge.save(online, tmp_path / "online")
    again = adjudge.load(tmp_path / "online")
    np.testing.assert_array_equal(again.tally.label, online.tally.label)
    np.testing.assert_array_equal(again.judgments.start, online.judgments.start)
    first, other = (adjudge.update(each, new, online=True) for each in (online, again))
    np.testing.assert_array_equal(first.posterior, other.posterior)


@pytest.mark.parametrize("online", [False, True])
def test_what_is_known_about_judges_is_kept(online):
    """Old judges keep their facts, and new ones bring theirs."""
    rows = pl.DataFrame({"item": ["a", "a", "b", "b"], "judge": ["x", "y"] * 2, "label": ["0", "0", "1", "0"]})
    old = adjudge.read(rows, judges={"x": "person", "y": {"model": "m"}})
    new = pl.DataFrame({"item": ["a", "b"], "judge": ["z", "y"], "label": ["0", "1"], "judge_kind": ["expert", "ai"]})
    result = adjudge.update(adjudge.fit(old, "dawid-skene"), new, old, online=online)
    assert result.panel.kind == result.judgments.panel.kind == ("person", "machine", "expert")
    assert result.panel.family == ("x", "m", "z")
