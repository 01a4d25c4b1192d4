"""Control charts as a figure."""

import numpy as np

import adjudge
from adjudge.judges.chart import control_chart
from adjudge.report.case import case_of
from adjudge.report.figure_control import MOST_JUDGES, controlled


def test_judges_who_break_most_rules_come_first():
    """A panel each, with every batch in it; the title says what was found."""
    judgments = adjudge.simulate("drifting", seed=1, judges=12, items=300).judgments
    fit = adjudge.fit(judgments, "dawid-skene")
    shown = controlled(case_of(fit, judgments)).to_dict()
    chart = control_chart(fit, judgments)
    assert shown["title"] == chart.sentence
    assert len(shown["concat"]) == MOST_JUDGES
    first = fit.judge_names.to_list().index(shown["concat"][0]["title"])
    broken = np.bincount(chart.judge, weights=[bool(flag) for flag in chart.flags])
    assert broken[first] == broken.max()
    batches = shown["concat"][0].get("data", shown["concat"][0]["layer"][0].get("data"))["values"]
    assert len(batches) == int((chart.judge == first).sum())
    assert {point["kind"] for point in batches} <= {"within limits", "breaks a rule"}
