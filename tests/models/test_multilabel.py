"""``multilabel``: probabilities of labels, sets, judges over all labels, and gold."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import adjudge
from adjudge.errors import UsageError


def crowd(seed=0, items=80, judges=10, per_item=4):
    """Return judgments with several labels, and the true sets (I, L)."""
    rng = np.random.default_rng(seed)
    truth = rng.random((items, 4)) < [0.1, 0.3, 0.5, 0.2]
    hit, right = rng.beta(6, 2, judges), rng.beta(18, 2, judges)
    rows = []
    for i in range(items):
        for j in rng.choice(judges, per_item, replace=False):
            said = rng.random(4) < np.where(truth[i], hit[j], 1 - right[j])
            rows.append((f"i{i:02}", f"j{j}", "|".join(np.array(list("abcd"))[said])))
    return pl.DataFrame(rows, ["item", "judge", "label"], orient="row"), truth


def test_sets_are_the_labels_that_are_likelier_than_not():
    """They are right more often than those of the vote."""
    table, truth = crowd()
    fit = adjudge.multilabel(table)
    assert fit.items.columns == ["item", "labels", "probability", "judgments", "p_a", "p_b", "p_c", "p_d"]
    chosen = fit.probability > 0.5
    assert [set(text.split("|")) - {""} for text in fit.items["labels"]] == [
        set(np.array(list("abcd"))[row]) for row in chosen
    ]
    np.testing.assert_allclose(fit.items["p_b"].to_numpy(), fit.probability[:, 1])
    np.testing.assert_allclose(
        fit.items["probability"].to_numpy(), np.maximum(fit.probability, 1 - fit.probability).prod(axis=1)
    )
    vote = np.zeros((80, 4))
    for item, label in table.select("item", "label").rows():
        vote[int(item[1:]), ["abcd".index(name) for name in label.split("|") if name]] += 1 / 4
    assert (chosen == truth).mean() > ((vote > 0.5) == truth).mean()
    assert repr(fit) == f"MultilabelFit(consensus: 80 items, 10 judges, 4 labels; {fit.fit.stopped})"
    assert fit.prevalence["label"].to_list() == list("abcd")
    assert "<table>" in fit._repr_html_()


def test_judges_are_shared_by_all_labels():
    """Their table counts all yes/no answers, and cards are made of the same fit."""
    table, _ = crowd(items=20)
    fit = adjudge.multilabel(table.to_pandas(), model="dawid-skene")
    assert isinstance(fit.judges, pd.DataFrame)
    assert fit.judges["answers"].sum() == 20 * 4 * 4
    assert len(adjudge.judges(fit.fit, fit.sets.judgments).cards) == 10


def test_it_is_the_fit_of_a_table_of_questions():
    """The same probabilities follow from a table with one row per question, with labels as topics."""
    table, _ = crowd(items=15)
    rows = [
        (f"{name}_{item}", judge, name, "yes" if name in given.split("|") else "no")
        for name in "abcd"
        for item, judge, given in table.rows()
    ]
    questions = pl.DataFrame(rows, ["item", "judge", "topic", "label"], orient="row")
    fit = adjudge.fit(questions, prevalence="topic")
    probability = adjudge.multilabel(table).probability
    np.testing.assert_allclose(probability.T.ravel(), fit.labels["p_yes"].to_numpy())


def test_gold_is_kept():
    """An item with gold has exactly its labels."""
    table, _ = crowd(items=20)
    fit = adjudge.multilabel(table, gold={f"i{n:02}": "a|d" for n in range(2)})
    assert fit.items["labels"][:2].to_list() == ["a|d", "a|d"]
    np.testing.assert_allclose(fit.items["probability"][:2].to_numpy(), 1)


@pytest.mark.parametrize("model", ["majority", "dawid-skene"])
def test_other_models_fit_the_questions(model):
    """Also one that learns no prevalence."""
    assert adjudge.multilabel(crowd(items=10)[0], model=model).fit.model == model


def test_auto_is_refused():
    """It compares models with one prevalence for all labels."""
    with pytest.raises(UsageError) as error:
        adjudge.multilabel(crowd(items=10)[0], model="auto")
    assert str(error.value) == "model 'auto' is not for several labels: name a model, or leave it out"
