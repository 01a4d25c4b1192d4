"""Vote weights as columns, and on tables at the edge."""

import numpy as np
import pytest

from adjudge.inference.params import accurate
from adjudge.models.vote_weight import MODELS, weight_column, weight_columns


def test_weights_are_log_odds():
    """log((K - 1) P_c / P_e): with trust 3 and three labels P_c is 4/6."""
    params = accurate(2, 3, trust=3)
    np.testing.assert_allclose(weight_column(params, ("a", "b", "c"))["vote_weight"], np.log(2 * (4 / 6) / (2 / 6)))
    assert list(weight_columns(params, ("a", "b", "c"))) == ["vote_weight_a", "vote_weight_b", "vote_weight_c"]


def test_one_label_gives_finite_weights():
    """Where everybody can only be right, weights are large and not infinite."""
    assert np.isfinite(weight_column(accurate(1, 1), ("a",))["vote_weight"]).all()


@pytest.mark.parametrize("model", MODELS)
def test_both_begin_at_the_vote_and_end_with_the_labels(model):
    """As the paper's steps 1 and 4 say."""
    assert model.hard
    assert {name: begin.__name__ for name, begin in model.starts.items()} == {"vote": "majority_vote"}
