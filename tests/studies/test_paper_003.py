"""The page of paper 003."""

import numpy as np
import pytest

from studies.curves import Curves, Point
from studies.paper_003 import page, spectrum_claims
from studies.spectrum import AXES, CEILING, LABELS, METHODS


def test_the_page_has_its_parts(spectrum_curves, memory_curves):
    """Commands, the true matrices, figures, and what holds."""
    files = page(spectrum_curves, memory_curves)
    assert list(files) == ["paper-003.md", "paper-003-spectrum.svg", "paper-003-memory.svg"]
    text = files["paper-003.md"]
    for part in ("python -m studies spectrum", "python -m studies memory", "| 2 | A | 0.050 | 0.900 | 0.100 | 0.000 |"):
        assert part in text
    assert all(f"({name})" in text for name in list(files)[1:])
    assert "| the paper | our result | confirmed |" in text


def curves(**accuracy):
    """Return a spectrum with these accuracies at 20 and 3,000 items."""
    default = {"accuracy": 0.92, "prevalence_error": 0.1, "mae": 1.0, "mae_judge1": 1.0}
    default |= {f"p_{label}": p for label, p in zip(LABELS, (0.1, 0.15, 0.75), strict=True)}
    points = [
        Point(
            "",
            x,
            name,
            {m: np.full(4, v) for m, v in {**default, "accuracy": accuracy.get(name, (0.92, 0.92))[n]}.items()},
        )
        for n, x in enumerate((20, 3_000))
        for name in (*METHODS, CEILING)
    ]
    return Curves(AXES, tuple(points), 4)


@pytest.mark.parametrize(
    ("hybrid", "skene", "words"),
    [
        ((0.91, 0.93), (0.60, 0.94), ["yes", "yes", "yes"]),
        ((0.89, 0.93), (0.95, 0.93), ["no", "not significant", "partly"]),
        ((0.91, 0.94), (0.95, 0.93), ["yes", "no", "partly"]),
    ],
)
def test_verdicts_follow_from_the_numbers(hybrid, skene, words):
    """Above .9 throughout; best with many; falls apart with few."""
    result = spectrum_claims(curves(**{"hybrid, lambda 3": hybrid, "dawid-skene": skene}))
    assert [stored.holds for stored in result[:3]] == words
