"""Chains: reproducible, thinned, and ended by Ctrl-C with what they have."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from adjudge.inference.chains import Hooks, Run, State, sample

START = State(np.zeros((1, 2)), np.zeros((1, 2, 2)), np.zeros((0, 2)), np.zeros(0))


def walk(here, rng, probability):
    """Return the state after one step of a random walk."""
    if probability.size:
        probability += 0.25
    return here._replace(prevalence=here.prevalence + rng.standard_normal((1, 2)))


def run(workers, lengths=None, step=walk, **named):
    """Return the draws of three chains."""
    with ThreadPoolExecutor(workers) as pool:
        return sample(step, [START] * 3, 5, lengths or Run(3, 10, 20), 7, pool, Hooks(**named))


def test_threads_change_nothing_and_chains_differ():
    """One worker or three: the same draws; no chain is another's copy."""
    first, three = run(1), run(3)
    np.testing.assert_array_equal(first.prevalence, three.prevalence)
    assert not np.allclose(first.prevalence[0], first.prevalence[1])
    assert first.prevalence.shape == (3, 20, 1, 2)
    assert first.complete


def test_thinning_keeps_every_so_many():
    """With the same stream, every fifth state of a long run."""
    complete, thin = run(2, Run(3, 10, 20, 1)), run(2, Run(3, 10, 4, 5))
    np.testing.assert_array_equal(thin.prevalence, complete.prevalence[:, 4::5])


def test_probabilities_are_means_over_sweeps_after_warm_up():
    """Each sweep adds a quarter: the mean is a quarter, however many there are."""
    np.testing.assert_allclose(run(2, Run(3, 7, 5, 3)).probability, 0.25)


def interrupting(after):
    """Return a step that is interrupted when the slowest of three chains comes to so many steps."""
    calls = Counter()  # of each chain, known by its stream

    def step(here, rng, probability):
        calls[rng] += 1
        time.sleep(1e-4)  # the other chains have their turns
        if len(calls) == 3 and min(calls.values()) == calls[rng] == after:
            raise KeyboardInterrupt
        return walk(here, rng, probability)

    return step


def test_ctrl_c_keeps_what_is_drawn():
    """All chains give as many draws as the one that has fewest, and it is said that they are not complete."""
    answer = run(3, Run(3, 5, 1_000), step=interrupting(100))
    assert not answer.complete
    assert answer.prevalence.shape[1] == 100 - 1 - 5  # of the chain in which it was, after warm-up
    complete = run(1, Run(3, 5, 300))
    np.testing.assert_array_equal(answer.prevalence, complete.prevalence[:, : answer.prevalence.shape[1]])


def test_ctrl_c_before_anything_is_drawn():
    """There is nothing to keep, so it goes on up."""
    with pytest.raises(KeyboardInterrupt):
        run(3, Run(3, 1_000, 5), step=interrupting(30))


def test_an_error_in_a_chain_is_not_hidden():
    """It comes out, and the other chains stop."""

    def step(here, rng, probability):
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run(2, step=step)


def test_progress_is_told():
    """Every sweep of every chain."""
    messages = []
    run(1, Run(3, 2, 4), report=lambda chain, sweep, state: messages.append((chain, sweep)))
    assert sorted(messages) == [(chain, sweep) for chain in range(3) for sweep in range(1, 7)]
