"""Answers stay as they are: today's are compared with the golden answers in ``golden.json``.

Labels and names must be the same, numbers equal to 1e-12. A failure means that a change gave other answers. If that is
intended, and only then, write the file again with ``python -m tests.conformance.golden --write`` (see ``golden.py``).
"""

import math
import re
from functools import cache
from itertools import repeat

import pytest

import adjudge
from tests.conformance import golden

TOLERANCE = 1e-12  # absolute for numbers up to 1, relative above: other processors give other last bits (1e-15)
LOOSER = {"rank --method plackett-luce": 1e-9}  # a numerical optimum: other BLAS kernels moved it by 3e-13


@cache
def todays(part):
    """Return today's answers of a part, computed once."""
    return dict(golden.PARTS[part]())


def differences(expected, answer, where="", tolerance=TOLERANCE):
    """Yield where an answer is not as expected: numbers up to the tolerance, everything else exactly."""
    if isinstance(expected, list) and isinstance(answer, str):
        answer = answer.splitlines()
    if isinstance(expected, dict) and isinstance(answer, dict) and list(expected) == list(answer):
        for name in expected:
            yield from differences(expected[name], answer[name], f"{where}[{name!r}]", tolerance)
    elif isinstance(expected, list) and isinstance(answer, list) and len(expected) == len(answer):
        for n, (entry, other) in enumerate(zip(expected, answer, strict=True)):
            yield from differences(entry, other, f"{where}[{n}]", tolerance)
    elif isinstance(expected, str) and isinstance(answer, str):
        cells, others = re.split(r"[,\s]", expected), re.split(r"[,\s]", answer)
        if len(cells) != len(others) or not all(map(same_cell, cells, others, repeat(tolerance))):
            yield f"{where}: expected {expected!r}, got {answer!r}"
    elif not same_number(expected, answer, tolerance):
        yield f"{where}: expected {expected!r}, got {answer!r}"


def same_cell(expected, answer, tolerance):
    """Return whether two cells of a table hold the same text, or the same number if it has decimals."""
    try:
        return expected == answer or ("." in expected and same_number(float(expected), float(answer), tolerance))
    except ValueError:
        return False


def same_number(expected, answer, tolerance):
    """Return whether two numbers are equal up to the tolerance."""
    if not all(isinstance(value, int | float) for value in (expected, answer)):
        return False
    return math.isclose(expected, answer, rel_tol=tolerance, abs_tol=tolerance)


def assert_same(part, names=None):
    """Assert that today's answers are the golden ones."""
    expected, answers = golden.load()[part], todays(part)
    names = list(expected) if names is None else names
    result = [f"{name}: missing" for name in names if name not in answers]
    for name in set(names) & set(answers):
        result += differences(expected[name], answers[name], name, LOOSER.get(name, TOLERANCE))
    assert not result, "\n".join([f"{len(result)} answers of '{part}' differ:", *result[:20]])


@pytest.mark.parametrize("model", list(adjudge.MODELS))
def test_models_answer_as_before(model):
    """Labels, probabilities, confusions, prevalence, accuracies, evidence and passes, on every crowd."""
    names = [name for name in golden.load()["models"] if name.split(": ")[1].split(" by ")[0] == model]
    assert len(names) >= len(golden.CROWDS), (
        f"record the answers of '{model}': python -m tests.conformance.golden --write --only models"
    )
    assert_same("models", names)


def test_commands_answer_as_before():
    """Fits that are used again, judges, weights, rankings, and one evaluation and one reranking."""
    assert_same("commands")


def test_the_studio_exports_as_before():
    """Everything that leaves a small campaign, and the consensus on its items."""
    assert_same("studio")


def test_defaults_answer_as_before():
    """Fits that name no model, and ``auto``: these may change without any model changing."""
    assert_same("defaults")


def test_every_answer_is_compared():
    """Neither file nor code has an answer that the other does not have."""
    for part, answers in golden.load().items():
        assert list(todays(part)) == list(answers)
    assert golden.FILE.stat().st_size < 200_000  # about 6,000 for every further model


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ([0.25, 1], [0.25 + 1e-11, 1]),
        ("a b", "a c"),
        ("1 2", "1 2.0"),
        (["item,p", "a,0.5"], "item,p\na,0.6\n"),
        (["item,p", "a,0.5"], "item,p\n"),
        ({"coef": [1.0]}, {"weights": [1.0]}),
        (1e6, 1e6 + 1e-3),
        ("AdjudgeError", 3),
    ],
)
def test_a_difference_is_found(expected, answer):
    """In numbers, texts, tables and names."""
    assert list(differences(expected, answer))


def test_the_last_bits_may_differ():
    """The order of sums in BLAS differs between processors."""
    assert not list(
        differences([0.25, ["item,p", "a,0.5"], 1e6], [0.25 + 1e-14, "item,p\na,0.50000000000001\n", 1e6 + 1e-9])
    )
