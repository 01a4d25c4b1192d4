"""Tables for LaTeX."""

import pytest

from adjudge.reports.latex import Cell, escape, latex_results, latex_table

CELLS = {
    ("a_1", "MAP"): Cell(0.31, 0.2, 0.4),
    ("b&c", "MAP"): Cell(0.42, 0.35, 0.5),
    ("d", "MAP"): Cell(0.25, None, None),
}
BETTER = {"MAP": {("b&c", "a_1"), ("b&c", "d")}}
RUNS = ("a_1", "b&c", "d")


def lines(text):
    """Return the lines of the body of a table."""
    body = text.split("\\midrule\n")[1].split("    \\bottomrule")[0]
    return [line.strip() for line in body.splitlines()]


def test_names_are_escaped():
    """All signs that mean something to LaTeX, and nothing else."""
    assert escape("a_b & c% #1 {x} $y ~ ^ \\ <p>") == (
        r"a\_b \& c\% \#1 \{x\} \$y \textasciitilde{} \textasciicircum{} \textbackslash{} \textless{}p\textgreater{}"
    )


def test_letters_say_which_runs_are_worse():
    """The best value is bold, and has the letters of the runs that it is better than."""
    text = latex_results(RUNS, ["MAP"], CELLS, BETTER, "Runs on 3 topics; 90 % intervals.", "90 %")
    assert lines(text) == [
        r"(a) a\_1 & 0.310 {\scriptsize [0.200, 0.400]} \\",
        r"(b) b\&c & \textbf{0.420}$^{\mathrm{ac}}$ {\scriptsize [0.350, 0.500]} \\",
        r"(c) d & 0.250 \\",
    ]
    assert (
        r"\caption{Runs on 3 topics; 90 \% intervals. Intervals are in brackets. The highest value is bold. Raised "
        r"letters name the runs that a run is better than (90 \%).}"
    ) in text
    assert text.count("rule") == 3


def test_a_baseline_has_daggers():
    """One for better runs, two for worse ones."""
    text = latex_results(RUNS, ["MAP"], CELLS, {"MAP": {("b&c", "a_1"), ("a_1", "d")}}, "Runs.", "p < 0.05", "a_1")
    assert [line.split(" & ")[1][:21] for line in lines(text)] == [
        r"0.310 {\scriptsize [0",
        r"\textbf{0.420}$^{\dag",
        r"0.250$^{\ddagger}$ \\",
    ]
    assert (
        r"$^{\dagger}$ marks runs that are better than a\_1, $^{\ddagger}$ runs that are worse (p \textless{} 0.05)."
    ) in text


def test_many_runs_are_compared_with_the_best():
    """Letters would be too many."""
    runs = [f"r{n}" for n in range(9)]
    cells = {(run, "MAP"): Cell(0.9 - n / 10, None, None) for n, run in enumerate(runs)}
    text = latex_results(runs, ["MAP"], cells, {"MAP": {("r0", run) for run in runs[3:]}}, "Runs.", "90 %")
    assert lines(text)[:4] == [
        r"r0 & \textbf{0.900} \\",
        r"r1 & 0.800$^{*}$ \\",
        r"r2 & 0.700$^{*}$ \\",
        r"r3 & 0.600 \\",
    ]
    assert r"$^{*}$ marks runs that cannot be distinguished from the best (90 \%)." in text


def test_one_run_needs_no_marks():
    """There is nothing to explain."""
    text = latex_results(["d"], ["MAP"], CELLS, {"MAP": set()}, "Runs.", "90 %")
    assert "bold. }" in text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "--"), (float("nan"), "--"), (0.5, "0.500"), (3, "3"), ("a_b", r"a\_b")]
)
def test_any_table_is_printed(value, text):
    """Numbers have three decimals, and what is missing is a dash."""
    assert lines(latex_table(["x", "y"], [["k", value]], "All")) == [rf"k & {text} \\"]
