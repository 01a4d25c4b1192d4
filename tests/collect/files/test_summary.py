"""A campaign in figures."""

from dataclasses import replace

from adjudge.collect.files.demo import make_demo
from adjudge.collect.files.summary import summary
from adjudge.collect.settings import Qualification, Redundancy


def test_figures(tmp_path):
    """What there is, and how much work it is."""
    demo = make_demo(tmp_path / "demo")
    assert summary(demo) == [
        ("topics", "8"),
        ("documents", "96"),
        ("pairs to judge", "90, in 18 sets of 5"),
        ("judgments needed", "270 (3 of each)"),
        ("assignments needed", "11 (6 sets each, 1 of them gold)"),
        ("graded documents", "44 (20 of grade 0, 12 of grade 1, 12 of grade 2)"),
        ("gold sets", "8"),
        ("qualification sets", "4"),
        ("monitoring sets", "2"),
    ]
    settings = replace(demo.settings, redundancy=Redundancy(adaptive=True), qualification=Qualification(required=False))
    other = dict(summary(replace(demo, settings=settings, gold={})))
    assert other["judgments needed"] == "270 (up to 3 of each; adaptive, so mostly fewer)"
    assert other["qualification sets"] == "4, not asked"
    assert other["graded documents"] == "0"
