"""The doorway: what goes in, and what is refused."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.models.fit import BLOCK, blocks_of

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
        assert adjudge.fit(TABLE, start=start).labels["label"].to_list() == ["0", "1"] * 5


def test_an_unknown_start_is_refused():
    """The message names the choices."""
    with pytest.raises(adjudge.UsageError, match="start 'here' is not one of 'vote', 'accurate'"):
        adjudge.fit(TABLE, start="here")


def test_the_cap_is_said():
    """A fit that did not converge says why it stopped."""
    fit = adjudge.fit(TABLE.with_columns(label=pl.Series(["0", "1", "1"] * 10)), iterations=2, tolerance=0)
    assert fit.stopped == "stopped at the cap of 2 passes"
    assert not fit.converged


def test_blocks_depend_on_the_data_alone():
    """Small tables are one block; large ones a few, fewer where judges' tables are large."""
    few = adjudge.simulate("dawid-skene", items=BLOCK, judges=10, labels=2).judgments.block()
    many = few._replace(judges=200_000)
    assert len(blocks_of(adjudge.read(TABLE).block())) == 1
    assert len(blocks_of(few)) == 5
    assert len(blocks_of(many)) == 1


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
    with pytest.raises(adjudge.UsageError, match="chains, draws and the like are for sampling, and 'dawid-skene' is"):
        adjudge.fit(TABLE, run=adjudge.Run(draws=50))
    with pytest.raises(adjudge.UsageError, match="start 'vote' is for a climb: chains begin at the vote"):
        adjudge.fit(TABLE, "hierarchical", start="vote")
    with pytest.raises(adjudge.UsageError, match="'auto' climbs each as it is"):
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
        with pytest.raises(adjudge.UsageError, match="are for a climb, and 'hierarchical' is sampled"):
            adjudge.fit(TABLE, "hierarchical", **option)
