"""A judge's matrix as columns."""

import numpy as np

from adjudge.data.scale import Scale
from adjudge.inference.params import accurate
from adjudge.inference.tables import confusion_columns, expected_value


def test_columns_name_said_and_truth():
    """One column a cell: what is said, given what is true."""
    columns = confusion_columns(accurate(2, 2, trust=3), ("no", "yes"))
    assert list(columns) == ["p_no_if_no", "p_yes_if_no", "p_no_if_yes", "p_yes_if_yes"]
    np.testing.assert_allclose(columns["p_yes_if_no"], 1 / 5)


def test_expected_values_stand_between_two_labels():
    """On 0 to K - 1 for words, on their own values for numbers."""
    posterior = np.array([[0.0, 0.7, 0.3], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5]])
    words = expected_value(posterior, Scale(("bad", "good", "very good"), ordinal=True))
    np.testing.assert_allclose(words["expected"], [1.3, 0, 1])
    assert words["between"] == ["0.7 good + 0.3 very good", "bad", "good"]
    numbers = expected_value(posterior, Scale((0, 10, 100), ordinal=True))
    np.testing.assert_allclose(numbers["expected"], [37, 0, 50])
    assert numbers["between"][2] == "0.6 10 + 0.4 100"


def test_one_label_is_its_own_value():
    """There is nothing between one label and none."""
    assert expected_value(np.ones((2, 1)), Scale(("x",), ordinal=True))["between"] == ["x", "x"]
