"""EM: the log-likelihood never falls, EM ends for a stated reason, and acceleration saves steps."""

import numpy as np
import pytest

import adjudge
from adjudge.inference.em import FAR, Rules, approach, maximise, repeat, settle
from adjudge.inference.model import MODELS
from adjudge.inference.params import Params, accurate

SLOW = ("web_search", "trec2011_task2", "product", "trec2011_task2_mini")


def params(p):
    """Return params with one number in them."""
    return Params(np.array([[p, 1 - p]]), np.full((1, 2, 2), 0.5), np.full((2, 2), 0.5))


def towards(goal, rate):
    """Return a step that goes part of the way to a goal; the evidence is the distance, negative and squared."""

    def step(at):
        p = at.prevalence[0, 0]
        return params(goal + rate * (p - goal)), -((p - goal) ** 2)

    return step


def test_it_converges_and_says_so():
    """A step that contracts is followed to its fixed point."""
    end = maximise(towards(0.7, 0.5), params(0.2), Rules(1, 1e-8, 500))
    assert end.stopped == "converged"
    assert end.params.prevalence[0, 0] == pytest.approx(0.7, abs=1e-5)


def test_leaps_save_steps_on_a_slow_slope():
    """If a step goes one percent of the way, acceleration needs far fewer steps."""
    slow = [maximise(towards(0.7, 0.99), params(0.2), Rules(1, 1e-6, 5000, accelerate=fast)) for fast in (False, True)]
    assert slow[1].passes < slow[0].passes / 4
    assert slow[1].evidence[-1] >= slow[0].evidence[-1]


@pytest.mark.parametrize("accelerate", [False, True])
def test_history_never_falls(accelerate):
    """With acceleration, the recorded log-likelihood increases."""
    history = maximise(towards(0.7, 0.97), params(0.01), Rules(1, 1e-9, 900, accelerate)).evidence
    assert (np.diff(history) >= 0).all()


def test_a_leap_that_loses_is_taken_back():
    """Acceleration can overshoot a cliff; EM then continues from the point before it, and never falls."""
    lost = []

    def step(at):
        p = float(at.prevalence[0, 0])
        evidence = p if p <= 0.8 else -10.0  # a slope that ends in a cliff
        lost.append(p > 0.8)
        return params(min(0.8, p + 0.004)), evidence

    end = maximise(step, params(0.3), Rules(1, 1e-9, 400))
    assert any(lost)
    assert (np.diff(end.evidence) >= 0).all()
    assert end.params.prevalence[0, 0] == pytest.approx(0.8)


def test_a_cap_in_the_middle_of_a_cycle_loses_no_history():
    """The measured values are reported, whenever EM ends."""
    assert len(maximise(towards(0.7, 0.9), params(0.2), Rules(1, 0, 1)).evidence) == 1


def test_the_cap_is_kept_and_named():
    """Iterations are counted, accelerated ones included."""
    calls = []

    def step(at):
        calls.append(1)
        return towards(0.7, 0.999)(at)

    end = maximise(step, params(0.2), Rules(1, 0, 25))
    assert end.stopped == "stopped at the cap of 25 passes"
    assert end.passes == len(calls) == 25


def test_an_interrupt_keeps_what_was_found():
    """Ctrl-C ends EM with the current parameters."""
    passes = []

    def step(at):
        passes.append(1)
        if len(passes) == 7:
            raise KeyboardInterrupt
        return towards(0.7, 0.9)(at)

    end = maximise(step, params(0.2), Rules(1, 0, 100, accelerate=False))
    assert end.stopped == "interrupted"
    assert end.params.prevalence[0, 0] == pytest.approx(0.7 - 0.5 * 0.9**6)


def test_progress_is_told_every_pass():
    """A watcher hears of every pass, with its evidence."""
    heard = []
    end = maximise(towards(0.7, 0.5), params(0.2), Rules(1, 1e-8, 500), lambda n, evidence: heard.append((n, evidence)))
    assert [n for n, _ in heard] == list(range(1, end.passes + 1))


@pytest.mark.parametrize("model", ["dawid-skene", "one-coin", "single-confusion"])
@pytest.mark.parametrize("name", [*SLOW, "adult2", "fact_eval", "nyt_3p", "dog", "ducks", "temp"])
def test_leaping_never_ends_below_plain_em(shared, name, model):
    """On real judgments, accelerated EM ends with at least the log-likelihood of plain EM at the same tolerance."""
    judgments = adjudge.read(str(shared(f"data/{name}/labels.csv")))
    plain, fast = (adjudge.fit(judgments, model, accelerate=accelerate) for accelerate in (False, True))
    assert fast.evidence[-1] >= plain.evidence[-1] - 1e-8 * len(judgments)


@pytest.mark.parametrize("name", SLOW)
def test_leaping_halves_the_passes_at_least(shared, name):
    """To come within 1e-6 per judgment of plain EM, acceleration needs at most half of the iterations."""
    judgments = adjudge.read(str(shared(f"data/{name}/labels.csv")))
    counts = []
    goal = adjudge.fit(judgments, "dawid-skene", accelerate=False).evidence[-1] - 1e-6 * len(judgments)
    for accelerate in (False, True):
        heard = []
        adjudge.fit(
            judgments, "dawid-skene", accelerate=accelerate, progress=lambda n, e, heard=heard: heard.append((e, n))
        )
        counts.append(next(n for evidence, n in heard if evidence >= goal))
    assert counts[1] <= counts[0] / 2


def to_tenths(p):
    """Return a step that goes on by a tenth until .8, exactly."""
    return params(min(8, round(10 * p.prevalence[0, 0]) + 1) / 10), 0.0


def test_settling_ends_when_nothing_changes():
    """And says so, with the passes it took."""
    end = settle(to_tenths, params(0.3), Rules(1, 0, 50))
    assert (end.stopped, end.passes, end.evidence) == ("converged", 6, ())
    assert end.params.prevalence[0, 0] == 0.8


def test_a_circle_is_noticed():
    """Params that come back after three passes go round in a circle of three."""
    places = {0.2: 0.5, 0.5: 0.7, 0.7: 0.2}

    def step(at):
        return params(places[round(float(at.prevalence[0, 0]), 1)]), 0.0

    assert settle(step, params(0.2), Rules(1, 0, 50)).stopped == "went round in a circle of 3 passes"


def test_settling_keeps_the_cap_and_interrupts():
    """As EM does."""
    assert settle(to_tenths, params(0.3), Rules(1, 0, 2)).stopped == "stopped at the cap of 2 passes"

    def interrupted(at):
        raise KeyboardInterrupt

    assert settle(interrupted, params(0.3), Rules(1, 0, 2)).stopped == "interrupted"


def test_rounds_are_counted_and_told():
    """As many steps as are asked for; none means that counting once was all."""
    step = lambda params: (params._replace(prevalence=params.prevalence + 1), 0.0)  # noqa: E731
    start, messages = accurate(1, 2), []
    after = repeat(step, start, 3, lambda passes, _: messages.append(passes))
    np.testing.assert_allclose(after.params.prevalence, start.prevalence + 3)
    assert (after.passes, after.stopped, messages) == (3, "finished", [1, 2, 3])
    assert repeat(step, start, 0).stopped == "counted once"


def test_rounds_can_be_interrupted():
    """Ctrl-C keeps what was found so far."""

    def step(params):
        if params.prevalence[0, 0] > 2:
            raise KeyboardInterrupt
        return params._replace(prevalence=params.prevalence + 1), 0.0

    after = repeat(step, accurate(1, 2), 9)
    assert after.stopped == "interrupted"
    assert after.params.prevalence[0, 0] == 2.5


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
    return adjudge.fit(JUDGMENTS, "dawid-skene", tolerance=1e-13).params


def moved(summit, by=0.02):
    """Return the tally a little way off the summit."""
    even = np.full_like(summit.confusion, 1 / 3)
    return look(summit._replace(confusion=(1 - by) * summit.confusion + by * even))


def test_it_ends_at_the_summit_in_fewer_passes(summit):
    """That of a fit; plain EM, from the same point to the same evidence, takes more."""
    top, tally = look(summit).evidence, moved(summit)
    near = approach(look, lambda tally: MODEL.estimate(tally, summit), tally, RULES)
    assert near.stopped == "converged"
    assert adjudge.fit(JUDGMENTS, "dawid-skene").evidence[-1] - near.evidence[-1] < RULES.tolerance * RULES.judgments
    assert list(near.evidence) == sorted(near.evidence)
    current, passes = tally, 0
    while top - look(MODEL.estimate(current, summit)).evidence > top - near.evidence[-1]:
        current, passes = look(MODEL.estimate(current, summit)), passes + 1
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
    calls = []

    def falling(params):
        tally = look(params)
        calls.append(tally._replace(evidence=tally.evidence - 100 * (len(calls) == 3)))
        return calls[-1]

    near = approach(falling, lambda tally: MODEL.estimate(tally, summit), moved(summit), RULES)
    assert list(near.evidence) == sorted(near.evidence)
    assert near.stopped == "converged"
    assert adjudge.fit(JUDGMENTS, "dawid-skene").evidence[-1] - near.evidence[-1] < RULES.tolerance * RULES.judgments
