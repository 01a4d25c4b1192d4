"""Fits that go on from an earlier one."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import UsageError
from adjudge.models.registry import MODELS
from adjudge.models.warm import params_of

CLIMBED = [name for name, model in MODELS.items() if "map" in model.inferences and model.until != "rounds"]


@pytest.fixture(scope="module")
def crowd():
    """Return judgments of a crowd that is not always sure, labels in an order."""
    found = adjudge.simulate("dawid-skene", seed=1, items=400, judges=30, labels=2, per_item=5, accuracy=0.75)
    scale = replace(found.judgments.scale, ordinal=True)
    return replace(found.judgments, scale=scale)


def without_the_last(judgments, share):
    """Return judgments without some of them, as they were before these came in."""
    kept = np.random.default_rng(0).random(len(judgments)) > share
    return judgments.take(np.flatnonzero(kept))


@pytest.mark.parametrize("model", ["dawid-skene", "hybrid-confusion", "one-coin", "single-confusion", "glad", "mace"])
def test_a_warm_fit_ends_where_a_cold_one_does(crowd, model):
    """The same evidence and the same beliefs, whichever way it came."""
    earlier = adjudge.fit(without_the_last(crowd, 0.1), model, inference="map")
    cold, warm = (adjudge.fit(crowd, model, inference="map", start=start, tolerance=1e-11) for start in (None, earlier))
    assert warm.converged
    assert warm.evidence[-1] == pytest.approx(cold.evidence[-1], abs=1e-4)
    assert warm.posterior == pytest.approx(cold.posterior, abs=2e-3)


def test_going_on_takes_fewer_passes():
    """Of judges who are often wrong a cold fit needs many; after one new judgment in a hundred, less than half."""
    whole = adjudge.simulate("dawid-skene", seed=0, items=5_000, judges=60, labels=2, per_item=3, accuracy=0.65)
    earlier = adjudge.fit(without_the_last(whole.judgments, 0.01))
    cold, warm = (adjudge.fit(whole.judgments, start=start, tolerance=1e-6) for start in (None, earlier))
    assert warm.passes < cold.passes / 2
    assert warm.evidence[-1] == pytest.approx(cold.evidence[-1], abs=0.05)


@pytest.mark.parametrize("model", CLIMBED)
def test_every_model_that_climbs_can_go_on_from_itself(crowd, model):
    """And comes to rest."""
    found = adjudge.fit(crowd, model, inference="map", iterations=2_000)
    assert adjudge.fit(crowd, model, inference="map", start=found, iterations=2_000).converged


def test_judges_are_matched_by_name_and_new_ones_are_typical():
    """Whatever place they have in either table."""
    rows = [(f"d{i}", judge, (i + (judge == "bad") * (i % 3 == 0)) % 2) for i in range(40) for judge in ("bad", "good")]
    table = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    earlier = adjudge.fit(table, "hybrid-confusion", inference="map")
    turned = pl.concat([table.reverse(), pl.DataFrame({"item": ["d1"], "judge": ["new"], "label": [1]})])
    judgments = adjudge.read(turned)
    found = params_of(earlier, MODELS["hybrid-confusion"], judgments)
    was = dict(zip(earlier.judge_names, earlier.params.confusion, strict=True)) | {"new": earlier.params.population}
    for name, matrix in zip(judgments.judges, found.confusion, strict=True):
        assert matrix == pytest.approx(was[name], abs=0.002)


def test_a_judge_who_was_never_wrong_may_be_wrong_now():
    """A matrix with zeros is no prison: the fit ends as high as one from the vote."""
    right = [(f"d{i}", judge, i % 2) for i in range(60) for judge in "abc"]
    wrong = [(f"e{i}", judge, (i + (judge == "a")) % 2) for i in range(60) for judge in "abc"]
    before, after = (pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row") for rows in (right, wrong))
    earlier = adjudge.fit(before)
    assert earlier.params.confusion.min() < 1e-9
    whole = pl.concat([before, after])
    cold, warm = adjudge.fit(whole), adjudge.fit(whole, start=earlier)
    assert warm.evidence[-1] == pytest.approx(cold.evidence[-1], abs=1e-3)
    assert warm.accuracy == pytest.approx(cold.accuracy, abs=1e-3)


def test_the_options_of_a_warm_fit_are_plain(crowd, tmp_path):
    """So that it can be saved; the earlier fit is no part of it."""
    earlier = adjudge.fit(crowd)
    adjudge.fit(crowd, start=earlier).save(tmp_path / "fit")
    assert adjudge.load(tmp_path / "fit").options["start"] is None


@pytest.mark.parametrize(
    ("model", "options", "what"),
    [
        ("one-coin", {}, "start is a fit of 'dawid-skene', and 'one-coin' cannot go on from it"),
        ("majority", {}, "start cannot be an earlier fit: model 'majority' does not climb, it ends where it ends"),
        ("auto", {}, "start is a fit of 'dawid-skene': name that model, 'auto' may take another"),
        ("hierarchical", {}, "start is an earlier fit, which is for a climb, and 'hierarchical' is sampled"),
    ],
)
def test_what_cannot_go_on_is_refused(crowd, model, options, what):
    """With the reason."""
    earlier = adjudge.fit(crowd)
    with pytest.raises(UsageError, match=what):
        adjudge.fit(crowd, model, start=earlier, **options)


def test_other_labels_are_refused(crowd):
    """With both."""
    earlier = adjudge.fit(pl.DataFrame({"item": ["a", "b"], "judge": ["j", "j"], "label": ["no", "yes"]}))
    with pytest.raises(UsageError, match="start is a fit of the labels 'no', 'yes', and these are '0', '1'"):
        adjudge.fit(crowd, start=earlier)
