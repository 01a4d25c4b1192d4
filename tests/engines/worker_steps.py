"""Steps that tests send to workers, who import them from here."""

import os
import signal

import numpy as np

from adjudge.kernels.block import Tally


def dying_once(mark, step, blocks, number, params):
    """End the worker by force in the middle of a pass, the seventh time that this block is come to."""
    if number == 3:
        count = int(mark.read_text()) if mark.exists() else 0
        mark.write_text(str(count + 1))
        if count == 6:
            os.kill(os.getpid(), signal.SIGKILL)
    return step(blocks, number, params)


def always_dying(step, blocks, number, params):
    """End the worker by force, whenever this block is come to."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(blocks, number, params)


def counted(blocks, number, params):
    """Tally which blocks were taken, by which process, and what was sent."""
    current = np.zeros((1, len(blocks.parts)))
    current[0, number] = os.getpid()
    return Tally(current, np.zeros((0, 0, 0)), params)


def absent(blocks, number, params):
    """Read a file that is not there."""
    raise FileNotFoundError(2, "No such file or directory", "/nowhere/state.npz")


def largest(blocks, number, params):
    """Tally the size of what was sent."""
    return Tally(np.zeros((1, 1)), np.zeros((0, 0, 0)), float(params.size))


def taken(blocks, number, params):
    """Read a block."""
    return Tally(np.array([[float(blocks.block(number).cell.size)]]), np.zeros((0, 0, 0)), 0.0)


def largest_bound(bound, blocks, number, params):
    """Tally the size of what the step itself holds."""
    return Tally(np.zeros((1, 1)), np.zeros((0, 0, 0)), float(bound.size))
