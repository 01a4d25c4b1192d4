"""Anderson mixing: near a summit it is there in fewer passes than EM, and far from one it says so."""

import numpy as np
import pytest

import adjudge
from adjudge.models.drive import Rules
from adjudge.models.near import FAR, approach
from adjudge.models.registry import MODELS

JUDGMENTS = adjudge.simulate(
    "dawid-skene", items=2_000, judges=20, labels=3, per_item=3, accuracy=0.55, seed=3
).judgments
RULES = Rules(len(JUDGMENTS), 1e-8, 5_000)
MODEL = MODELS["dawid-skene"]
BLOCK = JUDGMENTS.block()


def look(params):
    """Pass over all judgments."""
    return MODEL.assign(BLOCK, params)


@pytest.fixture(scope="module")
def summit():
    """Return params at the summit."""
    return adjudge.fit(JUDGMENTS, tolerance=1e-13).params


def moved(summit, by=0.02):
    """Return the tally a little way off the summit."""
    even = np.full_like(summit.confusion, 1 / 3)
    return look(summit._replace(confusion=(1 - by) * summit.confusion + by * even))


def test_it_ends_at_the_summit_in_fewer_passes(summit):
    """That of a fit; plain EM, from the same point to the same evidence, takes more."""
    top, tally = look(summit).evidence, moved(summit)
    near = approach(look, lambda tally: MODEL.estimate(tally, summit), tally, RULES)
    assert near.stopped == "converged"
    assert adjudge.fit(JUDGMENTS).evidence[-1] - near.evidence[-1] < RULES.tolerance * RULES.judgments
    assert list(near.evidence) == sorted(near.evidence)
    here, passes = tally, 0
    while top - look(MODEL.estimate(here, summit)).evidence > top - near.evidence[-1]:
        here, passes = look(MODEL.estimate(here, summit)), passes + 1
    assert near.passes < passes


def test_progress_hears_of_every_pass(summit):
    """With the evidence."""
    heard = []
    near = approach(
        look, lambda tally: MODEL.estimate(tally, summit), moved(summit), RULES, lambda *said: heard.append(said)
    )
    assert [n for n, _ in heard] == list(range(1, near.passes + 1))


def test_ctrl_c_ends_it_with_what_it_has(summit):
    """The tally of the last pass that was whole."""
    calls = iter(range(2))

    def interrupted(params):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return look(params)

    near = approach(interrupted, lambda tally: MODEL.estimate(tally, summit), moved(summit), RULES)
    assert near.stopped == "interrupted"
    assert len(near.evidence) == 2
    assert np.isfinite(near.tally.label).all()


def test_a_summit_that_is_not_near_is_left_to_a_climb(summit):
    """Without a word on convergence."""
    near = approach(look, lambda tally: MODEL.estimate(tally, summit), moved(summit), RULES._replace(tolerance=0.0))
    assert (near.stopped, near.passes) == ("", FAR)
    cap = approach(look, lambda tally: MODEL.estimate(tally, summit), moved(summit), RULES._replace(cap=3, tolerance=0))
    assert (cap.stopped, cap.passes) == ("", 3)


def test_a_step_too_bold_is_taken_back(summit):
    """A pass whose evidence fell is not built upon."""
    seen = []

    def falling(params):
        tally = look(params)
        seen.append(tally._replace(evidence=tally.evidence - 100 * (len(seen) == 3)))
        return seen[-1]

    near = approach(falling, lambda tally: MODEL.estimate(tally, summit), moved(summit), RULES)
    assert list(near.evidence) == sorted(near.evidence)
    assert near.stopped == "converged"
    assert adjudge.fit(JUDGMENTS).evidence[-1] - near.evidence[-1] < RULES.tolerance * RULES.judgments
