"""Draws for other tools: ArviZ computes from them what adjudge computes, and tables have every parameter."""

import warnings

import arviz_stats
import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.data.judgments import judgment_table
from adjudge.metrics import draws as room
from adjudge.metrics.draws import draw_columns, to_arviz, write_draws

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged", "ignore:label switching")
SHORT = adjudge.Run(chains=2, warmup=50, draws=200)
CROWD = adjudge.simulate("dawid-skene", seed=4, items=40, judges=6, labels=3)
GOLD = dict(CROWD.truths.select("item", "label").head(5).iter_rows())


@pytest.fixture(scope="module", params=["plain", "gold", "difficulty"])
def fit(request):
    """Return a fit with short chains: as it is, with gold, or with difficulty."""
    options = {"plain": {}, "gold": {"gold": GOLD}, "difficulty": {"difficulty": True}}[request.param]
    return adjudge.fit(CROWD.judgments, "hybrid-confusion", run=SHORT, seed=1, **options)


def test_arviz_leaves_out_the_same_items(fit):
    """ArviZ's PSIS-LOO of the tree is that of ``check``, item by item."""
    with warnings.catch_warnings():  # ArviZ warns of large k
        warnings.simplefilter("ignore")
        theirs = arviz_stats.loo(to_arviz(fit, CROWD.judgments), reff=1.0, pointwise=True)
    ours = adjudge.check(fit, CROWD.judgments).loo
    assert theirs.elpd == pytest.approx(ours.elpd, abs=1e-6)
    assert theirs.p == pytest.approx(ours.p, abs=1e-6)
    np.testing.assert_allclose(theirs.elpd_i.values, ours.item, atol=1e-6)
    np.testing.assert_allclose(theirs.pareto_k.values, ours.k, atol=1e-6)


def test_items_have_the_log_likelihood_of_their_judgments():
    """It is the formula of the model, written out, also if the judgments come in another order."""
    fit = adjudge.fit(CROWD.judgments, "hybrid-confusion", run=SHORT, seed=1)
    tree = to_arviz(fit, judgment_table(CROWD.judgments).reverse())
    posterior, observed = tree["posterior"], tree["observed_data"]
    item = tree["log_likelihood"]["item"].values[7]
    mine = observed["item_index"].values == 7
    chance = np.ones((2, 200, 3))
    rows = zip(observed["judge_index"].values[mine], observed["label_index"].values[mine], strict=True)
    labels = {posterior["judge"].values[j]: posterior["label"].values[k] for j, k in rows}
    for judge, label in labels.items():
        chance *= posterior["confusion"].sel(judge=judge, label=label).values
    logs = np.log((posterior["prevalence"].values[:, :, 0] * chance).sum(axis=2))
    np.testing.assert_allclose(tree["log_likelihood"]["judgments"].sel(item=item).values, logs, atol=1e-9)
    table = judgment_table(CROWD.judgments).filter(pl.col("item").cast(str) == item)
    given = zip(table["judge"].cast(str).to_list(), table["label"].cast(str).to_list(), strict=True)
    assert labels == dict(given)


def test_a_fit_without_judgments_has_its_posterior_only(tmp_path, monkeypatch):
    """A note says so; a saved fit that keeps them has all groups, unless they are too large."""
    fit = adjudge.fit(CROWD.judgments, "hybrid-confusion", run=SHORT, seed=1)
    text = "the groups log_likelihood and observed_data are left out: "
    with pytest.warns(adjudge.AdjudgeWarning) as notes:
        assert list(to_arviz(fit).children) == ["posterior"]
    assert str(notes[-1].message) == (
        f"{text}the fit does not hold the judgments that it was made from (pass them as judgments)"
    )
    adjudge.save(fit, tmp_path / "fit", CROWD.judgments)
    assert list(to_arviz(tmp_path / "fit").children) == ["posterior", "log_likelihood", "observed_data"]
    monkeypatch.setattr(room, "MOST_LOGS", 1_000)
    with pytest.warns(adjudge.AdjudgeWarning) as notes:
        assert list(to_arviz(fit, CROWD.judgments).children) == ["posterior"]
    assert str(notes[-1].message) == f"{text}there are 400 draws of 40 items, at most 1,000 in all"


def test_truths_and_judgments_have_their_own_items():
    """Truths are drawn for items that only gold has too; weights of judgments are kept."""
    table = judgment_table(CROWD.judgments).with_columns(weight=pl.lit(0.5))
    with pytest.warns(adjudge.AdjudgeWarning, match="nobody judged"):
        fit = adjudge.fit(
            table,
            "hybrid-confusion",
            gold={**GOLD, "new": "0"},
            run=adjudge.Run(chains=2, warmup=50, draws=100, truths=True),
        )
    tree = to_arviz(fit, table)
    assert (tree["posterior"].sizes["item"], tree["log_likelihood"].sizes["item"]) == (41, 40)
    assert set(tree["observed_data"]["weight"].values) == {0.5}


def test_tables_have_every_parameter(tmp_path):
    """One row per parameter, chain and draw, whose means are those of the fit's diagnostics."""
    fit = adjudge.fit(CROWD.judgments, "hierarchical", run=SHORT, seed=1)
    for name in ("draws.csv", "draws.parquet"):
        write_draws(fit, str(tmp_path / name))
    table = pl.read_csv(tmp_path / "draws.csv")
    assert table.columns == ["parameter", "chain", "draw", "value"]
    assert table.equals(pl.read_parquet(tmp_path / "draws.parquet").cast(dict(table.schema)))
    assert table["value"].to_list() == draw_columns(fit)["value"].tolist()
    means = table.group_by("parameter", maintain_order=True).agg(pl.col("value").mean().alias("mean"))
    assert means["parameter"].equals(fit.diagnostics["parameter"])
    np.testing.assert_allclose(means["mean"], fit.diagnostics["mean"], atol=1e-12)
    one = table.filter(parameter="prevalence[1]", chain=1, draw=7)["value"].item()
    assert one == fit.draws.prevalence[1, 7, 0, 1]


def test_files_that_cannot_be_written_are_refused(tmp_path):
    """Another ending, and a folder that is not there."""
    fit = adjudge.fit(CROWD.judgments, "hybrid-confusion", run=SHORT, seed=1)
    with pytest.raises(adjudge.UsageError) as error:
        write_draws(fit, "draws.xlsx")
    assert str(error.value) == "draws.xlsx: the name must end in one of '.nc', '.csv', '.parquet'"
    path = str(tmp_path / "none" / "draws.csv")
    with pytest.raises(adjudge.InputError) as error:
        write_draws(fit, path)
    assert str(error.value) == f"{path}: is not a file in a folder that is there"
