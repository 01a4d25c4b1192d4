"""A report: its page, its figures and its charts."""

import subprocess
import sys

import adjudge
from adjudge.reports.report import report


def test_a_report_is_a_page_figures_and_charts(tmp_path):
    """It is saved whole, shown in a notebook as its summary, and draws one figure at a time."""
    judgments = adjudge.dataset("anesthesia")
    fit = adjudge.fit(judgments, "dawid-skene")
    steps = []
    created = report(fit, judgments, title="Five <judges>", progress=steps.append)
    assert repr(created) == "Report('Five <judges>': dawid-skene, 45 items, 5 judges)"
    assert "Five &lt;judges&gt;" in created._repr_html_()
    created.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == created.html
    assert steps[0] == "computing the judges"
    assert created.plot("certainty").to_dict()["title"]
    adjudge.save(fit, tmp_path / "folder", judgments)
    assert repr(report(tmp_path / "folder")).startswith("Report('folder': ")


def test_a_report_does_not_load_all_of_statistics():
    """Importing ``scipy.stats`` takes half a second; the functions that are used are in ``scipy.special`` too."""
    program = "import sys, adjudge.reports.report; print('scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
