"""``adjudge models``."""

from adjudge.inference.registry import MODELS


def test_every_model_is_listed(run):
    """The registry, with papers."""
    out = run("models").out
    assert all(name in out for name in MODELS)
    assert "Dawid & Skene 1979" in out
    assert "in an order" in out
    assert "..." not in out  # nothing is cut short
