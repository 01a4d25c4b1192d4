"""A report: its page, its figures and its charts."""

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
