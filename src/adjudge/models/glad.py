"""GLAD: judges have abilities, items are easy or hard (Whitehill, Ruvolo, Wu, Bergsma & Movellan 2009).

    p(judge j is right on item i) = 1 / (1 + exp(-alpha_j beta_i)),

with the ability alpha_j and the ease beta_i; wrong labels are equally likely, and so are the truths. The priors are the
paper's, alpha ~ N(1, 1) and log beta ~ N(1, 1). The paper also maximises over every beta_i; here beta_i is integrated
out on an even grid over its prior: a state is a label together with an ease, both steps of EM are exact, and a new item
needs no fit of its own.

>>> import adjudge
>>> fit = adjudge.fit(adjudge.dataset("anesthesia"), "glad")
>>> fit.labels.columns[-1], fit.judges.columns[-1]
('difficulty', 'ability')
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.components import EQUAL, SOFT, Confusion, ItemEffects, JudgeParams
from adjudge.inference.model import ACCURATE, Model
from adjudge.inference.params import Params
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.compiled import compiled
from adjudge.kernels.truth import fix_gold

# The most likely ability of judges whose chance of being right is a logistic of ability times ease.

STEPS = 100
CLOSE = 1e-12


def abilities(right: Floats, wrong: Floats, ease: Floats, mean: float, precision: float) -> Floats:
    """Return the abilities (J) that maximise sum_g right log s + wrong log(1 - s), s = logistic(ability * ease_g).

    ``right`` and ``wrong`` are (J, G); abilities have a normal prior with this mean and precision.
    """
    ability = np.empty(right.shape[0])
    _abilities(right, wrong, ease, mean, precision, ability)
    return ability


@compiled
def _abilities(right: Floats, wrong: Floats, ease: Floats, mean: float, precision: float, ability: Floats) -> None:
    """Find the root of each judge's slope by Newton's steps, halving the bracket where one leaves it or is no shorter.

    The log posterior is concave with a curvature of at least ``precision``, so a root lies within slope / precision.
    """
    for j in range(ability.size):
        value = mean
        slope, _ = _slope(right[j], wrong[j], ease, mean, precision, value)
        low, high = min(value, value + slope / precision), max(value, value + slope / precision)
        moved = high - low
        for _ in range(STEPS):
            slope, bend = _slope(right[j], wrong[j], ease, mean, precision, value)
            if slope > 0:
                low = value
            else:
                high = value
            after = value + slope / bend
            if not low <= after <= high or abs(after - value) > moved / 2:
                after = (low + high) / 2
            moved, value = abs(after - value), after
            if moved < CLOSE:
                break
        ability[j] = value


@compiled
def _slope(right: Floats, wrong: Floats, ease: Floats, mean: float, precision: float, at: float) -> tuple[float, float]:
    """Return the slope of a judge's log posterior, and its curvature turned positive."""
    slope, bend = precision * (mean - at), precision
    for g in range(ease.size):
        s = 1 / (1 + np.exp(-at * ease[g]))
        slope += ease[g] * (right[g] * (1 - s) - wrong[g] * s)
        bend += ease[g] * ease[g] * (right[g] + wrong[g]) * s * (1 - s)
    return slope, bend


MEAN, PRECISION = 1.0, 1.0  # of abilities, and of the logs of ease
LOG_EASE = MEAN + np.arange(-3.5, 4, 0.5)  # (G) for a normal weight, even steps of half a deviation are exact to 1e-3
PRIOR = np.exp(-PRECISION / 2 * np.square(LOG_EASE - MEAN))
PRIOR /= PRIOR.sum()
EASE = np.exp(LOG_EASE)


def ability(tally: Tally, start: Params) -> JudgeParams:
    """Return the judges' most likely abilities, given how often each was right and wrong at every ease."""
    J, Z, K = tally.label.shape
    label = tally.label.reshape(J, K, Z // K, K)
    right = np.einsum("jkgk->jg", label)
    wrong = label.sum(axis=(1, 3)) - right
    right, wrong = (np.concatenate([counts, counts.sum(axis=0)[None]]) for counts in (right, wrong))  # and everybody
    skill = abilities(right, wrong, EASE, MEAN, PRECISION)
    confusion = np.einsum("g,jkgl->jkl", PRIOR, _matrices(skill, K).reshape(J + 1, K, EASE.size, K))
    return JudgeParams(confusion[:-1], confusion[-1], skill[:-1, None], skill[-1:])


def labels_and_difficulty(posterior: Floats, block: Block) -> Floats:
    """Return p(label | judgments), and how hard each item is, 1 / beta at the mean of log beta (I, K + 1)."""
    joint = posterior.reshape(-1, block.labels, EASE.size)
    difficulty = np.exp(-joint.sum(axis=1) @ LOG_EASE)
    return np.column_stack([fix_gold(joint.sum(axis=2), block.gold), difficulty])


def ease_prior(params: Params) -> Floats:
    """Return p(label and ease) (1, K * G)."""
    K = params.confusion.shape[2]
    return np.tile(PRIOR / K, K)[None]


def ease_labels(K: int) -> Codes:
    """Return the label of every state, a label and an ease (K * G)."""
    return np.repeat(np.arange(K), EASE.size)


def ease_rows(params: Params) -> Floats:
    """Return p(label | label and ease) of judges (J, K * G, K); all start at the mean ability."""
    J, K = params.confusion.shape[:2]
    return _matrices(params.skill[:, 0] if params.skill.size else np.full(J, MEAN), K)


def log_prior(params: Params) -> float:
    """Return the log density of the abilities, but for a constant."""
    return float(-PRECISION / 2 * np.square(params.skill - MEAN).sum())


def ability_column(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return each judge's ability; 0 guesses, and less than 0 is wrong on purpose."""
    return {"ability": params.skill[:, 0]}


def _matrices(skill: Floats, K: int) -> Floats:
    """Return p(label | truth and ease) of judges (J, K * G, K)."""
    odds = skill[:, None] * EASE  # (J, G) in logs
    right, wrong = np.exp(-np.logaddexp(0, -odds)), np.exp(-np.logaddexp(0, odds)) / max(1, K - 1)
    is_right = np.repeat(np.eye(K, dtype=bool), EASE.size, axis=0)  # (K * G, K)
    return np.where(is_right, np.tile(right, K)[:, :, None] if K > 1 else 1.0, np.tile(wrong, K)[:, :, None])


MODELS = (
    Model(
        "glad",
        "judges have abilities, and items are easy or hard",
        "Whitehill et al. 2009",
        prevalence=EQUAL,
        confusion=Confusion(ability, ease_rows, log_prior, ability_column),
        assignment=SOFT,
        items=ItemEffects(("difficulty",), ease_labels, ease_prior, labels_and_difficulty),
        starts={"equal": None, ACCURATE: None},
        auto_rank=80,
    ),
)
