"""The page of paper 003."""

import re

import numpy as np
import pytest

from studies.curves import Curves, Point
from studies.markdown import Difference
from studies.paper_003 import SHOWN_ONLY, by_ratings, memory_claims, page, runs_text, share_decaying, spectrum_claims
from studies.spectrum import AXES, CEILING, LABELS, METHODS


def test_the_page_has_its_parts(spectrum_curves, memory_curves):
    """Commands, the true matrices, figures, and what holds."""
    files = page(spectrum_curves, memory_curves)
    assert list(files) == ["paper-003.md", "paper-003-spectrum.svg", "paper-003-memory.svg"]
    text = files["paper-003.md"]
    for part in ("python -m studies spectrum", "python -m studies memory", "| 2 | A | 0.050 | 0.900 | 0.100 | 0.000 |"):
        assert part in text
    assert all(f"({name})" in text for name in list(files)[1:])
    assert text.count("| in the paper | what it says | design | our result | outcome |") == 2
    assert "the data are unlike the paper's" in text  # small real crowds
    for row in text.splitlines():
        if row.startswith(("| figure", "| section", "| algorithm")) and row.count(" | ") == 4:
            assert row.split(" | ")[-1].startswith(("reproduced", "not reproduced: ", "reproduced in shape: ")), row


def test_every_figure_of_the_paper_has_a_row(spectrum_curves, monitoring_curves):
    """Figures 1 to 7, the algorithms, and what the text says of prevalence and time."""
    rows = [*SHOWN_ONLY, *spectrum_claims(spectrum_curves), *memory_claims(monitoring_curves)]
    places = {row.place for row in rows}
    assert {re.sub(r" \([abc]\)", "", place) for place in places} >= {f"figure {n}" for n in range(1, 8)}
    assert {"algorithms 1, 2", "figure 6 (a)", "figure 6 (b)", "figure 6 (c)", "section 3.1"} <= places
    assert all(row.design.startswith("`monitoring`: simulated") for row in memory_claims(monitoring_curves))
    text = page(spectrum_curves, monitoring_curves)["paper-003.md"]
    assert "## monitoring: average confusion matrices" in text


def test_outcomes_of_memory_follow_from_the_numbers():
    """A clear gain at every number of ratings is reproduced, at some in shape, at none not."""
    always, never = Difference(0.1, 0.05, 0.15), Difference(0.0, -0.1, 0.1)
    assert by_ratings({5: always, 30: always}, 1) == "reproduced"
    assert by_ratings({5: always, 30: never}, 1) == "reproduced in shape: significant at 5 ratings only"
    assert by_ratings({5: always, 30: never}, -1) == "not reproduced: not significant at any number of ratings"


def test_steps_away_from_the_diagonal():
    """Of the six steps of this matrix, the one from .2 to .3 does not decay."""
    matrix = np.array([[0.5, 0.2, 0.3], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]])
    assert share_decaying(matrix) == 5 / 6


def curves(**accuracy):
    """Return a spectrum with these accuracies at 20 and 3,000 items."""
    default = {"accuracy": 0.92, "prevalence_error": 0.1, "mae": 1.0, "mae_judge1": 1.0, "seconds": 1.0}
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
        ((0.91, 0.93), (0.60, 0.94), ["reproduced"] * 3),
        ((0.89, 0.93), (0.95, 0.93), ["reproduced in shape", "not reproduced", "not reproduced"]),
        ((0.91, 0.94), (0.95, 0.93), ["reproduced in shape", "not reproduced", "reproduced"]),
    ],
)
def test_verdicts_follow_from_the_numbers(hybrid, skene, words):
    """Best with many; falls apart with few; above .9 throughout."""
    result = spectrum_claims(curves(**{"hybrid, lambda 3": hybrid, "dawid-skene": skene}))
    assert [stored.holds.split(":")[0] for stored in result[:3]] == words


def test_points_with_fewer_runs_are_named():
    """The number of runs, and where there are fewer."""
    whole = curves()
    assert runs_text(whole) == "4 runs"
    few = [p._replace(values={m: v[:3] for m, v in p.values.items()}) if p.x == 3_000 else p for p in whole.points]
    assert runs_text(Curves(AXES, tuple(few), 4)) == "4 runs; 3 at 3,000 items"
