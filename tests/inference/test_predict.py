"""Memory mode: new judgments, and judges and topics that a fit has or has not met."""

import numpy as np
import polars as pl
import pytest

import adjudge

TABLE = pl.DataFrame(
    {
        "item": [f"i{n // 3}" for n in range(30)],
        "judge": ["x", "y", "z"] * 10,
        "label": ["1" if (n // 3) % 2 else "0" for n in range(30)],
    }
)


def test_predict_takes_a_new_judge_for_an_average_one():
    """A judge never seen has the population's matrix."""
    fit = adjudge.fit(TABLE.with_columns(label=pl.Series(["0", "0", "1", "1", "1", "1"] * 5)), "dawid-skene")
    new = pl.DataFrame({"item": ["n", "m"], "judge": ["nobody", "x"], "label": ["1", "0"]})
    result = adjudge.predict(fit, new)
    prior = fit.params.prevalence[0]
    expected = prior * fit.params.population[:, 1]
    np.testing.assert_allclose(result.posterior[0], expected / expected.sum())
    assert result.stopped == "predicted from a fit of 10 items"


def test_predict_refuses_labels_the_fit_never_met():
    """The scale of a fit is fixed."""
    new = pl.DataFrame({"item": ["n"], "judge": ["x"], "label": ["maybe"]})
    with pytest.raises(adjudge.InputError, match="label 'maybe' is not one of '0', '1'"):
        adjudge.predict(adjudge.fit(TABLE), new)


def test_predict_refuses_judgments_on_another_scale():
    """Encoded judgments must have the fit's labels."""
    new = adjudge.read(pl.DataFrame({"item": ["n"], "judge": ["x"], "label": ["1"]}))
    with pytest.raises(adjudge.UsageError, match="the judgments' labels '1' are not the fit's '0', '1'"):
        adjudge.predict(adjudge.fit(TABLE), new)


def test_topics_are_met_again_or_taken_from_their_population():
    """Memory mode of the hierarchical model, by its formula: known topics, unknown ones, and none."""
    crowd = adjudge.simulate("carpenter", seed=7, topics=4, items=200, judges=12, judgments=1_500, gold=1)
    with pytest.warns(adjudge.AdjudgeWarning):
        fit = adjudge.fit(crowd.judgments, "hierarchical", run=adjudge.Run(2, 50, 50))
    rows = {"item": ["n1", "n2"], "judge": ["stranger"] * 2, "label": [1, 1], "topic": ["t2", "elsewhere"]}
    result = adjudge.predict(fit, adjudge.read(pl.DataFrame(rows), labels=fit.scale.labels))
    position = fit.topics.to_list().index("t2")
    prevalence = [fit.params.prevalence[position], fit.params.unseen]
    by_hand = np.array(prevalence) * fit.params.population[:, 1]
    np.testing.assert_allclose(result.posterior, by_hand / by_hand.sum(axis=1, keepdims=True))
    without = adjudge.predict(fit, adjudge.read(pl.DataFrame(rows).drop("topic"), labels=fit.scale.labels))
    np.testing.assert_allclose(without.posterior[0], result.posterior[1])
    again = adjudge.predict(
        result, adjudge.read(pl.DataFrame(rows), labels=fit.scale.labels)
    )  # from what was predicted
    np.testing.assert_allclose(again.posterior, result.posterior)
    assert result.prevalence["topic"].to_list() == ["t2", "t2", "elsewhere", "elsewhere"]


def test_predict_keeps_what_is_known_about_judges():
    """What the fit knows of its judges is kept in the order of the new judgments, which may say more."""
    fit = adjudge.fit(TABLE, judges={"x": "person", "y": {"kind": "ai", "model": "m"}, "z": {}})
    new = pl.DataFrame({"item": ["n", "n", "n"], "judge": ["y", "new", "z"], "label": ["1", "0", "1"]})
    assert adjudge.predict(fit, new).panel == adjudge.Panel(
        ("machine", None, None), ("m", "new", "z"), ("m", None, None), (None, None, None)
    )
    more = adjudge.read(new, judges={"y": {}, "new": "expert", "z": "person"})
    assert adjudge.predict(fit, more).panel.kind == ("machine", "expert", "person")
    assert adjudge.predict(adjudge.fit(TABLE), more).panel.kind == (None, "expert", "person")
    assert adjudge.predict(adjudge.fit(TABLE), new).panel is None


def test_the_vote_with_memory():
    """Majority predicts by Bayes' rule with what it counted against its winners, as in section 4 of paper 003."""
    labels = [["a", "a", "b"], ["b", "b", "b"], ["a", "b", "a"], ["c", "c", "a"], ["c", "c", "c"]]
    rows = [(f"i{n}", judge, label) for n, row in enumerate(labels) for judge, label in zip("xyz", row, strict=True)]
    fit = adjudge.fit(pl.DataFrame(rows, ["item", "judge", "label"], orient="row"), "majority")
    assert fit.labels["label"].to_list() == ["a", "b", "a", "c", "c"]
    new = pl.DataFrame({"item": ["n"] * 3, "judge": ["x", "y", "z"], "label": ["a", "b", "b"]})
    result = adjudge.predict(fit, new)
    # x: a is always right. y calls a half of the a and every b b, z a half of the a and every b b.
    by_hand = np.array([2 / 5 * 1 * 1 / 2 * 1 / 2, 1 / 5 * 0 * 1 * 1, 0])
    np.testing.assert_allclose(result.posterior[0], by_hand / by_hand.sum(), atol=1e-9)
    assert adjudge.fit(new, "majority").labels["label"].to_list() == ["b"]
    assert result.labels["label"].to_list() == ["a"]


def test_other_votes_predict_by_their_weights():
    """A vote that weighs judges keeps its own rule for new items."""
    fit = adjudge.fit(TABLE, "wawa")
    new = pl.DataFrame({"item": ["n"] * 3, "judge": ["x", "y", "z"], "label": ["1", "0", "0"]})
    assert adjudge.predict(fit, new).labels["p_0"].to_list() == pytest.approx([2 / 3])
