"""The package has crowd-kit's names."""

import sys

import pytest
from crowdkit import aggregation

from adjudge.compat import crowdkit
from adjudge.errors import MissingExtra


def test_all_aggregators_of_crowd_kit_are_here():
    """Every public name of crowdkit.aggregation, and no other."""
    assert set(crowdkit.__all__) == set(aggregation.__all__) - {"base"}
    assert all(hasattr(crowdkit, name) for name in crowdkit.__all__)


def test_pandas_is_needed(monkeypatch):
    """Without pandas the message has the line to type."""
    for name in [name for name in sys.modules if name.startswith("adjudge.compat.crowdkit")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        MissingExtra, match=r"^adjudge.compat.crowdkit needs pandas, which is not installed: pip install pandas$"
    ):
        __import__("adjudge.compat.crowdkit")
