"""Several labels per answer."""

import pandas as pd
import pytest

from adjudge.compat.crowdkit import BinaryRelevance, DawidSkene, MajorityVote

TABLE = pd.DataFrame(
    {
        "task": ["a", "a", "a", "b", "b", "b"],
        "worker": ["x", "y", "z"] * 2,
        "label": [["cat", "dog"], ["cat"], ["cat", "dog", "cow"], [], ["cow"], ["cow", "dog"]],
    },
    index=[5, 5, 6, 7, 8, 9],
)


def test_every_label_is_decided_alone():
    """A label is in the consensus if most workers gave it; answers may be empty, and the index has no meaning."""
    ours = BinaryRelevance()
    assert ours.fit_predict(TABLE).to_dict() == {"a": ["cat", "dog"], "b": ["cow"]}
    assert set(ours.aggregators_) == {"cat", "cow", "dog"}
    assert ours.aggregators_["dog"].probas_.loc["b", 1] == pytest.approx(1 / 3)


def test_the_given_aggregator_is_copied():
    """The one that was given stays without a fit."""
    base = DawidSkene(n_iter=5)
    BinaryRelevance(base).fit(TABLE)
    assert not hasattr(base, "labels_")


def test_a_task_may_end_without_labels():
    """No label has a majority."""
    table = pd.DataFrame({"task": ["a"] * 3, "worker": ["x", "y", "z"], "label": [["p"], ["q"], ["r"]]})
    assert BinaryRelevance(MajorityVote()).fit_predict(table).to_dict() == {"a": []}


def test_other_aggregators_are_refused():
    """The type is named."""
    with pytest.raises(
        ValueError, match=r"^base_aggregator is a str: give an aggregator of labels such as DawidSkene\(\)$"
    ):
        BinaryRelevance("majority")
