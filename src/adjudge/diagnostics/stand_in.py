"""``stand_in``: whether a machine may stand in for a person, by the alternative annotator test.

Calderon, Reichart and Dror (2025, The Alternative Annotator Test for LLM-as-a-Judge) leave out one person j at a
time, and ask who agrees better with the remaining people, item by item: the machine f or the person. Alignment with
the others is the share of them who gave the same label or, for ordered labels, minus the root mean squared
difference. rho_f is the share of items on which the machine is at least as good as the person, rho_h that on which
the person is at least as good as the machine. A machine is cheaper, so that it may be a little worse: it wins against
j if the hypothesis rho_f <= rho_h - epsilon is rejected by a one-sided t-test of the differences. All people are
tested at a false discovery rate of 5 % (Benjamini and Yekutieli). The machine may stand in if it wins against at
least half of them.

The rule of thumb of the paper for epsilon is .2 for experts, .15 for trained people and .1 for crowd workers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.panel import EXPERT, MACHINE, PERSON
from adjudge.errors import UsageError
from adjudge.metrics.significance import q_values

LEVEL = 0.05  # false discovery rate of the tests of people
FEWEST_ITEMS = 30  # items of a person below which the t-test is not used
OTHERS = 2  # people other than the one left out who must have judged an item
WON = 0.5  # share of people against whom a machine must win
EPSILON = {EXPERT: 0.2, PERSON: 0.1}  # cost-benefit margin: how much worse a machine may be
ROUNDING = 1e-9  # alignments that differ by less are equal


class StandIn(NamedTuple):
    """The alternative annotator test of one machine."""

    judge: str
    winning_rate: float  # omega, share of people against whom the machine wins
    advantage: float  # rho, mean probability that the machine is at least as good as the person
    people: int  # who were tested
    items: int  # on which the machine was compared with a person
    epsilon: float

    @property
    def passes(self) -> bool:
        """Whether the machine may stand in for a person."""
        return self.winning_rate >= WON


class PersonTest(NamedTuple):
    """The tests of one machine, person by person."""

    person: Codes  # (P) positions of the people among the judges
    items: Codes  # (P)
    rho_machine: Floats  # (P) share of items on which the machine is at least as good
    rho_person: Floats  # (P)
    p: Floats  # (P)
    won: Flags  # (P)
    shared: int  # items on which the machine was compared with a person


def stand_ins(judgments: Judgments, epsilon: float | None = None) -> tuple[StandIn, ...]:
    """Return the test of every machine of a panel, the best first.

    Parameters
    ----------
    judgments
        The judgments, with a panel. Experts and persons are the people; judges of unknown kind are left out.
    epsilon
        How much worse than a person a machine may be. Default: .2 if all people are experts, else .1.

    Returns
    -------
    tuple
        One test per machine. A panel on which no test is possible is a ``UsageError`` that says why.

    Examples
    --------
    >>> import adjudge
    >>> rows = [(f"i{i}", judge, i % 2) for i in range(40) for judge in ("ann", "bob", "eve", "robot")]
    >>> table = {"item": [r[0] for r in rows], "judge": [r[1] for r in rows], "label": [r[2] for r in rows]}
    >>> import polars as pl
    >>> kinds = {"ann": "person", "bob": "person", "eve": "person", "robot": "machine"}
    >>> stand_ins(adjudge.read(pl.DataFrame(table), judges=kinds))
    (StandIn(judge='robot', winning_rate=1.0, advantage=1.0, people=3, items=40, epsilon=0.1),)
    """
    if judgments.panel is None:
        raise UsageError("nothing says which judges are people and which are machines: give judges")
    people, machines = judgments.panel.of_kind(PERSON, EXPERT), judgments.panel.of_kind(MACHINE)
    if not machines.size or not people.size:
        missing = "machines" if people.size else "people"
        raise UsageError(f"the panel has no {missing}, and the test compares machines with people")
    if epsilon is None:
        epsilon = EPSILON[EXPERT] if all(judgments.panel.kind[j] == EXPERT for j in people) else EPSILON[PERSON]
    if not 0 <= epsilon < 1:
        raise UsageError(f"epsilon {epsilon!r} is not at least 0 and below 1")
    judgments, _ = judgments.without_repeats("drop")
    results = []
    for machine in machines.tolist():
        test = person_tests(judgments, people, machine, epsilon)
        if test.person.size:
            name = str(judgments.judges[machine])
            rates = float(test.won.mean()), float(test.rho_machine.mean())
            results.append(StandIn(name, *rates, test.person.size, test.shared, epsilon))
    if not results:
        raise UsageError(
            f"no person judged {FEWEST_ITEMS} items together with {OTHERS} other people and a machine: "
            "the test needs three people and a machine on the same items"
        )
    return tuple(sorted(results, key=lambda each: (-each.winning_rate, -each.advantage)))


def person_tests(judgments: Judgments, people: Codes, machine: int, epsilon: float) -> PersonTest:
    """Return the tests of one machine against every person with enough items; no judge repeats an item."""
    item, K = judgments.item(), len(judgments.scale)
    machine_label = np.full(len(judgments.items), -1)  # what the machine said of each item
    rows = judgments.judge == machine
    machine_label[item[rows]] = judgments.label[rows]
    by_person = np.isin(judgments.judge, people)
    counts = np.zeros((len(judgments.items), K))
    np.add.at(counts, (item[by_person], judgments.label[by_person]), 1)
    enough = by_person & (machine_label[item] >= 0) & (counts.sum(axis=1)[item] > OTHERS)
    i, j, person_label = item[enough], judgments.judge[enough], judgments.label[enough].astype(np.int64)
    others = counts[i]
    others[np.arange(i.size), person_label] -= 1
    value = np.array(judgments.scale.values, float) if judgments.scale.ordinal else None
    by_machine, by_own = _alignment(others, machine_label[i], value), _alignment(others, person_label, value)
    machine_wins, person_wins = by_machine >= by_own - ROUNDING, by_own >= by_machine - ROUNDING
    difference = person_wins.astype(float) - machine_wins  # d of the paper
    J = len(judgments.judges)
    n = np.bincount(j, minlength=J)
    tested = np.flatnonzero(n >= FEWEST_ITEMS)
    total, squares = np.bincount(j, difference, J)[tested], np.bincount(j, difference**2, J)[tested]
    p = _one_sided(total.astype(float), squares.astype(float), n[tested], epsilon)
    return PersonTest(
        tested,
        n[tested],
        np.bincount(j, machine_wins, J)[tested] / n[tested],
        np.bincount(j, person_wins, J)[tested] / n[tested],
        p,
        q_values(p, "by") <= LEVEL,
        int(np.unique(i[np.isin(j, tested)]).size),
    )


def _alignment(others: Floats, label: Codes, value: Floats | None) -> Floats:
    """Return how well labels agree with those of other people; ``others`` (N, K) counts these."""
    total = others.sum(axis=1)
    if value is None:
        share: Floats = others[np.arange(label.size), label] / total
        return share
    square: Floats = (others * np.square(value - value[label][:, None])).sum(axis=1) / total
    return -np.sqrt(square)


def _one_sided(total: Floats, squares: Floats, n: Codes, epsilon: float) -> Floats:
    """Return p of the t-test that a mean is at least epsilon, against less; differences that are all the same decide.

    ``total`` and ``squares`` are sums of the differences and of their squares.
    """
    mean = total / n
    error = np.sqrt(np.maximum(squares - n * mean**2, 0) / np.maximum(n - 1, 1) / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = (mean - epsilon) / error
    p: Floats = np.where(error > ROUNDING, student.cdf(score, n - 1), np.where(mean < epsilon, 0.0, 1.0))
    return p
