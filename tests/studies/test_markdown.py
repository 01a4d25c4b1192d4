"""What pages are made of."""

import numpy as np
import pytest

from studies.markdown import PaperClaim, against_the_paper, difference, implementation_section, section, table, verdict


def test_tables_and_sections():
    """Numbers as people read them; what is not there is a dash."""
    assert table(("a", "b"), [(1_000, 0.12345), (None, "x")]) == (
        "| a | b |\n| --- | --- |\n| 1,000 | 0.123 |\n| - | x |\n"
    )
    assert section("Title", "one", "two\n") == "## Title\n\none\n\ntwo\n"
    assert "| what | `a.py` | `t.py` |" in implementation_section([("what", "a.py", "t.py")])


def test_what_holds():
    """A row for each sentence."""
    assert against_the_paper([PaperClaim("says", "here", verdict(False, "partly"))]).endswith(
        "| says | here | partly |\n"
    )
    assert verdict(True) == "yes"


def test_differences_have_intervals():
    """Over the same runs."""
    off = difference(np.array([0.5, 0.7]), np.array([0.4, 0.4]))
    assert off.mean == pytest.approx(0.2)
    assert off.high - off.low == pytest.approx(2 * 1.96 * np.std([0.1, 0.3], ddof=1) / 2**0.5)
    assert str(off) == "+0.200 (+0.004 to +0.396)"
