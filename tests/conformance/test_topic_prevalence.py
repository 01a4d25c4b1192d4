"""One prevalence per topic, for every model that learns a prevalence: in memory, on disk, predicted and updated."""

import warnings

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.data.make_blocks import Table, make_blocks
from adjudge.engines.fit_blocks import fit_blocks
from adjudge.inference.model import MODELS
from adjudge.inference.options import Options

LEARNING = [name for name, model in MODELS.items() if model.prevalence.learned and "map" in model.inferences]
OTHERS = [name for name, model in MODELS.items() if not model.prevalence.learned]
GLOBAL = [name for name in LEARNING if not MODELS[name].prevalence.by_topic]  # per topic only if it is asked for
EVERY = pytest.mark.parametrize("model", LEARNING)
PREVALENCE = np.array([[0.95, 0.05], [0.5, 0.5], [0.08, 0.92]])


def crowd(seed=0, items=600, judges=12, per_item=3, topics=3):
    """Return judgments on topics of very different prevalence by mediocre judges, and the truths."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, topics, items)
    truth = (rng.random(items) < PREVALENCE[topic, 1]).astype(int)
    accuracy = rng.uniform(0.6, 0.8, judges)
    item = np.repeat(np.arange(items), per_item)
    judge = np.concatenate([rng.permutation(judges)[:per_item] for _ in range(items)])
    label = np.where(rng.random(item.size) < accuracy[judge], truth[item], 1 - truth[item])
    names = {"item": [f"i{i}" for i in item], "judge": [f"j{j}" for j in judge], "label": label}
    return pl.DataFrame({**names, "topic": [f"t{topic[i]}" for i in item]}), truth


def fitted(table, model, **named):
    """Return a fit by EM."""
    inference = {"inference": "map"} if MODELS[model].sampler is not None else {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*nobody judged gold item", adjudge.AdjudgeWarning)
        return adjudge.fit(table, model, **inference, **named)


def scores(fit, truth):
    """Return accuracy and log loss."""
    reference = truth[[int(name[1:]) for name in fit.items]]
    chance = fit.posterior[np.arange(reference.size), reference]
    return (fit.label == reference).mean(), -np.log(np.maximum(chance, 1e-6)).mean()


def test_which_models_learn_a_prevalence():
    """The confusion models do; votes, and models of equally common truths, do not."""
    confusion_models = {"dawid-skene", "hybrid-confusion", "one-coin", "single-confusion", "subtypes"}
    assert confusion_models | {"mace", "minimax-entropy"} <= {*LEARNING}
    assert {"majority", "vote-weight", "zencrowd"} <= {*OTHERS}


@pytest.mark.parametrize("model", GLOBAL)
def test_topics_that_differ_are_judged_better(model):
    """Accuracy and log loss are better than with one prevalence for all items, and the topics' own is found."""
    table, truth = crowd(items=800, per_item=5)
    everywhere, each = fitted(table, model), fitted(table, model, prevalence="topic")
    (right, loss), (topic_right, topic_loss) = scores(everywhere, truth), scores(each, truth)
    assert topic_right > right + 0.02
    assert topic_loss < loss - 0.03
    order = [int(name[1:]) for name in each.topics]
    np.testing.assert_allclose(each.params.topic_prevalence, PREVALENCE[order], atol=0.15)
    assert each.prevalence.columns == ["topic", "label", "prevalence"]
    assert each.converged


@EVERY
def test_one_topic_is_the_global_prevalence(model):
    """Bit for bit: posterior, evidence and params."""
    table = crowd(items=120)[0].with_columns(topic=pl.lit("t"))
    everywhere, each = fitted(table, model), fitted(table, model, prevalence="topic")
    np.testing.assert_array_equal(everywhere.posterior, each.posterior)
    assert everywhere.evidence == each.evidence
    for name in ("prevalence", "confusion", "population", "skill", "typical"):
        np.testing.assert_array_equal(getattr(everywhere.params, name), getattr(each.params, name))
    np.testing.assert_array_equal(each.params.unseen, each.params.prevalence[0])


def slow_em(table, one_coin):
    """Return p(truth | labels) of every item in order of its name, by plain EM in a few lines."""
    items, topics = sorted(set(table["item"])), sorted(set(table["topic"]))
    judges = sorted(set(table["judge"]))
    rows = [(items.index(i), judges.index(j), int(k)) for i, j, k in table.select("item", "judge", "label").rows()]
    topic = {i: topics.index(t) for i, t in zip(map(items.index, table["item"]), table["topic"], strict=True)}
    posterior = np.zeros((len(items), 2))
    for i, _, k in rows:
        posterior[i, k] += 1
    posterior /= posterior.sum(axis=1, keepdims=True)
    for _ in range(3_000):
        prevalence, counts = np.zeros((len(topics), 2)), np.zeros((len(judges), 2, 2))
        for i, row in enumerate(posterior):
            prevalence[topic[i]] += row
        prevalence /= prevalence.sum(axis=1, keepdims=True)
        for i, j, k in rows:
            counts[j, :, k] += posterior[i]
        if one_coin:
            right = np.trace(counts, axis1=1, axis2=2) / counts.sum(axis=(1, 2))
            theta = np.where(np.eye(2, dtype=bool), right[:, None, None], 1 - right[:, None, None])
        else:
            theta = counts / counts.sum(axis=2, keepdims=True)
        before, logs = posterior, np.log(np.array([prevalence[topic[i]] for i in range(len(items))]))
        for i, j, k in rows:
            logs[i] += np.log(theta[j, :, k])
        posterior = np.exp(logs - logs.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        if np.abs(posterior - before).max() < 1e-11:
            break
    return posterior


@pytest.mark.parametrize("model", ["dawid-skene", "one-coin"])
def test_it_is_what_a_slow_em_finds(model):
    """Plain EM, written independently and without acceleration, ends at the same probabilities."""
    table, _ = crowd(seed=3, items=60, judges=4, per_item=4)
    fit = adjudge.fit(table, model, prevalence="topic", tolerance=1e-14, accelerate=False)
    order = np.argsort(fit.items.to_list())
    np.testing.assert_allclose(fit.posterior[order], slow_em(table, model == "one-coin"), atol=1e-5)


@EVERY
def test_predict_has_the_prevalence_of_known_topics(model, tmp_path):
    """The same judgments have the same probabilities, saved or not; another topic has the prevalence of all items."""
    table, _ = crowd(items=200)
    fit = fitted(table, model, prevalence="topic")
    adjudge.save(fit, tmp_path / "fit")
    for reference in (fit, adjudge.load(tmp_path / "fit")):
        again = adjudge.predict(reference, adjudge.read(table))
        np.testing.assert_allclose(again.posterior, fit.posterior, atol=1e-12)
    strange = adjudge.predict(fit, adjudge.read(table.with_columns(topic=pl.lit("other"))))
    np.testing.assert_array_equal(strange.params.prevalence, fit.params.unseen[None])
    without = adjudge.predict(fit, adjudge.read(table.drop("topic"), labels=fit.scale.labels))
    order = [without.items.to_list().index(name) for name in strange.items]
    np.testing.assert_allclose(without.posterior[order], strange.posterior, atol=1e-12)


@EVERY
def test_items_without_a_topic_share_a_row(model):
    """Items that only gold knows have no topic: their row is the last."""
    table, truth = crowd(items=150)
    fit = fitted(table, model, prevalence="topic", gold={"i3": int(truth[3]), "new": 1, "other": 1})
    assert fit.params.topic_prevalence.shape == (4, 2)
    assert fit.prevalence["topic"].unique().sort().to_list() == ["(none)", "t0", "t1", "t2"]
    assert fit.params.topic_prevalence[3, 1] > 0.99
    again = adjudge.predict(fit, adjudge.read(table))
    np.testing.assert_array_equal(again.params.prevalence, fit.params.prevalence[:3])


@EVERY
def test_updates_know_old_and_new_topics(model):
    """An exact update is the fit of all judgments; new topics have rows of their own, exact or online."""
    table, _ = crowd(items=240)
    first, new = (
        adjudge.read(table.filter(mine), labels=[0, 1]) for mine in (pl.col("topic") != "t2", pl.col("topic") == "t2")
    )
    gold = {first.items[0]: 0, "extra": 1}
    old = fitted(first, model, prevalence="topic", gold=gold)
    exact = adjudge.update(old, new, first)
    complete = fitted(exact.judgments, model, prevalence="topic", gold=gold)
    assert exact.evidence[-1] >= complete.evidence[-1] - 1e-5 * len(table)
    assert list(exact.topics)[-1] == "t2"
    updates = [exact, adjudge.update(old, new, first, online=True)]
    if MODELS[model].uses_matrices:
        updates.append(adjudge.update(old, new, online=True))
    for updated in updates:
        assert updated.params.topic_prevalence.shape == (4, 2)  # three topics, and the item that only gold knows
        assert updated.params.topic_prevalence[2, 1] > old.params.label_prevalence[1] + 0.05
        assert updated.params.topic_prevalence[3, 1] > 0.9


@EVERY
def test_blocks_on_disk_give_the_answer_of_memory(model, tmp_path):
    """An engine counts truths by topic as memory does."""
    table, _ = crowd(items=150)
    table.write_csv(tmp_path / "crowd.csv")
    blocks = make_blocks(Table([tmp_path / "crowd.csv"], {}), tmp_path / "blocks", block=100)
    inference = "map" if MODELS[model].sampler is not None else None
    options = Options(prevalence="topic", inference=inference, tolerance=1e-12, calibrate="none")
    disk = fit_blocks(blocks, model, out=tmp_path / "out", options=options)
    memory = fitted(tmp_path / "crowd.csv", model, prevalence="topic", tolerance=1e-12, calibrate="none")
    rows = dict(zip(disk.labels.collect()["item"], disk.labels.collect()["p_1"], strict=True))
    np.testing.assert_allclose([rows[name] for name in memory.items], memory.posterior[:, 1], atol=1e-6)
    loaded = adjudge.load(tmp_path / "out")
    assert loaded.definition.prevalence.by_topic
    np.testing.assert_allclose(loaded.params.unseen, memory.params.unseen, atol=1e-6)


@pytest.mark.parametrize("model", [name for name in LEARNING if MODELS[name].rounds is None])
def test_a_fit_starts_at_an_earlier_one(model):
    """Rows of topics are matched by name, and fewer passes are needed."""
    table, _ = crowd(items=240)
    earlier = fitted(table.filter(pl.col("topic") != "t0"), model, prevalence="topic")
    cold, warm = fitted(table, model, prevalence="topic"), fitted(table, model, prevalence="topic", start=earlier)
    assert warm.params.prevalence.shape == cold.params.prevalence.shape
    assert warm.evidence[-1] == pytest.approx(cold.evidence[-1], rel=0.01)  # EM has several optima


@pytest.mark.parametrize("model", ["dawid-skene", "subtypes", "hybrid-confusion"])
def test_it_is_calibrated_like_any_fit(model):
    """By judgments alone, from the vote; what is known of topics stays."""
    table, truth = crowd(items=200)
    fit = fitted(table, model, prevalence="topic", calibrate="judgments")
    assert fit.calibration is not None
    assert len(fit.params.prevalence) == 3
    assert scores(fit, truth)[0] > 0.8


def test_hybrid_confusion_is_sampled_with_a_prevalence_per_topic():
    """Gibbs sampling draws a row for every topic, and agrees with EM on them."""
    table, _ = crowd(items=300)
    with pytest.warns(adjudge.AdjudgeWarning, match="have not converged"):
        fit = adjudge.fit(table, "hybrid-confusion", prevalence="topic", run=adjudge.Run(2, 200, 200))
    mode = fitted(table, "hybrid-confusion", prevalence="topic")
    assert fit.draws.prevalence.shape == (2, 200, 3, 2)
    np.testing.assert_allclose(fit.params.prevalence, mode.params.prevalence, atol=0.08)
    again = adjudge.predict(fit, adjudge.read(table))
    assert np.abs(again.posterior - fit.posterior).max() < 0.1


@pytest.mark.parametrize("model", OTHERS)
def test_a_model_without_a_prevalence_refuses(model):
    """The message names those that have one."""
    able = ", ".join(repr(name) for name in MODELS if MODELS[name].prevalence.learned)
    with pytest.raises(adjudge.UsageError) as error:
        adjudge.fit(crowd(items=20)[0], model, prevalence="topic")
    assert str(error.value) == f"model '{model}' learns no prevalence; models with one per topic are {able}"


def test_what_cannot_be_is_said():
    """Judgments without topics, another word, and a model that is not named."""
    table, _ = crowd(items=20)
    with pytest.raises(adjudge.UsageError, match="prevalence 'topic' needs the topic of every item: name its column"):
        adjudge.fit(table.drop("topic"), "one-coin", prevalence="topic")
    with pytest.raises(adjudge.UsageError, match="prevalence 'each' is not one of 'global', 'topic'"):
        adjudge.fit(table, "one-coin", prevalence="each")
    with pytest.raises(adjudge.UsageError, match="prevalence 'topic' is for a model that is named"):
        adjudge.fit(table, "auto", prevalence="topic")
