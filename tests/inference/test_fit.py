"""The doorway: what goes in, and what is refused."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import UsageError
from adjudge.inference.infer import BLOCK, earlier_params, parallel_blocks
from adjudge.inference.model import MODELS

TABLE = pl.DataFrame(
    {
        "item": [f"i{n // 3}" for n in range(30)],
        "judge": ["x", "y", "z"] * 10,
        "label": ["1" if (n // 3) % 2 else "0" for n in range(30)],
    }
)


def test_paths_frames_and_judgments_are_the_same(tmp_path):
    """A path, a frame and the encoded table give one answer."""
    TABLE.write_csv(tmp_path / "labels.csv")
    fits = [adjudge.fit(data) for data in (str(tmp_path / "labels.csv"), TABLE, adjudge.read(TABLE))]
    assert fits[0].labels.equals(fits[1].labels)
    assert fits[1].labels.equals(fits[2].labels)


def test_both_starts_find_the_truth():
    """From the vote, and from the paper's accurate judges."""
    for start in ("vote", "accurate"):
        assert adjudge.fit(TABLE, "dawid-skene", start=start).labels["label"].to_list() == ["0", "1"] * 5


def test_an_unknown_start_is_refused():
    """The message names the choices."""
    with pytest.raises(adjudge.UsageError, match="start 'here' is not one of 'vote', 'accurate'"):
        adjudge.fit(TABLE, "dawid-skene", start="here")


NO_MODEL = "the second argument is the model, a name such as 'dawid-skene', got {}; gold is given as gold="


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("dawid-skene", TABLE),
            "the arguments are swapped: the judgments come first, then the model 'dawid-skene'",
        ),
        ((TABLE, {"a": "1"}), NO_MODEL.format("dict")),
        ((TABLE, TABLE), NO_MODEL.format("DataFrame")),
        ((TABLE, 3), NO_MODEL.format("int")),
    ],
)
def test_arguments_in_another_order_are_refused(arguments, message):
    """The message says what the second argument is, and where gold belongs."""
    with pytest.raises(adjudge.UsageError) as error:
        adjudge.fit(*arguments)
    assert str(error.value) == message


def test_the_cap_is_said():
    """A fit that did not converge says why it stopped."""
    table = TABLE.with_columns(label=pl.Series(["0", "1", "1"] * 10))
    fit = adjudge.fit(table, "dawid-skene", iterations=2, tolerance=0)
    assert fit.stopped == "stopped at the cap of 2 passes"
    assert not fit.converged


def test_blocks_depend_on_the_data_alone():
    """Small tables are one block; large ones a few, fewer where judges' tables are large."""
    few = adjudge.simulate("dawid-skene", items=BLOCK, judges=10, labels=2).judgments.block()
    many = few._replace(judges=200_000)
    assert len(parallel_blocks(adjudge.read(TABLE).block())) == 1
    assert len(parallel_blocks(few)) == 5
    assert len(parallel_blocks(many)) == 1


def test_frames_keep_their_kind():
    """Pandas in, pandas out; pyarrow in, pyarrow out."""
    assert type(adjudge.fit(TABLE.to_pandas()).judges).__module__.startswith("pandas")
    assert type(adjudge.fit(TABLE.to_arrow()).judges).__module__.startswith("pyarrow")


def test_integer_ids_come_back_as_integers():
    """Names keep their type."""
    table = TABLE.with_columns(
        item=pl.Series([n // 3 for n in range(30)]), label=pl.Series([n // 3 % 2 for n in range(30)])
    )
    fit = adjudge.fit(table)
    assert fit.labels["item"].to_list() == list(range(10))
    assert fit.labels["label"].to_list() == [0, 1] * 5


def test_gold_codes_are_taken_as_they_are():
    """What read_gold gives can be given, if it is about these items."""
    judgments = adjudge.read(TABLE)
    codes = np.full(10, -1)
    codes[0] = 1
    assert adjudge.fit(judgments, gold=codes).labels["label"][0] == "1"
    with pytest.raises(adjudge.UsageError, match=r"gold codes have the shape \(3,\), and there are 10 items"):
        adjudge.fit(judgments, gold=np.zeros(3, int))


def test_what_is_for_chains_is_refused_of_a_climb_and_the_other_way_round():
    """Nothing that is asked for is left out in silence."""
    with pytest.raises(
        adjudge.UsageError, match="chains, draws and the like are options of sampling, and 'consensus' is"
    ):
        adjudge.fit(TABLE, run=adjudge.Run(draws=50))
    with pytest.raises(adjudge.UsageError, match="start 'vote' is an option of EM: chains start at the vote"):
        adjudge.fit(TABLE, "hierarchical", start="vote")
    with pytest.raises(adjudge.UsageError, match="'auto' uses EM with each model's defaults"):
        adjudge.fit(TABLE, "auto", run=adjudge.Run(draws=50))
    with pytest.raises(
        adjudge.UsageError, match="prior 'least' is not for model 'hybrid-confusion', which has 'trust'"
    ):
        adjudge.fit(TABLE, "hybrid-confusion", prior=adjudge.Prior(least=1.0))
    with pytest.raises(adjudge.UsageError, match="prior 'trust' is not for model 'hierarchical'"):
        adjudge.fit(TABLE, "hierarchical", prior=adjudge.Prior(trust=1.0))
    with pytest.raises(adjudge.UsageError, match=r"run \{\} is not an adjudge.Run"):
        adjudge.fit(TABLE, "hierarchical", run={})
    for option in ({"tolerance": 1e-3}, {"iterations": 9}, {"accelerate": False}):
        with pytest.raises(adjudge.UsageError, match="are options of EM, and 'hierarchical' is sampled"):
            adjudge.fit(TABLE, "hierarchical", **option)


CLIMBED = [name for name, model in MODELS.items() if "map" in model.inferences and model.rounds is None]


@pytest.fixture(scope="module")
def crowd():
    """Return judgments of a crowd that is not always sure, labels in an order."""
    simulation = adjudge.simulate("dawid-skene", seed=1, items=400, judges=30, labels=2, per_item=5, accuracy=0.75)
    scale = replace(simulation.judgments.scale, ordinal=True)
    return replace(simulation.judgments, scale=scale)


def without_the_last(judgments, share):
    """Return judgments without some of them, as they were before these came in."""
    stored = np.random.default_rng(0).random(len(judgments)) > share
    return judgments.take(np.flatnonzero(stored))


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
    simulation = adjudge.simulate("dawid-skene", seed=0, items=5_000, judges=60, labels=2, per_item=3, accuracy=0.65)
    earlier = adjudge.fit(without_the_last(simulation.judgments, 0.01), "dawid-skene")
    cold, warm = (
        adjudge.fit(simulation.judgments, "dawid-skene", start=start, tolerance=1e-6) for start in (None, earlier)
    )
    assert warm.passes < cold.passes / 2
    assert warm.evidence[-1] == pytest.approx(cold.evidence[-1], abs=0.05)


@pytest.mark.parametrize("model", CLIMBED)
def test_every_model_that_climbs_can_go_on_from_itself(crowd, model):
    """And comes to rest."""
    fitted = adjudge.fit(crowd, model, inference="map", iterations=2_000)
    assert adjudge.fit(crowd, model, inference="map", start=fitted, iterations=2_000).converged


def test_judges_are_matched_by_name_and_new_ones_are_typical():
    """Whatever place they have in either table."""
    rows = [(f"d{i}", judge, (i + (judge == "bad") * (i % 3 == 0)) % 2) for i in range(40) for judge in ("bad", "good")]
    table = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    earlier = adjudge.fit(table, "hybrid-confusion", inference="map")
    turned = pl.concat([table.reverse(), pl.DataFrame({"item": ["d1"], "judge": ["new"], "label": [1]})])
    judgments = adjudge.read(turned)
    result = earlier_params(earlier, MODELS["hybrid-confusion"], judgments)
    was = dict(zip(earlier.judge_names, earlier.params.confusion, strict=True)) | {"new": earlier.params.population}
    for name, matrix in zip(judgments.judges, result.confusion, strict=True):
        assert matrix == pytest.approx(was[name], abs=0.002)


def test_a_judge_who_was_never_wrong_may_be_wrong_now():
    """A matrix with zeros is no prison: the fit ends as high as one from the vote."""
    right = [(f"d{i}", judge, i % 2) for i in range(60) for judge in "abc"]
    wrong = [(f"e{i}", judge, (i + (judge == "a")) % 2) for i in range(60) for judge in "abc"]
    before, after = (pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row") for rows in (right, wrong))
    earlier = adjudge.fit(before, "dawid-skene")
    assert earlier.params.confusion.min() < 1e-9
    complete = pl.concat([before, after])
    cold, warm = (adjudge.fit(complete, "dawid-skene", start=start) for start in (None, earlier))
    assert warm.evidence[-1] == pytest.approx(cold.evidence[-1], abs=1e-3)
    assert warm.accuracy == pytest.approx(cold.accuracy, abs=1e-3)


def test_the_options_of_a_warm_fit_are_plain(crowd, tmp_path):
    """So that it can be saved; the earlier fit is no part of it."""
    earlier = adjudge.fit(crowd, "dawid-skene")
    adjudge.save(adjudge.fit(crowd, "dawid-skene", start=earlier), tmp_path / "fit")
    assert adjudge.load(tmp_path / "fit").options["start"] is None


@pytest.mark.parametrize(
    ("model", "options", "what"),
    [
        ("one-coin", {}, "start is a fit of 'dawid-skene': 'one-coin' cannot start from it"),
        ("majority", {}, "start cannot be an earlier fit: model 'majority' does not iterate from its start"),
        ("auto", {}, "start is a fit of 'dawid-skene': name that model, because 'auto' may choose another"),
        ("hierarchical", {}, "start is an earlier fit, which is an option of EM, and 'hierarchical' is sampled"),
    ],
)
def test_what_cannot_go_on_is_refused(crowd, model, options, what):
    """With the reason."""
    earlier = adjudge.fit(crowd, "dawid-skene")
    with pytest.raises(UsageError, match=what):
        adjudge.fit(crowd, model, start=earlier, **options)


def test_other_labels_are_refused(crowd):
    """With both."""
    table = pl.DataFrame({"item": ["a", "b"], "judge": ["j", "j"], "label": ["no", "yes"]})
    earlier = adjudge.fit(table, "dawid-skene")
    with pytest.raises(UsageError, match="start is a fit of the labels 'no', 'yes', and the labels are '0', '1'"):
        adjudge.fit(crowd, "dawid-skene", start=earlier)
