"""A report: its page, its figures and its charts."""

import adjudge
from adjudge.reports.report import report


def test_a_report_is_a_page_figures_and_charts(tmp_path):
    """It is saved whole, shown in a notebook as its summary, and draws one figure at a time."""
    judgments = adjudge.dataset("anesthesia")
    fit = adjudge.fit(judgments, "dawid-skene")
    steps = []
    made = report(fit, judgments, title="Five <judges>", progress=steps.append)
    assert repr(made) == "Report('Five <judges>': dawid-skene, 45 items, 5 judges)"
    assert "Five &lt;judges&gt;" in made._repr_html_()
    made.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == made.html
    assert steps[0] == "computing the judges"
    assert made.plot("certainty").to_dict()["title"]
    adjudge.save(fit, tmp_path / "folder", judgments)
    assert repr(report(tmp_path / "folder")).startswith("Report('folder': ")
