"""``weights``: what each judged item is worth as an example to learn from.

Abad and Moschitti 2016 (paper 004), equations 1 and 2: an item p that judges a_h gave the labels j_h of +1 or -1 weighs

    f(p) = | sum_h j_h W(a_h) |,    W(u) = P(u) T(u) C(u),

P being the judge's prior trust, T her activity, C her agreement with the majority. ``SCHEMES`` are the paper's six
choices of factors; in P and TC the labels do not enter, f(p) = sum_h W(a_h). The paper scales T and C "between (0,1)"
and does not say how: here by (x - min + 1) / (max - min + 2), which is never 0, or 1 for all where all are alike.
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
from adjudge.errors import AdjudgeWarning, InputError, UsageError, quote, quoted
from adjudge.inference.ties import lots
from adjudge.learn.trust import with_trust

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


# Numbers of items in the order of any sequence of items: what an estimator wants beside its rows.


def aligned(index: Any, items: pl.Series, values: Floats, fill: float | None = None) -> Floats:
    """Return the value of each item of ``index``, as often as it is there; an unknown one is refused, or ``fill``."""
    wanted = named(index)
    place = places(wanted, items)
    unknown = np.flatnonzero(place < 0)
    if unknown.size and fill is None:
        n = int(unknown[0])
        raise InputError(
            f"item {quote(wanted[n])} has no weight ({unknown.size:,} such of {place.size:,}; items are such as "
            f"{quote(items[0])}): leave it out, or say with fill= what such items weigh",
            "index",
            n,
        )
    found: Floats = values[place] if values.size else np.zeros(place.size)
    if unknown.size:
        found[unknown] = fill
    return found


def named(index: Any) -> pl.Series:
    """Return any sequence of items as a column of names: whole numbers stay such, everything else is text."""
    if isinstance(index, str) or hasattr(index, "columns"):
        what = "one text" if isinstance(index, str) else "a table"
        raise UsageError(f"the index is {what}: give a sequence of items, such as a column or the index of a frame")
    values = index if isinstance(index, pl.Series) else pl.Series(np.asarray(index).tolist(), strict=False)
    if values.dtype.is_float() and values.drop_nans().round().equals(values.drop_nans()):
        values = values.cast(pl.Int64, strict=False)
    return values if values.dtype.is_integer() else values.cast(pl.String)


TIED = 1e-9  # shares of votes closer than this are taken for equal, as in the package's vote
ROUNDING = 1e-12  # of what is summed, below which a sum is 0: labels of opposite sign that cancel
APART = 0.5  # of the largest count, by which the smallest is below it, for a scaling not to invent differences
AGREEMENTS = ("count", "rate")
TIES = ("random", "first")


@dataclass(frozen=True)
class Scheme:
    """Which factors make a weight, and whether labels of opposite sign cancel."""

    name: str
    summary: str
    signed: bool = False
    prior: bool = False
    activity: bool = False
    agreement: bool = False


SCHEMES: Mapping[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("L", "labels only: how far the two sides are apart", signed=True),
        Scheme("P", "prior trust of those who judged, whatever they said", prior=True),
        Scheme("LP", "labels, each counted by its judge's prior trust", signed=True, prior=True),
        Scheme("TC", "activity x agreement of those who judged, whatever they said", activity=True, agreement=True),
        Scheme("LTC", "labels, each counted by activity x agreement", signed=True, activity=True, agreement=True),
        Scheme(
            "LPTC",
            "labels, each counted by prior trust x activity x agreement",
            signed=True,
            prior=True,
            activity=True,
            agreement=True,
        ),
    )
}


class Factors(NamedTuple):
    """What the judges' weights are made of, one entry a judge who judged."""

    judgments: Floats
    agreements: Floats  # with the majority; half a one where the vote is tied
    prior: Floats  # P
    activity: Floats  # T
    agreement: Floats  # C
    weight: Floats  # W, of the factors that the scheme has


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of items, and what they follow from. Tables are of the kind of frame that came in."""

    scheme: str
    items: Names  # (I) those that were judged
    weight: Floats  # (I)
    label: tuple[Label, ...]  # (I) the label to learn
    columns: Mapping[str, Any] = field(repr=False)  # what else is known of items
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
        """A table of the items: item, topic if there are any, label, weight, and what the weight follows from."""
        return frame(self.item_columns(), self.kind)

    @property
    def judges(self) -> Any:
        """A table of the judges: judge, judgments, and the factors of her weight."""
        return frame(self.judge_columns, self.kind)

    def item_columns(self) -> dict[str, Any]:
        """Return the items as named columns."""
        topic = {} if self.topic is None else {"topic": list(self.topic)}
        return {"item": self.items, **topic, "label": list(self.label), "weight": self.weight, **self.columns}

    def sample_weight(self, index: Any, *, fill: float | None = None, mean_one: bool = False) -> Floats:
        """Return the weights of items in the order of ``index``, for the ``sample_weight`` of any estimator.

        ``index`` is any sequence of items, with repeats or not: a list, an array, a column or index of a frame. An item
        without a weight is refused, or weighs ``fill``. ``mean_one`` scales the weights of these items, such as those
        of a training fold, to a mean of 1.
        """
        weight = aligned(index, self.items, self.weight, fill)
        return scaled(weight) if mean_one else weight


def weights(
    data: Any,
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
    """Weigh every judged item by a scheme of paper 004, for learning from labels that are not equally sure.

    ``data`` is a ``Judgments``, a frame, or a path (``reading`` is then as of ``adjudge.read``), with two labels;
    where there are more, ``positive`` names the one, or those, that stand against all others. ``trust`` is the column
    of prior trust, a number from 0 to 1 (``trust`` where there is one), ``approved/judged`` for two columns of
    counts, or a mapping or table by judge; a judge without trust is taken for the average one, and where nobody has
    any, P is 1. ``agreement`` with the majority counts as the paper prints it (``"count"``, nearly the same as
    activity) or as a ``"rate"``, (a + 1) / (n + 2). ``mean_one=False`` leaves the weights as printed.

    The label of an item is that of most judgments; of a tie, a random one by ``seed`` or the ``"first"``, as of the
    model ``majority``, and an agreement with it counts one half.

    >>> table = {"item": ["a", "a", "a", "b", "b", "b"], "judge": ["x", "y", "z"] * 2, "label": [1, 1, 1, 0, 1, 0]}
    >>> import polars as pl
    >>> found = weights(pl.DataFrame(table), "L")
    >>> found.table["weight"].to_list()
    [1.5, 0.5]
    >>> found.sample_weight(["b", "a", "a"])
    array([0.5, 1.5, 1.5])
    """
    chosen = scheme_named(scheme)
    _refuse_choice("agreement", agreement, AGREEMENTS)
    _refuse_choice("ties", ties, TIES)
    judgments, given = with_trust(data, trust, **reading)
    if not len(judgments):
        raise UsageError("there are no judgments to weigh items by")
    side, names = _sides(judgments.scale, positive)
    vote = _vote(judgments, side[judgments.label])
    present = np.flatnonzero(np.bincount(judgments.judge, minlength=len(judgments.judges)))
    factors = _factors(chosen, judgments, vote, present, given[present], agreement)
    total = _totals(chosen, judgments, vote, present, factors.weight)
    judged = np.flatnonzero(np.diff(judgments.start))
    weight = (np.abs(total) if chosen.signed else total)[judged]
    factor = _mean_one(weight, chosen) if mean_one else _as_printed(weight, chosen)
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
        {"judge": judgments.judges.gather(present), **_shown(factors)},
        _topics(judgments, judged),
        judgments.kind,
    )


def scheme_named(name: str) -> Scheme:
    """Return a scheme by its name, refusing an unknown one."""
    if name not in SCHEMES:
        raise UsageError(f"scheme {name!r} is not one of {quoted(SCHEMES)}")
    return SCHEMES[name]


def between(count: Floats, what: str = "") -> Floats:
    """Return counts scaled to (0, 1): (x - min + 1) / (max - min + 2), or 1 for all where all are alike.

    Warns of ``what`` where the counts are so close that the scaling makes differences where there are hardly any.
    """
    low, high = count.min(), count.max()
    if low == high:
        return np.ones(count.size)
    if what and (high - low) / high < APART:
        warnings.warn(
            f"the judges' {what} are close, from {low:g} to {high:g}: scaled to (0, 1) they look far apart, from "
            f"{1 / (high - low + 2):.3g} to {(high - low + 1) / (high - low + 2):.3g}",
            AdjudgeWarning,
            stacklevel=2,
        )
    spread: Floats = (count - low + 1) / (high - low + 2)
    return spread


def scaled(weight: Floats) -> Floats:
    """Return weights with a mean of 1; all-zero ones have none."""
    total = weight.sum()
    if not total > 0:
        raise UsageError(f"the weights of all {weight.size:,} items are 0: nothing can be learned from them")
    result: Floats = weight * (weight.size / total)
    return result


class _Vote(NamedTuple):
    """What the judgments of each item say together."""

    sign: Floats  # (N) +1 or -1
    times: Floats  # (N) how often each judgment counts
    majority: Floats  # (I) +1, -1, or 0 for a tie


def _sides(scale: Scale, positive: Label | Sequence[Label] | None) -> tuple[Floats, tuple[Label, Label]]:
    """Return the sign of every label (K), and what the two sides are called, the negative one first."""
    labels, K = scale.labels, len(scale)
    if positive is None:
        if K > 2:
            raise UsageError(
                f"the judgments have {K} labels, {quoted(scale.names)}, and the schemes know two: say which count as "
                f"+1 against all others, as in positive={labels[-1]!r} (--positive {scale.names[-1]})"
            )
        up = {K - 1}
    else:
        several = positive if isinstance(positive, Sequence) and not isinstance(positive, str) else [positive]
        up = {k for k in scale.places(several) if k is not None}
        if None in scale.places(several) or len(up) == K > 1 or not up:
            raise UsageError(f"positive {positive!r} is not some, and not all, of the labels {quoted(scale.names)}")
    if K == 1:
        _warn(f"every judgment says {quote(labels[0])}: one label teaches a classifier nothing")
    side = np.array([1.0 if k in up else -1.0 for k in range(K)])
    called = [[label for k, label in enumerate(labels) if (k in up) == yes] for yes in (False, True)]
    down, over = (one[0] if len(one) == 1 else "|".join(map(str, one)) for one in called)
    return side, (down, over)


def _vote(judgments: Judgments, sign: Floats) -> _Vote:
    """Return the vote of every item."""
    times = np.ones(len(judgments)) if judgments.weight is None else judgments.weight
    item, count = judgments.item(), len(judgments.items)
    difference, total = _sum(item, sign * times, count), _sum(item, times, count)
    return _Vote(sign, times, np.where(np.abs(difference) <= TIED * total, 0.0, np.sign(difference)))


def _factors(
    scheme: Scheme, judgments: Judgments, vote: _Vote, present: Codes, trust: Floats, agreement: str
) -> Factors:
    """Return what the weights of the judges who judged are made of: W(u) = P(u) T(u) C(u)."""
    J = len(judgments.judges)
    count = _sum(judgments.judge, vote.times, J)[present]
    agree = (1 + vote.sign * vote.majority[judgments.item()]) / 2  # 1, 0, or 1/2 of a tie
    agreed = _sum(judgments.judge, vote.times * agree, J)[present]
    T = between(count, "numbers of judgments" if scheme.activity else "")
    if agreement == "rate":
        C = (agreed + 1) / (count + 2)
    else:
        C = between(agreed, "numbers of agreements" if scheme.agreement else "")
    P = _known(trust, judgments.judges.gather(present)) if scheme.prior else trust
    ones = np.ones(present.size)
    W = (P if scheme.prior else ones) * (T if scheme.activity else ones) * (C if scheme.agreement else ones)
    return Factors(count, agreed, P, T, C, W)


def _known(trust: Floats, judges: Names) -> Floats:
    """Return prior trust where it is known, and else that of the average judge; 1 where nobody's is."""
    unknown = np.isnan(trust)
    if unknown.all():
        _warn("no judge has a prior trust, so P is 1 for all: name its column, or give it by judge, with trust")
        return np.ones(trust.size)
    if unknown.any():
        who = quoted(judges.filter(frame({"unknown": unknown})["unknown"]), most=3)
        mean = float(trust[~unknown].mean())
        _warn(f"{unknown.sum():,} of {trust.size:,} judges have no prior trust ({who}): taken for the mean, {mean:.3g}")
        return np.where(unknown, mean, trust)
    return trust


def _totals(scheme: Scheme, judgments: Judgments, vote: _Vote, present: Codes, weight: Floats) -> Floats:
    """Return sum_h j_h W(a_h) of every item or, where labels do not enter, sum_h W(a_h) (I)."""
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


def _mean_one(weight: Floats, scheme: Scheme) -> float:
    """Return what weights are multiplied by for a mean of 1; refuse those that are all 0."""
    total = float(weight.sum())
    if not total > 0:
        raise UsageError(f"{_nothing(scheme)}: they have no mean of 1; take another scheme or --raw (mean_one=False)")
    return weight.size / total


def _as_printed(weight: Floats, scheme: Scheme) -> float:
    """Return 1, with a word where all weights are 0."""
    if not weight.sum() > 0:
        _warn(_nothing(scheme))
    return 1.0


def _nothing(scheme: Scheme) -> str:
    """Return how all weights came to be 0."""
    why = "every vote is tied" if scheme.signed else "no judge counts"
    if scheme.prior:
        why += " or every judge's trust is 0" if scheme.signed else ", for every judge's trust is 0"
    return f"all weights by scheme {scheme.name} are 0 ({why})"


def _labels(vote: _Vote, items: Names, judged: Codes, side: Floats, ties: str, seed: int) -> Codes:
    """Return the side of most judgments, 0 or 1, of the items that were judged; of ties as the model ``majority``."""
    majority = vote.majority[judged]
    label = (majority > 0).astype(np.int64)
    tied: Flags = majority == 0
    if ties == "random" and tied.any():
        which = lots(items.gather(np.flatnonzero(tied)), seed) % 2
        label[tied] = (side > 0)[which] if side.size == 2 else which
    return label


def _topics(judgments: Judgments, judged: Codes) -> tuple[Any, ...] | None:
    """Return the topics of items that were judged, None where there are none."""
    if judgments.topics is None or judgments.topic is None:
        return None
    known = [*judgments.topics.to_list(), None]
    return tuple(known[t] for t in judgments.topic[judged].tolist())


def _shown(factors: Factors) -> dict[str, Floats]:
    """Return the factors as columns: counts whole where they are."""
    columns = factors._asdict()
    whole = factors.judgments.astype(np.int64)
    return columns | ({"judgments": whole} if (whole == factors.judgments).all() else {})


def _refuse_choice(what: str, given: str, known: Sequence[str]) -> None:
    """Refuse what is not one of the choices."""
    if given not in known:
        raise UsageError(f"{what} {given!r} is not one of {quoted(known)}")


def _warn(what: str) -> None:
    """Say something that does not stop the work."""
    warnings.warn(what, AdjudgeWarning, stacklevel=4)
