"""``weights``: the weight of each judged item as a training example.

Abad and Moschitti 2016 (paper 004), equations 1 and 2: an item p that judges a_h gave the labels j_h of +1 or -1 weighs

    f(p) = | sum_h j_h W(a_h) |,    W(u) = P(u) T(u) C(u),

where P is the prior trust of the judge, T their activity and C their agreement with the majority. ``SCHEMES`` are the
paper's six choices of factors; P and TC ignore the labels, f(p) = sum_h W(a_h). The paper scales T and C "between
(0,1)" and does not say how. Here x becomes (x - min + 1) / (max - min + 2), which is never 0; if all are equal, all
become 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Flags, Floats, frozen
from adjudge.data.judgments import Judgments, places
from adjudge.data.scale import Label, Scale
from adjudge.data.write import frame
from adjudge.errors import AdjudgeWarning, InputError, UsageError, not_one_of, option_with, quote, quoted
from adjudge.inference.infer import lots
from adjudge.learn.trust import with_trust

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


TIED = 1e-9  # vote shares closer than this are equal, as in the model ``majority``
ROUNDING = 1e-12  # a signed sum below this part of the unsigned sum is 0
APART = 0.5  # a relative range of counts below this makes the scaling exaggerate differences
AGREEMENTS = ("count", "rate")
TIES = ("random", "first")


@dataclass(frozen=True)
class Scheme:
    """The factors of a weight, and whether labels of opposite sign cancel."""

    name: str
    summary: str
    signed: bool = False
    prior: bool = False
    activity: bool = False
    agreement: bool = False


SCHEMES: Mapping[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("L", "labels only: the difference between the two sides", signed=True),
        Scheme("P", "prior trust of the judges, whatever their labels", prior=True),
        Scheme("LP", "labels, each weighted by the judge's prior trust", signed=True, prior=True),
        Scheme("TC", "activity x agreement of the judges, whatever their labels", activity=True, agreement=True),
        Scheme("LTC", "labels, each weighted by activity x agreement", signed=True, activity=True, agreement=True),
        Scheme(
            "LPTC",
            "labels, each weighted by prior trust x activity x agreement",
            signed=True,
            prior=True,
            activity=True,
            agreement=True,
        ),
    )
}


class Factors(NamedTuple):
    """The factors of the judges' weights, one entry per judge with judgments."""

    judgments: Floats
    agreements: Floats  # with the majority; one half if the vote is tied
    prior: Floats  # P
    activity: Floats  # T
    agreement: Floats  # C
    weight: Floats  # W, the product of the factors of the scheme


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of items and the factors of judges. Tables have the caller's kind of frame."""

    scheme: str
    items: Names  # (I) the judged items
    weight: Floats  # (I)
    label: tuple[Label, ...]  # (I) the label to learn
    columns: Mapping[str, Any] = field(repr=False)  # further columns of the table of items
    judge_columns: Mapping[str, Any] = field(repr=False)
    topic: tuple[Any, ...] | None = field(default=None, repr=False)  # (I)
    kind: str = field(default="polars", repr=False)

    def __repr__(self) -> str:
        low, high = (self.weight.min(), self.weight.max()) if len(self) else (0.0, 0.0)
        return f"Weights({self.scheme}: {len(self):,} items, from {low:.3g} to {high:.3g})"

    def __len__(self) -> int:
        return int(self.weight.size)

    @property
    def table(self) -> Any:
        """A table of the items: item, topic if there are any, label, weight, and counts of judgments."""
        return frame(self.item_columns(), self.kind)

    @property
    def judges(self) -> Any:
        """A table of the judges: judge, judgments, and the factors of their weight."""
        return frame(self.judge_columns, self.kind)

    def item_columns(self) -> dict[str, Any]:
        """Return the items as named columns."""
        topic = {} if self.topic is None else {"topic": list(self.topic)}
        return {"item": self.items, **topic, "label": list(self.label), "weight": self.weight, **self.columns}

    def sample_weight(self, index: Any, *, fill: float | None = None, mean_one: bool = False) -> Floats:
        """Return the weights of items in the order of ``index``, for the ``sample_weight`` of any estimator.

        Parameters
        ----------
        index
            Any sequence of items, with or without repeats: a list, an array, a column or the index of a frame.
        fill
            The weight of items that have none. By default such an item is refused.
        mean_one
            Whether to scale these weights (such as those of a training fold) to a mean of 1.
        """
        weight = align(index, self.items, self.weight, fill)
        return scale_to_mean_one(weight) if mean_one else weight


def weights(
    judgments: Any,
    scheme: str = "LPTC",
    *,
    trust: Any = None,
    agreement: str = "count",
    mean_one: bool = True,
    positive: Label | Sequence[Label] | None = None,
    ties: str = "random",
    seed: int = 0,
    **reading: Any,
) -> Weights:
    """Weight every judged item by a scheme of paper 004, for training on labels that are not equally certain.

    Parameters
    ----------
    judgments
        A ``Judgments``, a frame or a path, with two labels (or see ``positive``).
    scheme
        A name in ``SCHEMES``: L, P, LP, TC, LTC or LPTC.
    trust
        Prior trust of judges from 0 to 1: the name of a column (by default ``trust``, if there is one),
        ``"approved/judged"`` for two columns of counts, or a mapping or table by judge. A judge without trust gets the
        mean; if no judge has any, P is 1.
    agreement
        ``"count"``, as the paper prints it (nearly collinear with activity), or ``"rate"``, (a + 1) / (n + 2).
    mean_one
        Whether to scale the weights to a mean of 1; False gives them as printed.
    positive
        The label, or labels, that count as +1 against all others, if there are more than two.
    ties, seed
        The label of an item with a tied vote: a ``"random"`` one by the seed, or the ``"first"``, as in the model
        ``majority``. Agreement with a tied vote counts one half.
    **reading
        Options of ``adjudge.read``.

    Returns
    -------
    Weights
        With ``table``, ``judges`` and ``sample_weight(index)`` for any estimator.

    Examples
    --------
    >>> table = {"item": ["a", "a", "a", "b", "b", "b"], "judge": ["x", "y", "z"] * 2, "label": [1, 1, 1, 0, 1, 0]}
    >>> import polars as pl
    >>> result = weights(pl.DataFrame(table), "L")
    >>> result.table["weight"].to_list()
    [1.5, 0.5]
    >>> result.sample_weight(["b", "a", "a"])
    array([0.5, 1.5, 1.5])
    """
    chosen = scheme_named(scheme)
    _check_choice("agreement", agreement, AGREEMENTS)
    _check_choice("ties", ties, TIES)
    judgments, judge_trust = with_trust(judgments, trust, **reading)
    if not len(judgments):
        raise UsageError("there are no judgments, so items have no weights")
    side, names = _sides(judgments.scale, positive)
    vote = _vote(judgments, side[judgments.label])
    present = np.flatnonzero(np.bincount(judgments.judge, minlength=len(judgments.judges)))
    factors = _factors(chosen, judgments, vote, present, judge_trust[present], agreement)
    total = _totals(chosen, judgments, vote, present, factors.weight)
    judged = np.flatnonzero(np.diff(judgments.start))
    weight = (np.abs(total) if chosen.signed else total)[judged]
    factor = _mean_one_factor(weight, chosen) if mean_one else _no_factor(weight, chosen)
    label = _labels(vote, judgments.items.gather(judged), judged, side, ties, seed)
    return Weights(
        scheme,
        judgments.items.gather(judged),
        frozen(weight * factor),
        tuple(names[k] for k in label.tolist()),
        {
            "judgments": np.diff(judgments.start)[judged],
            "positive": np.bincount(judgments.item(), vote.sign > 0, len(judgments.items)).astype(np.int64)[judged],
            **({"vote": total[judged] * factor} if chosen.signed else {}),
        },
        {"judge": judgments.judges.gather(present), **_factor_columns(factors)},
        _topics(judgments, judged),
        judgments.kind,
    )


def scheme_named(name: str) -> Scheme:
    """Return a scheme by its name, refusing an unknown one."""
    if name not in SCHEMES:
        raise UsageError(not_one_of("scheme", name, SCHEMES))
    return SCHEMES[name]


def scale_counts(count: Floats, name: str = "") -> Floats:
    """Return counts scaled to (0, 1): (x - min + 1) / (max - min + 2), or 1 for all if all are equal.

    Warns, with the ``name`` of the counts, if they are so close that the scaling exaggerates their differences.
    """
    low, high = count.min(), count.max()
    if low == high:
        return np.ones(count.size)
    if name and (high - low) / high < APART:
        warnings.warn(
            f"the judges' {name} are close, from {low:g} to {high:g}; scaled to (0, 1) they differ much more, from "
            f"{1 / (high - low + 2):.3g} to {(high - low + 1) / (high - low + 2):.3g}",
            AdjudgeWarning,
            stacklevel=2,
        )
    spread: Floats = (count - low + 1) / (high - low + 2)
    return spread


def scale_to_mean_one(weight: Floats) -> Floats:
    """Return weights scaled to a mean of 1; refuse weights that are all 0."""
    total = weight.sum()
    if not total > 0:
        raise UsageError(f"the weights of all {weight.size:,} items are 0, so nothing can be learned from them")
    result: Floats = weight * (weight.size / total)
    return result


class _Vote(NamedTuple):
    """The votes, and the majority of each item."""

    sign: Floats  # (N) +1 or -1
    times: Floats  # (N) weight of each judgment
    majority: Floats  # (I) +1, -1, or 0 for a tie


def _sides(scale: Scale, positive: Label | Sequence[Label] | None) -> tuple[Floats, tuple[Label, Label]]:
    """Return the sign of every label (K), and the names of the two sides, the negative one first."""
    labels, K = scale.labels, len(scale)
    if K == 1:
        _warn(f"every judgment has the label {quote(labels[0])}: a classifier cannot learn from one label")
    up = _positive_codes(scale, positive)
    side = np.array([1.0 if k in up else -1.0 for k in range(K)])
    return side, (_side_name(labels, set(range(K)) - up), _side_name(labels, up))


def _positive_codes(scale: Scale, positive: Label | Sequence[Label] | None) -> set[int]:
    """Return the codes of the labels that count as +1."""
    K = len(scale)
    if positive is None:
        if K > 2:
            raise UsageError(
                f"the judgments have {K} labels, {quoted(scale.names)}, and the schemes need two: name the labels "
                f"that count as +1, for example {option_with('--positive', scale.labels[-1])}"
            )
        return {K - 1}
    several = positive if isinstance(positive, Sequence) and not isinstance(positive, str) else [positive]
    codes = set(scale.places(several))
    up = {k for k in codes if k is not None}
    if None in codes or len(up) == K > 1 or not up:
        raise UsageError(f"positive {positive!r} must be some, but not all, of the labels {quoted(scale.names)}")
    return up


def _side_name(labels: Sequence[Label], codes: set[int]) -> Label:
    """Return the label of a side, or its labels separated by bars."""
    names = [labels[k] for k in sorted(codes)]
    return names[0] if len(names) == 1 else "|".join(map(str, names))


def _vote(judgments: Judgments, sign: Floats) -> _Vote:
    """Return the votes with the majority of every item."""
    times = np.ones(len(judgments)) if judgments.weight is None else judgments.weight
    item, count = judgments.item(), len(judgments.items)
    difference, total = _sum(item, sign * times, count), _sum(item, times, count)
    return _Vote(sign, times, np.where(np.abs(difference) <= TIED * total, 0.0, np.sign(difference)))


def _factors(
    scheme: Scheme, judgments: Judgments, vote: _Vote, present: Codes, trust: Floats, agreement: str
) -> Factors:
    """Return the factors of the weights of the present judges: W(u) = P(u) T(u) C(u)."""
    J = len(judgments.judges)
    count = _sum(judgments.judge, vote.times, J)[present]
    agree = (1 + vote.sign * vote.majority[judgments.item()]) / 2  # 1, 0, or 1/2 for a tie
    agreed = _sum(judgments.judge, vote.times * agree, J)[present]
    T = scale_counts(count, "numbers of judgments" if scheme.activity else "")
    if agreement == "rate":
        C = (agreed + 1) / (count + 2)
    else:
        C = scale_counts(agreed, "numbers of agreements" if scheme.agreement else "")
    P = _fill_trust(trust, judgments.judges.gather(present)) if scheme.prior else trust
    ones = np.ones(present.size)
    W = (P if scheme.prior else ones) * (T if scheme.activity else ones) * (C if scheme.agreement else ones)
    return Factors(count, agreed, P, T, C, W)


def _fill_trust(trust: Floats, judges: Names) -> Floats:
    """Return prior trust; a missing one is the mean, and 1 if all are missing."""
    unknown = np.isnan(trust)
    if unknown.all():
        _warn("no judge has a prior trust, so P is 1 for all: give its column, or a table by judge, with trust")
        return np.ones(trust.size)
    if unknown.any():
        who = quoted(judges.filter(frame({"unknown": unknown})["unknown"]), most=3)
        mean = float(trust[~unknown].mean())
        _warn(f"{unknown.sum():,} of {trust.size:,} judges have no prior trust ({who}); they get the mean, {mean:.3g}")
        return np.where(unknown, mean, trust)
    return trust


def _totals(scheme: Scheme, judgments: Judgments, vote: _Vote, present: Codes, weight: Floats) -> Floats:
    """Return sum_h j_h W(a_h) of every item or, if the scheme ignores labels, sum_h W(a_h) (I)."""
    W = np.zeros(len(judgments.judges))
    W[present] = weight
    each, count = vote.times * W[judgments.judge], len(judgments.items)
    size = _sum(judgments.item(), each, count)
    if not scheme.signed:
        return size
    total = _sum(judgments.item(), vote.sign * each, count)
    total[np.abs(total) <= ROUNDING * size] = 0.0
    return total


def _sum(code: Codes, value: Floats, count: int) -> Floats:
    """Return the sum of the values of every code."""
    return np.asarray(np.bincount(code, value, count), float)


def _mean_one_factor(weight: Floats, scheme: Scheme) -> float:
    """Return the factor that scales weights to a mean of 1; refuse weights that are all 0."""
    total = float(weight.sum())
    if not total > 0:
        raise UsageError(f"{_all_zero(scheme)} and cannot be scaled to a mean of 1: use another scheme or --raw")
    return weight.size / total


def _no_factor(weight: Floats, scheme: Scheme) -> float:
    """Return 1, with a warning if all weights are 0."""
    if not weight.sum() > 0:
        _warn(_all_zero(scheme))
    return 1.0


def _all_zero(scheme: Scheme) -> str:
    """Return a sentence that says why all weights are 0."""
    why = "every vote is tied" if scheme.signed else "no judge has a weight"
    if scheme.prior:
        why += " or every judge's trust is 0" if scheme.signed else ", because every judge's trust is 0"
    return f"all weights by scheme {scheme.name} are 0 ({why})"


def _labels(vote: _Vote, items: Names, judged: Codes, side: Floats, ties: str, seed: int) -> Codes:
    """Return the majority side, 0 or 1, of the judged items; ties are broken as in the model ``majority``."""
    majority = vote.majority[judged]
    label = (majority > 0).astype(np.int64)
    tied: Flags = majority == 0
    if ties == "random" and tied.any():
        which = lots(items.gather(np.flatnonzero(tied)), seed) % 2
        label[tied] = (side > 0)[which] if side.size == 2 else which
    return label


def _topics(judgments: Judgments, judged: Codes) -> tuple[Any, ...] | None:
    """Return the topics of the judged items, None if there are no topics."""
    if judgments.topics is None or judgments.topic is None:
        return None
    names = [*judgments.topics.to_list(), None]
    return tuple(names[t] for t in judgments.topic[judged].tolist())


def _factor_columns(factors: Factors) -> dict[str, Floats]:
    """Return the factors as columns; the number of judgments is an integer if no judgment has a weight."""
    columns = factors._asdict()
    count = factors.judgments.astype(np.int64)
    return columns | ({"judgments": count} if (count == factors.judgments).all() else {})


def _check_choice(option: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise UsageError(not_one_of(option, value, choices))


def _warn(message: str) -> None:
    """Give a warning to the caller of ``weights``."""
    warnings.warn(message, AdjudgeWarning, stacklevel=4)


def align(index: Any, items: pl.Series, values: Floats, fill: float | None = None) -> Floats:
    """Return the value of each item in the order of ``index``; an unknown item is refused, or gets ``fill``."""
    names = item_names(index)
    position = places(names, items)
    unknown = np.flatnonzero(position < 0)
    if unknown.size and fill is None:
        n = int(unknown[0])
        raise InputError(
            f"item {quote(names[n])} has no weight ({unknown.size:,} of {position.size:,} have none; known items look "
            f"like {quote(items[0])}): leave it out, or give the weight of such items with fill=",
            "index",
            n,
        )
    ordered: Floats = values[position] if values.size else np.zeros(position.size)
    if unknown.size:
        ordered[unknown] = fill
    return ordered


def item_names(index: Any) -> pl.Series:
    """Return any sequence of items as a column: whole numbers stay numbers, everything else becomes text."""
    if isinstance(index, str) or hasattr(index, "columns"):
        kind = "a string" if isinstance(index, str) else "a table"
        raise UsageError(f"the index is {kind}: give a sequence of items, such as a column or the index of a frame")
    values = index if isinstance(index, pl.Series) else pl.Series(np.asarray(index).tolist(), strict=False)
    if values.dtype.is_float() and values.drop_nans().round().equals(values.drop_nans()):
        values = values.cast(pl.Int64, strict=False)
    return values if values.dtype.is_integer() else values.cast(pl.String)
